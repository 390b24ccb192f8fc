"""Grids of parameters: every point is simulated, reduced, and the best one named.

Points are sequences of one run, with the grid's parameters a row a trial: so vectors of trials are
full even where a point has one trial, and nothing is compiled again. Points are taken in blocks;
blocks do not change the numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from psylang.ir.graph import Program
from psylang.ir.types import Type
from psylang.runtime.errors import (
    ArgumentError,
    ArgumentTypeError,
    InterruptedRunError,
    MissingResultError,
    NotSupportedError,
    listed,
)
from psylang.runtime.progress import Progress, indicator
from psylang.runtime.results import Results
from psylang.runtime.values import as_array, known, memory_for, refuse_nan, row_bytes, whole

Reduce = Literal["mean", "std", "median", "min", "max", "sum"] | Callable[[NDArray[Any]], Any]
BLOCK_TRIALS = 1 << 20
TRUNCATED = "truncated"  # A model's output: the trial met its maximum of steps.
_REDUCERS: Mapping[str, Callable[..., Any]] = {
    "mean": np.mean,
    "std": np.std,
    "median": np.median,
    "min": np.min,
    "max": np.max,
    "sum": np.sum,
}


def refines(method: object, others: Mapping[str, Any]) -> bool:
    """Whether a search is by mesh refinement (refine.py), not of all points.

    others: by name the arguments that only a search of all points takes; None or False if they were
    not given. ArgumentError: there is no such method, or it does not take such an argument.
    """
    if method == "grid":
        return False
    if method != "refine":
        raise ArgumentError(f"method is {method!r}; there are 'grid' and 'refine'")
    wrong = [name for name, given in others.items() if given not in (None, False)]
    if wrong:
        raise ArgumentError(f"method={method!r} takes no {listed(wrong)}")
    return True


class Search:
    """A table of reduced results over a grid.

    grid: the values tried, by parameter. table: by output an array of shape (*grid shape, *shape).
    objective: of shape (grid shape); NaN where trials were truncated, unless allowed. best: the
    parameters of the best point; best_index: where it is in the grid; best_value: its objective.
    """

    def __init__(
        self,
        grid: Mapping[str, NDArray[Any]],
        table: Mapping[str, NDArray[Any]],
        dims: Mapping[str, tuple[str, ...]],
        objective: NDArray[np.float64],
        maximize: bool,
    ) -> None:
        self.grid = dict(grid)
        self.table = dict(table)
        self.dims = {name: (*grid, *axes) for name, axes in dims.items()}
        self.objective = objective
        ordered = -objective if maximize else objective
        if np.isnan(ordered).all():
            raise ArgumentError("the objective is NaN at every point of the grid; choose another")
        index = np.unravel_index(int(np.nanargmin(ordered)), objective.shape)
        self.best_index = tuple(int(i) for i in index)
        self.best_value = float(objective[self.best_index])
        self.best = point_of(self.grid, self.best_index)

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name not in self.table:
            raise MissingResultError(f"no result `{name}`; there is {listed(self.table)}")
        return self.table[name]

    def rows(self) -> list[dict[str, Any]]:
        """The table as one dictionary a point: parameters, outputs, objective."""
        made = []
        for index in np.ndindex(self.objective.shape):
            row = {n: v[i].tolist() for (n, v), i in zip(self.grid.items(), index, strict=True)}
            row |= {name: np.asarray(array[index]).tolist() for name, array in self.table.items()}
            made.append({**row, "objective": float(self.objective[index])})
        return made

    def to_xarray(self) -> Any:
        """An xarray.Dataset with the grid as coordinates. NotSupportedError: no xarray."""
        try:
            import xarray
        except ImportError:
            raise NotSupportedError(
                "to_xarray() needs xarray: pip install 'psylang[xarray]'"
            ) from None
        data: dict[str, Any] = {name: (self.dims[name], one) for name, one in self.table.items()}
        coordinates = {name: values for name, values in self.grid.items() if values.ndim == 1}
        return xarray.Dataset(data, coords=coordinates)

    def __repr__(self) -> str:
        return f"Search({shown_best(self.grid, self.best, self.best_value)})"


def shown_best(grid: Mapping[str, NDArray[Any]], best: Mapping[str, Any], best_value: float) -> str:
    shape = " x ".join(f"{name} {len(values)}" for name, values in grid.items())
    point = ", ".join(f"{name} {value}" for name, value in best.items())
    return f"{shape}; best: {point}, objective {best_value:.6g}"


def point_of(grid: Mapping[str, NDArray[Any]], index: Sequence[int]) -> dict[str, Any]:
    """The parameters of a point: numbers, or rows of their own."""
    return {
        name: values[i].copy() if values.ndim > 1 else values[i].item()
        for (name, values), i in zip(grid.items(), index, strict=True)
    }


@dataclass(frozen=True)
class Block:
    """Points of the grid from number `first` on, each a sequence of `trials` trials of one run.

    params: as for run(); parameters of the grid have shape (points, trials, *shape).
    """

    first: int
    points: int
    trials: int
    params: Mapping[str, Any]
    progress: Progress


def search(
    program: Program,
    grid: Mapping[str, Sequence[Any] | NDArray[Any]],
    run_block: Callable[[Block], Results],
    *,
    trials: int,
    objective: str | Callable[[Mapping[str, Any]], float] | None,
    maximize: bool,
    reduce: Reduce,
    params: Mapping[str, Any] | None,
    progress: Progress,
    allow_nan: bool,
    allow_truncated: bool,
) -> Search:
    """Plan.search(), which see. run_block: computes all outputs of the program."""
    types = {parameter.name: parameter.type for parameter in program.parameters}
    outputs = {output.name: output.type.shape for output in program.outputs}
    values = grid_of(types, grid, params or {}, allow_nan)
    trials = whole("trials", trials, 1, 1 << 40)
    reducer = _reducer(reduce)
    of_point = _objective(list(outputs), objective)
    shape = tuple(len(one) for one in values.values())
    count = math.prod(shape)
    memory_for(sum(map(row_bytes, program.outputs)), count)
    columns: dict[str, list[NDArray[Any]]] = {name: [] for name in outputs}
    shares: list[NDArray[Any]] = []  # Of truncated trials, at each point of a block.
    per_block = max(BLOCK_TRIALS // trials, 1)
    with _progress(program.name, progress) as show:
        for first in range(0, count, per_block):
            points = np.arange(first, min(first + per_block, count))
            indices = np.unravel_index(points, shape)
            given = dict(params or {})
            for (name, one), index in zip(values.items(), indices, strict=True):
                column = one[index][:, np.newaxis]
                given[name] = np.broadcast_to(column, (len(points), trials, *one.shape[1:]))
            shown = _shown(show, first * trials, count * trials)
            try:
                results = run_block(Block(first, len(points), trials, given, shown))
            except InterruptedRunError as error:
                done = first * trials + error.done
                raise InterruptedRunError(done, count * trials, None) from None
            if TRUNCATED in outputs:
                shares.append(results[TRUNCATED].reshape(len(points), trials).mean(axis=1))
            for name, column_of in columns.items():
                array = results[name].reshape(len(points), trials, *outputs[name])
                column_of.append(reducer(array))
    flat = {name: np.concatenate(parts) for name, parts in columns.items()}
    objectives = np.array(
        [_number(of_point({name: one[i] for name, one in flat.items()})) for i in range(count)]
    )
    if shares and not allow_truncated:
        objectives = _of_whole_points(objectives, np.concatenate(shares))
    table = {name: one.reshape(*shape, *one.shape[1:]) for name, one in flat.items()}
    dims = {
        output.name: output.dims
        if table[output.name].ndim == len(shape) + len(output.dims)
        else tuple(f"{output.name}_{i}" for i in range(table[output.name].ndim - len(shape)))
        for output in program.outputs
    }
    return Search(values, table, dims, objectives.reshape(shape), maximize)


def grid_of(
    types: Mapping[str, Type],
    grid: Mapping[str, Sequence[Any] | NDArray[Any]],
    params: Mapping[str, Any],
    allow_nan: bool,
) -> dict[str, NDArray[Any]]:
    known("grid", grid, types)
    if not grid:
        raise ArgumentError(f"the grid is empty; give values of some of {listed(types)}")
    both = [name for name in grid if name in params]
    if both:
        raise ArgumentError(f"{listed(both)} is in grid and in params; leave it in one of them")
    made = {}
    for name, given in grid.items():
        array = as_array(f"grid[{name!r}]", given, types[name])
        if array.ndim != len(types[name].shape) + 1 or array.shape[1:] != types[name].shape:
            raise ArgumentError(
                f"grid[{name!r}] has shape {array.shape}; give the values to try, a row each: "
                f"(n, {', '.join(map(str, types[name].shape))})"
            )
        if not len(array):
            raise ArgumentError(f"grid[{name!r}] has no values")
        refuse_nan(f"grid[{name!r}]", array, allow_nan)
        made[name] = array
    return made


def _reducer(reduce: Reduce) -> Callable[[NDArray[Any]], NDArray[Any]]:
    if callable(reduce):
        return lambda block: np.array([np.asarray(reduce(point)) for point in block])
    if reduce not in _REDUCERS:
        raise ArgumentError(f"reduce is {reduce!r}; give one of {listed(_REDUCERS)} or a function")
    function = _REDUCERS[reduce]
    return lambda block: np.asarray(function(block, axis=1))


def _objective(
    outputs: Sequence[str], objective: str | Callable[[Mapping[str, Any]], float] | None
) -> Callable[[Mapping[str, Any]], Any]:
    if callable(objective):
        return objective
    if objective is None:
        if len(outputs) != 1:
            raise ArgumentError(
                f"objective is missing; name one of {listed(outputs)}, or give a function"
            )
        (objective,) = outputs
    known("objective", {objective: 0}, outputs)
    name = objective
    return lambda reduced: reduced[name]


def _of_whole_points(
    objectives: NDArray[np.float64], shares: NDArray[np.float64]
) -> NDArray[np.float64]:
    """NaN at points with truncated trials. ArgumentError: all of them have some."""
    if (shares > 0).all():
        raise ArgumentError(
            f"every point of the grid has trials that met the maximum of steps, at least "
            f"{shares.min():.3g} of them; raise max_steps, choose other values, or give "
            "allow_truncated=True to let what was cut off count as decided"
        )
    return np.where(shares > 0, np.nan, objectives)


def _number(value: Any) -> float:
    array = np.asarray(value)
    if array.size != 1 or array.dtype.kind not in "fiub":
        raise ArgumentTypeError(
            f"the objective of a point is {value!r}; it must be one number: give a function"
        )
    return float(array.reshape(()))


@contextmanager
def _progress(title: str, progress: Progress) -> Iterator[Progress]:
    """The indicator of progress=True, which is left at an early end, so that the next output begins
    a new line."""
    if progress is not True:
        yield progress
        return
    shown = indicator(title)
    try:
        yield shown
    except BaseException:
        shown.leave()
        raise


def _shown(progress: Progress, before: int, total: int) -> Progress:
    """Of all blocks together."""
    if not callable(progress):
        return progress
    return lambda done, _: progress(before + done, total)
