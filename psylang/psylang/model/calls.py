"""The functions of Python, math and NumPy that user-defined functions may call."""

from __future__ import annotations

import builtins
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
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
    copied,
    divided,
    elements,
    is_known,
    items,
    power,
)

Written = Callable[..., Datum]


def _unary(name: str) -> Written:
    return lambda build, x: build.op(name, as_float(build, x))


def _folded(name: str) -> Written:
    """Python's max and min, of several arguments or of the items of one."""

    def write(build: Builder, *data: Datum) -> Value:
        return combined(build, name, data if len(data) > 1 else items(build, data[0]))

    return write


def _wider(build: Builder, name: str, a: Value, b: Value) -> Value:
    """NumPy's maximum and minimum: NaN if an operand is NaN; the IR's operation would give its
    first operand."""
    return build.select(build.op("ne", b, b), b, build.op(name, a, b))


def _spread(build: Builder, x1: Datum, x2: Datum) -> tuple[Value, Value]:
    """Two operands, of which an array of one element stands for all elements of the other one."""
    a, b = as_float(build, x1), as_float(build, x2)
    if a.type.size == 1 and len(a.type.shape) <= len(b.type.shape):
        a = build.extract(a, *(0,) * len(a.type.shape)) if a.type.shape != b.type.shape else a
    elif b.type.size == 1 and len(b.type.shape) <= len(a.type.shape):
        b = build.extract(b, *(0,) * len(b.type.shape))
    return a, b


def _either(name: str) -> Written:
    """NumPy's fmax and fmin: the other operand if one is NaN."""

    def write(build: Builder, x1: Datum, x2: Datum) -> Value:
        a, b = _spread(build, x1, x2)
        return build.select(build.op("ne", a, a), b, build.op(name, a, b))

    return write


def _pairwise(name: str) -> Written:
    return lambda build, x1, x2: _wider(build, name, *_spread(build, x1, x2))


def _reduced(name: str) -> Written:
    def write(build: Builder, a: Datum) -> Value:
        result, *rest = elements(build, as_float(build, a))
        for cell in rest:
            result = _wider(build, name, result, cell)
        return result

    return write


def _sum(build: Builder, a: Datum, axis: Datum = None) -> Value:
    value = as_float(build, a)
    if axis is None or len(value.type.shape) == 1:
        if axis not in (None, 0, -1):
            raise UnsupportedError(f"a vector has no axis {axis!r}")
        return build.op("sum", value) if value.type.shape else value
    if axis not in (0, 1, -1, -2) or len(value.type.shape) != 2:
        raise UnsupportedError(f"an array of shape {value.type.shape} has no axis {axis!r}")
    rows = items(build, value)
    if axis in (0, -2):
        return combined(build, "add", rows)
    return build.stack([build.op("sum", row) for row in rows])


def _mean(build: Builder, a: Datum, axis: Datum = None) -> Value:
    value = as_float(build, a)
    total = _sum(build, value, axis)
    return build.div(total, float(value.type.size // total.type.size))


def _var(build: Builder, a: Datum, ddof: Datum = 0) -> Value:
    value = as_float(build, a)
    off = build.sub(value, _mean(build, value))
    if not is_known(ddof) or ddof >= value.type.size:
        raise UnsupportedError(f"ddof is {ddof!r}; it must be a number below the size")
    return build.div(_sum(build, build.mul(off, off)), float(value.type.size - ddof))


def _std(build: Builder, a: Datum, ddof: Datum = 0) -> Value:
    return build.op("sqrt", _var(build, a, ddof))


def _ceil(build: Builder, x: Datum) -> Value:
    return build.neg(build.op("floor", build.neg(as_float(build, x))))


def arctan(build: Builder, x: Datum) -> Value:
    """Half the angle three times, atan x = 2 atan(x / (1 + sqrt(1 + x**2))), then Taylor's series;
    of |x| > 1 the angle of 1 / x. Exact to some units in the last place."""
    value = as_float(build, x)
    size = build.abs(value)
    steep = build.op("gt", size, 1.0)
    t = build.select(steep, build.div(1.0, size), size)
    for _ in range(3):
        t = build.div(t, build.add(build.op("sqrt", build.fma(t, t, 1.0)), 1.0))
    square = build.mul(t, t)
    tail = build.constant(1 / 17)
    for k in range(15, 1, -2):
        tail = build.fma(build.neg(tail), square, 1 / k)
    # 8 (t - t**3 / 3 + …), the large part last.
    angle = build.mul(build.fma(build.mul(build.neg(t), square), tail, t), 8.0)
    angle = build.select(steep, build.sub(math.pi / 2, angle), angle)
    return build.select(build.lt(value, 0.0), build.neg(angle), angle)


def _clip(build: Builder, a: Datum, a_min: Datum, a_max: Datum) -> Value:
    value = as_float(build, a)
    if a_min is not None:
        value = build.op("max", value, as_float(build, a_min))
    return value if a_max is None else build.op("min", value, as_float(build, a_max))


def _where(build: Builder, condition: Datum, x: Datum, y: Datum) -> Value:
    return build.select(as_value(build, condition), as_float(build, x), as_float(build, y))


def _array(build: Builder, a: Datum) -> Datum:
    return copied(build, as_value(build, a))


def _enumerate(build: Builder, iterable: Datum, start: Datum = 0) -> list[Datum]:
    return list(enumerate(items(build, iterable), start))


def _zip(build: Builder, *iterables: Datum, strict: Datum = False) -> list[Datum]:
    rows = [items(build, one) for one in iterables]
    if strict and len(set(map(len, rows))) > 1:
        raise UnsupportedError(f"zip of {', '.join(map(str, map(len, rows)))} items with strict")
    return list(zip(*rows, strict=False))


def _reversed(build: Builder, sequence: Datum) -> list[Datum]:
    return items(build, sequence)[::-1]


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
    builtins.enumerate: _enumerate,
    builtins.zip: _zip,
    builtins.reversed: _reversed,
    np.mod: lambda build, x1, x2: divided(build, x1, x2)[0],
    np.floor_divide: lambda build, x1, x2: divided(build, x1, x2)[1],
    math.ceil: _ceil,
    np.ceil: _ceil,
    math.atan: arctan,
    np.arctan: arctan,
    np.std: _std,
    np.var: _var,
    np.copy: _array,
    np.maximum: _pairwise("max"),
    np.minimum: _pairwise("min"),
    np.fmax: _either("max"),
    np.fmin: _either("min"),
    np.max: _reduced("max"),
    np.min: _reduced("min"),
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
    np.array: _array,
    np.asarray: as_value,
    np.zeros_like: _like(0.0),
    np.ones_like: _like(1.0),
    np.logical_and: _logical("and"),
    np.logical_or: _logical("or"),
    np.logical_not: _logical("not"),
}
for _name in ("sqrt", "exp", "log", "sin", "cos", "tanh", "floor"):
    TABLE[getattr(np, _name)] = TABLE[getattr(math, _name)] = _unary(_name)

# Only for plain arguments: the results are known while the function is compiled.
KNOWN_ONLY = (builtins.range, builtins.int, np.zeros, np.ones, np.full, np.eye, np.arange)
METHODS: dict[str, Any] = {
    "sum": np.sum,
    "max": np.max,
    "min": np.min,
    "mean": np.mean,
    "std": np.std,
    "var": np.var,
    "copy": np.copy,
    "clip": np.clip,
}

# A draw of the component: of a kind, "normal" or "uniform".
Draw = Callable[[str], Value]
Drawn = Callable[..., Value]


def _normal(build: Builder, draw: Draw, loc: Datum = 0.0, scale: Datum = 1.0) -> Value:
    scaled = build.mul(as_float(build, scale), draw("normal"))
    return build.add(as_float(build, loc), scaled)


def _uniform(build: Builder, draw: Draw, low: Datum = 0.0, high: Datum = 1.0) -> Value:
    least = as_float(build, low)
    return build.add(least, build.mul(build.sub(as_float(build, high), least), draw("uniform")))


def draw_of(function: Any) -> Drawn | None:
    """The kind of draw of a function of NumPy's global generator: normal or uniform numbers."""
    owner, name = getattr(function, "__self__", None), getattr(function, "__name__", "")
    if not isinstance(owner, np.random.RandomState):
        return None
    return {
        "normal": _normal,
        "standard_normal": lambda build, draw: draw("normal"),
        "uniform": _uniform,
        "random": lambda build, draw: draw("uniform"),
        "random_sample": lambda build, draw: draw("uniform"),
    }.get(name)


def call(
    build: Builder,
    function: Any,
    data: Sequence[Datum],
    named: Mapping[str, Datum] = MappingProxyType({}),
) -> Datum:
    """The result of a call; named: arguments by keyword. UnsupportedError: it is not in the table,
    or takes other arguments."""
    name = getattr(function, "__name__", repr(function))
    known = all(map(is_known, (*data, *named.values())))
    if _among(function, KNOWN_ONLY):
        if not known:
            raise UnsupportedError(f"`{name}` of what is only known at run time is not compiled")
        return function(*data, **named)
    write = TABLE.get(function) if _hashable(function) else None
    if write is None:
        raise UnsupportedError(
            f"a call of `{name}`, which is not known; decorate it with @psylang.model.function, "
            "or use one of " + ", ".join(sorted({one.__name__ for one in TABLE}))
        )
    if known:
        made = function(*data, **named)
        return list(made) if isinstance(made, enumerate | zip | reversed) else made
    try:
        inspect.signature(write).bind(build, *data, **named)
    except TypeError:
        names = f" and {', '.join(named)}=" if named else ""
        raise UnsupportedError(f"`{name}` with {len(data)} arguments{names} is not known") from None
    return write(build, *data, **named)


def _among(function: Any, functions: Sequence[Any]) -> bool:
    return any(function is one for one in functions)


def _hashable(function: Any) -> bool:
    try:
        hash(function)
    except TypeError:
        return False
    return True
