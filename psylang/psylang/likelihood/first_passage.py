"""The time at which a process without drift, of noise 1, between 0 and 1, first reaches 0.

Navarro & Fuss (2009), J. Math. Psychol. 53, 222-230: the density is a sum of images, which needs
few terms early, and a sum of sines, which needs few terms late. Their error bounds say how many
terms each of them needs; the shorter sum is computed. The leading exponential is a factor in front,
so that the logarithm is right to 1e-12 of the density also where the density itself underflows.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
ERROR = 1e-13  # Of the leading exponential, and of the distance of the start from a boundary.
LEAST = np.finfo(np.float64).tiny
NOTHING = 800.0  # exp(-NOTHING) is 0.


def image_terms(u: Floats, w: Floats) -> Floats:
    """How many images leave an error below ERROR * w * (1 - w) * exp(-w**2 / 2u)."""
    error = np.log(2 * ERROR * w * (1 - w) * np.sqrt(2 * math.pi * u))
    far = 2 + np.sqrt(w * w - 2 * u * np.minimum(error, 0))
    return np.asarray(np.ceil(np.maximum(far, np.sqrt(u) + 1)))


def sine_terms(u: Floats, w: Floats) -> Floats:
    """How many sines leave an error below ERROR * w * (1 - w) * exp(-pi**2 u / 2)."""
    error = np.log(math.pi * u * ERROR * w * (1 - w))
    unit = math.pi**2 * u
    return np.asarray(np.ceil(np.sqrt(np.maximum(1 - 2 * np.minimum(error, 0) / unit, 1 / unit))))


def log_first_passage(u: Floats, w: Floats) -> Floats:
    """The logarithm of the density at the times u > 0 from the starts 0 < w < 1; of one shape."""
    images, sines = image_terms(u, w), sine_terms(u, w)
    early = images <= sines
    made = np.empty_like(u)
    made[early] = _by_images(u[early], w[early], images[early])
    late = ~early
    made[late] = _by_sines(u[late], w[late], sines[late])
    return made


def _by_images(u: Floats, w: Floats, terms: Floats) -> Floats:
    total = w.copy()
    pairs = math.ceil((terms.max(initial=1) - 1) / 2)
    with np.errstate(over="ignore", under="ignore"):
        for k in range(1, pairs + 1):
            total += (w + 2 * k) * np.exp(-2 * k * (k + w) / u)
            total += (w - 2 * k) * np.exp(-2 * k * (k - w) / u)
        front = -w * w / (2 * u) - 1.5 * np.log(u) - 0.5 * math.log(2 * math.pi)
    return np.asarray(front + np.log(np.maximum(total, LEAST)))


def _by_sines(u: Floats, w: Floats, terms: Floats) -> Floats:
    # Near w = 1 the sine of 1 - w keeps its digits.
    total = np.sin(math.pi * np.minimum(w, 1 - w))
    unit = math.pi**2 * u / 2
    with np.errstate(under="ignore"):
        for k in range(2, int(terms.max(initial=1)) + 1):
            total += k * np.exp((1 - k * k) * unit) * np.sin(k * math.pi * w)
    return np.asarray(math.log(math.pi) - unit + np.log(np.maximum(total, LEAST)))


def passage_slopes(u: Floats, w: Floats) -> tuple[Floats, Floats, Floats]:
    """log_first_passage(), and its derivatives by u and by w; of one shape.

    A term of a derivative is that of the density times a power of its number, so two more terms
    than the density needs leave an error that is smaller than the one of rounding.
    """
    images, sines = image_terms(u, w) + 2, sine_terms(u, w) + 2
    early = images <= sines
    made = np.empty((3, *u.shape))
    made[:, early] = _slopes_by_images(u[early], w[early], images[early])
    late = ~early
    made[:, late] = _slopes_by_sines(u[late], w[late], sines[late])
    return made[0], made[1], made[2]


def _slopes_by_images(u: Floats, w: Floats, terms: Floats) -> Floats:
    total, by_u, by_w = w.copy(), np.zeros_like(w), np.ones_like(w)
    pairs = math.ceil((terms.max(initial=1) - 1) / 2)
    with np.errstate(over="ignore", under="ignore"):
        for k in (one for pair in range(1, pairs + 1) for one in (pair, -pair)):
            power = np.minimum(2 * k * (k + w) / u, NOTHING)
            image = np.exp(-power)
            total += (w + 2 * k) * image
            by_u += (w + 2 * k) * image * power / u
            by_w += image - (w + 2 * k) * (2 * k * image / u)
        total = np.maximum(total, LEAST)
        front = -w * w / (2 * u) - 1.5 * np.log(u) - 0.5 * math.log(2 * math.pi)
        u_slope = (w * w / (2 * u) - 1.5) / u + by_u / total
        return np.stack([front + np.log(total), u_slope, by_w / total - w / u])


def _slopes_by_sines(u: Floats, w: Floats, terms: Floats) -> Floats:
    total, by_u = np.sin(math.pi * np.minimum(w, 1 - w)), np.zeros_like(w)
    by_w = np.cos(math.pi * w)
    unit = math.pi**2 * u / 2
    with np.errstate(under="ignore"):
        for k in range(2, int(terms.max(initial=1)) + 1):
            term = k * np.exp((1 - k * k) * unit)
            wave = np.sin(k * math.pi * w)
            total += term * wave
            by_u += (1 - k * k) * term * wave
            by_w += k * term * np.cos(k * math.pi * w)
    total = np.maximum(total, LEAST)
    u_slope = math.pi**2 / 2 * (by_u / total - 1)
    return np.stack([math.log(math.pi) - unit + np.log(total), u_slope, math.pi * by_w / total])
