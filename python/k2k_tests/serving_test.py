"""serve() and what kernels of other libraries are compiled and linked with, without a device."""

import errno
import os
from pathlib import Path

import pytest

import k2k
from k2k import _library
from k2k_tests.fixture import need_library

need_library()


def test_serving_needs_a_device_that_other_libraries_use() -> None:
    with pytest.raises(OSError, match='set backend = "cuda"') as caught:
        k2k.serve({"backend": "cpu"})
    assert caught.value.errno == errno.ENOTSUP
    with pytest.raises(ValueError, match=r"unknown key 'no\.such'"):
        k2k.serve({"no.such": 1})


def test_serving_finds_a_device_or_names_what_is_missing() -> None:
    try:
        k2k.serve().close()
        code = 0  # On the emulated driver, or on a GPU.
    except OSError as error:
        code = error.errno or 0
        assert "CUDA" in str(error) or "backend 'cuda'" in str(error)  # noqa: PT017
    assert code in (0, errno.ENODEV)


def test_the_folders_for_compilers_hold_the_header_of_kernels() -> None:
    folders = [Path(folder) for folder in k2k.get_include()]
    for name in ("k2k/foreign.hpp", "device/k2k.hpp", "type_traits"):
        assert any((folder / name).exists() for folder in folders), name


def test_names_the_build_that_makes_a_missing_device_library() -> None:
    if (Path(os.environ[_library.VARIABLE]).parent / "k2k_device.ptx").exists():
        assert Path(k2k.device_library()).read_text().startswith("//")
        assert Path(k2k.device_library("ltoir")).stat().st_size > 0
        return
    with pytest.raises(FileNotFoundError, match=r"\./dev build --preset cuda") as caught:
        k2k.device_library()
    assert str(caught.value.filename).endswith("k2k_device.ptx")


def test_names_the_kinds_of_the_device_library() -> None:
    with pytest.raises(
        ValueError, match="no device library of the kind 'cubin'; there are ptx and"
    ):
        k2k.device_library("cubin")
