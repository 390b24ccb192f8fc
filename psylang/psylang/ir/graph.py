"""Values, operations, regions and programs: typed SSA data flow with structured control.

    Program   the computation of one trial of a model: a region over its arguments
    Region    a list of operations with arguments in front and yielded values behind
    Op        a name of OPS (ops.py), operands, attributes, regions, results
    Value     one result of an operation, or one argument of a region; it has one type

An operation may use earlier values of its own region, and values of the enclosing regions. All
operations except draws of random numbers are pure. With numerics `exact` draws are a sequence
(the generator has state), and no pass may drop, double or reorder them; with `fast` they are
functions of their counters, and pure too.

Programs are built (builder.py), printed and parsed (text.py), checked (verify.py), interpreted
(interpret.py), rewritten (passes/) and compiled (emit/). Passes make new ones; none changes one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from psylang.errors import ProgramError
from psylang.ir.types import Type

Numerics = Literal["exact", "fast"]
# str: a name; int, float, bool: of a scalar constant or a number of a stream; tuples of them for
# shapes and permutations; nested tuples of floats for constants of vectors and matrices.
Attribute = Any
NO_ATTRIBUTES: Mapping[str, Attribute] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Origin:
    """The part of the model to which an operation belongs; reports and analyses name it.

    component: name of the mechanism or projection; "" for operations that the compiler added.
    port: its input or output port, or "".
    parameter: the parameter that it evaluates, or "".
    source: "file:line" of a user-defined function; LIMITS and a rule, if the operation is NaN where
    the parameter violates it; or "".
    """

    component: str = ""
    port: str = ""
    parameter: str = ""
    source: str = ""

    def __str__(self) -> str:
        parts = [self.component, self.port, self.parameter]
        text = ".".join(part for part in parts if part)
        return f"{text}@{self.source}" if self.source else text


NOWHERE = Origin()
LIMITS = "limits: "  # In `source`.


class Value:
    """A value that an operation or a region defines once. Compared by identity."""

    __slots__ = ("hint", "type")

    def __init__(self, type: Type, hint: str = "") -> None:
        self.type = type
        self.hint = hint  # A name for readers; not unique.

    def __repr__(self) -> str:
        return f"<{self.hint or 'value'}: {self.type}>"


class Op:
    """One operation. Never changed after its construction."""

    __slots__ = ("attributes", "name", "operands", "origin", "regions", "results")

    def __init__(
        self,
        name: str,
        operands: tuple[Value, ...],
        results: tuple[Value, ...],
        attributes: Mapping[str, Attribute] = NO_ATTRIBUTES,
        regions: tuple[Region, ...] = (),
        origin: Origin = NOWHERE,
    ) -> None:
        self.name = name
        self.operands = operands
        self.results = results
        self.attributes = attributes
        self.regions = regions
        self.origin = origin

    @property
    def result(self) -> Value:
        """The result of an operation with one result."""
        (only,) = self.results
        return only

    def __repr__(self) -> str:
        return f"<op {self.name}>"


@dataclass(eq=False, slots=True)
class Region:
    """Operations in order; `yields` are its results."""

    arguments: tuple[Value, ...]
    ops: tuple[Op, ...] = ()
    yields: tuple[Value, ...] = ()

    def walk(self) -> Iterator[Op]:
        """All operations, outer ones before those of their regions."""
        for op in self.ops:
            yield op
            for region in op.regions:
                yield from region.walk()


@dataclass(frozen=True)
class Parameter:
    """A number that the caller of run() may pass, for all trials or for each.

    range: the analyses may assume it for every element; run() checks it only on request.
    """

    name: str
    type: Type
    default: NDArray[Any]
    range: tuple[float, float] | None = None


@dataclass(frozen=True)
class Input:
    """An input of each trial: run(inputs={name: array of shape (trials, *type.shape)})."""

    name: str
    type: Type
    default: NDArray[Any] | None = None


@dataclass(frozen=True)
class State:
    """A slot that keeps its value from one trial of a sequence to the next."""

    name: str
    type: Type
    initial: NDArray[Any]


@dataclass(frozen=True)
class Output:
    """A result of each trial: an array of shape (trials, *type.shape). dims: a name per axis."""

    name: str
    type: Type
    dims: tuple[str, ...] = ()


@dataclass(frozen=True)
class Program:
    """One trial of a model.

    body.arguments: parameters, inputs, states (as many as below, in that order), then `seed` and
    `trial`, both i64: the number of the trial counts through all sequences.
    body.yields: outputs, then the states' next values.

    streams: names of the streams of random numbers; operations refer to them by index. In `exact`
    each is a generator of its own, seeded with `stream_seeds`.
    """

    name: str
    parameters: tuple[Parameter, ...]
    inputs: tuple[Input, ...]
    states: tuple[State, ...]
    outputs: tuple[Output, ...]
    body: Region
    numerics: Numerics = "fast"
    streams: tuple[str, ...] = ()
    stream_seeds: tuple[int, ...] = ()
    notes: Mapping[str, str] = field(default_factory=dict)

    @property
    def argument_count(self) -> int:
        return len(self.parameters) + len(self.inputs) + len(self.states) + 2

    @property
    def seed(self) -> Value:
        return self.body.arguments[-2]

    @property
    def trial(self) -> Value:
        return self.body.arguments[-1]

    def is_independent(self) -> bool:
        """No trial needs another trial's states, so trials may run at once, in any order."""
        return not self.states and not (self.numerics == "exact" and self.streams)


def frozen_array(value: Any, type: Type) -> NDArray[Any]:
    """`value` as a read-only array of `type`. ProgramError: it has another shape."""
    array = np.array(value, dtype=type.dtype.numpy)
    if array.shape != type.shape:
        raise ProgramError(f"shape {array.shape} where {type.shape} is needed")
    array.setflags(write=False)
    return array
