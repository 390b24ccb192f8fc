"""Scalar evolution: carried values of a loop as functions of the round, and the loop's number of
rounds.

A carried value x whose next value is a*x + b is affine (a is 1) or geometric. a and b are ranges
for each round, so `b` may be a bounded draw as well as a constant:

    affine      after n rounds x is in first + n * [b]
    geometric   with a in (0, 1) it stays between where it begins and the fixed points b / (1 - a)

Rounding is included: every operation may add half a unit in the last place of its greatest value. A
recurrence and the comparison that ends the loop give the least and the most rounds; a loop ends
with the first comparison that fails. Rounds of an affine value are quotients, computed without
rounding; rounds of a geometric value are counted on its fastest and slowest path.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from psylang.analysis.arithmetic import GREATEST
from psylang.analysis.intervals import INFINITY, limits, shown
from psylang.ir.graph import Op, Region, Value
from psylang.ir.types import DType

Hull = tuple[float, float]
ROUNDS_MAX = 2.0**62  # The least number of rounds of a loop without an end.
WAY_MAX = 100_000  # Rounds for which a geometric value is followed.
# Half a unit in the last place, relative; twice that for the arithmetic below.
_EPSILON = {DType.F64: 2.0**-53, DType.F32: 2.0**-24}
_LEAST = {DType.F64: 5e-324, DType.F32: 1.5e-45}
_SLACK = 1e-12  # Relative error of this module's own arithmetic.


@dataclass(frozen=True)
class Recurrence:
    """x' = a*x + b, and the greatest rounding error of each round."""

    value: Value
    first: Hull
    a: Hull
    b: Hull
    error: float
    ops: int

    @property
    def affine(self) -> bool:
        return self.a == (1.0, 1.0)

    @property
    def step(self) -> Hull:
        """b with the rounding error."""
        return self.b[0] - self.error, self.b[1] + self.error

    @property
    def geometric(self) -> bool:
        return 0.0 <= self.a[0] <= self.a[1] < 1.0

    def fixed_points(self) -> Hull:
        """The fixed points of a geometric recurrence, for all of its a and b."""
        every = [end / (1 - a) for a in self.a for end in self.step]
        return min(every), max(every)

    def within(self, rounds: float) -> Hull:
        """The range of x at the beginning of each of `rounds` rounds, and after the last."""
        if self.affine:
            down, up = self.step
            return _moved(
                self.first, rounds * down if down < 0 else 0.0, rounds * up if up > 0 else 0.0
            )
        if not self.geometric:
            return -INFINITY, INFINITY
        rest = self.fixed_points()
        return _moved((min(self.first[0], rest[0]), max(self.first[1], rest[1])), 0.0, 0.0)

    def after(self, least: float, most: float) -> Hull:
        """The range of x after `least` to `most` rounds."""
        if not self.affine:
            return self.within(most)
        down, up = self.step
        below = (least if down > 0 else most) * down if down else 0.0
        above = (most if up > 0 else least) * up if up else 0.0
        return _moved(self.first, below, above)

    def __str__(self) -> str:
        begin = shown(*self.first, False)
        b = shown(*self.b, False)
        if self.affine:
            return f"{begin} + n * {b} after n rounds"
        a = shown(*self.a, False)
        if self.geometric:
            rest = shown(*self.fixed_points(), False)
            return f"from {begin} towards {rest}: the distance times {a} a round"
        return f"x * {a} + {b} a round, from {begin}"


def _moved(ends: Hull, below: float, above: float) -> Hull:
    """The moved ends, with the error of this arithmetic."""
    low, high = ends[0] + below, ends[1] + above
    return (
        low - _SLACK * (abs(ends[0]) + abs(below)),
        high + _SLACK * (abs(ends[1]) + abs(above)),
    )


@dataclass(frozen=True)
class Evolution:
    """The evolution of one loop. recurrences: of its carried values. least, most: rounds that they
    permit."""

    recurrences: tuple[Recurrence, ...]
    least: int
    most: float
    because: str = ""  # The value and the comparison that bound `most`.


@dataclass(frozen=True)
class _Linear:
    """An expression as a*x + b; error: the rounding error of its operations."""

    a: Hull
    b: Hull
    error: float = 0.0
    ops: int = 0


def evolution(op: Op, first: Sequence[Hull], hull: Callable[[Value], Hull | None]) -> Evolution:
    """The evolution of a loop. first: the ends of its first values; hull: the ends of a value in
    all rounds, None if it may be NaN."""
    (body,) = op.regions
    reader = _Reader(body, hull)
    found = []
    for begin, argument, after in zip(first, body.arguments, body.yields[1:], strict=True):
        if argument.type.shape or argument.type.dtype is DType.BOOL or argument is after:
            continue
        made = reader.linear(argument, after)
        if made is not None and all(map(math.isfinite, (*made.a, *made.b, *begin))):
            found.append(Recurrence(argument, begin, made.a, made.b, made.error, made.ops))
    known = [one for one in found if math.isfinite(one.error)]
    least, most, because = _rounds(body, known, reader)
    limit = op.attributes.get("limit", 0)
    if limit and limit < most:
        most, because = float(limit), "the loop's limit"
    every = [one if one in known else _bounded(one, most) for one in found]
    kept = tuple(_exact(one, most) for one in every if one is not None)
    return Evolution(kept, int(min(max(least, 1), most, ROUNDS_MAX)), most, because)


def _bounded(one: Recurrence, most: float) -> Recurrence | None:
    """An affine value that only the number of rounds bounds: its rounding error follows from the
    greatest value after `most` steps."""
    size = max(map(abs, one.first)) + most * max(map(abs, one.b))
    dtype = one.value.type.dtype
    if not one.affine or not size <= GREATEST[dtype] / 4:
        return None
    error = 4 * one.ops * _EPSILON[dtype] * size + one.ops * _LEAST[dtype]
    return replace(one, error=error) if most * error <= size else None


def _exact(one: Recurrence, most: float) -> Recurrence:
    """The recurrence without rounding, if every sum of `most` steps is a number of the type:
    counters."""
    plain = one.affine and one.ops == 1 and one.b[0] == one.b[1] and one.first[0] == one.first[1]
    if not plain or not math.isfinite(most):
        return one
    step, begin = Fraction(one.b[0]), Fraction(one.first[0])
    unit = max(step.denominator, begin.denominator)
    greatest = (abs(begin) + int(most) * abs(step)) * unit
    fits = greatest * _EPSILON[one.value.type.dtype] <= 1
    return replace(one, error=0.0) if fits else one


def coefficients(
    body: Region, x: Value, after: Value, hull: Callable[[Value], Hull]
) -> tuple[Hull, Hull] | None:
    """The ranges of a and b, if the next value of x is a*x + b."""
    found = _Reader(body, hull).linear(x, after)
    return None if found is None else (found.a, found.b)


class _Reader:
    """Reads the expressions of a loop's body."""

    def __init__(self, body: Region, hull: Callable[[Value], Hull | None]) -> None:
        self.hull = hull
        self.definition = {value: op for op in body.ops for value in op.results}
        self._depends: dict[tuple[Value, Value], bool] = {}

    def depends(self, value: Value, on: Value) -> bool:
        if value is on:
            return True
        key = (value, on)
        if key not in self._depends:
            self._depends[key] = False
            op = self.definition.get(value)
            if op is not None:
                inner = [
                    one for region in op.regions for each in region.walk() for one in each.operands
                ]
                yields = [one for region in op.regions for one in region.yields]
                self._depends[key] = any(
                    self.depends(one, on) for one in (*op.operands, *inner, *yields)
                )
        return self._depends[key]

    def linear(self, x: Value, value: Value) -> _Linear | None:
        """The value as a*x + b."""
        if value is x:
            return _Linear((1.0, 1.0), (0.0, 0.0))
        if not self.depends(value, x):
            found = self.hull(value)
            return None if found is None else _Linear((0.0, 0.0), found)
        op = self.definition.get(value)
        if op is None or op.name not in _LINEAR or value.type.shape:
            return None
        parts = [part for part in (self.linear(x, one) for one in op.operands) if part is not None]
        made = _combined(op.name, parts) if len(parts) == len(op.operands) else None
        if made is None:
            return None
        size, dtype = self.hull(value), value.type.dtype
        if dtype.is_int:  # It must not wrap.
            inside = size is not None and limits(dtype)[0] < size[0] <= size[1] < limits(dtype)[1]
            return made if inside else None
        error = INFINITY
        if size is not None:
            error = max(map(abs, size)) * _EPSILON[dtype] * (1 + 1e-9) + _LEAST[dtype]
        return replace(made, error=made.error + error, ops=made.ops + 1)


_LINEAR = frozenset({"add", "sub", "mul", "neg", "fma"})


def _combined(name: str, parts: Sequence[_Linear]) -> _Linear | None:
    if name == "neg":
        (p,) = parts
        minus = (-1.0, -1.0)
        return _Linear(_times(p.a, minus), _times(p.b, minus), p.error, p.ops)
    if name == "sub":
        negative = _combined("neg", parts[1:])
        return None if negative is None else _combined("add", [parts[0], negative])
    if name == "fma":
        product = _combined("mul", parts[:2])
        return None if product is None else _combined("add", [product, parts[2]])
    p, q = parts
    if name == "add":
        return _Linear(_plus(p.a, q.a), _plus(p.b, q.b), p.error + q.error, p.ops + q.ops)
    if p.a != (0.0, 0.0):
        p, q = q, p
    if p.a != (0.0, 0.0) or p.error:
        return None  # x*x is not linear.
    by = max(map(abs, p.b))
    error = q.error * by if q.error else 0.0
    return _Linear(_times(q.a, p.b), _times(q.b, p.b), error, q.ops)


def _plus(p: Hull, q: Hull) -> Hull:
    """The sum: exact if an operand is 0, otherwise rounded outward."""
    ends = (p[0] + q[0], p[1] + q[1])
    if (0.0, 0.0) in (p, q) or all(
        float(end).is_integer() and abs(end) < 2**53 for end in (*p, *q)
    ):
        return ends
    return math.nextafter(ends[0], -INFINITY), math.nextafter(ends[1], INFINITY)


def _times(p: Hull, q: Hull) -> Hull:
    every = [a * b if a and b else 0.0 for a in p for b in q]
    ends = (min(every), max(every))
    if {*map(abs, p)} <= {0.0, 1.0} or {*map(abs, q)} <= {0.0, 1.0}:
        return ends
    return math.nextafter(ends[0], -INFINITY), math.nextafter(ends[1], INFINITY)


# The number of rounds.


def _rounds(
    body: Region, recurrences: Sequence[Recurrence], reader: _Reader
) -> tuple[float, float, str]:
    """(least, most, reason for most). A loop continues while all of its conditions hold."""
    by_next: dict[Value | None, Recurrence] = {
        after: one
        for argument, after in zip(body.arguments, body.yields[1:], strict=True)
        for one in recurrences
        if one.value is argument
    }
    least, most, because = INFINITY, INFINITY, ""
    for condition in _all_of(body.yields[0], reader):
        bound = _bound(condition, by_next, reader)
        if bound is None:
            least = 1
            continue
        low, high, text = bound
        least = min(least, low)
        if high < most:
            most, because = high, text
    return least, most, because


def _all_of(condition: Value, reader: _Reader) -> Iterator[Value]:
    op = reader.definition.get(condition)
    if op is not None and op.name == "and" and not condition.type.shape:
        for one in op.operands:
            yield from _all_of(one, reader)
    else:
        yield condition


def _bound(
    condition: Value, by_next: Mapping[Value | None, Recurrence], reader: _Reader
) -> tuple[float, float, str] | None:
    """(least, most, text) of the rounds after which a comparison fails for the first time."""
    op = reader.definition.get(condition)
    if op is None or op.name not in ("lt", "le", "gt", "ge"):
        return None
    left, right = op.operands
    below = op.name in ("lt", "le")
    if right in by_next or _magnitude(right, reader) in by_next:
        left, right, below = right, left, not below
    end = reader.hull(right)
    both = _magnitude(left, reader)
    one = by_next.get(left) or by_next.get(both)
    if one is None or end is None or reader.depends(right, one.value):
        return None
    name = one.value.hint or "a carried value"
    strict = op.name in ("lt", "gt")
    sign = ("<" if below else ">") + "=" * (not strict)
    text = f"{name} {sign} {shown(*end, False)}"
    if left not in by_next:
        if not below:
            return None
        up, down = _until(one, end, strict), _until(_mirrored(one), end, strict)
        return min(up[0], down[0]), min(up[1], down[1]), text.replace(name, f"|{name}|", 1)
    if not below:
        one, end = _mirrored(one), (-end[1], -end[0])
    return *_until(one, end, strict), text


def _magnitude(value: Value, reader: _Reader) -> Value | None:
    op = reader.definition.get(value)
    return op.operands[0] if op is not None and op.name == "abs" else None


def _mirrored(one: Recurrence) -> Recurrence:
    """Of -x."""
    return replace(one, first=(-one.first[1], -one.first[0]), b=(-one.b[1], -one.b[0]))


def _until(one: Recurrence, end: Hull, strict: bool) -> Hull:
    """The least and the most rounds until x < end fails, or x <= end (not strict)."""
    if one.affine:
        soon = _quotient(end[0], one.first[1], one.b[1], one.error)
        late = _quotient(end[1], one.first[0], one.b[0], -one.error)
        least = soon if isinstance(soon, float) else math.ceil(soon)
        most = (
            late if isinstance(late, float) else math.ceil(late) if strict else math.floor(late) + 1
        )
        return max(least, 1), max(most, 1)
    if not one.geometric:
        return 1, INFINITY
    return _reached(one, end[0], True), _reached(one, end[1], False)


def _quotient(end: float, first: float, b: float, error: float) -> Fraction | float:
    """(end - first) / (b + error), or infinity if that step never reaches the end."""
    if math.isinf(end):
        return INFINITY if end > 0 else 0.0
    step, distance = Fraction(b) + Fraction(error), Fraction(end) - Fraction(first)
    if distance <= 0:
        return 0.0
    return distance / step if step > 0 else INFINITY


def _reached(one: Recurrence, end: float, soonest: bool) -> float:
    """Rounds of the fastest geometric path up to `end`, or of the slowest one beyond it."""
    to = INFINITY if soonest else -INFINITY
    extreme = max if soonest else min
    x = one.first[1] if soonest else one.first[0]
    b = one.b[1] + one.error if soonest else one.b[0] - one.error
    for rounds in range(1, WAY_MAX + 1):
        a = extreme(math.nextafter(a * x, to) for a in one.a)
        after = math.nextafter(a + b, to)
        if after >= end if soonest else after > end:
            return rounds
        if after <= x:
            return INFINITY
        x = after
    return WAY_MAX if soonest else INFINITY
