"""The types of the IR: an element type and a shape.

Shapes are () for a scalar, (n,) for a vector, (m, n) for a matrix. The types of elements: f64 and
f32 are IEEE 754, i32 and i64 are two's complement words that wrap, bool is a condition.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np


class DType(Enum):
    """An element type; its value is its name in the text of the IR."""

    F64 = "f64"
    F32 = "f32"
    I64 = "i64"
    I32 = "i32"
    BOOL = "bool"

    @property
    def is_float(self) -> bool:
        return self in (DType.F64, DType.F32)

    @property
    def is_int(self) -> bool:
        return self in (DType.I64, DType.I32)

    @property
    def bits(self) -> int:
        return _BITS[self]

    @property
    def numpy(self) -> np.dtype[Any]:
        """The NumPy type of such elements, in buffers and in the interpreter."""
        return _NUMPY[self]


_BITS = {DType.F64: 64, DType.F32: 32, DType.I64: 64, DType.I32: 32, DType.BOOL: 1}
_NUMPY: dict[DType, np.dtype[Any]] = {
    DType.F64: np.dtype(np.float64),
    DType.F32: np.dtype(np.float32),
    DType.I64: np.dtype(np.int64),
    DType.I32: np.dtype(np.int32),
    DType.BOOL: np.dtype(np.bool_),
}


@dataclass(frozen=True, slots=True)
class Type:
    """The type of a value: elements of `dtype` in `shape`."""

    dtype: DType
    shape: tuple[int, ...] = ()

    def __str__(self) -> str:
        if not self.shape:
            return self.dtype.value
        return "x".join(map(str, self.shape)) + "x" + self.dtype.value

    @property
    def size(self) -> int:
        """Elements."""
        count = 1
        for extent in self.shape:
            count *= extent
        return count

    @property
    def scalar(self) -> Type:
        """The type of one element."""
        return Type(self.dtype)

    def of(self, dtype: DType) -> Type:
        """The same shape of other elements."""
        return Type(dtype, self.shape)


F64 = Type(DType.F64)
F32 = Type(DType.F32)
I64 = Type(DType.I64)
I32 = Type(DType.I32)
BOOL = Type(DType.BOOL)


def parse_type(text: str) -> Type:
    """The type that str() wrote. ValueError: the text is no type."""
    *extents, name = text.split("x")
    try:
        shape = tuple(int(extent) for extent in extents)
        dtype = DType(name)
    except ValueError:
        raise ValueError(f"`{text}` is no type; types are like f64, 3xf64, 2x3xi32") from None
    if len(shape) > 2 or any(extent < 0 for extent in shape):
        raise ValueError(f"`{text}` is no type: at most two extents, none below zero")
    return Type(dtype, shape)
