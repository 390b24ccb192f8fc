"""What ./dev does: bring the tools, build, test, check, install. Standard library only."""
