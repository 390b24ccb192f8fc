"""Every pass, and all passes together, preserve the interpreter's results."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from psylang.ir.graph import Program
from psylang.ir.programs_fixture import EXPANSIONS, programs, results, same
from psylang.ir.verify import verify
from psylang.passes.constants import Constants
from psylang.passes.copies import Copies
from psylang.passes.cse import CommonSubexpressions
from psylang.passes.dead_code import DeadCode
from psylang.passes.expand import Expand
from psylang.passes.hoist import Hoist
from psylang.passes.if_conversion import IfConversion
from psylang.passes.layout import Layout
from psylang.passes.order import Order
from psylang.passes.pipeline import optimise
from psylang.passes.rewrite import Pass
from psylang.passes.scalarise import Scalarise
from psylang.passes.strip_mine import StripMine
from psylang.passes.unroll import Unroll

PASSES: list[Pass] = [
    Constants(),
    Copies(),
    CommonSubexpressions(),
    DeadCode(),
    Hoist(),
    IfConversion(),
    IfConversion(most_cost=10, loops=False),
    Layout(),
    Order(living=0),
    Scalarise(),
    StripMine(),
    Unroll(),
]
QUICK = settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
)


@pytest.mark.parametrize("one", PASSES, ids=lambda one: type(one).__name__)
def test_a_pass_keeps_the_results_bit_by_bit(one: Pass) -> None:
    @QUICK
    @given(programs())
    def check(program: Program) -> None:
        verify(program)
        after = one(program)
        verify(after)
        assert same(results(program), results(after))

    check()


@QUICK
@given(programs("fast"))
def test_expansion_keeps_the_results_bit_by_bit(program: Program) -> None:
    scalars = Scalarise()(program)
    expanded = Expand(EXPANSIONS)(scalars)
    verify(expanded)
    assert not any(op.name in EXPANSIONS for op in expanded.body.walk())
    assert same(results(program), results(expanded))


@settings(QUICK, max_examples=120)
@given(programs(most=40))
def test_the_pipeline_keeps_the_results_bit_by_bit(program: Program) -> None:
    after = optimise(program, EXPANSIONS)
    verify(after)
    assert same(results(program), results(after))
