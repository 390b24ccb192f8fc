"""Vectors and matrices become scalars, element by element, each sum in the interpreter's order.

The signature keeps its types: shaped parameters, inputs and states are extracted at the begin of
the body, shaped outputs and states stacked at its end. Nothing between them has a shape.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product
from typing import Any, ClassVar

import numpy as np

from psylang.ir.builder import rebuilt
from psylang.ir.graph import NO_ATTRIBUTES, Op, Program, Region, Value
from psylang.passes.rewrite import Rewriter

FOLDS = {"sum": "add", "reduce_max": "max", "reduce_min": "min"}


@dataclass(frozen=True)
class Scalarise:
    contract: ClassVar[str] = """
    needs  a verified program
    keeps  the signature; the interpreter's results, bit by bit; the order of draws
    gives  a body in which only `extract` of arguments and `stack` of yields see a shape
    """

    def __call__(self, program: Program) -> Program:
        if not any(value.type.shape for value in _values(program.body)):
            return program
        return _Scalariser(program).scalarised()


def _values(region: Region) -> Iterable[Value]:
    yield from region.arguments
    for op in region.ops:
        yield from op.results
        for inner in op.regions:
            yield from _values(inner)


def _indices(shape: tuple[int, ...]) -> Iterable[tuple[int, ...]]:
    return product(*map(range, shape))


class _Scalariser(Rewriter):
    def __init__(self, program: Program) -> None:
        super().__init__(program)
        # Of each shaped value of the old program, its elements in C order.
        self._elements: dict[Value, tuple[Value, ...]] = {}

    def scalarised(self) -> Program:
        body = self.source.body
        self._open.append([])
        for value in body.arguments:
            if value.type.shape:
                self._elements[value] = tuple(
                    self.op("extract", value, index=index, hint=_hint(value, index))
                    for index in _indices(value.type.shape)
                )
        self.visit_all(body.ops)
        yields = tuple(
            self.op("stack", *self.elements(value), shape=value.type.shape, hint=value.hint)
            if value.type.shape
            else self.now(value)
            for value in body.yields
        )
        return rebuilt(self.source, Region(body.arguments, tuple(self._open.pop()), yields))

    def elements(self, value: Value) -> tuple[Value, ...]:
        """The scalars of a value of the old program."""
        return self._elements[value] if value.type.shape else (self.now(value),)

    def give(self, value: Value, elements: Sequence[Value]) -> None:
        if value.type.shape:
            self._elements[value] = tuple(elements)
        else:
            self.replace([value], elements)

    def visit(self, op: Op) -> None:
        if op.regions:
            self._split_all(op)
        elif op.name == "constant" and op.result.type.shape:
            flat = np.asarray(op.attributes["value"], op.result.type.dtype.numpy).ravel()
            of = op.result.type.scalar
            self.give(op.result, [self.constant(number, of) for number in flat])
        elif op.name == "stack":
            self.give(op.result, self.all_now(op.operands))
        elif op.name == "extract":
            source = op.operands[0]
            place = 0
            for index, extent in zip(op.attributes["index"], source.type.shape, strict=True):
                place = place * extent + index
            self.give(op.result, [self.elements(source)[place]])
        elif op.name == "dot":
            self._dot(op)
        elif op.name in FOLDS:
            self.give(op.result, [self._folded(FOLDS[op.name], self.elements(op.operands[0]))])
        elif op.result.type.shape:
            self._elementwise(op)
        else:
            self.keep(op)

    def _elementwise(self, op: Op) -> None:
        result = op.result
        size = result.type.size
        columns = [
            self._elements[one] if one.type.shape else (self.now(one),) * size
            for one in op.operands
        ]
        attributes: dict[str, Any] = dict(op.attributes)
        self.give(
            result,
            [
                self.op(op.name, *row, hint=_hint(result, index), **attributes)
                for index, row in zip(
                    _indices(result.type.shape), zip(*columns, strict=True), strict=True
                )
            ],
        )

    def _folded(self, name: str, elements: Iterable[Value]) -> Value:
        return reduce(lambda total, element: self.op(name, total, element), elements)

    def _dot(self, op: Op) -> None:
        left, right = op.operands
        inner = right.type.shape[0]
        width = right.type.size // inner
        a, b = self.elements(left), self.elements(right)
        sums = [
            self._folded(
                "add",
                [self.op("mul", a[row + k], b[k * width + column]) for k in range(inner)],
            )
            for row in range(0, len(a), inner)
            for column in range(width)
        ]
        self.give(op.result, sums)

    def _split_all(self, op: Op) -> None:
        """Carried values, yields and results are split into their elements."""
        operands = tuple(one for value in op.operands for one in self.elements(value))
        regions = tuple(self._region(region) for region in op.regions)
        results = [self._split(value) for value in op.results]
        for value, elements in zip(op.results, results, strict=True):
            self.give(value, elements)
        flat = tuple(one for elements in results for one in elements)
        self.append(Op(op.name, operands, flat, op.attributes or NO_ATTRIBUTES, regions, op.origin))

    def _split(self, value: Value) -> tuple[Value, ...]:
        if not value.type.shape:
            return (value,)
        of = value.type.scalar
        return tuple(Value(of, _hint(value, index)) for index in _indices(value.type.shape))

    def _region(self, region: Region) -> Region:
        split = [self._split(value) for value in region.arguments]
        for value, elements in zip(region.arguments, split, strict=True):
            self.give(value, elements)
        self._open.append([])
        self.visit_all(region.ops)
        ops = tuple(self._open.pop())
        arguments = tuple(one for elements in split for one in elements)
        return Region(
            arguments, ops, tuple(one for value in region.yields for one in self.elements(value))
        )


def _hint(value: Value, index: tuple[int, ...]) -> str:
    return "_".join([value.hint, *map(str, index)]) if value.hint else ""
