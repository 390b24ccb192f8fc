"""DLPack capsules for memory of a device: how another library takes a tensor over without a copy.

NumPy makes the capsule, of an array at the tensor's address, which nobody follows; then the device
and the type in it are changed. So NumPy's code in C frees what the capsule holds, on any thread and
while an exception is on its way, where a callback in Python could not run.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from k2k._dlpack import _Managed, _ManagedVersioned, _pointer_of
from k2k._header import DTYPES

VERSION = (1, 1)
TYPES_OF_1_1 = (1, 1)  # The float types of 8 bits came with it.
LEGACY = b"dltensor"
VERSIONED = b"dltensor_versioned"

# Code of the type (DLDataTypeCode), and the first version that has it.
CODES: dict[str, tuple[int, tuple[int, int]]] = {
    "BOOL": (6, (0, 0)),
    "U8": (1, (0, 0)),
    "I8": (0, (0, 0)),
    "U16": (1, (0, 0)),
    "I16": (0, (0, 0)),
    "U32": (1, (0, 0)),
    "I32": (0, (0, 0)),
    "U64": (1, (0, 0)),
    "I64": (0, (0, 0)),
    "F16": (2, (0, 0)),
    "F32": (2, (0, 0)),
    "F64": (2, (0, 0)),
    "C64": (5, (0, 0)),
    "BF16": (4, (0, 0)),
    "F8_E4M3": (10, TYPES_OF_1_1),
    "F8_E4M3FNUZ": (11, TYPES_OF_1_1),
    "F8_E5M2": (12, TYPES_OF_1_1),
    "F8_E5M2FNUZ": (13, TYPES_OF_1_1),
    "F8_E8M0": (14, TYPES_OF_1_1),
}


@dataclass(frozen=True)
class _Elements:
    """For NumPy: elements at an address; an array of them keeps the owner alive."""

    owner: Any
    __array_interface__: dict[str, Any]


def _versioned(elements: Any) -> Any:
    return elements.__dlpack__(max_version=(1, 0))


def capsule(
    owner: Any,
    address: int,
    dtype: str,
    shape: tuple[int, ...],
    device: tuple[int, int],
    max_version: tuple[int, int] | None,
) -> Any:
    """A capsule for `shape` elements, in C order, at `address`; it keeps `owner` alive.

    max_version: the newest version that the other library knows; None: from before version 1. NumPy
    before 2.1 makes a capsule from before version 1 for every library, which they all take.
    BufferError: that version has no such type.
    """
    code, since = CODES.get(dtype, (0, None))
    version = min(VERSION, tuple(max_version)) if max_version else (0, 0)
    if since is None or since > version:
        wanted = "no version" if since is None else f"version {since[0]}.{since[1]}"
        raise BufferError(f"DLPack has {dtype} in {wanted}, asked for is {version[0]}.{version[1]}")
    described = {
        "data": (address, False),
        "shape": shape,
        "typestr": np.dtype(DTYPES[dtype].numpy).str,
        "version": 3,
    }
    elements = np.asarray(_Elements(owner, described))
    managed: Any
    if version < (1, 0):
        made = elements.__dlpack__()
        managed = _Managed.from_address(_pointer_of(made, LEGACY))
    else:
        try:
            made = _versioned(elements)
        except TypeError:  # Of NumPy before 2.1.
            return capsule(owner, address, dtype, shape, device, None)
        managed = _ManagedVersioned.from_address(_pointer_of(made, VERSIONED))
        managed.major, managed.minor = version
    managed.tensor.data = address
    managed.tensor.byte_offset = 0
    managed.tensor.code = code
    managed.tensor.device_type, managed.tensor.device_id = device
    return made
