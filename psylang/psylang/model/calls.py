"""The functions that user-defined functions may call: of Python, math and NumPy."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from psylang.ir.builder import Builder
from psylang.ir.graph import Value
from psylang.model.arithmetic import (
    Datum,
    UnsupportedError,
    as_float,
    as_truth,
    as_value,
    combined,
    elements,
    is_known,
    items,
    power,
)

Written = Callable[..., Datum]


def _unary(name: str) -> Written:
    return lambda build, x: build.op(name, as_float(build, x))


def _folded(name: str) -> Written:
    """max and min: of several, or of the items of one."""

    def write(build: Builder, *data: Datum) -> Value:
        return combined(build, name, data if len(data) > 1 else items(build, data[0]))

    return write


def _reduced(name: str) -> Written:
    return lambda build, x: build.op(name, as_float(build, x))


def _sum(build: Builder, x: Datum) -> Value:
    value = as_float(build, x)
    return build.op("sum", value) if value.type.shape else value


def _mean(build: Builder, x: Datum) -> Value:
    value = as_float(build, x)
    return build.div(_sum(build, value), float(value.type.size))


def _clip(build: Builder, x: Datum, least: Datum, most: Datum) -> Value:
    floor = build.op("max", as_float(build, x), as_float(build, least))
    return build.op("min", floor, as_float(build, most))


def _where(build: Builder, condition: Datum, yes: Datum, no: Datum) -> Value:
    return build.select(as_value(build, condition), as_float(build, yes), as_float(build, no))


def _logical(name: str) -> Written:
    return lambda build, *data: build.op(name, *(as_value(build, one) for one in data))


def _norm(build: Builder, x: Datum) -> Value:
    value = as_float(build, x)
    return build.op("sqrt", _sum(build, build.mul(value, value)))


def _dot(build: Builder, left: Datum, right: Datum) -> Value:
    a, b = as_float(build, left), as_float(build, right)
    return build.op("dot" if a.type.shape and b.type.shape else "mul", a, b)


def _argmax(build: Builder, x: Datum) -> Value:
    cells = elements(build, as_float(build, x))
    best, index = cells[0], build.constant(0.0)
    for k, cell in enumerate(cells[1:], 1):
        better = build.op("gt", cell, best)
        best, index = build.select(better, cell, best), build.select(better, float(k), index)
    return index


def _like(value: float) -> Written:
    return lambda build, x: np.full(as_value(build, x).type.shape, value)


def _length(build: Builder, x: Datum) -> int:
    return len(items(build, x))


TABLE: dict[Any, Written] = {
    builtins.abs: _unary("abs"),
    builtins.max: _folded("max"),
    builtins.min: _folded("min"),
    builtins.sum: lambda build, x: combined(build, "add", [0.0, *items(build, x)]),
    builtins.float: as_float,
    builtins.bool: as_truth,
    builtins.len: _length,
    builtins.pow: power,
    math.pow: power,
    math.fabs: _unary("abs"),
    np.abs: _unary("abs"),
    np.maximum: _folded("max"),
    np.minimum: _folded("min"),
    np.max: _reduced("reduce_max"),
    np.min: _reduced("reduce_min"),
    np.sum: _sum,
    np.mean: _mean,
    np.clip: _clip,
    np.where: _where,
    np.dot: _dot,
    np.matmul: _dot,
    np.argmax: _argmax,
    np.power: power,
    np.square: lambda build, x: power(build, x, 2),
    np.linalg.norm: _norm,
    np.array: as_value,
    np.asarray: as_value,
    np.zeros_like: _like(0.0),
    np.ones_like: _like(1.0),
    np.logical_and: _logical("and"),
    np.logical_or: _logical("or"),
    np.logical_not: _logical("not"),
}
for _name in ("sqrt", "exp", "log", "sin", "cos", "tanh", "floor"):
    TABLE[getattr(np, _name)] = TABLE[getattr(math, _name)] = _unary(_name)

# Plain only: their results are known while the function is compiled.
KNOWN_ONLY = (builtins.range, builtins.int, np.zeros, np.ones, np.full, np.eye, np.arange)
METHODS: dict[str, Any] = {"sum": np.sum, "max": np.max, "min": np.min, "mean": np.mean}


def call(build: Builder, function: Any, data: Sequence[Datum]) -> Datum:
    """The result of a call. UnsupportedError: not in the table, or with other arguments."""
    name = getattr(function, "__name__", repr(function))
    known = all(map(is_known, data))
    if _among(function, KNOWN_ONLY):
        if not known:
            raise UnsupportedError(f"`{name}` of what is only known at run time is not compiled")
        return function(*data)
    write = TABLE.get(function) if _hashable(function) else None
    if write is None:
        raise UnsupportedError(
            f"a call of `{name}`, which is not known; decorate it with @psylang.model.function, "
            "or use one of " + ", ".join(sorted({one.__name__ for one in TABLE}))
        )
    if known:
        return function(*data)
    try:
        return write(build, *data)
    except TypeError:
        raise UnsupportedError(f"`{name}` with {len(data)} arguments is not known") from None


def _among(function: Any, functions: Sequence[Any]) -> bool:
    return any(function is one for one in functions)


def _hashable(function: Any) -> bool:
    try:
        hash(function)
    except TypeError:
        return False
    return True
