"""The parts of a model, by name and read-only, from which lowering makes a program.

composition.py collects the parts, lowering.py makes the program from them; neither depends on the
other's internals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from psylang.model.along import Override, Reset
from psylang.model.compound import All, While
from psylang.model.conditions import Always, Condition, EveryNCalls, WhenFinished
from psylang.model.control import GridSearch
from psylang.model.errors import ModelError, listed
from psylang.model.mechanism import Mechanism
from psylang.model.parameters import Array, Formula, Limits, Number, Parameter, number
from psylang.model.rules import Modulation, Relation
from psylang.model.schedule import Schedule, Timing, consideration_sets, predecessors


@dataclass(frozen=True, eq=False, kw_only=True)
class Projection:
    """From an output port to an input port: y[j] is the sum of x[i] * matrix[i][j].

    matrix: None passes the value on. feedback: it has no effect on the order of execution.
    modulation: it acts on what modulated_port() names, in calls of the receiver; its value is one
    number.
    """

    name: str
    sender: str
    sender_port: str
    receiver: str
    receiver_port: str
    matrix: Number | None = number(None)
    feedback: bool = False
    modulation: Modulation | None = None

    @property
    def parameter(self) -> str | None:
        """The parameter that it modulates."""
        prefix = modulated_port("parameter", "")
        if self.modulation is None or not self.receiver_port.startswith(prefix):
            return None
        return self.receiver_port.removeprefix(prefix)


Target = Literal["parameter", "input", "output"]


def modulated_port(target: Target, name: str) -> str:
    """The receiver's port of a projection that modulates: of a parameter, or of a port."""
    return f"{target}:{name}"


@dataclass(frozen=True)
class External:
    """A value that each trial receives, and the (mechanism, port) pairs that it goes to."""

    name: str
    shape: tuple[int, ...]
    default: Array | None
    receivers: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Recorded:
    """An output: (mechanism, port) pairs. joined: their elements are one vector. earlier: it may be
    the value of an earlier pass than the last one."""

    places: tuple[tuple[str, str], ...]
    joined: bool
    earlier: bool = False


@dataclass(frozen=True)
class Inner:
    """A nest: mechanisms, and other nests, with a schedule of their own; to the model it is a node.
    Each of its calls is a trial, which ends by `termination`; search chooses parameters for it."""

    name: str
    members: tuple[str, ...]
    termination: Condition
    timing: Timing | None = None
    search: GridSearch | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Blueprint:
    """All parts of a model, in the order in which it was made.

    arriving: by (mechanism, input port) the names of projections and externals. names: component ->
    path of a field -> parameter. closing: mechanisms that run after the last pass.
    """

    name: str
    max_passes: int
    parameters: Mapping[str, Parameter]
    limits: Mapping[str, Sequence[Limits]]  # For each parameter, the limits of all its uses.
    relations: Sequence[Relation]
    formulas: Mapping[str, Formula]  # Of parameters that are computed from others.
    names: Mapping[str, Mapping[str, str]]
    mechanisms: Mapping[str, Mechanism]
    projections: Mapping[str, Projection]
    externals: Mapping[str, External]
    arriving: Mapping[tuple[str, str], Sequence[str]]
    conditions: Mapping[str, Condition]  # Of the mechanisms that have a condition.
    groups: Sequence[frozenset[str]]
    closing: Sequence[str]
    termination: Condition
    search: GridSearch | None
    outputs: Mapping[str, Recorded]
    nests: Mapping[str, Inner]
    timing: Timing | None = None
    resets: Sequence[Reset] = ()
    overrides: Sequence[Override] = ()

    def searches(self) -> dict[str, GridSearch]:
        """Of the model, whose name is "", and of its nests."""
        every = {"": self.search, **{name: nest.search for name, nest in self.nests.items()}}
        return {name: search for name, search in every.items() if search is not None}

    def around(self, nest: str) -> list[GridSearch]:
        """The searches that simulate a nest."""
        names = [""]
        while nest in self._nest_of:
            nest = self._nest_of[nest]
            names.append(nest)
        return [search for name, search in self.searches().items() if name in names]

    @cached_property
    def _nest_of(self) -> Mapping[str, str]:
        return {node: nest.name for nest in self.nests.values() for node in nest.members}

    def within(self, nest: str) -> list[str]:
        """The mechanisms of a nest, those of nests within it included."""
        found: list[str] = []
        for node in self.nests[nest].members:
            found += self.within(node) if node in self.nests else [node]
        return found

    def _node_of(self, mechanism: str, nest: str) -> str | None:
        """The node of a schedule that a mechanism belongs to."""
        node = mechanism
        while self._nest_of.get(node, "") != nest:
            if node not in self._nest_of:
                return None
            node = self._nest_of[node]
        return node

    def _nodes(self, nest: str) -> list[str]:
        every = [name for name in (*self.mechanisms, *self.nests) if name not in self.closing]
        return [name for name in every if self._nest_of.get(name, "") == nest]

    def schedule(self, nest: str = "") -> Schedule:
        """Consideration sets, conditions, and the end of a trial; of the model, or of a nest.
        ModelError: a cycle, or a condition on another schedule's node."""
        nodes = self._nodes(nest)
        wrong = [
            one.name
            for one in self.projections.values()
            if one.sender in self.closing and one.receiver not in self.closing
        ]
        if wrong:
            raise ModelError(f"{listed(wrong)}: from what runs after the last pass, to what did")
        edges = self._edges(nodes, nest)
        sets = consideration_sets(nodes, edges, self.groups)
        senders = predecessors(nodes, edges, self.groups)
        number = {node: place for place, node in enumerate(nodes)}
        default = {
            node: All(*(EveryNCalls(one, 1) for one in sorted(before, key=number.__getitem__)))
            if before
            else Always()
            for node, before in senders.items()
        }
        given = {node: self.conditions[node] for node in nodes if node in self.conditions}
        ends = self.nests[nest].termination if nest else self.termination
        here = set(nodes)
        resets = tuple(one for one in self.resets if one.node in here)
        overrides = tuple(one for one in self.overrides if one.node in here)
        along = [*(one.condition for one in resets), *(one.condition for one in overrides)]
        for condition in (*given.values(), ends, *along):
            self._asks_here(condition, here, nest)
        self._apart(sets, nest)
        everyone = [self.mechanisms[node] for node in nodes if node in self.mechanisms]
        return Schedule(
            sets,
            {**default, **given},
            ends,
            self.max_passes,
            frozenset(one.name for one in everyone if not one.ends()),
            frozenset(
                one.name
                for one in everyone
                if one.ends() and one.until_finished and one.reset == "trial"
            ),
            nest,
            self.nests[nest].timing if nest else self.timing,
            resets,
            overrides,
        )

    def _asks_here(self, condition: Condition, nodes: set[str], nest: str) -> None:
        """ModelError: a condition names a node of another schedule."""
        for one in condition.walk():
            away = [] if isinstance(one, While) else sorted(set(one.nodes()) - nodes)
            if away:
                raise ModelError(
                    f"a condition of `{nest or self.name}` names {listed(away)}, which is not a "
                    "node there; a condition counts the calls of its own composition's nodes"
                )
            if isinstance(one, WhenFinished) and one.node in self.nests:
                raise ModelError(
                    f"`{one.node}` is a nest, which has no criterion of being finished; ask for "
                    "AfterNCalls, or for one of its mechanisms by While"
                )

    def _apart(self, sets: Sequence[Sequence[str]], nest: str) -> None:
        """ModelError: nests of one set send to one another: which runs first would matter."""
        number = {node: place for place, members in enumerate(sets) for node in members}
        for one in self.projections.values() if self.nests else ():
            ends = [self._node_of(name, nest) for name in (one.sender, one.receiver)]
            places = [number[end] for end in ends if end is not None and end in self.nests]
            if ends[0] != ends[1] and len(places) == 2 and places[0] == places[1]:
                raise ModelError(
                    f"the nests {listed(map(str, ends))} run at once, and {one.name} goes from "
                    "one to the other; let one of them run after the other"
                )

    def left_behind(self) -> dict[str, tuple[str, str]]:
        """Outputs of mechanisms whose value is one pass old when the trial ends: for each output
        its mechanism, and the sender whose run ends the trial."""
        found: dict[str, tuple[str, str]] = {}
        links = [one for one in self.projections.values() if not one.feedback]
        edges = [(one.sender, one.receiver) for one in links if one.receiver not in self.closing]
        ending = [node for one in self.termination.walk() for node in one.nodes()]
        for end in dict.fromkeys(ending):
            behind: set[str] = set()
            more = {end}
            while more:
                behind |= more
                more = {to for of, to in edges if of in more} - behind
            for name, one in self.outputs.items():
                for node, _ in () if one.earlier else one.places:
                    if node in behind - set(ending):
                        found.setdefault(name, (node, end))
        return found

    def afterwards(self) -> tuple[str, ...]:
        """The mechanisms that run after the last pass, in order. ModelError: a cycle."""
        links = [one for one in self.projections.values() if not one.feedback]
        ends = [(one.sender, one.receiver) for one in links]
        closing = set(self.closing)
        edges = [one for one in ends if one[0] in closing and one[1] in closing]
        return tuple(node for one in consideration_sets(self.closing, edges) for node in one)

    def _edges(self, among: Sequence[str], nest: str) -> list[tuple[str, str]]:
        """Which node of a schedule sends to which."""
        nodes = set(among)
        found: dict[tuple[str, str], None] = {}
        for one in self.projections.values():
            if one.feedback:
                continue
            sender, receiver = self._node_of(one.sender, nest), self._node_of(one.receiver, nest)
            if sender is None or receiver is None or sender == receiver:
                continue
            if sender in nodes and receiver in nodes:
                found[sender, receiver] = None
        return list(found)
