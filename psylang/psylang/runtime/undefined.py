"""NaN in results: counted by output, and traced to the operation that computed the first NaN."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psylang.ir.graph import LIMITS, Origin, Output, Program
from psylang.runtime.errors import UndefinedError
from psylang.runtime.execute import Given
from psylang.runtime.histogram import Counter, Counts
from psylang.runtime.results import Results
from psylang.runtime.witnesses import MARK

TRACED_TRIALS_MAX = 16  # Of a sequence that is interpreted up to the trial with NaN.
TRACED_OPS_MAX = 200_000


@dataclass
class NaNCounter(Counter):
    """Counts the trials in which an output that nobody keeps is NaN."""

    def add(self, outputs: Mapping[str, NDArray[Any]]) -> None:
        values = outputs[self.output]
        self.total.nan += int(np.isnan(values.reshape(len(values), -1)).any(axis=1).sum())


def watching(outputs: Sequence[Output], wanted: Collection[str]) -> list[Counter]:
    """Counters for a run that keeps whole numbers alone, which cannot be NaN and may come from it:
    one for each output of numbers with fractions. None if one of those is kept."""
    floats = [one.name for one in outputs if one.type.dtype.is_float]
    if any(name in wanted for name in floats):
        return []
    return [
        NaNCounter(name, Counts(np.array([0.0, 1.0]), np.zeros(1, np.int64)), None)
        for name in floats
    ]


def counted(arrays: Mapping[str, NDArray[Any]], counters: Sequence[Counter]) -> dict[str, int]:
    """For each output the number of trials (of elements, if it was only counted) with NaN."""
    found = {}
    for name, array in arrays.items():
        if array.dtype.kind != "f" or not array.size:
            continue
        # The maximum of numbers is NaN if one is NaN; a single number is quicker to check.
        if math.isnan(array.item() if array.size == 1 else array.max()):
            rows = np.isnan(array.reshape(len(array), -1)).any(axis=1)
            found[name] = int(rows.sum())
    for one in counters:
        if one.total.nan and one.output not in found:
            found[one.output] = one.total.nan
    return found


def refuse(
    program: Program,
    found: Mapping[str, int],
    arrays: Mapping[str, NDArray[Any]],
    given: Given,
    results: Results,
) -> None:
    """UndefinedError: there is NaN; the message names the part of the model that computed it."""
    if not found:
        return
    name, count = next(iter(found.items()))
    total = given.sequences * given.trials
    where, origin = "", ""
    if name in arrays:
        array = arrays[name]
        row = int(np.flatnonzero(np.isnan(array.reshape(len(array), -1)).any(axis=1))[0])
        where = f", first in trial {row}"
        made = origin_of(program, given, row)
        origin = f"; {_told(made)}" if made else ""
    what = f"{name} is" if name == name.removesuffix(MARK) else f"{name.removesuffix(MARK)} is of"
    raise UndefinedError(
        f"output {what} NaN in {count} of {total} trials{where}{origin}: mend the model or its "
        "parameters; allow_nan=True keeps such results, counted in results.nan",
        {one.removesuffix(MARK): trials for one, trials in found.items()},
        results,
    )


def _told(made: Origin) -> str:
    if not made.source.startswith(LIMITS):
        return f"`{made}` made the first one"
    place = f"{made.component}.{made.parameter}"
    rule = made.source.removeprefix(LIMITS)
    return f"`{place}` was modulated beyond its limits, which made the first one ({rule})"


def origin_of(program: Program, given: Given, row: int) -> Origin | None:
    """The origin of the first operation that computed NaN in the trial of that row; None if
    unknown."""
    from psylang.ir.interpret import origin_of_nan
    from psylang.numerics import expansions

    first = row if program.is_independent() else row - row % given.trials
    if given.after is not None and not program.is_independent():
        return None
    if row - first >= TRACED_TRIALS_MAX or (program.numerics == "exact" and given.seed):
        return None
    rows = range(first, row + 1)
    return origin_of_nan(
        program,
        [_of_trials(one.type.shape, array, rows) for one, array in _parameters(program, given)],
        [
            _of_trials(one.type.shape, array, rows)
            for one, array in zip(program.inputs, given.inputs, strict=True)
        ],
        given.seed,
        first + given.row,
        expansions() if program.numerics == "fast" else {},
        TRACED_OPS_MAX,
    )


def _parameters(program: Program, given: Given) -> Any:
    return zip(program.parameters, given.parameters, strict=True)


def _of_trials(shape: tuple[int, ...], array: NDArray[Any], rows: range) -> list[NDArray[Any]]:
    """One row per trial, from one value or from one row per trial."""
    if array.ndim == len(shape):
        return [array] * len(rows)
    return [array[row] for row in rows]


__all__ = ["counted", "refuse", "watching"]
