"""Diffusion to two thresholds that may collapse, with a leak, and with variability between trials.

DDM (decision.py) is the process of PsyNeuLink. This one has what models of response times add to
it: a leak makes an Ornstein-Uhlenbeck process (Busemeyer & Townsend 1993), thresholds come nearer
while time passes, drift, start and non-decision time are drawn anew in each trial (Ratcliff &
Rouder 1998), and steps with heavy tails make a Lévy flight (Voss, Lerche, Mertens & Voss 2019).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

from psylang.ir.graph import Value
from psylang.ir.types import F64, I32, Type
from psylang.model.context import Scope, total
from psylang.model.decision import DECISION_PORTS, NAN, decided, elapsed
from psylang.model.errors import ModelError
from psylang.model.integrators import LATE
from psylang.model.mechanism import Arrivals, Mechanism, Memory, Run, Values
from psylang.model.parameters import Number, number, part
from psylang.model.rules import Relation

LEAST = 1e-16  # Of a cosine: that of a right angle is 6e-17 in f64, and negative in f32.


class Collapse(Protocol):
    """Has emit(): a threshold after some time of the decision, from the one at its begin."""

    def emit(self, at: Scope, threshold: Value, time: Value) -> Value: ...


@dataclass(frozen=True, eq=False, kw_only=True)
class Angle:
    """threshold - tan(angle) * time; the angle is in radians."""

    angle: Number = number(0.3, least=0.0, most=1.57)

    def emit(self, at: Scope, threshold: Value, time: Value) -> Value:
        build, angle = at.build, at["angle"]
        tangent = build.div(build.op("sin", angle), build.op("cos", angle))
        return build.sub(threshold, build.mul(tangent, time))


@dataclass(frozen=True, eq=False, kw_only=True)
class WeibullCollapse:
    """threshold * exp(-(time / scale)**shape)."""

    scale: Number = number(3.0, above=0.0)
    shape: Number = number(3.0, above=0.0)

    def emit(self, at: Scope, threshold: Value, time: Value) -> Value:
        build = at.build
        power = build.op("pow", build.div(time, at["scale"]), at["shape"])
        return build.mul(threshold, build.op("exp", build.neg(power)))


@dataclass(frozen=True, eq=False, kw_only=True)
class Diffusion(Mechanism):
    """x += (drift - leak * x) * dt + noise * sqrt(dt) * z, until x is beyond ±threshold.

    stability: if given, steps are noise * dt**(1 / stability) * s instead, s a symmetric stable
    number, whose characteristic function is exp(-|t|**stability): 1 is Cauchy's distribution, 2 the
    normal one with the variance 2.
    Its input, if any, multiplies the drift. drift_deviation: of the drift, normal between trials.
    start_range, time_range: widths of the ranges of starting_point and of non_decision_time, which
    are uniform between trials; a start beyond a threshold decides in the first step. collapse: how
    the thresholds come nearer. corrected: as of DriftDiffusion. choice: 1 upper, 0 lower, -1 none.
    decision_variable: where it ended.
    ModelError: reset="never", as draws belong to a trial; corrected with a stability.
    """

    drift: Number = number(1.0)
    leak: Number = number(0.0)
    noise: Number = number(1.0, least=0.0)
    threshold: Number = number(1.0, above=0.0)
    dt: Number = number(0.001, above=0.0)
    starting_point: Number = number(0.0)
    non_decision_time: Number = number(0.0, least=0.0)
    drift_deviation: Number = number(0.0, least=0.0)
    start_range: Number = number(0.0, least=0.0)
    time_range: Number = number(0.0, least=0.0)
    stability: Number | None = number(None, least=1.0, most=2.0)
    collapse: Collapse | None = part()
    corrected: bool = False
    relations: ClassVar = (
        Relation("starting_point", "inside", "threshold"),
        Relation("time_range", "below", "non_decision_time"),
    )

    def __post_init__(self) -> None:
        if self.reset != "trial":
            raise ModelError(f"`{self.name}` draws anew in each trial; leave reset='trial'")
        if self.corrected and self.stability is not None:
            raise ModelError(
                f"`{self.name}` is corrected for normal steps, and has a stability; leave one out"
            )

    def arrivals(self) -> Mapping[str, tuple[int, ...]]:
        return {"input": ()}

    def free_ports(self) -> frozenset[str]:
        return frozenset({"input"})

    def ports(self) -> Mapping[str, Type]:
        return {"decision_variable": F64, **DECISION_PORTS}

    def initial(self, at: Scope) -> Memory:
        build = at.build
        memory = {"position": self._uniform(at, "starting_point", "start_range")}
        if not at.is_always("drift_deviation", 0.0):
            z = at.draw("normal", "drift")
            memory["drift"] = build.add(at["drift"], build.mul(z, at["drift_deviation"]))
        if not at.is_always("time_range", 0.0):
            memory["late"] = self._uniform(at, "non_decision_time", "time_range")
        if self.collapse is not None:
            memory["time"] = build.constant(0.0)
        return memory

    def _uniform(self, at: Scope, middle: str, width: str) -> Value:
        if at.is_always(width, 0.0):
            return at[middle]
        build = at.build
        u = build.sub(at.draw("uniform", middle), 0.5)
        return build.add(at[middle], build.mul(u, at[width]))

    def prepare(self, at: Scope, arrivals: Arrivals) -> Values:
        build = at.build
        prepared = {"scale": self._scale(at)}
        if arrivals["input"]:
            prepared["input"] = build.mul(total(at, arrivals["input"]), at["dt"])
        return prepared

    def _scale(self, at: Scope) -> Value:
        if self.stability is None:
            return at.build.mul(at["noise"], at.build.op("sqrt", at["dt"]))
        inverse = at.build.div(1.0, at["stability"])
        return at.build.mul(at["noise"], at.build.op("pow", at["dt"], inverse))

    def step(self, at: Scope, prepared: Values, memory: Memory) -> Memory:
        build, position = at.build, memory["position"]
        drift = memory.get("drift")
        slope = build.mul(at["drift"] if drift is None else drift, prepared.get("input", at["dt"]))
        if not at.is_always("leak", 0.0):
            leak = build.mul(at["leak"], at["dt"])
            slope = build.sub(slope, build.mul(leak, position))
        z = at.normals("noise", ()) if self.stability is None else stable(at, at["stability"])
        moved = build.add(position, build.fma(prepared["scale"], z, slope))
        after = {**memory, "position": moved}
        if "time" in memory:
            after["time"] = build.add(memory["time"], at["dt"])
        return after

    def _bound(self, at: Scope, memory: Memory) -> Value:
        bound = at["threshold"]
        if self.collapse is not None:
            inner = at.part("collapse")
            with inner.origin():
                bound = self.collapse.emit(inner, bound, memory["time"])
        if self.corrected:
            bound = at.build.sub(bound, at.build.mul(self._scale(at), LATE))
        return bound

    def ends(self) -> bool:
        return True

    def goes_on(self, at: Scope, memory: Memory) -> Value:
        return at.build.lt(at.build.abs(memory["position"]), self._bound(at, memory))

    def decides_by(self, at: Scope, memory: Memory) -> Sequence[Value]:
        return [memory["position"], self._bound(at, memory)]

    def outputs(self, at: Scope, memory: Memory, run: Run) -> Values:
        build = at.build
        with at.origin(port="choice"):
            upper = build.op("gt", memory["position"], 0.0)
            side = build.select(upper, build.constant(1, I32), build.constant(0, I32))
            undecided = self.is_unfinished(at, memory)
            choice = build.select(undecided, build.constant(-1, I32), side)
        with at.origin(port="response_time"):
            time = elapsed(at, run, at["dt"])
            if "late" in memory:
                time = build.add(time, build.sub(memory["late"], at["non_decision_time"]))
            time = build.select(self.is_undefined(at, memory), NAN, time)
        return {"decision_variable": memory["position"], **decided(at, time, choice, run)}


def stable(at: Scope, stability: Value) -> Value:
    """A symmetric stable number (Chambers, Mallows & Stuck 1976), for a stability of 1 to 2.

    Of the two uniform numbers 0 itself gives 0 and the least double: never NaN.
    """
    build = at.build
    angle = build.mul(build.sub(at.draw("uniform", "angle"), 0.5), math.pi)
    weight = build.neg(build.op("log", build.sub(1.0, at.draw("uniform", "weight"))))
    cosine = build.op("max", build.op("cos", angle), LEAST)
    one = build.op("sin", build.mul(stability, angle))
    one = build.div(one, build.op("pow", cosine, build.div(1.0, stability)))
    rest = build.sub(1.0, stability)
    other = build.op("max", build.op("cos", build.mul(rest, angle)), LEAST)
    # (other / weight) ** (rest / stability), turned over: rest is not positive.
    ratio = build.div(weight, other)
    return build.mul(one, build.op("pow", ratio, build.div(build.neg(rest), stability)))


__all__ = ["Angle", "Diffusion", "WeibullCollapse"]
