"""The decisions that ranges permit: comparisons with one possible result, guards without effect,
and LLVM's flags nnan and ninf of single operations.

narrowed() returns the program without the comparisons and guards, flagged() the program with the
attribute `finite`; each has for each decision the range that permits it. The new programs compute
the same bits wherever the ranges hold. run() checks parameters' ranges but not inputs' ranges, so
plans are compiled for ranges of parameters only (licensed()).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from psylang.analysis.arguments import Pair
from psylang.analysis.intervals import Range
from psylang.analysis.mathematics import plain_formula, region_of
from psylang.analysis.ranges import Ranges
from psylang.ir.builder import plain
from psylang.ir.graph import Op, Origin, Program, Value
from psylang.ir.interpret import MATHEMATICS
from psylang.ir.ops import FINITE
from psylang.passes.rewrite import Rewriter
from psylang.passes.scalarise import Scalarise

_COMPARISONS = {"eq": "=", "ne": "≠", "lt": "<", "le": "≤", "gt": ">", "ge": "≥"}


@dataclass(frozen=True)
class Decision:
    """origin: the operation's origin. text: the decision. because: the ranges that permit it."""

    origin: Origin
    kind: str  # "comparison", "guard", "mathematics" or "flags"
    text: str
    because: str


def narrowed(program: Program, ranges: Ranges) -> tuple[Program, list[Decision]]:
    """The program with all decisions that its ranges permit. ranges: must belong to `program`
    itself."""
    made = _Narrower(program, ranges)
    return made.result(), made.decisions


def flagged(
    program: Program,
    parameters: Mapping[str, Pair] | None = None,
    inputs: Mapping[str, Pair] | None = None,
) -> tuple[Program, list[Decision]]:
    """The program in which operations on finite numbers alone have the attribute `finite`.

    Machine code computes both sides of conditions, and goes on in lanes whose trials have ended, so
    the ranges are those of Ranges(everywhere=True). parameters, inputs: as of Ranges.
    """
    ranges = Ranges(program, parameters=parameters, inputs=inputs, peeled=1, everywhere=True)
    made = _Flagger(program, ranges)
    return made.result(), made.decisions


def licensed(program: Program) -> Program:
    """The program for the ranges of its parameters, in scalars."""
    scalars = Scalarise()(program)
    return flagged(narrowed(scalars, Ranges(scalars))[0])[0]


class _Reader(Rewriter):
    """Names values and shows their ranges."""

    def __init__(self, program: Program, ranges: Ranges) -> None:
        super().__init__(program)
        self._ranges = ranges
        self._source = {value: op for op in program.body.walk() for value in op.results}
        self.decisions: list[Decision] = []

    def _named(self, value: Value, depth: int = 2) -> str:
        """The value's name, or its formula."""
        op = self._source.get(value)
        if value.hint or op is None:
            return value.hint or "a value"
        if op.name == "constant" and not value.type.shape:
            return f"{op.attributes['value']:g}"
        if not depth or op.name == "constant":
            return "…"
        inner = ", ".join(self._named(one, depth - 1) for one in op.operands[:4])
        return f"{op.name}({inner})"

    def _shown(self, value: Value) -> str:
        return str(self._ranges[value])


class _Flagger(_Reader):
    def visit(self, op: Op) -> None:
        floats = [value for value in op.operands if value.type.dtype.is_float]
        every = [*floats, *(value for value in op.results if value.type.dtype.is_float)]
        if (
            op.name not in FINITE
            or not floats
            or self._copying
            or not all(bool(self._ranges[value].finite.all()) for value in every)
        ):
            self.keep(op)
            return
        attributes = {**op.attributes, "finite": True}
        self.keep_as(op, self.all_now(op.operands), (), attributes)
        varied = [one for one in dict.fromkeys(floats) if not self._is_number(one)]
        because = ", ".join(f"{self._named(one)} in {self._shown(one)}" for one in varied)
        if varied:  # Of numbers alone LLVM knows the result.
            text = f"{self._named(op.result, 1) if not op.result.hint else op.name} is finite"
            self.decisions.append(Decision(op.origin, "flags", text, because))

    def _is_number(self, value: Value) -> bool:
        op = self._source.get(value)
        return op is not None and op.name == "constant"


class _Narrower(_Reader):
    def visit(self, op: Op) -> None:
        if op.name == "constant" or op.regions or len(op.results) != 1 or self._copying:
            self.keep(op)
            return
        operands = [self._ranges[value] for value in op.operands]
        found = self._ranges[op.result]
        dtype = op.result.type.dtype
        if found.impossible.any() or not operands:
            self.keep(op)
        elif not dtype.is_float and bool(found.single.all()) and abs(found.low).max() < 2**53:
            self._known(op, found)
        elif op.name in ("min", "max") and not op.result.type.shape:
            self._guard(op, *operands)
        elif op.name in MATHEMATICS and self.source.numerics == "fast":
            self._mathematics(op, operands)
        else:
            self.keep(op)

    def _mathematics(self, op: Op, operands: list[Range]) -> None:
        found = plain_formula(op, operands)
        if found is None:
            self.keep(op)
            return
        ranges = [f"{self._named(value)} in {self._shown(value)}" for value in op.operands]
        text = f"{op.name} needs no {found.without.removeprefix('the ')}"
        self.decisions.append(Decision(op.origin, "mathematics", text, ", ".join(ranges)))
        if op.result.type.shape:  # Formulas are for scalars.
            self.keep(op)
            return
        operands_now = self.all_now(op.operands)
        self.replace(op.results, self.inline(region_of(op, found), operands_now, op.origin))

    def _known(self, op: Op, found: Range) -> None:
        value = found.low[..., 0]
        of = op.result.type
        if op.name in _COMPARISONS:
            always = {0.0: "never", 1.0: "always"}
            known = {always[number] for number in np.unique(value).tolist()}
            if len(known) == 1:
                self._note(op, "comparison", known.pop())
        attributes = {"value": plain(value.astype(of.dtype.numpy), of), "type": of}
        self.replace(op.results, [self.op("constant", **attributes)])

    def _note(self, op: Op, kind: str, text: str) -> None:
        a, b = (self._named(value) for value in op.operands)
        left, right = (self._shown(value) for value in op.operands)
        if kind == "comparison":
            text = f"{a} {_COMPARISONS[op.name]} {b} is {text} so"
        because = (
            f"{a} in {left}"
            if op.operands[0] is op.operands[1]
            else (f"{a} in {left}, {b} in {right}")
        )
        if all(self._is_constant(value) for value in op.operands):
            return  # This needs no range.
        self.decisions.append(Decision(op.origin, kind, text, because))

    def _guard(self, op: Op, a: Range, b: Range) -> None:
        """`b if b < a else a`, or >: removes an operand that is never chosen."""
        if op.name == "min":
            first, second = a.high <= b.low, b.high < a.low
        else:
            first, second = a.low >= b.high, b.low > a.high
        kept = None
        if bool(first.all()) or bool(b.empty.all()):
            kept = 0
        elif bool(np.all(second & ~a.nan & ~b.nan)):
            kept = 1
        if kept is None or bool(a.empty.any()):
            self.keep(op)
            return
        bound, value = op.operands[1 - kept], op.operands[kept]
        self._note(op, "guard", f"{self._named(bound)} is no bound of {self._named(value)}")
        self.replace(op.results, [self.now(value)])

    def _is_constant(self, value: Value) -> bool:
        op = self.definition.get(self.now(value))
        return op is not None and op.name == "constant"
