"""Affine forms: a value as a linear function of the parameters, and a bound of the rest.

    value = centre + sum of slope[k] * e[k] + rest * e',   e[k] and e' in [-1, 1]

Symbol k says where parameter k is in its range. Intervals forget that two operands depend on one
parameter; forms do not, so their error shrinks with the square of a box. Forms are computed beside
intervals (ranges.py), operation by operation, and each bounds the other. Each form includes what
the machine computes: roundings are part of the rest, as are the roundings of this analysis.

A function that is convex or concave over the operand's range has the slope of its chord; its
distance from the chord's line is bounded by the ends and by a closed form of the tangent (de
Figueiredo and Stolfi, Affine arithmetic, 2004). All else, regions included, has no slope.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from psylang.analysis.bends import Bent, Line
from psylang.analysis.intervals import Ends, Flags, Range
from psylang.analysis.ranges import Ranges
from psylang.ir.graph import Op, Value
from psylang.ir.types import DType

# Roundings of one operation and of the arithmetic on its form, relative to all of its parts:
# several times what they are; `exp` has an error of 4 units in the last place.
ROUNDING = {DType.F64: 64 * 2.0**-53, DType.F32: 64 * 2.0**-24}
TINY = 1e-300  # More than the roundings of subnormal numbers of this size.
TINY_SINGLE = 1e-40
NARROW = 1e-9  # Relative width of an operand whose chord has no reliable slope.


@dataclass(frozen=True)
class Form(Line):
    """low, high: bounds by the form and by intervals. bent: a form with bends, besides."""

    bent: Bent | None = None

    @property
    def radius(self) -> Ends:
        return np.asarray(np.abs(self.slopes).sum(axis=0) + self.rest)

    @property
    def size(self) -> Ends:
        return np.asarray(np.abs(self.centre) + self.radius)


class Forms:
    """The forms of the scalars of a program whose ranges are known.

    symbols: for each parameter a number of its first symbol; its elements have consecutive ones.
    """

    def __init__(self, ranges: Ranges, symbols: Mapping[str, int], cases: int) -> None:
        self._ranges, self._cases = ranges, cases
        self._count = sum(one.type.size for one in ranges.program.parameters if one.name in symbols)
        self._known: dict[Value, Form] = {}
        self._bends: list[Line] = []  # The forms whose magnitudes bent forms have.
        self._first: dict[Value, int] = {}
        body = ranges.program.body
        for one, value in zip(ranges.program.parameters, body.arguments, strict=False):
            if one.name in symbols:
                self._first[value] = symbols[one.name]
        with np.errstate(all="ignore"):
            for op in body.ops:
                scalar = len(op.results) == 1 and not op.result.type.shape
                if scalar and op.result.type.dtype in ROUNDING:
                    self._known[op.result] = self._op(op)

    def __getitem__(self, value: Value) -> Form:
        """The form of a scalar of floats."""
        found = self._known.get(value)
        if found is None:
            with np.errstate(all="ignore"):
                if value in self._first and not value.type.shape:
                    found = self._symbol(self._ranges[value], self._first[value])
                else:
                    found = self._flat(self._ranges[value])
            self._known[value] = found
        return found

    def bounds(self, value: Value) -> tuple[Ends, Ends]:
        """The least and the greatest number that a scalar of floats may be."""
        form = self[value]
        if form.bent is None:
            return form.low, form.high
        with np.errstate(all="ignore"):
            low, high = form.bent.bounds(self._bends)
        return np.fmax(form.low, low), np.fmin(form.high, high)

    # Forms without an operation.

    def _ends(self, range: Range) -> tuple[Ends, Ends]:
        shape = (self._cases,)
        return np.broadcast_to(range.low, shape), np.broadcast_to(range.high, shape)

    def _flat(self, range: Range) -> Form:
        """No slope: all of the range is the rest."""
        low, high = self._ends(range)
        centre = low / 2 + high / 2
        rest = np.maximum(high - centre, centre - low) * (1 + 2.0**-50)
        bad = ~np.isfinite(centre) | ~np.isfinite(rest)
        centre, rest = np.where(bad, 0.0, centre), np.where(bad, np.inf, rest)
        return Form(centre, np.zeros((self._count, self._cases)), rest, low, high)

    def _symbol(self, range: Range, number: int) -> Form:
        flat = self._flat(range)
        slopes = flat.slopes.copy()
        slopes[number] = flat.rest
        return Form(flat.centre, slopes, np.zeros(self._cases), flat.low, flat.high)

    def _rounding(self, op: Op, parts: Ends) -> Ends:
        dtype = op.result.type.dtype
        return ROUNDING[dtype] * parts + (TINY if dtype is DType.F64 else TINY_SINGLE)

    def _made(
        self,
        op: Op,
        centre: Ends,
        slopes: NDArray[np.float64],
        rest: Ends,
        parts: Ends,
        bent: Bent | None = None,
    ) -> Form:
        """The form of a result. parts: the size of all that was added for it."""
        rest = rest + self._rounding(op, parts)
        low, high = self._ends(self._ranges[op.result])
        radius = (np.abs(slopes).sum(axis=0) + rest) * (1 + 2.0**-45)
        bad = ~np.isfinite(centre) | ~np.isfinite(radius)
        flat = self._flat(self._ranges[op.result])
        # A form that is wider than the interval only passes its error on.
        bad = bad | (radius > 2 * flat.rest)
        reach = (1 + 2.0**-50) * radius
        lower = np.where(bad, low, np.maximum(low, centre - reach - 2.0**-50 * np.abs(centre)))
        upper = np.where(bad, high, np.minimum(high, centre + reach + 2.0**-50 * np.abs(centre)))
        return Form(
            np.where(bad, flat.centre, centre),
            np.where(bad, 0.0, slopes),
            np.where(bad, flat.rest, rest),
            lower,
            upper,
            bent,
        )

    # Operations.

    def _op(self, op: Op) -> Form:
        if not op.operands:
            return self._flat(self._ranges[op.result])
        first, *others = op.operands
        match op.name:
            case "extract" if first in self._first:
                index = np.ravel_multi_index(op.attributes["index"], first.type.shape)
                return self._symbol(self._ranges[op.result], self._first[first] + int(index))
            case "add":
                return self._sum(op, self[first], self[others[0]], 1.0)
            case "sub":
                return self._sum(op, self[first], self[others[0]], -1.0)
            case "neg":
                a, zero = self[first], np.zeros(self._cases)
                bent = None if a.bent is None else a.bent.times(zero - 1.0, zero)
                return self._made(op, -a.centre, -a.slopes, a.rest, zero, bent)
            case "mul" if first is others[0]:
                return self._curved(op, self[first], _SQUARE)
            case "mul":
                return self._product(op, self[first], self[others[0]])
            case "fma":
                return self._sum(
                    op, self._product(op, self[first], self[others[0]], True), self[others[1]], 1.0
                )
            case "div":
                inverse = self._curved(op, self[others[0]], _INVERSE, True)
                return self._product(op, self[first], inverse)
            case "abs":
                return self._magnitude(op, self[first])
            case "sqrt" | "exp":
                return self._curved(op, self[first], _CURVES[op.name])
            case "select":
                return self._select(op)
        return self._flat(self._ranges[op.result])

    def _magnitude(self, op: Op, a: Form) -> Form:
        made = self._curved(op, a, _ABS)
        if bool(((a.low < 0) & (a.high > 0)).any()):
            zero = np.zeros(self._cases)
            self._bends.append(a)
            bend = Bent(zero, 0 * a.slopes, zero, {len(self._bends) - 1: zero + 1.0})
            made = replace(made, bent=bend)
        return made

    def _bent(self, a: Form) -> Bent:
        return a.bent or Bent(a.centre, a.slopes, a.rest, {})

    def _sum(self, op: Op, a: Form, b: Form, sign: float) -> Form:
        parts, bent = a.size + b.size, None
        if a.bent is not None or b.bent is not None:
            bent = self._bent(a).plus(self._bent(b), sign, self._rounding(op, parts))
        return self._made(
            op,
            a.centre + sign * b.centre,
            a.slopes + sign * b.slopes,
            a.rest + b.rest,
            parts,
            bent,
        )

    def _product(self, op: Op, a: Form, b: Form, inner: bool = False) -> Form:
        """inner: not the operation's result, so that its range is not known."""
        centre = a.centre * b.centre
        slopes = a.centre * b.slopes + b.centre * a.slopes
        rest = np.abs(a.centre) * b.rest + np.abs(b.centre) * a.rest + a.radius * b.radius
        parts = a.size * b.size
        bent = None
        for one, other in ((a, b), (b, a)):
            # A number, which the analysis may know to within rounding.
            steady = bool((other.radius <= NARROW * np.abs(other.centre)).all())
            if one.bent is not None and steady:
                most = np.maximum(np.abs(one.low), np.abs(one.high))
                off = self._rounding(op, parts) + other.radius * most
                bent = one.bent.times(other.centre, off)
        if not inner:
            return self._made(op, centre, slopes, rest, parts, bent)
        made = self._unbounded(centre, slopes, rest + ROUNDING[op.result.type.dtype] * parts + TINY)
        return replace(made, bent=bent)

    def _unbounded(self, centre: Ends, slopes: NDArray[np.float64], rest: Ends) -> Form:
        bad = ~np.isfinite(centre) | ~np.isfinite(np.abs(slopes).sum(axis=0) + rest)
        centre, slopes = np.where(bad, 0.0, centre), np.where(bad, 0.0, slopes)
        rest = np.where(bad, np.inf, rest)
        radius = (np.abs(slopes).sum(axis=0) + rest) * (1 + 2.0**-45) + 2.0**-50 * np.abs(centre)
        return Form(centre, slopes, rest, centre - radius, centre + radius)

    def _curved(self, op: Op, a: Form, curve: Curve, inner: bool = False) -> Form:
        """A convex or concave function of a form."""
        low, high = a.low, a.high
        usable = curve.usable(low, high) & np.isfinite(low) & np.isfinite(high) & (low <= high)
        low, high = np.where(usable, low, 1.0), np.where(usable, high, 2.0)
        at_low, at_high = curve.of(low), curve.of(high)
        # Each function is monotonic over a narrow range: it lies between its ends.
        narrow = high - low <= NARROW * np.maximum(np.abs(low), np.abs(high))
        slope = np.where(narrow, 0.0, (at_high - at_low) / (high - low))
        # The function less the line through 0 with that slope: at both ends, and farthest off.
        ends = at_low - slope * low, at_high - slope * high
        far = np.where(narrow, at_low, curve.farthest(slope, low, high))
        above = np.maximum(np.maximum(*ends), far)
        below = np.minimum(np.minimum(*ends), far)
        middle = above / 2 + below / 2
        off = np.maximum(above - middle, middle - below)
        parts = np.maximum(np.abs(at_low), np.abs(at_high)) + np.abs(slope) * np.maximum(
            a.size, np.maximum(np.abs(low), np.abs(high))
        )
        parts = parts + np.abs(above) + np.abs(below)
        centre, slopes = slope * a.centre + middle, slope * a.slopes
        rest = np.abs(slope) * a.rest + off
        if inner:
            rest = np.where(usable, rest + ROUNDING[op.result.type.dtype] * parts + TINY, np.inf)
            return self._unbounded(centre, slopes, rest)
        return self._made(op, centre, slopes, np.where(usable, rest, np.inf), parts)

    def _select(self, op: Op) -> Form:
        """The operand that is chosen, where that is certain."""
        condition, yes, no = op.operands
        may = self._ranges[condition]
        flat, a, b = self._flat(self._ranges[op.result]), self[yes], self[no]
        if condition.type.shape or yes.type.shape or no.type.shape:
            return flat
        surely, never = may.low >= 1, may.high <= 0

        def chosen(first: Ends, second: Ends, third: Ends) -> Ends:
            return np.asarray(np.where(surely, first, np.where(never, second, third)))

        return Form(
            chosen(a.centre, b.centre, flat.centre),
            chosen(a.slopes, b.slopes, flat.slopes),
            chosen(a.rest, b.rest, flat.rest),
            chosen(a.low, b.low, flat.low),
            chosen(a.high, b.high, flat.high),
        )


@dataclass(frozen=True)
class Curve:
    """A function that is convex or concave where it is usable. farthest: the extreme value of the
    function less slope * x over the whole domain."""

    of: Callable[[Ends], Ends]
    usable: Callable[[Ends, Ends], Flags]
    farthest: Callable[[Ends, Ends, Ends], Ends]


def _of_inverse(slope: Ends, low: Ends, high: Ends) -> Ends:
    return np.where(low > 0, 2.0, -2.0) * np.sqrt(-slope)


def _of_abs(slope: Ends, low: Ends, high: Ends) -> Ends:
    """0 at 0, if that is between the ends."""
    return np.where((low < 0) & (high > 0), 0.0, np.abs(low) - slope * low)


_SQUARE = Curve(
    np.square,
    lambda low, high: (np.abs(low) < 1e150) & (np.abs(high) < 1e150),
    lambda slope, low, high: -slope * slope / 4,
)
_INVERSE = Curve(
    lambda x: 1.0 / x,
    lambda low, high: ((low > 1e-150) & (high < 1e150)) | ((high < -1e-150) & (low > -1e150)),
    _of_inverse,
)
_CURVES = {
    "sqrt": Curve(
        np.sqrt,
        lambda low, high: (low >= 0) & (high > 1e-150),
        lambda slope, low, high: 1.0 / (4.0 * slope),
    ),
    "exp": Curve(
        np.exp,
        lambda low, high: (low > -600) & (high < 600),
        lambda slope, low, high: slope - slope * np.log(slope),
    ),
}
_ABS = Curve(np.abs, lambda low, high: high >= low, _of_abs)

__all__ = ["Form", "Forms"]
