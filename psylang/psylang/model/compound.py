"""Conditions that combine others, or that call a function of the modeller."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from psylang.model.conditions import (
    Clock,
    Condition,
    Truth,
    check_count,
    check_scale,
    name_of,
)
from psylang.model.errors import ModelError

if TYPE_CHECKING:
    from psylang.model.mechanism import Mechanism


@dataclass(frozen=True, init=False)
class All(Condition):
    """Holds when all of its conditions hold."""

    conditions: tuple[Condition, ...]

    def __init__(self, *conditions: Condition) -> None:
        object.__setattr__(self, "conditions", conditions)

    def parts(self) -> tuple[Condition, ...]:
        return self.conditions

    def holds(self, clock: Clock, owner: str) -> Truth:
        result: Truth = True
        for one in self.conditions:
            result = clock.both(result, one.holds(clock, owner))
        return result


@dataclass(frozen=True, init=False)
class Any(Condition):
    """Holds when one of its conditions holds."""

    conditions: tuple[Condition, ...]

    def __init__(self, *conditions: Condition) -> None:
        object.__setattr__(self, "conditions", conditions)

    def parts(self) -> tuple[Condition, ...]:
        return self.conditions

    def holds(self, clock: Clock, owner: str) -> Truth:
        none: Truth = True
        for one in self.conditions:
            none = clock.both(none, clock.negated(one.holds(clock, owner)))
        return clock.negated(none)


@dataclass(frozen=True)
class Not(Condition):
    """Holds when its condition does not hold."""

    condition: Condition

    def parts(self) -> tuple[Condition, ...]:
        return (self.condition,)

    def holds(self, clock: Clock, owner: str) -> Truth:
        return clock.negated(self.condition.holds(clock, owner))


@dataclass(frozen=True, eq=False)
class NWhen(Condition):
    """Holds the first n times in a trial, or in the run, that its condition lets the owner run."""

    condition: Condition
    n: int = 1
    scale: Literal["trial", "run"] = "trial"

    def __post_init__(self) -> None:
        check_count("NWhen", self.n, 1)
        check_scale("NWhen", self.scale, ("trial", "run"))

    def parts(self) -> tuple[Condition, ...]:
        return (self.condition,)

    def holds(self, clock: Clock, owner: str) -> Truth:
        spent = clock.at_least(clock.times(self), self.n)
        return clock.both(clock.negated(spent), self.condition.holds(clock, owner))


@dataclass(frozen=True, eq=False, init=False)
class While(Condition):
    """While a function (psylang.model.function) of outputs of some nodes is true.

    ports: of each node, "" for its main one; without it the main ones.
    """

    ask: Callable[..., object]
    names: tuple[str, ...]
    ports: tuple[str, ...]

    def __init__(
        self,
        ask: Callable[..., object],
        *nodes: str | Mechanism,
        ports: Sequence[str] | None = None,
    ) -> None:
        object.__setattr__(self, "ask", ask)
        names = tuple(map(name_of, nodes))
        object.__setattr__(self, "names", names)
        given = ("",) * len(names) if ports is None else tuple(ports)
        if len(given) != len(names):
            raise ModelError(
                f"While has {len(names)} nodes and {len(given)} ports; name one of each"
            )
        object.__setattr__(self, "ports", given)

    def nodes(self) -> tuple[str, ...]:
        return self.names

    def holds(self, clock: Clock, owner: str) -> Truth:
        return clock.ask(self.ask, tuple(zip(self.names, self.ports, strict=True)))
