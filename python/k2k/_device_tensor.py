"""A tensor of a file, in memory of a CUDA device."""

import importlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from k2k import _dlpack_export
from k2k._cuda import DeviceMemory
from k2k._dlpack import CUDA_DEVICE
from k2k._header import DTYPES
from k2k._tensor import torch_type

DLPACK_CUDA = (CUDA_DEVICE, 0)  # load_safetensors() reads into the first device.


@dataclass(frozen=True)
class DeviceTensor:
    """A tensor that load_safetensors(..., device="cuda") read.

    Its views share its memory, and keep it alive. torch.from_dlpack(tensor), cupy.from_dlpack() and
    others work, too.

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

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """A DLPack capsule that shares this memory and keeps it alive.

        stream: the other library's; nothing waits, because the data is there. max_version: (1, 0)
        and later: a capsule of version 1, writable; (1, 1) and later: F8_... as well.
        ValueError: a stream that CUDA does not have. BufferError: another device, a copy, a type
        that this version does not have (F8_..., F6_..., F4), or a tensor that the file does not
        align to its elements: torch() copies those.
        """
        kind = DTYPES[self.dtype]
        if stream is not None and (stream < -1 or stream == 0):
            raise ValueError(
                f"stream {stream} is none of CUDA's: 1 is the legacy default stream, 2 that of "
                "each thread, -1 asks for no synchronisation"
            )
        if dl_device is not None and tuple(dl_device) != DLPACK_CUDA:
            raise BufferError(
                f"tensor {self.name!r} is in memory of the first CUDA device; another device than "
                f"{DLPACK_CUDA} would need a copy: use torch().to(...)"
            )
        if copy:
            raise BufferError(
                f"tensor {self.name!r} is exported without a copy: use torch().clone()"
            )
        if self.nbytes and self.address % max(kind.bits // 8, 1) != 0:
            raise BufferError(
                f"tensor {self.name!r} is not aligned to its elements in the file; torch() copies "
                "it"
            )
        address = self.address if self.nbytes else 0
        try:
            return _dlpack_export.capsule(
                self.memory, address, self.dtype, self.shape, DLPACK_CUDA, max_version
            )
        except BufferError as refused:
            raise BufferError(f"tensor {self.name!r}: {refused}; use torch()") from None

    def __dlpack_device__(self) -> tuple[int, int]:
        return DLPACK_CUDA

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
