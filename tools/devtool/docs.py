"""./dev docs: the site, built from the Markdown of the repository, the headers and the docstrings.

include/, src/ ──Doxygen────▶ build/reference ───┐
*.md, *.svg ────docs_pages──▶ build/docs/source ─┴─mkdocs──▶ build/docs/site ──▶ docs_links
"""

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from devtool import docs_links, docs_pages
from devtool.console import Refused, Status, say
from devtool.environment import DOCS_PACKAGES, need_docs_tools, need_packages
from devtool.process import run
from devtool.tree import BUILD, ROOT, files

FOLDER = BUILD / "docs"
SOURCE = FOLDER / "source"
SITE = FOLDER / "site"
CONFIG = FOLDER / "mkdocs.yml"
REFERENCE = BUILD / "reference"  # As docs/Doxyfile says.
TAGS = REFERENCE / "tags.xml"
DOXYGEN_FILES = (
    *(ROOT / "docs/Doxyfile", ROOT / "docs/DoxygenLayout.xml", ROOT / "docs/assets/reference.css"),
    ROOT / "tools/devtool/doxygen_filter.py",
)
HEADERS = (".hpp", ".h")
ADDRESS = "127.0.0.1:8000"
LOOK_S = 1.0
# The path of Griffe's extension, and no advertisement among the warnings.
ENVIRONMENT = {"PYTHONPATH": str(ROOT / "tools"), "NO_MKDOCS_2_WARNING": "true"}


def build_site() -> Path:
    """Builds the site and returns its first page. Errors: Refused for a warning or a dead link."""
    mkdocs = _prepared()
    with Status("site"):
        done = run(
            [mkdocs, "build", "--strict", "--quiet", "--config-file", CONFIG], env=ENVIRONMENT
        )
    if done.returncode != 0:
        raise Refused(f"mkdocs could not build the site:\n{done.stdout.strip()}")
    with Status("links"):
        dead = docs_links.problems(SITE, own_pages(SITE))
    if dead:
        raise Refused("\n".join(["links of the site lead nowhere:", *dead]))
    return SITE / "index.html"


def serve_site() -> int:
    """Serves the site until Ctrl-C, and rebuilds it when a page is saved."""
    mkdocs = _prepared()
    command = [str(mkdocs), "serve", "--dev-addr", ADDRESS, "--config-file", str(CONFIG)]
    said = ""
    with subprocess.Popen(command, cwd=ROOT, env={**os.environ, **ENVIRONMENT}) as server:
        while server.poll() is None:
            time.sleep(LOOK_S)
            problem = ""
            try:
                stage()
            except Refused as refusal:
                problem = str(refusal)
            if problem and problem != said:
                say(problem)
            said = problem
    return server.returncode


def _prepared() -> Path:
    """Makes everything that mkdocs reads. Returns mkdocs' path."""
    need_packages(DOCS_PACKAGES)
    mkdocs = need_docs_tools() / "mkdocs"
    make_reference()
    stage()
    return mkdocs


def make_reference() -> None:
    """Makes Doxygen's pages, unless they are newer than all their sources."""
    page = REFERENCE / "html/index.html"
    headers = [path for folder in ("include", "src") for path in files(*HEADERS, under=folder)]
    if TAGS.exists() and page.exists():
        made = page.stat().st_mtime_ns
        if all(path.stat().st_mtime_ns < made for path in (*headers, *DOXYGEN_FILES)):
            return
    shutil.rmtree(REFERENCE, ignore_errors=True)
    with Status("doxygen"):
        done = run(["doxygen", "docs/Doxyfile"])
    if done.returncode != 0:
        page.unlink(missing_ok=True)  # The next run reports it again.
        raise Refused(done.stdout.replace(f"{ROOT}/", "").strip())


def stage() -> None:
    """Brings build/docs up to date. Writes changed files only, because mkdocs watches them."""
    where = docs_pages.places(TAGS)
    wanted = dict(docs_pages.staged(where))
    cpp = SOURCE / docs_pages.CPP
    if SOURCE.exists():
        for path in [
            path for path in _below(SOURCE) if str(path.relative_to(SOURCE)) not in wanted
        ]:
            path.unlink()
    for place, content in wanted.items():
        _write(SOURCE / place, content)
    if not cpp.exists():
        cpp.unlink(missing_ok=True)
        cpp.symlink_to(REFERENCE / "html")
    settings = {"INHERIT": "../../docs/mkdocs.yml", "nav": docs_pages.navigation(where.pages)}
    _write(CONFIG, json.dumps(settings, indent=1).encode())  # JSON is YAML.


def _below(folder: Path) -> Iterator[Path]:
    """The files; links of folders are not followed."""
    for parent, _, names in os.walk(folder):
        yield from (Path(parent) / name for name in names)


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_bytes() != content:
        path.write_bytes(content)


def own_pages(site: Path) -> list[Path]:
    """All pages except Doxygen's, which contain their own links."""
    cpp = site / docs_pages.CPP
    return sorted(page for page in site.rglob("*.html") if not page.is_relative_to(cpp))
