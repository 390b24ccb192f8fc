"""Rewriting: reads a program in order, and appends the result of each operation to a new one.

A pass is a small frozen dataclass with a `contract` and `__call__(Program) -> Program`; inside, a
Rewriter whose `visit` keeps an operation or gives other values for its results. Operations and
values that stay are shared by both programs: neither is ever changed. A value is still defined
once in each of them; `inline` gives copies values of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Protocol

from psylang.errors import PsylangError
from psylang.ir.builder import Builder, rebuilt
from psylang.ir.graph import NOWHERE, Attribute, Op, Origin, Program, Region, Value
from psylang.ir.ops import DRAWS


class PassError(PsylangError, ValueError):
    """A program that a pass does not accept: the contract of the pass states its needs."""


class Pass(Protocol):
    """A pass of the pipeline. contract: its needs, its invariants, its results."""

    contract: ClassVar[str]

    def __call__(self, program: Program) -> Program: ...


class Rewriter(Builder):
    """Reads a program, and appends the operations into which `visit` rewrites each operation."""

    def __init__(self, program: Program) -> None:
        super().__init__()
        self.source = program
        # The operation of each appended value. Arguments of regions have none.
        self.definition: dict[Value, Op] = {}
        self._now: dict[Value, Value] = {}
        self._copying = 0
        self._stamp: Origin | None = None

    def visit(self, op: Op) -> None:
        """Rewrites an operation. Every result needs a value: keep(), or replace()."""
        self.keep(op)

    def result(self, **changes: Any) -> Program:
        """The new program; the identical program if nothing changed."""
        body = self.rewritten(self.source.body)
        if body is self.source.body and not changes:
            return self.source
        return rebuilt(self.source, body, **changes)

    # Values.

    def now(self, value: Value) -> Value:
        """The new program's value for a value of the old program."""
        return self._now.get(value, value)

    def all_now(self, values: Iterable[Value]) -> tuple[Value, ...]:
        get = self._now.get
        return tuple([get(value, value) for value in values])

    def replace(self, values: Sequence[Value], by: Sequence[Value]) -> None:
        """`by`, values of the new program, replace `values` of the old one from here on."""
        if len(values) == len(by) == 1:
            self._now[values[0]] = by[0]
        else:
            self._now.update(zip(values, by, strict=True))

    # Operations and regions.

    def append(self, op: Op) -> Op:
        definition = self.definition
        for value in op.results:
            definition[value] = op
        self._open[-1].append(op)
        return op

    def keep(self, op: Op) -> Op:
        """The operation, over the new operands and with rewritten regions."""
        if not (op.regions or self._copying):  # Nearly all operations of a long program.
            if not self._now.keys().isdisjoint(op.operands):
                operands = self.all_now(op.operands)
                op = Op(op.name, operands, op.results, op.attributes, (), op.origin)
            return self.append(op)
        return self.keep_as(op, self.all_now(op.operands), self.rewritten_all(op.regions))

    def keep_as(
        self,
        op: Op,
        operands: tuple[Value, ...],
        regions: tuple[Region, ...] = (),
        attributes: Mapping[str, Attribute] | None = None,
    ) -> Op:
        """The operation with those operands and regions of the new program."""
        attributes = op.attributes if attributes is None else attributes
        if self._copying:
            results = tuple([Value(value.type, value.hint) for value in op.results])
            self.replace(op.results, results)
            origin = op.origin if self._stamp is None or op.origin != NOWHERE else self._stamp
            return self.append(Op(op.name, operands, results, attributes, regions, origin))
        if operands == op.operands and regions == op.regions and attributes is op.attributes:
            return self.append(op)
        return self.append(Op(op.name, operands, op.results, attributes, regions, op.origin))

    def rewritten_all(self, regions: Iterable[Region]) -> tuple[Region, ...]:
        return tuple([self.rewritten(region) for region in regions])

    def rewritten(self, region: Region) -> Region:
        """The region with each operation visited; itself if that changed nothing."""
        arguments = region.arguments
        if self._copying:
            arguments = tuple([Value(value.type, value.hint) for value in arguments])
            self.replace(region.arguments, arguments)
        self._open.append([])
        self.visit_all(region.ops)
        ops = tuple(self._open.pop())
        yields = self.all_now(region.yields)
        if ops == region.ops and yields == region.yields and arguments == region.arguments:
            return region
        return Region(arguments, ops, yields)

    def visit_all(self, ops: Iterable[Op]) -> None:
        """Visits in order; new operations get the origin of the visited one."""
        before = self._origin
        for op in ops:
            self._origin = op.origin if self._stamp is None or op.origin != NOWHERE else self._stamp
            self.visit(op)
        self._origin = before

    def inline(
        self, region: Region, arguments: Sequence[Value], origin: Origin | None = None
    ) -> tuple[Value, ...]:
        """A visited copy of the region's operations here; its yields. Copied operations without an
        origin get `origin`."""
        self.replace(region.arguments, arguments)
        before, self._stamp = self._stamp, origin if self._stamp is None else self._stamp
        self._copying += 1
        try:
            self.visit_all(region.ops)
        finally:
            self._copying -= 1
            self._stamp = before
        return self.all_now(region.yields)


def draws(region: Region) -> bool:
    """Returns whether the region draws a random number."""
    return any(op.name in DRAWS for op in region.walk())
