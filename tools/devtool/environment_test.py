"""The Python of .venv finds the packages of the repository."""

import subprocess
from pathlib import Path

from devtool.environment import need_paths
from devtool.tree import ROOT


def test_packages_are_found_from_anywhere_and_after_a_move(tmp_path: Path) -> None:
    packages = tmp_path / "venv/lib/python3.11/site-packages"
    packages.mkdir(parents=True)
    need_paths(tmp_path / "venv", Path("/was/here"))
    need_paths(tmp_path / "venv", tmp_path)
    (tmp_path / "found_there.py").write_text("")
    script = f"import site; site.addsitedir({str(packages)!r}); import found_there"
    subprocess.run(["python3", "-c", script], cwd="/", check=True)
    assert (packages / "repository.pth").read_text() == f"{tmp_path}\n"


def test_an_unchanged_file_is_not_written_again(tmp_path: Path) -> None:
    packages = tmp_path / "lib/python3.11/site-packages"
    packages.mkdir(parents=True)
    need_paths(tmp_path, ROOT)
    before = (packages / "repository.pth").stat().st_mtime_ns
    need_paths(tmp_path, ROOT)
    assert (packages / "repository.pth").stat().st_mtime_ns == before
