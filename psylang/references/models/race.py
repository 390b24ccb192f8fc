"""The race of leaky competing accumulators, which three of the models end with."""

from __future__ import annotations

from typing import Any

import numpy as np
from common import logistic, times


def race_once(
    p: dict[str, Any], stimulus: list[float], random: np.random.RandomState
) -> tuple[list[float], int, float]:
    """The activities at the crossing, the steps, and the largest activity one step before."""
    units, scale = range(len(stimulus)), float(np.sqrt(p["time_step_size"]))
    shape = (-p.get("bias", 0.0), p.get("gain", 1.0))
    weight = [[p["self_excitation"] if i == j else -p["competition"] for j in units] for i in units]
    state = [0.0 for _ in units]
    activity = [logistic(x, *shape) for x in state]
    steps = 0
    while True:
        before = max(activity)
        net = [r + x for r, x in zip(times(activity, weight), stimulus, strict=True)]
        noise = [random.normal(0.0, p["noise_standard_deviation"]) for _ in units]
        state = [
            s + (-p["leak"] * s + n) * p["time_step_size"] + z * scale
            for s, n, z in zip(state, net, noise, strict=True)
        ]
        activity = [logistic(x, *shape) for x in state]
        steps += 1
        if max(activity) >= p["threshold"]:
            return activity, steps, before
