"""The algebra of words: simplifications of operations on integers and conditions.

Bits are those of two's complement words: a constant masks as its unsigned value. Shifts and masks
determine the bits of a value that are always zero; so a counter of rounds in blocks of four, `block
<< 2 | round`, is separated into its two parts again.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Protocol

from psylang.ir.graph import Attribute, Value
from psylang.ir.types import BOOL, DType

Rule = Callable[..., Value | None]


class Algebra(Protocol):
    """The functions of the pass (constants.Folder) that the rules use."""

    def known(self, value: Value) -> Any: ...

    def of(self, value: Value, name: str) -> tuple[Value, ...] | None: ...

    def simple(self, name: str, *operands: Value | int, **attributes: Attribute) -> Value: ...

    def constant(self, value: Any, type: Any = ...) -> Value: ...


def is_number(a: Algebra, value: Value, number: float) -> bool:
    """Returns whether a value is always that number, including the sign of a zero."""
    known = a.known(value)
    if known is None or known != number:
        return False
    return math.copysign(1.0, known) == math.copysign(1.0, number)


def unsigned(a: Algebra, value: Value) -> int | None:
    known = a.known(value)
    return None if known is None else int(known) & mask(value.type.dtype)


def mask(type: DType) -> int:
    """All bits of a word."""
    return (1 << type.bits) - 1


def signed(number: int, type: DType) -> int:
    """The signed value of the word with these bits."""
    number &= mask(type)
    return number - (1 << type.bits) if number >> (type.bits - 1) else number


def word(a: Algebra, number: int, like: Value) -> Value:
    if like.type.dtype is DType.BOOL:
        return a.constant(bool(number), BOOL)
    return a.constant(signed(number, like.type.dtype), like.type)


def zeros(a: Algebra, value: Value, depth: int = 4) -> int:
    """The bits of an integer that are always zero."""
    every = mask(value.type.dtype)
    known = unsigned(a, value)
    if known is not None:
        return every & ~known
    if not depth:
        return 0
    if (inner := a.of(value, "uconvert")) is not None:
        return every & ~mask(inner[0].type.dtype) if inner[0].type.dtype.is_int else 0
    if (pair := a.of(value, "and")) is not None:
        return zeros(a, pair[0], depth - 1) | zeros(a, pair[1], depth - 1)
    if (pair := a.of(value, "or") or a.of(value, "xor")) is not None:
        return zeros(a, pair[0], depth - 1) & zeros(a, pair[1], depth - 1)
    if (pair := a.of(value, "shl")) is not None and (by := unsigned(a, pair[1])) is not None:
        low = (1 << min(by, value.type.dtype.bits)) - 1
        return (zeros(a, pair[0], depth - 1) << by | low) & every if by < 64 else every
    if (pair := a.of(value, "lshr")) is not None and (by := unsigned(a, pair[1])) is not None:
        return every & ~(every >> min(by, 64)) | zeros(a, pair[0], depth - 1) >> min(by, 64)
    return 0


def and_(a: Algebra, x: Value, y: Value) -> Value | None:
    if x is y:
        return x
    number = unsigned(a, y)
    if number is None:
        return None
    free = zeros(a, x) if x.type.dtype.is_int else 0
    if not number & ~free:
        return word(a, 0, x)
    if not mask(x.type.dtype) & ~(number | free):
        return x
    if (pair := a.of(x, "and")) is not None and (more := unsigned(a, pair[1])) is not None:
        return a.simple("and", pair[0], word(a, number & more, x))
    if (pair := a.of(x, "or")) is not None and (more := unsigned(a, pair[1])) is not None:
        if not number & ~zeros(a, pair[0]):
            return word(a, number & more, x)
        if not number & more:
            return a.simple("and", pair[0], y)
    return None


def or_(a: Algebra, x: Value, y: Value) -> Value | None:
    if x is y:
        return x
    number = unsigned(a, y)
    if number is None:
        return None
    if number == 0:
        return x
    if number == mask(x.type.dtype):
        return y
    if (pair := a.of(x, "or")) is not None and (more := unsigned(a, pair[1])) is not None:
        return a.simple("or", pair[0], word(a, number | more, x))
    return None


def xor(a: Algebra, x: Value, y: Value) -> Value | None:
    if x is y:
        return word(a, 0, x)
    number = unsigned(a, y)
    if number is None:
        return None
    if number == 0:
        return x
    if number == mask(x.type.dtype):
        return a.simple("not", x)
    if (pair := a.of(x, "xor")) is not None and (more := unsigned(a, pair[1])) is not None:
        return a.simple("xor", pair[0], word(a, number ^ more, x))
    return None


def shl(a: Algebra, x: Value, y: Value) -> Value | None:
    by = unsigned(a, y)
    if by is None:
        return None
    bits = x.type.dtype.bits
    if by == 0:
        return x
    if by >= bits:
        return word(a, 0, x)
    if (pair := a.of(x, "shl")) is not None and (more := unsigned(a, pair[1])) is not None:
        return a.simple("shl", pair[0], word(a, min(by + min(more, bits), bits), y))
    if (pair := a.of(x, "lshr")) is not None and unsigned(a, pair[1]) == by:
        return a.simple("and", pair[0], word(a, mask(x.type.dtype) << by, x))
    return None


def lshr(a: Algebra, x: Value, y: Value) -> Value | None:
    by = unsigned(a, y)
    if by is None:
        return None
    bits, every = x.type.dtype.bits, mask(x.type.dtype)
    if by == 0:
        return x
    if by >= bits or not (every >> by << by) & ~zeros(a, x):
        return word(a, 0, x)
    if (pair := a.of(x, "or")) is not None and (low := unsigned(a, pair[1])) is not None:
        rest = a.simple("lshr", pair[0], y)
        return a.simple("or", rest, word(a, low >> by, x)) if low >> by else rest
    if (pair := a.of(x, "shl")) is not None and unsigned(a, pair[1]) == by:
        return a.simple("and", pair[0], word(a, every >> by, x))
    if (pair := a.of(x, "lshr")) is not None and (more := unsigned(a, pair[1])) is not None:
        return a.simple("lshr", pair[0], word(a, min(by + min(more, bits), bits), y))
    if (pair := a.of(x, "and")) is not None and (kept := unsigned(a, pair[1])) is not None:
        if not (every >> by << by) & ~kept:
            return a.simple("lshr", pair[0], y)
        inner = a.of(pair[0], "shl")
        if inner is not None and unsigned(a, inner[1]) == by:
            return a.simple("and", inner[0], word(a, (kept & every) >> by, x))
    return None


def udiv(a: Algebra, x: Value, y: Value) -> Value | None:
    number = unsigned(a, y)
    if number and number & (number - 1) == 0:
        return a.simple("lshr", x, number.bit_length() - 1)
    return word(a, -1, x) if number == 0 else None


def urem(a: Algebra, x: Value, y: Value) -> Value | None:
    number = unsigned(a, y)
    if number and number & (number - 1) == 0:
        return a.simple("and", x, word(a, number - 1, x))
    return x if number == 0 else None


def mulhi(a: Algebra, x: Value, y: Value) -> Value | None:
    return word(a, 0, x) if unsigned(a, y) in (0, 1) else None


def compares(equal: bool) -> Rule:
    """Comparison of a value with itself: known except for floats, which may be NaN."""

    def rule(a: Algebra, x: Value, y: Value) -> Value | None:
        if x is y and not x.type.dtype.is_float:
            return a.constant(equal, BOOL)
        return None

    return rule


def aligned(name: str, equal: bool) -> Rule:
    """lt and ge of x | c and a bound, where c is below the lowest bit that x and the bound have: c
    makes no difference. So the rounds of a block share the comparison with n."""

    def rule(a: Algebra, x: Value, y: Value) -> Value | None:
        bound = unsigned(a, y) if x.type.dtype.is_int else None
        pair = None if bound is None else a.of(x, "or")
        if bound is None or pair is None or (low := unsigned(a, pair[1])) is None:
            return compares(equal)(a, x, y)
        below = (1 << low.bit_length()) - 1
        if low.bit_length() < x.type.dtype.bits and not below & (bound | ~zeros(a, pair[0])):
            return a.simple(name, pair[0], y)
        return None

    return rule


def ult(a: Algebra, x: Value, y: Value) -> Value | None:
    return a.constant(False, BOOL) if x is y or unsigned(a, y) == 0 else None
