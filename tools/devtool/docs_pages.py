"""The page of the site for each Markdown file of the repository, and its links there.

A link to a file of the repository stays a link if the file has a page: Markdown its own, a header
Doxygen's. Of a link to any other file only the text stays, as code. A link to nothing is refused.
"""

import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from xml.etree import ElementTree

from devtool.console import Refused
from devtool.tree import ROOT, files, shown

# The place of Doxygen's pages in the site, as the repository names it:
# docs/reference/README.md links to cpp/files.html.
CPP = "reference/cpp"
ASSETS = frozenset({".css", ".html", ".js", ".svg"})
# The sections in their order: places, or patterns of places that no earlier section has.
NAVIGATION: Mapping[str, tuple[str, ...]] = {
    "Home": ("README.md",),
    "Guides": (
        "guides/README.md",
        *("guides/kernels.md", "guides/files.md", "guides/host-time.md", "guides/models.md"),
        *("psylang/README.md", "guides/*.md"),
    ),
    "Concepts": ("glossary.md", "ARCHITECTURE.md", "design/request-path.md"),
    "Design": ("design/*.md", "psylang/docs/*.md", "psylang/references/*.md"),
    "Decisions": ("decisions/README.md", "decisions/*.md"),
    "Results": ("results/*.md",),
    "Reference": (
        *("reference/README.md", f"{CPP}/files.html"),
        *("reference/k2k.md", "reference/psylang.md", "reference/*.md"),
    ),
    "Project": ("CHANGELOG.md", "CONTRIBUTING.md", "STYLE.md"),
}
TITLES = {f"{CPP}/files.html": "C and C++: every header"}  # Of pages without Markdown.

CODE_OR_LINK = re.compile(
    r"(?P<fence>^ *```.*?^ *```[^\S\n]*$)"
    r"|(?P<code>(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`))"
    r"|(?P<image>!?)\[(?P<text>(?:[^\[\]`]|`[^`]*`)*)\]\((?P<target>[^()\s]+)\)",
    re.MULTILINE | re.DOTALL,
)
ODD_FENCE = re.compile(r"^(?! {4}| {8}|`) +```", re.MULTILINE)


@dataclass(frozen=True)
class Places:
    """File of the repository → its place in the site, both relative to their roots."""

    pages: Mapping[str, str]
    assets: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)

    def of(self, file: str) -> str | None:
        """The place of a file, or of a folder that has a page of its own."""
        for table in (self.pages, self.assets, self.headers):
            if file in table:
                return table[file]
        if file.startswith(f"docs/{CPP}/"):
            return site_place(file)
        return self.pages.get(posixpath.normpath(f"{file}/README.md"))


def places(tags: Path) -> Places:
    """All Markdown of the repository, its images, and the headers in Doxygen's tag file."""
    return Places(
        {shown(path): site_place(shown(path)) for path in files(".md")},
        {shown(path): site_place(shown(path)) for path in files(*ASSETS, under="docs")},
        headers_in(tags),
    )


def site_place(file: str) -> str:
    return file.removeprefix("docs/")


def headers_in(tags: Path) -> dict[str, str]:
    """The page of each header that Doxygen read."""
    found: dict[str, str] = {}
    for compound in ElementTree.parse(tags).iterfind("compound[@kind='file']"):
        name, folder, page = (compound.findtext(key, "") for key in ("name", "path", "filename"))
        for root in ("include", "src"):
            if (ROOT / root / folder / name).is_file():
                found[posixpath.join(root, folder, name)] = f"{CPP}/{page}"
    return found


def navigation(pages: Mapping[str, str]) -> list[dict[str, object]]:
    """The nav of mkdocs. A page without a section is left out, and the build refuses it."""
    left = dict.fromkeys([*sorted(pages.values()), *TITLES])
    sections: list[dict[str, object]] = []
    for title, patterns in NAVIGATION.items():
        mine: list[object] = []
        for pattern in patterns:
            for place in [place for place in left if fnmatchcase(place, pattern)]:
                del left[place]
                mine.append({TITLES[place]: place} if place in TITLES else place)
        sections.append({title: mine[0] if len(mine) == 1 else mine})
    return sections


def page_text(text: str, file: str, where: Places) -> str:
    """The Markdown of a file, as the site needs it.

    Errors: Refused for a link to a missing file or a fence that Python-Markdown reads as text.
    """
    odd = ODD_FENCE.search(text)
    if odd:
        raise Refused(f"{file}:{line_of(text, odd.start())}: indent a fence in a list by 4 spaces")

    def replaced(match: re.Match[str]) -> str:
        target = match["target"]
        if target is None or re.match(r"[a-z]+:|#", target):
            return match[0]
        return link(match, target)

    def link(match: re.Match[str], target: str) -> str:
        path, _, anchor = target.partition("#")
        linked = posixpath.normpath(posixpath.join(posixpath.dirname(file), path))
        place = where.of(linked)
        if place is not None:
            way = posixpath.relpath(place, posixpath.dirname(site_place(file)) or ".")
            hash_anchor = f"#{anchor}" if anchor else ""
            return f"{match['image']}[{match['text']}]({way}{hash_anchor})"
        if match["image"] or not (ROOT / linked).exists():
            line = line_of(text, match.start())
            raise Refused(f"{file}:{line}: a link to {target}: there is no {linked}")
        return match["text"] if "`" in match["text"] else f"`{match['text']}`"

    return CODE_OR_LINK.sub(replaced, text)


def line_of(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def staged(where: Places) -> Iterator[tuple[str, bytes]]:
    """Each place of the site that comes from the repository's files, with its content."""
    for file, place in where.pages.items():
        yield place, page_text((ROOT / file).read_text(), file, where).encode()
    for file, place in where.assets.items():
        yield place, (ROOT / file).read_bytes()
