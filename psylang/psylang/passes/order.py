"""Order: computes each value just before its first reader.

Vectors become scalars one operation after the other, so a network of 200 units first computes 200
sums, then 200 exponents, and so on: each stage keeps 200 values, which no register holds. In the
order of this pass one unit is computed to its end before the next one begins.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from operator import is_
from typing import ClassVar

from psylang.ir.builder import rebuilt
from psylang.ir.graph import Op, Program, Region, Value
from psylang.ir.ops import DRAWS


@dataclass(frozen=True)
class Order:
    """living: values that may live at once in the order that is there. With fewer LLVM's own order
    is the faster one, because it weighs latencies: 1.1 times for the LCA and the Necker cube."""

    living: int = 64
    contract: ClassVar[str] = """
    needs  a verified program
    keeps  the interpreter's results; in `exact` every draw and their order; the place of an
           operation before or after operations with regions
    gives  in each part between those in which more values lived at once, if fewer live so,
           operations in depth-first order: operands, left to right, then the reader
    """

    def __call__(self, program: Program) -> Program:
        body = self._region(program.body, program.numerics == "exact")
        return program if body is program.body else rebuilt(program, body)

    def _region(self, region: Region, exact: bool) -> Region:
        ops: list[Op] = []
        part: list[Op] = []
        for op in region.ops:
            if op.regions or (exact and op.name in DRAWS):
                ops += [*self._part(part), self._inside(op, exact)]
                part = []
            else:
                part.append(op)
        ops += self._part(part)
        if all(map(is_, ops, region.ops)):
            return region
        return Region(region.arguments, tuple(ops), region.yields)

    def _part(self, ops: list[Op]) -> list[Op]:
        before = living(ops)
        if before <= self.living:
            return ops
        after = depth_first(ops)
        return after if living(after) < before else ops

    def _inside(self, op: Op, exact: bool) -> Op:
        regions = tuple([self._region(region, exact) for region in op.regions])
        if all(map(is_, regions, op.regions)):
            return op
        return Op(op.name, op.operands, op.results, op.attributes, regions, op.origin)


def depth_first(ops: list[Op]) -> list[Op]:
    """Operations without regions: each after those of its operands that are among them, and as
    late as its first reader lets it be."""
    waiting: dict[Value, Op] = {op.result: op for op in ops}
    read = {operand for op in ops for operand in op.operands}
    placed: list[Op] = []
    for last in ops:
        if last.result in read:
            continue
        stack = [(last, iter(last.operands))]
        while stack:
            op, operands = stack[-1]
            for operand in operands:
                before = waiting.pop(operand, None)
                if before is not None:
                    stack.append((before, iter(before.operands)))
                    break
            else:
                placed.append(op)
                stack.pop()
    return placed


def living(ops: Sequence[Op]) -> int:
    """The most values that live at once: are computed, and have a reader to come. Constants, which
    LLVM reads from memory where it needs them, do not count."""
    last = {operand: place for place, op in enumerate(ops) for operand in op.operands}
    made = [op.result for op in ops if op.name != "constant"]
    ending = Counter(last[value] for value in made if value in last)
    now = most = 0
    for place, op in enumerate(ops):
        now -= ending[place]
        if op.name != "constant" and op.result in last:
            now += 1
            most = max(most, now)
    return most
