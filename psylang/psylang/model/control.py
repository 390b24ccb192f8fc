"""Control by grid search: try every allocation in a simulated trial, then run the best one; or run
a trial, and then search the allocation of the next one.

An allocation is a level for each signal; a signal changes a parameter while it is in force. All
points of the grid are tried in order, the last signal fastest; the first of equal ones wins. All of
them, and the trial that follows, have the same noise (common random numbers), as in PsyNeuLink.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from psylang.ir.graph import Origin, Value
from psylang.ir.types import I32, DType
from psylang.model.context import Change, Changes, Context
from psylang.model.costs import Cost, DurationCost
from psylang.model.errors import ModelError
from psylang.model.estimates import Reseeding
from psylang.model.parameters import Parameter
from psylang.model.rules import Modulation, Signal, changed

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


@dataclass(frozen=True)
class Past:
    """level: the level before a search. spent: the sum of a duration cost before it."""

    level: Value
    spent: Value


@dataclass(frozen=True)
class ControlSignal:
    """A parameter, the levels at which it is tried, and their costs.

    modulation: parameter * level, parameter + level, or the level itself. initial: the level before
    a sequence's first search, in force in the first trial if the search runs after trials; None:
    the first of the levels.
    cost: of the level. adjustment: of the level less the one before. duration: of levels so far;
    a signal that has it has no other cost, because PsyNeuLink does not run one. A signal's costs
    are added, and a sum below 0 counts as 0.
    """

    parameter: str | Parameter
    levels: Evenly | Listed | Sequence[float]
    modulation: Modulation = "multiplicative"
    cost: Cost | None = None
    initial: float | None = None
    adjustment: Cost | None = None
    duration: DurationCost | None = None

    def __post_init__(self) -> None:
        if self.duration is not None and (self.cost or self.adjustment):
            raise ModelError(
                f"`{self.name}` has a duration cost and another one, which PsyNeuLink does "
                "not run; give it one of them"
            )
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

    def charged(self, context: Context, level: Value, before: Past) -> Value | None:
        """The cost of a level; None without costs."""
        build, parts = context.build, []
        if self.cost is not None:
            parts.append(self.cost.emit(context, level))
        if self.adjustment is not None:
            parts.append(self.adjustment.emit(context, build.sub(level, before.level)))
        if self.duration is not None:
            parts.append(self.duration.emit(context, before.spent, level))
        if not parts:
            return None
        added = parts[0] if len(parts) == 1 else build.add(*parts)
        return build.op("max", added, 0.0)

    def modulated(self, level: Value) -> Change:
        """A function from a builder (a rehearsal has its own) and a parameter to its new value."""
        return lambda build, value: changed(build, self.name, self.modulation, value, level)


@dataclass(frozen=True)
class GridSearch:
    """Finds the allocation with the best outcome less its costs.

    objective: the mechanism (and output port) whose first element is the outcome.
    num_estimates: simulations of each allocation, whose outcomes are averaged; each
      has its own noise, the same for all allocations, and in `exact` the same in each trial of a
      sequence. None: one simulation, with the noise of the trial that follows.
    reseeding: the noise of estimates is PsyNeuLink's, another one in each trial; the trial that
      follows has the noise of the first estimate.
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
    reseeding: Reseeding | None = None

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
        if self.reseeding is not None and count is None:
            raise ModelError("reseeding is of estimates; give num_estimates")
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

    def changes(self, levels: Sequence[Value]) -> Changes:
        """An allocation's changes of parameters."""
        pairs = zip(self.signals, levels, strict=True)
        return {signal.name: signal.modulated(level) for signal, level in pairs}

    @property
    def remembers(self) -> bool:
        """Returns whether the level of a trial has a meaning for the next search."""
        return self.after or any(signal.adjustment is not None for signal in self.signals)

    def loss(
        self, context: Context, outcome: Value, levels: Sequence[Value], past: Sequence[Past]
    ) -> Value:
        """The loss; the best allocation has the least."""
        build = context.build
        with build.at(Origin(self.name, "", "cost")):
            net, costs = outcome, []
            for signal, level, before in zip(self.signals, levels, past, strict=True):
                cost = signal.charged(context, level, before)
                if cost is not None:
                    costs.append(cost)
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
