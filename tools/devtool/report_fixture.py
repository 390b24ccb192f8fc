"""Shared by the tests of the results: records written into a folder."""

import json
from pathlib import Path
from typing import Any


def write(folder: Path, bench: str, *records: dict[str, Any]) -> None:
    """The records of a bench, one a line, oldest first."""
    (folder / f"{bench}.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records))
