"""Intervals: the numbers that a value may be, and whether it may be NaN.

A Range has the least and the greatest number of each element of a value, and whether NaN is
possible. Ends are f64 for every element type: f32 and i32 fit exactly, an i64 beyond 2**53 is
rounded outward. An infinite end belongs to the range: a value may be infinite. -0.0 and 0.0 are one
number here. If low is above high, no number is possible: the value is NaN, or the code is never
reached.

The last axis of the arrays is a batch of cases, each with ranges of its own, computed together. So
a scalar has shape (cases,), a vector of n (n, cases), and broadcasting works as it does for the
values themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from psylang.ir.types import DType, Type

Ends = NDArray[np.float64]
Flags = NDArray[np.bool_]
INFINITY = float("inf")


@dataclass(frozen=True, slots=True)
class Range:
    """low, high: the ends, of shape (*the value's shape, cases); nan: whether it may be NaN."""

    low: Ends
    high: Ends
    nan: Flags

    @property
    def empty(self) -> Flags:
        """No number is possible."""
        return np.asarray(self.low > self.high)

    @property
    def impossible(self) -> Flags:
        """Neither a number nor NaN: never computed."""
        return np.asarray(self.empty & ~self.nan)

    @property
    def single(self) -> Flags:
        """One number, or the two zeros, and never NaN."""
        return np.asarray((self.low == self.high) & ~self.nan)

    @property
    def finite(self) -> Flags:
        """Neither an infinity nor NaN."""
        return np.asarray((self.low > -INFINITY) & (self.high < INFINITY) & ~self.nan)

    @property
    def size(self) -> Ends:
        """The greatest magnitude."""
        return np.asarray(np.maximum(np.abs(self.low), np.abs(self.high)))

    def has(self, number: float) -> Flags:
        return np.asarray((self.low <= number) & (number <= self.high))

    def hull(self) -> tuple[float, float, bool]:
        """(low, high, nan) over all elements and cases."""
        return (
            float(self.low.min(initial=INFINITY)),
            float(self.high.max(initial=-INFINITY)),
            bool(self.nan.any()),
        )

    def __str__(self) -> str:
        return shown(*self.hull())


def shown(low: float, high: float, nan: bool) -> str:
    """The range as text: ends with six digits, rounded outward if rounding exceeds 1e-9 of them."""
    if low > high:
        return "NaN" if nan else "never computed"
    first, last = _outward(low, -1), _outward(high, 1)
    text = first if first == last else f"[{first}, {last}]"
    return f"{text} or NaN" if nan else text


def _outward(number: float, sign: int, digits: int = 6) -> str:
    text = f"{number:.{digits}g}"
    if not np.isfinite(number) or (float(text) - number) * sign >= -1e-9 * abs(number):
        return text
    step = 10.0 ** (int(np.floor(np.log10(abs(number)))) - digits + 1)
    return f"{number + sign * step / 2:.{digits}g}"


def limits(dtype: DType) -> tuple[float, float]:
    """The ends of an element type, infinities included."""
    if dtype.is_float:
        return -INFINITY, INFINITY
    if dtype is DType.BOOL:
        return 0.0, 1.0
    half = 2.0 ** (dtype.bits - 1)
    return -half, half - 1 if dtype is DType.I32 else half


def anything(type: Type, cases: int = 1, nan: bool = True) -> Range:
    """Every number of the type, and NaN if it is of floats."""
    low, high = limits(type.dtype)
    return between(type, low, high, cases, nan=nan and type.dtype.is_float)


def between(
    type: Type, low: ArrayLike, high: ArrayLike, cases: int = 1, nan: bool = False
) -> Range:
    """The same ends for all cases; low, high: numbers, or arrays of the type's shape."""
    shape = (*type.shape, cases)

    def ends(given: ArrayLike) -> Ends:
        array = np.asarray(given, np.float64)
        return np.broadcast_to(array[..., np.newaxis], shape)

    return Range(ends(low), ends(high), np.broadcast_to(np.bool_(nan), shape))


def exactly(type: Type, value: Any, cases: int = 1) -> Range:
    """One value: a number or an array of the type's shape."""
    array = np.asarray(value, type.dtype.numpy)
    numbers = array.astype(np.float64)
    nan = np.isnan(numbers)
    low, high = np.where(nan, INFINITY, numbers), np.where(nan, -INFINITY, numbers)
    if type.dtype is DType.I64:
        low = np.where(np.abs(low) > 2**53, np.nextafter(low, -INFINITY), low)
        high = np.where(np.abs(high) > 2**53, np.nextafter(high, INFINITY), high)
    shape = (*type.shape, cases)
    return Range(
        np.broadcast_to(low[..., np.newaxis], shape),
        np.broadcast_to(high[..., np.newaxis], shape),
        np.broadcast_to(nan[..., np.newaxis], shape),
    )


def nothing(type: Type, cases: int = 1) -> Range:
    """The empty range, of code that is not reached."""
    return between(type, INFINITY, -INFINITY, cases)


def join(a: Range, b: Range) -> Range:
    """The smallest range that contains both."""
    return Range(np.minimum(a.low, b.low), np.maximum(a.high, b.high), a.nan | b.nan)


def meet(a: Range, b: Range) -> Range:
    """The intersection."""
    return Range(np.maximum(a.low, b.low), np.minimum(a.high, b.high), a.nan & b.nan)


def within(a: Range, b: Range) -> bool:
    """Whether b contains a."""
    numbers = a.empty | ((a.low >= b.low) & (a.high <= b.high))
    return bool(np.all(numbers & (b.nan | ~a.nan)))


def where(condition: Flags, a: Range, b: Range) -> Range:
    """a's ranges in the cases (or elements) of the condition, b's in the others."""
    return Range(
        np.where(condition, a.low, b.low),
        np.where(condition, a.high, b.high),
        np.where(condition, a.nan, b.nan),
    )


def widen(old: Range, new: Range, steps: Ends) -> Range:
    """`old`, or `new` where `old` is empty. Ends of `new` outside `old` move to the next of `steps`
    (ascending, from the type's least to its greatest number), so that a loop's ranges converge."""
    below = np.searchsorted(steps, new.low, "right") - 1
    above = np.searchsorted(steps, new.high, "left")
    low = np.where(new.low < old.low, steps[np.maximum(below, 0)], old.low)
    high = np.where(new.high > old.high, steps[np.minimum(above, len(steps) - 1)], old.high)
    return where(old.empty, new, Range(low, high, old.nan | new.nan))
