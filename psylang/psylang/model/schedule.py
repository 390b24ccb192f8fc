"""The schedule of mechanisms: consideration sets, and passes that are known at compile time.

A trial repeats passes; a pass visits the sets in order; in a set all mechanisms run whose condition
holds, in one time step (docs/semantics.md, 7). If conditions only count within the trial, its
passes are known before it: plan() lists their steps, and the program contains only the numbers of
repetitions of blocks. If they read values, or count over trials, passes.py writes a loop of passes
with predicates.

A nest is a node with a schedule of its own: a call of it is a whole trial of that schedule.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from psylang.ir.graph import Value
from psylang.model.along import Override, Reset
from psylang.model.cells import Cell, Cells, Key, Logic, NotKnownError, default, is_kept
from psylang.model.compound import NWhen
from psylang.model.conditions import (
    AllHaveRun,
    Condition,
    Count,
    EveryNCalls,
    JustRan,
    Places,
    Scale,
    Truth,
    Unit,
)
from psylang.model.errors import ModelError, listed

Sets = tuple[tuple[str, ...], ...]
PERIOD_MAX = 8


def consideration_sets(
    nodes: Sequence[str],
    edges: Sequence[tuple[str, str]],
    groups: Sequence[frozenset[str]] = (),
) -> Sets:
    """Nodes by the length of the longest path to them, each set in alphabetical order.

    groups: nodes that run at once; projections between them imply no order.
    ModelError: a cycle; it names the nodes and the remedy.
    """
    before = predecessors(nodes, edges, groups)
    after: dict[str, list[str]] = {node: [] for node in nodes}
    for node, senders in before.items():
        for sender in senders:
            after[sender].append(node)
    waits = {node: len(senders) for node, senders in before.items()}
    sets: list[tuple[str, ...]] = []
    ready = sorted(node for node, count in waits.items() if not count)
    while ready:
        sets.append(tuple(ready))
        following = []
        for receiver in (receiver for node in ready for receiver in after[node]):
            waits[receiver] -= 1
            if not waits[receiver]:
                following.append(receiver)
        ready = sorted(following)
    left = sorted(node for node, count in waits.items() if count)
    if left:
        raise ModelError(
            f"the mechanisms {listed(left)} wait for one another; make one of the projections "
            "between them with feedback=True: it brings the value of the pass before; or let them "
            "run at once by together(…)"
        )
    return tuple(sets)


def predecessors(
    nodes: Sequence[str],
    edges: Sequence[tuple[str, str]],
    groups: Sequence[frozenset[str]],
) -> dict[str, set[str]]:
    """The senders of each node; a node of a group has all senders of the group."""
    group_of = {node: group for group in groups for node in group}
    before: dict[str, set[str]] = {node: set() for node in nodes}
    for sender, receiver in edges:
        group = group_of.get(receiver, frozenset({receiver}))
        if sender not in group:
            for node in group:
                before[node].add(sender)
    return before


@dataclass(frozen=True)
class Timing:
    """The time of a schedule whose conditions ask for it, in ticks: each visit of a set takes
    `each`, also if none of its nodes runs, and a trial begins at `first` at the earliest."""

    each: int
    first: int = 0


@dataclass(frozen=True)
class Schedule:
    """The consideration sets, a condition for each node, the termination condition, and the most
    passes of a trial. name: of the nest whose schedule it is, or ""."""

    sets: Sets
    conditions: Mapping[str, Condition]
    termination: Condition
    max_passes: int
    always_finished: frozenset[str]  # Nodes without a criterion.
    finished_by_calls: frozenset[str]  # Nodes that reset and run until finished.
    name: str = ""
    timing: Timing | None = None
    resets: tuple[Reset, ...] = ()
    overrides: tuple[Override, ...] = ()

    @cached_property
    def everyone(self) -> tuple[str, ...]:
        return tuple(node for one in self.sets for node in one)

    @cached_property
    def every_condition(self) -> tuple[Condition, ...]:
        along = [*(one.condition for one in self.resets)]
        along += [one.condition for one in self.overrides]
        roots = (*self.conditions.values(), self.termination, *along)
        return tuple(one for root in roots for one in root.walk())

    def asks_within(self, members: Sequence[str]) -> bool:
        """Whether a node of the set has a condition on another node of the set."""
        together = frozenset(members)
        return any(
            not together.isdisjoint(one.nodes()) or (isinstance(one, AllHaveRun) and not one.names)
            for member in members
            for one in self.conditions[member].walk()
        )

    # The cells of its counters.

    def count(self, unit: str, scale: str, node: str = "") -> Key:
        return ("count", self.name, unit, scale, node)

    @cached_property
    def counts(self) -> tuple[Key, ...]:
        """The counts that conditions read, and that of passes, which bounds a trial."""
        read = {
            self.count(*one): None
            for condition in self.every_condition
            for one in condition.counters(self.everyone)
        }
        return tuple({self.count("pass", "trial"): None, **read})

    def counts_of(self, node: str) -> tuple[Key, ...]:
        """The counts of a node's calls."""
        return self._counts_by_node.get(node, ())

    @cached_property
    def _counts_by_node(self) -> Mapping[str, tuple[Key, ...]]:
        found: dict[str, tuple[Key, ...]] = {}
        for key in self.counts:
            if key[2] == "calls":
                found[key[4]] = (*found.get(key[4], ()), key)
        return found

    @cached_property
    def pairs(self) -> Mapping[str, tuple[Key, ...]]:
        """The counts of EveryNCalls, ("since", name, node, owner), by each node whose call changes
        them."""
        owned = [*self.conditions.items(), ("", self.termination)]
        found: dict[str, dict[Key, None]] = {}
        for owner, root in owned:
            for one in root.walk():
                if isinstance(one, EveryNCalls):
                    key = ("since", self.name, one.node, owner)
                    found.setdefault(one.node, {})[key] = None
                    found.setdefault(owner, {})[key] = None
        return {node: tuple(keys) for node, keys in found.items()}

    @cached_property
    def watched(self) -> tuple[str, ...]:
        """The nodes of JustRan."""
        return tuple(sorted({c.node for c in self.every_condition if isinstance(c, JustRan)}))

    @cached_property
    def numbers(self) -> Mapping[int, Key]:
        """The counts of NWhen, by the identity of the condition."""
        return {
            id(one): ("times", self.name, one.scale, str(number))
            for number, one in enumerate(self.every_condition)
            if isinstance(one, NWhen)
        }

    @cached_property
    def cells(self) -> tuple[Key, ...]:
        """All cells of the schedule but whether a trial is done."""
        since = dict.fromkeys(key for keys in self.pairs.values() for key in keys)
        ran = [("ran", self.name, node) for node in self.watched]
        return (*self.counts, *since, *ran, *self.numbers.values(), *self.holding)

    @cached_property
    def holding(self) -> tuple[Key, ...]:
        """For each override whether its condition holds."""
        return tuple(("holds", self.name, str(number)) for number in range(len(self.overrides)))

    @cached_property
    def has_late_conditions(self) -> bool:
        """Whether resets or overrides need the counts of a loop of passes."""
        late = [one for one in self.overrides if not one.is_of_trial]
        return bool(late) or any(one.counts_calls for one in self.resets)

    @cached_property
    def asks_for_pass(self) -> bool:
        """Whether the end of a trial depends on counts of the pass."""
        return any(
            scale == "pass"
            for one in self.termination.walk()
            for _, scale, _ in one.counters(self.everyone)
        )


class CellClock(Logic):
    """A Clock over cells. finished, ask: of nodes at run time. kept: a cell that the trial before
    left. Without them NotKnownError."""

    def __init__(
        self,
        schedule: Schedule,
        cells: Cells,
        logic: Logic,
        finished: Callable[[str], Truth] | None = None,
        ask: Callable[[Callable[..., object], Places], Truth] | None = None,
        kept: Callable[[Key], Value] | None = None,
    ) -> None:
        super().__init__(logic._context)
        self.schedule, self.cells = schedule, cells
        self._finished, self._ask, self._kept = finished, ask, kept

    def read(self, key: Key) -> Cell:
        """A count, or a truth. NotKnownError: the trial before left it."""
        self.cells.note_read(key)
        if is_kept(key) and key not in self.cells.known:
            if self._kept is None:
                raise NotKnownError
            self.cells.known[key] = self._kept(key)
        return self.cells.known.get(key, default(key))

    def told(self, key: Key) -> Truth:
        """A truth; false until it is written."""
        cell = self.read(key)
        return cell if isinstance(cell, Value) else bool(cell)

    @property
    def everyone(self) -> tuple[str, ...]:
        return self.schedule.everyone

    def ended(self, unit: Unit, scale: Scale) -> Count:
        return self.read(self.schedule.count(unit, scale))

    def calls(self, node: str, scale: Scale = "trial") -> Count:
        return self.read(self.schedule.count("calls", scale, node))

    def calls_since(self, node: str, owner: str) -> Count:
        return self.read(("since", self.schedule.name, node, owner))

    def just_ran(self, node: str) -> Truth:
        return self.told(("ran", self.schedule.name, node))

    def times(self, condition: Condition) -> Count:
        return self.read(self.schedule.numbers[id(condition)])

    def finished(self, node: str) -> Truth:
        if node in self.schedule.always_finished:
            return True
        calls = self.calls(node)
        if node in self.schedule.finished_by_calls and not isinstance(calls, Value):
            return calls > 0
        if self._finished is None:
            raise NotKnownError
        return self._finished(node)

    def ask(self, function: Callable[..., object], places: Places) -> Truth:
        if self._ask is None:
            raise NotKnownError
        return self._ask(function, places)

    # Operations of the schedule itself.

    def add(self, unit: str, more: Truth, amount: int = 1) -> None:
        """Adds to the counts of a unit of time, if `more`."""
        for key in self.schedule.counts:
            if key[2] == unit:
                if amount == 1:
                    after = self.counted(self.read(key), more)
                else:
                    after = self.plus(self.read(key), self.choice(more, amount, 0))
                self.cells.write(key, after, more is True)

    def begin_trial(self) -> None:
        """Moves the time on to where a trial may begin."""
        timing = self.schedule.timing
        if timing is None or not timing.first:
            return
        key = self.schedule.count("time", "run")
        if key in self.schedule.counts:
            early = self.negated(self.at_least(self.read(key), timing.first))
            self.cells.write(key, self.choice(early, timing.first, self.read(key)))

    def begin_pass(self) -> None:
        """Begins to count calls of the pass."""
        for key in self.schedule.counts:
            if key[2:4] == ("calls", "pass"):
                self.cells.write(key, 0)

    def admitted(self, members: Sequence[str], go: Truth) -> dict[str, Truth]:
        """For each node of a set whether it runs now; its calls are counted."""
        ran: dict[str, Truth] = dict.fromkeys(members, False)
        rounds = len(members) if self.schedule.asks_within(members) else 1
        for _ in range(rounds):
            before = dict(ran)
            for node in members:
                if ran[node] is True:
                    continue
                condition = self.schedule.conditions[node]
                now = self.both(condition.holds(self, node), self.both(go, self.negated(ran[node])))
                self._count(node, now)
                ran[node] = self.either(ran[node], now)
            if before == ran:
                break
        return ran

    def _count(self, node: str, ran: Truth) -> None:
        if ran is False:
            return
        always = ran is True
        for key in self.schedule.counts_of(node):
            self.cells.write(key, self.counted(self.read(key), ran), always)
        for condition in self.schedule.conditions[node].walk():
            if isinstance(condition, NWhen):
                key = self.schedule.numbers[id(condition)]
                self.cells.write(key, self.counted(self.read(key), ran), always)
        for key in self.schedule.pairs.get(node, ()):
            _, _, other, owner = key
            if owner == node:
                self.cells.write(key, self.choice(ran, 0, self.read(key)), always)
            if other == node:
                self.cells.write(key, self.counted(self.read(key), ran), always)

    def stepped(self, ran: Mapping[str, Truth], go: Truth = True) -> None:
        """Ends the visit of a set, if `go`, in which `ran` ran."""
        some = self.any(ran)
        if self.schedule.timing is not None:
            self.add("time", go, self.schedule.timing.each)
            some = go
        self._step_ended(some, ran)

    def _step_ended(self, some: Truth, ran: Mapping[str, Truth]) -> None:
        """Ends a step, if `some`, in which `ran` ran."""
        if some is False:
            return
        self.add("step", some)
        for node in self.schedule.watched:
            now = ran.get(node, False)
            kept = now if some is True else self.choice(some, now, self.just_ran(node))
            self.cells.write(("ran", self.schedule.name, node), kept, some is True)

    def pass_ended(self, empty: Truth, runs: Truth = True) -> None:
        """Ends a pass, if `runs`. If `empty`, no mechanism ran in it: it counts as a step."""
        if self.schedule.timing is None:
            self._step_ended(empty, {})
        self.add("pass", runs)

    def trial_ended(self) -> None:
        self.add("trial", True)

    def any(self, ran: Mapping[str, Truth]) -> Truth:
        """Returns whether one of the mechanisms ran."""
        result: Truth = False
        for truth in ran.values():
            result = self.either(result, truth)
        return result

    def over(self) -> Truth:
        """Whether the condition for the end of a trial holds."""
        return self.schedule.termination.holds(self, "")


Steps = tuple[tuple[str, ...], ...]


def plan(schedule: Schedule) -> list[Steps] | None:
    """The passes of a trial, each of its time steps; None if they depend on values.

    ModelError: the trial never ends.
    """
    if schedule.has_late_conditions:
        return None
    clock = CellClock(schedule, Cells(), Logic(None))
    passes: list[Steps] = []
    try:
        while not clock.over():
            if len(passes) == schedule.max_passes:
                raise ModelError(
                    f"the trial has not ended after {schedule.max_passes} passes: its termination "
                    "condition never holds; change it, the conditions of the mechanisms, or "
                    "max_passes"
                )
            passes.append(_planned_pass(clock))
    except NotKnownError:
        return None
    return passes


def _planned_pass(clock: CellClock) -> Steps:
    """The steps of a pass. A trial may end between its sets."""
    steps: list[tuple[str, ...]] = []
    clock.begin_pass()
    for number, members in enumerate(clock.schedule.sets):
        if (number or clock.schedule.asks_for_pass) and clock.over():
            break
        ran = clock.admitted(members, True)
        now = tuple(node for node in members if ran[node])
        if now:
            steps.append(now)
        clock.stepped(ran)
    clock.pass_ended(not steps)
    return tuple(steps)


@dataclass(frozen=True)
class Block:
    """Time steps that a trial makes `count` times in a row."""

    steps: Steps
    count: int


def blocks(passes: Sequence[Steps]) -> list[Block]:
    """Joins consecutive passes that repeat with a period of up to PERIOD_MAX."""
    result: list[Block] = []
    at = 0
    while at < len(passes):
        best = Block(passes[at], 1)
        taken = 1
        for period in range(1, PERIOD_MAX + 1):
            count = _repeats(passes, at, period)
            if count > 1 and count * period > taken:
                best = Block(tuple(step for one in passes[at : at + period] for step in one), count)
                taken = count * period
        result.append(best)
        at += taken
    return result


def _repeats(passes: Sequence[Steps], at: int, period: int) -> int:
    block = passes[at : at + period]
    count = 1
    while passes[at + count * period : at + (count + 1) * period] == block:
        count += 1
    return count
