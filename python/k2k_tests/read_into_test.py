"""read_into() fills any writable memory with the file's content, and reports every mistake."""

import array
import ctypes
import errno
import io
import mmap
import os
import threading
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import k2k
from k2k_tests.fixture import (
    INTERRUPTIBLE,
    PAGE,
    expect_interrupted,
    make_cold,
    need_library,
    pattern,
)

need_library()

FILE_BYTES = 3 * (1 << 20) + 77


@pytest.fixture(scope="module")
def content() -> bytes:
    return pattern(FILE_BYTES)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> Path:
    path = tmp_path_factory.mktemp("files") / "data"
    path.write_bytes(content)
    make_cold(path)
    return path


@pytest.mark.parametrize("cold", [True, False])
@pytest.mark.parametrize(
    "offset", [0, 1, PAGE, PAGE * 100 + 3, FILE_BYTES - 10, FILE_BYTES, 1 << 40]
)
@pytest.mark.parametrize("count", [0, 1, PAGE, 1 << 20, FILE_BYTES + PAGE])
def test_fills_the_buffer_or_ends_with_the_file(
    path: Path, content: bytes, cold: bool, offset: int, count: int
) -> None:
    if cold:
        make_cold(path)
    # Memory congruent to the offset, so that direct transfers take part.
    area = np.full(count + 2 * PAGE, 0xEE, dtype=np.uint8)
    lead = (offset - area.ctypes.data) % PAGE
    buffer = area[lead : lead + count]
    want = content[offset : offset + count]
    assert k2k.read_into(buffer, path, offset) == len(want)
    assert bytes(buffer[: len(want)]) == want
    assert np.all(buffer[len(want) :] == 0xEE), "behind the file's end"
    assert np.all(area[:lead] == 0xEE)
    assert np.all(area[lead + count :] == 0xEE)


def test_takes_a_path_a_descriptor_or_a_file_object(path: Path, content: bytes) -> None:
    def read(file: Any) -> bytes:
        buffer = bytearray(100)
        assert k2k.read_into(buffer, file, offset=5) == 100
        return bytes(buffer)

    want = content[5:105]
    assert read(path) == want
    assert read(str(path)) == want
    assert read(os.fsencode(path)) == want
    with path.open("rb") as file:
        file.seek(7)
        assert read(file) == want
        assert read(file.fileno()) == want
        assert file.tell() == 7
        assert file.read(3) == content[7:10]


def test_takes_any_writable_contiguous_memory(path: Path, content: bytes) -> None:
    buffers: list[Any] = [
        bytearray(48),
        memoryview(bytearray(48)),
        memoryview(bytearray(60))[4:52],
        memoryview(bytearray(48)).cast("H", (4, 6)),
        array.array("d", [0.0] * 6),
        mmap.mmap(-1, 48),
        (ctypes.c_int * 12)(),
        np.zeros((2, 3), dtype=np.float64),
        np.zeros((3, 4), dtype=np.complex64)[:, :2].copy(),
        np.zeros(24, dtype=ml_dtypes.bfloat16),
        np.zeros(6, dtype="datetime64[s]"),
        np.zeros(2, dtype=[("a", "<i8"), ("b", "V16")]),
    ]
    for buffer in buffers:
        assert k2k.read_into(buffer, path) == 48, buffer
        held = buffer.tobytes() if isinstance(buffer, np.ndarray) else bytes(memoryview(buffer))
        assert held == content[:48], buffer
    scalar = np.zeros((), dtype=np.int32)
    assert k2k.read_into(scalar, path, 8) == 4
    assert scalar.tobytes() == content[8:12]


class Exporter:
    """Exports a NumPy array by DLPack alone; `versioned`: by the newer capsule."""

    def __init__(self, inner: np.ndarray[Any, Any], versioned: bool, device: int = 1) -> None:
        self.inner, self.versioned, self.device = inner, versioned, device

    def __dlpack_device__(self) -> tuple[int, int]:
        return (self.device, 0)

    def __dlpack__(self, **options: Any) -> Any:
        assert self.device in {1, 3, 11, 13}, "a device's memory was asked for"
        if not self.versioned:
            if options:
                raise TypeError("max_version is newer than this")
            return self.inner.__dlpack__()
        return self.inner.__dlpack__(**options)


@pytest.mark.parametrize("versioned", [True, False])
def test_takes_objects_that_export_dlpack(path: Path, content: bytes, versioned: bool) -> None:
    inner = np.zeros((5, 4, 2), dtype=np.int16)
    assert k2k.read_into(Exporter(inner, versioned), path, 3) == 80
    assert inner.tobytes() == content[3:83]
    part = np.zeros((4, 10), dtype=np.uint8)
    assert k2k.read_into(Exporter(part[1:3], versioned), path) == 20
    assert part.tobytes() == bytes(10) + content[:20] + bytes(10)
    assert k2k.read_into(Exporter(inner, versioned, device=3), path) == 80, "pinned memory"
    assert k2k.read_into(Exporter(np.zeros((0, 3)), versioned), path) == 0
    with pytest.raises(ValueError, match="the Exporter is not C-contiguous"):
        k2k.read_into(Exporter(inner.transpose(), versioned), path)


def test_refuses_read_only_dlpack(path: Path) -> None:
    inner = np.zeros(4)
    inner.flags.writeable = False
    with pytest.raises(ValueError, match="the Exporter is read-only"):
        k2k.read_into(Exporter(inner, versioned=True), path)


def test_refuses_a_capsule_that_is_none(path: Path) -> None:
    class Broken:
        def __dlpack_device__(self) -> tuple[int, int]:
            return (1, 0)

        def __dlpack__(self, **_: Any) -> Any:
            return object()

    with pytest.raises(BufferError, match="gave no DLPack capsule"):
        k2k.read_into(Broken(), path)


@pytest.mark.parametrize(
    ("device", "name"), [(10, "ROCM"), (14, "oneAPI"), (99, "DLPack device 99")]
)
def test_device_memory_is_refused_and_not_touched(path: Path, device: int, name: str) -> None:
    with pytest.raises(NotImplementedError) as caught:
        k2k.read_into(Exporter(np.zeros(4), versioned=True, device=device), path)
    assert str(caught.value) == (
        f"device memory of {name} is not supported yet; read into host memory and copy it"
    )


def test_names_the_mistake_in_a_buffer(path: Path) -> None:
    frozen = np.zeros(4)
    frozen.flags.writeable = False
    wrong: list[tuple[Any, type[Exception], str]] = [
        (b"bytes", ValueError, "the bytes is read-only; pass a writable one"),
        (frozen, ValueError, "the ndarray of float64 is read-only; pass a writable one"),
        (np.zeros((4, 4))[:, :2], ValueError, "is not C-contiguous"),
        (np.zeros((4, 4), order="F"), ValueError, "is not C-contiguous"),
        (memoryview(bytearray(8))[::2], ValueError, "the memoryview is not C-contiguous"),
        (np.zeros(2, dtype=object), TypeError, "holds Python objects; pass an array of numbers"),
        ((ctypes.py_object * 2)(), TypeError, "holds Python objects; pass a buffer of numbers"),
        ("text", TypeError, "str is no buffer: pass a NumPy array"),
        ([1, 2], TypeError, "list is no buffer: pass a NumPy array"),
        (None, TypeError, "NoneType is no buffer"),
    ]
    for buffer, error, text in wrong:
        with pytest.raises(error, match=text):
            k2k.read_into(buffer, path)


def test_names_the_mistake_in_a_file(path: Path, tmp_path: Path) -> None:
    buffer = bytearray(8)
    with pytest.raises(FileNotFoundError) as missing:
        k2k.read_into(buffer, tmp_path / "none")
    assert missing.value.filename == str(tmp_path / "none")
    with pytest.raises(IsADirectoryError) as folder:
        k2k.read_into(buffer, tmp_path)
    assert folder.value.filename == tmp_path
    for descriptor in (-1, 1 << 20, 1 << 40, -(1 << 40)):
        with pytest.raises(OSError, match="Bad file descriptor") as closed:
            k2k.read_into(buffer, descriptor)
        assert closed.value.errno == errno.EBADF
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    with pytest.raises(OSError, match="Illegal seek") as pipe:
        k2k.read_into(buffer, fifo)
    assert pipe.value.errno == errno.ESPIPE
    with path.open("ab") as write_only, pytest.raises(OSError, match="Bad file descriptor"):
        k2k.read_into(buffer, write_only)
    for nothing in (None, True, 1.5, [str(path)]):
        with pytest.raises(TypeError, match="is no file: pass a path, a descriptor"):
            k2k.read_into(buffer, nothing)  # type: ignore[arg-type]
    with pytest.raises(io.UnsupportedOperation):
        k2k.read_into(buffer, io.BytesIO())
    for offset in (-1, 1 << 63):
        with pytest.raises(ValueError, match=r"permitted are 0 to 2\*\*63 - 1"):
            k2k.read_into(buffer, path, offset)
    assert k2k.read_into(bytearray(), path) == 0
    with pytest.raises(FileNotFoundError):
        k2k.read_into(bytearray(), tmp_path / "none")


def test_a_path_leaves_no_descriptor_behind(path: Path) -> None:
    make_cold(path)
    k2k.read_into(np.empty(FILE_BYTES, dtype=np.uint8), path)
    inode = path.stat().st_ino
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 - numbers are wanted.
        try:
            assert Path(f"/proc/self/fd/{name}").stat().st_ino != inode
        except FileNotFoundError:
            continue  # The listing's own.


def test_long_reads_come_in_parts(
    path: Path, content: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Like reads of more than 2 GiB, which need several read(2) calls.
    monkeypatch.setattr("k2k._files.PART_BYTES_MAX", 1 << 20)
    buffer = bytearray(FILE_BYTES + 10)
    before = k2k.stats()["reads"]
    assert k2k.read_into(buffer, path) == FILE_BYTES
    assert buffer == content + bytes(10)
    assert k2k.stats()["reads"] == before + 5, "four parts and the end"


def test_other_threads_run_while_a_read_waits(path: Path) -> None:
    # Many threads read at once, and each gets its own bytes.
    errors: list[BaseException] = []

    def read(number: int) -> None:
        try:
            buffer = np.zeros(1 << 20, dtype=np.uint8)
            want = path.read_bytes()[number * 1000 : number * 1000 + buffer.nbytes]
            for _ in range(5):
                make_cold(path)
                assert k2k.read_into(buffer, path, number * 1000) == buffer.nbytes
                assert buffer.tobytes() == want
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=read, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def test_a_forked_child_reads_with_files_of_its_own(path: Path, content: bytes) -> None:
    k2k.read_into(bytearray(8), path)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            buffer = bytearray(64)
            if k2k.read_into(buffer, path, 3) == 64 and bytes(buffer) == content[3:67]:
                status = 0
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0


def test_statistics_count_bytes(path: Path) -> None:
    before = k2k.stats()
    k2k.read_into(bytearray(1000), path)
    after = k2k.stats()
    assert after["reads"] == before["reads"] + 1
    assert after["bytes_cache"] + after["bytes_direct"] >= (
        before["bytes_cache"] + before["bytes_direct"] + 1000
    )
    counted = {"unprobed", "probed", "mixed", "fall_backs", "files_refused", "misaligned"}
    assert set(after) >= counted


INTERRUPTED = """
import sys, threading
import k2k
buffer = bytearray(1 << 20)
try:
    print("ready", flush=True)
    while True:
        k2k.read_into(buffer, sys.argv[1])
except KeyboardInterrupt:
    print("interrupted", threading.active_count())
"""


def test_ctrl_c_ends_reads(path: Path) -> None:
    expect_interrupted(INTERRUPTIBLE + INTERRUPTED, path, after_s=0.2)
