"""The maximum of a log-likelihood whose slopes are known: SciPy's L-BFGS-B, within limits.

An even function of a width has the slope 0 at width 0, where a long step of the search may end.
Each start therefore moves parameters that stand at a limit with the slope 0 back inside.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from psylang.likelihood.data import Floats

STARTS_MAX = 6
STEPS_MAX = 200  # Of a start.
LEVEL = 1e-12  # A start ends where a step gains less, of the height,
SLOPE = 1e-3  # or where every slope is smaller, by scale: of no moment beside an error.
INWARD = 0.25  # Of a scale: how far a parameter leaves its limit.
FLAT = 1e-6
CLOSE, SAME = 1e-3, 1e-6  # Of a scale; of the height.

# Minus the height, and its slopes.
Sloped = Callable[[Floats], tuple[float, Floats]]
Minimise = Callable[..., Any]


@dataclass(frozen=True)
class Box:
    """unit: the scale of each parameter. low, high: the limits."""

    unit: Floats
    low: Floats
    high: Floats

    def inside(self, point: Floats) -> Floats:
        return np.clip(point, self.low, self.high)


@dataclass(frozen=True)
class Reached:
    """least: minus the height. settled: another start gained nothing."""

    point: Floats
    least: float
    settled: bool


def climb(minimise: Minimise, at: Sloped, begin: Floats, box: Box, gain: float) -> Reached:
    """From `begin`, whose height is finite, until a start gains less than `gain`.

    minimise: scipy.optimize.minimize.
    """
    best = Reached(begin, at(begin)[0], False)
    for _ in range(STARTS_MAX):
        origin = _left(at, best.point, box)
        found = _start(minimise, at, origin, box)
        more = best.least - found.least
        # A start from a limit often ends beside it, no higher.
        if more > (0.0 if origin is best.point else gain):
            best = Reached(found.point, found.least, False)
        if found.settled and more < gain:
            return _ended(at, best, box)
    return best


def _ended(at: Sloped, best: Reached, box: Box) -> Reached:
    """Settled: at a limit, where the end is so near to it that the height is the same."""
    point, close = best.point, CLOSE * box.unit
    point = np.where(point - box.low < close, box.low, point)
    point = np.where(box.high - point < close, box.high, point)
    least = at(point)[0] if (point != best.point).any() else math.inf
    if least < best.least + SAME:
        return Reached(point, least, True)
    return Reached(best.point, best.least, True)


def _left(at: Sloped, point: Floats, box: Box) -> Floats:
    """`point`, away from the limits at which it stands without a reason."""
    slopes = at(point)[1] * box.unit
    # A limit that holds the search back has a slope that points beyond it.
    idle = np.abs(slopes) < FLAT
    step = np.minimum(INWARD * box.unit, (box.high - box.low) / 4)
    lowest = idle & (point <= box.low)
    highest = idle & (point >= box.high)
    moved = point + np.where(lowest, step, 0.0) - np.where(highest, step, 0.0)
    return moved if math.isfinite(at(moved)[0]) else point


def _start(minimise: Minimise, at: Sloped, origin: Floats, box: Box) -> Reached:
    """One search, in scales."""
    least, best = at(origin)[0], origin

    def sloped(x: Floats) -> tuple[float, Floats]:
        nonlocal least, best
        point = box.inside(origin + x * box.unit)
        height, slopes = at(point)
        if not (math.isfinite(height) and np.isfinite(slopes).all()):
            # The line search goes back: from a moderate height it goes back by about a half.
            return least + max(1.0, 0.1 * abs(least)), np.zeros(len(x))
        if height < least:
            least, best = height, point
        return height, slopes * box.unit

    ended = minimise(
        sloped,
        np.zeros(len(origin)),
        jac=True,
        method="L-BFGS-B",
        bounds=list(
            zip((box.low - origin) / box.unit, (box.high - origin) / box.unit, strict=True)
        ),
        options={"maxiter": STEPS_MAX, "ftol": LEVEL, "gtol": SLOPE},
    )
    return Reached(best, least, bool(ended.success))
