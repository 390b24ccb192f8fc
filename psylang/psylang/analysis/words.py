"""Ranges of the operations on integers and conditions.

Integers wrap: a result that may exceed its type may be any number of the type. Unsigned operations
are followed if their operands have no sign bit. For a condition 0 is false, 1 true.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from psylang.analysis.intervals import INFINITY, Ends, Flags, Range, limits, where
from psylang.ir.types import DType

Rule = Callable[..., Range]
EXACT_MAX = 2.0**53


def ranged(low: Ends, high: Ends) -> Range:
    low, high = np.broadcast_arrays(low, high)
    return Range(low, high, np.zeros(low.shape, bool))


def wrapped(low: Ends, high: Ends, dtype: DType) -> Range:
    """Ends of integers before they wrap; ends beyond 2**53 were rounded to nearest."""
    low = np.where(np.abs(low) > EXACT_MAX, np.nextafter(low, -INFINITY), low)
    high = np.where(np.abs(high) > EXACT_MAX, np.nextafter(high, INFINITY), high)
    least, most = limits(dtype)
    inside = (low >= least) & (high <= most)
    if dtype is DType.I64:  # An end of 2**63 may stand for a number below it, or not.
        inside &= high < most
    return ranged(np.where(inside, low, least), np.where(inside, high, most))


def _positive(a: Range) -> Flags:
    return np.asarray(a.low >= 0)


def _everything(a: Range, dtype: DType) -> Range:
    low, high = limits(dtype)
    return ranged(np.full(a.low.shape, low), np.full(a.low.shape, high))


def add(a: Range, b: Range, dtype: DType) -> Range:
    return wrapped(a.low + b.low, a.high + b.high, dtype)


def sub(a: Range, b: Range, dtype: DType) -> Range:
    return wrapped(a.low - b.high, a.high - b.low, dtype)


def neg(a: Range, dtype: DType) -> Range:
    return wrapped(-a.high, -a.low, dtype)


def mul(a: Range, b: Range, dtype: DType) -> Range:
    with np.errstate(invalid="ignore"):
        corners = [np.nan_to_num(x * y) for x in (a.low, a.high) for y in (b.low, b.high)]
    return wrapped(np.minimum.reduce(corners), np.maximum.reduce(corners), dtype)


def least(a: Range, b: Range, dtype: DType) -> Range:
    return ranged(np.minimum(a.low, b.low), np.minimum(a.high, b.high))


def greatest(a: Range, b: Range, dtype: DType) -> Range:
    return ranged(np.maximum(a.low, b.low), np.maximum(a.high, b.high))


def udiv(a: Range, b: Range, dtype: DType) -> Range:
    # Far below 2**53 no quotient is rounded up to the next integer.
    known = _positive(a) & (b.low >= 1) & (a.high < 2.0**50) & (b.high < 2.0**50)
    divisor = [np.maximum(b.high, 1), np.maximum(b.low, 1)]
    quotient = ranged(np.floor(a.low / divisor[0]), np.floor(a.high / divisor[1]))
    return where(known, quotient, _everything(quotient, dtype))


def urem(a: Range, b: Range, dtype: DType) -> Range:
    known = _positive(a) & (b.low >= 1) & (b.high < EXACT_MAX)
    small = known & (a.high < b.low)
    rest = ranged(np.zeros_like(a.low + b.low), np.minimum(a.high, b.high - 1))
    return where(small, ranged(a.low, a.high), where(known, rest, _everything(rest, dtype)))


def both(a: Range, b: Range, dtype: DType) -> Range:
    """Bitwise and."""
    if dtype is DType.BOOL:
        return ranged(np.minimum(a.low, b.low), np.minimum(a.high, b.high))
    every = _everything(ranged(a.low + b.low, a.high + b.high), dtype)
    high = np.minimum(
        np.where(_positive(a), a.high, INFINITY), np.where(_positive(b), b.high, INFINITY)
    )
    known = _positive(a) | _positive(b)
    return where(known, ranged(np.zeros_like(high), high), every)


def either(a: Range, b: Range, dtype: DType) -> Range:
    """Bitwise or."""
    if dtype is DType.BOOL:
        return ranged(np.maximum(a.low, b.low), np.maximum(a.high, b.high))
    return _or_like(a, b, dtype, np.maximum(a.low, b.low))


def apart(a: Range, b: Range, dtype: DType) -> Range:
    """Bitwise exclusive or."""
    if dtype is DType.BOOL:
        known = (a.low == a.high) & (b.low == b.high)
        result = (a.low != b.low).astype(float)
        return ranged(np.where(known, result, 0.0), np.where(known, result, 1.0))
    return _or_like(a, b, dtype, np.zeros_like(a.low + b.low))


def _or_like(a: Range, b: Range, dtype: DType, low: Ends) -> Range:
    most = np.maximum(np.maximum(a.high, b.high), 0.0)
    known = _positive(a) & _positive(b) & (most < EXACT_MAX)
    _, bits = np.frexp(most)
    high = np.ldexp(1.0, bits) - 1.0
    return where(known, ranged(low, high), _everything(ranged(low, high), dtype))


def invert(a: Range, dtype: DType) -> Range:
    if dtype is DType.BOOL:
        return ranged(1.0 - a.high, 1.0 - a.low)
    return wrapped(-1.0 - a.high, -1.0 - a.low, dtype)


def shl(a: Range, b: Range, dtype: DType) -> Range:
    known = _positive(a) & (b.low >= 0) & (b.high < dtype.bits)
    by = [np.where(known, end, 0.0) for end in (b.low, b.high)]
    shifted = wrapped(a.low * 2.0 ** by[0], a.high * 2.0 ** by[1], dtype)
    return where(known, shifted, _everything(shifted, dtype))


def lshr(a: Range, b: Range, dtype: DType) -> Range:
    known = (b.low >= 0) & (b.high < dtype.bits)
    by = [np.where(known, end, 0.0) for end in (b.low, b.high)]
    plus = ranged(np.floor(a.low / 2.0 ** by[1]), np.floor(a.high / 2.0 ** by[0]))
    # A shifted sign bit becomes an ordinary bit.
    top = ranged(np.zeros_like(plus.low), np.ldexp(1.0, dtype.bits - by[0].astype(int)))
    unsigned = where(_positive(a) & (a.high < EXACT_MAX), plus, top)
    return where(known & (_positive(a) | (b.low >= 1)), unsigned, _everything(plus, dtype))


def mulhi(a: Range, b: Range, dtype: DType) -> Range:
    known = _positive(a) & _positive(b)
    # Products of i32 are below 2**62; rounding may add one word to their range.
    high = ranged(
        np.maximum(np.floor(a.low * b.low / 2.0**32) - 1, 0.0),
        np.floor(a.high * b.high / 2.0**32) + 1,
    )
    return where(known, high, _everything(high, dtype))


INTEGERS: Mapping[str, Rule] = {
    "add": add,
    "sub": sub,
    "mul": mul,
    "neg": neg,
    "min": least,
    "max": greatest,
    "udiv": udiv,
    "urem": urem,
    "and": both,
    "or": either,
    "xor": apart,
    "not": invert,
    "shl": shl,
    "lshr": lshr,
    "mulhi": mulhi,
}


def condition(no: Flags, yes: Flags) -> Range:
    """A condition. no: it may be false; yes: it may be true."""
    return ranged(np.where(no, 0.0, 1.0), np.where(yes, 1.0, 0.0))


def compared(name: str, a: Range, b: Range) -> Range:
    """A comparison: false for NaN, except for `ne`, which is true."""
    undefined = a.nan | b.nan
    numbers = ~a.empty & ~b.empty
    if name in ("gt", "ge"):
        a, b = b, a
    strict = name in ("lt", "gt")
    if name in ("lt", "gt", "le", "ge"):
        yes = a.low < b.high if strict else a.low <= b.high
        no = a.high >= b.low if strict else a.high > b.low
    else:
        alone = (a.low == a.high) & (b.low == b.high) & (a.low == b.low)
        alone &= np.abs(a.low) <= EXACT_MAX  # A larger end may stand for several integers.
        yes = (a.low <= b.high) & (b.low <= a.high)
        no = ~alone
        if name == "ne":
            yes, no = no, yes
    return condition(
        (numbers & no) | (undefined if name != "ne" else False),
        (numbers & yes) | (undefined if name == "ne" else False),
    )


def with_itself(name: str, a: Range) -> Range:
    """A value compared with itself: only NaN makes a difference."""
    numbers, never = ~a.empty, np.zeros_like(a.nan)
    if name in ("lt", "gt"):
        return condition(numbers | a.nan, never)
    if name == "ne":
        return condition(numbers, a.nan)
    return condition(a.nan, numbers)


def unsigned_less(a: Range, b: Range) -> Range:
    known = _positive(a) & _positive(b)
    found = compared("lt", a, b)
    return where(known, found, _everything(found, DType.BOOL))


# Conversions.


def convert(a: Range, of: DType, to: DType) -> Range:
    """Signed conversion: floats are rounded towards zero; floats beyond the type and NaN give the
    least integer."""
    if to is DType.BOOL:
        return condition(a.has(0.0), (a.low != 0) | (a.high != 0) | a.nan)
    if to.is_float:
        return _to_float(a, to)
    if not of.is_float:
        return wrapped(a.low, a.high, to)
    least, most = limits(to)
    low, high = np.trunc(a.low), np.trunc(a.high)
    beyond = (a.low < least) | (a.high >= 2.0 ** (to.bits - 1)) | a.nan
    high = np.clip(high, least, most)
    high = np.where(a.empty | (a.low >= 2.0 ** (to.bits - 1)), least, high)
    low = np.where(beyond, least, low)
    return ranged(low, np.maximum(low, high))


def _to_float(a: Range, to: DType) -> Range:
    if to is DType.F64:
        return a  # The ends of an i64 are floats that enclose it, so rounding stays between them.
    low, high = a.low.astype(np.float32), a.high.astype(np.float32)
    low = np.where(low > a.low, np.nextafter(low, np.float32(-np.inf)), low)
    high = np.where(high < a.high, np.nextafter(high, np.float32(np.inf)), high)
    return Range(low.astype(np.float64), high.astype(np.float64), a.nan)


def uconvert(a: Range, of: DType, to: DType) -> Range:
    """An unsigned integer to a float or a wider integer."""
    if to is of:
        return a
    plain = convert(a, of, to)
    top = np.full(a.low.shape, 2.0**of.bits)
    if to.is_int:
        return where(_positive(a), plain, ranged(np.zeros_like(top), top - 1.0))
    return where(_positive(a), plain, ranged(np.zeros_like(top), top))
