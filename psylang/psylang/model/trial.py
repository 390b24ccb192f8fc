"""Writes one trial: mechanisms called in the order of the schedule, their values in cells.

A cell that is read before the trial wrote it has an initial value: for a mechanism that resets,
from its initial memory; otherwise the value that the previous trial left (a state).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from psylang.ir.builder import Builder
from psylang.ir.graph import Region, Value
from psylang.ir.ops import OPS, TypeMismatchError
from psylang.ir.types import BOOL, DType
from psylang.model.along import Override
from psylang.model.blueprint import External, Projection
from psylang.model.cells import Cell, Cells, Key, Logic, default, is_kept
from psylang.model.context import Change, Changes, Context, Scope, total
from psylang.model.errors import ModelError
from psylang.model.layout import Layout, projected, shaped
from psylang.model.mechanism import Mechanism, Memory, Run, Values
from psylang.model.rules import changed

BEGUN: Key = ("begun", "begun")  # Whether the sequence had an earlier trial.


@dataclass
class States:
    """States of the program by cell, and their initial values."""

    values: dict[Key, Value] = field(default_factory=dict)


class LazyMemory(Mapping[str, Value]):
    """The memory of a mechanism; a slot is created when it is first read."""

    def __init__(self, trial: Trial, node: str, slots: Sequence[str]) -> None:
        self._trial, self._node, self._slots = trial, node, slots

    def __getitem__(self, slot: str) -> Value:
        if slot not in self._slots:
            raise KeyError(slot)
        return self._trial.memory(self._node, slot)

    def __iter__(self) -> Iterator[str]:
        return iter(self._slots)

    def __len__(self) -> int:
        return len(self._slots)


class Trial:
    """One trial, or one simulated by a search, that is being written."""

    def __init__(
        self,
        context: Context,
        layout: Layout,
        inputs: Mapping[str, Value],
        states: States,
        cells: Cells | None = None,
    ) -> None:
        self.context = context
        self.layout = layout
        self.inputs = inputs
        self.states = states
        self.cells = cells or Cells()
        self.logic = Logic(context)

    def twin(self, context: Context | None = None) -> Trial:
        """A copy with its own cells; with another context it also has its own states."""
        states = self.states if context is None else States(dict(self.states.values))
        return Trial(context or self.context, self.layout, self.inputs, states, self.cells.inner())

    def rehearsed(self, write: Callable[[Trial], None]) -> Cells:
        """The reads and writes of `write`; its operations are discarded."""
        return self.rehearsed_cost(write)[0]

    def rehearsed_cost(self, write: Callable[[Trial], None]) -> tuple[Cells, int]:
        """The same, and the approximate cost of its operations in additions."""
        trial = self.twin(self.context.rehearsal())
        write(trial)
        ops = Region((), trial.context.build.take()).walk()
        return trial.cells, sum(
            OPS[op.name].cost * op.result.type.size for op in ops if op.name in OPS
        )

    def scope(self, node: str) -> Scope:
        """The scope of a mechanism, drawing for its next step."""
        return self.layout.scope(self.context, node)

    # Values of cells before they are written.

    def memory(self, node: str, slot: str) -> Value:
        key = ("memory", node, slot)
        self.cells.note_read(key)
        if key not in self.cells.known:
            mechanism = self.layout.mechanisms[node]
            if mechanism.reset == "never":
                known = self._state(key, self.layout.initial_memory(node)[slot])
                self.cells.known[key] = self._begun(
                    node, known, lambda: mechanism.initial(self.scope(node))[slot]
                )
            else:
                for name, value in mechanism.initial(self.scope(node)).items():
                    self.cells.known.setdefault(("memory", node, name), value)
        return self.logic.value(self.cells.known[key])

    def port(self, node: str, port: str = "") -> Value:
        """The value of an output port, the main one if not named."""
        mechanism = self.layout.mechanisms[node]
        key = ("port", node, port or next(iter(mechanism.ports())))
        self.cells.note_read(key)
        if key not in self.cells.known:
            slot = mechanism.slot_of(key[2])
            if slot and self.layout.gate(node, "output", key[2]) is None:
                self.cells.known[key] = self.memory(node, slot)
            elif mechanism.reset == "never":
                known = self._state(key, self.layout.initial_port(node, key[2]))
                self.cells.known[key] = self._begun(node, known, lambda: self._first(node)[key[2]])
            else:
                slots = self.layout.slots(node, self.context.numerics)
                begun = LazyMemory(self, node, slots)
                values = mechanism.outputs(self.scope(node), begun, Run(0, False))
                for name, value in values.items():
                    self.cells.known.setdefault(("port", node, name), value)
        return self.logic.value(self.cells.known[key])

    def _first(self, node: str) -> Values:
        """The output ports of a mechanism that never ran."""
        mechanism, at = self.layout.mechanisms[node], self.scope(node)
        return mechanism.outputs(at, mechanism.initial(at), Run(0, False))

    def _begun(self, node: str, kept: Value, first: Callable[[], Value]) -> Value:
        """The value that the previous trial left; for a sequence's first trial, if a mechanism's
        initial value depends on varied parameters, that initial value."""
        if self.layout.begins_known(node):
            return kept
        if BEGUN not in self.states.values:
            self.states.values[BEGUN] = self.context.build.state("begun", False, BOOL)
        return self.context.build.select(self.states.values[BEGUN], kept, first())

    def _state(self, key: Key, initial: object) -> Value:
        if key not in self.states.values:
            name = self.layout.state_name(key)
            type = self.layout.type_of(key)
            self.states.values[key] = self.context.build.state(name, initial, type)  # type: ignore[arg-type]
        return self.states.values[key]

    def present(self, key: Key) -> Value:
        """A cell as a value; created if it does not exist."""
        if key[0] == "memory":
            return self.memory(key[1], key[2])
        if key[0] == "port":
            return self.port(key[1], key[2])
        self.cells.note_read(key)
        value = self.cells.known[key] = self.counter(key)
        return value

    def counter(self, key: Key) -> Value:
        """A cell of a schedule as a value, without a record of the read."""
        cell = self.cells.known.get(key)
        if cell is None:
            return self.kept(key) if is_kept(key) else self.logic.value(default(key))
        return self.logic.value(cell)

    def kept(self, key: Key) -> Value:
        """A cell of a schedule that the trial before left."""
        return self._state(key, self.layout.begun.get(key, default(key)))

    # Reads of cells, by the ports of mechanisms and by conditions.

    def arrivals(self, node: str) -> dict[str, list[Value]]:
        """The arrivals at each input port, in the order in which the model was made."""
        build, result = self.context.build, {}
        for port, shape in self.layout.mechanisms[node].arrivals().items():
            sources = self.layout.arriving.get((node, port), ())
            result[port] = [shaped(build, self._brought(one), shape) for one in sources]
            gate = self.layout.gate(node, "input", port)
            if gate is not None:
                whole = total(self.scope(node), result[port])
                result[port] = [_gated(self, gate, whole)]
        return result

    def _brought(self, source: Projection | External) -> Value:
        if isinstance(source, External):
            return self.inputs[source.name]
        port = self.port(source.sender, source.sender_port)
        value = self.context.build.convert(port, DType.F64)
        if source.matrix is None:
            return value
        at = self.layout.scope(self.context, source.name, source)
        with at.origin("matrix"):
            return projected(at, value)

    def asked(self, function: Callable[..., object], places: Sequence[tuple[str, str]]) -> Value:
        """A function of outputs, (node, port) each, as a condition."""
        emit = getattr(function, "emit", None)
        if emit is None:
            raise ModelError("While takes a function made by @psylang.model.function")
        result = emit(self.context, [self.port(*place) for place in places])
        value = self.logic.value(result)
        if value.type.dtype.value != "bool" or value.type.shape:
            raise ModelError(f"the function of While gives {value.type}; it must give a bool")
        return value

    # Calls.

    def call(self, node: str, frozen: Trial, always: bool = True) -> None:
        """Runs a mechanism; its inputs are the values of the others in `frozen`.

        ModelError: shapes of its parameters that do not go together; a modulated parameter that no
        call needs.
        """
        if node in self.layout.nests:
            self.layout.nests[node](self)
            return
        try:
            with self.scope(node).origin():
                self._call(node, frozen, always)
        except TypeMismatchError as error:
            raise ModelError(
                f"shapes in `{node}` do not go together: {error}; see the shapes of its "
                "parameters and its size"
            ) from None

    def _call(self, node: str, frozen: Trial, always: bool) -> None:
        modulated = self.layout.modulated(node)
        replaced = self.layout.overrides.get(node, ())
        if modulated or replaced:
            # Memory begins with the parameters as they are outside of calls.
            for slot in self.layout.slots(node, self.context.numerics):
                self.memory(node, slot)
        changes = _overridden(self, frozen.modulations(modulated), replaced)
        with self.context.modulating(changes):
            self._executed(node, frozen, always)
        for name in modulated:
            if name not in self.context.changed:
                raise ModelError(
                    f"`{name}` is modulated, and `{node}` needs it only to begin its memory, "
                    "before its first call; modulate another parameter"
                )

    def modulations(self, projections: Mapping[str, Projection]) -> Changes:
        """What projections make of the parameters that they name."""
        return {
            name: partial(_modulated, one, self.level(one)) for name, one in projections.items()
        }

    def level(self, projection: Projection) -> Value:
        """The number by which a projection modulates."""
        value = self.port(projection.sender, projection.sender_port)
        number = self.context.build.extract(value, *(0,) * len(value.type.shape))
        return self.context.build.convert(number, DType.F64)

    def _executed(self, node: str, frozen: Trial, always: bool) -> None:
        mechanism, at = self.layout.mechanisms[node], self.scope(node)
        slots = self.layout.slots(node, self.context.numerics)
        prepared = mechanism.prepare(at, frozen.arrivals(node))
        self.cells.note_read(("steps", node))
        steps = self.cells.known.get(("steps", node), 0)
        truncated: Cell = False
        memory: Memory
        if mechanism.ends() and mechanism.until_finished:
            begun = {slot: self.memory(node, slot) for slot in slots}
            memory, steps = self._loop(mechanism, prepared, begun, steps)
            truncated = mechanism.is_unfinished(at, memory)
        else:
            memory = LazyMemory(self, node, slots)
            memory = mechanism.step(at.at_step(steps), prepared, memory)
            steps = self.logic.counted(steps, True)
        outputs = dict(mechanism.outputs(at, memory, Run(steps, truncated)))
        for port in outputs:
            gate = self.layout.gate(node, "output", port)
            if gate is not None:
                outputs[port] = _gated(frozen, gate, outputs[port])
        for slot, value in memory.items():
            self.cells.write(("memory", node, slot), value, always)
        for port, value in outputs.items():
            self.cells.write(("port", node, port), value, always)
        self.cells.write(("steps", node), steps, always)
        if isinstance(truncated, Value):
            self.cells.note_read(("truncated",))
            before = self.cells.known.get(("truncated",), False)
            self.cells.write(("truncated",), self.logic.either(before, truncated), always)

    def _loop(
        self, mechanism: Mechanism, prepared: Values, begun: Memory, steps: Cell
    ) -> tuple[Memory, Value]:
        """Runs steps until it is finished, or reaches its maximum of steps."""
        build, at, slots = self.context.build, self.scope(mechanism.name), list(begun)
        last: Cell = mechanism.max_steps
        if isinstance(steps, Value):
            last = build.add(steps, mechanism.max_steps)

        def inside(*carried: Value) -> tuple[Value, Sequence[Value]]:
            memory = dict(zip(slots, carried[:-1], strict=True))
            after = mechanism.step(at.at_step(carried[-1]), prepared, memory)
            count = build.add(carried[-1], 1)
            again = build.and_(mechanism.goes_on(at, after), build.lt(count, last))
            return again, [*(after[slot] for slot in slots), count]

        first = [*begun.values(), self.logic.value(steps)]
        hints = [*(f"{mechanism.name}_{slot}" for slot in slots), "step"]
        with self.context.inside(), at.origin():
            *values, count = build.loop(first, inside, mechanism.max_steps, hints)
        return dict(zip(slots, values, strict=True)), count

    def maybe_call(self, node: str, frozen: Trial, runs: Cell) -> None:
        """Runs a mechanism if `runs`; else its cells keep their values."""
        if not isinstance(runs, Value):
            if runs:
                self.call(node, frozen)
            return
        rehearsal = self.rehearsed(lambda trial: trial.call(node, frozen.seen_by(trial)))
        keys = list(rehearsal.written)
        for key in dict.fromkeys((*rehearsal.exposed, *keys)):
            self.present(key)  # Values created inside a region are not visible outside.
        before = [self.present(key) for key in keys]

        def then() -> Sequence[Value]:
            trial = self.twin()
            trial.call(node, frozen.seen_by(trial))
            return [trial.present(key) for key in keys]

        if self.context.exact or not _is_pure(self.layout, node):
            with self.context.inside():
                after = self.context.build.if_(runs, then, lambda: before)
        else:
            # In `fast` a step without a loop is pure: it costs less than a branch.
            select = self.context.build.select
            after = tuple(select(runs, yes, no) for yes, no in zip(then(), before, strict=True))
        for key, value in zip(keys, after, strict=True):
            self.cells.write(key, value, False)

    def frozen(self) -> Trial:
        """The mechanisms' view of one another within a time step: the values before it."""
        return self.seen_by(self)

    def seen_by(self, trial: Trial) -> Trial:
        """These values in `trial`'s program; reads of them are recorded by `trial`."""
        cells = Cells(dict(self.cells.known), trial.cells.exposed, {}, set(trial.cells.definite))
        return Trial(trial.context, self.layout, self.inputs, trial.states, cells)


def _is_pure(layout: Layout, node: str) -> bool:
    """Returns whether a call has no loop."""
    if node in layout.nests:
        return False
    mechanism = layout.mechanisms[node]
    return not (mechanism.ends() and mechanism.until_finished)


def _overridden(
    trial: Trial, changes: Changes, replaced: Sequence[tuple[Key, Override]]
) -> Changes:
    """Changes of parameters, and the values that overrides put in their place."""
    made = dict(changes)
    for key, one in replaced:
        trial.cells.note_read(key)
        now = trial.cells.known.get(key, False)
        if isinstance(now, Value) or now:
            made[one.parameter] = partial(_replaced, one, now, made.get(one.parameter))
    return made


def _replaced(
    one: Override, now: Cell, before: Change | None, build: Builder, value: Value
) -> Value:
    """An override's value if it holds `now`, else what there was before."""
    given = build.constant(one.value, value.type)
    if not isinstance(now, Value):
        return given
    return build.select(now, given, value if before is None else before(build, value))


def _modulated(projection: Projection, level: Value, build: Builder, value: Value) -> Value:
    return _spread(build, projection, value, level)


def _gated(trial: Trial, projection: Projection, value: Value) -> Value:
    """The value of a port that a projection gates."""
    return _spread(trial.context.build, projection, value, trial.level(projection))


def _spread(build: Builder, projection: Projection, value: Value, level: Value) -> Value:
    """A modulated value; a level in its place is that of every element."""
    assert projection.modulation is not None
    made = changed(build, projection.receiver, projection.modulation, value, level)
    if made.type.shape == value.type.shape:
        return made
    return build.stack([made] * value.type.size, value.type.shape)
