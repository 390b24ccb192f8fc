"""python -m psylang"""

import sys

from psylang.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
