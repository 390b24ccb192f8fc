"""Mesh refinement: the best point of a grid by branch and bound on intervals.

A box is a block of the grid. Intervals and affine forms (analysis/affine.py) bound the objective of
all its points at once, so boxes that cannot hold the best point are dropped, and the others are
halved, down to single points. Points that differ only within rounding are interpreted, bit by bit.
The result is certified: `bound` is a number below which no other point's objective lies.

All points have the same draws, of the first trials of `seed`: points differ only by their
parameters.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psylang.analysis.affine import Forms
from psylang.analysis.intervals import Range
from psylang.analysis.ranges import Ranges
from psylang.ir.graph import Program
from psylang.ir.interpret import interpret
from psylang.ir.types import Type
from psylang.numerics import expansions
from psylang.passes.scalarise import Scalarise
from psylang.runtime.errors import ArgumentError, NotSupportedError, listed
from psylang.runtime.search import TRUNCATED, grid_of, point_of, shown_best
from psylang.runtime.values import SEED_MAX, as_array, known, refuse_nan, refuse_outside, whole

BATCH = 2048  # Boxes that are bounded together.
PROBES = 32  # Points that are tried in each round, to find a good value early.
TRIALS_MAX = 10_000
Values = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class Refined:
    """The best point of a grid, the first one of equal ones. best_index: where it is in the grid;
    best_value: its objective.

    bound: no other point has an objective below it (above, with maximize); it is best_value at the
    least. evaluations: of the program, on intervals of boxes (`boxes`) and of single points, and
    interpreted (`interpreted`); the grid has `points`.
    """

    grid: dict[str, NDArray[Any]]
    best: dict[str, Any]
    best_index: tuple[int, ...]
    best_value: float
    bound: float
    points: int
    evaluations: int
    boxes: int
    interpreted: int

    def __repr__(self) -> str:
        share = self.evaluations / self.points
        return (
            f"Refined({shown_best(self.grid, self.best, self.best_value)}; certified by "
            f"{self.evaluations} evaluations, {share:.2%} of the grid's)"
        )


@dataclass(frozen=True)
class Problem:
    """objective: the output whose mean over `trials` is to be least (greatest, if maximize)."""

    program: Program
    objective: str
    maximize: bool
    trials: int
    seed: int
    params: Values
    inputs: Values
    allow_truncated: bool


def problem_of(
    program: Program,
    rules: Any,
    grid: Mapping[str, Sequence[Any] | NDArray[Any]],
    objective: Any,
    *,
    maximize: bool,
    trials: int,
    seed: int,
    inputs: Mapping[str, Any] | None,
    params: Mapping[str, Any] | None,
    allow_truncated: bool,
) -> tuple[Problem, dict[str, NDArray[Any]]]:
    """The arguments of Plan.search(method="refine"), checked, and the grid's values."""
    types = {one.name: one.type for one in program.parameters}
    values = grid_of(types, grid, params or {}, allow_nan=False)
    name = _objective(program, objective)
    known("params", params or {}, types)
    known("inputs", inputs or {}, [one.name for one in program.inputs])
    fixed = {
        one.name: _constant("params", one.name, one.type, (params or {}).get(one.name, one.default))
        for one in program.parameters
        if one.name not in values
    }
    for one in program.parameters:
        refuse_outside(one, values[one.name] if one.name in values else fixed[one.name])
    if rules is not None:
        rules.check(_corners(values, {key: fixed[key] for key in params or {}}), False)
    given = {}
    for each in program.inputs:
        value = (inputs or {}).get(each.name, each.default)
        if value is None:
            raise ArgumentError(
                f"inputs[{each.name!r}] is missing; give an array of shape {each.type.shape}"
            )
        given[each.name] = _constant("inputs", each.name, each.type, value)
    trials = whole("trials", trials, 1, TRIALS_MAX)
    seed = whole("seed", seed, 0, SEED_MAX)
    problem = Problem(program, name, maximize, trials, seed, fixed, given, allow_truncated)
    return problem, values


def _objective(program: Program, objective: Any) -> str:
    outputs = {one.name: one.type for one in program.outputs}
    if callable(objective):
        raise ArgumentError(
            "method='refine' bounds an output of the program; objective must be its name, not a "
            "function: make the model compute it"
        )
    if objective is None:
        if len(outputs) != 1:
            raise ArgumentError(f"objective is missing; name one of {listed(outputs)}")
        (objective,) = outputs
    known("objective", {objective: 0}, outputs)
    if outputs[objective].shape:
        raise ArgumentError(
            f"objective `{objective}` has shape {outputs[objective].shape}; it must be a number"
        )
    return str(objective)


def _constant(what: str, name: str, type: Type, value: Any) -> NDArray[Any]:
    """Checks a value that is the same for all trials."""
    array = as_array(f"{what}[{name!r}]", value, type)
    refuse_nan(f"{what}[{name!r}]", array, False)
    if array.shape != type.shape:
        raise ArgumentError(
            f"{what}[{name!r}] has shape {array.shape}; method='refine' takes one value for all "
            f"trials, of shape {type.shape}"
        )
    return array


def _corners(grid: Values, fixed: Values) -> dict[str, NDArray[Any]]:
    """Rows of the grid's corner points: a rule that forbids any point forbids a corner."""
    ends = [np.stack([values.min(axis=0), values.max(axis=0)]) for values in grid.values()]
    corners = list(itertools.product((0, 1), repeat=len(ends)))
    rows = {
        name: np.stack([one[corner[axis]] for corner in corners])
        for axis, (name, one) in enumerate(zip(grid, ends, strict=True))
    }
    return {**rows, **{name: np.stack([one] * len(corners)) for name, one in fixed.items()}}


def refine(problem: Problem, grid: dict[str, NDArray[Any]]) -> Refined:
    """NotSupportedError: numerics `exact`. ArgumentError: no point has an objective."""
    if problem.program.numerics != "fast":
        raise NotSupportedError(
            "method='refine' needs fast numerics, whose draws are functions of their counters; "
            "exact has method='grid'"
        )
    return _Search(problem, grid).result()


class _Search:
    """Boxes are rows of (first, behind) indices, an axis each: arrays of shape (n, axes, 2)."""

    def __init__(self, problem: Problem, grid: dict[str, NDArray[Any]]) -> None:
        self._problem = problem
        self._grid = grid
        self._program = Scalarise()(problem.program)
        self._shape = tuple(len(values) for values in grid.values())
        self._known: dict[tuple[int, ...], tuple[float, float]] = {}  # Of points, by intervals.
        self._boxes = self._evaluations = self._interpreted = 0
        self._least = math.inf  # An objective that some point certainly does not exceed.
        self._dropped = math.inf  # The least objective that a dropped box may have.

    def result(self) -> Refined:
        boxes = np.array([[[0, extent] for extent in self._shape]])
        while len(boxes):
            low = self._bounded(boxes)
            self._probe(boxes[np.argsort(low, kind="stable")[:PROBES]])
            kept = low <= self._least
            self._dropped = min(self._dropped, float(low[~kept].min(initial=math.inf)))
            boxes = self._halves(boxes[kept])
        rest = {index for index, (low, _) in self._known.items() if low <= self._least}
        best, value, second = self._exactly(sorted(rest))
        late = (low for index, (low, _) in self._known.items() if index not in rest)
        bound = max(min([self._dropped, second, *late]), value)
        sign = -1.0 if self._problem.maximize else 1.0
        return Refined(
            self._grid,
            point_of(self._grid, best),
            best,
            sign * value,
            sign * bound,
            math.prod(self._shape),
            self._evaluations,
            self._boxes,
            self._interpreted,
        )

    def _bounded(self, boxes: NDArray[Any]) -> NDArray[np.float64]:
        """The least objective that each box may have."""
        self._boxes += len(boxes)
        starts = range(0, len(boxes), BATCH)
        return np.concatenate([self._looked(boxes[first : first + BATCH]) for first in starts])

    def _looked(self, boxes: NDArray[Any]) -> NDArray[np.float64]:
        """The least objective that each box may have. Points, which are boxes of one, are kept."""
        low, high = self._objective(boxes)
        self._least = min(self._least, float(high.min()))
        for row in np.flatnonzero((boxes[:, :, 1] - boxes[:, :, 0] == 1).all(axis=1)):
            index = tuple(int(i) for i in boxes[row, :, 0])
            self._known[index] = (float(low[row]), float(high[row]))
        return low

    def _probe(self, boxes: NDArray[Any]) -> None:
        """Looks at the middles of boxes."""
        middles = {tuple(int(i) for i in row) for row in boxes.sum(axis=2) // 2}
        new = np.array(sorted(middles - self._known.keys()), int).reshape(-1, len(self._shape))
        if len(new):
            self._looked(np.stack([new, new + 1], axis=2))

    def _halves(self, boxes: NDArray[Any]) -> NDArray[Any]:
        """The two halves of each box across the axis on which its values differ most."""
        extents = boxes[:, :, 1] - boxes[:, :, 0]
        boxes = boxes[(extents > 1).any(axis=1)]
        if not len(boxes):
            return boxes
        extents = (boxes[:, :, 1] - boxes[:, :, 0]) / np.array(self._shape)
        extents[boxes[:, :, 1] - boxes[:, :, 0] == 1] = 0.0
        rows, axes = np.arange(len(boxes)), extents.argmax(axis=1)
        middle = boxes[rows, axes].sum(axis=1) // 2
        lower, upper = boxes.copy(), boxes.copy()
        lower[rows, axes, 1] = middle
        upper[rows, axes, 0] = middle
        return np.concatenate([lower, upper])

    def _objective(self, boxes: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The ends of the objective over each box. NaN loses, so an upper end is infinite where
        NaN, or a trial that is cut off, is possible."""
        count = len(boxes)
        self._evaluations += count
        problem = self._problem
        pairs = {name: (value, value) for name, value in problem.params.items()}
        for axis, (name, values) in enumerate(self._grid.items()):
            slices = [values[first:behind] for first, behind in boxes[:, axis].tolist()]
            pairs[name] = (
                np.stack([one.min(axis=0) for one in slices], axis=-1),
                np.stack([one.max(axis=0) for one in slices], axis=-1),
            )
        found = Ranges(
            self._program,
            parameters=pairs,
            inputs={name: (value, value) for name, value in problem.inputs.items()},
            trials=problem.trials,
            seed=problem.seed,
            cases=count,
        )
        if problem.trials == 1:
            found.history[0][problem.objective] = self._narrowed(found, count)
        ends = [self._ends(outputs) for outputs in found.history]
        lows, highs = (
            np.array([np.broadcast_to(one[k], (count,)) for one in ends]) for k in (0, 1)
        )
        if len(ends) == 1:
            return lows[0], highs[0]
        with np.errstate(invalid="ignore"):
            # The greatest error of the sums of the mean.
            off = 4e-16 * len(ends) * np.maximum(np.abs(lows), np.abs(highs)).mean(axis=0)
            low, high = lows.mean(axis=0) - off, highs.mean(axis=0) + off
        return np.where(np.isnan(low), -math.inf, low), np.where(np.isnan(high), math.inf, high)

    def _narrowed(self, found: Ranges, cases: int) -> Range:
        """The range of the objective, limited by its affine form in the grid's parameters."""
        range = found.history[0][self._problem.objective]
        program, symbols, count = self._program, {}, 0
        for one in program.parameters:
            if one.name in self._grid:
                symbols[one.name] = count
                count += one.type.size
        names = [one.name for one in program.outputs]
        value = program.body.yields[names.index(self._problem.objective)]
        if not value.type.dtype.is_float:
            return range
        low, high = Forms(found, symbols, cases).bounds(value)
        return Range(np.maximum(range.low, low), np.minimum(range.high, high), range.nan)

    def _ends(self, outputs: Mapping[str, Range]) -> tuple[Any, Any]:
        found = outputs[self._problem.objective]
        low, high = found.low, found.high
        if self._problem.maximize:
            low, high = -high, -low
        doubtful = found.nan
        if TRUNCATED in outputs and not self._problem.allow_truncated:
            doubtful = doubtful | (outputs[TRUNCATED].high >= 1)
        return low, np.where(doubtful, math.inf, high)

    def _exactly(self, indices: Sequence[tuple[int, ...]]) -> tuple[tuple[int, ...], float, float]:
        """The first of the best points, interpreted; its objective, and the next one."""
        best, least, second = None, math.inf, math.inf
        for index in indices:
            value = self._interpret(index)
            if value < least or (best is None and value == least):
                best, least, second = index, value, least
            elif value < second:
                second = value
        if best is None:
            raise ArgumentError(
                "no point of the grid has an objective: it is NaN, or trials were cut off, "
                "everywhere"
            )
        return best, least, second

    def _interpret(self, index: tuple[int, ...]) -> float:
        problem = self._problem
        self._interpreted += 1
        self._evaluations += 1
        axes = zip(self._grid.items(), index, strict=True)
        given = {name: values[i] for (name, values), i in axes}
        rows = {
            name: np.broadcast_to(value, (problem.trials, *value.shape))
            for name, value in problem.inputs.items()
        }
        found = interpret(
            problem.program,
            trials=problem.trials,
            seed=problem.seed,
            parameters={**problem.params, **given},
            inputs=rows,
            expansions=expansions(),
        )
        if TRUNCATED in found and found[TRUNCATED].any() and not problem.allow_truncated:
            return math.nan
        value = float(np.mean(found[problem.objective]))
        return -value if problem.maximize else value


__all__ = ["Problem", "Refined", "problem_of", "refine"]
