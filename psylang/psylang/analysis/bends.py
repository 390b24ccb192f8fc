"""Bent forms: an affine form and multiples of the magnitudes of others.

    value = centre + slopes * e + rest * e' + sum of factor[j] * |form j|

An upper bound of -|L| is any s * L with s in [-1, 1], and the bounds of a bent form are least over
these s: where a bend and a slope balance, their sum is bounded as tightly as its parts are linear.
A distance needs this where it is least, because its terms are 0 there.

The bound is convex and linear in pieces in the s of all bends, so it is least where pieces meet:
two of the s at a time are tried at all meeting points. Any s gives a bound; more tries only tighten
it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from psylang.analysis.intervals import Ends

BENDS_MAX = 6  # Of one bound; more of them are taken by their chords.
ENDS = (-1.0, 0.0, 1.0)


@dataclass(frozen=True)
class Line:
    """An affine form: arrays of cases; slopes: (symbols, cases). low, high: its bounds."""

    centre: Ends
    slopes: NDArray[np.float64]
    rest: Ends
    low: Ends
    high: Ends


@dataclass(frozen=True)
class Bent:
    """factors: of the magnitudes of forms, by their numbers."""

    centre: Ends
    slopes: NDArray[np.float64]
    rest: Ends
    factors: Mapping[int, Ends]

    def plus(self, other: Bent, sign: float, more: Ends) -> Bent:
        """This form plus sign * other, and more of the rest."""
        factors = dict(self.factors)
        for number, factor in other.factors.items():
            factors[number] = factors.get(number, 0.0) + sign * factor
        return Bent(
            self.centre + sign * other.centre,
            self.slopes + sign * other.slopes,
            self.rest + other.rest + more,
            factors,
        )

    def times(self, by: Ends, more: Ends) -> Bent:
        factors = {number: by * factor for number, factor in self.factors.items()}
        return Bent(by * self.centre, by * self.slopes, np.abs(by) * self.rest + more, factors)

    def bounds(self, lines: Sequence[Line]) -> tuple[Ends, Ends]:
        """The least and the greatest value. lines: the forms by number."""
        turned = {number: -factor for number, factor in self.factors.items()}
        low = -_upper(Bent(-self.centre, -self.slopes, self.rest, turned), lines)
        return low, _upper(self, lines)


def _upper(form: Bent, lines: Sequence[Line]) -> Ends:
    concave: list[tuple[Ends, Line]] = []
    centre, slopes, rest = form.centre, form.slopes, form.rest
    size = np.abs(centre)
    for number, factor in form.factors.items():
        line = lines[number]
        size = size + np.abs(factor) * np.maximum(np.abs(line.low), np.abs(line.high))
        up = np.maximum(factor, 0.0)
        if len(concave) < BENDS_MAX and bool((factor < 0).any()):
            concave.append((np.minimum(factor, 0.0), line))
        slope, offset = _chord(line)
        centre = centre + up * (slope * line.centre + offset)
        slopes = slopes + up * slope * line.slopes
        rest = rest + up * np.abs(slope) * line.rest
    best = np.full_like(centre, np.inf)
    for at in _tries(concave, slopes):
        total, along, free = centre, slopes, rest
        for s, (factor, line) in zip(at, concave, strict=True):
            total = total + factor * s * line.centre
            along = along + factor * s * line.slopes
            free = free + np.abs(factor * s) * line.rest
        bound = total + np.abs(along).sum(axis=0) + free
        best = np.fmin(best, bound + 2.0**-40 * (size + np.abs(bound)))
    return best


def _chord(line: Line) -> tuple[Ends, Ends]:
    """slope, offset: |L| is at most slope * L + offset."""
    low, high = line.low, line.high
    a, b = np.abs(low), np.abs(high)
    slope = np.where(high > low, np.clip((b - a) / (high - low), -1.0, 1.0), 0.0)
    return slope, np.maximum(a - slope * low, b - slope * high)


def _tries(
    concave: Sequence[tuple[Ends, Line]], slopes: NDArray[np.float64]
) -> Iterator[Sequence[Ends]]:
    """The s of the concave bends that are tried."""
    if not concave:
        yield ()
        return
    steps = [factor * line.slopes for factor, line in concave]
    shape = np.broadcast_shapes(steps[0].shape[1:], slopes.shape[1:])
    zero = np.zeros(shape)
    if len(concave) == 1:
        yield from ([one] for one in _alone(slopes, steps[0], zero))
        return
    start = [zero] * len(concave)
    yield start
    for i, j in itertools.combinations(range(len(concave)), 2):
        for a, b in _pairs(slopes, steps[i], steps[j], zero):
            tried = list(start)
            tried[i], tried[j] = a, b
            yield tried


def _clipped(s: Ends) -> Ends:
    return np.where(np.isfinite(s), np.clip(s, -1.0, 1.0), 0.0)


def _alone(base: NDArray[np.float64], step: NDArray[np.float64], zero: Ends) -> Iterator[Ends]:
    """The s at which a slope vanishes, and the ends."""
    for k in range(len(base)):
        yield _clipped(-base[k] / step[k])
    for end in ENDS:
        yield zero + end


def _pairs(
    base: NDArray[np.float64],
    first: NDArray[np.float64],
    second: NDArray[np.float64],
    zero: Ends,
) -> Iterator[tuple[Ends, Ends]]:
    for k, m in itertools.combinations(range(len(base)), 2):
        below = first[k] * second[m] - first[m] * second[k]
        yield (
            _clipped((base[m] * second[k] - base[k] * second[m]) / below),
            _clipped((base[k] * first[m] - base[m] * first[k]) / below),
        )
    for end in ENDS:
        for k in range(len(base)):
            yield zero + end, _clipped(-(base[k] + end * first[k]) / second[k])
            yield _clipped(-(base[k] + end * second[k]) / first[k]), zero + end
        for other in ENDS:
            yield zero + end, zero + other


__all__ = ["Bent", "Line"]
