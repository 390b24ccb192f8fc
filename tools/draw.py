"""Entry of ./dev plot, run by the Python of .venv: draws the newest records into a folder."""

import sys
from pathlib import Path

from devtool.console import Refused, say
from devtool.report import draw

if __name__ == "__main__":
    try:
        draw(Path(sys.argv[1]), Path(sys.argv[2]))
    except Refused as refusal:
        say(f"dev: {refusal}")
        sys.exit(refusal.exit_code)
