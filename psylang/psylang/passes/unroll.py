"""Unrolling: a loop with few rounds, whose number is known beforehand, becomes straight code.

The count is found by running the operations of the condition: constants and arithmetic on carried
values that begin as constants.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from psylang.ir.graph import Op, Program, Region, Value
from psylang.ir.interpret import MATHEMATICS, evaluate
from psylang.ir.ops import DRAWS
from psylang.passes.constants import as_number
from psylang.passes.if_conversion import cost_of
from psylang.passes.rewrite import Rewriter


@dataclass(frozen=True)
class Unroll:
    """most_rounds: limit for an unrolled loop. most_cost: limit of the added operations, in
    additions.

    A draw or an exp counts as its expansion (ops.py), because LLVM has to read the expansion:
    ten passes of a network with noise take seconds to compile when unrolled, and gain little.
    """

    most_rounds: int = 16
    most_cost: int = 1024
    contract: ClassVar[str] = """
    needs  a verified program, with Constants done
    keeps  the interpreter's results; draws and their order
    gives  no loop of a countable number of rounds within the limits
    """

    def __call__(self, program: Program) -> Program:
        if not any(op.name == "loop" for op in program.body.walk()):
            return program
        return _Unroller(program, self).result()


class _Unroller(Rewriter):
    def __init__(self, program: Program, settings: Unroll) -> None:
        super().__init__(program)
        self._settings = settings
        self._left = settings.most_cost

    def visit(self, op: Op) -> None:
        rounds = self._rounds(op) if op.name == "loop" else 0
        if not rounds:
            self.keep(op)
            return
        (body,) = op.regions
        added = (rounds - 1) * cost_of(body)
        if added > self._left:
            self.keep(op)
            return
        self._left -= added
        values = self.all_now(op.operands)
        for _ in range(rounds):
            _, *values_after = self.inline(body, values, op.origin)
            values = tuple(values_after)
        self.replace(op.results, values)

    def _rounds(self, op: Op) -> int:
        """How many rounds the loop runs; 0: not known, or too many."""
        (body,) = op.regions
        needed = _slice(body)
        if needed is None:
            return 0
        ops, carried = needed
        places = {argument: number for number, argument in enumerate(body.arguments)}
        numbers: dict[Value, Any] = {}
        for argument in carried:
            number = self._number(op.operands[places[argument]])
            if number is None:
                return 0
            numbers[argument] = number
        inside = {*body.arguments, *(value for inner in body.ops for value in inner.results)}
        for one in {operand for inner in ops for operand in inner.operands} | {*body.yields}:
            if one not in inside and (number := self._number(one)) is not None:
                numbers[one] = number
        for rounds in range(1, self._settings.most_rounds + 1):
            for inner in ops:
                if any(operand not in numbers for operand in inner.operands):
                    return 0
                given = [numbers[operand] for operand in inner.operands]
                numbers[inner.result] = evaluate(inner, given, self.source.numerics)
            if body.yields[0] not in numbers:
                return 0
            if not numbers[body.yields[0]]:
                return rounds
            after = {one: numbers.get(body.yields[1 + places[one]]) for one in carried}
            if any(number is None for number in after.values()):
                return 0
            numbers.update(after)
        return 0

    def _number(self, value: Value) -> Any:
        """The constant value of a value of the old program, or None."""
        op = self.definition.get(self.now(value))
        return as_number(op) if op is not None and op.name == "constant" else None


def _slice(body: Region) -> tuple[list[Op], list[Value]] | None:
    """The operations from which the condition is computed, and their carried values; None if an
    operation is not arithmetic."""
    after = dict(zip(body.arguments, body.yields[1:], strict=True))
    needed = {body.yields[0]}
    while True:
        ops = []
        before = len(needed)
        for op in reversed(body.ops):
            if needed.isdisjoint(op.results):
                continue
            if op.regions or op.name in DRAWS or op.name in MATHEMATICS:
                return None
            needed.update(op.operands)
            ops.append(op)
        needed.update([after[one] for one in body.arguments if one in needed])
        if len(needed) == before:
            return ops[::-1], [one for one in body.arguments if one in needed]
