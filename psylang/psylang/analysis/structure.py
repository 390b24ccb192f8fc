"""The graph of a model that reports name and pictures show: nodes, edges, inputs and outputs.

For a model: its mechanisms and projections, including those that compute nothing. For a bare
program: the components of its operations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from psylang.ir.graph import Program, Value


@dataclass(frozen=True)
class Edge:
    """name: the projection's name, or "" for a use of a value."""

    sender: str
    receiver: str
    name: str = ""


@dataclass(frozen=True)
class Structure:
    """inputs, outputs: for each name the nodes that receive or give it. kinds: the kinds of the
    nodes."""

    name: str
    nodes: tuple[str, ...]
    edges: tuple[Edge, ...]
    inputs: Mapping[str, tuple[str, ...]]
    outputs: Mapping[str, tuple[str, ...]]
    kinds: Mapping[str, str]

    @property
    def projections(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(edge.name for edge in self.edges if edge.name))


def structure_of(model: Any, program: Program) -> Structure:
    """model: a psylang.model.Model, or anything else (its program alone is read then)."""
    parts = [getattr(model, name, None) for name in ("mechanisms", "projections", "externals")]
    if all(isinstance(part, Mapping) for part in parts):
        return _of_model(model, program)
    return _of_program(program)


def _of_model(model: Any, program: Program) -> Structure:
    recorded = {
        name: tuple(dict.fromkeys(node for node, _ in one.places))
        for name, one in model.outputs.items()
    }
    edges = [Edge(one.sender, one.receiver, one.name) for one in model.projections.values()]
    kinds = {name: type(one).__name__ for name, one in model.mechanisms.items()}
    nodes = list(model.mechanisms)
    search = getattr(model, "search", None)
    if search is not None:  # The search's operations have the component `control`.
        nodes.append("control")
        kinds["control"] = type(search).__name__
        edges.append(Edge(search.objective, "control"))
        targets = [one.name.partition(".")[0] for one in search.signals]
        edges += [Edge("control", one) for one in dict.fromkeys(targets) if one in kinds]
        recorded["allocation"] = ("control",)
    return Structure(
        program.name,
        tuple(nodes),
        tuple(edges),
        {
            name: tuple(dict.fromkeys(node for node, _ in one.receivers))
            for name, one in model.externals.items()
        },
        {one.name: recorded.get(one.name, ()) for one in program.outputs},
        kinds,
    )


def _of_program(program: Program) -> Structure:
    owner: dict[Value, str] = {}
    nodes: dict[str, str] = {}
    edges: dict[Edge, None] = {}
    entering: dict[Value, dict[str, None]] = {value: {} for value in program.body.arguments}
    for op in program.body.walk():
        component = op.origin.component
        if component and op.name != "constant":
            nodes[component] = ""
        for value in op.results:
            owner[value] = component
        for value in op.operands:
            before = owner.get(value, "")
            if before and component and before != component:
                edges[Edge(before, component)] = None
            if value in entering and component:
                entering[value][component] = None
    known = [edge for edge in edges if edge.sender in nodes and edge.receiver in nodes]
    first = len(program.parameters)
    return Structure(
        program.name,
        tuple(nodes),
        tuple(known),
        {
            one.name: tuple(entering[value])
            for one, value in zip(program.inputs, program.body.arguments[first:], strict=False)
        },
        {
            one.name: (owner[value],) if owner.get(value) in nodes else ()
            for one, value in zip(program.outputs, program.body.yields, strict=False)
        },
        nodes,
    )
