"""Generated files of the tree. They are committed, so that reading and compiling K2K needs no
generator; `./dev format` renews them and `./dev check` compares."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from devtool import build, report, report_gpu, report_harm
from devtool.console import Refused
from devtool.process import capture
from devtool.tree import ROOT

PRESET = "release"


@dataclass(frozen=True)
class Generated:
    file: Path
    text: Callable[[], str]  # The expected content.


def outdated() -> list[Generated]:
    return [one for one in GENERATED if _current(one) != one.text()]


def renew() -> list[Path]:
    """Writes the files that differ from their generator's output. Returns them."""
    changed = outdated()
    for one in changed:
        path = ROOT / one.file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(one.text())
    return [one.file for one in changed]


def _current(one: Generated) -> str:
    path = ROOT / one.file
    return path.read_text() if path.exists() else ""


def _printed_by(target: str) -> str:
    """The output of a program of the tree."""
    build.build(PRESET, [target])
    programs = [path for path in build.folder(PRESET).rglob(target) if path.is_file()]
    if len(programs) != 1:
        raise Refused(f"expected one program {target} in build/{PRESET}, found {len(programs)}")
    return capture([programs[0]])


GENERATED = (
    Generated(Path("src/device/wrappers.hpp"), lambda: _printed_by("k2k_generate_wrappers")),
    Generated(Path("docs/reference/settings.md"), lambda: _printed_by("k2k_print_settings")),
    Generated(report.PAGE.relative_to(ROOT), report.page),
    Generated(report_gpu.PAGE.relative_to(ROOT), report_gpu.page),
    Generated(report_harm.PAGE.relative_to(ROOT), report_harm.page),
)
