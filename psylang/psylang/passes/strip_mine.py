"""Strip mining: a loop that draws one number per round runs four rounds at a time.

One block of Philox (numerics/) gives the draws of four steps with equal number / 4. A loop that
draws with its round's number therefore becomes

    loop (x, n):                                 # n is a multiple of four
      block = n >> 2
      round 0 with n = block << 2 | 0
      round 1 with n = block << 2 | 1, its values kept if round 0 yielded `again`
      …
      again = all four yielded `again`

After the draws are expanded, the numbers folded and common operations shared, each block is
computed once. Rounds after the last one are computed but have no effect.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from psylang.ir.graph import Op, Program, Region, Value
from psylang.ir.ops import DRAWS
from psylang.ir.types import I32
from psylang.passes.if_conversion import cost_of
from psylang.passes.rewrite import Rewriter

ROUNDS = 4
SHIFT = 2


@dataclass(frozen=True)
class StripMine:
    """most_cost: the greatest cost of the four rounds together, in additions (ops.py).

    Above this cost the code grows more than it gains: eight vertices of the Necker cube compile in
    8 s for 0.61 us a trial, and in 2.4 s for 0.79 us.
    """

    most_cost: int = 2048
    contract: ClassVar[str] = """
    needs  a verified program with constants folded; before Expand, after IfConversion
    keeps  the interpreter's results, bit by bit; `exact` as it is; `limit` counts blocks now, so
           a model that breaks its promise is found up to three rounds later
    gives  blocks of four rounds for every loop that draws with a step which it carries, an i32 that
           begins as a constant multiple of four and grows by one, and that has no loop or argmin
           in it
    """

    def __call__(self, program: Program) -> Program:
        if program.numerics != "fast" or not any(op.name in DRAWS for op in program.body.walk()):
            return program
        return _StripMiner(program, self.most_cost).result()


class _StripMiner(Rewriter):
    def __init__(self, program: Program, most_cost: int) -> None:
        super().__init__(program)
        self._most_cost = most_cost
        self._numbers = {
            op.result: op.attributes["value"] for op in program.body.walk() if op.name == "constant"
        }

    def visit(self, op: Op) -> None:
        counter = self._counter(op) if op.name == "loop" else None
        if counter is None:
            self.keep(op)
        else:
            self._blocks(op, counter)

    def _counter(self, op: Op) -> int | None:
        """The carried value that is the step of draws."""
        (body,) = op.regions
        inner = list(body.walk())
        if cost_of(body) * ROUNDS > self._most_cost or any(
            one.name in ("loop", "argmin") for one in inner
        ):
            return None
        steps = {one.operands[3] for one in inner if one.name in DRAWS}
        made = {value: one for one in body.ops for value in one.results}
        for number, (argument, after) in enumerate(
            zip(body.arguments, body.yields[1:], strict=True)
        ):
            if argument not in steps or argument.type != I32 or after not in made:
                continue
            first = self._numbers.get(op.operands[number])
            if first is not None and first % ROUNDS == 0 and self._grows(made[after], argument):
                return number
        return None

    def _grows(self, op: Op, argument: Value) -> bool:
        """Whether an operation adds one to a value."""
        if op.name != "add" or argument not in op.operands:
            return False
        other = op.operands[1 if op.operands[0] is argument else 0]
        return self._numbers.get(other) == 1

    def _blocks(self, op: Op, counter: int) -> None:
        (body,) = op.regions
        operands = self.all_now(op.operands)
        arguments = tuple(Value(value.type, value.hint) for value in body.arguments)
        self._open.append([])
        two = self.constant(SHIFT, I32)
        block = self.op("lshr", arguments[counter], two, hint="block")
        begin = self.op("shl", block, two)
        # A round continues from the previous one even if that was the last: its values are then not
        # kept, and need not wait for the condition.
        again, *kept = after = list(self.inline(body, _with(arguments, counter, begin), op.origin))
        for number in range(1, ROUNDS):
            step = self.op("or", begin, number)
            after = list(self.inline(body, _with(after[1:], counter, step), op.origin))
            kept = self._where(again, after[1:], kept)
            again = self.op("and", again, after[0])
        region = Region(arguments, tuple(self._open.pop()), (again, *kept))
        limit = op.attributes.get("limit", 0)
        self.keep_as(op, operands, (region,), {**op.attributes, "limit": -(-limit // ROUNDS)})

    def _where(self, again: Value, after: Sequence[Value], before: Sequence[Value]) -> list[Value]:
        return [
            new if new is old else self.op("select", again, new, old, hint=new.hint)
            for new, old in zip(after, before, strict=True)
        ]


def _with(values: Sequence[Value], place: int, value: Value) -> list[Value]:
    return [*values[:place], value, *values[place + 1 :]]
