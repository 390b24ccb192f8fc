"""Mechanisms: ports, memory and a step; and the simplest one, a transfer of its input.

A call of a mechanism runs one step, or steps until it is finished. Between steps it keeps its
memory: named values, including the values for its recurrent connections.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from psylang.ir.builder import Operand
from psylang.ir.graph import Value
from psylang.ir.types import DType, Type
from psylang.model.context import Scope, total, undefined
from psylang.model.criteria import Criterion
from psylang.model.errors import ModelError
from psylang.model.functions import Linear, TransferFunction, emit_part
from psylang.model.integrators import Integrator, sampled
from psylang.model.noise import Distribution
from psylang.model.parameters import Array, Number, number, part
from psylang.model.winners import KWinners

Memory = Mapping[str, Value]
Values = Mapping[str, Value]
# For each input port the values of its projections and inputs, in order.
Arrivals = Mapping[str, Sequence[Value]]
STEPS_MAX = 100_000


@dataclass(frozen=True)
class Run:
    """The outcome of a call. steps: the steps in this trial. truncated: the call reached its
    maximum of steps."""

    steps: Operand
    truncated: Operand


@dataclass(frozen=True, eq=False, kw_only=True)
class Mechanism(ABC):
    """A node of a model.

    name: of letters, digits and _; not that of another node.
    reset: "trial": each trial begins with the initial memory; "never": with the last memory of
      the previous trial (PsyNeuLink's default), so trials form a sequence and cannot run at once.
    until_finished: a call runs steps until the mechanism is finished; else one step a call.
    max_steps: the limit of one call; if a call reaches it, the trial's output `truncated` is true.
    seed: of its random numbers in `exact`; None: mechanisms that draw without one get consecutive
      seeds from 0 on, in the order in which they were added, less those that others have.
    """

    name: str = field(kw_only=False)
    reset: Literal["trial", "never"] = "trial"
    until_finished: bool = True
    max_steps: int = STEPS_MAX
    seed: int | None = None

    @abstractmethod
    def arrivals(self) -> Mapping[str, tuple[int, ...]]:
        """The shapes of the input ports, the main one first."""

    @abstractmethod
    def ports(self) -> Mapping[str, Type]:
        """The types of the output ports, the main one first."""

    def initial(self, at: Scope) -> Memory:
        """The memory before the first step."""
        return {}

    def prepare(self, at: Scope, arrivals: Arrivals) -> Values:
        """The values that are equal in all steps of a call: of each input port the sum."""
        return {port: total(at, values) for port, values in arrivals.items()}

    @abstractmethod
    def step(self, at: Scope, prepared: Values, memory: Memory) -> Memory:
        """One step."""

    @abstractmethod
    def outputs(self, at: Scope, memory: Memory, run: Run) -> Values:
        """The values of the output ports."""

    def slot_of(self, port: str) -> str:
        """The slot of the memory that holds an output port's value, or ""."""
        return ""

    def ends(self) -> bool:
        """Returns whether it has a criterion for being finished; without one it is finished after
        each step."""
        return False

    def goes_on(self, at: Scope, memory: Memory) -> Value:
        """For a mechanism that ends(): whether it is not finished yet."""
        raise NotImplementedError

    def decides_by(self, at: Scope, memory: Memory) -> Sequence[Value]:
        """For a mechanism that ends(): the values that its criterion compares."""
        raise NotImplementedError

    def is_undefined(self, at: Scope, memory: Memory) -> Value:
        """For a mechanism that ends(): whether it compares NaN, and so neither goes on nor is
        finished."""
        return undefined(at.build, *self.decides_by(at, memory))

    def is_unfinished(self, at: Scope, memory: Memory) -> Value:
        """For a mechanism that ends(): whether it goes on, or can never be finished."""
        return at.build.or_(self.goes_on(at, memory), self.is_undefined(at, memory))

    def free_ports(self) -> frozenset[str]:
        """Input ports that need no projection and no input."""
        return frozenset()

    def own_scope(self) -> Any:
        """The component whose numbers are parameters of the model: itself."""
        return self


@dataclass(frozen=True, eq=False, kw_only=True)
class MemoryPorts(Mechanism):
    """A mechanism each of whose output ports has a slot of its memory: the one of its name."""

    def slot_of(self, port: str) -> str:
        return port

    def outputs(self, at: Scope, memory: Memory, run: Run) -> Values:
        return {port: memory[self.slot_of(port)] for port in self.ports()}


@dataclass(frozen=True, eq=False, kw_only=True)
class Recurrent:
    """A projection of a mechanism to itself: `matrix`, or `auto` on the diagonal and `hetero`
    elsewhere; rows are senders. pattern: a constant matrix that replaces both; `auto` multiplies
    it, and its zeros are no connections."""

    auto: Number = number(1.0)
    hetero: Number = number(0.0)
    matrix: Number | None = number(None)
    pattern: Array | None = None

    def emit(self, at: Scope, activity: Value) -> Value:
        build, n = at.build, activity.type.size
        if self.pattern is not None:
            return self._patterned(at, activity, self.pattern)
        if self.matrix is not None:
            matrix = at["matrix"]
            if matrix.type.shape != (n, n):
                raise ModelError(
                    f"the recurrent matrix of `{at.component}` has shape {matrix.type.shape}; "
                    f"its activity of shape {activity.type.shape} needs ({n}, {n})"
                )
            return build.op("dot", activity, matrix)
        if at.is_always("hetero", 0.0):
            return at.times(activity, "auto")
        auto, hetero = at["auto"], at["hetero"]
        if at.exact:
            cells = [auto if i == j else hetero for i in range(n) for j in range(n)]
            return build.op("dot", activity, build.stack(cells, (n, n)))
        # auto * y + hetero * (sum - y), without a matrix.
        others = build.mul(hetero, build.op("sum", activity))
        if at.is_always("auto", 0.0):
            return build.fma(build.neg(hetero), activity, others)
        return build.fma(build.sub(auto, hetero), activity, others)

    @staticmethod
    def _patterned(at: Scope, activity: Value, pattern: Array) -> Value:
        """Weights are auto * pattern; a sum over the connections of each unit."""
        build, n = at.build, activity.type.size
        if pattern.shape != (n, n):
            raise ModelError(
                f"the recurrent pattern of `{at.component}` has shape {pattern.shape}; its "
                f"activity needs ({n}, {n})"
            )
        columns = []
        for weights in pattern.T:
            terms = [
                build.mul(build.extract(activity, k), build.mul(at["auto"], float(weight)))
                for k, weight in enumerate(weights)
                if weight
            ]
            columns.append(total(at, terms) if terms else build.constant(0.0))
        return build.stack(columns)


@dataclass(frozen=True, eq=False, kw_only=True)
class Transfer(Mechanism):
    """function(integrator(input)) of `size` units, with noise, recurrence and a criterion.

    noise: added to the input; only without an integrator, which has a noise of its own.
    clip: (least, most) of each unit's activity.
    winners: shifts what the function takes (winners.py).
    until: when it is finished (criteria.py); None: after each step.
    initial_activity: what the layer itself, or a mechanism of a cycle, receives of it before its
      first step; None: the function of the integrator's initial value.
    Output port: `value`.
    """

    size: int = 1
    function: TransferFunction = part(Linear())
    integrator: Integrator | None = part()
    noise: Distribution | None = part()
    recurrent: Recurrent | None = part()
    clip: tuple[float, float] | None = None
    until: Criterion | None = part()
    winners: KWinners | None = part()
    initial_activity: Number | None = number(None)

    def __post_init__(self) -> None:
        if self.integrator is not None and self.noise is not None:
            raise ModelError(
                f"`{self.name}` has an integrator and a noise beside it; give the noise to the "
                "integrator"
            )
        if self.until is not None and self.size < self.until.units:
            raise ModelError(
                f"`{self.name}` has {self.size} units; {type(self.until).__name__} takes "
                f"{self.until.units} or more"
            )
        if self.winners is not None:
            self.winners.count(self.size)
        if self.clip is not None and not self.clip[0] <= self.clip[1]:
            raise ModelError(f"clip of `{self.name}` is {self.clip}; it must be (least, most)")

    def arrivals(self) -> Mapping[str, tuple[int, ...]]:
        return {"input": (self.size,)}

    def ports(self) -> Mapping[str, Type]:
        return {"value": Type(DType.F64, (self.size,))}

    def initial(self, at: Scope) -> Memory:
        """PsyNeuLink's reset: the function of the integrator's initial value."""
        build, memory = at.build, {}
        state = build.constant(0.0, Type(DType.F64, (self.size,)))
        if self.integrator is not None:
            state = memory["state"] = filled(at.part("integrator"), "initial", self.size)
        if self.initial_activity is not None:
            memory["activity"] = filled(at, "initial_activity", self.size)
        elif self._keeps_activity():
            memory["activity"] = self._activity(at, state)
        if self.until is not None and self.until.compares:
            memory["before"] = memory["activity"]
        return memory

    def _keeps_activity(self) -> bool:
        kept = self.recurrent is not None or self.initial_activity is not None
        return self.integrator is None or kept or self.until is not None

    def _activity(self, at: Scope, state: Value) -> Value:
        if self.winners is not None:
            inner = at.part("winners")
            with inner.origin():
                state = self.winners.emit(inner, state)
        value = emit_part(at, "function", state)
        if self.clip is None:
            return value
        least, most = self.clip
        return at.build.op("min", at.build.op("max", value, least), most)

    def prepare(self, at: Scope, arrivals: Arrivals) -> Values:
        # In `exact` the recurrent input is added first, so no sum can be computed beforehand.
        return {f"arrival{k}": value for k, value in enumerate(arrivals["input"])}

    def step(self, at: Scope, prepared: Values, memory: Memory) -> Memory:
        build, terms = at.build, list(prepared.values())
        if self.recurrent is not None:
            inner = at.part("recurrent")
            with inner.origin():
                terms.insert(0, self.recurrent.emit(inner, memory["activity"]))
        with at.origin(port="input"):
            x = total(at, terms)
        if self.integrator is None:
            noise = sampled(at, x.type.shape)
            state = x if noise is None else build.add(x, noise)
        else:
            inner = at.part("integrator")
            with inner.origin():
                state = self.integrator.emit(inner, memory["state"], x)
        after = {} if self.integrator is None else {"state": state}
        if self._keeps_activity():
            after["activity"] = self._activity(at, state)
        if self.until is not None and self.until.compares:
            after["before"] = memory["activity"]
        return after

    def slot_of(self, port: str) -> str:
        return "activity" if self._keeps_activity() else ""

    def outputs(self, at: Scope, memory: Memory, run: Run) -> Values:
        return {"value": memory.get("activity") or self._activity(at, memory["state"])}

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


def without_input(mechanism: Mechanism, at: Scope) -> Memory:
    """The memory after a step with zeros: PsyNeuLink calls a function so when it builds the
    mechanism."""
    shapes = mechanism.arrivals()
    zeros = {port: at.build.constant(0.0, Type(DType.F64, shape)) for port, shape in shapes.items()}
    return mechanism.step(at, zeros, {})


def filled(at: Scope, field: str, size: int) -> Value:
    """A parameter as a vector: a number stands for all elements. ModelError: another shape."""
    value = at[field]
    if value.type.shape == (size,):
        return value
    if value.type.shape:
        raise ModelError(
            f"`{field}` of `{at.component}` has shape {value.type.shape}; it needs () or ({size},)"
        )
    return at.build.stack([value] * size)
