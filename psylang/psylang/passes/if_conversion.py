"""If-conversion: both branches are computed, and the condition selects the result.

Lanes of a vector differ in their conditions, so a branch costs both sides there anyway. Loops in an
unselected branch run one round and stop (their condition gets `and` the branch's), and an argmin
tries no candidate; so no finite computation becomes endless.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from psylang.ir.graph import Op, Program, Region, Value
from psylang.ir.ops import OPS
from psylang.passes.rewrite import Rewriter, draws


@dataclass(frozen=True)
class IfConversion:
    """most_cost: the greatest cost of both branches of a converted `if` (ops.py); None: no limit.
    loops: whether branches with loops or argmin in them are converted."""

    most_cost: int | None = None
    loops: bool = True
    contract: ClassVar[str] = """
    needs  a verified program
    keeps  the interpreter's results; in `exact` every `if` that draws
    gives  selects for every `if` within the limits; of None and True in `fast`: no `if` at all
    """

    def __call__(self, program: Program) -> Program:
        return _Converter(program, self).result()


def cost_of(region: Region) -> int:
    """The approximate cost of a region in additions; one round of each loop."""
    return sum(OPS[op.name].cost for op in region.walk() if op.name in OPS)


class _Converter(Rewriter):
    def __init__(self, program: Program, settings: IfConversion) -> None:
        super().__init__(program)
        self._settings = settings
        # Conditions and sides of the enclosing branches; their conjunction once it is needed.
        self._branches: list[tuple[Value, bool]] = []

    def visit(self, op: Op) -> None:
        if op.name == "if":
            self._if(op)
        elif op.name == "loop" and self._branches:
            self._loop(op)
        elif op.name == "argmin" and self._branches:
            none = self.constant(0, op.operands[0].type)
            count = self.op("select", self._meant(), self.now(op.operands[0]), none)
            self.keep_as(op, (count,), self.rewritten_all(op.regions))
        else:
            self.keep(op)

    def _wanted(self, op: Op) -> bool:
        if self.source.numerics == "exact" and any(map(draws, op.regions)):
            return False
        most = self._settings.most_cost
        if most is not None and sum(map(cost_of, op.regions)) > most:
            return False
        return self._settings.loops or not any(
            inner.name in ("loop", "argmin") for region in op.regions for inner in region.walk()
        )

    def _if(self, op: Op) -> None:
        if not self._wanted(op):
            self.keep(op)
            return
        condition = self.now(op.operands[0])
        sides = []
        for region, side in zip(op.regions, (True, False), strict=True):
            self._branches.append((condition, side))
            self.visit_all(region.ops)
            self._branches.pop()
            sides.append(self.all_now(region.yields))
        self.replace(
            op.results,
            [
                yes if yes is no else self.op("select", condition, yes, no, hint=result.hint)
                for result, yes, no in zip(op.results, *sides, strict=True)
            ],
        )

    def _meant(self) -> Value:
        """Whether all enclosing branches are taken."""
        meant: Value | None = None
        for condition, side in self._branches:
            one = condition if side else self.op("not", condition)
            meant = one if meant is None else self.op("and", meant, one)
        assert meant is not None
        return meant

    def _loop(self, op: Op) -> None:
        meant = self._meant()
        (body,) = op.regions
        operands = self.all_now(op.operands)
        self._open.append([])
        self.visit_all(body.ops)
        again, *values = self.all_now(body.yields)
        again = self.op("and", again, meant)
        region = Region(body.arguments, tuple(self._open.pop()), (again, *values))
        self.keep_as(op, operands, (region,))
