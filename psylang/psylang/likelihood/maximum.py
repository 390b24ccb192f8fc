"""The maximum of a log-likelihood within limits.

With slopes the search is L-BFGS-B (climb.py). Without them, or where that ends at a ridge, it is
the simplex of Nelder and Mead, because a likelihood may be -inf beside its maximum and may be
simulated. Both begin anew at their result until that gains nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from psylang.likelihood.climb import Box, Reached, climb
from psylang.likelihood.curvature import Place, errors_at
from psylang.likelihood.data import Floats
from psylang.likelihood.errors import LikelihoodError
from psylang.likelihood.fitted import Fit

RESTARTS_MAX = 6
EVALUATIONS_MAX = 500  # By parameter, in each start.


@dataclass(frozen=True)
class Fineness:
    """near, level: the simplex ends at this size, in scales, and at this difference of height.

    gain: of height, that is worth another start. smooth: the height has no ripples.
    """

    near: float
    level: float
    gain: float
    smooth: bool


COMPUTED = Fineness(near=1e-5, level=1e-7, gain=1e-4, smooth=True)
SIMULATED = Fineness(near=1e-3, level=1e-2, gain=5e-2, smooth=False)


@dataclass(frozen=True)
class Range:
    """Of one parameter: the search begins at `start`, in steps of `scale`, between the limits."""

    start: float
    scale: float
    low: float
    high: float


@dataclass(frozen=True)
class Maximum:
    """values, errors: by name; an error is NaN for the reason that a note says."""

    values: dict[str, float]
    errors: dict[str, float]
    height: float
    evaluations: int
    converged: bool
    notes: tuple[str, ...]

    def as_fit(self, model: str, fixed: Mapping[str, float], trials: int) -> Fit:
        """The fit of `trials` rows of data, whose log-likelihood is the height."""
        return Fit(
            model=model,
            parameters=self.values,
            standard_errors=self.errors,
            fixed=fixed,
            log_likelihood=self.height,
            trials=trials,
            evaluations=self.evaluations,
            converged=self.converged,
            notes=self.notes,
        )


# A height, and its derivatives by name.
Slopes = Callable[[dict[str, float]], tuple[float, Mapping[str, float]]]


def maximise(
    function: Callable[[dict[str, float]], float],
    ranges: Mapping[str, Range],
    fineness: Fineness = COMPUTED,
    slopes: Slopes | None = None,
) -> Maximum:
    """The greatest value of `function`, which may be -inf but not NaN.

    slopes: the same height with its derivatives, which the search then follows.
    LikelihoodError: there is no scipy, or the value at the start is not finite.
    """
    try:
        from scipy.optimize import minimize
    except ImportError:
        raise LikelihoodError("a fit needs scipy: pip install 'psylang[fit]'") from None
    names = list(ranges)
    limits = [(one.scale, one.low, one.high) for one in ranges.values()]
    box = Box(*np.array(limits, dtype=np.float64).T)
    count = 0

    def named(point: Floats) -> dict[str, float]:
        return dict(zip(names, point.tolist(), strict=True))

    def at(point: Floats) -> float:
        """Minus the height, in parameters."""
        nonlocal count
        count += 1
        return -function(named(point))

    def sloped(point: Floats) -> tuple[float, Floats]:
        nonlocal count
        assert slopes is not None
        count += 1
        height, by_name = slopes(named(point))
        return -height, np.array([-by_name[name] for name in names])

    begin = np.array([one.start for one in ranges.values()])
    best = Reached(begin, at(begin), False)
    if not math.isfinite(best.least):
        shown = ", ".join(f"{name} {value:.4g}" for name, value in named(begin).items())
        raise LikelihoodError(
            f"the data have the likelihood 0 at the start of the search ({shown}); give another one"
        )
    if slopes is not None:
        best = climb(minimize, sloped, begin, box, fineness.gain)
    if not best.settled:
        best = _by_simplex(minimize, at, best, box, fineness)
    point = best.point
    around = Place(point, box.unit, np.minimum(point - box.low, box.high - point))
    bends = None if slopes is None else lambda one: sloped(one)[1]
    errors, notes = errors_at(at, names, around, fineness.smooth, bends)
    return Maximum(named(point), errors, -best.least, count, best.settled, notes)


def _by_simplex(
    minimise: Callable[..., Any],
    at: Callable[[Floats], float],
    begin: Reached,
    box: Box,
    fineness: Fineness,
) -> Reached:
    best, least = begin.point, begin.least
    for turn in range(RESTARTS_MAX):
        origin = best
        ended = minimise(
            lambda x, origin=origin: at(box.inside(origin + x * box.unit)),
            np.zeros(len(origin)),
            method="Nelder-Mead",
            options={
                "initial_simplex": _simplex(origin, box.unit * 0.5**turn, box),
                "xatol": fineness.near,
                "fatol": fineness.level,
                "maxfev": EVALUATIONS_MAX * len(origin),
            },
        )
        gain = least - float(ended.fun)
        if gain > 0:
            best, least = box.inside(origin + ended.x * box.unit), float(ended.fun)
        if ended.success and gain < fineness.gain:
            return Reached(best, least, True)
    return Reached(best, least, False)


def _simplex(origin: Floats, size: Floats, box: Box) -> Floats:
    """The origin and a step along each axis, away from the nearer limit."""
    away = np.where(box.high - origin >= origin - box.low, 1.0, -1.0)
    corners = box.inside(origin + np.diag(away * size))
    return np.vstack([np.zeros(len(origin)), (corners - origin) / box.unit])
