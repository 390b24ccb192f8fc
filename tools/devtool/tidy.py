"""clang-tidy over our own sources, with a memory of clean files.

clang-tidy spends four fifths of its time in the headers of a file. So up to eight files of one
folder with the same compile options are one group, and a group is one run. g++ also reads each file
alone: a file that forgot an include is found although its neighbours have it.

A group is clean until the text of its files, their text after the preprocessor, the compile
command, .clang-tidy or clang-tidy itself changes: the cache key is the hash of all five.

In a run of all steps only the sources are read that changed since a commit at which all were clean
(tidied.py).
"""

import hashlib
import json
import re
import shlex
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from devtool import build, tidied
from devtool.console import Status
from devtool.environment import which_version
from devtool.process import cores, run
from devtool.tree import BUILD, ROOT, shown

CLANG_TIDY = "clang-tidy-19"
CACHE = BUILD / "tidy-cache"
PRESET = "debug"
DATABASE = BUILD / "tidy"
FOLDERS = ("src", "cli", "shim", "apps", "labs", "examples", "emulator")
GROUP_FILES_MAX = 8
FINDING = re.compile(r": (error|warning): ")
TARGET = re.compile(r"CMakeFiles/[^/]+\.dir")
UNREADABLE = "[clang-diagnostic-error]"


@dataclass(frozen=True)
class Group:
    """Sources of one folder and target that have the same compile options."""

    name: str
    files: tuple[Path, ...]
    options: tuple[str, ...]  # The compiler and its options, without source and object.
    folder: Path  # Where the compiler runs.

    @property
    def source(self) -> Path:
        """What clang-tidy reads: the file, or a source that includes all files."""
        return self.files[0] if len(self.files) == 1 else DATABASE / f"{self.name}.cpp"


def tidy_all() -> tuple[list[str], str]:
    """Reads all sources. Without a finding, it notes the commit for `tidy_changed()`."""
    version = which_version(CLANG_TIDY)
    everything = _all_groups()
    findings = _findings(everything, version)
    if not findings:
        tidied.write(version, whole=True)
    return findings, f"{_count(everything)} sources"


def tidy_changed() -> tuple[list[str], str]:
    """Reads the sources that changed since all of them were clean, or all.

    Returns the findings, one string a group that has any, and a note on what was read.
    """
    version = which_version(CLANG_TIDY)
    everything = _all_groups()
    changed = tidied.changed_files(version)
    if changed is None:
        return _findings(everything, version), f"all {_count(everything)} sources"
    files = tidied.to_read((file for group in everything for file in group.files), changed)
    todo = narrowed(everything, files)
    note = f"{_count(todo)} of {_count(everything)} sources; all by name"
    return _findings(todo, version), note


def tidy_changed_and_note() -> tuple[list[str], str]:
    """As `tidy_changed()`. Without a finding, it notes the commit."""
    version = which_version(CLANG_TIDY)
    whole = tidied.changed_files(version) is None
    findings, note = tidy_changed()
    if not findings:
        tidied.write(version, whole)
    return findings, note


def narrowed(everything: Sequence[Group], files: set[Path]) -> list[Group]:
    """The groups with these of their files, and those groups that have none left out."""
    fewer = [
        replace(group, files=tuple(file for file in group.files if file in files))
        for group in everything
    ]
    return [group for group in fewer if group.files]


def _count(some: Sequence[Group]) -> int:
    return sum(len(group.files) for group in some)


def _all_groups() -> list[Group]:
    build.build(PRESET, ["build.ninja"])  # Compile commands of the sources as they are now.
    return groups(json.loads((build.folder(PRESET) / "compile_commands.json").read_text()))


def _findings(todo: Sequence[Group], version: str) -> list[str]:
    """One string a group that has any."""
    CACHE.mkdir(parents=True, exist_ok=True)
    salt = version + (ROOT / ".clang-tidy").read_text()
    _write_database(todo)
    findings: list[str] = []
    with Status("clang-tidy") as status, ThreadPoolExecutor(cores()) as pool:
        try:
            for done, (group, text) in enumerate(
                zip(todo, pool.map(lambda one: _check(one, salt), todo), strict=True), start=1
            ):
                status.update(f"[{done}/{len(todo)}] {group.name}")
                if text:
                    findings.append(text)
        except KeyboardInterrupt:
            pool.shutdown(cancel_futures=True)
            raise
    return findings


def groups(database: Sequence[Mapping[str, str]]) -> list[Group]:
    """First-party sources by folder and options; tests are compiled with warnings but mostly
    consist of macros.

    The options are without precompiled headers: clang-tidy cannot read those of g++, and without
    them the compiler sees which file forgot an include. clang has other parameters (--param) than
    g++, and warns of each.
    """
    together: dict[tuple[Path, str, tuple[str, ...]], tuple[Path, set[Path]]] = {}
    for entry in database:
        file = Path(entry["directory"], entry["file"]).resolve()
        ours = any(file.is_relative_to(ROOT / folder) for folder in FOLDERS)
        if ours and not file.name.endswith(("_test.cpp", "_bench.cpp")):
            options = re.sub(
                r"-include \S+cmake_pch\.hxx|-Winvalid-pch|-fpch-\w+|--param=\S+|-o \S+|-c \S+",
                "",
                entry["command"],
            )
            target = TARGET.search(entry["command"])
            key = (file.parent, target[0] if target else "", tuple(shlex.split(options)))
            together.setdefault(key, (Path(entry["directory"]), set()))[1].add(file)
    found: list[Group] = []
    taken: dict[Path, int] = {}
    seen: set[Path] = set()
    for (parent, _, options_of_group), (folder, files) in together.items():
        rest = sorted(files - seen)  # A source of two targets is read once.
        seen.update(rest)
        for at in range(0, len(rest), GROUP_FILES_MAX):
            number = taken[parent] = taken.get(parent, 0) + 1
            name = f"{shown(parent).replace('/', '-')}-{number}"
            some = tuple(rest[at : at + GROUP_FILES_MAX])
            found.append(Group(name, some, options_of_group, folder))
    return sorted(found, key=lambda group: group.name)


def _write_database(all_groups: Sequence[Group]) -> None:
    DATABASE.mkdir(parents=True, exist_ok=True)
    for group in all_groups:
        if len(group.files) > 1:
            group.source.write_text("".join(f'#include "{file}"\n' for file in group.files))
    entries = [
        {
            "directory": str(group.folder),
            "file": str(source),
            "arguments": [*group.options, "-c", str(source)],
        }
        for group in all_groups
        for source in {group.source, *group.files}
    ]
    (DATABASE / "compile_commands.json").write_text(json.dumps(entries))


def _check(group: Group, salt: str) -> str:
    mark = CACHE / _key(group, salt)
    if mark.exists():
        return ""
    problems = [text for file in group.files if (text := alone(group, file))]
    problems = problems or _tidy(group)
    if not problems:
        mark.touch()
    return "\n".join(problems).replace(f"{ROOT}/", "")


def alone(group: Group, file: Path) -> str:
    """What the compiler says of one file without its neighbours: empty if it is complete."""
    done = run([*group.options, "-fsyntax-only", "-w", file], cwd=group.folder)
    if done.returncode == 0:
        return ""
    return f"{shown(file)} does not compile alone; is an include missing?\n{done.stdout.strip()}"


def _tidy(group: Group) -> list[str]:
    findings = _run(group.source)
    if any(UNREADABLE in text for text in findings) and len(group.files) > 1:
        # Programs with a main() each, or names that two files define: one at a time.
        return [text for file in group.files for text in _run(file)]
    return findings


def _run(source: Path) -> list[str]:
    done = run(
        [
            CLANG_TIDY,
            "-p",
            DATABASE,
            f"--config-file={ROOT / '.clang-tidy'}",
            "--quiet",
            "--extra-arg=-Wno-unknown-warning-option",
            source,
        ]
    )
    if done.returncode == 0:
        return []
    found = [line for line in done.stdout.splitlines() if FINDING.search(line)]
    way = f"  (with the way there: {CLANG_TIDY} -p {shown(DATABASE)} {shown(source)})"
    return ["\n".join([*(found or done.stdout.splitlines()), way])]


def _key(group: Group, salt: str) -> str:
    expanded = run([*group.options, "-E", "-o", "-", group.source], cwd=group.folder).stdout
    texts = [file.read_text() for file in group.files]
    text = "\0".join([salt, shlex.join(group.options), *texts, expanded])
    return hashlib.sha256(text.encode()).hexdigest()
