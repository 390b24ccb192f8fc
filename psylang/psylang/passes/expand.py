"""Expansion: mathematics and draws of `fast` become the operations that compute them.

The caller passes, for each name, a function from an operation to a region over its operands
(numerics/). The operations of such a region are expanded, too. New operations without an origin
get the origin of the operation that they replace.

An expansion has hundreds of operations, of which a dozen may be new: the previous draw has the
same block of Philox, and constants are shared. So operations are folded and shared while they are
copied, and each constant stands once, at the begin.

A long program may keep functions: the 200 exponentials of a layer are then 200 calls of one
function (emit/), not 200 copies of its 24 operations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from psylang.ir.graph import Attribute, Op, Program, Region, Value
from psylang.ir.interpret import MATHEMATICS
from psylang.ir.ops import OPS
from psylang.ir.types import F64, Type
from psylang.passes.constants import Folder
from psylang.passes.cse import Numbering, bits
from psylang.passes.rewrite import PassError

Expansion = Callable[[Op], Region]
CALLABLE = frozenset(name for name in MATHEMATICS if OPS[name].arity == 1)
OUTERMOST = 1  # The body's index in the open regions. Number 0 is the builder's own.


@dataclass(frozen=True)
class Expand:
    """calls_min: functions of one operand that stand at least so often in the body, outside of its
    regions, stay there as operations. None: none does."""

    expansions: Mapping[str, Expansion] = field(default_factory=dict)
    calls_min: int | None = None
    contract: ClassVar[str] = """
    needs  numerics `fast`; scalars only where something is expanded (scalarise); of an expansion:
           a region that depends on the operation's name, attributes and types alone
    keeps  the interpreter's results, if it is given the same expansions
    gives  no operation that has an expansion, but those of `calls_min`; what is added is folded and
           shared as Constants and CommonSubexpressions would
    raises PassError: numerics `exact`, a shaped operation, a region of other types than the
           operation's, an expansion that contains itself
    """

    def __call__(self, program: Program) -> Program:
        return expand(program, self.expansions, self.calls_min)


def expand(
    program: Program, expansions: Mapping[str, Expansion], calls_min: int | None = None
) -> Program:
    """The program with operations that have an expansion replaced by their regions'."""
    if program.numerics != "fast":
        raise PassError(
            f"{program.name}: expansions are the meaning of `fast`; in `{program.numerics}` "
            "mathematics and draws are the C library's and NumPy's"
        )
    called: frozenset[str] = frozenset()
    if calls_min is not None:
        often = Counter(op.name for op in program.body.ops if op.name in CALLABLE)
        called = frozenset(name for name, count in often.items() if count >= calls_min)
    return _Expander(program, expansions, called).result()


class _Expander(Folder, Numbering):
    def __init__(
        self, program: Program, expansions: Mapping[str, Expansion], called: frozenset[str]
    ) -> None:
        super().__init__(program)
        self._expansions = expansions
        self._called = called
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
        if op.name in self._called and len(self._open) == OUTERMOST + 1 and not self._copying:
            self.keep(op)
        elif op.name in self._expansions:
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
