"""A tensor of a file, in memory of a CUDA device."""

import importlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from k2k._cuda import DeviceMemory
from k2k._header import DTYPES
from k2k._tensor import torch_type


@dataclass(frozen=True)
class DeviceTensor:
    """A tensor that load_safetensors(..., device="cuda") read.

    Its views share its memory, and keep it alive.

    name: as the file calls it.
    dtype: the format's name of the element type: "F32", "BF16", "F8_E4M3", "BOOL", "F4", ...
    shape: elements along each axis, () of a scalar; C order.
    nbytes: bytes.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    nbytes: int
    address: int
    memory: DeviceMemory | None  # None: no bytes.

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """The tensor for CuPy (cupy.asarray), Numba (cuda.as_cuda_array) and others.

        The interface has no BF16 and no F8_..., F6_..., F4: those have the bytes of the tensor, of
        shape (nbytes,), as have tensors that the file does not align to their elements.
        """
        kind = DTYPES[self.dtype]
        plain = not kind.packed and not kind.ml_dtypes
        if plain and self.address % max(kind.bits // 8, 1) == 0:
            return self._interface(kind.numpy, self.shape)
        return self._interface("u1", (self.nbytes,))

    def torch(self) -> Any:
        """A torch.Tensor on the device that shares this memory; F4 and F6_... as bytes.

        A tensor that the file does not align to its elements is copied. ModuleNotFoundError: there
        is no torch. TypeError: this torch has no such type.
        """
        torch, kind = importlib.import_module("torch"), DTYPES[self.dtype]
        wanted = torch_type(torch, self.name, self.dtype)
        shape = (self.nbytes,) if kind.packed else self.shape
        if self.nbytes == 0:
            return torch.empty(shape, dtype=wanted, device="cuda")
        content = torch.as_tensor(_Bytes(self), device="cuda")
        if self.address % max(kind.bits // 8, 1) != 0:
            content = content.clone()
        return content.view(wanted).reshape(shape)

    def _interface(self, typestr: str, shape: tuple[int, ...]) -> dict[str, Any]:
        return {
            "data": (self.address if self.nbytes else 0, False),
            "shape": shape,
            "typestr": np.dtype(typestr).str,
            "strides": None,
            "version": 3,
            "stream": None,  # The data is there: nobody has to wait.
        }

    def __repr__(self) -> str:
        return f"DeviceTensor({self.name!r}, {self.dtype}, shape {self.shape})"


class _Bytes:
    """The bytes of a tensor; an owner of its memory."""

    def __init__(self, tensor: DeviceTensor) -> None:
        self.tensor = tensor
        self.__cuda_array_interface__ = tensor._interface("u1", (tensor.nbytes,))
