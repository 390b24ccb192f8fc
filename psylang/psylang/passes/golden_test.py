"""Each pass on a small program: text before, text after (golden/*.txt, `=====` between them)."""

from __future__ import annotations

from pathlib import Path

import pytest

from psylang.ir.builder import Builder
from psylang.ir.graph import Op, Region, Value
from psylang.ir.text import parse_program, print_program
from psylang.ir.types import F64
from psylang.ir.verify import verify
from psylang.passes.constants import Constants
from psylang.passes.copies import Copies
from psylang.passes.cse import CommonSubexpressions
from psylang.passes.dead_code import DeadCode
from psylang.passes.expand import Expand
from psylang.passes.hoist import Hoist
from psylang.passes.if_conversion import IfConversion
from psylang.passes.layout import Layout
from psylang.passes.precision import Precision
from psylang.passes.rewrite import Pass
from psylang.passes.scalarise import Scalarise
from psylang.passes.strip_mine import StripMine
from psylang.passes.unroll import Unroll

FOLDER = Path(__file__).parent / "golden"


def _tanh(_: Op) -> Region:
    """(e - 1) / (e + 1) of e = e**2x; not used for computing."""
    build = Builder()

    def inside(x: Value) -> list[Value]:
        e = build.op("exp", build.add(x, x))
        return [build.div(build.sub(e, 1.0), build.add(e, 1.0))]

    return build.region([F64], inside)


def _exp(_: Op) -> Region:
    build = Builder()
    return build.region([F64], lambda x: [build.fma(x, x, 1.0)])


PASSES: dict[str, Pass] = {
    "scalarise": Scalarise(),
    "constants": Constants(),
    "copies": Copies(),
    "cse": CommonSubexpressions(),
    "dead_code": DeadCode(),
    "expand": Expand({"tanh": _tanh, "exp": _exp}),
    "if_conversion": IfConversion(),
    "unroll": Unroll(),
    "hoist": Hoist(),
    "strip_mine": StripMine(),
    "layout": Layout(),
    "precision": Precision(),
}


@pytest.mark.parametrize("name", PASSES)
def test_a_pass_makes_this_of_that(name: str) -> None:
    before, after = (FOLDER / f"{name}.txt").read_text().split("=====\n")
    program = parse_program(before)
    verify(program)
    made = PASSES[name](program)
    verify(made)
    assert print_program(made) == after
    assert print_program(program) == before, "a pass changed its program"
    assert len(PASSES[name].contract.split()) > 10


def test_every_golden_file_is_tested() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == set(PASSES)
