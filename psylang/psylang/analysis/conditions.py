"""The consequences of a condition for values: their ranges in the runs in which it holds, or does
not hold.

`|x| < t` implies -t < x < t; `a and b` implies both; a greatest element below t implies that all
elements are below t. A failed comparison implies nothing for a value if the other side may be NaN.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping

import numpy as np

from psylang.analysis.intervals import INFINITY, Ends, Range, meet
from psylang.ir.graph import Op, Region, Value
from psylang.ir.ops import DRAWS, OPS
from psylang.ir.types import DType
from psylang.passes.cse import key_of

_OPPOSITE = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "eq": "ne", "ne": "eq"}
_MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}


class Facts:
    """The operation that defines each value, and which values are always equal."""

    def __init__(self, body: Region) -> None:
        self.definition: dict[Value, Op] = {value: op for op in body.walk() for value in op.results}
        self._first: dict[Value, Value] = {}
        seen: dict[Hashable, Value] = {}
        for op in body.walk():
            if op.name in OPS and op.name not in DRAWS:
                operands = tuple(self._first.get(value, value) for value in op.operands)
                key = key_of(op.name, operands, op.attributes)
                self._first[op.result] = seen.setdefault(key, op.result)

    def same(self, a: Value, b: Value) -> bool:
        """Returns whether two values are equal wherever both are computed: equal operations on
        equal operands."""
        return self._first.get(a, a) is self._first.get(b, b)


class Assumed:
    """One assumption and its consequences. now: the ranges without it; not changed."""

    def __init__(self, facts: Facts, now: Mapping[Value, Range]) -> None:
        self._facts = facts
        self._now = now
        self._changed: dict[Value, Range] = {}

    def of(self, condition: Value, holds: bool) -> Mapping[Value, Range]:
        """The values whose ranges change, with the new ones."""
        self._condition(condition, holds)
        return self._changed

    def _range(self, value: Value) -> Range:
        return self._changed.get(value) or self._now[value]

    def _condition(self, condition: Value, holds: bool) -> None:
        op = self._facts.definition.get(condition)
        if condition not in self._now:
            return
        if not condition.type.shape:
            known = self._range(condition)
            bound = np.full(known.low.shape, float(holds))
            self._changed[condition] = meet(known, Range(bound, bound, known.nan))
        if op is None or any(one not in self._now for one in op.operands):
            return
        if op.name in ("and", "or") and holds == (op.name == "and"):
            for one in op.operands:
                if one.type == condition.type:
                    self._condition(one, holds)
        elif op.name == "not":
            self._condition(op.operands[0], not holds)
        elif op.name in _OPPOSITE:
            self._comparison(op, holds)

    def _comparison(self, op: Op, holds: bool) -> None:
        left, right = op.operands
        shape = op.result.type.shape
        a, b = self._range(left), self._range(right)
        # NaN makes a comparison false, and `ne` true: then one operand implies nothing for the
        # other.
        defined = holds == (op.name != "ne")
        name = op.name if holds else _OPPOSITE[op.name]
        if self._facts.same(left, right):
            if name == "ne" or (op.name == "ne" and not holds):
                self._give(left, self._not_itself(a, holds))
            return
        for value, known, other, relation in (
            (left, a, b, name),
            (right, b, a, _MIRRORED[name]),
        ):
            if value.type.shape == shape:
                self._bound(value, known, other, relation, defined)

    @staticmethod
    def _not_itself(known: Range, differs: bool) -> Range:
        """`x != x` is NaN, and no number."""
        if differs:
            none = np.full(known.low.shape, INFINITY)
            return Range(none, -none, known.nan)
        return Range(known.low, known.high, np.zeros_like(known.nan))

    def _bound(
        self, value: Value, known: Range, other: Range, relation: str, defined: bool
    ) -> None:
        low, high = known.low, known.high
        dtype = value.type.dtype
        if relation == "lt":
            high = np.minimum(high, _beside(other.high, dtype, -INFINITY))
        elif relation == "le":
            high = np.minimum(high, other.high)
        elif relation == "gt":
            low = np.maximum(low, _beside(other.low, dtype, INFINITY))
        elif relation == "ge":
            low = np.maximum(low, other.low)
        elif relation == "eq":
            low, high = np.maximum(low, other.low), np.minimum(high, other.high)
        if defined:
            nan = np.zeros_like(known.nan)
        else:
            low = np.where(other.nan, known.low, low)
            high = np.where(other.nan, known.high, high)
            nan = known.nan
        self._give(value, Range(low, high, nan))

    def _give(self, value: Value, range: Range) -> None:
        """Sets this range for the value, and derives ranges of its operands."""
        self._changed[value] = meet(self._range(value), range)
        op = self._facts.definition.get(value)
        if op is None or any(one not in self._now for one in op.operands):
            return
        found = self._changed[value]
        if op.name == "abs":
            (of,) = op.operands
            known = self._range(of)
            low, high = np.maximum(known.low, -found.high), np.minimum(known.high, found.high)
            far = np.maximum(found.low, 0.0)
            # Only one sign remains if |x| excludes the other.
            low = np.where(known.low > -far, np.maximum(low, far), low)
            high = np.where(known.high < far, np.minimum(high, -far), high)
            self._give(of, Range(low, high, found.nan))
        elif op.name == "neg" and value.type.dtype.is_float:
            self._give(op.operands[0], Range(-found.high, -found.low, found.nan))
        elif op.name == "reduce_max":
            self._elements(op.operands[0], found, np.full(found.low.shape, -INFINITY), found.high)
        elif op.name == "reduce_min":
            self._elements(op.operands[0], found, found.low, np.full(found.low.shape, INFINITY))
        elif op.name == "extract":
            (of,) = op.operands
            known, index = self._range(of), op.attributes["index"]
            low, high, nan = known.low.copy(), known.high.copy(), known.nan.copy()
            low[index], high[index], nan[index] = found.low, found.high, found.nan
            self._give(of, Range(low, high, nan))

    def _elements(self, value: Value, fold: Range, low: Ends, high: Ends) -> None:
        """Each number among the elements is within the range; a NaN as first element hides the
        others."""
        known = self._range(value)
        hidden = fold.nan
        self._changed[value] = Range(
            np.where(hidden, known.low, np.maximum(known.low, low)),
            np.where(hidden, known.high, np.minimum(known.high, high)),
            known.nan,
        )


def _beside(end: Ends, dtype: DType, to: float) -> Ends:
    """The next number of the type, for a strict comparison."""
    if dtype.is_int or dtype is DType.BOOL:
        return np.where(np.abs(end) < 2.0**53, end + np.sign(to), end)
    if dtype is DType.F32:
        return np.nextafter(end.astype(np.float32), np.float32(to)).astype(np.float64)
    return np.nextafter(end, to)
