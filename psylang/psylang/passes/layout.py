"""Layout: the parameters, inputs, states and streams that a program really reads.

Copying an unread buffer would be wasted, and a state that only keeps its value would make trials
wait for each other. Names stay; the caller of the program passes only the remaining ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from psylang.ir.builder import rebuilt
from psylang.ir.graph import Op, Program, Region, Value
from psylang.ir.ops import DRAWS
from psylang.passes.rewrite import Rewriter


@dataclass(frozen=True)
class LiveLayout:
    """The names that a program reads, and the names that it declares but does not read.

    A state is read if an operation or an output uses it, or if its next value differs from it.
    state_bytes: of the live states of one sequence.
    """

    parameters: tuple[str, ...]
    inputs: tuple[str, ...]
    states: tuple[str, ...]
    streams: tuple[str, ...]
    dead_parameters: tuple[str, ...]
    dead_inputs: tuple[str, ...]
    dead_states: tuple[str, ...]
    dead_streams: tuple[str, ...]

    state_bytes: int


@dataclass(frozen=True)
class Layout:
    contract: ClassVar[str] = """
    needs  a verified program, after DeadCode
    keeps  the interpreter's outputs; the order and names of what is left; in `fast` all streams,
           whose numbers are part of what is drawn
    gives  no parameter, input or state that is not read; in `exact` no stream that is not drawn
    """

    def __call__(self, program: Program) -> Program:
        live = layout_of(program)
        if not (live.dead_parameters + live.dead_inputs + live.dead_states + live.dead_streams):
            return program
        return _without(program, live)


def layout_of(program: Program) -> LiveLayout:
    """The live parts of the signature."""
    used: set[Value] = set(program.body.yields[: len(program.outputs)])
    drawn: set[int] = set()
    for op in program.body.walk():
        used.update(op.operands)
        for region in op.regions:
            used.update(region.yields)
        if op.name in DRAWS:
            drawn.add(op.attributes["stream"])
    after = program.body.yields[len(program.outputs) :]
    first = len(program.parameters) + len(program.inputs)
    used.update(
        new
        for state, new in zip(program.body.arguments[first:], after, strict=False)
        if new is not state
    )
    values = iter(program.body.arguments)
    parameters = {one.name: next(values) in used for one in program.parameters}
    inputs = {one.name: next(values) in used for one in program.inputs}
    states = {one.name: next(values) for one in program.states}
    live = {
        name: value in used or value is not new
        for (name, value), new in zip(states.items(), after, strict=True)
    }
    exact = program.numerics == "exact"
    streams = {name: number in drawn or not exact for number, name in enumerate(program.streams)}
    return LiveLayout(
        parameters=_names(parameters, True),
        inputs=_names(inputs, True),
        states=_names(live, True),
        streams=_names(streams, True),
        dead_parameters=_names(parameters, False),
        dead_inputs=_names(inputs, False),
        dead_states=_names(live, False),
        dead_streams=_names(streams, False),
        state_bytes=sum(
            state.type.size * state.type.dtype.numpy.itemsize
            for state in program.states
            if live[state.name]
        ),
    )


def _names(alive: dict[str, bool], wanted: bool) -> tuple[str, ...]:
    return tuple(name for name, lives in alive.items() if lives is wanted)


def _without(program: Program, live: LiveLayout) -> Program:
    lives = (
        *(one.name in live.parameters for one in program.parameters),
        *(one.name in live.inputs for one in program.inputs),
        *(one.name in live.states for one in program.states),
    )
    arguments = tuple(
        value for alive, value in zip(lives, program.body.arguments, strict=False) if alive
    )
    outputs = len(program.outputs)
    nexts = tuple(
        value
        for state, value in zip(program.states, program.body.yields[outputs:], strict=True)
        if state.name in live.states
    )
    body = program.body
    if live.dead_streams:
        numbers = {program.streams.index(name): at for at, name in enumerate(live.streams)}
        body = _Renumbered(program, numbers).result().body
    return rebuilt(
        program,
        Region(
            (*arguments, program.seed, program.trial),
            body.ops,
            (*body.yields[:outputs], *nexts),
        ),
        parameters=tuple(one for one in program.parameters if one.name in live.parameters),
        inputs=tuple(one for one in program.inputs if one.name in live.inputs),
        states=tuple(one for one in program.states if one.name in live.states),
        streams=live.streams,
        stream_seeds=tuple(
            seed
            for name, seed in zip(program.streams, program.stream_seeds, strict=True)
            if name in live.streams
        ),
    )


class _Renumbered(Rewriter):
    def __init__(self, program: Program, numbers: dict[int, int]) -> None:
        super().__init__(program)
        self._numbers = numbers

    def visit(self, op: Op) -> None:
        if op.name in DRAWS:
            stream = self._numbers[op.attributes["stream"]]
            if stream != op.attributes["stream"]:
                self.keep_as(op, self.all_now(op.operands), (), {"stream": stream})
                return
        self.keep(op)
