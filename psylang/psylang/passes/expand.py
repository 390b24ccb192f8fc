"""Expansion: mathematics and draws of `fast` become the operations that compute them.

The caller passes, for each name, a function from an operation to a region over its operands
(numerics/). The operations of such a region are expanded, too. New operations without an origin
get the origin of the operation that they replace.

An expansion has hundreds of operations, of which a dozen may be new: the previous draw has the
same block of Philox, and constants are shared. So operations are folded and shared while they are
copied, and each constant stands once, at the begin.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from psylang.ir.graph import Attribute, Op, Program, Region, Value
from psylang.ir.types import F64, Type
from psylang.passes.constants import Folder
from psylang.passes.cse import Numbering, bits
from psylang.passes.rewrite import PassError

Expansion = Callable[[Op], Region]
OUTERMOST = 1  # The body's index in the open regions. Number 0 is the builder's own.


@dataclass(frozen=True)
class Expand:
    expansions: Mapping[str, Expansion] = field(default_factory=dict)
    contract: ClassVar[str] = """
    needs  numerics `fast`; scalars only where something is expanded (scalarise); of an expansion:
           a region that depends on the operation's name, attributes and types alone
    keeps  the interpreter's results, if it is given the same expansions
    gives  no operation that has an expansion; what is added is folded and shared as Constants and
           CommonSubexpressions would
    raises PassError: numerics `exact`, a shaped operation, a region of other types than the
           operation's, an expansion that contains itself
    """

    def __call__(self, program: Program) -> Program:
        return expand(program, self.expansions)


def expand(program: Program, expansions: Mapping[str, Expansion]) -> Program:
    """The program with every operation that has an expansion replaced by its region's."""
    if program.numerics != "fast":
        raise PassError(
            f"{program.name}: expansions are the meaning of `fast`; in `{program.numerics}` "
            "mathematics and draws are the C library's and NumPy's"
        )
    return _Expander(program, expansions).result()


class _Expander(Folder, Numbering):
    def __init__(self, program: Program, expansions: Mapping[str, Expansion]) -> None:
        super().__init__(program)
        self._expansions = expansions
        self._regions: dict[Hashable, Region] = {}
        self._within: list[str] = []
        self._constants: dict[Hashable, Value] = {}

    def constant(self, value: Attribute, type: Type = F64) -> Value:
        """A new constant: one for the whole program, in front of all open regions."""
        key = (type, bits(value))
        known = self._constants.get(key)
        if known is None:
            op = Op("constant", (), (Value(type),), {"value": value, "type": type})
            self.definition[op.result] = op
            self._open[OUTERMOST].append(op)
            known = self._constants[key] = op.result
        return known

    def made(
        self, name: str, operands: tuple[Value, ...], attributes: Mapping[str, Attribute]
    ) -> Value:
        return self.op_once(name, operands, attributes)

    def visit(self, op: Op) -> None:
        if op.name in self._expansions:
            self._expand(op)
        elif op.regions or not self._copying:
            self.keep(op)
        elif op.name == "constant":
            value = self.constant(op.attributes["value"], op.attributes["type"])
            self.replace(op.results, [value])
        else:
            operands = self.all_now(op.operands)
            found = self.simplified(op.name, operands, op.attributes)
            if found is None:
                self.keep_once(op, operands)
            else:
                self.replace(op.results, [found])

    def _expand(self, op: Op) -> None:
        if op.name in self._within:
            path = " -> ".join([*self._within, op.name])
            raise PassError(f"the expansion of `{op.name}` contains itself: {path}")
        region = self._region(op)
        self._within.append(op.name)
        values = self.inline(region, self.all_now(op.operands), op.origin)
        self._within.pop()
        self.replace(op.results, values)

    def _region(self, op: Op) -> Region:
        types = tuple(value.type for value in op.operands)
        key = (op.name, types, tuple(sorted(op.attributes.items())))
        region = self._regions.get(key)
        if region is None:
            region = self._expansions[op.name](op)
            _check(op, region)
            self._regions[key] = region
        return region


def _check(op: Op, region: Region) -> None:
    if op.result.type.shape:
        raise PassError(
            f"`{op.name}` of {op.result.type} ({op.origin or 'no origin'}) is not expanded: "
            "run Scalarise first"
        )
    for what, wanted, given in (
        ("takes", op.operands, region.arguments),
        ("gives", op.results, region.yields),
    ):
        if [value.type for value in wanted] != [value.type for value in given]:
            raise PassError(
                f"the expansion of `{op.name}` {what} "
                f"({', '.join(str(value.type) for value in given)}), the operation "
                f"({', '.join(str(value.type) for value in wanted)})"
            )
