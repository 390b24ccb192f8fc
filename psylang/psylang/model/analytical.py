"""Drift diffusion in closed form: accuracy, mean response time, and conditional moments.

`fast` computes them from every starting point (first_passage.py). `exact` computes what PsyNeuLink
does: Bogacz, Brown, Moehlis, Holmes & Cohen (2006) for error rate and mean time; Srivastava, Holmes
& Simen (2016) for the moments; in its cases, limits and order of operations (docs/semantics.md, 6),
including its scale for a starting point off the middle, which makes probabilities and mean time
wrong there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from psylang.ir.graph import Value
from psylang.ir.types import F64, I32, Type
from psylang.model.context import Scope, total
from psylang.model.first_passage import passages
from psylang.model.function import function
from psylang.model.mechanism import Arrivals, Mechanism, Memory, Run, Values
from psylang.model.parameters import Number, number
from psylang.model.rules import Relation

LARGEST = 1.7976931348623157e308
SMALLEST = 2.2250738585072014e-308  # The smallest normal number.
MOMENTS = tuple(
    f"rt_{which}_{moment}"
    for which in ("correct", "incorrect")
    for moment in ("mean", "variance", "skew")
)


@function
def start_bias(start, z):  # type: ignore[no-untyped-def]
    """The starting point, from 0 at the lower threshold to 1 at the upper, excluding both."""
    bias = (start + z) / (2 * z)
    if bias <= 0:
        return 1e-8
    return 1 - 1e-8 if bias >= 1 else bias


@function
def time_and_error(a, z, c, t0, bias):  # type: ignore[no-untyped-def]
    """The mean response time, and the probability of the lower threshold."""
    if abs(a) < 1e-8:
        b = bias * 2 * z - z
        return [t0 + (z * z - b * b) / (c * c), (z - b) / (2 * z)]
    speed = abs(a)
    zt = z / speed
    at = (speed / c) * (speed / c)
    toward = 1 - bias if a < 0 else bias
    y0 = (c * c / 2) * np.log(toward / (1 - toward))
    if abs(y0) > z:
        y0 = -z if a < 0 else z
    x = y0 / speed
    p = np.exp(-2 * x * at)
    q = np.exp(2 * zt * at)
    r = np.exp(-2 * zt * at)
    if p > LARGEST or q > LARGEST or r < SMALLEST:
        time = zt / at - x + t0
        error = 0.0
    else:
        time = zt * np.tanh(zt * at) + ((2 * zt * (1 - p)) / (q - r) - x) + t0
        error = 1 / (1 + q) - (1 - p) / (q - r)
    return [time, 1 - error if a < 0 else error]


@function
def csch(x):  # type: ignore[no-untyped-def]
    """1 / sinh(x), by tanh, so that no digits are lost for small x."""
    return 1 / (np.tanh(x) * ((np.exp(x) + np.exp(-x)) / 2))


@function
def moments(a, u, z, c, t0):  # type: ignore[no-untyped-def]
    """Mean, variance and skew of the times of one threshold; z and u are without units."""
    coth_z = 1 / np.tanh(2 * z)
    coth_u = 1 / np.tanh(u)
    csch_z = csch(2 * z)
    csch_u = csch(u)
    w = 2 * z
    ratio = (c * c) / (a * a)
    first = w * coth_z - u * coth_u
    second = (w * w) * (csch_z * csch_z) - (u * u) * (csch_u * csch_u)
    third = (w * w * w) * coth_z * (csch_z * csch_z) - (u * u * u) * coth_u * (csch_u * csch_u)
    variance = ratio * ratio * (second + first)
    skew = ratio * ratio * ratio * (3 * second + 2 * third + 3 * first)
    return [ratio * first + t0, variance, skew / (variance * np.sqrt(variance))]


@function
def conditional_moments(a, z, c, t0, bias):  # type: ignore[no-untyped-def]
    """The moments of the upper threshold's times, then of the lower one's."""
    if abs(a) < 0.01:
        a = 0.01
    start = (bias - 0.5) * 2 * z
    x = np.clip(a * start / (c * c), -100.0, 100.0)
    big = np.clip(a * z / (c * c), -100.0, 100.0)
    if abs(big) < 0.0001:
        big = 0.0001
    return [*moments(a, x + big, big, c, t0), *moments(a, big - x, big, c, t0)]


@dataclass(frozen=True, eq=False, kw_only=True)
class DDMAnalytical(Mechanism):
    """The drift-diffusion model's expectations, and one choice drawn by its accuracy.

    Its input, if any, multiplies the drift. Output ports: decision_variable (±threshold), choice (1
    upper, 0 lower), response_time (the mean of all), probability_upper and probability_lower, and
    rt_correct_… and rt_incorrect_mean, …_variance and …_skew, correct being upper. If the start is
    on a threshold, the skew of its times is NaN; in `exact` more moments are NaN. If the start is
    off the middle, probabilities and response_time are right in `fast`, and PsyNeuLink's in
    `exact`.
    """

    drift: Number = number(1.0)
    threshold: Number = number(1.0, above=0.0)
    noise: Number = number(1.0, above=0.0)
    starting_point: Number = number(0.0)
    non_decision_time: Number = number(0.0, least=0.0)
    relations: ClassVar = (Relation("starting_point", "within", "threshold"),)

    def arrivals(self) -> Mapping[str, tuple[int, ...]]:
        return {"input": ()}

    def free_ports(self) -> frozenset[str]:
        return frozenset({"input"})

    def ports(self) -> Mapping[str, Type]:
        names = ("response_time", "probability_upper", "probability_lower", *MOMENTS)
        return {"decision_variable": F64, "choice": I32, **dict.fromkeys(names, F64)}

    def initial(self, at: Scope) -> Memory:
        return {name: at.build.constant(0.0) for name in self.ports()}

    def prepare(self, at: Scope, arrivals: Arrivals) -> Values:
        drift = at["drift"]
        if arrivals["input"]:
            drift = at.build.mul(drift, total(at, arrivals["input"]))
        return {"drift": drift}

    def step(self, at: Scope, prepared: Values, memory: Memory) -> Memory:
        build, here, a = at.build, at.here(), prepared["drift"]
        z, c, t0 = at["threshold"], at["noise"], at["non_decision_time"]
        start = at["starting_point"]
        if at.exact:
            bias = start_bias.inline(build, [start, z], here)
            time, lower = time_and_error.inline(build, [a, z, c, t0, bias], here)
            upper = build.sub(1.0, lower)
            given = conditional_moments.inline(build, [a, z, c, t0, bias], here)
        else:
            time, upper, lower, *given = passages.inline(build, [a, z, c, t0, start], here)
        with at.origin(port="decision_variable"):
            is_lower = build.lt(at.draw("uniform", "choice"), lower)
            decision = build.select(is_lower, build.neg(z), z)
        return {
            "decision_variable": decision,
            "choice": build.select(is_lower, build.constant(0.0), build.constant(1.0)),
            "response_time": time,
            "probability_upper": upper,
            "probability_lower": lower,
            **dict(zip(MOMENTS, given, strict=True)),
        }

    def outputs(self, at: Scope, memory: Memory, run: Run) -> Values:
        values: dict[str, Value] = dict(memory)
        choice = at.build.convert(values["choice"], I32.dtype)
        return {name: choice if name == "choice" else values[name] for name in self.ports()}
