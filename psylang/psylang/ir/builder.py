"""Writes programs: values in, operations appended, results typed by ops.py.

    build = ProgramBuilder("race")
    rate = build.parameter("rate", 0.5)
    stream = build.stream("noise")
    def round_of(x: Value, n: Value) -> tuple[Value, list[Value]]:
        z = build.normal(stream, step=n)
        x, n = build.add(x, build.mul(rate, z)), build.add(n, 1)
        return build.and_(build.lt(x, 1.0), build.lt(n, 1000)), [x, n]
    x, n = build.loop([build.constant(0.0), build.constant(0, I32)], round_of, limit=1000)
    build.output("steps", n)
    program = build.build()

Plain numbers become constants of the type of the other operands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from psylang.errors import ProgramError
from psylang.ir.graph import (
    NO_ATTRIBUTES,
    NOWHERE,
    Attribute,
    Input,
    Numerics,
    Op,
    Origin,
    Output,
    Parameter,
    Program,
    Region,
    State,
    Value,
    frozen_array,
)
from psylang.ir.ops import OPS, TypeMismatchError, result_type
from psylang.ir.types import BOOL, F64, I32, I64, DType, Type

Operand = Value | float | int | bool
T = TypeVar("T")


def plain(value: Any, type: Type) -> Attribute:
    """The attribute of a constant: a number, or nested tuples of them."""
    array = np.asarray(value, dtype=type.dtype.numpy)
    if array.shape != type.shape:
        array = np.broadcast_to(array, type.shape)
    return _tuples(array.tolist())


def _tuples(value: Any) -> Attribute:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


class Appender:
    """Appends operations to one region after the other; region() opens an inner one."""

    def __init__(self) -> None:
        self._open: list[list[Op]] = [[]]
        self._origin = NOWHERE

    # Frames.

    @contextmanager
    def at(self, origin: Origin) -> Iterator[None]:
        """Operations appended within this context have this origin."""
        before, self._origin = self._origin, origin
        try:
            yield
        finally:
            self._origin = before

    def append(self, op: Op) -> Op:
        """Appends an existing operation."""
        self._open[-1].append(op)
        return op

    def region(
        self,
        types: Sequence[Type],
        inside: Callable[..., Sequence[Value]],
        hints: Sequence[str] = (),
    ) -> Region:
        """The operations of `inside`, called with the region's arguments; it returns the yields."""
        names = [*hints, *[""] * len(types)]
        arguments = tuple(Value(type, hint) for type, hint in zip(types, names, strict=False))
        self._open.append([])
        try:
            yields = tuple(inside(*arguments))
        finally:
            ops = tuple(self._open.pop())
        return Region(arguments, ops, yields)

    def take(self) -> tuple[Op, ...]:
        """The operations appended to the outermost region."""
        return tuple(self._open[0])

    # Operations.

    def op(self, name: str, *operands: Operand, hint: str = "", **attributes: Attribute) -> Value:
        """An operation of OPS. TypeMismatchError: wrong operands for it."""
        values = self._values(name, operands)
        type = result_type(name, [value.type for value in values], attributes)
        return self.append(
            Op(name, values, (Value(type, hint),), attributes or NO_ATTRIBUTES, (), self._origin)
        ).result

    def constant(self, value: Any, type: Type = F64) -> Value:
        """A number, or an array of the type's shape (a number fills the shape)."""
        return self.op("constant", value=plain(value, type), type=type)

    def _values(self, name: str, operands: Sequence[Operand]) -> tuple[Value, ...]:
        typed = [one.type for one in operands if isinstance(one, Value)]
        if len(typed) == len(operands):
            return tuple(one for one in operands if isinstance(one, Value))
        if name == "select":
            of = [one.type for one in operands[1:] if isinstance(one, Value)] or [F64]
            condition, *both = operands
            return (
                condition if isinstance(condition, Value) else self.constant(condition, BOOL),
                *(
                    one if isinstance(one, Value) else self.constant(one, of[0].scalar)
                    for one in both
                ),
            )
        if not typed:
            kinds = {bool: BOOL, int: I64, float: F64}
            typed = [next((kinds[type(one)] for one in operands if type(one) in kinds), F64)]
        return tuple(
            one if isinstance(one, Value) else self.constant(one, typed[0].scalar)
            for one in operands
        )


class Builder(Appender):
    """Has a function for each usual operation; loop(), if_() and argmin() open inner regions."""

    def add(self, a: Operand, b: Operand) -> Value:
        return self.op("add", a, b)

    def sub(self, a: Operand, b: Operand) -> Value:
        return self.op("sub", a, b)

    def mul(self, a: Operand, b: Operand) -> Value:
        return self.op("mul", a, b)

    def div(self, a: Operand, b: Operand) -> Value:
        return self.op("div", a, b)

    def fma(self, a: Operand, b: Operand, c: Operand) -> Value:
        return self.op("fma", a, b, c)

    def neg(self, a: Operand) -> Value:
        return self.op("neg", a)

    def abs(self, a: Operand) -> Value:
        return self.op("abs", a)

    def and_(self, a: Operand, b: Operand) -> Value:
        return self.op("and", a, b)

    def or_(self, a: Operand, b: Operand) -> Value:
        return self.op("or", a, b)

    def not_(self, a: Operand) -> Value:
        return self.op("not", a)

    def lt(self, a: Operand, b: Operand) -> Value:
        return self.op("lt", a, b)

    def ge(self, a: Operand, b: Operand) -> Value:
        return self.op("ge", a, b)

    def select(self, condition: Operand, yes: Operand, no: Operand) -> Value:
        return self.op("select", condition, yes, no)

    def convert(self, value: Value, to: DType) -> Value:
        return value if value.type.dtype is to else self.op("convert", value, to=to.value)

    def stack(self, scalars: Sequence[Operand], shape: tuple[int, ...] | None = None) -> Value:
        """A vector, or an array of `shape` filled in C order."""
        return self.op("stack", *scalars, shape=(len(scalars),) if shape is None else shape)

    def extract(self, value: Value, *index: int) -> Value:
        return self.op("extract", value, index=tuple(index)) if value.type.shape else value

    # Structure.

    def loop(
        self,
        first: Sequence[Value],
        inside: Callable[..., tuple[Value, Sequence[Value]]],
        limit: int = 0,
        hints: Sequence[str] = (),
    ) -> tuple[Value, ...]:
        """Runs `inside(*carried)`, which returns (again, next values), while `again` holds."""

        def region(*carried: Value) -> Sequence[Value]:
            again, values = inside(*carried)
            return [again, *values]

        types = [value.type for value in first]
        body = self.region(types, region, hints)
        if [value.type for value in body.yields] != [BOOL, *types]:
            raise TypeMismatchError(
                f"a loop that carries {_listed(types)} yields {_listed_types(body.yields)}; "
                "it needs a bool and the same again"
            )
        return self._structured("loop", tuple(first), (body,), types, hints, limit=limit)

    def if_(
        self,
        condition: Value,
        then: Callable[[], Sequence[Value]],
        otherwise: Callable[[], Sequence[Value]],
    ) -> tuple[Value, ...]:
        """The values of `then()` or `otherwise()`; only the selected one runs."""
        yes, no = self.region([], then), self.region([], otherwise)
        types = [value.type for value in yes.yields]
        if condition.type != BOOL or types != [value.type for value in no.yields]:
            raise TypeMismatchError(
                f"if takes a bool and two regions of like yields, not {condition.type}, "
                f"{_listed(types)} and {_listed_types(no.yields)}"
            )
        return self._structured("if", (condition,), (yes, no), types)

    def argmin(self, count: Operand, cost: Callable[[Value], Value]) -> tuple[Value, Value]:
        """(number, cost) of the cheapest of candidates 0 … count - 1."""
        value = count if isinstance(count, Value) else self.constant(count, I32)
        body = self.region([I32], lambda candidate: [cost(candidate)], ["candidate"])
        of = body.yields[0].type
        if value.type != I32 or of.shape or not of.dtype.is_float:
            raise TypeMismatchError(f"argmin takes a count of i32 and a scalar float, not {of}")
        number, least = self._structured("argmin", (value,), (body,), [I32, of])
        return number, least

    def _structured(
        self,
        name: str,
        operands: tuple[Value, ...],
        regions: tuple[Region, ...],
        types: Sequence[Type],
        hints: Sequence[str] = (),
        **attributes: Attribute,
    ) -> tuple[Value, ...]:
        names = [*hints, *[""] * len(types)]
        results = tuple(Value(type, hint) for type, hint in zip(types, names, strict=False))
        return self.append(
            Op(name, operands, results, attributes or NO_ATTRIBUTES, regions, self._origin)
        ).results


def _listed(types: Sequence[Type]) -> str:
    return f"({', '.join(map(str, types))})"


def _listed_types(values: Sequence[Value]) -> str:
    return _listed([value.type for value in values])


class ProgramBuilder(Builder):
    """A Builder of one trial's program."""

    def __init__(self, name: str, numerics: Numerics = "fast") -> None:
        super().__init__()
        self.name = name
        self.numerics: Numerics = numerics
        self.seed = Value(I64, "seed")
        self.trial = Value(I64, "trial")
        self.notes: dict[str, str] = {}
        self._parameters: dict[str, tuple[Parameter, Value]] = {}
        self._inputs: dict[str, tuple[Input, Value]] = {}
        self._states: dict[str, tuple[State, Value]] = {}
        self._next: dict[str, Value] = {}
        self._outputs: dict[str, tuple[Output, Value]] = {}
        self._streams: dict[str, int] = {}

    def parameter(
        self,
        name: str,
        default: ArrayLike,
        range: tuple[float, float] | None = None,
        type: Type | None = None,
    ) -> Value:
        """A value that run() may set. By default its type is the default's, with f64 elements."""
        type = type or Type(DType.F64, np.shape(default))
        value = Value(type, name)
        parameter = Parameter(name, type, frozen_array(default, type), range)
        return _once(self._parameters, "parameter", name, (parameter, value))[1]

    def input(self, name: str, type: Type = F64, default: ArrayLike | None = None) -> Value:
        """A value that each trial receives."""
        array = None if default is None else frozen_array(default, type)
        return _once(self._inputs, "input", name, (Input(name, type, array), Value(type, name)))[1]

    def state(self, name: str, initial: ArrayLike, type: Type | None = None) -> Value:
        """The value that the previous trial stored by set_state()."""
        type = type or Type(DType.F64, np.shape(initial))
        state = State(name, type, frozen_array(initial, type))
        return _once(self._states, "state", name, (state, Value(type, name)))[1]

    def set_state(self, name: str, value: Value) -> None:
        """Stores the value for the next trial of the sequence."""
        self._next[name] = value

    def stream(self, name: str, seed: int = 0) -> int:
        """A stream of random numbers. seed: its generator's seed in `exact`."""
        number = len(self._streams)
        _once(self._streams, "stream", name, seed)
        return number

    def normal(self, stream: int, step: Operand = 0, candidate: Operand = 0) -> Value:
        """Mean 0, standard deviation 1. (stream, candidate, step): each pair its own number."""
        return self._draw("random.normal", stream, candidate, step)

    def uniform(self, stream: int, step: Operand = 0, candidate: Operand = 0) -> Value:
        """[0, 1)."""
        return self._draw("random.uniform", stream, candidate, step)

    def reseed(self, stream: int, key: Operand) -> None:
        """Begins a stream of `exact` anew, with a seed (an i32, unsigned)."""
        self._draw("random.seed", stream, key, 0)

    def _draw(self, name: str, stream: int, candidate: Operand, step: Operand) -> Value:
        words = [
            one if isinstance(one, Value) else self.constant(one, I32) for one in (candidate, step)
        ]
        return self.op(name, self.seed, self.trial, *words, stream=stream)

    def output(self, name: str, value: Value, dims: tuple[str, ...] = ()) -> None:
        """A result of each trial. dims: a name for each axis of its shape."""
        axes = dims or tuple(f"{name}_{axis}" for axis in range(len(value.type.shape)))
        _once(self._outputs, "output", name, (Output(name, value.type, axes), value))

    def build(self) -> Program:
        """The program. A state without set_state() keeps its value."""
        arguments = (
            *(value for _, value in self._parameters.values()),
            *(value for _, value in self._inputs.values()),
            *(value for _, value in self._states.values()),
            self.seed,
            self.trial,
        )
        yields = (
            *(value for _, value in self._outputs.values()),
            *(self._next.get(name, value) for name, (_, value) in self._states.items()),
        )
        return Program(
            self.name,
            tuple(parameter for parameter, _ in self._parameters.values()),
            tuple(one for one, _ in self._inputs.values()),
            tuple(state for state, _ in self._states.values()),
            tuple(output for output, _ in self._outputs.values()),
            Region(arguments, self.take(), yields),
            self.numerics,
            tuple(self._streams),
            tuple(self._streams.values()),
            dict(self.notes),
        )


def _once(among: dict[str, T], kind: str, name: str, value: T) -> T:
    if name in among:
        raise ProgramError(f"there is already a {kind} `{name}`")
    among[name] = value
    return value


def rebuilt(program: Program, body: Region, **changes: Any) -> Program:
    """The same program with another body (and other fields)."""
    fields: Mapping[str, Any] = {**program.__dict__, "body": body, **changes}
    return Program(**fields)


__all__ = ["OPS", "Builder", "Operand", "ProgramBuilder", "plain", "rebuilt"]
