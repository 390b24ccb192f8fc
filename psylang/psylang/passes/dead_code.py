"""Dead code: removes operations that no output, no state and no draw of `exact` needs.

Needed operations are found backwards. A carried value of a loop is needed if its result is, or the
condition, or a needed carried value computes with it; so a state is needed by an output or by a
needed state. A state that is not needed keeps its value, and layout.py drops it.

A loop without needed results is removed if it ends: if it has a `limit`, which its model promises
to keep. A loop without a limit stays, because it may be endless, and an endless trial must not
become a result. Draws of `exact` stay wherever they are: each advances its generator for all later
draws.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from psylang.ir.builder import rebuilt
from psylang.ir.graph import Op, Program, Region, Value
from psylang.ir.ops import DRAWS


@dataclass(frozen=True)
class DeadCode:
    contract: ClassVar[str] = """
    needs  a verified program
    keeps  the interpreter's results; in `exact` every draw and their order; the signature
    gives  only what outputs and the states they need are made of, loops without a limit, and draws
           of `exact` with the loops and branches around them
    """

    def __call__(self, program: Program) -> Program:
        live = _Liveness(program)
        return live.pruned()


class _Liveness:
    """The needed values; grows until it is complete."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._live: set[Value] = set()
        self._exact = program.numerics == "exact"
        self._anchors: dict[Op, bool] = {}
        outputs = len(program.outputs)
        self._next = program.body.yields[outputs:]
        first = len(program.parameters) + len(program.inputs)
        self._states = program.body.arguments[first : first + len(program.states)]
        self._live.update(program.body.yields[:outputs])
        self._read(program.body)
        while self._add(
            after
            for state, after in zip(self._states, self._next, strict=True)
            if state in self._live
        ):
            self._read(program.body)

    def _add(self, values: Iterable[Value]) -> bool:
        before = len(self._live)
        self._live.update(values)
        return len(self._live) > before

    def _anchored(self, op: Op) -> bool:
        """Whether an operation stays even if its results are not needed."""
        known = self._anchors.get(op)
        if known is None:
            known = (self._exact and op.name in DRAWS) or (
                op.name == "loop" and not op.attributes.get("limit", 0)
            )
            known = known or any(
                self._anchored(inner) for region in op.regions for inner in region.ops
            )
            self._anchors[op] = known
        return known

    def _needed(self, op: Op) -> bool:
        return not self._live.isdisjoint(op.results) or self._anchored(op)

    def _read(self, region: Region) -> None:
        """Adds the operands of the needed values of a region."""
        for op in reversed(region.ops):
            if not self._needed(op):
                continue
            if op.name == "loop":
                self._read_loop(op)
            elif op.name == "if":
                self._live.add(op.operands[0])
                for inner in op.regions:
                    pairs = zip(op.results, inner.yields, strict=True)
                    self._live.update([value for result, value in pairs if result in self._live])
                    self._read(inner)
            else:
                self._live.update(op.operands)
                for inner in op.regions:
                    self._live.update(inner.yields)
                    self._read(inner)

    def _read_loop(self, op: Op) -> None:
        (body,) = op.regions
        again, *after = body.yields
        self._live.add(again)
        while True:
            self._live.update(
                [
                    value
                    for value, result, argument in zip(
                        after, op.results, body.arguments, strict=True
                    )
                    if result in self._live or argument in self._live
                ]
            )
            self._read(body)
            if all(
                value in self._live
                for value, argument in zip(after, body.arguments, strict=True)
                if argument in self._live
            ):
                break
        for first, number in zip(op.operands, self._kept(op), strict=True):
            if number:
                self._live.add(first)

    def _kept(self, op: Op) -> list[bool]:
        """For each carried value whether the loop keeps it."""
        return [
            result in self._live or argument in self._live
            for result, argument in zip(op.results, op.regions[0].arguments, strict=True)
        ]

    # The smaller program.

    def pruned(self) -> Program:
        body = self._program.body
        outputs = len(self._program.outputs)
        yields = (
            *body.yields[:outputs],
            *(
                after if state in self._live else state
                for state, after in zip(self._states, self._next, strict=True)
            ),
        )
        ops = self._ops(body)
        if ops == body.ops and yields == body.yields:
            return self._program
        return rebuilt(self._program, Region(body.arguments, ops, yields))

    def _ops(self, region: Region) -> tuple[Op, ...]:
        return tuple([self._op(op) for op in region.ops if self._needed(op)])

    def _op(self, op: Op) -> Op:
        if not op.regions:
            return op
        if op.name == "loop":
            kept = self._kept(op)
            (body,) = op.regions
            region = self._region(body, _where(body.arguments, kept), (True, *kept))
            regions: tuple[Region, ...] = (region,)
            operands = _where(op.operands, kept)
            results = _where(op.results, kept)
        elif op.name == "if":
            kept = [result in self._live for result in op.results]
            regions = tuple(self._region(region, (), kept) for region in op.regions)
            operands, results = op.operands, _where(op.results, kept)
        else:
            every = [True] * len(op.regions[0].yields)
            regions = tuple(self._region(one, one.arguments, every) for one in op.regions)
            operands, results = op.operands, op.results
        if regions == op.regions and results == op.results:
            return op
        return Op(op.name, operands, results, op.attributes, regions, op.origin)

    def _region(self, region: Region, arguments: tuple[Value, ...], kept: Iterable[bool]) -> Region:
        ops = self._ops(region)
        yields = _where(region.yields, kept)
        if (arguments, ops, yields) == (region.arguments, region.ops, region.yields):
            return region
        return Region(arguments, ops, yields)


def _where(values: tuple[Value, ...], kept: Iterable[bool]) -> tuple[Value, ...]:
    return tuple([value for value, keep in zip(values, kept, strict=True) if keep])
