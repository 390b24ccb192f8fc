"""The linear ballistic accumulator: a race of straight lines, without noise within a trial.

Brown & Heathcote (2008): accumulator i begins at a uniform number in [0, start_range) and rises by
a drift of its own, normal with mean input[i]; the first one at the threshold gives choice and time.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from psylang.ir.graph import Value
from psylang.ir.types import I32, DType, Type
from psylang.model.context import Scope, total
from psylang.model.decision import DECISION_PORTS, NAN, decided
from psylang.model.errors import ModelError
from psylang.model.mechanism import Arrivals, Mechanism, Memory, Run, Values
from psylang.model.parameters import Number, number
from psylang.model.rules import Relation


@dataclass(frozen=True, eq=False, kw_only=True)
class LBA(Mechanism):
    """`size` accumulators; the input has the mean drift of each.

    drift_deviation: standard deviation of a drift. start_range: width of the range of starts, from
    0 on. deadline: a trial in which no accumulator is at the threshold by this time, because none
    rises or none fast enough, is cut off: truncated, choice -1, the deadline as decision time.
    Output ports: value (the times of the accumulators, the deadline at most) and those of a
    decision. ModelError: fewer than two accumulators; reset="never", as draws belong to a trial.
    """

    size: int = 2
    threshold: Number = number(1.0, above=0.0)
    start_range: Number = number(0.5, least=0.0)
    drift_deviation: Number = number(1.0, least=0.0)
    non_decision_time: Number = number(0.0, least=0.0)
    deadline: Number = number(1000.0, above=0.0)
    max_steps: int = 1
    relations: ClassVar = (Relation("start_range", "within", "threshold"),)

    def __post_init__(self) -> None:
        if self.size < 2:
            raise ModelError(f"`{self.name}` has {self.size} accumulators; a race takes two")
        if self.reset != "trial":
            raise ModelError(f"`{self.name}` draws anew in each trial; leave reset='trial'")

    def arrivals(self) -> Mapping[str, tuple[int, ...]]:
        return {"input": (self.size,)}

    def ports(self) -> Mapping[str, Type]:
        return {"value": Type(DType.F64, (self.size,)), **DECISION_PORTS}

    def initial(self, at: Scope) -> Memory:
        late = at.build.constant(math.inf)
        return {"times": at.build.stack([late] * self.size)}

    def prepare(self, at: Scope, arrivals: Arrivals) -> Values:
        return {"drift": total(at, arrivals["input"])}

    def step(self, at: Scope, prepared: Values, memory: Memory) -> Memory:
        return {"times": at.each((self.size,), lambda k: self._time(at, prepared["drift"], k))}

    def _time(self, at: Scope, drift: Value, number: int) -> Value:
        """The time of an accumulator at the threshold; infinite if it does not rise."""
        build, one = at.build, at.for_element(number, self.size)
        rise = build.fma(
            one.draw("normal", "drift"), at["drift_deviation"], build.extract(drift, number)
        )
        start = build.mul(one.draw("uniform", "start"), at["start_range"])
        time = build.div(build.sub(at["threshold"], start), rise)
        never = build.constant(math.inf)
        # NaN stays NaN.
        return build.select(build.op("le", rise, 0.0), never, time)

    def ends(self) -> bool:
        return True

    def goes_on(self, at: Scope, memory: Memory) -> Value:
        first = at.build.op("reduce_min", memory["times"])
        return at.build.op("gt", first, at["deadline"])

    def decides_by(self, at: Scope, memory: Memory) -> Sequence[Value]:
        return [memory["times"]]

    def outputs(self, at: Scope, memory: Memory, run: Run) -> Values:
        build, times = at.build, memory["times"]
        with at.origin(port="choice"):
            first, choice = build.extract(times, 0), build.constant(0, I32)
            for number in range(1, self.size):
                one = build.extract(times, number)
                earlier = build.lt(one, first)
                first = build.select(earlier, one, first)
                choice = build.select(earlier, build.constant(number, I32), choice)
            undecided = self.is_unfinished(at, memory)
            choice = build.select(undecided, build.constant(-1, I32), choice)
        with at.origin(port="response_time"):
            time = build.op("min", first, at["deadline"])
            time = build.add(time, at["non_decision_time"])
            time = build.select(self.is_undefined(at, memory), NAN, time)
        bounded = build.op("min", times, at["deadline"])
        return {"value": bounded, **decided(at, time, choice, run)}


__all__ = ["LBA"]
