"""Dead links in built HTML, and loads from other hosts: a site needs no network."""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LINKS = {"a": "href", "area": "href"}
LOADED = {
    **{"link": "href", "script": "src", "img": "src", "iframe": "src"},
    **{"source": "src", "audio": "src", "video": "src", "object": "data"},
}
ON_OTHER_HOSTS = re.compile(r"""(?:url\(|@import)\s*["']?\s*(?:https?:)?//[^)"'\s]+""")


class Html(HTMLParser):
    """The anchors, links and loads of one file, with their lines."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors = {"", "top"}
        self.uses: list[tuple[int, str, bool]] = []  # Line, target, is it loaded?
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        for table, loaded in ((LINKS, False), (LOADED, True)):
            target = given.get(table.get(tag, ""))
            if target is not None:
                self.uses.append((self.getpos()[0], target, loaded))


def problems(site: Path, pages: Iterable[Path]) -> list[str]:
    """One line for each link of the pages to a missing file or anchor, and for each load of the
    pages or the site's style sheets from another host."""
    read = cache(Html)
    found = [
        f"{page.relative_to(site)}:{line}: {problem}"
        for page in pages
        for line, target, loaded in read(page).uses
        for problem in _problems_of(site, page, target, loaded, read)
    ]
    for sheet in sorted(site.rglob("*.css")):
        for match in ON_OTHER_HOSTS.finditer(sheet.read_text()):
            found.append(f"{sheet.relative_to(site)}: loads {match[0]} from another host")
    return found


def _problems_of(
    site: Path, page: Path, target: str, loaded: bool, read: Callable[[Path], Html]
) -> Iterator[str]:
    parts = urlsplit(target)
    if parts.netloc or parts.scheme:
        if loaded and parts.scheme != "data":
            yield f"loads {target} from another host"
        return
    # The page of errors is shown at any address: its links begin at the root.
    way = unquote(parts.path)
    if way.startswith("/") and page.name == "404.html":
        file = site / way.lstrip("/")
    else:
        file = (page.parent / way).resolve() if way else page
    if not file.is_file():
        yield f"a link to {target}: there is no such file"
        return
    anchor = unquote(parts.fragment)
    if anchor and file.suffix == ".html" and anchor not in read(file).anchors:
        yield f"a link to {target}: there is no such anchor"
