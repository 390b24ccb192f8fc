"""Loads and stores of the rows of buffers (abi.py): elements of scalars, or of one row a lane."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import llvmlite.ir as ll

from psylang.emit.lanes import ELEMENTS, I8, I32, I64, POINTER, Lanes, Term
from psylang.ir.types import DType, Type


def addresses(builder: Any, buffers: Any, count: int) -> list[Any]:
    """The addresses in the table of buffers."""
    places = (builder.gep(buffers, [I64(index)], source_etype=POINTER) for index in range(count))
    return [builder.load(place, typ=POINTER) for place in places]


class Rows:
    """The buffers of a program, by their addresses."""

    def __init__(self, lanes: Lanes, buffers: Sequence[Any]) -> None:
        self._builder = lanes.builder
        self._width = lanes.width
        self._buffers = buffers

    def buffer(self, index: int) -> Any:
        """The address of a buffer."""
        return self._buffers[index]

    def place(self, buffer: int, row: Any, type: Type, index: int) -> Any:
        """The address of an element of a row."""
        builder = self._builder
        stored = I8 if type.dtype is DType.BOOL else ELEMENTS[type.dtype]
        element = builder.add(builder.mul(row, I64(type.size)), I64(index))
        return builder.gep(self._buffers[buffer], [element], source_etype=stored)

    def load(self, buffer: int, row: Any, type: Type) -> tuple[Term, ...]:
        """The elements of a row; of many rows if `row` is a vector."""
        return tuple(self._element(buffer, row, type, index) for index in range(type.size))

    def store(self, value: Any, buffer: int, row: Any, type: Type, index: int) -> None:
        """Stores a scalar as an element of a row."""
        if type.dtype is DType.BOOL:
            value = self._builder.zext(value, I8)
        self._builder.store(value, self.place(buffer, row, type, index))

    def store_vector(self, value: Any, buffer: int, rows: Any, type: Type, index: int) -> None:
        """Stores the elements of a vector in the rows of the vector `rows`."""
        for lane in range(self._width):
            row = self._builder.extract_element(rows, I32(lane))
            one = self._builder.extract_element(value, I32(lane))
            self.store(one, buffer, row, type, index)

    def _element(self, buffer: int, row: Any, type: Type, index: int) -> Term:
        builder = self._builder
        if not isinstance(row.type, ll.VectorType):
            return Term(self._scalar(buffer, row, type, index), type.dtype, False)
        vector = ll.Constant(ll.VectorType(ELEMENTS[type.dtype], self._width), ll.Undefined)
        for lane in range(self._width):
            one = self._scalar(buffer, builder.extract_element(row, I32(lane)), type, index)
            vector = builder.insert_element(vector, one, I32(lane))
        return Term(vector, type.dtype, True)

    def _scalar(self, buffer: int, row: Any, type: Type, index: int) -> Any:
        builder = self._builder
        place = self.place(buffer, row, type, index)
        if type.dtype is DType.BOOL:
            return builder.icmp_unsigned("!=", builder.load(place, typ=I8), I8(0))
        return builder.load(place, typ=ELEMENTS[type.dtype])


__all__ = ["Rows", "addresses"]
