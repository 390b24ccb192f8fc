"""DLPack capsules of device tensors: content, ownership, and what is refused. No device is needed:
the memory is the test's own, and nothing follows its address."""

import ctypes
import gc
import weakref
from typing import Any

import numpy as np
import pytest

from k2k import DeviceTensor, _dlpack, _dlpack_export
from k2k._dlpack_export import LEGACY, VERSIONED
from k2k._header import DTYPES


class Legacy(ctypes.Structure):
    _fields_ = (
        ("tensor", _dlpack._Tensor),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    )


class Memory:
    """Stands for DeviceMemory."""


def tensor(
    dtype: str = "F32", shape: tuple[int, ...] = (2, 3), address: int = 0x7F0000001000
) -> tuple[DeviceTensor, Memory]:
    memory: Any = Memory()
    nbytes = int(np.prod(shape)) * DTYPES[dtype].bits // 8
    return DeviceTensor("weight", dtype, shape, nbytes, address, memory), memory


def named(capsule: Any, name: bytes) -> bool:
    return bool(_dlpack._is_valid(capsule, name))


def take_over(capsule: Any, name: bytes) -> Any:
    """What a library does that takes a tensor over: returns the function that gives it back."""
    place = _dlpack._pointer_of(capsule, name)
    rename = ctypes.pythonapi.PyCapsule_SetName
    rename.argtypes = [ctypes.py_object, ctypes.c_char_p]
    assert rename(capsule, USED[name]) == 0
    kind: Any = _dlpack._ManagedVersioned if name == VERSIONED else Legacy
    deleter = kind.from_address(place).deleter
    return lambda: ctypes.CFUNCTYPE(None, ctypes.c_void_p)(deleter)(place)


USED = {LEGACY: b"used_dltensor", VERSIONED: b"used_dltensor_versioned"}


def test_the_device_is_the_first_of_cuda() -> None:
    assert tensor()[0].__dlpack_device__() == (2, 0)


@pytest.mark.parametrize(
    ("max_version", "name"),
    [
        (None, LEGACY),
        ((0, 8), LEGACY),
        ((1, 0), VERSIONED),
        ((1, 3), VERSIONED),
        ((2, 0), VERSIONED),
    ],
)
def test_the_version_is_the_newest_that_both_know(
    max_version: tuple[int, int] | None, name: bytes
) -> None:
    capsule = tensor()[0].__dlpack__(max_version=max_version)
    assert named(capsule, name)
    if name == VERSIONED:
        managed = _dlpack._ManagedVersioned.from_address(_dlpack._pointer_of(capsule, name))
        assert (managed.major, managed.minor) == min((1, 1), max_version or (0, 0))
        assert managed.flags == 0, "writable, and no copy"


def test_a_capsule_describes_the_tensor() -> None:
    exported = _dlpack.export(tensor("BF16", (4, 1, 5))[0])
    assert (exported.address, exported.nbytes) == (0x7F0000001000, 40)
    assert exported.contiguous
    assert not exported.read_only
    capsule = tensor("C64", (4, 0, 5))[0].__dlpack__(max_version=(1, 0))
    described = _dlpack._ManagedVersioned.from_address(
        _dlpack._pointer_of(capsule, VERSIONED)
    ).tensor
    assert described.data is None, "no element, no address"
    assert (described.code, described.bits, described.lanes) == (5, 64, 1)
    assert [described.shape[axis] for axis in range(described.ndim)] == [4, 0, 5]
    assert (described.device_type, described.device_id) == (2, 0)
    scalar = _dlpack.export(tensor("I64", ())[0])
    assert scalar.nbytes == 8


@pytest.mark.parametrize("dtype", sorted(_dlpack_export.CODES))
def test_types_have_numpy_s_codes(dtype: str) -> None:
    capsule = tensor(dtype)[0].__dlpack__(max_version=(1, 1))
    exported = _dlpack._ManagedVersioned.from_address(_dlpack._pointer_of(capsule, VERSIONED))
    assert exported.tensor.bits == DTYPES[dtype].bits
    if DTYPES[dtype].ml_dtypes:
        return  # NumPy exports none of these.
    theirs: Any = np.zeros(1, DTYPES[dtype].numpy).__dlpack__()
    legacy = _dlpack._Managed.from_address(_dlpack._pointer_of(theirs, LEGACY))
    assert exported.tensor.code == legacy.tensor.code


@pytest.mark.parametrize("max_version", [None, (1, 0)])
def test_memory_lives_until_the_other_library_gives_it_back(
    max_version: tuple[int, int] | None,
) -> None:
    exported, memory = tensor()
    gone = weakref.ref(memory)
    capsule = exported.__dlpack__(max_version=max_version)
    give_back = take_over(capsule, VERSIONED if max_version else LEGACY)
    del exported, memory, capsule
    gc.collect()
    assert gone() is not None
    give_back()
    assert gone() is None


def test_a_capsule_that_nobody_takes_over_frees_the_memory() -> None:
    exported, memory = tensor()
    gone = weakref.ref(memory)
    capsules = [exported.__dlpack__(), exported.__dlpack__(max_version=(1, 0))]
    del exported, memory
    assert gone() is not None
    capsules.pop()
    assert gone() is not None
    capsules.pop()
    assert gone() is None


def test_a_capsule_may_go_while_an_exception_is_on_its_way() -> None:
    def fails() -> None:
        capsule = tensor()[0].__dlpack__()
        assert named(capsule, LEGACY)
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        fails()


@pytest.mark.parametrize("stream", [None, -1, 1, 2, 0x7F00DEAD0000])
def test_every_stream_of_cuda_is_accepted(stream: int | None) -> None:
    assert named(tensor()[0].__dlpack__(stream=stream), LEGACY)


@pytest.mark.parametrize("stream", [0, -2])
def test_streams_that_cuda_does_not_have_are_refused(stream: int) -> None:
    with pytest.raises(ValueError, match=f"stream {stream} is none of CUDA's: 1 is the legacy"):
        tensor()[0].__dlpack__(stream=stream)


def test_what_would_need_a_copy_is_refused() -> None:
    assert named(tensor()[0].__dlpack__(dl_device=(2, 0), copy=False), LEGACY)
    with pytest.raises(
        BufferError, match="'weight' is in memory of the first CUDA device; another"
    ):
        tensor()[0].__dlpack__(dl_device=(1, 0))
    with pytest.raises(BufferError, match=r"without a copy: use torch\(\)\.clone\(\)"):
        tensor()[0].__dlpack__(copy=True)
    with pytest.raises(BufferError, match=r"not aligned to its elements in the file; torch\(\)"):
        tensor(address=0x7F0000001001)[0].__dlpack__()


def test_types_that_the_version_does_not_have_are_refused() -> None:
    with pytest.raises(
        BufferError,
        match=r"'weight': DLPack has F8_E5M2 in version 1\.1, asked for is 1\.0; use torch\(\)",
    ):
        tensor("F8_E5M2")[0].__dlpack__(max_version=(1, 0))
    with pytest.raises(BufferError, match=r"DLPack has F4 in no version, asked for is 1\.1"):
        tensor("F4", (4,))[0].__dlpack__(max_version=(1, 1))


def test_numpy_refuses_memory_of_a_device_and_keeps_nothing() -> None:
    exported, memory = tensor()
    gone = weakref.ref(memory)
    with pytest.raises((BufferError, RuntimeError), match="device"):
        np.from_dlpack(exported)
    del exported, memory
    assert gone() is None


def test_a_numpy_before_2_1_makes_capsules_from_before_version_1(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuses(_: Any) -> Any:
        raise TypeError("__dlpack__() got an unexpected keyword argument 'max_version'")

    monkeypatch.setattr(_dlpack_export, "_versioned", refuses)
    assert named(tensor()[0].__dlpack__(max_version=(1, 0)), LEGACY)
    with pytest.raises(BufferError, match=r"DLPack has F8_E4M3 in version 1\.1, asked for is 0\.0"):
        tensor("F8_E4M3")[0].__dlpack__(max_version=(1, 1))
