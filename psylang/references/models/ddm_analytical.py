"""Drift diffusion in closed form: error rate, mean response time and conditional moments, one
uniform draw for the choice.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from common import Columns, restart

NAME = "ddm_analytical"
TOLERANCE = 1e-12
PARAMETERS: dict[str, Any] = {
    "configurations": [
        {
            "drift_rate": 1.0,
            "threshold": 1.0,
            "noise": 1.0,
            "starting_value": 0.0,
            "non_decision_time": 0.2,
        },
        {
            "drift_rate": 0.5,
            "threshold": 0.6,
            "noise": 0.5,
            "starting_value": 0.0,
            "non_decision_time": 0.15,
        },
        {
            "drift_rate": 1.5,
            "threshold": 2.0,
            "noise": 0.7,
            "starting_value": 0.3,
            "non_decision_time": 0.3,
        },
        {
            "drift_rate": 1.0,
            "threshold": 1.2,
            "noise": 1.1,
            "starting_value": -0.4,
            "non_decision_time": 0.0,
        },
        {
            "drift_rate": 2.0,
            "threshold": 0.3,
            "noise": 0.4,
            "starting_value": 0.05,
            "non_decision_time": 0.25,
        },
        {
            "drift_rate": 8.0,
            "threshold": 5.0,
            "noise": 0.2,
            "starting_value": 0.0,
            "non_decision_time": 0.1,
        },
    ],
    "seed": 77,
}
STIMULI = (
    0.0,
    1e-9,
    -5e-9,
    0.001,
    -0.02,
    0.05,
    -0.1,
    0.2,
    -0.3,
    0.45,
    -0.6,
    0.8,
    1.0,
    -1.25,
    1.5,
    -2.0,
    2.5,
    3.0,
)
OUTPUTS = [
    "decision_variable",
    "response_time",
    "probability_upper_threshold",
    "probability_lower_threshold",
    "rt_correct_mean",
    "rt_correct_variance",
    "rt_correct_skew",
    "rt_incorrect_mean",
    "rt_incorrect_variance",
    "rt_incorrect_skew",
]


def inputs() -> list[list[float]]:
    """Each trial: which configuration, which stimulus."""
    return [[float(c), x] for c in range(len(PARAMETERS["configurations"])) for x in STIMULI]


def allowed(column: str, trial: int) -> float:
    """The moments cancel for a small Z = drift * threshold / noise**2: their leading terms are of
    order Z to this power.
    """
    lost = (
        {"mean": 2, "variance": 4, "skew": 6}.get(column.rsplit("_", 1)[-1], 0)
        if column.startswith("rt_")
        else 0
    )
    number, stimulus = inputs()[trial]
    p = PARAMETERS["configurations"][int(number)]
    drift = max(abs(p["drift_rate"] * stimulus), 0.01)
    return TOLERANCE + 5e-15 * min(1.0, float(drift * p["threshold"] / p["noise"] ** 2)) ** -lost


def simulate() -> Columns:
    import psyneulink as pnl

    columns: Columns = {"input": inputs(), **{key: [] for key in OUTPUTS}}
    for number, constants in enumerate(PARAMETERS["configurations"]):
        decision = pnl.DDM(
            name=f"decision_{number}",
            function=pnl.DriftDiffusionAnalytical(**constants),
            output_ports=[getattr(pnl, key.upper()) for key in OUTPUTS],
            seed=PARAMETERS["seed"] + number,
        )
        composition = pnl.Composition(nodes=[decision], name=f"ddm_analytical_{number}")
        restart(decision, PARAMETERS["seed"] + number)
        composition.run(inputs={decision: [[x] for x in STIMULI]})
        for result in composition.results:
            for key, value in zip(OUTPUTS, result, strict=True):
                columns[key].append(float(value[0]))
    columns["choice"] = [int(value > 0) for value in columns["decision_variable"]]
    return columns


def replay() -> Columns:
    columns: Columns = {"input": inputs(), **{key: [] for key in OUTPUTS}, "before_threshold": []}
    for number, constants in enumerate(PARAMETERS["configurations"]):
        random = np.random.RandomState([PARAMETERS["seed"] + number])
        for stimulus in STIMULI:
            time, error, moments = analytical(stimulus, **constants)
            uniform = random.uniform()
            decision = -constants["threshold"] if uniform < error else constants["threshold"]
            for key, value in zip(
                OUTPUTS, [decision, time, 1 - error, error, *moments], strict=True
            ):
                columns[key].append(value)
            columns["before_threshold"].append(abs(uniform - error))
    columns["choice"] = [int(value > 0) for value in columns["decision_variable"]]
    return columns


def analytical(
    stimulus: float,
    drift_rate: float,
    threshold: float,
    noise: float,
    starting_value: float,
    non_decision_time: float,
) -> tuple[float, float, list[float]]:
    """Mean response time, probability of the lower threshold, and mean, variance and skew of
    correct and incorrect times.
    """
    drift, z, c, t0 = drift_rate * stimulus, threshold, noise, non_decision_time
    bias = (starting_value + z) / (2 * z)
    if abs(drift) < 1e-8:
        start = bias * 2 * z - z
        time, error = t0 + (z**2 - start**2) / c**2, (z - start) / (2 * z)
    else:
        time, error = against_drift(drift, z, c, t0, bias)
    return time, error, conditional_moments(drift, z, c, t0, (bias - 0.5) * 2.0 * z)


def against_drift(drift: float, z: float, c: float, t0: float, bias: float) -> tuple[float, float]:
    speed, negative = abs(drift), drift < 0
    zt, at = z / speed, (speed / c) ** 2
    toward = 1 - bias if negative else bias
    start = (c**2 / 2) * math.log(toward / (1 - toward))
    if abs(start) > z:
        start = -z if negative else z
    x = start / speed
    try:
        p, q, r = math.exp(-2 * x * at), math.exp(2 * zt * at), exp_or_underflow(-2 * zt * at)
        time = zt * math.tanh(zt * at) + ((2 * zt * (1 - p)) / (q - r) - x) + t0
        error = 1 / (1 + q) - (1 - p) / (q - r)
    except OverflowError:
        error, time = 0.0, zt / at - x + t0
    return time, 1 - error if negative else error


def exp_or_underflow(exponent: float) -> float:
    result = math.exp(exponent)
    if result < 2.2250738585072014e-308:
        raise OverflowError("underflow is trapped, too")
    return result


def conditional_moments(drift: float, z: float, c: float, t0: float, start: float) -> list[float]:
    drift = 0.01 if abs(drift) < 0.01 else drift
    x = max(-100.0, min(100.0, drift * start / c**2))
    big = max(-100.0, min(100.0, drift * z / c**2))
    big = 0.0001 if abs(big) < 0.0001 else big
    moments: list[float] = []
    for u in (x + big, big - x):
        coth_2z, csch_2z = 1 / math.tanh(2 * big), 1 / math.sinh(2 * big)
        coth_u, csch_u = 1 / math.tanh(u), 1 / math.sinh(u)
        first = 2 * big * coth_2z - u * coth_u
        second = (2 * big) ** 2 * csch_2z**2 - u**2 * csch_u**2
        third = (2 * big) ** 3 * coth_2z * csch_2z**2 - u**3 * coth_u * csch_u**2
        variance = c**4 / drift**4 * (second + first)
        skew = c**6 / drift**6 * (3 * second + 2 * third + 3 * first)
        moments += [c**2 / drift**2 * first + t0, variance, skew / variance**1.5]
    return moments
