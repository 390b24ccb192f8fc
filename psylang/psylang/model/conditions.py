"""Conditions for running a mechanism: over passes, calls, and computed values.

The names and meanings are PsyNeuLink's (docs/semantics.md, 7). Counts are per trial, and count
calls by the scheduler: a mechanism that runs 900 steps in one call was called once. A condition
that only counts is decided while the model is compiled; one that reads values is a predicate.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol

from psylang.ir.graph import Value
from psylang.model.errors import ModelError

if TYPE_CHECKING:
    from psylang.model.mechanism import Mechanism

Count = int | Value
Truth = bool | Value


class Clock(Protocol):
    """The queries of conditions. Known numbers are plain, others are values of the IR."""

    @property
    def passes(self) -> Count: ...
    @property
    def everyone(self) -> tuple[str, ...]: ...
    def calls(self, node: str) -> Count: ...
    def calls_since(self, node: str, owner: str) -> Count: ...
    def just_ran(self, node: str) -> Truth: ...
    def finished(self, node: str) -> Truth: ...
    def times(self, condition: Condition) -> Count: ...
    def ask(self, function: Callable[..., object], nodes: tuple[str, ...]) -> Truth: ...
    def at_least(self, count: Count, n: int) -> Truth: ...
    def multiple_of(self, count: Count, n: int) -> Truth: ...
    def both(self, a: Truth, b: Truth) -> Truth: ...
    def negated(self, a: Truth) -> Truth: ...


NodeName = "str | Mechanism"


def _name(node: str | Mechanism) -> str:
    return node if isinstance(node, str) else node.name


def _at_least(what: str, n: int, least: int) -> None:
    if isinstance(n, bool) or not isinstance(n, int) or n < least:
        raise ModelError(f"{what} takes a whole number of at least {least}, not {n!r}")


class Condition(ABC):
    """Evaluated for each node of a consideration set, in each pass."""

    @abstractmethod
    def holds(self, clock: Clock, owner: str) -> Truth:
        """Whether the owner may run now."""

    def parts(self) -> tuple[Condition, ...]:
        """The conditions of which it consists."""
        return ()

    def nodes(self) -> tuple[str, ...]:
        """The mechanisms that the condition names."""
        return ()

    def walk(self) -> Iterator[Condition]:
        """The condition and all its parts."""
        yield self
        for one in self.parts():
            yield from one.walk()


@dataclass(frozen=True)
class _OfPasses(Condition):
    """Compares the number of the pass with n, which is at least `least`."""

    least: ClassVar[int] = 0
    n: int

    def __post_init__(self) -> None:
        _at_least(type(self).__name__, self.n, self.least)


@dataclass(frozen=True, init=False)
class _OfNode(Condition):
    """A condition on one node."""

    node: str

    def __init__(self, node: str | Mechanism) -> None:
        object.__setattr__(self, "node", _name(node))

    def nodes(self) -> tuple[str, ...]:
        return (self.node,)


@dataclass(frozen=True, init=False)
class _OfCalls(_OfNode):
    """Compares a number of the node's calls with n, which is at least `least`."""

    least: ClassVar[int] = 0
    n: int

    def __init__(self, node: str | Mechanism, n: int) -> None:
        _at_least(type(self).__name__, n, self.least)
        super().__init__(node)
        object.__setattr__(self, "n", n)


@dataclass(frozen=True)
class Always(Condition):
    """In every pass."""

    def holds(self, clock: Clock, owner: str) -> Truth:
        return True


@dataclass(frozen=True)
class Never(Condition):
    """In no pass."""

    def holds(self, clock: Clock, owner: str) -> Truth:
        return False


class AtPass(_OfPasses):
    """In pass n; the first is 0."""

    def holds(self, clock: Clock, owner: str) -> Truth:
        after = clock.negated(clock.at_least(clock.passes, self.n + 1))
        return clock.both(clock.at_least(clock.passes, self.n), after)


class BeforePass(_OfPasses):
    """In passes 0 … n - 1."""

    def holds(self, clock: Clock, owner: str) -> Truth:
        return clock.negated(clock.at_least(clock.passes, self.n))


class AfterPass(_OfPasses):
    """In passes n + 1 and on."""

    def holds(self, clock: Clock, owner: str) -> Truth:
        return clock.at_least(clock.passes, self.n + 1)


class AfterNPasses(_OfPasses):
    """When n passes have ended: in passes n and on."""

    def holds(self, clock: Clock, owner: str) -> Truth:
        return clock.at_least(clock.passes, self.n)


class EveryNPasses(_OfPasses):
    """In passes 0, n, 2 n …"""

    least = 1

    def holds(self, clock: Clock, owner: str) -> Truth:
        return clock.multiple_of(clock.passes, self.n)


@dataclass(frozen=True)
class TimeInterval(Condition):
    """In passes from `start` to `end` (inclusive), every `repeat` of them, in units of a model's
    time: a pass takes `pass_time`. All four in the same unit."""

    repeat: float | None = None
    start: float = 0.0
    end: float | None = None
    pass_time: float = 1.0

    def __post_init__(self) -> None:
        for name, time in (("repeat", self.repeat), ("start", self.start), ("end", self.end)):
            if time is None:
                continue
            passes, least = time / self.pass_time, 1 if name == "repeat" else 0
            if abs(passes - round(passes)) > 1e-9 or passes < least:
                raise ModelError(
                    f"{name} of TimeInterval is {time:g}; it must be a multiple of the time of a "
                    f"pass, {self.pass_time:g}"
                )

    def holds(self, clock: Clock, owner: str) -> Truth:
        start = round(self.start / self.pass_time)
        result = clock.at_least(clock.passes, start)
        if self.end is not None:
            past = clock.at_least(clock.passes, round(self.end / self.pass_time) + 1)
            result = clock.both(result, clock.negated(past))
        if self.repeat is not None:
            now = clock.passes
            every = round(self.repeat / self.pass_time)
            if start % every:
                raise ModelError(
                    f"TimeInterval starts at {self.start:g}, which is no multiple of its "
                    f"repeat, {self.repeat:g}"
                )
            result = clock.both(result, clock.multiple_of(now, every))
        return result


class AfterNCalls(_OfCalls):
    """When the node has run n times or more in this trial."""

    def holds(self, clock: Clock, owner: str) -> Truth:
        return clock.at_least(clock.calls(self.node), self.n)


class EveryNCalls(_OfCalls):
    """When the node has run n times or more since the owner last ran."""

    least = 1

    def holds(self, clock: Clock, owner: str) -> Truth:
        return clock.at_least(clock.calls_since(self.node, owner), self.n)


class JustRan(_OfNode):
    """When the node ran in the time step before."""

    def holds(self, clock: Clock, owner: str) -> Truth:
        return clock.just_ran(self.node)


class WhenFinished(_OfNode):
    """When the node's own criterion of being finished holds."""

    def holds(self, clock: Clock, owner: str) -> Truth:
        return clock.finished(self.node)


@dataclass(frozen=True, init=False)
class AllHaveRun(Condition):
    """When each of the nodes has run in this trial; without nodes: all nodes of the model."""

    names: tuple[str, ...]

    def __init__(self, *nodes: str | Mechanism) -> None:
        object.__setattr__(self, "names", tuple(map(_name, nodes)))

    def nodes(self) -> tuple[str, ...]:
        return self.names

    def holds(self, clock: Clock, owner: str) -> Truth:
        result: Truth = True
        for node in self.names or clock.everyone:
            result = clock.both(result, clock.at_least(clock.calls(node), 1))
        return result
