"""clang-tidy over our own sources, with a memory of clean files.

A file is clean until its text, its text after the preprocessor, its compile command, .clang-tidy or
clang-tidy itself changes: the cache key is the hash of all five.
"""

import hashlib
import json
import re
import shlex
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from devtool import build
from devtool.console import Status
from devtool.environment import which_version
from devtool.process import cores, run
from devtool.tree import BUILD, ROOT, shown

CLANG_TIDY = "clang-tidy-19"
CACHE = BUILD / "tidy-cache"
PRESET = "debug"
DATABASE = BUILD / "tidy"
FOLDERS = ("src", "cli", "shim", "apps", "labs", "examples")
FINDING = re.compile(r": (error|warning): ")


@dataclass(frozen=True)
class Unit:
    file: Path
    command: tuple[str, ...]
    folder: Path


def tidy() -> list[str]:
    """Returns the findings, one string a file that has any."""
    build.build(PRESET, ["build.ninja"])  # Compile commands of the sources as they are now.
    CACHE.mkdir(parents=True, exist_ok=True)
    salt = which_version(CLANG_TIDY) + (ROOT / ".clang-tidy").read_text()
    todo = _units()
    findings: list[str] = []
    with Status("clang-tidy") as status, ThreadPoolExecutor(cores()) as pool:
        try:
            for done, (unit, text) in enumerate(
                zip(todo, pool.map(lambda u: _check(u, salt), todo), strict=True), start=1
            ):
                status.update(f"[{done}/{len(todo)}] {unit.file.name}")
                if text:
                    findings.append(text)
        except KeyboardInterrupt:
            pool.shutdown(cancel_futures=True)
            raise
    return findings


def _units() -> list[Unit]:
    """First-party sources; tests are compiled with warnings but mostly consist of macros.

    Writes the compile commands for clang-tidy: it cannot read the precompiled headers of g++, and
    without them it also sees which file forgot an include.
    """
    database = json.loads((build.folder(PRESET) / "compile_commands.json").read_text())
    units: dict[Path, Unit] = {}
    for entry in database:
        file = Path(entry["directory"], entry["file"]).resolve()
        ours = any(file.is_relative_to(ROOT / folder) for folder in FOLDERS)
        if ours and not file.name.endswith(("_test.cpp", "_bench.cpp")):
            words = re.sub(
                r"-include \S+cmake_pch\.hxx|-Winvalid-pch|-fpch-\w+", "", entry["command"]
            )
            units[file] = Unit(file, tuple(shlex.split(words)), Path(entry["directory"]))
    DATABASE.mkdir(parents=True, exist_ok=True)
    entries = [
        {"directory": str(unit.folder), "file": str(unit.file), "arguments": unit.command}
        for unit in units.values()
    ]
    (DATABASE / "compile_commands.json").write_text(json.dumps(entries))
    return sorted(units.values(), key=lambda unit: unit.file)


def _check(unit: Unit, salt: str) -> str:
    mark = CACHE / _key(unit, salt)
    if mark.exists():
        return ""
    done = run(
        [
            CLANG_TIDY,
            "-p",
            DATABASE,
            "--quiet",
            "--extra-arg=-Wno-unknown-warning-option",
            unit.file,
        ]
    )
    if done.returncode == 0:
        mark.touch()
        return ""
    found = [line for line in done.stdout.splitlines() if FINDING.search(line)]
    return "\n".join(
        [
            *(found or done.stdout.splitlines()),
            f"  (with the way there: {CLANG_TIDY} -p {shown(DATABASE)} {shown(unit.file)})",
        ]
    ).replace(f"{ROOT}/", "")


def _key(unit: Unit, salt: str) -> str:
    words = list(unit.command)
    output = words.index("-o")
    preprocess = [*words[:output], *words[output + 2 :], "-E", "-o", "-"]
    expanded = run([word for word in preprocess if word != "-c"], cwd=unit.folder).stdout
    text = "\0".join([salt, shlex.join(unit.command), unit.file.read_text(), expanded])
    return hashlib.sha256(text.encode()).hexdigest()
