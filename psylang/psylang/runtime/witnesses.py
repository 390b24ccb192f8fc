"""Outputs that are NaN where a whole number or a condition came from NaN.

NaN in numbers with fractions is seen in the results. A model that gives whole numbers alone, such
as a choice, gives one that a comparison with NaN decided, and nothing tells. Such a program gets an
output of its own for each of its outputs, which only this package sees. Programs that give a number
with a fraction stay as they are.

A value is doubtful if NaN decided it: a comparison or a conversion of NaN, and what is computed of
such values, unless the doubtful ones make no difference (the other side of a select, `and` with
False, `or` with True). A user's own test for NaN, x != x, is no doubt. Of loops and conditions the
results are judged: they are doubtful if a number that they give is NaN.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from psylang.ir.builder import Builder
from psylang.ir.graph import Op, Output, Program, Region, Value
from psylang.ir.ops import DRAWS
from psylang.ir.types import BOOL, F64

MARK = "~nan"  # Behind the name of an output; no name of a model has it.
COMPARISONS = frozenset({"eq", "ne", "lt", "le", "gt", "ge"})


def with_witnesses(program: Program) -> Program:
    """The program, with an output `NAME~nan` for each output NAME if all are whole numbers."""
    if any(one.type.dtype.is_float for one in program.outputs):
        return program
    doubts = _Doubts(program)
    outputs, values = list(program.outputs), list(program.body.yields[: len(program.outputs)])
    for output, value in zip(program.outputs, list(values), strict=True):
        doubt = doubts.of(value)
        if doubt is not None:
            outputs.append(Output(f"{output.name}{MARK}", F64))
            values.append(doubts.build.select(doubts.any(doubt), math.nan, 0.0))
    body = program.body
    after = body.yields[len(program.outputs) :]
    ops = (*body.ops, *doubts.build.take())
    return dataclasses.replace(
        program, outputs=tuple(outputs), body=Region(body.arguments, ops, (*values, *after))
    )


class _Doubts:
    """Writes for a value of the body whether NaN decided it: a bool, or one for each element."""

    def __init__(self, program: Program) -> None:
        self.build = Builder()
        self._made: dict[Value, Value | None] = {}
        needed = _needed(program)
        for op in program.body.ops:
            for result in op.results:
                if result in needed:
                    self._made[result] = self._doubt(op, result)

    def of(self, value: Value) -> Value | None:
        """None: never."""
        return self._made.get(value)

    def any(self, doubt: Value) -> Value:
        """Whether an element is doubtful."""
        parts = [self.build.extract(doubt, *place) for place in _places(doubt)]
        return self._either(*parts) or self.build.constant(False, BOOL)

    def _either(self, *parts: Value | None) -> Value | None:
        found: Value | None = None
        for one in parts:
            if one is not None:
                found = one if found is None else self.build.or_(found, one)
        return found

    def _nan(self, value: Value) -> Value | None:
        """Whether a number is NaN."""
        return self.build.op("ne", value, value) if value.type.dtype.is_float else None

    def _doubt(self, op: Op, result: Value) -> Value | None:
        build, name = self.build, op.name
        given = [self.of(one) for one in op.operands]
        if name in DRAWS or name == "constant":
            return None
        if op.regions:
            numbers = [one for one in op.results if one.type.dtype.is_float]
            seen = [*map(self._nan, numbers), *given] if name != "argmin" else given
            return self._either(*(self.any(one) for one in seen if one is not None))
        if name in COMPARISONS or (name == "convert" and not result.type.dtype.is_float):
            if name == "ne" and op.operands[0] is op.operands[1] and op.origin.source:
                return None
            return self._either(*given, *map(self._nan, op.operands))
        if name == "select":
            return self._selected(op, given)
        if name in ("and", "or") and result.type == BOOL:
            return self._masked(op, given)
        if name == "extract":
            (inner,) = given
            return inner and build.extract(inner, *op.attributes["index"])
        if name == "stack" and any(given):
            parts = [build.constant(False, BOOL) if one is None else one for one in given]
            return build.stack(parts, result.type.shape)
        flat = result.type.shape or not any(one.type.shape for one in op.operands)
        if flat and name != "dot":
            return self._either(*given)
        return self._either(*(self.any(one) for one in given if one is not None))

    def _selected(self, op: Op, given: list[Value | None]) -> Value | None:
        condition, yes, no = given
        if yes is None and no is None:
            return condition
        never = self.build.constant(False, BOOL)
        chosen = self.build.select(
            op.operands[0], never if yes is None else yes, never if no is None else no
        )
        return self._either(condition, chosen)

    def _masked(self, op: Op, given: list[Value | None]) -> Value | None:
        """A doubtful operand matters where the other one does not decide alone."""
        build, parts = self.build, []
        for mine, other, doubt in (
            (given[0], op.operands[1], given[1]),
            (given[1], op.operands[0], given[0]),
        ):
            if mine is not None:
                open_ = other if op.name == "and" else build.not_(other)
                either = self._either(open_, doubt)
                assert either is not None
                parts.append(build.and_(mine, either))
        return self._either(*parts)


def _needed(program: Program) -> set[Value]:
    """The values of the body that the outputs depend on."""
    ops = {result: op for op in program.body.ops for result in op.results}
    found: set[Value] = set()
    waiting = list(program.body.yields[: len(program.outputs)])
    while waiting:
        value = waiting.pop()
        if value in found or value not in ops:
            continue
        found.add(value)
        waiting += ops[value].operands
    return found


def _places(value: Value) -> list[tuple[int, ...]]:
    return [tuple(map(int, place)) for place in np.ndindex(*value.type.shape)]


__all__ = ["MARK", "with_witnesses"]
