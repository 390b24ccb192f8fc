"""Arithmetic of user-defined functions: plain numbers stay plain, others become operations.

A Datum is a plain number or array, a Value of the IR, or a tuple or list of Data. Numbers are f64
as soon as one operand is; a comparison gives a bool.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from psylang.ir.builder import Builder
from psylang.ir.graph import Value
from psylang.ir.types import BOOL, DType, Type

Datum = Any
PRODUCT_MAX = 16  # The largest power that is a product.


class UnsupportedError(Exception):
    """An expression cannot be compiled; the evaluator adds its place."""


def is_known(datum: Datum) -> bool:
    """Returns whether the datum is plain: all of it is known at compile time."""
    if isinstance(datum, tuple | list):
        return all(map(is_known, datum))
    return not isinstance(datum, Value)


def is_in(datum: Datum, data: Sequence[Datum]) -> bool:
    """Returns whether the datum is identical to one of the data, not only equal."""
    return any(datum is one for one in data)


def copied(build: Builder, datum: Datum) -> Datum:
    """A datum of its own with equal elements."""
    if isinstance(datum, Value):
        return build.stack(elements(build, datum), datum.type.shape) if datum.type.shape else datum
    return np.array(datum) if isinstance(datum, np.ndarray) else datum


def as_value(build: Builder, datum: Datum) -> Value:
    """The datum as a value: numbers become f64, truths bool, sequences vectors or matrices of
    f64."""
    if isinstance(datum, Value):
        return datum
    if isinstance(datum, bool | np.bool_):
        return build.constant(bool(datum), BOOL)
    if isinstance(datum, tuple | list):
        rows = [as_value(build, one) for one in datum]
        if not rows or any(row.type.shape != rows[0].type.shape for row in rows):
            raise UnsupportedError("a sequence of nothing, or of unlike things, is no vector")
        shape = (len(rows), *rows[0].type.shape)
        if len(shape) > 2:
            raise UnsupportedError(
                f"an array has {len(shape)} axes; only vectors and matrices are compiled"
            )
        cells = [as_float(build, cell) for row in rows for cell in elements(build, row)]
        return build.stack(cells, shape)
    try:
        array = np.asarray(datum, dtype=np.float64)
    except (TypeError, ValueError):
        raise UnsupportedError(f"{datum!r} is no number") from None
    if array.ndim > 2:
        raise UnsupportedError(
            f"an array has {array.ndim} axes; only vectors and matrices are compiled"
        )
    return build.constant(array, Type(DType.F64, array.shape))


def as_float(build: Builder, datum: Datum) -> Value:
    """The datum as a value of f64; a truth is 1 or 0."""
    value = as_value(build, datum)
    if value.type.dtype is DType.BOOL:
        return build.select(value, 1.0, build.constant(0.0, Type(DType.F64, value.type.shape)))
    return build.convert(value, DType.F64)


def as_truth(build: Builder, datum: Datum) -> Value:
    """The datum as a scalar bool: numbers are true if they are not 0."""
    value = as_value(build, datum)
    if value.type.shape:
        raise UnsupportedError(f"the truth of an array of shape {value.type.shape} is not one")
    if value.type.dtype is DType.BOOL:
        return value
    return build.op("ne", value, 0 if value.type.dtype.is_int else 0.0)


def elements(build: Builder, value: Value) -> list[Value]:
    """The scalars of a value, in C order."""
    shape = value.type.shape
    if not shape:
        return [value]
    return [build.extract(value, *map(int, index)) for index in np.ndindex(*shape)]


def items(build: Builder, datum: Datum) -> list[Datum]:
    """The items of an iteration: the entries of a sequence or vector, the rows of a matrix."""
    if isinstance(datum, tuple | list | range | np.ndarray):
        return list(datum)
    if isinstance(datum, Value) and datum.type.shape:
        if len(datum.type.shape) == 1:
            return list(elements(build, datum))
        rows, columns = datum.type.shape
        cells = elements(build, datum)
        return [build.stack(cells[k * columns : (k + 1) * columns]) for k in range(rows)]
    raise UnsupportedError("what is iterated over is no range, sequence or array")


PLAIN: Mapping[str, Callable[..., Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "**": operator.pow,
    "//": operator.floordiv,
    "%": operator.mod,
    "@": operator.matmul,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
OPERATIONS = {"+": "add", "-": "sub", "*": "mul", "/": "div", "@": "dot"}
COMPARISONS = {"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}


def binary(build: Builder, sign: str, left: Datum, right: Datum) -> Datum:
    """`left sign right`. UnsupportedError: operands of these kinds are not compiled."""
    if is_known(left) and is_known(right):
        return PLAIN[sign](left, right)
    if isinstance(left, list | tuple) or isinstance(right, list | tuple):
        made = _of_sequences(sign, left, right)
        if made is not None:
            return made
    if sign in ("%", "//"):
        return divided(build, left, right)["%//".index(sign) > 0]
    if sign == "**":
        return power(build, left, right)
    if sign in OPERATIONS:
        return build.op(OPERATIONS[sign], as_float(build, left), as_float(build, right))
    if sign in COMPARISONS:
        return build.op(COMPARISONS[sign], as_float(build, left), as_float(build, right))
    raise UnsupportedError(f"`{sign}` of what is only known at run time is not compiled")


def _of_sequences(sign: str, left: Datum, right: Datum) -> Datum | None:
    """The result for lists and tuples, as in Python; None: with an array as other operand they are
    arrays, too."""
    pair = [isinstance(one, list | tuple) for one in (left, right)]
    if all(pair) and type(left) is type(right) and sign == "+":
        return left + right
    plain = left if pair[1] else right
    if sign == "*" and not all(pair) and isinstance(plain, int):
        return left * right
    if all(pair) or (is_known(plain) and not isinstance(plain, np.ndarray | np.generic)):
        raise UnsupportedError(f"`{sign}` of a list or tuple; make it an array: np.array(…)")
    return None


def divided(build: Builder, left: Datum, right: Datum) -> tuple[Value, Value]:
    """(remainder, quotient rounded down), equal to Python's for quotients below 2**53; for a
    divisor of 0 the remainder is NaN, as in NumPy."""
    a, b = as_float(build, left), as_float(build, right)
    q = build.op("floor", build.div(a, b))

    def rest(quotient: Value) -> Value:
        return build.fma(build.neg(quotient), b, a)  # Exact, if the quotient is off by one at most.

    r, zero = rest(q), build.constant(0.0)
    differs = build.op("ne", build.lt(r, 0.0), build.lt(b, 0.0))
    below = build.and_(build.op("ne", r, 0.0), differs)
    beyond = build.op("ge", build.abs(r), build.abs(b))
    q = build.select(below, build.sub(q, 1.0), build.select(beyond, build.add(q, 1.0), q))
    r = rest(q)
    # With an infinite divisor the remainder is the dividend, or the divisor if the signs differ.
    endless = build.op("eq", build.abs(b), float("inf"))
    finite = build.lt(build.abs(a), float("inf"))
    apart = build.and_(build.op("ne", build.lt(a, 0.0), build.lt(b, 0.0)), build.op("ne", a, 0.0))
    endless = build.and_(endless, finite)
    r = build.select(endless, build.select(apart, b, a), r)
    q = build.select(endless, build.select(apart, build.constant(-1.0), zero), q)
    return r, q


def power(build: Builder, base: Datum, exponent: Datum) -> Value:
    """As NumPy: exponent 2 is a product, 0.5 a square root; in `fast` small whole powers are
    products."""
    value = as_float(build, base)
    if is_known(exponent) and np.shape(exponent) == ():
        if exponent == 2:
            return build.mul(value, value)
        if exponent == 0.5:
            return build.op("sqrt", value)
        fast = getattr(build, "numerics", "exact") == "fast"
        if fast and 2 < exponent <= PRODUCT_MAX and exponent == int(exponent):
            return _product(build, value, int(exponent))
    return build.op("pow", value, as_float(build, exponent))


def _product(build: Builder, value: Value, count: int) -> Value:
    """value**count by squares."""
    result: Value | None = None
    while True:
        if count % 2:
            result = value if result is None else build.mul(result, value)
        count //= 2
        if not count:
            assert result is not None
            return result
        value = build.mul(value, value)


def negated(build: Builder, datum: Datum) -> Datum:
    return -np.asarray(datum)[()] if is_known(datum) else build.neg(as_float(build, datum))


def merged(build: Builder, condition: Value, yes: Datum, no: Datum) -> Datum:
    """`yes` if the condition holds, otherwise `no`; both have one shape."""
    if yes is no:
        return yes
    if isinstance(yes, tuple | list) and isinstance(no, tuple | list) and len(yes) == len(no):
        pairs = zip(yes, no, strict=True)
        return type(yes)(merged(build, condition, one, other) for one, other in pairs)
    a, b = as_value(build, yes), as_value(build, no)
    if a.type.dtype is not b.type.dtype:
        a, b = as_float(build, a), as_float(build, b)
    if a.type.shape != b.type.shape:
        raise UnsupportedError(
            f"two branches give shapes {a.type.shape} and {b.type.shape}; they must be the same"
        )
    return build.select(condition, a, b)


def combined(build: Builder, name: str, data: Sequence[Datum]) -> Value:
    """An operation over several operands of f64, from the first on."""
    result = as_float(build, data[0])
    for datum in data[1:]:
        result = build.op(name, result, as_float(build, datum))
    return result
