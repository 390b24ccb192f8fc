"""The writable memory of an object that a caller passes as a buffer."""

import contextlib
import ctypes
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from k2k import _dlpack, _registered


@dataclass(frozen=True)
class Memory:
    """`nbytes` bytes from `address` on; valid and of that size as long as `holder` is held.

    cuda: what it is, if it is memory of CUDA: it has to be registered while it is read into.
    """

    address: int
    nbytes: int
    holder: object
    cuda: str = ""

    def registered(self) -> contextlib.AbstractContextManager[None]:
        """The memory as reads need it. ValueError: memory of CUDA that cannot be registered."""
        return self._registered() if self.cuda else contextlib.nullcontext()

    @contextlib.contextmanager
    def _registered(self) -> Iterator[None]:
        with contextlib.ExitStack() as held:
            try:
                held.enter_context(_registered.while_read(self.address, self.nbytes))
            except OSError as error:
                raise ValueError(
                    f"the {self.cuda} lies in memory of CUDA that cannot be registered: "
                    f"{error.strerror}; read into host memory and copy it"
                ) from None
            yield


def memory_of(buffer: Any) -> Memory:
    """The memory of a NumPy array, an object with the buffer protocol, or one with DLPack.

    TypeError: neither of these, or its elements are Python objects. ValueError: read-only, or not
    C-contiguous. NotImplementedError: memory of another device that the CPU cannot address.
    """
    if isinstance(buffer, np.ndarray):
        return _of_array(buffer)
    try:
        view = memoryview(buffer)
    except TypeError:
        return _of_device_array(buffer)
    return _of_view(view, type(buffer).__name__)


def _of_array(array: np.ndarray[Any, Any]) -> Memory:
    # Not by the buffer protocol, which has no word for some of NumPy's types.
    what = f"ndarray of {array.dtype}"
    if array.dtype.hasobject:
        raise TypeError(f"the {what} holds Python objects; pass an array of numbers")
    _check(what, contiguous=array.flags.c_contiguous, read_only=not array.flags.writeable)
    return Memory(int(array.ctypes.data), int(array.nbytes), array)


def _of_view(view: memoryview, what: str) -> Memory:
    if "O" in view.format:
        raise TypeError(f"the {what} holds Python objects; pass a buffer of numbers")
    _check(what, contiguous=view.c_contiguous, read_only=view.readonly)
    if view.nbytes == 0:
        return Memory(0, 0, view)
    first = ctypes.c_char.from_buffer(view)  # type: ignore[arg-type, unused-ignore]
    return Memory(ctypes.addressof(first), view.nbytes, first)


def _of_device_array(array: Any) -> Memory:
    what = type(array).__name__
    if hasattr(array, "__dlpack__") and hasattr(array, "__dlpack_device__"):
        kind = int(array.__dlpack_device__()[0])
        if kind not in _dlpack.CPU_DEVICES and kind != _dlpack.CUDA_DEVICE:
            raise _unsupported(_dlpack.device_name(kind))
        exported = _dlpack.export(array)
        _check(what, contiguous=exported.contiguous, read_only=exported.read_only)
        cuda = what if kind == _dlpack.CUDA_DEVICE else ""
        return Memory(exported.address, exported.nbytes, exported.capsule, cuda)
    if hasattr(array, "__cuda_array_interface__"):
        return _of_cuda_array(what, array)
    raise TypeError(
        f"{what} is no buffer: pass a NumPy array, a writable object with the buffer protocol "
        "(bytearray, mmap, memoryview) or one with __dlpack__ (torch.Tensor)"
    )


def _of_cuda_array(what: str, array: Any) -> Memory:
    facts = array.__cuda_array_interface__
    address, read_only = facts["data"]
    element = np.dtype(facts["typestr"])
    shape, strides = tuple(facts["shape"]), facts.get("strides")
    nbytes = int(np.prod(shape, dtype=np.int64)) * element.itemsize
    expected = element.itemsize
    contiguous = True
    for extent, stride in zip(reversed(shape), reversed(strides or ()), strict=False):
        contiguous = contiguous and (extent == 1 or stride == expected)
        expected *= extent
    _check(what, contiguous=contiguous or nbytes == 0, read_only=bool(read_only))
    return Memory(int(address or 0), nbytes, array, what)


def _unsupported(kind: str) -> NotImplementedError:
    return NotImplementedError(
        f"device memory of {kind} is not supported yet; read into host memory and copy it"
    )


def _check(what: str, *, contiguous: bool, read_only: bool) -> None:
    if read_only:
        raise ValueError(f"the {what} is read-only; pass a writable one")
    if not contiguous:
        raise ValueError(
            f"the {what} is not C-contiguous; read into a contiguous one and copy it, or read its "
            "contiguous parts one by one"
        )
