"""The uninstaller removes our files and refuses everything doubtful."""

from pathlib import Path

import pytest

from devtool.console import Refused
from devtool.uninstall import MANIFEST, uninstall


def install(prefix: Path, lines: list[str]) -> None:
    (prefix / MANIFEST).parent.mkdir(parents=True)
    (prefix / MANIFEST).write_text("".join(f"{line}\n" for line in lines))


def test_removes_its_files_and_the_folders_it_made(tmp_path: Path) -> None:
    prefix = tmp_path / "prefix"
    install(
        prefix,
        [
            "file bin/k2k",
            f"file {MANIFEST}",
            "folder share/k2k",
            "folder share",
            "folder bin",
            "folder .",
        ],
    )
    (prefix / "bin").mkdir()
    (prefix / "bin/k2k").touch()
    assert uninstall(prefix) == 2
    assert not prefix.exists()


def test_leaves_files_of_others(tmp_path: Path) -> None:
    install(
        tmp_path,
        ["file bin/k2k", f"file {MANIFEST}", "folder share/k2k", "folder share", "folder bin"],
    )
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/other").touch()
    uninstall(tmp_path)
    assert [p.relative_to(tmp_path).as_posix() for p in sorted(tmp_path.rglob("*"))] == [
        "bin",
        "bin/other",
    ]


@pytest.mark.parametrize(
    "line", ["file /etc/passwd", "file ../x", "folder a/../../b", "rm x", "file "]
)
def test_refuses_a_manifest_that_points_outside(tmp_path: Path, line: str) -> None:
    install(tmp_path, [line])
    with pytest.raises(Refused, match="nothing was removed"):
        uninstall(tmp_path)


def test_says_where_it_looked(tmp_path: Path) -> None:
    with pytest.raises(Refused, match=r"no K2K is installed in .*share/k2k/manifest.txt"):
        uninstall(tmp_path)
