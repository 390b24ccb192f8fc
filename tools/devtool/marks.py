"""Pages whose tables are generated and whose sentences are written by hand.

A generated text stands between two marks of its name: <!-- NAME --> and <!-- /NAME -->.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from devtool.console import Refused
from devtool.tree import shown

MARKED = re.compile(r"<!-- (?P<name>\w+) -->\n.*?<!-- /(?P=name) -->\n", re.DOTALL)


def names_in(text: str) -> list[str]:
    """The names of the marks, in their order."""
    return [match["name"] for match in MARKED.finditer(text)]


def renewed(file: Path, new: Mapping[str, str]) -> str:
    """The text of a page with `new` between its marks, by name.

    Errors: Refused, for marks of no text, and a text of no mark or of two.
    """
    text = file.read_text()
    marked = names_in(text)
    if sorted(marked) != sorted(new):
        odd = sorted({*marked} ^ {*new}) or "twice the same"
        raise Refused(f"{shown(file)}: the marks and the generated texts differ in {odd}")
    return MARKED.sub(lambda match: _between(match["name"], new[match["name"]]), text)


def _between(name: str, text: str) -> str:
    return f"<!-- {name} -->\n\n{text}\n<!-- /{name} -->\n"
