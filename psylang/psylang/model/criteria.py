"""Criteria for the end of a mechanism that runs many steps.

PsyNeuLink's: of a mechanism with a threshold the largest activity, or by how much it is above the
next one (max vs next) or above the mean of the others (max vs average; McMillen & Holmes 2006); of
an integrating mechanism without one, that its activity settled.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

from psylang.ir.graph import Value
from psylang.ir.types import I32
from psylang.model.context import Scope
from psylang.model.parameters import Number, number


class Criterion(Protocol):
    """goes_on(): whether it is not finished, given the activity and, if `compares`, the previous
    activity. bound(): the value with which it compares. units: the least number of units."""

    @property
    def units(self) -> int: ...
    @property
    def compares(self) -> bool: ...
    def goes_on(self, at: Scope, activity: Value, before: Value | None) -> Value: ...
    def bound(self, at: Scope) -> Value: ...


@dataclass(frozen=True, eq=False, kw_only=True)
class AtLeast:
    """The largest activity is at or above the threshold."""

    threshold: Number = number()
    units: ClassVar[int] = 1
    compares: ClassVar[bool] = False

    def bound(self, at: Scope) -> Value:
        return at["threshold"]

    def goes_on(self, at: Scope, activity: Value, before: Value | None) -> Value:
        return at.build.lt(largest(at, activity), self.bound(at))


@dataclass(frozen=True, eq=False, kw_only=True)
class MaxVsNext:
    """The largest activity is above the next one by the threshold or more."""

    threshold: Number = number()
    units: ClassVar[int] = 2
    compares: ClassVar[bool] = False

    def bound(self, at: Scope) -> Value:
        return at["threshold"]

    def goes_on(self, at: Scope, activity: Value, before: Value | None) -> Value:
        build = at.build
        units = [build.extract(activity, k) for k in range(activity.type.size)]
        first, second = build.op("max", units[0], units[1]), build.op("min", units[0], units[1])
        for unit in units[2:]:
            second = build.op("max", second, build.op("min", first, unit))
            first = build.op("max", first, unit)
        return build.lt(build.sub(first, second), self.bound(at))


@dataclass(frozen=True, eq=False, kw_only=True)
class MaxVsAverage:
    """The largest activity is above the mean of the others by the threshold or more."""

    threshold: Number = number()
    units: ClassVar[int] = 2
    compares: ClassVar[bool] = False

    def bound(self, at: Scope) -> Value:
        return at["threshold"]

    def goes_on(self, at: Scope, activity: Value, before: Value | None) -> Value:
        build, first = at.build, largest(at, activity)
        others = build.sub(build.op("sum", activity), first)
        mean = build.div(others, float(activity.type.size - 1))
        return build.lt(build.sub(first, mean), self.bound(at))


@dataclass(frozen=True, eq=False, kw_only=True)
class Settled:
    """No unit's activity changed by more than the tolerance."""

    tolerance: Number = number(1e-3, least=0.0)
    units: ClassVar[int] = 1
    compares: ClassVar[bool] = True

    def bound(self, at: Scope) -> Value:
        return at["tolerance"]

    def goes_on(self, at: Scope, activity: Value, before: Value | None) -> Value:
        assert before is not None
        change = largest(at, at.build.abs(at.build.sub(activity, before)))
        return at.build.op("gt", change, self.bound(at))


def largest(at: Scope, activity: Value) -> Value:
    """The largest element."""
    return at.build.op("reduce_max", activity) if activity.type.shape else activity


def winner(at: Scope, activity: Value) -> Value:
    """The number (i32) of the first unit of the largest activity."""
    build = at.build
    best, index = build.extract(activity, 0), build.constant(0, I32)
    for k in range(1, activity.type.size):
        unit = build.extract(activity, k)
        better = build.op("gt", unit, best)
        best, index = build.select(better, unit, best), build.select(better, k, index)
    return index
