"""Operations on finite numbers alone have LLVM's flags nnan and ninf, and no bit changes.

PSYLANG_EXAMPLES sets the number of random programs; they differ each time.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings

from psylang.analysis.decided import flagged
from psylang.analysis.ranges_test import runs
from psylang.emit import fixture, host_targets, llvm_text
from psylang.ir.builder import ProgramBuilder
from psylang.ir.graph import Op, Program, Value
from psylang.ir.interpret import interpret
from psylang.ir.parse import parse_program
from psylang.ir.programs_fixture import same
from psylang.ir.text import print_program
from psylang.ir.types import F64, I32, DType
from psylang.ir.verify import VerifyError, verify
from psylang.numerics import expansions
from psylang.passes.scalarise import Scalarise

EXAMPLES = os.environ.get("PSYLANG_EXAMPLES")
LANES = 9  # Sequences or trials: no multiple of any width.


def finite(program: Program) -> list[str]:
    return [op.name for op in program.body.walk() if "finite" in op.attributes]


def compare(run: tuple[Program, dict[str, Any], list[Any], list[list[Any]]]) -> int:
    """Bits of the flagged program in lanes and without, and of the interpreter; how many flags."""
    program, pairs, parameters, rows = run
    names = {one.name for one in program.parameters}
    scalars = Scalarise()(program)
    flags, _ = flagged(
        scalars,
        {name: pair for name, pair in pairs.items() if name in names},
        {name: pair for name, pair in pairs.items() if name not in names},
    )
    verify(flags)
    inputs = {
        one.name: np.array([rows[k % 2][number] for k in range(2 * LANES)])
        for number, one in enumerate(program.inputs)
    }
    params = dict(zip([one.name for one in program.parameters], parameters, strict=True))
    table = expansions() if program.numerics == "fast" else None
    how: dict[str, Any] = {"trials": 2, "sequences": LANES, "seed": 9}
    wanted = interpret(program, inputs=inputs, parameters=params, expansions=table, **how)
    best, *_, scalar = host_targets()
    for isa in (best, scalar):
        found = fixture.run(flags, isa, given={**inputs, **params}, **how)
        assert same(wanted, found), isa.name
    return len(finite(flags))


def test_flags_change_no_bit_of_random_programs() -> None:
    count = [0]

    @settings(
        max_examples=int(EXAMPLES or 12),
        deadline=None,
        derandomize=EXAMPLES is None,
        database=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    @given(runs(20))
    def run(one: Any) -> None:
        count[0] += compare(one)

    run()
    assert count[0] > 20 or EXAMPLES


def growing() -> Program:
    """x is squared until 1e10: it is finite at each end, but not in a lane that goes on."""
    build = ProgramBuilder("growing")
    first = build.input("first")

    def once(x: Value, n: Value) -> tuple[Value, list[Value]]:
        near = build.add(build.div(first, 2.0), 0.25)
        after = build.add(build.mul(x, x), near)
        return build.lt(after, 1e10), [after, build.add(n, 1)]

    x, n = build.loop([first, build.constant(0, I32)], once, 100)
    build.output("x", x)
    build.output("n", n)
    return build.build()


def test_lanes_that_go_on_after_their_end_are_counted() -> None:
    flags, decisions = flagged(growing(), inputs={"first": (1.5, 4.0)})
    assert finite(flags) == ["div", "add"]  # Not the product, which grows in ended lanes.
    assert [(one.kind, one.text, one.because) for one in decisions] == [
        ("flags", "div(first, 2) is finite", "first in [1.5, 4]"),
        ("flags", "add(…, 0.25) is finite", "div(first, 2) in [0.75, 2]"),
    ]
    rows = {"first": np.linspace(1.5, 4.0, 101)}
    wanted = interpret(growing(), inputs=rows, trials=101, expansions=expansions())
    for isa in host_targets():
        assert same(wanted, fixture.run(flags, isa, trials=101, given=rows)), isa.name


def test_both_sides_of_a_condition_are_computed() -> None:
    build = ProgramBuilder("sides")
    x = build.input("x")
    inner = build.if_(build.lt(1.0, x), lambda: [build.div(1.0, x)], lambda: [build.mul(x, 2.0)])
    build.output("y", inner[0])
    flags, _ = flagged(build.build(), inputs={"x": (-1.0, 3.0)})
    assert finite(flags) == ["lt", "mul"]  # 1 / 0 may be computed, if nobody wants it.


def test_candidates_beyond_the_last_are_computed_in_lanes() -> None:
    build = ProgramBuilder("candidates")
    x = build.input("x")

    def cost(number: Value) -> Value:
        room = build.sub(8.5, build.convert(number, DType.F64))
        return build.mul(build.op("sqrt", room), x)

    number, least = build.argmin(build.constant(8, I32), cost)
    build.output("number", number)
    build.output("least", least)
    flags, _ = flagged(build.build(), inputs={"x": (1.0, 2.0)})
    assert finite(flags) == ["sub"]


def test_llvm_sees_the_flags_and_texts_keep_them() -> None:
    build = ProgramBuilder("all")
    x, y = build.input("x"), build.input("y")
    made = [build.op(name, x, y) for name in ("add", "sub", "mul", "div", "min", "max")]
    made += [build.op(name, x) for name in ("neg", "abs", "sqrt", "floor")]
    made.append(build.fma(x, y, x))
    for number, one in enumerate(made):
        build.output(f"y{number}", one)
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        build.output(name, build.op(name, x, y))
    pair = (1.0, 2.0)
    flags, _ = flagged(build.build(), inputs={"x": pair, "y": pair})
    assert len(finite(flags)) == 17
    assert llvm_text(flags, host_targets()[-1]).count("nnan") == 17
    assert "nnan" not in llvm_text(build.build(), host_targets()[-1])
    assert "{finite = true}" in print_program(flags)
    assert finite(parse_program(print_program(flags))) == finite(flags)
    unknown, _ = flagged(build.build())
    assert finite(unknown) == []


@pytest.mark.parametrize("value", [False, 1, "nnan"])
def test_finite_is_true_and_of_floats(value: Any) -> None:
    build = ProgramBuilder("wrong")
    x = build.input("x")
    build.append(Op("neg", (x,), (Value(F64),), {"finite": value}))
    with pytest.raises(VerifyError, match=f"finite {value!r}; it must be true, and of floats"):
        verify(build.build())
    build = ProgramBuilder("whole")
    n = build.input("n", I32)
    build.append(Op("neg", (n,), (Value(I32),), {"finite": True}))
    with pytest.raises(VerifyError, match="finite True; it must be true, and of floats"):
        verify(build.build())
