"""A tensor of a file, in memory: views of its bytes for NumPy, DLPack and PyTorch."""

import importlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from k2k._header import DTYPES

DLPACK_CPU = (1, 0)


def torch_type(torch: Any, name: str, dtype: str) -> Any:
    """The module's type for the tensor `name` of this dtype. TypeError: this torch has none."""
    wanted = DTYPES[dtype].torch
    found = getattr(torch, wanted, None)
    if found is None:
        raise TypeError(f"tensor {name!r} is {dtype}; torch {torch.__version__} has no {wanted}")
    return found


class Tensor:
    """A tensor that load_safetensors() read. Its views share its memory, and keep it alive.

    name: as the file calls it.
    dtype: the format's name of the element type: "F32", "BF16", "F8_E4M3", "BOOL", "F4", ...
    shape: elements along each axis, () of a scalar; C order.
    nbytes: bytes.

    numpy.asarray(tensor), numpy.from_dlpack(tensor) and torch.from_dlpack(tensor) work as well.
    """

    __slots__ = ("_bytes", "dtype", "name", "shape")

    def __init__(
        self, name: str, dtype: str, shape: tuple[int, ...], content: NDArray[np.uint8]
    ) -> None:
        self.name = name
        self.dtype = dtype
        self.shape = shape
        self._bytes = content

    @property
    def nbytes(self) -> int:
        return int(self._bytes.nbytes)

    def numpy(self) -> NDArray[Any]:
        """A writable view of shape `shape`.

        BF16 and F8_... have the types of the package ml_dtypes if it is installed and has them;
        otherwise uint16 and uint8. F4 and F6_... have elements of less than a byte, so their view
        has `nbytes` bytes, shape (nbytes,). If the file does not align a tensor to its elements,
        flags.aligned of its view is False.
        """
        kind = DTYPES[self.dtype]
        if kind.packed:
            return self._bytes
        return self._bytes.view(_numpy_type(self.dtype)).reshape(self.shape)

    def torch(self) -> Any:
        """A torch.Tensor that shares this memory; F4 and F6_... as bytes, as numpy() gives them.

        A tensor that the file does not align to its elements is copied. ModuleNotFoundError: there
        is no torch. TypeError: this torch has no such type.
        """
        torch, kind = importlib.import_module("torch"), DTYPES[self.dtype]
        wanted = torch_type(torch, self.name, self.dtype)
        shape = (self.nbytes,) if kind.packed else self.shape
        if self.nbytes == 0:
            return torch.empty(shape, dtype=wanted)
        return torch.from_numpy(self._aligned(kind.bits // 8)).view(wanted).reshape(shape)

    def _aligned(self, element_bytes: int) -> NDArray[np.uint8]:
        if self._bytes.ctypes.data % max(element_bytes, 1) == 0:
            return self._bytes
        return self._bytes.copy()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        view = self.numpy()
        wanted = view.dtype if dtype is None else np.dtype(dtype)
        if copy is False and wanted != view.dtype:
            raise ValueError(f"tensor {self.name!r} as {wanted} is a copy, and copy is False")
        return view.astype(wanted, copy=bool(copy))

    def __dlpack__(self, **options: Any) -> Any:
        """As NumPy exports it; a tensor that is not aligned to its elements as a copy.

        BufferError: NumPy has no such type (BF16, F8_..., F6_..., F4): use torch() or numpy().
        """
        kind = DTYPES[self.dtype]
        if kind.ml_dtypes or kind.packed:
            raise BufferError(
                f"tensor {self.name!r} is {self.dtype}, which NumPy cannot export; use torch() or "
                "numpy()"
            )
        view = self.numpy()
        if not view.flags.aligned:
            view = view.copy()
        return view.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return DLPACK_CPU

    def __repr__(self) -> str:
        return f"Tensor({self.name!r}, {self.dtype}, shape {self.shape})"


def _numpy_type(dtype: str) -> np.dtype[Any]:
    kind = DTYPES[dtype]
    if kind.ml_dtypes:
        try:
            found = getattr(importlib.import_module("ml_dtypes"), kind.ml_dtypes, None)
        except ImportError:
            found = None
        if found is not None:
            extended: np.dtype[Any] = np.dtype(found)
            return extended
    plain: np.dtype[Any] = np.dtype(kind.numpy)
    return plain
