"""Random models: mechanisms connected, scheduled and controlled at random; every trial ends.

Tests of other layers compute such a model by every method and compare the results.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from psylang.model import conditions as when
from psylang.model.components_fixture import STEP, Components
from psylang.model.composition import Model
from psylang.model.compound import All, Not, NWhen, While
from psylang.model.compound import Any as AnyOf
from psylang.model.control import ControlSignal, Evenly, GridSearch, Listed
from psylang.model.costs import ExponentialCost, LinearCost
from psylang.model.function import function
from psylang.model.mechanism import Mechanism
from psylang.model.parameters import Limits
from psylang.model.rules import Modulation


@function
def above(x):  # type: ignore[no-untyped-def]
    """A function of a main output of any shape, for conditions."""
    return np.sum(x) > 0.43


@dataclass(frozen=True)
class Case:
    """A model, and parameters to vary."""

    model: Model
    vary: tuple[str, ...]

    def inputs(self, rng: np.random.Generator, rows: int) -> dict[str, NDArray[Any]]:
        """A row a trial."""
        externals = self.model.externals.values()
        return {one.name: rng.normal(size=(rows, *one.shape)) for one in externals}

    def params(self, rng: np.random.Generator, rows: int) -> dict[str, NDArray[Any]]:
        """A row a trial, near the defaults and within what the fields may be."""
        return {name: self._near(rng, name, rows) for name in self.vary}

    def _near(self, rng: np.random.Generator, name: str, rows: int) -> NDArray[Any]:
        default = self.model.default(name)
        change = rng.uniform(-0.3, 0.3, size=(rows, *default.shape))
        values = default + change * (np.abs(default) + 0.1)
        for one in self.model.limits(name):
            values = within(values, one)
        return values


def within(values: NDArray[Any], limits: Limits) -> NDArray[Any]:
    """The nearest permitted values."""
    if limits.above is not None:
        values = np.maximum(values, limits.above + STEP)
    clipped: NDArray[Any] = np.clip(values, limits.least, limits.most)
    return clipped


class _Maker(Components):
    def __init__(self, draw: Any, noisy: bool) -> None:
        super().__init__(draw, noisy)
        self.nodes: list[Mechanism] = []
        self.closing: Mechanism | None = None
        self.pair: tuple[Mechanism, ...] = ()

    def connect(self, sender: Mechanism, receiver: Mechanism, port: str, feedback: bool) -> None:
        ports = [name for name, kind in sender.ports().items() if kind.dtype.is_float]
        if not ports:
            return
        given = self.among(ports[0], self.among(*ports))
        rows = sender.ports()[given].size
        columns = int(np.prod(receiver.arrivals()[port]))
        matrix: Any = self.matrix(rows, columns)
        if self.chance(5):
            self.made += 1
            matrix = self.model.parameter(f"p{self.made}", matrix)
        if rows == columns and self.chance(2):
            matrix = self.among(None, self.number())
        self.made += 1
        self.model.connect(
            sender,
            receiver,
            matrix,
            sender_port=given,
            receiver_port=port,
            feedback=feedback,
            name=f"from_{sender.name}_{self.made}",
        )

    def mechanisms(self, count: int) -> None:
        model = self.model
        order = [model.add(self.mechanism(f"m{number}")) for number in range(count)]
        self.nodes = list(order)
        if count > 1 and self.chance(5):
            self.closing = self.nodes.pop()
            model.last(self.closing)
        if len(self.nodes) > 1 and self.chance(4):
            first = self.draw(st.integers(0, len(self.nodes) - 2))
            self.pair = tuple(self.nodes[first : first + 2])
            model.together(*self.pair)
        for index, node in enumerate(order):
            self.wire(
                node, order[:index], [one for one in self.nodes if one not in order[: index + 1]]
            )

    def wire(
        self, node: Mechanism, before: Sequence[Mechanism], after: Sequence[Mechanism]
    ) -> None:
        """The inputs of a node: from earlier nodes, some later ones, and from outside."""
        model = self.model
        for port, shape in node.arrivals().items():
            for sender in self.some(before, 0, 2):
                self.connect(sender, node, port, False)
            for sender in self.some(after, 0, 1) if self.chance(3) else []:
                together = {sender, node} == set(self.pair)
                self.connect(sender, node, port, not together)
            if port in node.free_ports() and self.chance(2):
                continue
            alike = [one.name for one in model.externals.values() if one.shape == shape]
            if alike and self.chance(2):
                model.input(self.among(*alike), node, port)
            elif not model.arriving.get((node.name, port)) or self.chance(3):
                default = np.full(shape, self.raw(-1.0, 1.0))
                model.input(f"i{len(model.externals)}", node, port, default)

    def condition(self, depth: int = 0) -> when.Condition:
        n = self.draw(st.integers(1, 3))
        node = self.among(*self.nodes)
        if depth < 2 and self.chance(3):
            inner = self.condition(depth + 1)
            other = self.condition(depth + 1)
            return self.among(Not(inner), NWhen(inner, n), All(inner, other), AnyOf(inner, other))
        made: when.Condition = self.made_by(
            lambda: when.Always(),
            lambda: when.AtPass(n - 1),
            lambda: when.BeforePass(n),
            lambda: when.AfterPass(n - 1),
            lambda: when.AfterNPasses(n),
            lambda: when.EveryNPasses(n),
            lambda: when.TimeInterval(repeat=float(n), start=2.0 * n),
            lambda: when.TimeInterval(start=float(n - 1), end=float(n)),
            lambda: when.AfterNCalls(node, n),
            lambda: when.EveryNCalls(node, n),
            lambda: when.EveryNCalls(node, 1),
            lambda: when.JustRan(node),
            lambda: when.AllHaveRun(*self.some(self.nodes, 1, 2)),
            lambda: when.WhenFinished(node),
            lambda: While(above, self.among(*self.asked(), node)),
        )
        return made

    def asked(self) -> list[Mechanism]:
        """The mechanisms with a numeric main output."""
        return [one for one in self.nodes if next(iter(one.ports().values())).dtype.is_float]

    def schedule(self) -> None:
        model = self.model
        conditions = [self.condition() if self.chance(3) else None for _ in self.nodes]
        for node, condition in zip(self.nodes, conditions, strict=True):
            if condition is not None:
                model.when(node, condition)
        if any(conditions) or self.chance(3):
            passes = when.AfterNPasses(self.among(1, 2, 2, 3, 3, 5))
            model.ends(AnyOf(self.condition(), passes) if self.chance(2) else passes)

    def control(self) -> None:
        model = self.model
        places = [
            (node.name, name)
            for node in self.nodes
            for name, kind in node.ports().items()
            if kind.dtype.is_float and kind.size == 1
        ]
        tied = {name for one in model.rules().relations for name in (one.value, one.bound)}
        names = [
            name
            for name in self.free()
            if model.default(name).size == 1
            and name not in tied
            and all(one.most is None for one in model.limits(name))  # Levels may go beyond 1.
        ]
        if not places or not names:
            return
        node, port = self.among(*places)
        ways: tuple[Modulation, ...] = ("multiplicative", "additive", "override")
        signals = [
            ControlSignal(
                name,
                self.levels(),
                self.among(*ways),
                self.among(None, LinearCost(self.raw(-0.2, 0.2)), ExponentialCost(-1.03, -1.7)),
            )
            for name in self.some(names, 1, 2)
        ]
        directions: tuple[Literal["maximize", "minimize"], ...] = ("maximize", "minimize")
        model.control(GridSearch(signals, node, port, self.among(*directions)))

    def levels(self) -> Evenly | Listed:
        if self.chance(2):
            return Listed((0.413, 0.877))
        return Evenly(0.213, 1.117, self.among(2, 3))

    def free(self) -> list[str]:
        """Names of parameters that may vary: the shape of Gamma may not."""
        shapes = {
            name
            for component in self.model.names.values()
            for path, name in component.items()
            if path.endswith("noise.shape")
        }
        used = [name for name in self.model.parameters if self.model.limits(name)]
        return [name for name in used if name not in shapes]

    def outputs(self) -> None:
        model = self.model
        every = list(model.mechanisms.values())
        for number, node in enumerate(self.some(every, 1, 4)):
            model.output(f"o{number}", node, self.among(*node.ports()), earlier=True)
        asked = self.asked()
        if asked and self.chance(3):
            model.output("joined", [self.among(*asked) for _ in range(2)], earlier=True)


@st.composite
def models(draw: Any, noisy: bool = True, most: int = 4) -> Case:
    """A random model of one to `most` mechanisms. noisy: some draw random numbers."""
    make = _Maker(draw, noisy)
    count = min(make.among(1, 2, 2, 3, 3, 4), most)
    make.mechanisms(count)
    make.schedule()
    if make.chance(4):
        make.control()
    make.outputs()
    vary = make.some(make.free(), 0, 3)
    return Case(make.model, tuple(vary))
