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
