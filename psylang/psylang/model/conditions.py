"""Conditions for running a mechanism: over passes, steps, trials, calls, and computed values.

The names and meanings are PsyNeuLink's (docs/semantics.md, 7). Counts are calls by the scheduler: a
mechanism that runs 900 steps in one call was called once. Each count has a scale: since the
pass, the trial or the run (a sequence of trials) began. A condition that counts within a trial is
decided while the model is compiled; one that counts over trials, or that reads values, is a
predicate.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol, get_args

from psylang.ir.graph import Value
from psylang.model.errors import ModelError

if TYPE_CHECKING:
    from psylang.model.mechanism import Mechanism

Count = int | Value
Truth = bool | Value
Scale = Literal["pass", "trial", "run"]
Unit = Literal["step", "pass", "trial", "time"]
Places = tuple[tuple[str, str], ...]  # Nodes and their ports.
Counter = tuple[str, Scale, str]  # A unit of time or "calls", since when, and whose calls.


class Clock(Protocol):
    """The queries of conditions. Known numbers are plain, others are values of the IR."""

    @property
    def everyone(self) -> tuple[str, ...]: ...
    def ended(self, unit: Unit, scale: Scale) -> Count: ...
    def calls(self, node: str, scale: Scale = "trial") -> Count: ...
    def calls_since(self, node: str, owner: str) -> Count: ...
    def just_ran(self, node: str) -> Truth: ...
    def finished(self, node: str) -> Truth: ...
    def times(self, condition: Condition) -> Count: ...
    def ask(self, function: Callable[..., object], places: Places) -> Truth: ...
    def plus(self, a: Count, b: Count) -> Count: ...
    def at_least(self, count: Count, n: int) -> Truth: ...
    def multiple_of(self, count: Count, n: int) -> Truth: ...
    def both(self, a: Truth, b: Truth) -> Truth: ...
    def negated(self, a: Truth) -> Truth: ...


def name_of(node: str | Mechanism) -> str:
    return node if isinstance(node, str) else node.name


def check_count(what: str, n: int, least: int) -> None:
    """ModelError: n is no whole number, or less than `least`."""
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

    def counters(self, everyone: tuple[str, ...]) -> tuple[Counter, ...]:
        """The counts that it reads. everyone: all nodes of its schedule."""
        return ()

    def walk(self) -> Iterator[Condition]:
        """The condition and all its parts."""
        yield self
        for one in self.parts():
            yield from one.walk()


def check_scale(what: str, scale: str, scales: tuple[str, ...]) -> None:
    """ModelError: a condition does not count since the beginning of this."""
    if scale not in scales:
        raise ModelError(f"{what} counts since {scale!r}; it is one of {', '.join(scales)}")


class _OfTime(Condition):
    """Compares how many units of time have ended with n."""

    unit: ClassVar[Unit]
    least: ClassVar[int] = 0  # Of n.
    n: int
    scale: Scale

    def counters(self, everyone: tuple[str, ...]) -> tuple[Counter, ...]:
        return ((self.unit, self.scale, ""),)

    def _ended(self, clock: Clock) -> Count:
        return clock.ended(self.unit, self.scale)


@dataclass(frozen=True)
class _OfPasses(_OfTime):
    """scale: passes of this trial, or of the run."""

    unit: ClassVar[Unit] = "pass"
    n: int
    scale: Scale = "trial"

    def __post_init__(self) -> None:
        check_count(type(self).__name__, self.n, self.least)
        check_scale(type(self).__name__, self.scale, ("trial", "run"))


class _OfSteps(_OfPasses):
    """A step runs the mechanisms of a consideration set whose conditions hold. A set of which none
    runs is no step, but a pass in which none runs is one."""

    unit: ClassVar[Unit] = "step"


@dataclass(frozen=True)
class _OfTrials(_OfTime):
    unit: ClassVar[Unit] = "trial"
    n: int
    scale: Scale = "run"

    def __post_init__(self) -> None:
        check_count(type(self).__name__, self.n, self.least)
        check_scale(type(self).__name__, self.scale, ("run",))


@dataclass(frozen=True, init=False)
class _OfNode(Condition):
    """A condition on one node."""

    node: str

    def __init__(self, node: str | Mechanism) -> None:
        object.__setattr__(self, "node", name_of(node))

    def nodes(self) -> tuple[str, ...]:
        return (self.node,)


@dataclass(frozen=True, init=False)
class _OfCalls(_OfNode):
    """Compares a number of the node's calls with n, which is at least `least`."""

    least: ClassVar[int] = 0
    n: int

    def __init__(self, node: str | Mechanism, n: int) -> None:
        check_count(type(self).__name__, n, self.least)
        super().__init__(node)
        object.__setattr__(self, "n", n)


@dataclass(frozen=True, init=False)
class _OfNodes(Condition):
    """A condition on several nodes; without nodes: on all nodes of the schedule."""

    names: tuple[str, ...]
    scale: Scale

    def __init__(self, *nodes: str | Mechanism, scale: Scale = "trial") -> None:
        check_scale(type(self).__name__, scale, get_args(Scale))
        object.__setattr__(self, "names", tuple(map(name_of, nodes)))
        object.__setattr__(self, "scale", scale)

    def nodes(self) -> tuple[str, ...]:
        return self.names

    def counters(self, everyone: tuple[str, ...]) -> tuple[Counter, ...]:
        return tuple(("calls", self.scale, node) for node in self.names or everyone)


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


def _within(
    clock: Clock,
    now: Count,
    least: int,
    most: int | None,
    every: int | None = None,
    offset: int = 0,
) -> Truth:
    """Whether a count is `least` … `most`, and a multiple of `every` after `offset`."""
    result = clock.at_least(now, least)
    if most is not None:
        result = clock.both(result, clock.negated(clock.at_least(now, most + 1)))
    if every is not None:
        since = clock.plus(now, -offset % every)
        result = clock.both(result, clock.multiple_of(since, every))
    return result


class _At(_OfTime):
    def holds(self, clock: Clock, owner: str) -> Truth:
        return _within(clock, self._ended(clock), self.n, self.n)


class _Before(_OfTime):
    def holds(self, clock: Clock, owner: str) -> Truth:
        return clock.negated(clock.at_least(self._ended(clock), self.n))


class _After(_OfTime):
    def holds(self, clock: Clock, owner: str) -> Truth:
        return clock.at_least(self._ended(clock), self.n + 1)


class _AfterN(_OfTime):
    def holds(self, clock: Clock, owner: str) -> Truth:
        return clock.at_least(self._ended(clock), self.n)


class AtPass(_At, _OfPasses):
    """In pass n; the first is 0."""


class BeforePass(_Before, _OfPasses):
    """In passes 0 … n - 1."""


class AfterPass(_After, _OfPasses):
    """In passes n + 1 and on."""


class AfterNPasses(_AfterN, _OfPasses):
    """When n passes have ended: in passes n and on."""


class EveryNPasses(_OfPasses):
    """In passes 0, n, 2 n …"""

    least = 1

    def holds(self, clock: Clock, owner: str) -> Truth:
        return clock.multiple_of(self._ended(clock), self.n)


class AtStep(_At, _OfSteps):
    """In step n; the first is 0."""


class BeforeStep(_Before, _OfSteps):
    """In steps 0 … n - 1."""


class AfterStep(_After, _OfSteps):
    """In steps n + 1 and on."""


class AfterNSteps(_AfterN, _OfSteps):
    """When n steps have ended: in steps n and on."""


class AtTrial(_At, _OfTrials):
    """In trial n of the run; the first is 0."""


class BeforeTrial(_Before, _OfTrials):
    """In trials 0 … n - 1 of the run."""


class AfterTrial(_After, _OfTrials):
    """In trials n + 1 and on of the run."""


class AfterNTrials(_AfterN, _OfTrials):
    """When n trials of the run have ended: in trials n and on."""


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

    def counters(self, everyone: tuple[str, ...]) -> tuple[Counter, ...]:
        return (("pass", "trial", ""),)

    def holds(self, clock: Clock, owner: str) -> Truth:
        start = self._passes(self.start)
        end = None if self.end is None else self._passes(self.end)
        repeat = None if self.repeat is None else self._passes(self.repeat)
        if repeat is not None and start % repeat:
            raise ModelError(
                f"TimeInterval starts at {self.start:g}, which is no multiple of its "
                f"repeat, {self.repeat:g}"
            )
        return _within(clock, clock.ended("pass", "trial"), start, end, repeat)

    def _passes(self, time: float) -> int:
        return round(time / self.pass_time)


@dataclass(frozen=True)
class AtTimes(Condition):
    """When the schedule's time, in ticks, is `least` … `most`, and a multiple of `every` ticks
    after `offset`. The schedule has a Timing."""

    least: int = 0
    most: int | None = None
    every: int | None = None
    offset: int = 0

    def counters(self, everyone: tuple[str, ...]) -> tuple[Counter, ...]:
        return (("time", "run", ""),)

    def holds(self, clock: Clock, owner: str) -> Truth:
        now = clock.ended("time", "run")
        return _within(clock, now, self.least, self.most, self.every, self.offset)


@dataclass(frozen=True, init=False)
class AfterNCalls(_OfCalls):
    """When the node has run n times or more in this trial, pass or run."""

    scale: Scale

    def __init__(self, node: str | Mechanism, n: int, scale: Scale = "trial") -> None:
        super().__init__(node, n)
        check_scale(type(self).__name__, scale, get_args(Scale))
        object.__setattr__(self, "scale", scale)

    def counters(self, everyone: tuple[str, ...]) -> tuple[Counter, ...]:
        return (("calls", self.scale, self.node),)

    def holds(self, clock: Clock, owner: str) -> Truth:
        return clock.at_least(clock.calls(self.node, self.scale), self.n)


@dataclass(frozen=True, init=False)
class AfterNCallsCombined(_OfNodes):
    """When the nodes together have run n times or more in this trial, pass or run."""

    n: int

    def __init__(self, *nodes: str | Mechanism, n: int, scale: Scale = "trial") -> None:
        check_count(type(self).__name__, n, 0)
        if not nodes:
            raise ModelError("AfterNCallsCombined names no mechanism; give it one or more")
        super().__init__(*nodes, scale=scale)
        object.__setattr__(self, "n", n)

    def holds(self, clock: Clock, owner: str) -> Truth:
        total: Count = 0
        for node in self.names:
            total = clock.plus(total, clock.calls(node, self.scale))
        return clock.at_least(total, self.n)


class EveryNCalls(_OfCalls):
    """When the node has run n times or more since the owner last ran."""

    least = 1

    def holds(self, clock: Clock, owner: str) -> Truth:
        return clock.at_least(clock.calls_since(self.node, owner), self.n)


class JustRan(_OfNode):
    """When the node ran in the time step before; at the beginning of a trial, in the last step of
    the trial before."""

    def holds(self, clock: Clock, owner: str) -> Truth:
        return clock.just_ran(self.node)


class WhenFinished(_OfNode):
    """When the node's own criterion of being finished holds."""

    def counters(self, everyone: tuple[str, ...]) -> tuple[Counter, ...]:
        return (("calls", "trial", self.node),)

    def holds(self, clock: Clock, owner: str) -> Truth:
        return clock.finished(self.node)


class AllHaveRun(_OfNodes):
    """When each of the nodes has run in this trial, pass or run; without nodes: all nodes of the
    model."""

    def holds(self, clock: Clock, owner: str) -> Truth:
        result: Truth = True
        # The last nodes run last: while a plain count is 0, no other count is looked at.
        for node in reversed(self.names or clock.everyone):
            result = clock.both(clock.at_least(clock.calls(node, self.scale), 1), result)
            if result is False:
                break
        return result
