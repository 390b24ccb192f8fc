"""The Python of .venv finds the packages of the repository; apt waits for its lock."""

import os
import subprocess
from pathlib import Path

import pytest

from devtool import environment
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


# As the real one while another installation goes on: without a time to wait, it ends at once.
APT_GET = """#!/bin/sh
case "$1 $*" in
  update*) exit 0 ;;
  *DPkg::Lock::Timeout=*) echo "$*" > {done} ;;
  *) echo "E: Could not get lock /var/lib/dpkg/lock-frontend."; exit 100 ;;
esac
"""


def test_an_installation_waits_for_another_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = tmp_path / "done"
    (tmp_path / "apt-get").write_text(APT_GET.format(done=done))
    (tmp_path / "apt-get").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(environment, "BUILD", tmp_path)
    environment._install(["one", "two"])
    assert done.read_text().startswith("install ")
    assert done.read_text().endswith(" one two\n")
