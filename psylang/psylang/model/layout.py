"""A model's tables for lowering; they do not change while a program is written."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psylang.ir.builder import Builder, ProgramBuilder
from psylang.ir.graph import Numerics, Origin, Value
from psylang.ir.interpret import interpret
from psylang.ir.types import BOOL, F64, I32, DType, Type
from psylang.model.along import Override
from psylang.model.blueprint import External, Projection, Target, modulated_port
from psylang.model.cells import SUMS, TRUTHS, Key, is_kept
from psylang.model.context import Context, Scope, total
from psylang.model.mechanism import Mechanism, Run
from psylang.model.parameters import Array


@dataclass(frozen=True, eq=False)
class Layout:
    """Mechanisms by name, the values that arrive at their ports, and the names of all
    parameters."""

    mechanisms: Mapping[str, Mechanism]
    arriving: Mapping[tuple[str, str], Sequence[Projection | External]]
    names: Mapping[str, Mapping[str, str]]  # component -> path of a field -> parameter
    defaults: Mapping[str, Array]
    varied: frozenset[str] = frozenset()
    controlled: frozenset[str] = frozenset()  # Constants that control changes within a trial.
    nests: Mapping[str, Callable[[Any], None]] = field(default_factory=dict)  # Write a call.
    begun: Mapping[Key, float] = field(default_factory=dict)  # What searches keep, at first.
    overrides: Mapping[str, Sequence[tuple[Key, Override]]] = field(default_factory=dict)
    _made: dict[tuple[str, str], Any] = field(default_factory=dict)

    def modulated(self, node: str) -> Mapping[str, Projection]:
        """By parameter of a mechanism, the projection that modulates it."""
        return self._modulated.get(node, {})

    def gate(self, node: str, kind: Target, port: str) -> Projection | None:
        """The projection that gates a port."""
        for one in self.arriving.get((node, modulated_port(kind, port)), ()):
            assert isinstance(one, Projection)
            return one
        return None

    @cached_property
    def _modulated(self) -> Mapping[str, dict[str, Projection]]:
        made: dict[str, dict[str, Projection]] = {}
        for one in itertools.chain(*self.arriving.values()):
            if isinstance(one, Projection) and one.parameter is not None:
                made.setdefault(one.receiver, {})[one.parameter] = one
        return made

    def scope(self, context: Context, component: str, holder: Any = None) -> Scope:
        """A component's view of a context."""
        one = holder or self.mechanisms[component].own_scope()
        return Scope(context, component, self.names[component], one, component)

    def in_order(self, step: Sequence[str]) -> Sequence[str]:
        """The nodes of a time step, nests first: these read the outputs of the others as they are,
        before the others run."""
        return sorted(step, key=lambda node: node not in self.nests) if self.nests else step

    # The values before the first trial, computed at the parameters' defaults.

    def slots(self, node: str, numerics: Numerics) -> tuple[str, ...]:
        """The names of a mechanism's memory slots. A slot that is left out for a constant, such as
        a width of 0, is there if the number can change."""
        if (node, numerics) not in self._made:
            build = ProgramBuilder(node, numerics)
            changing = self.varied | self.controlled
            constants = {name: one for name, one in self.defaults.items() if name not in changing}
            given = {
                name: build.constant(
                    self.defaults[name], Type(DType.F64, self.defaults[name].shape)
                )
                for name in changing
            }
            at = self.scope(Context(build, constants, given), node)
            self._made[(node, numerics)] = tuple(self.mechanisms[node].initial(at))
        slots: tuple[str, ...] = self._made[(node, numerics)]
        return slots

    def begins_known(self, node: str) -> bool:
        """Returns whether a mechanism's initial memory depends on no varied parameter."""
        if (node, "known") not in self._made:
            constants = {
                name: one for name, one in self.defaults.items() if name not in self.varied
            }
            at = self.scope(Context(ProgramBuilder(node, "exact"), constants, {}), node)
            mechanism = self.mechanisms[node]
            try:
                mechanism.outputs(at, mechanism.initial(at), Run(0, False))
            except KeyError:
                self._made[(node, "known")] = False
            else:
                self._made[(node, "known")] = True
        return bool(self._made[(node, "known")])

    def initial_memory(self, node: str) -> Mapping[str, NDArray[Any]]:
        return self._numeric(node)[0]

    def initial_port(self, node: str, port: str) -> NDArray[Any]:
        return self._numeric(node)[1][port]

    def _numeric(self, node: str) -> tuple[dict[str, NDArray[Any]], dict[str, NDArray[Any]]]:
        if (node, "") not in self._made:
            mechanism = self.mechanisms[node]
            build = ProgramBuilder(node, "exact")
            at = self.scope(Context(build, self.defaults, {}), node)
            memory = mechanism.initial(at)
            for name, value in memory.items():
                build.output(f"memory.{name}", value)
            for name, value in mechanism.outputs(at, memory, Run(0, False)).items():
                build.output(f"port.{name}", value)
            given = {name: np.array(row[0]) for name, row in interpret(build.build()).items()}
            self._made[(node, "")] = (
                {name: given[f"memory.{name}"] for name in memory},
                {name: given[f"port.{name}"] for name in mechanism.ports()},
            )
        made: tuple[dict[str, NDArray[Any]], dict[str, NDArray[Any]]] = self._made[(node, "")]
        return made

    def state_name(self, key: Key) -> str:
        """The name of the state that keeps a cell. A port may have the name of a slot, but another
        value."""
        if is_kept(key):
            return ".".join(filter(None, key))
        name = ".".join(key[1:])
        twice = key[0] == "port" and key[2] in self.initial_memory(key[1])
        return f"{name}.port" if twice else name

    def type_of(self, key: Key) -> Type:
        """The type of a memory slot, an output port, or a schedule's cell."""
        if key[0] in SUMS:
            return F64
        if is_kept(key):
            return BOOL if key[0] in TRUTHS else I32
        if key[0] == "port":
            return self.mechanisms[key[1]].ports()[key[2]]
        return Type(DType.F64, self.initial_memory(key[1])[key[2]].shape)


def projected(at: Scope, value: Value) -> Value:
    """A value times the matrix of a projection; a number stands for a multiple of identity.

    If a constant matrix is mostly zeros, its zeros are no connections: nothing is multiplied.
    """
    build, constant = at.build, at.constant("matrix")
    if (
        constant is not None
        and constant.ndim == 2
        and 2 * np.count_nonzero(constant) <= constant.size
    ):
        return _sparse(at, value, constant)
    matrix = at["matrix"]
    if not matrix.type.shape:
        return build.mul(value, matrix)
    return build.op("dot", value if value.type.shape else build.stack([value]), matrix)


def _sparse(at: Scope, value: Value, matrix: Array) -> Value:
    build, columns = at.build, []
    for weights in matrix.T:
        terms = []
        for index, weight in enumerate(weights.tolist()):
            if weight:
                unit = build.extract(value, index)
                terms.append(unit if weight == 1.0 else build.mul(unit, weight))
        columns.append(total(at, terms) if terms else build.constant(0.0))
    return build.stack(columns)


def shaped(build: Builder, value: Value, shape: tuple[int, ...]) -> Value:
    """A value of one element as a scalar or a vector of one, as the port wants it."""
    if value.type.shape == shape:
        return value
    with build.at(Origin()):
        scalar = build.extract(value, *(0,) * len(value.type.shape))
        return build.stack([scalar], shape) if shape else scalar
