"""Common subexpressions: equal operations are computed once.

Scoped value numbering: an operation with the name, attributes and operands of an earlier one, in
its region or an enclosing one, is replaced by the earlier results. Constants are equal if their
bits are: 0.0 is not -0.0.
"""

from __future__ import annotations

import struct
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from psylang.ir.graph import Attribute, Op, Program, Region, Value
from psylang.ir.ops import DRAWS, OPS
from psylang.passes.rewrite import Rewriter

Key = tuple[Hashable, ...]


@dataclass(frozen=True)
class CommonSubexpressions:
    contract: ClassVar[str] = """
    needs  a verified program
    keeps  the interpreter's results; in `exact` every draw and their order
    gives  no two operations without regions, one of which could use the other's result, that
           compute the same; in `fast` draws count as such operations
    """

    def __call__(self, program: Program) -> Program:
        return _Sharing(program).result()


class Numbering(Rewriter):
    """Records the operations computed in this region and the enclosing ones."""

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self._seen: dict[Key, Value] = {}
        self._made: list[list[Key]] = [[]]

    def rewritten(self, region: Region) -> Region:
        self._made.append([])
        new = super().rewritten(region)
        for key in self._made.pop():
            del self._seen[key]
        return new

    def keep_once(self, op: Op, operands: tuple[Value, ...]) -> None:
        """Keeps an operation without regions, or takes the result of an equal one."""
        key = key_of(op.name, operands, op.attributes)
        before = self._seen.get(key)
        if before is not None:
            self.replace(op.results, [before])
        else:
            self.learn(key, self.keep_as(op, operands).result)

    def op_once(
        self, name: str, operands: tuple[Value, ...], attributes: Mapping[str, Attribute]
    ) -> Value:
        """A new operation on values of the new program, or the result of an equal one."""
        key = key_of(name, operands, attributes)
        value = self._seen.get(key)
        if value is None:
            value = self.op(name, *operands, **attributes)
            self.learn(key, value)
        return value

    def learn(self, key: Key, value: Value) -> None:
        self._seen[key] = value
        self._made[-1].append(key)


class _Sharing(Numbering):
    def visit(self, op: Op) -> None:
        if op.regions or (op.name in DRAWS and self.source.numerics == "exact"):
            self.keep(op)
        else:
            self.keep_once(op, self.all_now(op.operands))


def key_of(name: str, operands: tuple[Value, ...], attributes: Mapping[str, Attribute]) -> Key:
    """A key that is equal for operations without regions that compute the same."""
    if name == "constant":
        return ("constant", attributes["type"], bits(attributes["value"]))
    if len(operands) == 2 and OPS[name].commutes and id(operands[0]) > id(operands[1]):
        operands = operands[::-1]
    if not attributes:
        return (name, *operands)
    return (name, tuple(sorted(attributes.items())), *operands)


def bits(value: Any) -> Hashable:
    """A key for the attribute of a constant: equal for equal bits."""
    if isinstance(value, float):
        return struct.pack("<d", value)
    return tuple(map(bits, value)) if isinstance(value, tuple) else value
