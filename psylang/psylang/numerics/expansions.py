"""The table of expansions: from an operation to the region that computes it in `fast`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from psylang.ir.builder import Builder
from psylang.ir.graph import Op, Region, Value
from psylang.numerics import draws, elementary

Expansion = Callable[[Op], Region]


def expansions() -> Mapping[str, Expansion]:
    """By the operation's name. The region's arguments are its operands, as scalars; one yield.

    Results of f32 are computed only in f32.
    """
    return _TABLE


def _of_function(function: Callable[..., Value]) -> Expansion:
    def expansion(op: Op) -> Region:
        b = Builder()

        with b.at(op.origin):
            return b.region(
                [operand.type.scalar for operand in op.operands],
                lambda *operands: [function(b, *operands)],
            )

    return expansion


def _of_draw(function: Callable[[Builder, Op, tuple[Value, ...]], Value]) -> Expansion:
    def expansion(op: Op) -> Region:
        b = Builder()
        with b.at(op.origin):
            return b.region(
                [operand.type for operand in op.operands],
                lambda *operands: [function(b, op, operands)],
            )

    return expansion


_TABLE: Mapping[str, Expansion] = {
    "exp": _of_function(elementary.exp),
    "log": _of_function(elementary.log),
    "sin": _of_function(elementary.sin),
    "cos": _of_function(elementary.cos),
    "tanh": _of_function(elementary.tanh),
    "pow": _of_function(elementary.pow),
    "random.normal": _of_draw(draws.normal),
    "random.uniform": _of_draw(draws.uniform),
}
