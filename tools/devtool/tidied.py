"""tools/devtool/tidied.toml: the commit at which clang-tidy last had no finding.

`./dev check --only tidy` reads all sources and then writes this file; `./dev check --only
tidy-changed` reads what changed since and then writes it, too. The tidy step of the whole
`./dev check` reads the sources that changed since: those whose text changed, and those that include
a changed header directly. A source that did neither gives the findings that it gave then, except
for those that a change in a header behind a header would cause; the step by name finds these.
"""

import json
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from devtool.console import Refused
from devtool.process import run
from devtool.revision import commit
from devtool.tree import ROOT

FILE = ROOT / "tools/devtool/tidied.toml"
SHOWN = "tools/devtool/tidied.toml"
HEAD = """\
# The commit at which clang-tidy last had no finding, and the one at which it last read all sources
# (`whole`). `./dev check --only tidy-changed` renews the first, `./dev check --only tidy` both:
# commit this file (tools/devtool/tidied.py).
"""
INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]', re.MULTILINE)
INCLUDE_FOLDERS = ("", "src/", "include/")
RULES = ".clang-tidy"  # A change here concerns all sources.


@dataclass(frozen=True)
class Tidied:
    commit: str
    whole: str  # The latest commit, up to `commit`, at which all sources were read.
    version: str  # Of clang-tidy.


def read() -> Tidied | None:
    """Errors: Refused, one line with the mistake and its remedy."""
    if not FILE.exists():
        return None
    try:
        table = tomllib.loads(FILE.read_text())
        return Tidied(**{key: str(value) for key, value in table.items()})
    except (tomllib.TOMLDecodeError, TypeError) as error:
        remedy = "`./dev check --only tidy` writes it anew"
        raise Refused(f"{SHOWN}: {error}; remove it, {remedy}") from error


def write(version: str, whole: bool) -> None:
    """Notes the commit of the tree, at which all sources were read, or those that changed. A tree
    with changes is no commit: nothing is written."""
    now = commit()
    if now == "unknown" or now.endswith("-dirty"):
        return
    before = read()
    latest = now if whole or before is None else before.whole
    rows = {"commit": now, "whole": latest, "version": version}
    FILE.write_text(HEAD + "".join(f"{key} = {json.dumps(value)}\n" for key, value in rows.items()))


def changed_files(version: str) -> set[str] | None:
    """The files that differ from the noted commit, relative to the root, untracked ones too. None:
    nothing is noted that this tree and this clang-tidy can be compared with."""
    noted = read()
    if noted is None or noted.version != version:
        return None
    differing = run(["git", "diff", "--name-only", noted.commit, "--"])
    untracked = run(["git", "ls-files", "--others", "--exclude-standard"])
    if differing.returncode != 0 or untracked.returncode != 0:
        return None  # No such commit in a shallow clone, or no repository.
    names = {*differing.stdout.splitlines(), *untracked.stdout.splitlines()}
    return None if RULES in names else names


def to_read(sources: Iterable[Path], changed: set[str]) -> set[Path]:
    """Those of the sources that are in `changed` or include a file directly that is."""
    return {source for source in sources if _concerned(source, changed)}


def _concerned(source: Path, changed: set[str]) -> bool:
    if source.is_relative_to(ROOT) and str(source.relative_to(ROOT)) in changed:
        return True
    included = INCLUDE.findall(source.read_text())
    return any(folder + name in changed for name in included for folder in INCLUDE_FOLDERS)
