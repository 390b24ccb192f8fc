"""register_memory() and unregister_memory(): GPU memory as the target of file reads."""

import contextlib
import threading
from collections.abc import Iterator

from k2k import _library

KINDS = {"cuda": 2, "hip": 3}  # k2k_memory_kind of include/k2k/k2k.h


def register_memory(address: int, nbytes: int, kind: str = "cuda") -> None:
    """Lets read_into() and the runtime's kernels read files into this GPU memory.

    address, nbytes: a whole allocation, or a part of one: of cudaMalloc, of
        torch.Tensor.data_ptr(), of cupy.ndarray.data.ptr. Memory that the CPU can address needs no
        registration.
    kind: "cuda" or "hip": memory of the first device. "hip" is unverified on hardware.

    ValueError: another kind, no bytes, or an invalid address.
    OSError: EEXIST: it overlaps registered memory; ENOSPC: 256 ranges are registered; ENODEV: no
    driver or no device; EIO, ENOMEM: from the driver. LibraryError: libk2k.so was not found.
    """
    if kind not in KINDS:
        raise ValueError(f"kind is {kind!r}; permitted are {', '.join(map(repr, KINDS))}")
    _check(address)
    if not 0 < nbytes < 2**64 - address:
        raise ValueError(f"nbytes is {nbytes}; permitted are 1 to the end of the address space")
    library = _library.load()
    _library.raise_if(library, library.k2k_memory_register(address, nbytes, KINDS[kind]))


def unregister_memory(address: int) -> None:
    """Before the memory is freed; waits for the reads and writes that use it.

    OSError: ENOENT: no registered memory begins at the address.
    """
    _check(address)
    library = _library.load()
    _library.raise_if(library, library.k2k_memory_unregister(address))


def is_registered(address: int, nbytes: int) -> bool:
    """Do the bytes lie in one registered range?"""
    return bool(_library.load().k2k_memory_registered(address, nbytes))


def _check(address: int) -> None:
    if not 0 < address < 2**64:
        raise ValueError(f"address is {address}; pass that of the memory")


_lock = threading.Lock()
_own: dict[int, list[int]] = {}  # Of while_read(): address → bytes, users.


@contextlib.contextmanager
def while_read(address: int, nbytes: int) -> Iterator[None]:
    """CUDA memory that is registered for this while, if it is not registered already.

    OSError: as register_memory().
    """
    with _lock:
        at = next((one for one, held in _own.items() if one <= address < one + held[0]), None)
        if at is not None and address + nbytes <= at + _own[at][0]:
            _own[at][1] += 1
        elif nbytes == 0 or is_registered(address, nbytes):
            at = None
        else:
            register_memory(address, nbytes)
            at = address
            _own[at] = [nbytes, 1]
    try:
        yield
    finally:
        if at is not None:
            with _lock:
                _own[at][1] -= 1
                if _own[at][1] == 0:
                    del _own[at]
                    unregister_memory(at)
