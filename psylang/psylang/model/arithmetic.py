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
    """Why an expression cannot be compiled; the evaluator adds the place."""


def is_known(datum: Datum) -> bool:
    """Whether it is plain: nothing in it is only known at run time."""
    if isinstance(datum, tuple | list):
        return all(map(is_known, datum))
    return not isinstance(datum, Value)


def as_value(build: Builder, datum: Datum) -> Value:
    """As a value: numbers f64, truths bool, sequences vectors or matrices of f64."""
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
    """As a value of f64; a truth is 1 or 0."""
    value = as_value(build, datum)
    if value.type.dtype is DType.BOOL:
        return build.select(value, 1.0, build.constant(0.0, Type(DType.F64, value.type.shape)))
    return build.convert(value, DType.F64)


def as_truth(build: Builder, datum: Datum) -> Value:
    """As a scalar bool: numbers are true if they are not 0."""
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
    """`left sign right`. UnsupportedError: not compiled of such operands."""
    if is_known(left) and is_known(right):
        both = [np.asarray(one) if isinstance(one, list | tuple) else one for one in (left, right)]
        return PLAIN[sign](*both)
    if sign == "**":
        return power(build, left, right)
    if sign in OPERATIONS:
        return build.op(OPERATIONS[sign], as_float(build, left), as_float(build, right))
    if sign in COMPARISONS:
        return build.op(COMPARISONS[sign], as_float(build, left), as_float(build, right))
    raise UnsupportedError(f"`{sign}` of what is only known at run time is not compiled")


def power(build: Builder, base: Datum, exponent: Datum) -> Value:
    """As NumPy: of 2 a product, of 0.5 a square root; in `fast` small whole powers are products."""
    value = as_float(build, base)
    if is_known(exponent) and np.shape(exponent) == ():
        if exponent == 2:
            return build.mul(value, value)
        if exponent == 0.5:
            return build.op("sqrt", value)
        fast = getattr(build, "numerics", "exact") == "fast"
        if fast and exponent == int(exponent) and 1 <= exponent <= PRODUCT_MAX:
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
    """`yes` where the condition holds, else `no`; of one shape."""
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
