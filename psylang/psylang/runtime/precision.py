"""A plan's programs in f64 and in f32, each derived from the other on demand."""

from __future__ import annotations

from typing import Literal

from psylang.ir.graph import Program
from psylang.runtime.errors import ArgumentError, NotSupportedError

Precision = Literal["f64", "f32"]


def in_precision(program: Program, precision: Precision) -> Program:
    """The program, computing in f64 or f32 between arguments and results of f64.

    ArgumentError: there is no such precision, or f32 of an `exact` program. NotSupportedError: the
    program looks at the bits of f64.
    """
    if precision == "f64":
        return program
    if precision != "f32":
        raise ArgumentError(f"precision is {precision!r}; there are 'f64' and 'f32'")
    if program.numerics == "exact":
        raise ArgumentError(
            f"precision='f32' of `{program.name}`, which is exact: that is what PsyNeuLink "
            "computes, in f64; leave precision out, or compile with numerics='fast'"
        )
    from psylang.passes.precision import single
    from psylang.passes.rewrite import PassError

    try:
        return single(program)
    except PassError as error:
        raise NotSupportedError(f"precision='f32': {error}; leave it out") from None
