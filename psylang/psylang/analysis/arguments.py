"""The arguments of an analysis: ranges of parameters and inputs, and the ends at which widening
stops."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from psylang.analysis import arithmetic
from psylang.analysis.intervals import Ends, Range, anything, limits
from psylang.errors import ProgramError
from psylang.ir.graph import Program, Region
from psylang.ir.types import DType, Type

Pair = tuple[Any, Any]
_LANDMARKS = (0.0, 1.0, -1.0)


def given_ranges(
    program: Program, parameters: Mapping[str, Pair], inputs: Mapping[str, Pair], cases: int
) -> list[Range]:
    for kind, given, known in (
        ("parameter", parameters, program.parameters),
        ("input", inputs, program.inputs),
    ):
        names = [one.name for one in known]
        for name in given:
            if name not in names:
                listed = ", ".join(names) or "none"
                raise ProgramError(f"`{program.name}` has no {kind} `{name}`; it has {listed}")
    made = []
    for one in program.parameters:
        pair = parameters.get(one.name, one.range)
        made.append(_of_pair(one.name, one.type, pair, cases))
    for each in program.inputs:
        made.append(_of_pair(each.name, each.type, inputs.get(each.name), cases))
    return made


def _of_pair(name: str, type: Type, pair: Pair | None, cases: int) -> Range:
    """The range of a parameter or an input. run() refuses NaN unless the caller permits it."""
    if pair is None:
        return anything(type, cases, nan=False)
    shape = (*type.shape, cases)
    try:
        low, high = (np.asarray(end, np.float64) for end in pair)
        least, most = (
            np.broadcast_to(end[..., np.newaxis] if end.shape != shape else end, shape)
            for end in (low, high)
        )
    except (TypeError, ValueError):
        raise ProgramError(
            f"the range of `{name}` is {pair!r}; give (least, greatest), numbers or arrays of "
            f"shape {type.shape}"
        ) from None
    if not np.all(least <= most):
        raise ProgramError(f"the range of `{name}` is {pair!r}, which nothing is in")
    if type.dtype is DType.F32:
        least, most = arithmetic.outward(least, most, type.dtype, True)
    return Range(least, most, np.zeros(shape, bool))


def landmarks(body: Region) -> Mapping[DType, Ends]:
    """The ends at which widening stops: constants of the program, and the ends of the types."""
    numbers = set(_LANDMARKS)
    for op in body.walk():
        if op.name == "constant":
            flat = np.asarray(op.attributes["value"], np.float64).ravel()
            numbers.update(float(x) for x in flat if np.isfinite(x))
            numbers.update(-float(x) for x in flat if np.isfinite(x))
    powers = [sign * 10.0**k for k in (*range(-3, 6), *range(6, 19, 3)) for sign in (1, -1)]
    every = np.array(sorted({*numbers, *powers}))
    made = {}
    for dtype in DType:
        low, high = limits(dtype)
        inside = every[(every > low) & (every < high)]
        if dtype.is_int:
            inside = inside[inside == np.floor(inside)]
        if dtype is DType.F32:
            inside = inside[np.abs(inside) < 3e38].astype(np.float32).astype(np.float64)
        made[dtype] = np.array([low, *inside, high])
    return made
