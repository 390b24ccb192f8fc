"""Writes the matrix of supported parts: `python -m psylang.pnl.matrix` into docs/psyneulink.md.

It lists the tables that the importer itself uses. Needs no PsyNeuLink.
"""

from __future__ import annotations

from pathlib import Path

import psylang.pnl.importer  # noqa: F401  (Its converters enter themselves in the tables.)
from psylang.pnl.tables import REFUSED, TABLES

FILE = Path(__file__).parents[2] / "docs" / "psyneulink.md"
BEGIN, END = "<!-- matrix: python -m psylang.pnl.matrix -->\n", "<!-- end of the matrix -->\n"


def matrix() -> str:
    """The tables as Markdown."""
    parts = []
    for kind, supported in TABLES.items():
        rows = [f"| {one.name} | {one.form} | {one.note} |" for one in supported.values()]
        rows += [f"| {name} | refused | {near} |" for name, near in REFUSED[kind].items()]
        head = f"| {kind} | Psylang | limits, or the nearest form |\n|---|---|---|\n"
        parts.append(head + "".join(f"{row}\n" for row in sorted(rows, key=str.lower)))
    return "\n".join(parts)


def renewed(text: str) -> str:
    """The page with the current matrix between its marks."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{matrix()}\n{END}{after}"


if __name__ == "__main__":
    FILE.write_text(renewed(FILE.read_text(encoding="utf-8")), encoding="utf-8")
