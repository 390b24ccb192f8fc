"""The drift-diffusion model in Numba, as modellers usually write it, for comparison."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

# (drift, noise, threshold, dt, times, choices): fills the arrays.
Simulate = Callable[[float, float, float, float, Any, Any], None]


def numba_ddm() -> Simulate | None:
    """Compiled and seeded; None if Numba is not installed."""
    try:
        import numba
    except ImportError:
        return None

    def simulate(
        drift: float, noise: float, threshold: float, dt: float, times: Any, choices: Any
    ) -> None:
        step, deviation = drift * dt, noise * np.sqrt(dt)
        for trial in range(len(times)):
            x, steps = 0.0, 0
            while -threshold < x < threshold:
                x += step + deviation * np.random.normal()
                steps += 1
            times[trial] = steps * dt
            choices[trial] = x > 0.0

    made: Simulate = numba.njit(simulate)
    made(0.5, 1.0, 0.1, 1e-3, np.empty(2), np.empty(2))
    return made
