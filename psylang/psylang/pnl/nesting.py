"""Compositions in compositions: their mechanisms become nodes of one model, in nests.

A nested composition runs a whole trial in each of its calls, by its own scheduler and controller.
In the model it is a nest (psylang.model.Model.nest) of its mechanisms. Its ports pass values on, so
a projection to or from it is one to or from the mechanism behind the port.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from psylang.pnl.reading import kind_of, value_of
from psylang.pnl.refusals import RefusedError
from psylang.pnl.tables import nearest

KINDS = ("Composition", "AutodiffComposition")
PASSES_ON = ("Linear", "Identity")


class Nesting:
    """The compositions of a composition, itself first, and the mechanisms of all of them.

    Mechanisms that only learn are left out: run() does not call them.
    """

    def __init__(self, pnl: Any, composition: Any) -> None:
        self.pnl, self.outer = pnl, composition
        self.compositions: list[Any] = []
        self.mechanisms: list[Any] = []
        self._owners: dict[int, Any] = {}
        self._enter(composition)

    def _enter(self, composition: Any) -> None:
        if any(one is composition for one in self.compositions):
            return
        self.compositions.append(composition)
        learning = composition.get_nodes_by_role(self.pnl.NodeRole.LEARNING)
        learning += _of_loss(self.pnl, composition)
        for node in composition.nodes:
            if any(node is one for one in learning):
                continue
            self._owners.setdefault(id(node), composition)
            if isinstance(node, self.pnl.Composition):
                self._enter(node)
            elif not any(node is one for one in self.mechanisms):
                self.mechanisms.append(node)

    @property
    def is_controlled(self) -> bool:
        """Returns whether one of the compositions has a controller."""
        return any(one.controller is not None for one in self.compositions)

    def owner(self, node: Any) -> Any:
        """The composition that a node is in."""
        return self._owners[id(node)]

    def top(self, node: Any) -> Any:
        """The node of the outermost composition that has a mechanism: itself, or a composition."""
        while self.owner(node) is not self.outer:
            node = self.owner(node)
        return node

    def within(self, composition: Any) -> list[Any]:
        """The mechanisms of a composition, those of nested ones included."""
        found = []
        for node in self.mechanisms:
            owner = self.owner(node)
            while owner is not composition and owner is not self.outer:
                owner = self.owner(owner)
            if owner is composition:
                found.append(node)
        return found

    def sets(self, composition: Any) -> list[tuple[Any, ...]]:
        """The consideration sets of a composition."""
        return [tuple(one) for one in composition.scheduler.consideration_queue]

    def place(self, node: Any) -> tuple[int, ...]:
        """The numbers of a node's consideration set, from the outermost composition inwards."""
        place: list[int] = []
        while True:
            owner = self.owner(node)
            place.append(self._number(owner, node))
            if owner is self.outer:
                return tuple(reversed(place))
            node = owner

    def _number(self, composition: Any, node: Any) -> int:
        for number, members in enumerate(self.sets(composition)):
            if any(one is node for one in members):
                return number
        raise RefusedError(f"{node.name} is not scheduled", "add it to the composition")

    def check(self, composition: Any) -> None:
        """RefusedError: it is of another kind, shares nodes with another composition, or is nested
        and its ports compute."""
        kind = kind_of(composition)
        if kind not in KINDS:
            raise RefusedError(f"it is a {kind}", nearest("mechanism", kind))
        if composition is self.outer:
            return
        if sum(any(composition is node for node in one.nodes) for one in self.compositions) > 1:
            raise RefusedError("it is nested in several compositions", "make one of it for each")
        for node in composition.nodes:
            if self._owners.get(id(node), composition) is not composition:
                raise RefusedError(
                    f"{node.name} is in another of the compositions, too", "give each its own"
                )
        ports = (*composition.input_CIM.output_ports, *composition.output_CIM.output_ports)
        if any(kind_of(port.function) not in PASSES_ON for port in ports):
            raise RefusedError(
                "its ports compute functions of their own", "nearest: ports that pass values on"
            )

    # Ports of nested compositions pass on what arrives.

    def origin(self, projection: Any) -> tuple[Any, Any]:
        """The projection from a mechanism that brings what a projection brings; or, for an input
        of the outermost composition, the port of that composition's node."""
        while True:
            sender = projection.sender.owner
            composition = next((c for c in self.compositions if sender is c.input_CIM), None)
            if composition is None:
                return projection, None
            if composition is self.outer:
                return projection, _entered(composition, projection)
            self._is_plain(projection)
            (port,) = (
                arriving
                for arriving, leaving in composition.input_CIM_ports.values()
                if leaving is projection.sender
            )
            inside = self.owner(composition)
            arriving = afferents_of(port, inside)
            if len(arriving) != 1:
                raise RefusedError(
                    f"{len(arriving)} projections arrive at its {port.name}",
                    "nearest: one projection to each port of a nested composition",
                )
            projection = arriving[0]

    def sent(self, port: Any) -> Any:
        """The output port of a mechanism whose value an output port has."""
        while True:
            composition = next((c for c in self.compositions if port.owner is c.output_CIM), None)
            if composition is None:
                return port
            (arriving,) = (
                arriving
                for arriving, leaving in composition.output_CIM_ports.values()
                if leaving is port
            )
            (projection,) = afferents_of(arriving, composition)
            self._is_plain(projection)
            port = projection.sender

    def _is_plain(self, projection: Any) -> None:
        matrix = np.array(value_of(projection, "matrix"), dtype=np.float64)
        if matrix.ndim != 2 or not np.array_equal(matrix, np.eye(*matrix.shape)):
            raise RefusedError(
                f"{projection.name} to a port of a nested composition has a matrix",
                "give it to the projection to or from the nested composition",
            )


def _of_loss(pnl: Any, composition: Any) -> list[Any]:
    """Nodes that training by PyTorch left: losses, and targets that send to these alone. run()
    calls them, and no result depends on them."""

    def named(*roles: Any) -> list[Any]:
        return [one for role in roles for one in composition.get_nodes_by_role(role)]

    role = pnl.NodeRole
    kept = named(role.OUTPUT)
    losses = [
        node
        for node in composition.nodes
        if kind_of(node) == "LossMechanism" and not any(node is one for one in kept)
    ]
    targets = [
        node
        for node in named(role.TARGET_INPUT)
        if not any(node is one for one in kept)
        and all(
            any(one.receiver.owner is loss for loss in losses)
            for one in getattr(node, "efferents", [None])
        )
    ]
    return losses + targets if losses else []


def _entered(composition: Any, projection: Any) -> Any:
    """The port that takes the input which a projection brings; another port may shadow it."""
    return next(
        (
            port
            for port, (_, leaving) in composition.input_CIM_ports.items()
            if leaving is projection.sender
        ),
        projection.receiver,
    )


def afferents_of(port: Any, composition: Any) -> list[Any]:
    """The projections to a port that a composition makes."""
    return [one for one in port.path_afferents if one.is_active_in_composition(composition)]


__all__ = ["Nesting", "afferents_of"]
