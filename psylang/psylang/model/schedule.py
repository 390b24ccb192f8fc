"""The schedule of mechanisms: consideration sets, and passes that are known at compile time.

A trial repeats passes; a pass visits the sets in order; in a set all mechanisms run whose condition
holds, in one time step (docs/semantics.md, 7). If conditions only count, the passes of a trial are
known before it: plan() lists their steps, and the program contains only the numbers of repetitions
of blocks. If they read values, passes.py writes a loop of passes with predicates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from psylang.ir.graph import Value
from psylang.model.cells import Cells, Key, Logic, NotKnownError
from psylang.model.compound import NWhen
from psylang.model.conditions import (
    AllHaveRun,
    Condition,
    Count,
    EveryNCalls,
    JustRan,
    Truth,
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
    sets: list[tuple[str, ...]] = []
    left = dict(before)
    while left:
        ready = tuple(sorted(node for node, senders in left.items() if not senders & left.keys()))
        if not ready:
            raise ModelError(
                f"the mechanisms {listed(sorted(left))} wait for one another; make one of the "
                "projections between them with feedback=True: it brings the value of the pass "
                "before; or let them run at once by together(…)"
            )
        sets.append(ready)
        left = {node: senders for node, senders in left.items() if node not in ready}
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
class Schedule:
    """The consideration sets, a condition for each node, the termination condition, and the most
    passes of a trial."""

    sets: Sets
    conditions: Mapping[str, Condition]
    termination: Condition
    max_passes: int
    always_finished: frozenset[str]  # Nodes without a criterion.
    finished_by_calls: frozenset[str]  # Nodes that reset and run until finished.

    @property
    def everyone(self) -> tuple[str, ...]:
        return tuple(node for one in self.sets for node in one)

    def every_condition(self) -> tuple[Condition, ...]:
        roots = (*self.conditions.values(), self.termination)
        return tuple(one for root in roots for one in root.walk())

    def asks_within(self, members: Sequence[str]) -> bool:
        """Whether a node of the set has a condition on another node of the set."""
        return any(
            set(one.nodes()) & set(members) or one == AllHaveRun()
            for member in members
            for one in self.conditions[member].walk()
        )


class CellClock(Logic):
    """A Clock over cells. finished, ask: of nodes at run time; without a context NotKnownError."""

    def __init__(
        self,
        schedule: Schedule,
        cells: Cells,
        logic: Logic,
        finished: Callable[[str], Truth] | None = None,
        ask: Callable[[Callable[..., object], tuple[str, ...]], Truth] | None = None,
    ) -> None:
        super().__init__(logic._context)
        self.schedule, self.cells = schedule, cells
        self._finished, self._ask = finished, ask
        self._numbers = {id(one): k for k, one in enumerate(schedule.every_condition())}

    def read(self, key: Key) -> Count:
        """A count."""
        self.cells.note_read(key)
        return self.cells.known.get(key, 0)

    def told(self, key: Key) -> Truth:
        """A truth; false until it is written."""
        self.cells.note_read(key)
        cell = self.cells.known.get(key, False)
        return cell if isinstance(cell, Value) else bool(cell)

    @property
    def passes(self) -> Count:
        return self.read(("pass",))

    @property
    def everyone(self) -> tuple[str, ...]:
        return self.schedule.everyone

    def calls(self, node: str) -> Count:
        return self.read(("calls", node))

    def calls_since(self, node: str, owner: str) -> Count:
        return self.read(("since", node, owner))

    def just_ran(self, node: str) -> Truth:
        return self.told(("ran", node))

    def times(self, condition: Condition) -> Count:
        return self.read(("times", str(self._numbers[id(condition)])))

    def finished(self, node: str) -> Truth:
        if node in self.schedule.always_finished:
            return True
        calls = self.calls(node)
        if node in self.schedule.finished_by_calls and not isinstance(calls, Value):
            return calls > 0
        if self._finished is None:
            raise NotKnownError
        return self._finished(node)

    def ask(self, function: Callable[..., object], nodes: tuple[str, ...]) -> Truth:
        if self._ask is None:
            raise NotKnownError
        return self._ask(function, nodes)

    # Operations of the schedule itself.

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
        self.cells.write(("calls", node), self.counted(self.calls(node), ran), always)
        for condition in self.schedule.conditions[node].walk():
            if isinstance(condition, NWhen):
                key: Key = ("times", str(self._numbers[id(condition)]))
                self.cells.write(key, self.counted(self.read(key), ran), always)
        for other, owner in self._pairs():
            key = ("since", other, owner)
            if owner == node:
                self.cells.write(key, self.choice(ran, 0, self.read(key)), always)
            if other == node:
                self.cells.write(key, self.counted(self.read(key), ran), always)

    def _pairs(self) -> list[tuple[str, str]]:
        """(node, owner) of each EveryNCalls; no other count is read."""
        owned = [*self.schedule.conditions.items(), ("", self.schedule.termination)]
        pairs = {
            (one.node, owner): None
            for owner, root in owned
            for one in root.walk()
            if isinstance(one, EveryNCalls)
        }
        return list(pairs)

    def stepped(self, ran: Mapping[str, Truth]) -> None:
        """Ends a time step in which `ran` ran, for JustRan."""
        any_ran = self.any(ran)
        if any_ran is False:
            return
        for node in self._watched():
            kept = self.choice(any_ran, ran.get(node, False), self.just_ran(node))
            self.cells.write(("ran", node), kept, any_ran is True)

    def stepped_empty(self, empty: Truth) -> None:
        """If `empty`, a pass ends in which no mechanism ran: it counts as a time step."""
        for node in self._watched():
            kept = self.choice(empty, False, self.just_ran(node))
            self.cells.write(("ran", node), kept, empty is True)

    def any(self, ran: Mapping[str, Truth]) -> Truth:
        """Returns whether one of the mechanisms ran."""
        result: Truth = False
        for truth in ran.values():
            result = self.either(result, truth)
        return result

    def _watched(self) -> list[str]:
        conditions = self.schedule.every_condition()
        return sorted({one.node for one in conditions if isinstance(one, JustRan)})

    def over(self) -> Truth:
        """Whether the trial ends here."""
        return self.schedule.termination.holds(self, "")


Steps = tuple[tuple[str, ...], ...]


def plan(schedule: Schedule) -> list[Steps] | None:
    """The passes of a trial, each of its time steps; None if they depend on values.

    ModelError: the trial never ends.
    """
    clock = CellClock(schedule, Cells(), Logic(None))
    passes: list[Steps] = []
    try:
        for number in range(schedule.max_passes):
            clock.cells.write(("pass",), number)
            if clock.over():
                return passes
            steps, over = _planned_pass(clock)
            passes.append(steps)
            if over:
                return passes
    except NotKnownError:
        return None
    raise ModelError(
        f"the trial has not ended after {schedule.max_passes} passes: its termination condition "
        "never holds; change it, the conditions of the mechanisms, or max_passes"
    )


def _planned_pass(clock: CellClock) -> tuple[Steps, bool]:
    """The steps of a pass, and whether the trial ends in it."""
    steps: list[tuple[str, ...]] = []
    for members in clock.schedule.sets:
        ran = clock.admitted(members, True)
        now = tuple(node for node in members if ran[node])
        if now:
            steps.append(now)
        clock.stepped(ran)
        if clock.over():
            return tuple(steps), True
    clock.stepped_empty(not steps)
    return tuple(steps), False


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
