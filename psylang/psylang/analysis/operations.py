"""The range of an operation without regions: its rule, by name, shape and element type."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from psylang.analysis import arithmetic, words
from psylang.analysis.intervals import INFINITY, Range, anything, between, exactly
from psylang.ir.graph import Op
from psylang.ir.types import DType, Type

# |z| of a normal number: `fast` has 33 bits of radius (numerics/draws.py), f32 one less; the polar
# method of `exact` at most sqrt(-2 log 2**-104) < 12.02.
NORMAL = {"fast": 6.77, "exact": 12.02}
UNIFORM = {DType.F64: 1 - 2.0**-53, DType.F32: 1 - 2.0**-24}
_COMPARISONS = frozenset({"eq", "ne", "lt", "le", "gt", "ge"})


def result_of(op: Op, operands: Sequence[Range], numerics: str, cases: int, alike: bool) -> Range:
    """The range of the result. alike: both operands are always equal."""
    name, type = op.name, op.result.type
    match name:
        case "constant":
            return exactly(type, op.attributes["value"], cases)
        case "stack":
            return _stacked(operands, type, cases)
        case "extract":
            return _each(operands[0], lambda ends: ends[op.attributes["index"]])
        case "dot":
            return _dot(op, operands, cases)
        case "sum" | "reduce_max" | "reduce_min":
            fold = {"sum": "add", "reduce_max": "max", "reduce_min": "min"}[name]
            flat = _each(operands[0], lambda ends: ends.reshape(-1, ends.shape[-1]))
            rows = [_each(flat, lambda ends, k=k: ends[k]) for k in range(len(flat.low))]  # type: ignore[misc]
            return reduce(lambda a, b: elementwise(fold, type.dtype, [a, b]), rows)
        case "random.uniform":
            return between(type, 0.0, UNIFORM[type.dtype], cases)
        case "random.seed":
            return between(type, 0.0, 0.0, cases)
        case "random.normal":
            return between(type, -NORMAL[numerics], NORMAL[numerics], cases)
        case "convert":
            return words.convert(operands[0], op.operands[0].type.dtype, type.dtype)
        case "uconvert":
            return words.uconvert(operands[0], op.operands[0].type.dtype, type.dtype)
        case "bitcast":
            same = op.operands[0].type == type
            return operands[0] if same else anything(type, cases)
        case "ult":
            return words.unsigned_less(*operands)
        case "mul" if type.dtype.is_float and alike:
            return _numbers(arithmetic.square(operands[0], type.dtype), operands)
        case "sin" | "cos":
            quarter = int(name == "cos")
            made = arithmetic.sine(operands[0], type.dtype, quarter, numerics == "fast")
            return _numbers(made, operands)
    if name in _COMPARISONS:
        if alike:
            return words.with_itself(name, operands[0])
        return words.compared(name, *operands)
    return elementwise(name, type.dtype, operands)


def elementwise(name: str, dtype: DType, operands: Sequence[Range]) -> Range:
    """The rule of an operation for elements of one type."""
    if not dtype.is_float:
        return words.INTEGERS[name](*operands, dtype)
    made = arithmetic.FLOATS[name](*operands, dtype)
    return made if name in ("min", "max", "pow") else _numbers(made, operands)


def _numbers(made: Range, operands: Sequence[Range]) -> Range:
    """The result is never a number if an operand is only NaN."""
    none = reduce(np.logical_or, [one.empty for one in operands])
    return Range(np.where(none, INFINITY, made.low), np.where(none, -INFINITY, made.high), made.nan)


def _each(range: Range, of: Callable[[Any], Any]) -> Range:
    return Range(of(range.low), of(range.high), of(range.nan))


def _stacked(operands: Sequence[Range], type: Type, cases: int) -> Range:
    shape = (*type.shape, cases)

    def stacked(parts: Sequence[Any]) -> Any:
        full = [np.broadcast_to(part, (cases,)) for part in parts]
        return np.array(full).reshape(shape) if full else np.empty(shape)

    return Range(
        stacked([one.low for one in operands]),
        stacked([one.high for one in operands]),
        stacked([one.nan for one in operands]).astype(bool),
    )


def _dot(op: Op, operands: Sequence[Range], cases: int) -> Range:
    left, right = operands
    of = op.result.type
    inner = op.operands[0].type.shape[-1]
    a = _each(left, lambda ends: ends.reshape(-1, inner, ends.shape[-1]))
    b = _each(right, lambda ends: ends.reshape(inner, -1, ends.shape[-1]))
    total: Range | None = None
    for k in range(inner):
        rows = _each(a, lambda ends, k=k: ends[:, k, np.newaxis, :])  # type: ignore[misc]
        columns = _each(b, lambda ends, k=k: ends[np.newaxis, k, :, :])  # type: ignore[misc]
        product = elementwise("mul", of.dtype, [rows, columns])
        total = product if total is None else elementwise("add", of.dtype, [total, product])
    if total is None:
        return exactly(of, np.zeros(of.shape), cases)
    return _each(total, lambda ends: ends.reshape(*of.shape, ends.shape[-1]))
