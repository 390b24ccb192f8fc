"""Finds components of a model on which an output does not depend.

Three reasons, from the strongest:

    passes on    a node of which no operation exists: what it receives is what it gives
    no output    removing all its operations changes no output
    this output  likewise for one output

Conditions that the ranges decide count as decided. Draws count as pure: a node that only draws
advances the generator of `exact`, which is no effect of the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from psylang.analysis.structure import Structure
from psylang.ir.graph import Program, Region, Value
from psylang.passes.constants import Constants
from psylang.passes.copies import Copies
from psylang.passes.dead_code import DeadCode
from psylang.passes.scalarise import Scalarise

ROUNDS_MAX = 8


@dataclass(frozen=True)
class Liveness:
    """passing: nodes that compute nothing. computing: nodes and projections that compute. live: for
    each output the components on which it depends. idle_inputs, idle_parameters: for each output
    the inputs and parameters that cannot change it."""

    passing: tuple[str, ...]
    computing: tuple[str, ...]
    live: dict[str, frozenset[str]]
    idle_inputs: dict[str, tuple[str, ...]]
    idle_parameters: dict[str, tuple[str, ...]]

    def dead(self) -> tuple[str, ...]:
        """Computing components on which no output depends."""
        needed = frozenset().union(*self.live.values())
        return tuple(one for one in self.computing if one not in needed)

    def dead_for(self, output: str) -> tuple[str, ...]:
        """Components on which other outputs depend, but not this one."""
        never = self.dead()
        return tuple(
            one for one in self.computing if one not in self.live[output] and one not in never
        )


def liveness(program: Program, narrowed: Program, structure: Structure) -> Liveness:
    """The liveness of a program. narrowed: the program after decided.narrowed()."""
    made = _components(program)
    every = (*structure.nodes, *structure.projections)
    passing = tuple(node for node in structure.nodes if node not in made)
    computing = tuple(one for one in every if one in made)
    pure = replace(narrowed, numerics="fast")
    live, inputs, parameters = {}, {}, {}
    for number, output in enumerate(program.outputs):
        pruned = _pruned(_alone(pure, number))
        live[output.name] = _components(pruned)
        used = {value for op in pruned.body.walk() for value in op.operands}
        used |= {value for region in _regions(pruned.body) for value in region.yields[:1]}
        used |= {value for region in _regions(pruned.body)[1:] for value in region.yields}
        arguments = pruned.body.arguments
        first = len(program.parameters)
        parameters[output.name] = _idle(program.parameters, arguments, used)
        inputs[output.name] = _idle(program.inputs, arguments[first:], used)
    return Liveness(passing, computing, live, inputs, parameters)


def _idle(
    declared: Sequence[object], arguments: Sequence[Value], used: set[Value]
) -> tuple[str, ...]:
    return tuple(
        str(getattr(one, "name", ""))
        for one, value in zip(declared, arguments, strict=False)
        if value not in used
    )


def _regions(region: Region) -> list[Region]:
    return [region, *(inner for op in region.walk() for inner in op.regions)]


def _components(program: Program) -> frozenset[str]:
    return frozenset(op.origin.component for op in program.body.walk() if op.name != "constant")


def _alone(program: Program, number: int) -> Program:
    """The program with only one of its outputs."""
    body, count = program.body, len(program.outputs)
    return replace(
        program,
        outputs=(program.outputs[number],),
        body=Region(body.arguments, body.ops, (body.yields[number], *body.yields[count:])),
    )


def _pruned(program: Program) -> Program:
    # Not CommonSubexpressions: of two components with the same computation, one would seem dead.
    program = Scalarise()(program)
    for _ in range(ROUNDS_MAX):
        before = program
        for one in (Constants(), Copies(), DeadCode()):
            program = one(program)
        if program is before:
            break
    return program
