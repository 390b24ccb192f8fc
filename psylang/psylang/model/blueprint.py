"""The parts of a model, by name and read-only, from which lowering makes a program.

composition.py collects the parts, lowering.py makes the program from them; neither depends on the
other's internals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from psylang.model.compound import All
from psylang.model.conditions import Always, Condition, EveryNCalls
from psylang.model.control import GridSearch
from psylang.model.errors import ModelError, listed
from psylang.model.mechanism import Mechanism
from psylang.model.parameters import Array, Formula, Limits, Number, Parameter, number
from psylang.model.rules import Modulation, Relation
from psylang.model.schedule import Schedule, consideration_sets, predecessors


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

    def schedule(self) -> Schedule:
        """Consideration sets, conditions, and the end of a trial. ModelError: a cycle."""
        nodes = [name for name in self.mechanisms if name not in self.closing]
        wrong = [
            one.name
            for one in self.projections.values()
            if one.sender in self.closing and one.receiver in nodes
        ]
        if wrong:
            raise ModelError(f"{listed(wrong)}: from what runs after the last pass, to what did")
        edges = self._edges(nodes)
        sets = consideration_sets(nodes, edges, self.groups)
        senders = predecessors(nodes, edges, self.groups)
        default = {
            node: All(*(EveryNCalls(one, 1) for one in nodes if one in before))
            if before
            else Always()
            for node, before in senders.items()
        }
        everyone = [self.mechanisms[node] for node in nodes]
        return Schedule(
            sets,
            {**default, **self.conditions},
            self.termination,
            self.max_passes,
            frozenset(one.name for one in everyone if not one.ends()),
            frozenset(
                one.name
                for one in everyone
                if one.ends() and one.until_finished and one.reset == "trial"
            ),
        )

    def left_behind(self) -> dict[str, tuple[str, str]]:
        """Outputs of mechanisms whose value is one pass old when the trial ends: for each output
        its mechanism, and the sender whose run ends the trial."""
        found: dict[str, tuple[str, str]] = {}
        edges = [one for one in self._edges(list(self.mechanisms)) if one[1] not in self.closing]
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
        sets = consideration_sets(self.closing, self._edges(self.closing))
        return tuple(node for one in sets for node in one)

    def _edges(self, among: Sequence[str]) -> list[tuple[str, str]]:
        links = [one for one in self.projections.values() if not one.feedback]
        ends = [(one.sender, one.receiver) for one in links]
        return [one for one in ends if one[0] in among and one[1] in among]
