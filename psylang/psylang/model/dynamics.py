"""Mechanisms whose state is more than one value: FitzHugh and Nagumo's neuron, two averages, the
locus coeruleus.

Formulas and, in `exact`, the order of operations are PsyNeuLink's (docs/semantics.md, 4).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from psylang.ir.graph import Value
from psylang.ir.types import DType, Type
from psylang.model.context import Scope
from psylang.model.errors import ModelError
from psylang.model.mechanism import Memory, MemoryPorts, Values, filled
from psylang.model.parameters import Number, number, part

Slope = Callable[[Value], Value]


@dataclass(frozen=True, eq=False, kw_only=True)
class FitzHughNagumo:
    """A neuron with the excitation v and the recovery w (FitzHugh 1961, Nagumo et al. 1962).

    dv = (a_v v**3 + (1 + threshold) b_v v**2 - threshold c_v v + d_v + e_v w + f_v x) / tau_v
    dw = (mode a_w v + b_w w + c_w + (1 - mode) uncorrelated) / tau_w

    integrated in steps of dt by Runge and Kutta's method of order 4, or Euler's. As in PsyNeuLink,
    the w of dv and the v of dw are those from before the step in all its stages. mode: that of
    Gilzenrat et al. 2002.
    """

    initial_v: Number = number(0.0)
    initial_w: Number = number(0.0)
    initial_time: Number = number(0.0)
    dt: Number = number(0.05, above=0.0)
    a_v: Number = number(-1.0 / 3.0)
    b_v: Number = number(0.0)
    c_v: Number = number(1.0)
    d_v: Number = number(0.0)
    e_v: Number = number(-1.0)
    f_v: Number = number(1.0)
    tau_v: Number = number(1.0)
    a_w: Number = number(1.0)
    b_w: Number = number(-0.8)
    c_w: Number = number(0.7)
    tau_w: Number = number(12.5)
    threshold: Number = number(-1.0)
    mode: Number = number(1.0)
    uncorrelated: Number = number(0.0)
    method: Literal["RK4", "EULER"] = "RK4"

    def __post_init__(self) -> None:
        if self.method not in ("RK4", "EULER"):
            raise ModelError(f"method of FitzHughNagumo is {self.method!r}; it is RK4 or EULER")

    def moved(self, at: Scope, v: Value, w: Value, x: Value) -> tuple[Value, Value]:
        """(v, w) after a step with the input x; all of one shape."""
        build, dt = at.build, at["dt"]
        add, mul = build.add, build.mul

        def rise(now: Value) -> Value:
            third = build.op("pow", now, 3.0) if at.exact else mul(mul(now, now), now)
            cube = mul(at["a_v"], third)
            square = mul(mul(build.add(1.0, at["threshold"]), at["b_v"]), mul(now, now))
            line = mul(mul(build.neg(at["threshold"]), at["c_v"]), now)
            inner = add(add(add(cube, square), line), at["d_v"])
            inner = add(add(inner, mul(at["e_v"], w)), mul(at["f_v"], x))
            return build.div(inner, at["tau_v"])

        def recovery(now: Value) -> Value:
            driven = mul(mul(at["mode"], at["a_w"]), v)
            inner = add(add(driven, mul(at["b_w"], now)), at["c_w"])
            free = mul(build.sub(1.0, at["mode"]), at["uncorrelated"])
            return build.div(add(inner, free), at["tau_w"])

        if self.method == "EULER":
            return add(v, mul(dt, rise(v))), add(w, mul(dt, recovery(w)))
        half = mul(dt, 0.5)
        return self._fourth(at, v, rise, half), self._fourth(at, w, recovery, half)

    @staticmethod
    def _fourth(at: Scope, begin: Value, slope: Slope, half: Value) -> Value:
        """Runge and Kutta's step of order 4."""
        build, dt = at.build, at["dt"]
        first = slope(begin)
        second = slope(build.add(begin, build.mul(half, first)))
        third = slope(build.add(begin, build.mul(half, second)))
        fourth = slope(build.add(begin, build.mul(dt, third)))
        middle = build.mul(build.add(second, third), 2.0)
        whole = build.add(build.add(first, middle), fourth)
        return build.add(begin, build.mul(build.div(dt, 6.0), whole))


@dataclass(frozen=True, eq=False, kw_only=True)
class Spiking(MemoryPorts):
    """FitzHugh and Nagumo's neurons, one for each element of the input; a step a call.

    Output ports: `v`, `w`, and `time`, which steps add up.
    """

    size: int = 1
    neuron: FitzHughNagumo = part(FitzHughNagumo())

    def arrivals(self) -> Mapping[str, tuple[int, ...]]:
        return {"input": (self.size,)}

    def ports(self) -> Mapping[str, Type]:
        return {name: Type(DType.F64, (self.size,)) for name in ("v", "w", "time")}

    def initial(self, at: Scope) -> Memory:
        inner = at.part("neuron")
        return {name: filled(inner, f"initial_{name}", self.size) for name in self.ports()}

    def step(self, at: Scope, prepared: Values, memory: Memory) -> Memory:
        inner = at.part("neuron")
        with inner.origin():
            v, w = self.neuron.moved(inner, memory["v"], memory["w"], prepared["input"])
            return {"v": v, "w": w, "time": at.build.add(memory["time"], inner["dt"])}


@dataclass(frozen=True, eq=False, kw_only=True)
class LocusCoeruleus(MemoryPorts):
    """A neuron that sets the gain of other mechanisms (Gilzenrat et al. 2002): base + scaling * w.

    begins: the gain before its first call. Output ports: `gain`, and the neuron's `v` and `w`.
    """

    neuron: FitzHughNagumo = part(FitzHughNagumo())
    base: Number = number(0.5)
    scaling: Number = number(3.0)
    begins: Number = number(1.0)

    def arrivals(self) -> Mapping[str, tuple[int, ...]]:
        return {"input": (1,)}

    def ports(self) -> Mapping[str, Type]:
        return {name: Type(DType.F64, (1,)) for name in ("gain", "v", "w")}

    def initial(self, at: Scope) -> Memory:
        inner = at.part("neuron")
        made = {name: filled(inner, f"initial_{name}", 1) for name in ("v", "w")}
        return {"gain": filled(at, "begins", 1), **made}

    def step(self, at: Scope, prepared: Values, memory: Memory) -> Memory:
        inner, build = at.part("neuron"), at.build
        with inner.origin():
            v, w = self.neuron.moved(inner, memory["v"], memory["w"], prepared["input"])
        gain = build.add(build.mul(at["scaling"], w), at["base"])
        return {"gain": gain, "v": v, "w": w}


@dataclass(frozen=True, eq=False, kw_only=True)
class DualAdaptive(MemoryPorts):
    """Two averages of the input, each through a logistic, combined (Aston-Jones & Cohen 2005).

    An average is (1 - average) * rate + average * x: so PsyNeuLink computes it, which has rate and
    average interchanged; in `fast`, too. With s = 1 - logistic(short) and l = logistic(long):
    operation: product s * l, sum s + l, s-l, l-s. Output port: `value`.
    """

    size: int = 1
    initial_short: Number = number(0.0)
    initial_long: Number = number(0.0)
    short_rate: Number = number(0.9)
    long_rate: Number = number(0.1)
    short_gain: Number = number(1.0)
    long_gain: Number = number(1.0)
    short_bias: Number = number(0.0)
    long_bias: Number = number(0.0)
    offset: Number = number(0.0)
    operation: Literal["product", "sum", "s-l", "l-s"] = "product"

    def __post_init__(self) -> None:
        if self.operation not in ("product", "sum", "s-l", "l-s"):
            raise ModelError(
                f"operation of `{self.name}` is {self.operation!r}; it is product, sum, s-l or l-s"
            )

    def arrivals(self) -> Mapping[str, tuple[int, ...]]:
        return {"input": (self.size,)}

    def ports(self) -> Mapping[str, Type]:
        return {"value": Type(DType.F64, (self.size,))}

    def initial(self, at: Scope) -> Memory:
        averages = {name: filled(at, f"initial_{name}", self.size) for name in ("short", "long")}
        return {**averages, "value": self._combined(at, averages)}

    def step(self, at: Scope, prepared: Values, memory: Memory) -> Memory:
        build, x = at.build, prepared["input"]
        averages = {}
        for name in ("short", "long"):
            kept = build.mul(build.sub(1.0, memory[name]), at[f"{name}_rate"])
            averages[name] = build.add(kept, build.mul(memory[name], x))
        return {**averages, "value": self._combined(at, averages)}

    def _combined(self, at: Scope, averages: Mapping[str, Value]) -> Value:
        build = at.build

        def logistic(name: str) -> Value:
            inner = build.neg(build.mul(at[f"{name}_gain"], averages[name]))
            power = build.op("exp", build.add(inner, at[f"{name}_bias"]))
            return build.div(1.0, build.add(power, 1.0))

        short, long = build.sub(1.0, logistic("short")), logistic("long")
        match self.operation:
            case "product":
                value = build.mul(short, long)
            case "sum":
                value = build.add(short, long)
            case "s-l":
                value = build.sub(short, long)
            case "l-s":
                value = build.sub(long, short)
        return at.plus(value, "offset")
