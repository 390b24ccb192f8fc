"""Constants: folding by the interpreter's own rules, and algebra that is exact for every value.

Exact means bit by bit, for -0.0, infinities and NaN (payloads of NaN aside): `x * 1.0` is x, but `x
+ 0.0` is not, because -0.0 becomes +0.0. The rules are in algebra.py, a function for each
operation. An `if` with a known condition becomes the operations of its region.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from psylang.ir.builder import plain
from psylang.ir.graph import NO_ATTRIBUTES, Attribute, Op, Program, Value
from psylang.ir.interpret import MATHEMATICS, evaluate
from psylang.ir.ops import DRAWS, OPS, result_type
from psylang.passes.algebra import RULES
from psylang.passes.rewrite import Rewriter

Known = int | float | bool


@dataclass(frozen=True)
class Constants:
    """most: elements of the largest vector or matrix constant that folding creates."""

    most: int = 4096
    contract: ClassVar[str] = """
    needs  a verified program; the algebra looks at scalars only, so scalarise first
    keeps  the interpreter's results, bit by bit but for payloads of NaN; draws and their order
    gives  no operation on constants alone but draws, mathematics in `fast` before expand, and what
           has regions; no `if` of a known condition
    """

    def __call__(self, program: Program) -> Program:
        return _Folder(program, self.most).result()


class Folder(Rewriter):
    """Knows constants, and simplifies what it appends. most: elements of a folded constant."""

    def __init__(self, program: Program, most: int = 1) -> None:
        super().__init__(program)
        self._most = most

    def known(self, value: Value) -> Known | None:
        """The number that a scalar of the new program always is, or None."""
        op = self.definition.get(value)
        if op is None or op.name != "constant" or value.type.shape:
            return None
        number: Known = op.attributes["value"]
        return number

    def of(self, value: Value, name: str) -> tuple[Value, ...] | None:
        """The operands of the operation that defines a value of the new program, if it is a
        `name`."""
        op = self.definition.get(value)
        return op.operands if op is not None and op.name == name else None

    def is_number(self, value: Value) -> bool:
        op = self.definition.get(value)
        return op is not None and op.name == "constant"

    def simple(self, name: str, *operands: Value | int, **attributes: Attribute) -> Value:
        """An operation on values of the new program, or its simplification. A plain number is a
        constant of the first operand's type."""
        first = next(one for one in operands if isinstance(one, Value))
        values = tuple(
            one if isinstance(one, Value) else self.constant(one, first.type) for one in operands
        )
        found = self.simplified(name, values, attributes)
        return self.made(name, values, attributes) if found is None else found

    def made(
        self, name: str, operands: tuple[Value, ...], attributes: Mapping[str, Attribute]
    ) -> Value:
        """An operation that a rule wants."""
        return self.op(name, *operands, **attributes)

    def simplified(
        self, name: str, operands: tuple[Value, ...], attributes: Mapping[str, Attribute]
    ) -> Value | None:
        """The simplification of an operation without regions, if there is one."""
        if operands and all(map(self.is_number, operands)):
            return self._folded(name, operands, attributes)
        for one in operands:
            if one.type.shape:
                return None
        rule = RULES.get(name)
        if rule is None:
            return None
        if OPS[name].commutes and self.is_number(operands[0]):
            operands = operands[::-1]
            return rule(self, *operands) or self.made(name, operands, attributes)
        if name in ("convert", "uconvert", "bitcast"):
            return rule(self, *operands, to=attributes["to"])
        return rule(self, *operands)

    def _folded(
        self, name: str, operands: Sequence[Value], attributes: Mapping[str, Attribute]
    ) -> Value | None:
        if name in DRAWS or (name in MATHEMATICS and self.source.numerics == "fast"):
            return None
        op = _op(name, operands, attributes)
        of = op.result.type
        if of.size > self._most:
            return None
        numbers = [as_number(self.definition[one]) for one in operands]
        return self.constant(plain(evaluate(op, numbers, self.source.numerics), of), of)


class _Folder(Folder):
    def visit(self, op: Op) -> None:
        if op.name == "constant":
            self.keep(op)
        elif op.name == "if":
            self._if(op)
        elif op.regions:
            self.keep(op)
        else:
            operands = self.all_now(op.operands)
            found = self.simplified(op.name, operands, op.attributes)
            if found is None:
                self.keep_as(op, operands)
            else:
                self.replace(op.results, [found])

    def _if(self, op: Op) -> None:
        known = self.known(self.now(op.operands[0]))
        if known is None:
            self.keep(op)
            return
        region = op.regions[0 if known else 1]
        self.visit_all(region.ops)
        self.replace(op.results, self.all_now(region.yields))


def as_number(op: Op) -> Any:
    """The value of a constant, as the interpreter computes it."""
    return np.asarray(op.attributes["value"], op.result.type.dtype.numpy)[()]


def _op(name: str, operands: Sequence[Value], attributes: Mapping[str, Attribute]) -> Op:
    type = result_type(name, [one.type for one in operands], attributes)
    return Op(name, tuple(operands), (Value(type),), attributes or NO_ATTRIBUTES)
