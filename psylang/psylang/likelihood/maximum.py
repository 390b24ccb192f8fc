"""The maximum of a log-likelihood within limits, and the standard errors there.

The search is the simplex of Nelder and Mead, because a likelihood may be -inf beside its maximum
and may be simulated; it begins anew at its result until that gains nothing. The errors are those of
the inverse Hessian (Fisher's observed information), by central differences of a step in proportion
to the error itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from psylang.likelihood.data import Floats
from psylang.likelihood.errors import LikelihoodError

RESTARTS_MAX = 6
EVALUATIONS_MAX = 500  # By parameter, in each start.
GAIN_MIN = 1e-4  # Of the log-likelihood, that is worth another start.
STEP = 0.1  # Of a difference, in standard errors.
NEAR = 1e-2  # Of the scale: an estimate so near to a limit is at it.


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


def maximise(
    function: Callable[[dict[str, float]], float], ranges: Mapping[str, Range], step: float = STEP
) -> Maximum:
    """The greatest value of `function`, which may be -inf but not NaN.

    step: of differences, in standard errors. LikelihoodError: there is no scipy, or the value at
    the start is not finite.
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
                "xatol": 1e-5,
                "fatol": 1e-7,
                "maxfev": EVALUATIONS_MAX * len(names),
            },
        )
        gain = least - float(ended.fun)
        if gain > 0:
            best, least = np.clip(origin + ended.x * unit, low, high), float(ended.fun)
        if ended.success and gain < GAIN_MIN:
            converged = True
            break
    errors, notes = _errors(at, names, best, unit, low, high, step)
    values = dict(zip(names, best.tolist(), strict=True))
    return Maximum(values, errors, -least, count, converged, notes)


def _simplex(origin: Floats, size: Floats, low: Floats, high: Floats, unit: Floats) -> Floats:
    """The origin and a step along each axis, away from the nearer limit."""
    away = np.where(high - origin >= origin - low, 1.0, -1.0)
    corners = np.clip(origin + np.diag(away * size), low, high)
    return np.vstack([np.zeros(len(origin)), (corners - origin) / unit])


def _errors(
    at: Callable[[Floats], float],
    names: list[str],
    best: Floats,
    unit: Floats,
    low: Floats,
    high: Floats,
    step: float,
) -> tuple[dict[str, float], tuple[str, ...]]:
    """Of the parameters that are at no limit."""
    errors = dict.fromkeys(names, math.nan)
    notes = []
    room = np.minimum(best - low, high - best)
    inner = [i for i in range(len(names)) if room[i] > NEAR * unit[i]]
    for i in sorted(set(range(len(names))) - set(inner)):
        notes.append(f"{names[i]} is at its limit {best[i]:.4g}: it has no standard error")
    steps = np.minimum(1e-2 * unit, room / 4)
    found = None
    # The first errors only give the steps of the second ones.
    for _ in range(2):
        hessian = _hessian(at, best, steps, inner)
        found = _deviations(hessian)
        if found is None:
            break
        steps[inner] = np.minimum(step * found, room[inner] / 4)
    if found is None and inner:
        notes.append("the likelihood is flat or has no maximum here: there are no standard errors")
    elif found is not None:
        errors |= {names[i]: float(one) for i, one in zip(inner, found, strict=True)}
    return errors, tuple(notes)


def _deviations(hessian: Floats) -> Floats | None:
    """Of the inverse; None: it is not positive definite."""
    if not np.isfinite(hessian).all():
        return None
    try:
        factor = np.linalg.cholesky(hessian)
        inverse = np.linalg.inv(factor)
    except np.linalg.LinAlgError:
        return None
    return np.asarray(np.sqrt((inverse**2).sum(axis=0)))


def _hessian(
    at: Callable[[Floats], float], best: Floats, steps: Floats, inner: list[int]
) -> Floats:
    """By central differences; infinite or NaN where the function is not finite."""
    moves = np.diag(steps)[inner]
    middle = at(best)
    made = np.empty((len(inner), len(inner)))
    with np.errstate(invalid="ignore"):
        for i, one in enumerate(moves):
            size = steps[inner[i]]
            made[i, i] = (at(best + one) - 2 * middle + at(best - one)) / size**2
            for j, other in enumerate(moves[:i]):
                corners = (
                    at(best + one + other)
                    - at(best + one - other)
                    - at(best - one + other)
                    + at(best - one - other)
                )
                made[i, j] = made[j, i] = corners / (4 * size * steps[inner[j]])
    return made
