"""Mathematics of `fast` without the guards that ranges make idle.

exp bounds its argument, log looks for zeros, infinities and subnormal numbers, sin and cos for
angles beyond their reduction, tanh computes both of its formulas, pow does all of this. Where an
operand's range rules these out, the plain formula has the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from psylang.analysis.intervals import Range
from psylang.ir.builder import Builder
from psylang.ir.graph import Op, Region, Value
from psylang.numerics import elementary
from psylang.numerics.formats import DOUBLE, SINGLE, Format

Formula = Callable[..., Value]


@dataclass(frozen=True)
class Plain:
    """formula: a function of the builder and the operands. without: the guards that it omits."""

    formula: Formula
    without: str


def plain_formula(op: Op, operands: Sequence[Range]) -> Plain | None:
    """The formula that these ranges permit; None if all guards are needed."""
    of = SINGLE if op.result.type.dtype is SINGLE.dtype else DOUBLE
    if not all(bool(one.finite.all()) for one in operands):
        return None
    first = operands[0]
    match op.name:
        case "exp" if _between(first, of.exp_min - 1, of.exp_max + 1):
            return Plain(lambda b, x: elementary.exp(b, x, False), "bounds")
        case "log" if _between(first, of.least, np.inf):
            return Plain(elementary.log_normal, "tests for zero, infinity and subnormal numbers")
        case "sin" | "cos" if _between(first, -of.angle_max, of.angle_max):
            function = elementary.sin if op.name == "sin" else elementary.cos
            return Plain(lambda b, x: function(b, x, False), "the test for great angles")
        case "tanh" if bool((first.size < of.tanh_small).all()):
            return Plain(elementary.tanh_near, "the formula of great arguments")
        case "tanh" if _between(first, of.tanh_small, np.inf) or _between(
            first, -np.inf, -of.tanh_small
        ):
            return Plain(elementary.tanh_far, "the formula of small arguments")
        case "pow" if _between(first, of.least, np.inf):
            return _power(operands, of)
    return None


def _power(operands: Sequence[Range], of: Format) -> Plain:
    base, exponent = operands
    with np.errstate(all="ignore"):
        logs = np.maximum(np.abs(np.log(base.low)), np.abs(np.log(base.high)))
        most = float((logs * exponent.size).max()) * (1 + 1e-6)
    guarded = most > min(of.exp_max, -of.exp_min)
    bounds = "" if guarded else " and bounds"
    return Plain(
        lambda b, x, y: elementary.pow_normal(b, x, y, guarded), f"tests of the base{bounds}"
    )


def _between(range: Range, low: float, high: float) -> bool:
    return bool(((range.low >= low) & (range.high <= high)).all())


def region_of(op: Op, plain: Plain) -> Region:
    """The region of the formula, over scalars of the operation's types."""
    build = Builder()
    with build.at(op.origin):
        return build.region(
            [value.type for value in op.operands],
            lambda *values: [plain.formula(build, *values)],
        )
