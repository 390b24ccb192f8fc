"""The search for libk2k.so, and the error if it is missing."""

import re
import subprocess
from pathlib import Path

import pytest

import k2k
from k2k import LibraryError, _library

ROOT = Path(__file__).resolve().parents[2]


def empty_library(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        ["gcc", "-shared", "-o", path, "-xc", "/dev/null"], check=True, capture_output=True
    )
    return path


def test_a_missing_library_is_named_with_the_fix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(_library.VARIABLE, raising=False)
    monkeypatch.setattr(_library, "NAMES", ("libk2k-none.so", "libk2k-none.so.0"))
    with pytest.raises(LibraryError) as caught:
        _library.load(tmp_path / "k2k")
    assert str(caught.value) == (
        f"libk2k.so was not found in {tmp_path / 'k2k'}, nor by the dynamic linker. "
        "Install the package with it (`pip install ./python` in K2K's sources), build it there "
        "with `./dev build`, install it with `cmake --install build/release` (then ldconfig), or "
        "name the file in K2K_LIBRARY."
    )


def test_the_variable_is_heeded_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(_library.VARIABLE, str(tmp_path / "none.so"))
    with pytest.raises(LibraryError, match=r"K2K_LIBRARY names .*none\.so, which cannot be loaded"):
        _library.load()


def test_a_file_that_is_no_library_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(_library.VARIABLE, raising=False)
    package = tmp_path / "k2k"
    package.mkdir()
    (package / "libk2k.so").write_text("no library")
    with pytest.raises(LibraryError, match=re.escape(f"{package}/libk2k.so cannot be loaded")):
        _library.load(package)


def test_an_old_library_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = empty_library(tmp_path / "k2k/libk2k.so")
    monkeypatch.delenv(_library.VARIABLE, raising=False)
    with pytest.raises(LibraryError, match="has no k2k_last_error: it is older than this package"):
        _library.load(old.parent)


def test_the_build_tree_is_looked_at_only_from_within() -> None:
    assert ROOT / "build/release/libk2k.so" in _library.candidates(ROOT / "python/k2k")
    outside = Path("/usr/lib/python3/dist-packages/k2k")
    assert [path.parent for path in _library.candidates(outside)] == [outside, outside]


def test_without_a_library_the_package_imports_and_says_so_when_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(_library.VARIABLE, str(tmp_path / "none.so"))
    monkeypatch.setattr("k2k._files._reader", None)
    with pytest.raises(LibraryError):
        k2k.stats()


def test_the_versions_agree() -> None:
    cmake = re.search(r"VERSION (\d+\.\d+\.\d+)", (ROOT / "CMakeLists.txt").read_text())
    project = re.search(r'^version = "(.*?)"', (ROOT / "python/pyproject.toml").read_text(), re.M)
    assert cmake is not None
    assert project is not None
    assert cmake[1] == project[1] == k2k.__version__
