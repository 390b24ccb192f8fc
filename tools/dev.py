"""Entry of ./dev: see tools/devtool/main.py."""

import sys

from devtool.main import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
