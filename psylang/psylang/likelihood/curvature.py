"""Standard errors at a maximum: those of the inverse Hessian (Fisher's observed information).

The Hessian of a smooth height is taken by central differences, of its slopes where they are known,
of a step in proportion to the error itself. The best point of a simulated height stands on a
ripple, and differences from it give errors that are far too small: there a quadratic function is
fitted to points within about two errors.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from psylang.likelihood.data import Floats

NEAR = 1e-2  # Of the scale: an estimate so near to a limit is at it.
FIRST = 1e-2  # The first step of differences, in scales.
STEP = 0.1  # The next one, in standard errors.
POINTS = 8  # Of a regression, for each of its coefficients.
WIDE = 1.0  # Deviation of these points, in standard errors.
ROUNDS = 3  # Of regressions; each one gives the place of the next one's points.
FALL_MIN, FALL_MAX = 0.5, 2.0  # Of the height, beside the first points.
WIDTHS_MAX = 30
SEED = 1  # Of the points: a fit is the same each time.

Height = Callable[[Floats], float]
Slopes = Callable[[Floats], Floats]
Whole = NDArray[np.intp]
# At a point, by steps along some axes.
Hessian = Callable[[Floats, Floats, Whole], Floats]


@dataclass(frozen=True)
class Place:
    """best: the maximum. unit: scales. room: the distance to the nearer limit."""

    best: Floats
    unit: Floats
    room: Floats


def errors_at(
    at: Height, names: list[str], place: Place, smooth: bool, slopes: Slopes | None = None
) -> tuple[dict[str, float], tuple[str, ...]]:
    """By name, of the parameters that are at no limit; the notes say why others are NaN.

    at: minus the height. slopes: its derivatives, if they are known.
    """
    errors = dict.fromkeys(names, math.nan)
    near = place.room <= NEAR * place.unit
    notes = [
        f"{name} is at its limit {value:.4g}: it has no standard error"
        for name, value, limited in zip(names, place.best, near, strict=True)
        if limited
    ]
    inner = np.flatnonzero(~near)
    if inner.size:
        if slopes is not None:
            covariance = _by_differences(_of_slopes(slopes), place, inner)
        elif smooth:
            covariance = _by_differences(_of_heights(at), place, inner)
        else:
            covariance = _by_regression(at, place, inner)
        if covariance is None:
            notes.append(
                "the likelihood is flat or has no maximum here: there are no standard errors"
            )
        else:
            found = np.sqrt(np.diag(covariance))
            errors |= {names[i]: float(one) for i, one in zip(inner, found, strict=True)}
    return errors, tuple(notes)


def _by_differences(hessian: Hessian, place: Place, inner: Whole) -> Floats | None:
    """The covariance; None: there is none."""
    steps = np.minimum(FIRST * place.unit, place.room / 4)[inner]
    covariance = None
    # The first errors only give the steps of the second ones.
    for _ in range(2):
        covariance = _inverse(hessian(place.best, steps, inner))
        if covariance is None:
            return None
        steps = np.minimum(STEP * np.sqrt(np.diag(covariance)), place.room[inner] / 4)
    return covariance


def _by_regression(at: Height, place: Place, inner: Whole) -> Floats | None:
    """The covariance; None: the points around are no hill."""
    rng = np.random.default_rng(SEED)
    size = len(inner)
    rows, columns = np.triu_indices(size)
    count = POINTS * (1 + size + len(rows))
    spread: Floats = np.diag([_width(at, place, i) for i in inner])
    covariance = None
    for _ in range(ROUNDS):
        away = rng.standard_normal((count, size)) @ spread.T
        away = np.clip(away, -place.room[inner], place.room[inner])
        points = np.repeat(place.best[None], count, axis=0)
        points[:, inner] += away
        heights = np.array([at(point) for point in points])
        usable = np.isfinite(heights)
        if usable.sum() < count // 2:
            return None
        scaled = away[usable] / place.unit[inner]
        terms = scaled[:, rows] * scaled[:, columns] * np.where(rows == columns, 0.5, 1.0)
        table = np.column_stack([np.ones(len(scaled)), scaled, terms])
        found = np.linalg.lstsq(table, heights[usable], rcond=None)[0][1 + size :]
        hessian = np.empty((size, size))
        hessian[rows, columns] = hessian[columns, rows] = found
        unit = place.unit[inner]
        covariance = _inverse(hessian / np.outer(unit, unit))
        if covariance is None:
            return None
        spread = np.asarray(WIDE * np.linalg.cholesky(covariance))
    return covariance


def _width(at: Height, place: Place, i: int) -> float:
    """How far parameter i alone moves until the height has fallen by some 1/2 … 2."""
    top = at(place.best)
    step = min(float(place.unit[i]), float(place.room[i]))
    move = np.zeros(len(place.best))
    narrowed = False
    for _ in range(WIDTHS_MAX):
        move[i] = step
        fallen = (at(place.best + move) + at(place.best - move)) / 2 - top
        if not fallen <= FALL_MAX:
            step, narrowed = step / 2, True
        elif fallen >= FALL_MIN or narrowed or 2 * step > place.room[i]:
            break
        else:
            step *= 2
    return step


def _inverse(hessian: Floats) -> Floats | None:
    """None: it is not positive definite."""
    if not np.isfinite(hessian).all():
        return None
    try:
        inverse = np.linalg.inv(np.linalg.cholesky(hessian))
    except np.linalg.LinAlgError:
        return None
    return np.asarray(inverse.T @ inverse)


def _of_slopes(slopes: Slopes) -> Hessian:
    """By central differences; NaN where a slope is not finite."""

    def hessian(best: Floats, steps: Floats, inner: Whole) -> Floats:
        made = np.empty((len(inner), len(inner)))
        for row, (i, step) in enumerate(zip(inner, steps, strict=True)):
            move = np.zeros(len(best))
            move[i] = step
            made[row] = (slopes(best + move) - slopes(best - move))[inner] / (2 * step)
        return np.asarray((made + made.T) / 2)

    return hessian


def _of_heights(at: Height) -> Hessian:
    """By central differences; infinite or NaN where the height is not finite."""

    def hessian(best: Floats, steps: Floats, inner: Whole) -> Floats:
        moves = np.zeros((len(inner), len(best)))
        moves[np.arange(len(inner)), inner] = steps
        middle = at(best)
        made = np.empty((len(inner), len(inner)))
        with np.errstate(invalid="ignore"):
            for i, one in enumerate(moves):
                made[i, i] = (at(best + one) - 2 * middle + at(best - one)) / steps[i] ** 2
                for j, other in enumerate(moves[:i]):
                    corners = (
                        at(best + one + other)
                        - at(best + one - other)
                        - at(best - one + other)
                        + at(best - one - other)
                    )
                    made[i, j] = made[j, i] = corners / (4 * steps[i] * steps[j])
        return made

    return hessian
