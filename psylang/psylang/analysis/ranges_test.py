"""No run leaves its ranges, and ranges are no wider than they should be."""

from __future__ import annotations

import os
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from psylang.analysis.decided import narrowed
from psylang.analysis.ranges import Ranges
from psylang.analysis.ranges_fixture import left
from psylang.errors import ProgramError
from psylang.ir.builder import ProgramBuilder
from psylang.ir.graph import Program
from psylang.ir.interpret import interpret
from psylang.ir.programs_fixture import only, programs, same
from psylang.ir.verify import verify
from psylang.model import Compute, Model, function
from psylang.models import botvinick_stroop
from psylang.numerics import expansions
from psylang.passes.scalarise import Scalarise

EXAMPLES = os.environ.get("PSYLANG_EXAMPLES")
AWKWARD = (0.0, -0.0, 1.0, -2.5, 0.75, 1e-310, 1e300, -1e30, np.inf, -np.inf, 3.0, 700.0)


@st.composite
def runs(draw: Any, most: int = 30) -> tuple[Program, dict[str, Any], list[Any], list[list[Any]]]:
    """A program, ranges of parameters and inputs, and a sequence of trials within them."""
    program = draw(programs(most=most))
    pairs: dict[str, Any] = {}
    values: dict[str, list[Any]] = {}
    for kind in (program.parameters, program.inputs):
        for one in kind:
            among = (0, 1, 5, -7, 33, 2**31 - 1, -(2**31)) if one.type.dtype.is_int else AWKWARD
            ends = sorted(draw(st.lists(st.sampled_from(among), min_size=2, max_size=2)))
            share = draw(st.sampled_from((0.0, 0.25, 0.5, 1.0)))
            rows = []
            for k in range(2):
                with np.errstate(all="ignore"):
                    between = ends[0] + (share if k else 1 - share) * (ends[1] - ends[0])
                number = between if np.isfinite(between) else ends[k]
                number = min(max(number, ends[0]), ends[1])
                rows.append(np.full(one.type.shape, number).astype(one.type.dtype.numpy)[()])
            pairs[one.name], values[one.name] = tuple(ends), rows
    parameters = [values[one.name][0] for one in program.parameters]
    inputs = [[values[one.name][k] for one in program.inputs] for k in range(2)]
    return program, pairs, parameters, inputs


def check(run: tuple[Program, dict[str, Any], list[Any], list[list[Any]]]) -> int:
    program, pairs, parameters, inputs = run
    names = {one.name for one in program.parameters}
    found = Ranges(
        program,
        parameters={name: pair for name, pair in pairs.items() if name in names},
        inputs={name: pair for name, pair in pairs.items() if name not in names},
    )
    table = expansions() if program.numerics == "fast" else {}
    outside, looked = left(program, found, table, parameters, inputs, 11)
    assert not outside, outside[:3]
    same_bits(program, pairs, table, parameters, inputs)
    return looked


def same_bits(
    program: Program, pairs: Any, table: Any, parameters: list[Any], inputs: list[list[Any]]
) -> None:
    """A program without its decided operations gives the same bits."""
    scalars = Scalarise()(program)
    names = {one.name for one in program.parameters}
    smaller, _ = narrowed(
        scalars,
        Ranges(
            scalars,
            parameters={name: pair for name, pair in pairs.items() if name in names},
            inputs={name: pair for name, pair in pairs.items() if name not in names},
        ),
    )
    verify(smaller)
    given = dict(zip([one.name for one in program.parameters], parameters, strict=True))
    rows = {one.name: np.array([row[k] for row in inputs]) for k, one in enumerate(program.inputs)}
    before, after = (
        interpret(one, trials=2, seed=11, parameters=given, inputs=rows, expansions=table)
        for one in (program, smaller)
    )
    assert same(before, after)


def test_no_run_of_a_random_program_leaves_its_ranges() -> None:
    @settings(
        max_examples=40,
        deadline=None,
        derandomize=True,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    @given(runs())
    def run(one: Any) -> None:
        check(one)

    run()


def test_a_nightly_run_tries_ten_thousand() -> None:
    """PSYLANG_EXAMPLES sets the number of examples, which differ each time."""
    if EXAMPLES is None:
        pytest.skip("PSYLANG_EXAMPLES is not set")
    count = [0]

    @settings(
        max_examples=int(EXAMPLES),
        deadline=None,
        database=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(runs())
    def run(one: Any) -> None:
        check(one)
        count[0] += 1

    run()
    assert count[0] >= int(EXAMPLES)


def test_table_2_5_holds_after_the_first_trial() -> None:
    """The thesis prints <0.990, 0.995> and <0.976, 0.990>."""
    ranges = {}
    for pair in ((-2.0, -1.0), (-5.0, -2.0)):
        for trials in (1, 2):
            found = Ranges(
                stroop().program(numerics="exact", fix={}, vary=["inhibition"], ranges={}),
                parameters={"inhibition": pair},
                inputs=dict.fromkeys(("colour_input", "word_input", "task_input"), (0.0, 0.0)),
                trials=trials,
            )
            ranges[pair, trials] = found.outputs()["decision_energy"].hull()
    digits = {key: (round(low, 4), round(high, 4)) for key, (low, high, _) in ranges.items()}
    assert digits == {
        ((-2.0, -1.0), 1): (0.9907, 0.9957),
        ((-5.0, -2.0), 1): (0.9759, 0.9907),
        ((-2.0, -1.0), 2): (0.9817, 0.9915),
        ((-5.0, -2.0), 2): (0.9524, 0.9818),
    }


@function
def product(response):  # type: ignore[no-untyped-def]
    """Energy for a fixed weight of -4, as in the thesis' response layer."""
    return 4.0 * response[0] * response[1]


def stroop() -> Model:
    model = botvinick_stroop(integration_rate=0.01, noise=0.0)
    energy = model.add(Compute("decision_energy", function=product, inputs={"response": 2}, size=0))
    model.connect("response", energy)
    model.output("decision_energy", energy)
    return model


def test_a_logistic_function_lies_between_0_and_1() -> None:
    build = ProgramBuilder("logistic")
    x = build.input("x")
    build.output("y", build.div(1.0, build.add(build.op("exp", build.neg(x)), 1.0)))
    assert Ranges(build.build()).outputs()["y"].hull() == (0.0, 1.0, False)


def test_states_hold_for_all_trials() -> None:
    build = ProgramBuilder("sum", "exact")
    total = build.state("total", 0.0)
    leak = build.add(build.mul(total, 0.5), build.input("x"))
    build.set_state("total", leak)
    build.output("total", leak)
    program = build.build()
    low, high, nan = Ranges(program, inputs={"x": (0.0, 1.0)}).outputs()["total"].hull()
    assert (low, nan) == (0.0, False)
    assert 2.0 <= high < 2.2  # The true one is 2; widening stops at 10, narrowing goes back.
    found = Ranges(program, inputs={"x": (0.0, 1.0)}, trials=3)
    assert found.outputs()["total"].hull() == (0.0, 1.75, False)
    assert found.states()["total"].hull() == (0.0, 1.75, False)


def test_what_a_condition_says_is_known_where_it_holds() -> None:
    build = ProgramBuilder("branches", "exact")
    x = build.input("x")
    near = build.lt(build.abs(x), 2.0)
    (inside,) = build.if_(near, lambda: [build.add(x, 1.0)], lambda: [build.constant(0.0)])
    build.output("inside", inside)
    build.output("root", build.select(build.ge(x, 0.0), build.op("sqrt", x), 0.0))
    build.output("clipped", build.select(build.op("gt", x, 5.0), 5.0, x))
    build.output("known", build.op("ne", x, x))
    found = Ranges(build.build(), inputs={"x": (-10.0, 10.0)}).outputs()
    assert found["inside"].hull()[:2] == pytest.approx((-1.0, 3.0))
    assert found["clipped"].hull() == (-10.0, 5.0, False)
    assert found["known"].hull() == (0.0, 0.0, False)


def test_nan_keeps_the_other_side_of_a_comparison_open() -> None:
    """For NaN `x < 1` is false, but x is not at least 1."""
    build = ProgramBuilder("nan", "exact")
    x, y = build.input("x"), build.op("sqrt", build.input("y"))
    (value,) = build.if_(build.lt(x, y), lambda: [build.constant(0.0)], lambda: [x])
    build.output("value", value)
    inputs = {"x": (-3.0, 3.0), "y": (-1.0, 1.0)}
    assert Ranges(build.build(), inputs=inputs).outputs()["value"].hull() == (-3.0, 3.0, False)
    inputs["y"] = (0.25, 1.0)
    assert Ranges(build.build(), inputs=inputs).outputs()["value"].hull() == (0.0, 3.0, False)


def test_what_is_not_reached_has_no_range() -> None:
    build = ProgramBuilder("dead", "exact")
    x = build.input("x")
    (value,) = build.if_(build.lt(x, 0.0), lambda: [build.mul(x, 3.0)], lambda: [x])
    build.output("value", value)
    program = build.build()
    found = Ranges(program, inputs={"x": (1.0, 2.0)})
    assert str(found[only(program, "mul").result]) == "never computed"
    assert found.outputs()["value"].hull() == (1.0, 2.0, False)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"inputs": {"y": (0, 1)}}, "has no input `y`; it has x"),
        ({"parameters": {"x": (0, 1)}}, "has no parameter `x`; it has none"),
        ({"inputs": {"x": (1, 0)}}, "the range of `x` is (1, 0), which nothing is in"),
        ({"inputs": {"x": 3}}, "the range of `x` is 3; give (least, greatest)"),
        ({"trials": 0}, "trials is 0; trials are counted from 1 on"),
    ],
)
def test_what_does_not_fit_is_refused(given: dict[str, Any], message: str) -> None:
    build = ProgramBuilder("one", "exact")
    build.output("x", build.add(build.input("x"), 1.0))
    with pytest.raises(ProgramError, match=re.escape(message)):
        Ranges(build.build(), **given)
