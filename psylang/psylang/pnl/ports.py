"""PortsFunction: a mechanism whose function takes all its input ports, as PsyNeuLink's do."""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from psylang.ir.graph import Value
from psylang.ir.types import DType, Type
from psylang.model.arithmetic import as_float
from psylang.model.compute import drawing
from psylang.model.context import Scope, total
from psylang.model.errors import ModelError
from psylang.model.function import Function
from psylang.model.functions import TransferFunction, emit_part
from psylang.model.mechanism import Memory, MemoryPorts, Values, filled, without_input
from psylang.model.parameters import Number, number, numbers, part


class Written(Protocol):
    """Has emit(): from the values of the input ports to the value."""

    def emit(self, at: Scope, ports: Sequence[Value]) -> Value: ...


@dataclass(frozen=True, eq=False, kw_only=True)
class PortsFunction(MemoryPorts):
    """sizes: of the input ports. size: the value's. settings: numbers that the function takes."""

    sizes: tuple[int, ...]
    size: int
    written: Written = part()
    settings: Mapping[str, Number] = numbers()

    def arrivals(self) -> Mapping[str, tuple[int, ...]]:
        return {f"input{k}": (size,) for k, size in enumerate(self.sizes)}

    def ports(self) -> Mapping[str, Type]:
        return {"value": Type(DType.F64, (self.size,))}

    def initial(self, at: Scope) -> Memory:
        return without_input(self, at)

    def step(self, at: Scope, prepared: Values, memory: Memory) -> Memory:
        with at.origin():
            value = self.written.emit(at, [prepared[port] for port in self.arrivals()])
        if value.type.shape != (self.size,):
            if value.type.size != self.size:
                raise ModelError(
                    f"the function of `{self.name}` gives shape {value.type.shape}; its output "
                    f"port has ({self.size},)"
                )
            places = np.ndindex(*value.type.shape)
            value = at.build.stack([at.build.extract(value, *place) for place in places])
        return {"value": value}


@dataclass(frozen=True, eq=False, kw_only=True)
class EachPort(MemoryPorts):
    """A transfer function of each input port; its output ports have the values one by one."""

    sizes: tuple[int, ...]
    function: TransferFunction = part()

    def arrivals(self) -> Mapping[str, tuple[int, ...]]:
        return {f"input{k}": (size,) for k, size in enumerate(self.sizes)}

    def ports(self) -> Mapping[str, Type]:
        return {f"value{k}": Type(DType.F64, (size,)) for k, size in enumerate(self.sizes)}

    def initial(self, at: Scope) -> Memory:
        return without_input(self, at)

    def step(self, at: Scope, prepared: Values, memory: Memory) -> Memory:
        return {
            f"value{k}": emit_part(at, "function", prepared[f"input{k}"])
            for k in range(len(self.sizes))
        }


@dataclass(frozen=True, eq=False, kw_only=True)
class Signals(EachPort):
    """The signals of a mechanism that controls or gates. begins: their values before its first
    call."""

    begins: tuple[float, ...] = ()

    def initial(self, at: Scope) -> Memory:
        return _begun(at, self.ports(), self.begins)


@dataclass(frozen=True, eq=False, kw_only=True)
class OneSignal(PortsFunction):
    """The same, by a function of all ports."""

    begins: tuple[float, ...] = ()

    def initial(self, at: Scope) -> Memory:
        return _begun(at, self.ports(), self.begins)


def _begun(at: Scope, ports: Mapping[str, Type], begins: Sequence[float]) -> Memory:
    return {
        name: at.build.constant(number, kind)
        for (name, kind), number in zip(ports.items(), begins, strict=True)
    }


@dataclass(frozen=True, eq=False, kw_only=True)
class CombinedMeans:
    """The sum or the product of the ports' means, as CombineMeans'."""

    product: bool = False

    def emit(self, at: Scope, ports: Sequence[Value]) -> Value:
        build, means = at.build, []
        for one in ports:
            elements = [build.extract(one, k) for k in range(one.type.size)]
            added = total(at, elements)
            means.append(build.div(added, float(len(elements))))
        if not self.product:
            return build.stack([total(at, means)])
        result = means[0]
        for mean in means[1:]:
            result = build.mul(result, mean)
        return build.stack([result])


@dataclass(frozen=True, eq=False, kw_only=True)
class Combined:
    """The sum or the product of the ports, as LinearCombination's; each multiplied by its
    weight."""

    product: bool = False
    weights: tuple[float, ...] | None = None

    def emit(self, at: Scope, ports: Sequence[Value]) -> Value:
        build = at.build
        if self.weights is not None:
            ports = [build.mul(one, w) for one, w in zip(ports, self.weights, strict=True)]
        if not self.product:
            return total(at, ports)
        result = ports[0]
        for one in ports[1:]:
            result = build.mul(result, one)
        return result


@dataclass(frozen=True, eq=False, kw_only=True)
class Concatenated:
    """The ports one after the other."""

    def emit(self, at: Scope, ports: Sequence[Value]) -> Value:
        build = at.build
        return build.stack([build.extract(one, k) for one in ports for k in range(one.type.size)])


@dataclass(frozen=True, eq=False, kw_only=True)
class Apart:
    """The distance of two ports (docs/semantics.md, 9)."""

    metric: str

    def emit(self, at: Scope, ports: Sequence[Value]) -> Value:
        build, (first, second) = at.build, ports
        if self.metric == "dot_product":
            return build.op("dot", first, second)
        if self.metric == "energy":
            return build.div(build.neg(build.op("sum", build.mul(first, second))), 2.0)
        apart = build.sub(first, second)
        if self.metric == "euclidean":
            return build.op("sqrt", build.op("dot", apart, apart))
        apart = build.abs(apart)
        if self.metric == "max_abs_diff":
            return build.op("reduce_max", apart)
        added = build.op("sum", apart)
        if self.metric == "normed_l0_similarity":
            return build.sub(1.0, build.div(added, 4.0))
        return added


METRICS = (
    "difference",
    "dot_product",
    "energy",
    "euclidean",
    "max_abs_diff",
    "normed_l0_similarity",
)


@dataclass(frozen=True, eq=False, kw_only=True)
class Stable:
    """How far an activity y is from M y with a hollow M, by a metric; Hopfield's energy is
    -(Σ y_i (M y)_i) / 2."""

    matrix: tuple[tuple[float, ...], ...]
    metric: str = "energy"

    def emit(self, at: Scope, ports: Sequence[Value]) -> Value:
        build, (activity,) = at.build, ports
        hollow = np.array(self.matrix)
        np.fill_diagonal(hollow, 0.0)
        against = build.op("dot", activity, build.constant(hollow.T, Type(DType.F64, hollow.shape)))
        return Apart(metric=self.metric).emit(at, [activity, against])


@dataclass(frozen=True, eq=False, kw_only=True)
class UserDefined:
    """A Python function of `variable`, a matrix with a row a port, as PsyNeuLink calls it.

    given: for each further argument the name of the setting that it takes.
    """

    function: Function
    given: tuple[str, ...] = ()

    def emit(self, at: Scope, ports: Sequence[Value]) -> Value:
        return self.of(at, ports, {})

    def of(self, at: Scope, ports: Sequence[Value], kept: Mapping[str, Value]) -> Value:
        """kept: arguments that are no settings."""
        build = at.build
        sizes = {one.type.size for one in ports}
        if len(sizes) > 1:
            raise ModelError(
                f"the input ports of `{at.component}` have several sizes, {sorted(sizes)}; a "
                "user-defined function takes ports of one size"
            )
        variable = build.stack(
            [build.extract(one, k) for one in ports for k in range(one.type.size)],
            (len(ports), *sizes),
        )
        others = [kept[name] if name in kept else at[name] for name in self.given]
        data = [variable, *others]
        return as_float(build, self.function.inline(build, data, at.here(), drawing(at)))


@dataclass(frozen=True, eq=False, kw_only=True)
class Keeping(PortsFunction):
    """A user-defined function that takes its last result as an argument. kept: the argument.
    begins: its first value, and shape: that of the result, whose elements are `begins` in a row."""

    written: UserDefined
    kept: str
    begins: Number = number(0.0)
    shape: tuple[int, ...]

    def initial(self, at: Scope) -> Memory:
        shapes = self.arrivals()
        zeros = {
            port: at.build.constant(0.0, Type(DType.F64, shape)) for port, shape in shapes.items()
        }
        before = {"kept": filled(at, "begins", int(np.prod(self.shape)))}
        return {**self.step(at, zeros, before), **before}

    def step(self, at: Scope, prepared: Values, memory: Memory) -> Memory:
        build, ports = at.build, [prepared[port] for port in self.arrivals()]
        cells = [build.extract(memory["kept"], k) for k in range(memory["kept"].type.size)]
        before = build.stack(cells, self.shape) if self.shape else cells[0]
        with at.origin():
            value = self.written.of(at, ports, {self.kept: before})
        if value.type.shape != self.shape or value.type.size != self.size:
            raise ModelError(
                f"the function of `{self.name}` gives shape {value.type.shape}, and it takes its "
                f"last result, of shape {self.shape}, for `{self.kept}`"
            )
        flat = build.stack([build.extract(value, *k) for k in np.ndindex(*self.shape)])
        return {"value": flat, "kept": flat}


class Adopted(Function):
    """A plain Python function; functions of the modeller that it calls are compiled in the same
    way.

    Its arguments' defaults are parameters of PsyNeuLink, which a call always gives.
    """

    takes_defaults = True

    def _names(self) -> Mapping[str, Any]:
        return {
            name: Adopted(one) if is_plain(one) else one for name, one in super()._names().items()
        }


def is_plain(one: Any) -> bool:
    """Returns whether it is a function made by `def` outside of libraries."""
    return isinstance(one, types.FunctionType) and not one.__module__.startswith(
        ("numpy", "scipy", "psyneulink", "math")
    )
