"""Ranges of the operations on floats: computes the result's range from the operands' ranges.

Every range includes each result that the machine computes for operands in their ranges, and each
real result: ends are rounded outward, unless they are exact. Mathematics (exp, …) is bounded by its
values at the ends, and by the errors of `exact` and `fast`: MARGIN units in the last place, several
times the errors that numerics/elementary.py states and tests.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce

import numpy as np

from psylang.analysis.intervals import INFINITY, Ends, Flags, Range, join, where
from psylang.ir.types import DType

MARGIN = 4
# Error of pow relative to (2 + |b log a|): twice the error that elementary.py states.
POWER = {DType.F64: 6e-16, DType.F32: 3e-7}
GREATEST = {
    DType.F64: float(np.finfo(np.float64).max),
    DType.F32: float(np.finfo(np.float32).max),
}
# For larger angles sin and cos of `fast` are NaN.
ANGLE_MAX = {DType.F64: 2.0**28, DType.F32: 2.0**20}
# The greatest error of an end's sine; a turning point may be just beyond the end.
SINE_SLACK = {DType.F64: 1e-15, DType.F32: 1e-6}


def outward(low: Ends, high: Ends, dtype: DType, exact: Flags | bool = False) -> tuple[Ends, Ends]:
    """Moves ends that were rounded to nearest outward to numbers of the type. exact: the ends have
    no error in f64."""
    return _rounded(low, dtype, -INFINITY, exact), _rounded(high, dtype, INFINITY, exact)


def _rounded(end: Ends, dtype: DType, to: float, exact: Flags | bool) -> Ends:
    if dtype is DType.F32:
        single = end.astype(np.float32)
        beyond = single >= end if to > 0 else single <= end
        moved = np.nextafter(single, np.float32(to))
        return np.where(exact & beyond, single, moved).astype(np.float64)
    return np.where(exact, end, np.nextafter(end, to))


def margin(low: Ends, high: Ends, dtype: DType, units: int = MARGIN) -> tuple[Ends, Ends]:
    """Moves the ends outward by `units` units in the last place."""
    for _ in range(units):
        low, high = outward(low, high, dtype)
    return low, high


def _or(values: Ends, instead: float) -> Ends:
    return np.where(np.isnan(values), instead, values)


def _infinite(a: Range) -> Flags:
    return np.asarray((a.low == -INFINITY) | (a.high == INFINITY))


def add(a: Range, b: Range, dtype: DType) -> Range:
    opposite = ((a.high == INFINITY) & (b.low == -INFINITY)) | (
        (a.low == -INFINITY) & (b.high == INFINITY)
    )
    low, low_exact = _sum(a.low, b.low)
    high, high_exact = _sum(a.high, b.high)
    return Range(
        _rounded(_or(low, -INFINITY), dtype, -INFINITY, low_exact),
        _rounded(_or(high, INFINITY), dtype, INFINITY, high_exact),
        a.nan | b.nan | opposite,
    )


def _sum(a: Ends, b: Ends) -> tuple[Ends, Flags]:
    """The sum and whether it has no error (Knuth's two-sum)."""
    total = a + b
    rest = total - a
    error = (a - (total - rest)) + (b - rest)
    return total, (error == 0) | np.isinf(a) | np.isinf(b)


def neg(a: Range, dtype: DType) -> Range:
    return Range(-a.high, -a.low, a.nan)


def sub(a: Range, b: Range, dtype: DType) -> Range:
    return add(a, neg(b, dtype), dtype)


def _is_power(x: Ends) -> Flags:
    """A power of two, 0 or an infinity: a product with it rounds only beyond the normal numbers."""
    fraction, _ = np.frexp(x)
    return np.asarray((np.abs(fraction) == 0.5) | (x == 0) | np.isinf(x))


def _product(a: Ends, b: Ends) -> tuple[Ends, Flags]:
    product = _or(a * b, 0.0)  # 0 * infinity: nearby products are 0; NaN is handled elsewhere.
    large = (np.abs(product) >= 2.0**-1000) & np.isfinite(product)
    exact = (_is_power(a) | _is_power(b)) & (large | np.isinf(a) | np.isinf(b))
    return product, exact | (a == 0) | (b == 0)


def _four(
    of: Callable[[Ends, Ends], tuple[Ends, Flags]], a: Range, b: Range, dtype: DType
) -> tuple[Ends, Ends]:
    """The least and greatest of a function's values at the corners."""
    lows, highs = [], []
    for x in (a.low, a.high):
        for y in (b.low, b.high):
            value, exact = of(x, y)
            lows.append(_rounded(_or(value, INFINITY), dtype, -INFINITY, exact))
            highs.append(_rounded(_or(value, -INFINITY), dtype, INFINITY, exact))
    return reduce(np.minimum, lows), reduce(np.maximum, highs)


def _signed(low: Ends, high: Ends, a: Range, b: Range) -> tuple[Ends, Ends]:
    """Limits the ends of a product or quotient at 0 if its sign is known."""
    plus = ((a.low >= 0) & (b.low >= 0)) | ((a.high <= 0) & (b.high <= 0))
    minus = ((a.low >= 0) & (b.high <= 0)) | ((a.high <= 0) & (b.low >= 0))
    return np.where(plus, np.maximum(low, 0.0), low), np.where(minus, np.minimum(high, 0.0), high)


def mul(a: Range, b: Range, dtype: DType) -> Range:
    low, high = _signed(*_four(_product, a, b, dtype), a, b)
    undefined = (a.has(0.0) & _infinite(b)) | (b.has(0.0) & _infinite(a))
    return Range(low, high, a.nan | b.nan | undefined)


def square(a: Range, dtype: DType) -> Range:
    """a * a of one and the same value."""
    return mul(magnitude(a, dtype), magnitude(a, dtype), dtype)


def fma(a: Range, b: Range, c: Range, dtype: DType) -> Range:
    # The product and the sum in f64, rounded outward, enclose the result that is rounded once.
    return add(mul(a, b, DType.F64), c, dtype)


def _quotient(a: Ends, b: Ends) -> tuple[Ends, Flags]:
    quotient = a / b
    large = (np.abs(quotient) >= 2.0**-1000) & np.isfinite(quotient)
    exact = (_is_power(b) & large) | (a == 0) | np.isinf(a) | np.isinf(b) | (a == b)
    return quotient, exact


def div(a: Range, b: Range, dtype: DType) -> Range:
    low, high = _signed(*_four(_quotient, a, b, dtype), a, b)
    # Division by a zero whose sign is not known.
    zero = b.has(0.0)
    some = zero & ((a.low < 0) | (a.high > 0))
    only = zero & ~some & (b.single)
    low, high = np.where(some, -INFINITY, low), np.where(some, INFINITY, high)
    low, high = np.where(zero & ~some, 0.0, low), np.where(zero & ~some, 0.0, high)
    low, high = np.where(only, INFINITY, low), np.where(only, -INFINITY, high)
    undefined = (a.has(0.0) & zero) | (_infinite(a) & _infinite(b))
    return Range(low, high, a.nan | b.nan | undefined)


def magnitude(a: Range, dtype: DType) -> Range:
    low = np.where(a.has(0.0), 0.0, np.minimum(np.abs(a.low), np.abs(a.high)))
    return Range(low, a.size, a.nan)


def sqrt(a: Range, dtype: DType) -> Range:
    low, high = np.sqrt(np.maximum(a.low, 0.0)), np.sqrt(np.maximum(a.high, 0.0))

    def is_exact(root: Ends, of: Ends) -> Flags:
        few = root.astype(np.float32).astype(np.float64) == root
        return np.asarray((few & (root * root == of)) | (root == 0))

    low = np.maximum(_rounded(low, dtype, -INFINITY, is_exact(low, a.low)), 0.0)
    high = _rounded(high, dtype, INFINITY, is_exact(high, a.high))
    below = a.high < 0
    return Range(
        np.where(below, INFINITY, low), np.where(below, -INFINITY, high), a.nan | (a.low < 0)
    )


def floor(a: Range, dtype: DType) -> Range:
    return Range(np.floor(a.low), np.floor(a.high), a.nan)


def least(a: Range, b: Range, dtype: DType) -> Range:
    """`b if b < a else a`: of NaN a."""
    chosen = Range(np.minimum(a.low, b.low), np.minimum(a.high, b.high), a.nan)
    chosen = where(b.empty, a, chosen)
    return where(b.nan & ~a.empty, join(chosen, a), chosen)


def greatest(a: Range, b: Range, dtype: DType) -> Range:
    return neg(least(neg(a, dtype), neg(b, dtype), dtype), dtype)


# Mathematics.


def exp(a: Range, dtype: DType) -> Range:
    low, high = margin(np.exp(a.low), np.exp(a.high), dtype)
    return Range(np.maximum(low, 0.0), high, a.nan)


def log(a: Range, dtype: DType) -> Range:
    low, high = margin(np.log(np.maximum(a.low, 0.0)), np.log(np.maximum(a.high, 0.0)), dtype)
    below = a.high < 0
    return Range(
        np.where(below, INFINITY, low), np.where(below, -INFINITY, high), a.nan | (a.low < 0)
    )


def tanh(a: Range, dtype: DType) -> Range:
    low, high = margin(np.tanh(a.low), np.tanh(a.high), dtype)
    return Range(np.maximum(low, -1.0), np.minimum(high, 1.0), a.nan)


def sine(a: Range, dtype: DType, quarter: int, fast: bool) -> Range:
    """sin(a + quarter * pi/2)."""
    slack = SINE_SLACK[dtype]
    far = ~np.isfinite(a.low) | ~np.isfinite(a.high) | (a.size > ANGLE_MAX[DType.F64])
    first, last = np.where(far, 0.0, a.low), np.where(far, 0.0, a.high)
    ends = [np.cos(end) if quarter else np.sin(end) for end in (first, last)]
    low, high = np.minimum(*ends) - slack, np.maximum(*ends) + slack

    def passes(turn: float) -> Flags:
        """Returns whether an angle of turn * pi/2 plus whole turns lies between the ends."""
        shift = (turn - quarter) * (np.pi / 2)
        near = 1e-9 * (1 + np.abs(first) + np.abs(last))
        return np.asarray(
            np.floor((last - shift + near) / (2 * np.pi))
            >= np.ceil((first - shift - near) / (2 * np.pi))
        )

    high = np.where(far | passes(1), 1.0 + slack, high)
    low = np.where(far | passes(3), -1.0 - slack, low)
    wrong = a.size > ANGLE_MAX[dtype] if fast else np.zeros_like(far)
    return Range(low, high, a.nan | _infinite(a) | wrong)


def power(a: Range, b: Range, dtype: DType) -> Range:
    base = magnitude(a, dtype)
    low, high = _corners(base, b, dtype)
    result = Range(low, high, a.nan | b.nan)
    # A negative base: even powers are positive, odd ones keep its sign, others are NaN.
    whole = b.single & (np.floor(b.low) == b.low) & (np.abs(b.low) < 2.0**52)
    odd = whole & (np.mod(np.where(whole, b.low, 0.0), 2.0) == 1)
    below = a.low < 0
    # 0 may be -0.0, whose odd negative powers are -infinity.
    turned = below | (a.has(0.0) & (b.low < 0))
    mirrored = Range(-high, high, result.nan | ~whole)
    of_odd = _of_odd(a, b, dtype, result.nan)
    result = where(turned & ~whole, mirrored, result)
    result = where(turned & odd, of_odd, result)
    one = Range(np.ones_like(low), np.ones_like(high), np.zeros_like(result.nan))
    alone = (a.nan & b.has(0.0)) | (b.nan & a.has(1.0))
    undefined = _infinite(b) & (base.has(1.0) | base.has(0.0) | _infinite(base))
    result = Range(result.low, result.high, result.nan | undefined)
    return where(alone, join(result, one), result)


def _corners(base: Range, b: Range, dtype: DType) -> tuple[Ends, Ends]:
    """base**b of a base that is not negative: b log(base) is greatest and least at corners."""
    lows, highs = [], []
    for x in (base.low, base.high):
        for y in (b.low, b.high):
            value = np.power(np.maximum(x, 0.0), y)
            exponent = np.abs(_or(y * np.log(np.maximum(x, 0.0)), 0.0))
            off = POWER[dtype] * (2 + np.where(np.isfinite(exponent), exponent, 0.0))
            # Another way to compute an overflow may give the greatest number.
            bounded = np.minimum(_or(value, 0.0), GREATEST[dtype])
            lows.append(bounded * np.maximum(1 - off, 0.0))
            highs.append(_or(_or(value, INFINITY) * (1 + off), INFINITY))
    low, high = margin(reduce(np.minimum, lows), reduce(np.maximum, highs), dtype)
    return np.maximum(low, 0.0), high


def _of_odd(a: Range, b: Range, dtype: DType, nan: Flags) -> Range:
    """The power with one odd exponent, for a base of any sign."""
    minus = Range(np.maximum(-a.high, 0.0), np.maximum(-a.low, 0.0), a.nan)
    plus = Range(np.maximum(a.low, 0.0), np.maximum(a.high, 0.0), a.nan)
    below, above = _corners(minus, b, dtype), _corners(plus, b, dtype)
    zero = a.has(0.0) & (b.low < 0)
    low = np.where(a.low < 0, -below[1], above[0])
    high = np.where(a.high > 0, above[1], -below[0])
    return Range(np.where(zero, -INFINITY, low), np.where(zero, INFINITY, high), nan)


Rule = Callable[..., Range]
FLOATS: Mapping[str, Rule] = {
    "add": add,
    "sub": sub,
    "mul": mul,
    "div": div,
    "fma": fma,
    "neg": neg,
    "abs": magnitude,
    "sqrt": sqrt,
    "floor": floor,
    "min": least,
    "max": greatest,
    "exp": exp,
    "log": log,
    "tanh": tanh,
    "pow": power,
}
