"""Mechanisms that decide: the drift-diffusion model in steps, and competing accumulators.

Both give `response_time` (non_decision_time and dt for each step), `choice` (a number; -1 if they
reached their maximum of steps undecided), `steps` and `truncated`. A state or threshold that is NaN
decides nothing: the steps end, response_time is NaN, choice -1, and truncated holds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from psylang.ir.graph import Value
from psylang.ir.types import BOOL, F64, I32, DType, Type
from psylang.model.context import Scope, as_i32, total
from psylang.model.criteria import Criterion, winner
from psylang.model.errors import ModelError
from psylang.model.functions import Logistic, TransferFunction, emit_part
from psylang.model.integrators import DriftDiffusion, sampled
from psylang.model.mechanism import Arrivals, Mechanism, Memory, Run, Values, filled
from psylang.model.noise import Distribution
from psylang.model.parameters import Number, number, part

NAN = float("nan")


@dataclass(frozen=True, eq=False, kw_only=True)
class DDM(Mechanism):
    """A drift-diffusion process in steps, to its upper or lower threshold (Ratcliff 1978).

    Its input, if any, multiplies the drift. choice: 1 upper, 0 lower, -1 none. decision_variable:
    its last value, limited to the thresholds.
    """

    integrator: DriftDiffusion = part(DriftDiffusion())
    non_decision_time: Number = number(0.0, least=0.0)

    def arrivals(self) -> Mapping[str, tuple[int, ...]]:
        return {"input": ()}

    def free_ports(self) -> frozenset[str]:
        return frozenset({"input"})

    def ports(self) -> Mapping[str, Type]:
        return {"decision_variable": F64, **DECISION_PORTS}

    def initial(self, at: Scope) -> Memory:
        memory = {"position": at.part("integrator")["initial"]}
        if self._adds_up_time(at):
            memory["time"] = at["non_decision_time"]
        return memory

    def _adds_up_time(self, at: Scope) -> bool:
        """Returns whether dt is added in each step, as PsyNeuLink does; otherwise the time is a
        product."""
        return at.exact or self.reset == "never"

    def prepare(self, at: Scope, arrivals: Arrivals) -> Values:
        x = total(at, arrivals["input"]) if arrivals["input"] else None
        inner = at.part("integrator")
        with inner.origin():
            return {"slope": self.integrator.slope(inner, x), "scale": self.integrator.scale(inner)}

    def step(self, at: Scope, prepared: Values, memory: Memory) -> Memory:
        inner, process = at.part("integrator"), self.integrator
        with inner.origin():
            slope, scale = prepared["slope"], prepared["scale"]
            after = {"position": process.free(inner, memory["position"], slope, scale)}
            if not self.until_finished:  # Otherwise it is limited after the last step.
                after["position"] = process.kept(inner, after["position"])
            if self._adds_up_time(at):
                after["time"] = at.build.add(memory["time"], inner["dt"])
        return after

    def ends(self) -> bool:
        return True

    def goes_on(self, at: Scope, memory: Memory) -> Value:
        inner = at.part("integrator")
        with inner.origin():
            return at.build.lt(at.build.abs(memory["position"]), self.integrator.bound(inner))

    def decides_by(self, at: Scope, memory: Memory) -> Sequence[Value]:
        return [memory["position"], self.integrator.bound(at.part("integrator"))]

    def outputs(self, at: Scope, memory: Memory, run: Run) -> Values:
        build, inner = at.build, at.part("integrator")
        with inner.origin():
            position = self.integrator.kept(inner, memory["position"])
            undecided = self.is_unfinished(at, memory)
            upper = build.op("gt", position, 0.0)
            if self.integrator.corrected:
                threshold = inner["threshold"]
                side = build.select(upper, threshold, build.neg(threshold))
                position = build.select(undecided, position, side)
        with at.origin(port="choice"):
            side = build.select(upper, build.constant(1, I32), build.constant(0, I32))
            choice = build.select(undecided, build.constant(-1, I32), side)
        with at.origin(port="response_time"):
            time = memory["time"] if "time" in memory else elapsed(at, run, inner["dt"])
            time = build.select(self.is_undefined(at, memory), NAN, time)
        return {"decision_variable": position, **decided(at, time, choice, run)}


@dataclass(frozen=True, eq=False, kw_only=True)
class LCA(Mechanism):
    """Leaky competing accumulators that inhibit one another (Usher & McClelland 2001).

    One step: x += (inputs + recurrence - leak * x) * dt + noise * sqrt(dt); activity = function(x).
    The recurrence is from the activities: self_excitation of a unit's own, -competition of others'.
    until: when it is finished, a criterion (criteria.py); None: a step a call.
    choice: the unit with the largest activity. Output ports: `value` and those of a decision.
    initial_activity: None: the function of the initial state.
    """

    size: int = 2
    leak: Number = number(0.5)
    competition: Number = number(1.0)
    self_excitation: Number = number(0.0)
    dt: Number = number(0.1, above=0.0)
    noise: Distribution | None = part()
    initial_state: Number = number(0.0)
    initial_activity: Number | None = number(None)
    function: TransferFunction = part(Logistic())
    until: Criterion | None = part()
    non_decision_time: Number = number(0.0, least=0.0)

    def __post_init__(self) -> None:
        if self.size < 2:
            raise ModelError(f"`{self.name}` has {self.size} units; a competition takes two")

    def arrivals(self) -> Mapping[str, tuple[int, ...]]:
        return {"input": (self.size,)}

    def ports(self) -> Mapping[str, Type]:
        return {"value": Type(DType.F64, (self.size,)), **DECISION_PORTS}

    def initial(self, at: Scope) -> Memory:
        state = filled(at, "initial_state", self.size)
        if self.initial_activity is None:
            activity = emit_part(at, "function", state)
        else:
            activity = filled(at, "initial_activity", self.size)
        memory = {"state": state, "activity": activity}
        if self.until is not None and self.until.compares:
            memory["before"] = memory["activity"]
        return memory

    def prepare(self, at: Scope, arrivals: Arrivals) -> Values:
        build, values = at.build, arrivals["input"]
        if at.exact:
            return {f"arrival{k}": value for k, value in enumerate(values)}
        x = total(at, values)
        kept = build.sub(1.0, build.mul(at["leak"], at["dt"]))
        gain = build.mul(at["competition"], at["dt"])
        own = build.mul(build.add(at["self_excitation"], at["competition"]), at["dt"])
        prepared = {"input": build.mul(x, at["dt"]), "kept": kept, "gain": build.neg(gain)}
        return {**prepared, "own": own, "root": build.op("sqrt", at["dt"])}

    def step(self, at: Scope, prepared: Values, memory: Memory) -> Memory:
        write = self._exact_step if at.exact else self._fast_step
        state = write(at, prepared, memory)
        after = {"state": state, "activity": emit_part(at, "function", state)}
        if self.until is not None and self.until.compares:
            after["before"] = memory["activity"]
        return after

    def _exact_step(self, at: Scope, prepared: Values, memory: Memory) -> Value:
        build, n, before = at.build, self.size, memory["state"]
        with at.origin("competition"):
            own, other = at["self_excitation"], build.neg(at["competition"])
            cells = [own if i == j else other for i in range(n) for j in range(n)]
            recurrence = build.op("dot", memory["activity"], build.stack(cells, (n, n)))
        x = total(at, [recurrence, *prepared.values()])
        noise = sampled(at, x.type.shape)
        change = build.add(build.mul(build.neg(at["leak"]), before), x)
        state = build.add(before, build.mul(change, at["dt"]))
        if noise is None:
            return state
        return build.add(state, build.mul(noise, build.op("sqrt", at["dt"])))

    def _fast_step(self, at: Scope, prepared: Values, memory: Memory) -> Value:
        """The same step with factors of dt moved out of the loop, and one sum for all
        competitors."""
        build, activity = at.build, memory["activity"]
        with at.origin("competition"):
            rivals = build.fma(build.op("sum", activity), prepared["gain"], prepared["input"])
            drive = build.fma(activity, prepared["own"], rivals)
        noise = sampled(at, activity.type.shape)
        if noise is not None:
            drive = build.fma(noise, prepared["root"], drive)
        return build.fma(memory["state"], prepared["kept"], drive)

    def ends(self) -> bool:
        return self.until is not None

    def goes_on(self, at: Scope, memory: Memory) -> Value:
        assert self.until is not None
        inner = at.part("until")
        with inner.origin():
            return self.until.goes_on(inner, memory["activity"], memory.get("before"))

    def decides_by(self, at: Scope, memory: Memory) -> Sequence[Value]:
        assert self.until is not None
        return [memory["activity"], self.until.bound(at.part("until"))]

    def slot_of(self, port: str) -> str:
        return "activity" if port == "value" else ""

    def outputs(self, at: Scope, memory: Memory, run: Run) -> Values:
        build, activity = at.build, memory["activity"]
        with at.origin(port="choice"):
            choice = winner(at, activity)
            if self.ends():
                undecided = self.is_unfinished(at, memory)
                choice = build.select(undecided, build.constant(-1, I32), choice)
        with at.origin(port="response_time"):
            time = elapsed(at, run, at["dt"])
            if self.ends():
                time = build.select(self.is_undefined(at, memory), NAN, time)
        return {"value": activity, **decided(at, time, choice, run)}


DECISION_PORTS: Mapping[str, Type] = {
    "response_time": F64,
    "choice": I32,
    "steps": I32,
    "truncated": BOOL,
}


def elapsed(at: Scope, run: Run, dt: Value) -> Value:
    """The non-decision time plus the time of this trial's steps."""
    build = at.build
    steps = build.convert(as_i32(at, run.steps), DType.F64)
    if at.is_always("non_decision_time", 0.0):
        return build.mul(steps, dt)
    if at.exact:
        return build.add(build.mul(steps, dt), at["non_decision_time"])
    return build.fma(steps, dt, at["non_decision_time"])


def decided(at: Scope, time: Value, choice: Value, run: Run) -> Values:
    """The ports of a decision."""
    truncated = run.truncated
    flag = truncated if isinstance(truncated, Value) else at.build.constant(truncated, BOOL)
    return {
        "response_time": time,
        "choice": choice,
        "steps": as_i32(at, run.steps),
        "truncated": flag,
    }


__all__ = ["DDM", "LCA"]
