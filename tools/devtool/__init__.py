"""The parts of ./dev: bring the tools, build, test, check, install. Standard library only."""
