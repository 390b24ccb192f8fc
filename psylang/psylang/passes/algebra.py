"""The algebra of constants.py: for each operation, its simplification, if there is one.

A rule gets scalars of the new program and returns a value that is bitwise the same for all values
of the operands (-0.0, infinities and NaN included, but for the payload and sign of a NaN), or
None. Of operations that commute a constant operand is the second one. Those on integers alone are
in words.py.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from psylang.ir.graph import Value
from psylang.ir.types import DType
from psylang.passes.words import (
    Algebra,
    Rule,
    aligned,
    and_,
    compares,
    is_number,
    lshr,
    mulhi,
    or_,
    shl,
    udiv,
    ult,
    unsigned,
    urem,
    word,
    xor,
    zeros,
)


def _float_add(a: Algebra, x: Value, y: Value) -> Value | None:
    if is_number(a, y, -0.0):
        return x
    if (inner := a.of(y, "neg")) is not None:
        return a.simple("sub", x, inner[0])
    return a.simple("sub", y, inner[0]) if (inner := a.of(x, "neg")) is not None else None


def _float_sub(a: Algebra, x: Value, y: Value) -> Value | None:
    if is_number(a, y, 0.0):
        return x
    if is_number(a, x, -0.0):
        return a.simple("neg", y)
    return a.simple("add", x, inner[0]) if (inner := a.of(y, "neg")) is not None else None


def _float_mul(a: Algebra, x: Value, y: Value) -> Value | None:
    if is_number(a, y, -1.0):
        return a.simple("neg", x)
    if (inner := a.of(x, "neg")) is not None:
        known = a.known(y)
        if known is not None:
            return a.simple("mul", inner[0], a.constant(-known, y.type))
        if (other := a.of(y, "neg")) is not None:
            return a.simple("mul", inner[0], other[0])
    return None


def _fma(a: Algebra, x: Value, y: Value, z: Value) -> Value | None:
    """With a factor of 1 or -1, or a summand of -0.0, one rounding equals the two."""
    for one, other in ((x, y), (y, x)):
        if is_number(a, one, 1.0):
            return a.simple("add", other, z)
        if is_number(a, one, -1.0):
            return a.simple("sub", z, other)
    return a.simple("mul", x, y) if is_number(a, z, -0.0) else None


def _add(a: Algebra, x: Value, y: Value) -> Value | None:
    if x.type.dtype.is_float:
        return _float_add(a, x, y)
    number = unsigned(a, y)
    if number is None:
        return None
    if number == 0:
        return x
    if (pair := a.of(x, "add")) is not None and (more := unsigned(a, pair[1])) is not None:
        return a.simple("add", pair[0], word(a, number + more, x))
    # If both have no common bit, and the constants carry into no bit of the rest.
    if (pair := a.of(x, "or")) is not None and (more := unsigned(a, pair[1])) is not None:
        free = zeros(a, pair[0])
        if not (more | number + more) & ~free:
            return a.simple("or", pair[0], word(a, number + more, x))
    if not number & ~zeros(a, x) and (a.of(x, "shl") or a.of(x, "and")) is not None:
        return a.simple("or", x, y)
    return None


def _sub(a: Algebra, x: Value, y: Value) -> Value | None:
    if x.type.dtype.is_float:
        return _float_sub(a, x, y)
    if x is y:
        return word(a, 0, x)
    number = unsigned(a, y)
    return None if number is None else a.simple("add", x, word(a, -number, x))


def _mul(a: Algebra, x: Value, y: Value) -> Value | None:
    if is_number(a, y, 1):
        return x
    if x.type.dtype.is_float:
        return _float_mul(a, x, y)
    if (number := unsigned(a, y)) is not None:
        if number == 0:
            return y
        if number & (number - 1) == 0:
            return a.simple("shl", x, number.bit_length() - 1)
    return None


def _div(a: Algebra, x: Value, y: Value) -> Value | None:
    known = a.known(y)
    if known is None or not known or not math.isfinite(known):
        return None
    if known == 1.0:
        return x
    # Division by a power of two: its inverse is exact, and both forms round the same real number.
    part, exponent = math.frexp(known)
    smallest = -1022 if x.type.dtype is DType.F64 else -126
    if abs(part) == 0.5 and smallest <= 1 - exponent <= -smallest:
        return a.simple("mul", x, a.constant(1.0 / known, y.type))
    return None


def _neg(a: Algebra, x: Value) -> Value | None:
    return inner[0] if (inner := a.of(x, "neg")) is not None else None


def _abs(a: Algebra, x: Value) -> Value | None:
    if a.of(x, "abs") is not None:
        return x
    return a.simple("abs", inner[0]) if (inner := a.of(x, "neg")) is not None else None


def _floor(a: Algebra, x: Value) -> Value | None:
    return x if a.of(x, "floor") is not None else None


def _either(a: Algebra, x: Value, y: Value) -> Value | None:
    return x if x is y else None


OPPOSITES = {"lt": "ge", "ge": "lt", "gt": "le", "le": "gt"}


def _not(a: Algebra, x: Value) -> Value | None:
    if (inner := a.of(x, "not")) is not None:
        return inner[0]
    for name, other in (("eq", "ne"), ("ne", "eq")):
        if (pair := a.of(x, name)) is not None:
            return a.simple(other, *pair)
    for name, other in OPPOSITES.items():
        # Not for floats: all comparisons of a NaN are false.
        pair = a.of(x, name)
        if pair is not None and pair[0].type.dtype.is_int:
            return a.simple(other, *pair)
    return None


def _eq(a: Algebra, x: Value, y: Value) -> Value | None:
    if x.type.dtype is DType.BOOL and (known := a.known(y)) is not None:
        return x if known else a.simple("not", x)
    return compares(True)(a, x, y)


def _ne(a: Algebra, x: Value, y: Value) -> Value | None:
    if x.type.dtype is DType.BOOL and (known := a.known(y)) is not None:
        return a.simple("not", x) if known else x
    return compares(False)(a, x, y)


def _select(a: Algebra, c: Value, x: Value, y: Value) -> Value | None:
    known = a.known(c)
    if known is not None:
        return x if known else y
    if x is y:
        return x
    if (inner := a.of(c, "not")) is not None:
        return a.simple("select", inner[0], y, x)
    if x.type.dtype is DType.BOOL:
        yes, no = a.known(x), a.known(y)
        if yes is not None:
            return a.simple("or", c, y) if yes else a.simple("and", a.simple("not", c), y)
        if no is not None:
            return a.simple("or", a.simple("not", c), x) if no else a.simple("and", c, x)
        return None
    # A nested choice by the same condition can take only one side.
    if (choice := a.of(x, "select")) is not None and choice[0] is c:
        return a.simple("select", c, choice[1], y)
    if (choice := a.of(y, "select")) is not None and choice[0] is c:
        return a.simple("select", c, x, choice[2])
    return None


def _convert(a: Algebra, x: Value, to: str) -> Value | None:
    return x if x.type.dtype.value == to else None


def _bitcast(a: Algebra, x: Value, to: str) -> Value | None:
    if x.type.dtype.value == to:
        return x
    if (inner := a.of(x, "bitcast")) is not None:
        return a.simple("bitcast", inner[0], to=to)
    return None


RULES: Mapping[str, Rule] = {
    "add": _add,
    "sub": _sub,
    "mul": _mul,
    "div": _div,
    "fma": _fma,
    "neg": _neg,
    "abs": _abs,
    "floor": _floor,
    "min": _either,
    "max": _either,
    "and": and_,
    "or": or_,
    "xor": xor,
    "not": _not,
    "shl": shl,
    "lshr": lshr,
    "udiv": udiv,
    "urem": urem,
    "mulhi": mulhi,
    "eq": _eq,
    "ne": _ne,
    "lt": aligned("lt", False),
    "le": compares(True),
    "gt": compares(False),
    "ge": aligned("ge", True),
    "ult": ult,
    "select": _select,
    "convert": _convert,
    "uconvert": _convert,
    "bitcast": _bitcast,
}
