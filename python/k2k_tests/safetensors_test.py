"""load_safetensors() gives what the file holds, or says which tensor is wrong and how."""

import itertools
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import k2k
from k2k import SafetensorsError, _header, _load
from k2k_tests.fixture import (
    INTERRUPTIBLE,
    PAGE,
    Raw,
    described,
    encoded,
    environment,
    expect_interrupted,
    make_cold,
    need_library,
    pattern,
    write,
)

need_library()


def one_of_each() -> dict[str, Raw]:
    """A tensor of every type, of shape (3, 4)."""
    tensors = {}
    for seed, (name, kind) in enumerate(_header.DTYPES.items()):
        content = pattern(12 * kind.bits // 8, seed + 1)
        if name == "BOOL":
            content = bytes(byte & 1 for byte in content)
        tensors[f"of_{name}"] = Raw(name, (3, 4), content)
    return tensors


@pytest.mark.parametrize("alignment", [1, 8, PAGE])
def test_every_type_comes_as_it_is(tmp_path: Path, alignment: int) -> None:
    tensors = one_of_each()
    loaded = k2k.load_safetensors(write(tmp_path / "a", tensors, alignment=alignment))
    assert list(loaded) == list(tensors)
    for name, raw in tensors.items():
        tensor = loaded[name]
        kind = _header.DTYPES[raw.dtype]
        view = tensor.numpy()
        assert (tensor.name, tensor.dtype, tensor.shape) == (name, raw.dtype, (3, 4))
        assert view.tobytes() == raw.content, name
        assert view.shape == ((tensor.nbytes,) if kind.packed else (3, 4))
        assert view.flags.writeable
        expected = getattr(ml_dtypes, kind.ml_dtypes) if kind.ml_dtypes else kind.numpy
        assert view.dtype == np.dtype(expected)
        assert np.asarray(tensor).tobytes() == raw.content
    assert repr(loaded["of_F32"]) == "Tensor('of_F32', F32, shape (3, 4))"


def test_without_ml_dtypes_such_tensors_are_integers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = k2k.load_safetensors(write(tmp_path / "a", one_of_each()))
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    assert loaded["of_BF16"].numpy().dtype == np.uint16
    assert loaded["of_BF16"].dtype == "BF16"
    assert loaded["of_F8_E4M3"].numpy().dtype == np.uint8


def test_values_and_conversions(tmp_path: Path) -> None:
    array = np.arange(6, dtype="<f4").reshape(2, 3)
    half = np.array([1.5, -2], dtype=ml_dtypes.bfloat16)
    path = write(
        tmp_path / "a",
        {"x": Raw("F32", (2, 3), array.tobytes()), "h": Raw("BF16", (2,), half.tobytes())},
    )
    loaded = k2k.load_safetensors(path)
    assert np.array_equal(loaded["x"].numpy(), array)
    assert np.array_equal(np.from_dlpack(loaded["x"]), array)
    assert np.asarray(loaded["x"], dtype=np.float64).dtype == np.float64
    assert np.asarray(loaded["x"]).ctypes.data == loaded["x"].numpy().ctypes.data
    assert np.array(loaded["x"]).ctypes.data != loaded["x"].numpy().ctypes.data
    with pytest.raises(ValueError, match="is a copy, and copy is False"):
        loaded["x"].__array__(np.float64, copy=False)
    assert loaded["h"].numpy().astype(float).tolist() == [1.5, -2]
    with pytest.raises(BufferError, match=r"tensor 'h' is BF16, which NumPy cannot export"):
        np.from_dlpack(loaded["h"])


def test_views_keep_the_memory_and_never_touch_the_file(tmp_path: Path) -> None:
    path = write(tmp_path / "a", {"x": Raw("U8", (4,), b"abcd"), "y": Raw("U8", (4,), b"efgh")})
    before = path.read_bytes()
    view = k2k.load_safetensors(path)["y"].numpy()
    view[:] = 0
    assert view.tolist() == [0, 0, 0, 0]
    assert path.read_bytes() == before


def test_empty_and_scalar_tensors_and_metadata(tmp_path: Path) -> None:
    tensors = {
        "nothing": Raw("F32", (0,), b""),
        "flat": Raw("F64", (3, 0, 7), b""),
        "scalar": Raw("I64", (), (-7).to_bytes(8, "little", signed=True)),
        "last": Raw("BF16", (0, 2**40), b""),
    }
    loaded = k2k.load_safetensors(write(tmp_path / "a", tensors, {"format": "pt", "ü": ""}))
    assert loaded.metadata == {"format": "pt", "ü": ""}
    assert loaded["nothing"].numpy().shape == (0,)
    assert loaded["flat"].numpy().shape == (3, 0, 7)
    assert loaded["last"].numpy().shape == (0, 2**40)
    assert loaded["scalar"].numpy().shape == ()
    assert int(loaded["scalar"].numpy()) == -7
    assert len(k2k.load_safetensors(write(tmp_path / "b", {}))) == 0
    only_empty = write(tmp_path / "c", {"nothing": tensors["nothing"]})
    assert k2k.load_safetensors(only_empty)["nothing"].nbytes == 0


def test_misaligned_tensors_are_exported_as_copies(tmp_path: Path) -> None:
    value = np.array([1.5, 2.5], dtype="<f8")
    tensors = {"a": Raw("U8", (3,), b"abc"), "x": Raw("F64", (2,), value.tobytes())}
    tensor = k2k.load_safetensors(write(tmp_path / "a", tensors))["x"]
    assert not tensor.numpy().flags.aligned
    assert np.array_equal(tensor.numpy(), value)
    exported = np.from_dlpack(tensor)
    assert exported.flags.aligned
    assert np.array_equal(exported, value)


@pytest.mark.parametrize("cold", [True, False])
@pytest.mark.parametrize("threads", [1, 3, None])
def test_large_files_come_whole(tmp_path: Path, cold: bool, threads: int | None) -> None:
    tensors = {
        "a": Raw("U8", (5,), b"12345"),
        "b": Raw("U8", (20 << 20,), pattern(20 << 20, 2)),
        "c": Raw("U16", (1 << 20, 3), pattern(6 << 20, 3)),
    }
    path = write(tmp_path / "a", tensors)
    if cold:
        make_cold(path)
    before = k2k.stats()
    loaded = k2k.load_safetensors(path, threads=threads)
    after = k2k.stats()
    for name, raw in tensors.items():
        assert loaded[name].numpy().tobytes() == raw.content
    assert after["misaligned"] == before["misaligned"]
    assert after["bytes_cache"] + after["bytes_direct"] == (
        before["bytes_cache"] + before["bytes_direct"] + path.stat().st_size
    )


def test_memory_and_file_leave_the_same_rest() -> None:
    for offset in (0, 1, 4095, 4096, 123457):
        area = _load.allocate(offset, 100)
        assert area.ctypes.data % PAGE == offset % PAGE
        assert area.nbytes == 100
    assert _load.allocate(17, 0).nbytes == 0


def test_parts_cover_each_run_once_and_are_cut_at_multiples_of_their_size() -> None:
    part = _load.PART_BYTES
    runs = [
        _load.Run(100, 100, []),
        _load.Run(200, 3 * part + 5, []),
        _load.Run(4 * part, 5 * part, []),
    ]
    parts = list(_load.parts_of(runs))
    assert [(each.run, each.begin, each.end) for each in parts] == [
        (1, 200, part),
        (1, part, 2 * part),
        (1, 2 * part, 3 * part),
        (1, 3 * part, 3 * part + 5),
        (2, 4 * part, 5 * part),
    ]


def test_only_the_tensors_asked_for_are_read(tmp_path: Path) -> None:
    tensors = {
        name: Raw("U8", (1 << 20,), pattern(1 << 20, seed)) for seed, name in enumerate("abcdef")
    }
    path = write(tmp_path / "a", tensors)
    seen: list[tuple[int, int]] = []
    loaded = k2k.load_safetensors(
        path, names=iter(["e", "b"]), progress=lambda done, total: seen.append((done, total))
    )
    assert list(loaded) == ["e", "b"]
    assert seen[-1] == (2 << 20, 2 << 20)
    for name in loaded:
        assert loaded[name].numpy().tobytes() == tensors[name].content
    assert len(k2k.load_safetensors(path, names=[])) == 0
    with pytest.raises(KeyError, match=r"has no tensor 'bb'; did you mean 'b'\?"):
        k2k.load_safetensors(path, names=["bb"])
    with pytest.raises(TypeError, match="names is the text 'abc'; pass a list of names"):
        k2k.load_safetensors(path, names="abc")
    for threads in (0, 65):
        with pytest.raises(ValueError, match="permitted are 1 to 64"):
            k2k.load_safetensors(path, threads=threads)


def test_progress_is_told_from_nothing_to_all(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "model", {"a": Raw("U8", (20 << 20,), pattern(20 << 20))})
    seen: list[tuple[int, int]] = []
    k2k.load_safetensors(path, progress=lambda done, total: seen.append((done, total)))
    assert seen[0] == (0, 20 << 20)
    assert seen[-1] == (20 << 20, 20 << 20)
    assert [done for done, _ in seen] == sorted({done for done, _ in seen})
    k2k.load_safetensors(path, progress=True)
    error = capsys.readouterr().err
    assert error.endswith("\rmodel: 20 of 20 MiB, 100 %\n")
    k2k.load_safetensors(path, progress=False)
    assert capsys.readouterr().err == ""


def test_an_exception_of_progress_ends_the_load_and_its_threads(tmp_path: Path) -> None:
    path = write(tmp_path / "a", {"a": Raw("U8", (64 << 20,), pattern(64 << 20))})

    class EnoughError(Exception):
        pass

    def progress(done: int, total: int) -> None:
        if done > 0:
            raise EnoughError

    with pytest.raises(EnoughError):
        k2k.load_safetensors(path, progress=progress)
    assert threading.active_count() == 1


INTERRUPTED = """
import os, signal, sys, threading
import k2k
def progress(done, total):
    if done > 0:
        os.kill(os.getpid(), signal.SIGINT)
try:
    while True:
        k2k.load_safetensors(sys.argv[1], progress=progress)
except KeyboardInterrupt:
    inode = os.stat(sys.argv[1]).st_ino
    names = os.listdir("/proc/self/fd")
    left = [n for n in names if os.path.exists("/proc/self/fd/" + n)
            and os.stat("/proc/self/fd/" + n).st_ino == inode]
    print("interrupted", threading.active_count(), left)
"""


def test_ctrl_c_leaves_no_thread_and_no_descriptor(tmp_path: Path) -> None:
    path = write(tmp_path / "a", {"a": Raw("U8", (64 << 20,), pattern(64 << 20))})
    make_cold(path)
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTIBLE + INTERRUPTED, str(path)],
        capture_output=True,
        text=True,
        env=environment(),
        check=True,
    )
    assert done.stdout == "interrupted 1 []\n"


FROM_OUTSIDE = """
import sys, threading
import k2k
try:
    print("ready", flush=True)
    while True:
        k2k.load_safetensors(sys.argv[1])
except KeyboardInterrupt:
    print("interrupted", threading.active_count(), flush=True)
"""


def test_ctrl_c_at_any_moment_leaves_no_thread(tmp_path: Path) -> None:
    path = write(tmp_path / "a", {"a": Raw("U8", (32 << 20,), pattern(32 << 20))})
    for turn in range(8):
        expect_interrupted(INTERRUPTIBLE + FROM_OUTSIDE, path, after_s=turn * 0.013)


def test_a_file_that_is_truncated_meanwhile_is_an_error(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a",
        {
            "a": Raw("U8", (8 << 20,), pattern(8 << 20)),
            "z": Raw("U8", (40 << 20,), bytes(40 << 20)),
        },
    )

    def progress(done: int, total: int) -> None:
        if done == 0:
            os.truncate(path, 12 << 20)

    with pytest.raises(SafetensorsError, match=r"tensor 'z': the file ended at byte \d+ while"):
        k2k.load_safetensors(path, progress=progress, threads=1)
    assert threading.active_count() == 1


def test_a_file_without_tensors_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        k2k.load_safetensors(tmp_path / "none")
    with pytest.raises(SafetensorsError, match="is no regular file"):
        k2k.load_safetensors(tmp_path)
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(SafetensorsError, match="is no regular file"):
        k2k.load_safetensors(tmp_path / "fifo")


FLOAT = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
MANY = "9" * 5000

WRONG: dict[str, tuple[Any, str]] = {
    "begin": (b"[1, 2, 3]", "begins with b'[' instead of '{'. Is it a safetensors file?"),
    "empty": (b"", "begins with b'' instead of '{'"),
    "json": (b'{"x": ', "the header is no JSON: Expecting value"),
    "behind": (b"{} {}", "the header is no JSON: Extra data"),
    "utf8": (b'{"\xff": 1}', "the header is no JSON: 'utf-8' codec"),
    "nan": (b'{"x": NaN}', "the header is no JSON: NaN is no JSON"),
    "deep": (b'{"x":' + b"[" * 200_000 + b"]" * 200_000 + b"}", "nested too deeply"),
    "digits": (
        f'{{"x":{{"dtype":"F32","shape":[{MANY}],"data_offsets":[0,8]}}}}'.encode(),
        "no JSON",
    ),
    "twice": (b'{"x": 1, "x": 1}', "the header names 'x' twice"),
    "twice inside": (b'{"x": {"dtype": "F32", "dtype": "F32"}}', "the header names 'dtype' twice"),
    "surrogate": (b'{"\\ud800": 1}', "is no text: half of a surrogate pair"),
    "metadata": ({"__metadata__": {"a": 1}}, "__metadata__ is no map from text to text"),
    "metadata list": ({"__metadata__": []}, "__metadata__ is no map from text to text"),
    "number": ({"x": 7}, "tensor 'x' is described by 7; expected is an object"),
    "missing": ({"x": {"dtype": "F32"}}, "tensor 'x' has no data_offsets, shape"),
    "unknown": ({"x": FLOAT | {"stride": 1}}, "tensor 'x' has the unknown 'stride'"),
    "dtype": (
        {"x": FLOAT | {"dtype": "F33"}},
        "tensor 'x' has the dtype 'F33'; known are BF16, BOOL",
    ),
    "dtype list": ({"x": FLOAT | {"dtype": []}}, "tensor 'x' has the dtype []"),
    "shape": (
        {"x": FLOAT | {"shape": 2}},
        "tensor 'x' has the shape 2; expected are at most 32 counts",
    ),
    "negative": ({"x": FLOAT | {"shape": [-2]}}, "tensor 'x' has the shape [-2]"),
    "bool": ({"x": FLOAT | {"shape": [True, 2]}}, "tensor 'x' has the shape [True, 2]"),
    "float": ({"x": FLOAT | {"shape": [2.0]}}, "tensor 'x' has the shape [2.0]"),
    "dimensions": ({"x": FLOAT | {"shape": [1] * 40 + [2]}}, "expected are at most 32 counts"),
    "huge": ({"x": FLOAT | {"shape": [2**62, 2**62]}}, "is larger than any memory"),
    "huge empty": ({"x": FLOAT | {"shape": [0, 2**62, 9]}}, "is larger than any memory"),
    "size": (
        {"x": FLOAT | {"shape": [3]}},
        "tensor 'x' of F32 [3] takes 12 bytes; its data_offsets hold 8",
    ),
    "half a byte": ({"x": FLOAT | {"dtype": "F4", "shape": [15]}}, "of F4 [15] ends within a byte"),
    "three": ({"x": FLOAT | {"data_offsets": [0, 4, 8]}}, "has the data_offsets [0, 4, 8]"),
    "backwards": (
        {"x": FLOAT | {"data_offsets": [8, 0]}},
        "has the data_offsets [8, 0]; expected are",
    ),
    "outside": ({"x": FLOAT | {"data_offsets": [8, 16]}}, "but the file has"),
    "far": ({"x": FLOAT | {"data_offsets": [2**70, 2**70 + 8]}}, "but the file has"),
    "overlap": (
        {"x": FLOAT, "y": FLOAT | {"shape": [1], "data_offsets": [4, 8]}},
        "tensor 'y' overlaps tensor 'x' by 4 bytes",
    ),
    "hole": (
        {"x": FLOAT | {"shape": [1], "data_offsets": [4, 8]}},
        "4 bytes between the header and tensor 'x' belong to none",
    ),
    "behind the last": (
        {"x": FLOAT | {"shape": [1], "data_offsets": [0, 4]}},
        "4 bytes behind tensor 'x' belong to none",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_header_is_named(tmp_path: Path, case: str) -> None:
    header, text = WRONG[case]
    path = tmp_path / "wrong"
    path.write_bytes(encoded(header, alignment=1) + bytes(8))
    with pytest.raises(SafetensorsError, match=re.escape(text)) as caught:
        k2k.load_safetensors(path)
    assert str(path) in str(caught.value)
    assert len(str(caught.value)) < 1000


def test_a_wrong_length_is_named(tmp_path: Path) -> None:
    path = tmp_path / "wrong"
    path.write_bytes(b"1234567")
    with pytest.raises(SafetensorsError, match="has 7 bytes; a safetensors file begins with 8"):
        k2k.load_safetensors(path)
    path.write_bytes((100_000_001).to_bytes(8, "little") + b"{}")
    with pytest.raises(SafetensorsError, match="length is 100000001; permitted are 100000000"):
        k2k.load_safetensors(path)
    path.write_bytes((3).to_bytes(8, "little") + b"{}")
    with pytest.raises(SafetensorsError, match="ends inside its header: 11 bytes are needed"):
        k2k.load_safetensors(path)


def test_bool_of_other_bytes_is_named(tmp_path: Path) -> None:
    path = write(tmp_path / "a", {"flags": Raw("BOOL", (3,), b"\x00\x01\x02")})
    with pytest.raises(
        SafetensorsError, match="tensor 'flags' of BOOL has bytes other than 0 and 1"
    ):
        k2k.load_safetensors(path)


def small() -> tuple[bytes, bytes]:
    """A file of three tensors: what stands before their bytes, and these."""
    tensors = {
        "a": Raw("F32", (2, 2), pattern(16, 5)),
        "b": Raw("BOOL", (2,), b"\x00\x01"),
        "c": Raw("I16", (3,), pattern(6, 6)),
    }
    content = b"".join(tensor.content for tensor in tensors.values())
    return encoded(described(tensors, {"k": "v"})), content


def an_error_or_a_right_result(path: Path, content: bytes) -> bool:
    """Loads; True if it was loaded, and then every byte belongs to one tensor, as in the file."""
    try:
        loaded = k2k.load_safetensors(path, threads=1)
    except SafetensorsError:
        return False
    held = sorted(content.find(tensor.numpy().tobytes()) for tensor in loaded.values())
    assert held[0] == 0
    assert sum(tensor.nbytes for tensor in loaded.values()) == len(content)
    return True


def test_whatever_bit_of_the_header_flips_there_is_no_crash(tmp_path: Path) -> None:
    before, content = small()
    path = tmp_path / "flipped"
    right = 0
    for at, bit in itertools.product(range(len(before)), range(8)):
        flipped = bytearray(before)
        flipped[at] ^= 1 << bit
        path.write_bytes(bytes(flipped) + content)
        right += an_error_or_a_right_result(path, content)
    assert 0 < right < len(before) * 8 / 4, "a name may change; little else"


def test_whatever_byte_the_header_has_there_is_no_crash(tmp_path: Path) -> None:
    before, content = small()
    path = tmp_path / "changed"
    for at, byte in itertools.product(range(len(before)), b'\x00\xff"{}[],:09 '):
        changed = bytearray(before)
        changed[at] = byte
        path.write_bytes(bytes(changed) + content)
        an_error_or_a_right_result(path, content)


def test_wherever_the_file_is_cut_it_is_an_error(tmp_path: Path) -> None:
    before, content = small()
    whole = before + content
    path = tmp_path / "cut"
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(SafetensorsError):
            k2k.load_safetensors(path, threads=1)
    path.write_bytes(whole)
    assert an_error_or_a_right_result(path, content)
    path.write_bytes(whole + b"\x00")
    with pytest.raises(SafetensorsError, match="1 bytes behind tensor 'c' belong to none"):
        k2k.load_safetensors(path)


def test_torch_views_share_the_memory(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    loaded = k2k.load_safetensors(write(tmp_path / "a", one_of_each()))
    for tensor in loaded.values():
        kind = _header.DTYPES[tensor.dtype]
        if getattr(torch, kind.torch, None) is None:
            with pytest.raises(TypeError, match=f"has no {kind.torch}"):
                tensor.torch()
            continue
        view = tensor.torch()
        assert view.dtype == getattr(torch, kind.torch)
        assert tuple(view.shape) == ((tensor.nbytes,) if kind.packed else (3, 4))
        content = view.contiguous().view(torch.uint8).numpy().tobytes()
        assert content == tensor.numpy().tobytes()
    buffer = torch.zeros(4, dtype=torch.bfloat16)
    assert k2k.read_into(buffer, tmp_path / "a") == 8


def test_torch_is_imported_only_when_asked_for(tmp_path: Path) -> None:
    path = write(tmp_path / "a", {"x": Raw("BF16", (1,), b"ab")})
    script = (
        "import sys, k2k; k2k.load_safetensors(sys.argv[1])['x'].numpy();"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script, str(path)], check=True, env=environment())


def test_without_torch_its_view_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    loaded = k2k.load_safetensors(write(tmp_path / "a", {"x": Raw("U8", (1,), b"a")}))
    with pytest.raises(ModuleNotFoundError):
        loaded["x"].torch()


def test_a_run_of_many_tensors_grows_in_place() -> None:
    """Where each tensor copied the run before it, this took a thousand times the loop."""
    entries = [_header.Entry(str(at), "U8", (8,), 8 * at, 8 * at + 8) for at in range(50_000)]

    def plain() -> int:
        kept: list[_header.Entry] = []
        end = 0
        for entry in entries:
            if entry.begin - end <= _load.GAP_BYTES_MAX:
                kept.append(entry)
                end = entry.end
        return len(kept)

    def seconds(work: Callable[[], object]) -> float:
        begun = time.process_time()
        work()
        return time.process_time() - begun

    (run,) = _load.runs_of(entries)
    assert (run.begin, run.end, run.entries) == (0, 400_000, entries)
    loop = min(seconds(plain) for _ in range(5))
    assert min(seconds(lambda: _load.runs_of(entries)) for _ in range(3)) < 50 * loop
