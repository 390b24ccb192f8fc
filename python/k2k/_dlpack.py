"""The memory behind a DLPack capsule: address, size, and whether it may be written.

NumPy's own from_dlpack() treats memory of older exporters as read-only and does not support
bfloat16, so this module reads the capsule (dlpack.h, versions 0 and 1). It does not consume the
capsule: the owner of the capsule keeps the memory.
"""

import ctypes
from dataclasses import dataclass
from typing import Any

MAJOR_MAX = 1
READ_ONLY = 1  # DLPACK_FLAG_BITMASK_READ_ONLY

CPU_DEVICES = {1, 3, 11, 13}  # CPU, CUDAHost, ROCMHost, CUDAManaged: the CPU can address them.
CUDA_DEVICE = 2
DEVICES = {
    2: "CUDA",
    4: "OpenCL",
    7: "Vulkan",
    8: "Metal",
    9: "VPI",
    10: "ROCM",
    12: "an extension device",
    14: "oneAPI",
    15: "WebGPU",
    16: "Hexagon",
    17: "MAIA",
}


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _Managed(ctypes.Structure):
    _fields_ = (("tensor", _Tensor),)


class _ManagedVersioned(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    )


_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype = ctypes.c_void_p
_pointer_of.argtypes = [ctypes.py_object, ctypes.c_char_p]
_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.restype = ctypes.c_int
_is_valid.argtypes = [ctypes.py_object, ctypes.c_char_p]


@dataclass(frozen=True)
class Exported:
    """The memory that an object exports; it lives as long as `capsule`."""

    address: int
    nbytes: int
    contiguous: bool
    read_only: bool
    capsule: object


def device_name(kind: int) -> str:
    return DEVICES.get(kind, f"DLPack device {kind}")


def export(source: Any) -> Exported:
    """The memory of an object with __dlpack__.

    Raises the errors of __dlpack__; BufferError: an unknown version or capsule.
    """
    try:
        capsule = source.__dlpack__(max_version=(MAJOR_MAX, 0))
    except TypeError:  # Of an exporter older than max_version.
        capsule = source.__dlpack__()
    if _is_valid(capsule, b"dltensor_versioned"):
        managed = _ManagedVersioned.from_address(_pointer_of(capsule, b"dltensor_versioned"))
        if managed.major > MAJOR_MAX:
            raise BufferError(f"DLPack version {managed.major} is newer than {MAJOR_MAX}")
        return _exported(managed.tensor, bool(managed.flags & READ_ONLY), capsule)
    if _is_valid(capsule, b"dltensor"):
        legacy = _Managed.from_address(_pointer_of(capsule, b"dltensor"))
        return _exported(legacy.tensor, False, capsule)
    raise BufferError(f"{type(source).__name__}.__dlpack__() gave no DLPack capsule")


def _exported(tensor: _Tensor, read_only: bool, capsule: object) -> Exported:
    shape = [tensor.shape[axis] for axis in range(tensor.ndim)]
    count = 1
    for extent in shape:
        count *= extent
    contiguous = True
    if tensor.strides and count > 0:
        expected = 1
        for axis in reversed(range(tensor.ndim)):
            contiguous &= shape[axis] == 1 or tensor.strides[axis] == expected
            expected *= shape[axis]
    nbytes = (count * tensor.bits * tensor.lanes + 7) // 8
    address = (tensor.data or 0) + tensor.byte_offset
    return Exported(address, nbytes, contiguous, read_only, capsule)
