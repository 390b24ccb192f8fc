"""Files of the tree that a program of the tree prints. They are committed, so that reading and
compiling K2K needs no generator; `./dev format` renews them and `./dev check` compares."""

from dataclasses import dataclass
from pathlib import Path

from devtool import build
from devtool.console import Refused
from devtool.process import capture
from devtool.tree import ROOT

PRESET = "release"


@dataclass(frozen=True)
class Generated:
    file: Path
    target: str  # The program whose output the file is.


GENERATED = (Generated(Path("src/device/wrappers.hpp"), "k2k_generate_wrappers"),)


def outdated() -> list[Generated]:
    return [one for one in GENERATED if _current(one) != _wanted(one)]


def renew() -> list[Path]:
    """Writes the files whose generator says something else now. Returns them."""
    changed = outdated()
    for one in changed:
        (ROOT / one.file).write_text(_wanted(one))
    return [one.file for one in changed]


def _current(one: Generated) -> str:
    path = ROOT / one.file
    return path.read_text() if path.exists() else ""


def _wanted(one: Generated) -> str:
    build.build(PRESET, [one.target])
    programs = [path for path in build.folder(PRESET).rglob(one.target) if path.is_file()]
    if len(programs) != 1:
        raise Refused(f"expected one program {one.target} in build/{PRESET}, found {len(programs)}")
    return capture([programs[0]])
