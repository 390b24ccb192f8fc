"""Hoisting: moves operations out of a loop or an argmin if their operands never change there.

Operations are pure and never trap, so an unneeded operation has only a cost. Only operations that
every round computes are moved, not operations of branches.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from psylang.ir.graph import Op, Program, Region, Value
from psylang.ir.ops import DRAWS
from psylang.passes.rewrite import Rewriter


@dataclass(frozen=True)
class Hoist:
    contract: ClassVar[str] = """
    needs  a verified program
    keeps  the interpreter's results; in `exact` every draw in its place
    gives  loops and argmins, of whose operations without regions each depends on what they carry,
           on a region in them, or on a draw of `exact`
    """

    def __call__(self, program: Program) -> Program:
        return _Hoister(program).result()


class _Hoister(Rewriter):
    def visit(self, op: Op) -> None:
        if op.name in ("loop", "argmin"):
            region = self._emptied(self.rewritten(op.regions[0]))
            self.keep_as(op, self.all_now(op.operands), (region,))
        else:
            self.keep(op)

    def _emptied(self, region: Region) -> Region:
        inside: set[Value] = set(region.arguments)
        stay = []
        exact = self.source.numerics == "exact"
        for op in region.ops:
            draw = exact and op.name in DRAWS
            if op.regions or draw or not inside.isdisjoint(op.operands):
                inside.update(op.results)
                stay.append(op)
            else:
                self.append(op)
        if len(stay) == len(region.ops):
            return region
        return Region(region.arguments, tuple(stay), region.yields)
