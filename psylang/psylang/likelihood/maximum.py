"""The maximum of a log-likelihood within limits.

The search is the simplex of Nelder and Mead, because a likelihood may be -inf beside its maximum
and may be simulated; it begins anew at its result until that gains nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

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


def maximise(
    function: Callable[[dict[str, float]], float],
    ranges: Mapping[str, Range],
    fineness: Fineness = COMPUTED,
) -> Maximum:
    """The greatest value of `function`, which may be -inf but not NaN.

    LikelihoodError: there is no scipy, or the value at the start is not finite.
    """
    try:
        from scipy.optimize import minimize
    except ImportError:
        raise LikelihoodError("a fit needs scipy: pip install 'psylang[fit]'") from None
    names = list(ranges)
    unit = np.array([one.scale for one in ranges.values()])
    low = np.array([one.low for one in ranges.values()])
    high = np.array([one.high for one in ranges.values()])
    count = 0

    def at(point: Floats) -> float:
        """Minus the height, in parameters."""
        nonlocal count
        count += 1
        return -function(dict(zip(names, point.tolist(), strict=True)))

    best = np.array([one.start for one in ranges.values()])
    least = at(best)
    if not math.isfinite(least):
        shown = ", ".join(f"{name} {value:.4g}" for name, value in zip(names, best, strict=True))
        raise LikelihoodError(
            f"the data have the likelihood 0 at the start of the search ({shown}); give another one"
        )
    converged = False
    for turn in range(RESTARTS_MAX):
        origin = best
        ended = minimize(
            lambda x, origin=origin: at(np.clip(origin + x * unit, low, high)),
            np.zeros(len(names)),
            method="Nelder-Mead",
            options={
                "initial_simplex": _simplex(origin, unit * 0.5**turn, low, high, unit),
                "xatol": fineness.near,
                "fatol": fineness.level,
                "maxfev": EVALUATIONS_MAX * len(names),
            },
        )
        gain = least - float(ended.fun)
        if gain > 0:
            best, least = np.clip(origin + ended.x * unit, low, high), float(ended.fun)
        if ended.success and gain < fineness.gain:
            converged = True
            break
    around = Place(best, unit, np.minimum(best - low, high - best))
    errors, notes = errors_at(at, names, around, fineness.smooth)
    values = dict(zip(names, best.tolist(), strict=True))
    return Maximum(values, errors, -least, count, converged, notes)


def _simplex(origin: Floats, size: Floats, low: Floats, high: Floats, unit: Floats) -> Floats:
    """The origin and a step along each axis, away from the nearer limit."""
    away = np.where(high - origin >= origin - low, 1.0, -1.0)
    corners = np.clip(origin + np.diag(away * size), low, high)
    return np.vstack([np.zeros(len(origin)), (corners - origin) / unit])
