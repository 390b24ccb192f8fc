"""What the tests of the page share: records written into a folder, a section found by its title."""

import json
import re
from pathlib import Path
from typing import Any


def section(page: str, title: str) -> str:
    """The text below a second-level heading, up to the next one."""
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    assert found
    return found[1]


def write(folder: Path, bench: str, *records: dict[str, Any]) -> None:
    """The records of a bench, one a line, oldest first."""
    (folder / f"{bench}.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records))
