"""Output ports that compute a function of their mechanism's value: further ports of it here.

PsyNeuLink computes them whenever the mechanism runs, before any other one reads them. So they are
ports of the mechanism, and no mechanisms of their own.
"""

from __future__ import annotations

import dataclasses
import inspect
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from psylang.ir.builder import ProgramBuilder
from psylang.ir.graph import Value
from psylang.ir.types import DType, Type
from psylang.model import LCA, Transfer
from psylang.model.arithmetic import UnsupportedError, as_float
from psylang.model.context import Context, Scope
from psylang.model.errors import ModelError
from psylang.model.function import Function
from psylang.model.mechanism import Mechanism, Memory, Run, Values
from psylang.pnl.asking import adopted
from psylang.pnl.plain import UNCHANGED, VALUE, same_everywhere, takes_value
from psylang.pnl.ports import METRICS, PortsFunction, Stable
from psylang.pnl.reading import kind_of, number_of, only, value_of
from psylang.pnl.refusals import RefusedError
from psylang.pnl.tables import TABLES, converts

NEAREST = "nearest: RESULT, and a ProcessingMechanism that computes it"


class Written(Protocol):
    """Has emit(): from the mechanism's value, a vector in a row, to the port's."""

    def emit(self, at: Scope, ports: Sequence[Value]) -> Value: ...


@dataclass(frozen=True, eq=False)
class View:
    """An output port: its function, and how many elements that gives."""

    written: Written
    size: int

    def of(self, at: Scope, value: Value) -> Value:
        """ModelError: the function gives another size, or cannot be compiled."""
        build, result = at.build, self.written.emit(at, [value])
        if result.type.size != self.size:
            raise ModelError(f"it gives shape {result.type.shape}, and the port has ({self.size},)")
        if result.type.shape == (self.size,):
            return result
        places = np.ndindex(*result.type.shape)
        return build.stack([build.extract(result, *place) for place in places])


@dataclass(frozen=True, eq=False)
class OfValue:
    """A Python function of the mechanism's value, and of numbers. is_matrix: it takes the value as
    a matrix of one row."""

    function: Function
    numbers: tuple[NDArray[Any] | float, ...] = ()
    is_matrix: bool = False

    def emit(self, at: Scope, ports: Sequence[Value]) -> Value:
        build, (value,) = at.build, ports
        if self.is_matrix:
            cells = [build.extract(value, k) for k in range(value.type.size)]
            value = build.stack(cells, (1, len(cells)))
        try:
            return as_float(build, self.function.inline(build, [value, *self.numbers], at.here()))
        except UnsupportedError as error:
            raise ModelError(f"the function `{self.function.__name__}`: {error}") from None


@dataclass(frozen=True, eq=False)
class Scaled:
    """scale * (slope * value + intercept) + offset."""

    numbers: Mapping[str, NDArray[np.float64]]

    def emit(self, at: Scope, ports: Sequence[Value]) -> Value:
        build, (value,) = at.build, ports
        made = {
            name: build.constant(one, Type(DType.F64, one.shape))
            for name, one in self.numbers.items()
        }
        inner = build.add(build.mul(value, made["slope"]), made["intercept"])
        return build.add(build.mul(inner, made["scale"]), made["offset"])


@dataclass(frozen=True, eq=False, kw_only=True)
class Viewed(Mechanism):
    """A mechanism with further output ports, which are functions of its main one."""

    views: Mapping[str, View]

    def ports(self) -> Mapping[str, Type]:
        own: Mapping[str, Type] = super().ports()  # type: ignore[safe-super]
        further = {name: Type(DType.F64, (one.size,)) for name, one in self.views.items()}
        return {**own, **further}

    def slot_of(self, port: str) -> str:
        return "" if port in self.views else super().slot_of(port)

    def outputs(self, at: Scope, memory: Memory, run: Run) -> Values:
        own: Values = super().outputs(at, memory, run)  # type: ignore[safe-super]
        values, main = dict(own), next(iter(own.values()))
        for name, one in self.views.items():
            with at.origin(port=name):
                values[name] = one.of(at, main)
        return values


@dataclass(frozen=True, eq=False, kw_only=True)
class ViewedTransfer(Viewed, Transfer):
    """A layer with further output ports. recurs: the one that its recurrent projection takes, in
    place of its activity; "": none."""

    recurs: str = ""

    def step(self, at: Scope, prepared: Values, memory: Memory) -> Memory:
        if not self.recurs:
            return super().step(at, prepared, memory)
        with at.origin(port=self.recurs):
            sent = self.views[self.recurs].of(at, memory["activity"])
        made = super().step(at, prepared, {**memory, "activity": sent})
        return {**made, "before": memory["activity"]} if "before" in made else made


@dataclass(frozen=True, eq=False, kw_only=True)
class ViewedLCA(Viewed, LCA):
    """Accumulators with further output ports."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ViewedFunction(Viewed, PortsFunction):
    """A function of ports with further output ports."""

    def outputs(self, at: Scope, memory: Memory, run: Run) -> Values:
        values = {"value": memory["value"]}
        for name, one in self.views.items():
            with at.origin(port=name):
                values[name] = one.of(at, memory["value"])
        return values


CLASSES: Mapping[type[Mechanism], Callable[..., Mechanism]] = {
    Transfer: ViewedTransfer,
    LCA: ViewedLCA,
    PortsFunction: ViewedFunction,
}


def viewed(mechanism: Mechanism, views: Mapping[str, View], recurs: str = "") -> Mechanism:
    """The mechanism with further output ports; itself without any. recurs: the one that a layer
    sends to itself."""
    if not views:
        return mechanism
    if type(mechanism) not in CLASSES:
        raise RefusedError(
            f"its output ports compute ({', '.join(views)}), and its function keeps a value",
            NEAREST,
        )
    given = {one.name: getattr(mechanism, one.name) for one in dataclasses.fields(mechanism)}
    if recurs:
        given["recurs"] = recurs
    return CLASSES[type(mechanism)](**given, views=views)


@dataclass(frozen=True)
class Sent:
    """The output ports of a mechanism. outputs: maps PsyNeuLink's names to those here. views: those
    that compute, by their names here. refused: why others, which may be unused, are not here."""

    outputs: dict[str, str]
    views: dict[str, View]
    refused: dict[str, RefusedError]

    def named(self, name: str) -> str:
        """The name here of a port that is used. RefusedError: it is not imported."""
        if name in self.refused:
            raise self.refused[name]
        return self.outputs[name]


def view_of(port: Any, size: int) -> View:
    """The function of an output port. RefusedError: it is not imported. size: the value's."""
    kind, spec = kind_of(port.function), port._variable_spec
    if not takes_value(port) and spec != VALUE:
        raise RefusedError(
            f"output port {port.name} takes {spec}", "nearest: variable=(OWNER_VALUE, 0)"
        )
    if kind not in TABLES["output port function"]:
        raise RefusedError(f"output port {port.name} computes {kind}", NEAREST)
    try:
        written = TABLES["output port function"][kind].convert(port)
    except RefusedError as error:
        raise RefusedError(f"output port {port.name}: {error.reason}", error.nearest) from None
    if np.ndim(port.defaults.value) > 1:
        raise RefusedError(
            f"output port {port.name} gives an array of shape {np.shape(port.defaults.value)}",
            "a function that gives a number or a vector, of variable=(OWNER_VALUE, 0)",
        )
    made = View(written, int(np.size(port.defaults.value)))
    build = ProgramBuilder("port", "exact")
    at = Scope(Context(build, {}, {}), port.owner.name, {}, None, port.owner.name)
    try:
        made.of(at, build.input("value", Type(DType.F64, (size,))))
    except ModelError as error:
        raise RefusedError(f"output port {port.name}: {error}", NEAREST) from None
    return made


@converts("output port function", "Energy", "a further port", "not normalised, no transfer_fct")
@converts("output port function", "Stability", "a further port", "as Energy; Distance's metrics")
def _stable(port: Any) -> Stable:
    return stable_of(port.function)


def stable_of(function: Any) -> Stable:
    """Of a Stability, or of an Energy, which has that metric."""
    only(function, normalize=False, transfer_fct=None)
    metric = str(value_of(function, "metric")).lower()
    if metric not in METRICS:
        raise RefusedError(
            f"{kind_of(function)} has the metric {metric}", f"nearest: {', '.join(METRICS)}"
        )
    matrix = np.atleast_2d(np.asarray(value_of(function, "matrix"), dtype=np.float64))
    return Stable(matrix=tuple(map(tuple, matrix.tolist())), metric=metric)


@converts("output port function", "Linear", "a further port", "not gated")
def _scaled(port: Any) -> Scaled:
    if port.mod_afferents:
        raise RefusedError("it is gated, and scales the value", "a gate, and a ProcessingMechanism")
    numbers = {}
    for name in UNCHANGED:
        same_everywhere(port.function, name)
        made = np.array(number_of(port.function, name), dtype=np.float64)
        if made.size > 1:
            raise RefusedError(
                f"its {name} differs by element, at which PsyNeuLink stops", "one number"
            )
        numbers[name] = made.reshape(())
    return Scaled(numbers)


@converts(
    "output port function",
    "UserDefinedFunction",
    "a further port, compiled",
    "`def` or lambda of the value, in what @function takes; MEAN, VARIANCE …; no state, draws",
)
def _python(port: Any) -> OfValue:
    function, python = port.function, value_of(port.function, "custom_function")
    if not isinstance(python, types.FunctionType):
        raise RefusedError(f"it is {python!r}", "define it by `def` in a file")
    if function.stateful_parameter is not None:
        raise RefusedError(f"it keeps {function.stateful_parameter}", "an integrator of the tables")
    others = list(inspect.signature(python).parameters)[1:]
    numbers = []
    for name in others:
        if name in ("self", "owner", "context", "params") or not hasattr(function.parameters, name):
            raise RefusedError(
                f"it takes {name}, which PsyNeuLink gives it when it runs", "a function of numbers"
            )
        numbers.append(number_of(function, name))
    return OfValue(adopted(python), tuple(numbers), port._variable_spec == VALUE)


__all__ = ["Sent", "View", "stable_of", "view_of", "viewed"]
