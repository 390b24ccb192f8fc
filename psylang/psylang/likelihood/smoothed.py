"""Densities of simulated times: by Gaussian kernels on the logarithm of time, or by bins.

Kernels: bandwidth of Silverman (1986), 0.9 * min(deviation, interquartile range / 1.34) * n**-0.2.
Times are spread over a grid of a tenth of the bandwidth, the grid is folded with the kernel, and
the density is read from it by linear interpolation: within a part in a thousand of the sum of all
kernels, at a cost that does not depend on the number of data.
"""

from __future__ import annotations

import numpy as np

from psylang.likelihood.data import Floats

FINE = 10  # Points of the grid a bandwidth.
REACH = 5  # Bandwidths that a kernel reaches.
POINTS_MAX = 1 << 16
BANDWIDTH_MIN = 1e-4  # Of times that are nearly all the same, in the logarithm.


def bandwidth_of(logs: Floats) -> float:
    """Silverman's, of the logarithms of times."""
    low, high = np.quantile(logs, [0.25, 0.75])
    spread = min(float(logs.std()), float(high - low) / 1.34 or float("inf"))
    return float(max(0.9 * spread * len(logs) ** -0.2, BANDWIDTH_MIN))


def kernel_density(times: Floats, at: Floats, bandwidth: float | None) -> Floats:
    """The density of `times` at other times, all above 0; 0 if there are fewer than 2 times."""
    if len(times) < 2:
        return np.zeros(len(at))
    logs, places = np.log(times), np.log(at)
    width = bandwidth_of(logs) if bandwidth is None else bandwidth
    low, high = logs.min() - REACH * width, logs.max() + REACH * width
    count = int(min(np.ceil((high - low) / (width / FINE)) + 1, POINTS_MAX))
    step = (high - low) / (count - 1)
    mass = _spread_over((logs - low) / step, count)
    reach = int(np.ceil(REACH * width / step))
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) * step / width) ** 2)
    # Its sum is 1 on the grid, so no mass is lost however coarse that is.
    smooth = np.convolve(mass, kernel / kernel.sum(), "full")[reach : reach + count]
    grid = low + step * np.arange(count)
    density = np.interp(places, grid, smooth / (len(times) * step), left=0.0, right=0.0)
    return np.asarray(density / at)


def _spread_over(places: Floats, count: int) -> Floats:
    """One unit for each place, shared by the two points of the grid beside it."""
    left = np.minimum(places.astype(np.int64), count - 2)
    share = places - left
    near = np.bincount(left, 1 - share, minlength=count)
    return np.asarray(near + np.bincount(left + 1, share, minlength=count), np.float64)


def bin_density(times: Floats, at: Floats, edges: Floats) -> Floats:
    """The share of `times` in the bin of each of the other times, by its width; 0 outside."""
    if not len(times):
        return np.zeros(len(at))
    counts, _ = np.histogram(times, edges)
    density = np.concatenate([[0.0], counts / (len(times) * np.diff(edges)), [0.0]])
    index = np.searchsorted(edges, at, "right")
    index[at == edges[-1]] = len(edges) - 1  # The last bin has both ends.
    return np.asarray(density[index])
