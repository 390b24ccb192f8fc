"""Entry of ./dev: see tools/devtool/main.py."""

import sys

from devtool.main import end_by_ctrl_c, main

if __name__ == "__main__":
    end_by_ctrl_c()
    sys.exit(main(sys.argv[1:]))
