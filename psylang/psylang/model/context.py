"""The interface by which components write operations: a builder, parameters, and draws.

A Context belongs to one program; a Scope is a Context seen from one component: at["gain"] is the
value of its parameter, at.normal() a draw of its own. The keys of draws depend on the numerics:

    exact   one generator a component; draws follow one another, in PsyNeuLink's order; another
            one for estimates of a search
    fast    one stream for each place that draws; `step` counts the component's executions in the
            trial, and elements within; `estimate` is 0, or the number of a search's simulation
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from psylang.ir.builder import Builder, Operand, ProgramBuilder
from psylang.ir.graph import Numerics, Origin, Value
from psylang.ir.types import F64, I32
from psylang.model.errors import ModelError
from psylang.model.parameters import Array, Formula
from psylang.model.rules import Guard

# From a builder (a rehearsal has its own) and the value of a parameter to its new value.
Change = Callable[[Builder, Value], Value]
Changes = Mapping[str, Change]  # By parameter.
ESTIMATES = "~estimates"  # Behind the name of a mechanism: its generator for estimates.


@dataclass
class Draws:
    """Streams by name, and draws that are used again.

    recorded: in a rehearsal, (stream, kind, loops around it) of each draw. replayed: for each
    stream, draws that were made beforehand and replace later ones, so that all candidates of a
    search have the same draws.
    """

    numbers: dict[str, int] = field(default_factory=dict)
    recorded: list[tuple[str, str, int]] | None = None
    replayed: dict[str, Iterator[Value]] | None = None


class Context:
    """One program that is being written."""

    def __init__(
        self,
        build: ProgramBuilder,
        constants: Mapping[str, Array],
        varied: Mapping[str, Value],
        formulas: Mapping[str, Formula] = MappingProxyType({}),
        guards: Mapping[str, Guard] = MappingProxyType({}),
    ) -> None:
        self.build = build
        self.constants = constants
        self.varied = varied
        self.formulas = formulas
        self.guards = guards
        self.draws = Draws()
        self.estimate: Operand = 0
        self.depth = 0  # The number of enclosing loops and conditions.
        self.modulated: Changes = {}
        self.changed: set[str] = set()  # Parameters that were read with a change.

    @property
    def numerics(self) -> Numerics:
        return self.build.numerics

    @property
    def exact(self) -> bool:
        return self.build.numerics == "exact"

    def rehearsal(self) -> Context:
        """A context like this one that discards its operations and records its draws."""
        build = ProgramBuilder(self.build.name, self.numerics)
        twin = Context(build, self.constants, self.varied, self.formulas, self.guards)
        twin.estimate, twin.modulated = self.estimate, dict(self.modulated)
        twin.draws.recorded = []
        twin.changed = self.changed
        return twin

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Operations written inside may run any number of times."""
        self.depth += 1
        try:
            yield
        finally:
            self.depth -= 1

    @contextmanager
    def modulating(self, changes: Changes) -> Iterator[None]:
        """Operations written inside read parameters with these changes, in place of earlier ones of
        the same parameters."""
        before = self.modulated
        self.modulated = {**before, **changes}
        try:
            yield
        finally:
            self.modulated = before

    def number(self, name: str) -> Value:
        """The value of a parameter, after control has set it. NaN: a mechanism has set it, and it
        violates a limit."""
        value = self._set(name)
        if name not in self.guards or self.constant(name) is not None:
            return value
        return self.guards[name].held(self.build, name, value, self._set)

    def _set(self, name: str) -> Value:
        if self._follows(name):
            made: Value = self.formulas[name].value(self._set, self.build.op)
            return made
        value = self.varied.get(name)
        if value is None:
            array = self.constants[name]
            value = self.build.constant(array, dataclasses.replace(F64, shape=array.shape))
        change = self.modulated.get(name)
        if change is None:
            return value
        self.changed.add(name)
        return change(self.build, value)

    def constant(self, name: str) -> Array | None:
        """The value of a parameter that is the same in all trials, or None."""
        if name in self.modulated or self._follows(name):
            return None
        return self.constants.get(name)

    def _follows(self, name: str) -> bool:
        """Returns whether it is computed from a parameter that varies, or that control sets."""
        formula = self.formulas.get(name)
        return formula is not None and any(
            leaf.name in self.varied or leaf.name in self.modulated for leaf in formula.leaves()
        )

    def reseed(self, component: str, seed: Value) -> None:
        """Begins the stream of a component anew, in `exact`. seed: an unsigned i32."""
        numbers = self.draws.numbers
        if component not in numbers:
            numbers[component] = self.build.stream(component)
        self.build.reseed(numbers[component], seed)

    def draw(self, kind: str, component: str, site: str, step: Operand) -> Value:
        """A draw of `component`. site: the place that draws; in `fast` each place has its own
        stream."""
        stream = component if self.exact else f"{component}.{site}"
        if self.exact and isinstance(self.estimate, Value):
            stream += ESTIMATES
        draws = self.draws
        if draws.recorded is not None:
            draws.recorded.append((stream, kind, self.depth))
        if draws.replayed is not None and stream in draws.replayed:
            return next(draws.replayed[stream])
        if stream not in draws.numbers:
            draws.numbers[stream] = self.build.stream(stream)
        write = self.build.normal if kind == "normal" else self.build.uniform
        if self.exact:
            return write(draws.numbers[stream])
        return write(draws.numbers[stream], step, self.estimate)


class Scope:
    """A context seen from a component, or from a part of it."""

    def __init__(
        self,
        context: Context,
        component: str,
        names: Mapping[str, str],
        holder: Any,
        path: str,
        step: Operand = 0,
        element: tuple[int, int] = (0, 1),
    ) -> None:
        self.context = context
        self.component = component
        self.build = context.build
        self.holder = holder
        self.step = step
        self.element = element  # The element's number, and the count of elements that draw at once.
        self._names = names  # From the path of a field to the name of its parameter.
        self._path = path

    @property
    def exact(self) -> bool:
        return self.context.exact

    def part(self, field: str) -> Scope:
        """The scope of the component that `field` holds."""
        return Scope(
            self.context,
            self.component,
            self._names,
            getattr(self.holder, field),
            f"{self._path}.{field}",
            self.step,
            self.element,
        )

    def at_step(self, step: Operand) -> Scope:
        """The same scope, drawing for that execution."""
        return Scope(self.context, self.component, self._names, self.holder, self._path, step)

    def __getitem__(self, field: str) -> Value:
        """The value of a parameter."""
        with self.origin(field):
            return self.context.number(self._names[f"{self._path}.{field}"])

    def constant(self, field: str) -> Array | None:
        """The value of a parameter that is the same in all trials, or None."""
        return self.context.constant(self._names[f"{self._path}.{field}"])

    def is_always(self, field: str, value: float) -> bool:
        """Returns whether a parameter is this number in all trials."""
        constant = self.constant(field)
        return constant is not None and bool(np.all(constant == value))

    @contextmanager
    def origin(self, parameter: str = "", port: str = "", source: str = "") -> Iterator[None]:
        """Operations written within this context have this origin."""
        with self.build.at(self.here(parameter, port, source)):
            yield

    def here(self, parameter: str = "", port: str = "", source: str = "") -> Origin:
        """The origin of operations that are written for this component."""
        inner = self._path.partition(".")[2]
        place = ".".join(name for name in (inner, parameter) if name)
        return Origin(self.component, port, place, source)

    # Steps that change nothing are not written.

    def plus(self, value: Value, field: str) -> Value:
        return value if self.is_always(field, 0.0) else self.build.add(value, self[field])

    def minus(self, value: Value, field: str) -> Value:
        return value if self.is_always(field, 0.0) else self.build.sub(value, self[field])

    def times(self, value: Value, field: str) -> Value:
        return value if self.is_always(field, 1.0) else self.build.mul(value, self[field])

    # Draws.

    def for_element(self, number: int, count: int) -> Scope:
        """The same scope, drawing for one of `count` elements."""
        return Scope(
            self.context,
            self.component,
            self._names,
            self.holder,
            self._path,
            self.step,
            (number, count),
        )

    def normals(self, site: str, shape: tuple[int, ...]) -> Value:
        """Standard normal draws, one per element, in order."""
        count = int(np.prod(shape))
        return self.each(shape, lambda k: self.for_element(k, count).draw("normal", site))

    def draw(self, kind: str, site: str, step: Operand | None = None) -> Value:
        """One draw. step: distinguishes the draws of a place that draws several times in one
        execution."""
        inner = self._path.partition(".")[2]
        place = ".".join(name for name in (inner, site) if name)
        now = self.step if step is None else step
        if self.exact:
            return self.context.draw(kind, self.component, place, now)
        number, count = self.element
        if count == 2 and isinstance(now, Value):
            return self.context.draw(kind, self.component, f"{place}{number}", now)
        return self.context.draw(kind, self.component, place, self._packed(now, number, count))

    def _packed(self, step: Operand, number: int, count: int) -> Operand:
        """The step of an element's draw. One block of the generator gives the draws of four steps
        in a row, so that elements which draw at once share blocks."""
        if count == 1:
            return step
        if count == 2:
            assert isinstance(step, int)
            return 2 * step + number
        blocks = -(-count // 4)
        if not isinstance(step, Value):
            return 4 * (int(step) * blocks + number // 4) + number % 4
        build, block = self.build, step
        if blocks > 1:
            block = build.add(build.op("mul", step, blocks), number // 4)
        return build.op("or", build.op("shl", block, 2), number % 4)

    def each(self, shape: tuple[int, ...], element: Callable[[int], Value]) -> Value:
        """A scalar of element(0), or an array of element(0), element(1) … in C order."""
        if not shape:
            return element(0)
        count = int(np.prod(shape))
        return self.build.stack([element(k) for k in range(count)], shape)


def total(scope: Scope, values: Sequence[Value]) -> Value:
    """The sum, from the first value on; in `exact` single units are summed as NumPy sums a vector.

    ModelError: there are no values.
    """
    if not values:
        raise ModelError(f"`{scope.component}` has nothing to add up")
    if scope.exact and values[0].type.size == 1:
        return _pairwise(scope, values)
    return _in_order(scope, values)


def _in_order(scope: Scope, values: Sequence[Value]) -> Value:
    result = values[0]
    for value in values[1:]:
        result = scope.build.add(result, value)
    return result


def _pairwise(scope: Scope, values: Sequence[Value]) -> Value:
    """numpy.sum of a vector: eight sums at a time, halves beyond 128 (docs/semantics.md, 0)."""
    add, count = scope.build.add, len(values)
    if count < 8:
        return _in_order(scope, values)
    if count > 128:
        half = count // 2 - count // 2 % 8
        return add(_pairwise(scope, values[:half]), _pairwise(scope, values[half:]))
    whole = count - count % 8
    sums = [_in_order(scope, values[k:whole:8]) for k in range(8)]
    while len(sums) > 1:
        sums = [add(a, b) for a, b in zip(sums[::2], sums[1::2], strict=True)]
    return _in_order(scope, [sums[0], *values[whole:]])


def undefined(build: Builder, *values: Value) -> Value:
    """Returns whether an element of the values is NaN."""
    found: Value | None = None
    for value in values:
        for index in np.ndindex(*value.type.shape):
            one = build.extract(value, *index)
            here = build.op("ne", one, one)
            found = here if found is None else build.or_(found, here)
    assert found is not None
    return found


def as_i32(scope: Scope, value: Operand) -> Value:
    """A counter as a value."""
    return value if isinstance(value, Value) else scope.build.constant(value, I32)
