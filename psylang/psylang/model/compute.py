"""Mechanisms with a function of the modeller."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field

from psylang.ir.graph import Value
from psylang.ir.types import DType, Type
from psylang.model.arithmetic import UnsupportedError, as_float
from psylang.model.calls import Draw
from psylang.model.context import Scope
from psylang.model.errors import ModelError, listed
from psylang.model.function import Function
from psylang.model.mechanism import Mechanism, Memory, Run, Values, without_input
from psylang.model.parameters import Number, numbers


@dataclass(frozen=True, eq=False, kw_only=True)
class Compute(Mechanism):
    """A user-defined function of input ports and parameters.

    inputs: for each argument that is an input port its size; 0 of a plain number. parameters: for
    each other argument its value. size: of the output port `value`; 0 of a plain number. choice:
    the value is a whole number, an i32.
    """

    function: Function
    inputs: Mapping[str, int] = field(default_factory=dict)
    parameters: Mapping[str, Number] = numbers()
    size: int = 1
    choice: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.function, Function):
            raise ModelError(
                f"the function of `{self.name}` is {self.function!r}; decorate it with "
                "@psylang.model.function"
            )
        given = [*self.inputs, *self.parameters]
        if sorted(given) != sorted(self.function.arguments):
            raise ModelError(
                f"`{self.name}` gives {listed(given)} to {self.function!r}; each argument is an "
                "input or a parameter, once"
            )

    def arrivals(self) -> Mapping[str, tuple[int, ...]]:
        return {name: (size,) if size else () for name, size in self.inputs.items()}

    def ports(self) -> Mapping[str, Type]:
        kind = DType.I32 if self.choice else DType.F64
        return {"value": Type(kind, (self.size,) if self.size else ())}

    def initial(self, at: Scope) -> Memory:
        return without_input(self, at)

    def step(self, at: Scope, prepared: Values, memory: Memory) -> Memory:
        data = [
            prepared[name] if name in prepared else at[name] for name in self.function.arguments
        ]
        with at.origin():
            result = self.function.inline(at.build, data, at.here(), drawing(at))
            try:
                value: Value = as_float(at.build, result)
            except UnsupportedError as error:
                raise ModelError(f"the function of `{self.name}`: {error}") from None
        wanted = self.ports()["value"].of(DType.F64)
        if value.type.size == 1 and wanted.size == 1 and value.type != wanted:
            scalar = at.build.extract(value, *(0,) * len(value.type.shape))
            value = at.build.stack([scalar]) if wanted.shape else scalar
        if value.type != wanted:
            raise ModelError(
                f"the function of `{self.name}` gives shape {value.type.shape}, its size says "
                f"{wanted.shape}"
            )
        return {"value": value}

    def slot_of(self, port: str) -> str:
        return "" if self.choice else "value"

    def outputs(self, at: Scope, memory: Memory, run: Run) -> Values:
        value = memory["value"]
        return {"value": at.build.convert(value, DType.I32) if self.choice else value}


def drawing(at: Scope) -> Draw:
    """Draws for a function, each call with a stream of its own in `fast`."""
    numbers = itertools.count()
    return lambda kind: at.draw(kind, f"draw{next(numbers)}")
