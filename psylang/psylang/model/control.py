"""Control by grid search: try every allocation in a simulated trial, then run the best one; or run
a trial, and then search the allocation of the next one.

An allocation is a level for each signal; a signal changes a parameter while it is in force. All
points of the grid are tried in order, the last signal fastest; the first of equal ones wins. All of
them, and the trial that follows, have the same noise (common random numbers), as in PsyNeuLink.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from psylang.ir.builder import Builder
from psylang.ir.graph import Origin, Value
from psylang.ir.types import I32, DType
from psylang.model.context import Context
from psylang.model.errors import ModelError
from psylang.model.parameters import Parameter
from psylang.model.rules import Modulation, Signal

LISTED_MAX = 64


@dataclass(frozen=True)
class Evenly:
    """`count` levels from `start` to `stop`: start + (stop - start) * k / (count - 1)."""

    start: float
    stop: float
    count: int

    def __post_init__(self) -> None:
        if isinstance(self.count, bool) or not isinstance(self.count, int) or self.count < 1:
            raise ModelError(f"levels are a whole number of at least 1, not {self.count!r}")
        if not np.all(np.isfinite([self.start, self.stop])):
            raise ModelError(f"levels from {self.start} to {self.stop} must be finite")

    def values(self) -> list[float]:
        last = max(self.count - 1, 1)
        return [self.start + (self.stop - self.start) * k / last for k in range(self.count)]

    def at(self, context: Context, digit: Value) -> Value:
        build, width, last = context.build, self.stop - self.start, max(self.count - 1, 1)
        number = build.convert(digit, DType.F64)
        if context.exact:
            return build.add(build.div(build.mul(number, width), float(last)), self.start)
        return build.fma(number, width / last, self.start)


@dataclass(frozen=True)
class Listed:
    """Levels one by one."""

    levels: tuple[float, ...]

    def __post_init__(self) -> None:
        if not 1 <= len(self.levels) <= LISTED_MAX or not np.all(np.isfinite(self.levels)):
            raise ModelError(
                f"{len(self.levels)} listed levels; there must be 1 to {LISTED_MAX}, all finite; "
                "more are for Evenly(start, stop, count)"
            )

    @property
    def count(self) -> int:
        return len(self.levels)

    def values(self) -> list[float]:
        return list(self.levels)

    def at(self, context: Context, digit: Value) -> Value:
        build, value = context.build, context.build.constant(self.levels[0])
        for k, level in enumerate(self.levels[1:], 1):
            value = build.select(build.op("eq", digit, k), level, value)
        return value


class Cost(Protocol):
    """The cost of a signal's level, as a function of the level."""

    def emit(self, context: Context, level: Value) -> Value: ...


@dataclass(frozen=True)
class ExponentialCost:
    """e**(rate * level + bias), as the default of PsyNeuLink's intensity cost."""

    rate: float = 1.0
    bias: float = 0.0

    def emit(self, context: Context, level: Value) -> Value:
        build = context.build
        power = build.add(build.mul(level, self.rate), self.bias)
        if context.exact:
            return build.op("pow", build.constant(float(np.e)), power)
        return build.op("exp", power)


@dataclass(frozen=True)
class LinearCost:
    """slope * level + intercept."""

    slope: float = 1.0
    intercept: float = 0.0

    def emit(self, context: Context, level: Value) -> Value:
        build = context.build
        return build.add(build.mul(level, self.slope), self.intercept)


@dataclass(frozen=True)
class ControlSignal:
    """A parameter, the levels at which it is tried, and their costs.

    modulation: parameter * level, parameter + level, or the level itself. initial: the level of a
    sequence's first trial, if the search runs after trials; None: the first of the levels.
    """

    parameter: str | Parameter
    levels: Evenly | Listed | Sequence[float]
    modulation: Modulation = "multiplicative"
    cost: Cost | None = None
    initial: float | None = None

    def __post_init__(self) -> None:
        if self.initial is not None and not np.isfinite(self.initial):
            raise ModelError(f"initial of `{self.name}` is {self.initial}; it must be finite")

    @property
    def first(self) -> float:
        """The level of a sequence's first trial."""
        return self.grid.values()[0] if self.initial is None else float(self.initial)

    @property
    def name(self) -> str:
        return self.parameter if isinstance(self.parameter, str) else self.parameter.name

    @property
    def grid(self) -> Evenly | Listed:
        if isinstance(self.levels, Evenly | Listed):
            return self.levels
        return Listed(tuple(map(float, self.levels)))

    def signal(self) -> Signal:
        """The range of the parameter's values at these levels."""
        values = [*self.grid.values(), self.first]
        return Signal(min(values), max(values), self.modulation)

    def modulated(self, level: Value) -> Callable[[Builder, Value], Value]:
        """A function from a builder (a rehearsal has its own) and a parameter to its new value."""
        match self.modulation:
            case "multiplicative":
                return lambda build, value: build.mul(value, level)
            case "additive":
                return lambda build, value: build.add(value, level)
            case "override":
                return lambda build, value: level
        raise ModelError(
            f"modulation of `{self.name}` is {self.modulation!r}; it must be multiplicative, "
            "additive or override"
        )


@dataclass(frozen=True)
class GridSearch:
    """Finds the allocation with the best outcome less its costs.

    objective: the mechanism (and output port) whose first element is the outcome.
    num_estimates: simulations of each allocation, whose outcomes are averaged; each
      has its own noise, the same for all allocations, and in `exact` the same in each trial of a
      sequence. None: one simulation, with the noise of the trial that follows.
    after: the search runs after each trial, with its inputs and the states that it left, and sets
      the levels of the next one (PsyNeuLink's default). With noise only in `exact`, where the
      candidates and the next trial meet the same noise.
    """

    signals: Sequence[ControlSignal]
    objective: str
    objective_port: str = ""
    direction: Literal["maximize", "minimize"] = "maximize"
    num_estimates: int | None = None
    after: bool = False
    name: str = "control"

    def __post_init__(self) -> None:
        if not self.signals:
            raise ModelError("a search over no signals; give one ControlSignal or more")
        if self.direction not in ("maximize", "minimize"):
            raise ModelError(f"direction is {self.direction!r}; it is maximize or minimize")
        count = self.num_estimates
        if count is not None and (isinstance(count, bool) or not isinstance(count, int)):
            raise ModelError(f"num_estimates is {count!r}; it must be a whole number or None")
        if count is not None and not 1 <= count < 2**31:
            raise ModelError(f"num_estimates is {count}; it must be 1 … 2**31 - 1")
        names = [signal.name for signal in self.signals]
        if len(set(names)) != len(names):
            raise ModelError(f"signals {names} name a parameter twice; give each one signal")
        if self.candidates >= 2**31:
            raise ModelError(f"{self.candidates} allocations; a search takes less than 2**31")

    @property
    def candidates(self) -> int:
        count = 1
        for signal in self.signals:
            count *= signal.grid.count
        return count

    def allocation(self, context: Context, candidate: Value) -> list[Value]:
        """The level of each signal at a point of the grid."""
        build, levels = context.build, []
        rest = candidate
        for index, signal in reversed(list(enumerate(self.signals))):
            with build.at(Origin(self.name, "", signal.name)):
                count = signal.grid.count
                digit = build.op("urem", rest, count) if index else rest
                levels.append(signal.grid.at(context, digit))
                rest = build.op("udiv", rest, count) if index else rest
        return levels[::-1]

    def apply(self, context: Context, levels: Sequence[Value]) -> None:
        """Puts an allocation in force."""
        for signal, level in zip(self.signals, levels, strict=True):
            context.modulated[signal.name] = signal.modulated(level)

    def loss(self, context: Context, outcome: Value, levels: Sequence[Value]) -> Value:
        """The loss; the best allocation has the least."""
        build = context.build
        with build.at(Origin(self.name, "", "cost")):
            net, costs = outcome, []
            for signal, level in zip(self.signals, levels, strict=True):
                if signal.cost is not None:
                    cost = signal.cost.emit(context, level)
                    costs.append(build.op("max", cost, 0.0))
            if costs:
                total = costs[0]
                for cost in costs[1:]:
                    total = build.add(total, cost)
                net = build.sub(outcome, total)
            return build.neg(net) if self.direction == "maximize" else net

    def search(self, context: Context, loss: Callable[[Value], Value]) -> list[Value]:
        """The levels of the best allocation; if all losses are NaN, the first allocation's."""
        build = context.build
        with build.at(Origin(self.name)):
            with context.inside():
                number, _ = build.argmin(build.constant(self.candidates, I32), loss)
            return self.allocation(context, build.op("max", number, 0))
