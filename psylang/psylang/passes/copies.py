"""Copies: values that equal others under a new name.

extract of a stack            the scalar
stack of all of a value       the value
carried, never changed        the first value
carried twice alike           one of them (same first value, same next value)
both branches give it         that value; the same pair of results twice is one
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from psylang.ir.graph import Op, Program, Region, Value
from psylang.passes.cse import bits
from psylang.passes.rewrite import Rewriter


@dataclass(frozen=True)
class Copies:
    contract: ClassVar[str] = """
    needs  a verified program
    keeps  the interpreter's results; draws and their order
    gives  no extract of a stack or constant, no stack of all elements of one value in order, no
           value that a loop carries and never changes, no result that both branches share
    """

    def __call__(self, program: Program) -> Program:
        return _Copies(program).result()


class _Copies(Rewriter):
    def visit(self, op: Op) -> None:
        if op.name == "extract":
            self._extract(op)
        elif op.name == "stack":
            self._stack(op)
        elif op.name == "loop":
            self._loop(op)
        elif op.name == "if":
            self._if(op)
        else:
            self.keep(op)

    def _extract(self, op: Op) -> None:
        source = self.now(op.operands[0])
        index = op.attributes["index"]
        made = self.definition.get(source)
        if not source.type.shape:
            self.replace(op.results, [source])
        elif made is not None and made.name == "stack":
            place = 0
            for i, extent in zip(index, source.type.shape, strict=True):
                place = place * extent + i
            self.replace(op.results, [made.operands[place]])
        elif made is not None and made.name == "constant":
            number = made.attributes["value"]
            for i in index:
                number = number[i]
            self.replace(op.results, [self.constant(number, source.type.scalar)])
        else:
            self.keep(op)

    def _stack(self, op: Op) -> None:
        source = self._stacked(op)
        if source is None:
            self.keep(op)
        else:
            self.replace(op.results, [source])

    def _stacked(self, op: Op) -> Value | None:
        """The value whose elements, in order, are the operands."""
        source: Value | None = None
        shape = op.result.type.shape
        for place, operand in enumerate(self.all_now(op.operands)):
            made = self.definition.get(operand)
            if made is None or made.name != "extract":
                return None
            source = source or made.operands[0]
            if made.operands[0] is not source or source.type.shape != shape:
                return None
            at = 0
            for i, extent in zip(made.attributes["index"], shape, strict=True):
                at = at * extent + i
            if at != place:
                return None
        return source

    def _loop(self, op: Op) -> None:
        (body,) = op.regions
        firsts = self.all_now(op.operands)
        keep = []
        seen: dict[Hashable, int] = {}
        for number, (argument, first, after) in enumerate(
            zip(body.arguments, firsts, body.yields[1:], strict=True)
        ):
            # Only values of the old body: the next pass sees values that become equal by this one.
            key = (self._same(first), first.type, after)
            if after is argument:
                self.replace([argument, op.results[number]], [first, first])
            elif key in seen:
                other = seen[key]
                self.replace([argument], [body.arguments[other]])
                self.replace([op.results[number]], [op.results[other]])
            else:
                seen[key] = number
                keep.append(number)
        if len(keep) == len(firsts):
            self.keep(op)
            return
        region = Region(
            tuple(body.arguments[number] for number in keep),
            body.ops,
            (body.yields[0], *(body.yields[1 + number] for number in keep)),
        )
        results = tuple(op.results[number] for number in keep)
        operands = tuple(firsts[number] for number in keep)
        self.append(
            Op("loop", operands, results, op.attributes, (self.rewritten(region),), op.origin)
        )

    def _same(self, value: Value) -> Hashable:
        made = self.definition.get(value)
        if made is None or made.name != "constant":
            return value
        return bits(made.attributes["value"])

    def _if(self, op: Op) -> None:
        yes, no = self.rewritten_all(op.regions)
        keep: list[int] = []
        seen: dict[tuple[Value, Value], int] = {}
        for number, pair in enumerate(zip(yes.yields, no.yields, strict=True)):
            if pair[0] is pair[1]:
                self.replace([op.results[number]], [pair[0]])
            elif pair in seen:
                self.replace([op.results[number]], [op.results[seen[pair]]])
            else:
                seen[pair] = number
                keep.append(number)
        regions = (_only(yes, keep), _only(no, keep))
        results = tuple(op.results[number] for number in keep)
        operands = self.all_now(op.operands)
        if regions == op.regions and operands == op.operands:
            self.append(op)
        else:
            self.append(Op("if", operands, results, op.attributes, regions, op.origin))


def _only(region: Region, keep: Sequence[int]) -> Region:
    if len(keep) == len(region.yields):
        return region
    return Region(region.arguments, region.ops, tuple(region.yields[number] for number in keep))
