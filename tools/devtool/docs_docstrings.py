"""Docstrings of ours as Markdown: an extension of Griffe, which reads them for the site.

Our docstrings describe arguments and errors in the text, as `name: its meaning.` Here each becomes
an item of a list. Tests need no Griffe.
"""

import re
from collections.abc import Collection
from typing import Any

try:
    from griffe import Extension
except ImportError:  # Only ./dev docs installs it.
    Extension = object

HEAD = re.compile(r"(?:^|(?<=[.;)] ))(?P<names>\w+(?:, \w+)*): (?=\S)")
ERROR = re.compile(r"[A-Z]\w*Error")


class Docstrings(Extension):  # type: ignore[misc, unused-ignore]
    """Removes the docstrings of modules: the page describes the module."""

    def on_module(self, *, mod: Any, **_: Any) -> None:
        mod.docstring = None

    def on_function(self, *, func: Any, **_: Any) -> None:
        _rewrite(func, [parameter.name.lstrip("*") for parameter in func.parameters])

    def on_class_members(self, *, cls: Any, **_: Any) -> None:
        own = cls.members.get("__init__")
        parameters = [one.name for one in own.parameters] if own is not None else []
        _rewrite(cls, [*cls.members, *parameters])


def _rewrite(described: Any, names: Collection[str]) -> None:
    if described.docstring is not None:
        described.docstring.value = as_markdown(described.docstring.value, names)


def as_markdown(text: str, names: Collection[str]) -> str:
    """The text, with a list of the descriptions of names and errors."""
    return "\n\n".join(_paragraph(part, names) for part in re.split(r"\n\s*\n", text.strip()))


def _paragraph(text: str, names: Collection[str]) -> str:
    line = " ".join(text.split())
    heads = [
        head
        for head in HEAD.finditer(line)
        if all(name in names or ERROR.fullmatch(name) for name in head["names"].split(", "))
    ]
    begins = [head.start() for head in heads]
    before = _escaped(line[: begins[0]] if begins else line)
    items = [
        f"- **{_escaped(head['names'])}**: {_escaped(line[head.end() : end])}"
        for head, end in zip(heads, [*begins[1:], len(line)], strict=False)
    ]
    return "\n".join([before, "", *items] if before and items else [before, *items]).strip()


def _escaped(text: str) -> str:
    """`2**63` and `__array__` are no emphasis, and `<` begins no tag, outside code spans."""
    parts = re.split(r"(`[^`]*`)", text.strip())
    parts[::2] = [re.sub(r"[*_]", r"\\\g<0>", part).replace("<", "&lt;") for part in parts[::2]]
    return "".join(parts)
