"""Compares scalar evolution with loops that are run."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from psylang.analysis.ranges import Ranges
from psylang.analysis.ranges_fixture import contains
from psylang.ir.builder import ProgramBuilder
from psylang.ir.graph import Program, Value
from psylang.ir.interpret import interpret
from psylang.ir.programs_fixture import only
from psylang.ir.types import F32, F64, I32, Type


def race(of: Type = F32) -> Program:
    """Listing 2.2 of the thesis."""
    build = ProgramBuilder("race")
    start = build.parameter("starting_point", 0.1, (0.1, 0.1), of)
    threshold = build.parameter("threshold", 2.0, (2.0, 2.5), of)
    rate = build.parameter("rate", 0.5, (0.5, 0.5), of)
    stimulus = build.parameter("stimulus", 1.0, (0.2, 1.5), of)
    noise = build.parameter("noise", 1.0, (0.5, 1.5), of)
    step = build.parameter("time_step", 0.1, (0.1, 0.1), of)

    def inside(acc: Value, count: Value) -> tuple[Value, list[Value]]:
        gain = build.mul(build.mul(build.sub(1.0, rate), stimulus), noise)
        acc = build.add(acc, build.mul(gain, step))
        return build.lt(acc, threshold), [acc, build.add(count, 1.0)]

    acc, count = build.loop([start, build.constant(0.0, of)], inside, hints=("acc", "count"))
    build.output("acc", acc)
    build.output("count", count)
    return build.build()


@pytest.mark.parametrize("peeled", [1, 64, 600])
def test_the_race_of_listing_2_2_takes_17_to_481_rounds(peeled: int) -> None:
    program = race()
    found = Ranges(program, peeled=peeled)
    loop = found.evolution(only(program, "loop"))
    assert (loop.least, loop.most) == (17, 481)
    assert loop.because == "acc < [2, 2.5]" or peeled == 600
    low, high, nan = found.outputs()["count"].hull()
    assert (math.ceil(low), math.floor(high), nan) == (17, 481, False)


def test_the_race_itself_ends_within_them() -> None:
    """480 rounds are f32's own maximum, 17 its minimum."""
    counts = []
    for stimulus, noise, threshold in ((0.2, 0.5, 2.5), (1.5, 1.5, 2.0)):
        given = {"stimulus": stimulus, "noise": noise, "threshold": threshold}
        counts.append(interpret(race(), parameters=given)["count"].item())
    assert counts == [480.0, 17.0]


def test_recurrences_are_described() -> None:
    program = race(F64)
    loop = Ranges(program).evolution(only(program, "loop"))
    assert [str(one) for one in loop.recurrences] == [
        "0.1 + n * [0.005, 0.1125] after n rounds",
        "0 + n * 1 after n rounds",
    ]


def leaky(of: Type, a: Any, b: Any, first: float, end: float, how: str) -> Program:
    build = ProgramBuilder("leaky", "exact")
    rate = build.input("a", of)
    drive = build.input("b", of)

    def inside(x: Value, n: Value) -> tuple[Value, list[Value]]:
        x = build.fma(x, rate, drive) if how == "fma" else build.add(build.mul(rate, x), drive)
        n = build.add(n, 1)
        return build.and_(build.lt(x, end), build.lt(n, 400)), [x, n]

    x, n = build.loop([build.constant(first, of), build.constant(0, I32)], inside)
    build.output("x", x)
    build.output("n", n)
    return build.build()


@pytest.mark.parametrize("how", ["fma", "mul, add"])
@pytest.mark.parametrize("of", [F64, F32])
def test_rounds_of_random_recurrences_are_within_theirs(of: Type, how: str) -> None:
    rng = np.random.default_rng(2)
    informed = 0
    for case in range(30):
        a = np.sort(rng.choice([0.0, 0.3, 0.9, 0.99, 1.0], 2) if case % 2 else [1.0, 1.0])
        b = np.sort(rng.uniform(-0.02 if case % 3 == 0 else 0.01, 0.3, 2))
        first, end = rng.uniform(-1, 1), rng.uniform(-0.5, 1.5)
        program = leaky(of, a, b, first, end, how)
        found = Ranges(program, inputs={"a": tuple(a), "b": tuple(b)}, peeled=int(case % 5) + 1)
        loop = found.evolution(only(program, "loop"))
        informed += loop.most < 400 or loop.least > 1
        rows = {
            "a": np.array([a[0], a[1], a[0], a[1]]).astype(of.dtype.numpy),
            "b": np.array([b[0], b[1], b[1], b[0]]).astype(of.dtype.numpy),
        }
        for name in rows:  # Rounding to f32 may leave the range.
            pair = {"a": a, "b": b}[name]
            rows[name] = np.clip(rows[name], *pair).astype(of.dtype.numpy)
        values = interpret(program, trials=4, inputs=rows)
        for k in range(4):
            assert loop.least <= values["n"][k] <= loop.most, (a, b, first, end, values["n"][k])
            assert contains(found.outputs()["x"], values["x"][k])
            assert contains(found.outputs()["n"], values["n"][k])
    assert informed > 10


def test_a_geometric_recurrence_tells_where_it_goes() -> None:
    program = leaky(F64, 0.5, 1.0, 0.0, 3.0, "fma")
    found = Ranges(program, inputs={"a": (0.5, 0.5), "b": (1.0, 1.0)}, peeled=1)
    loop = found.evolution(only(program, "loop"))
    assert str(loop.recurrences[0]) == "from 0 towards 2: the distance times 0.5 a round"
    assert (loop.least, loop.most, loop.because) == (400, 400, "a carried value < 400")
    assert found.outputs()["x"].hull()[1] == pytest.approx(2.0)


def test_a_sum_that_only_a_counter_bounds_is_bounded() -> None:
    build = ProgramBuilder("clock", "exact")

    def inside(time: Value, n: Value) -> tuple[Value, list[Value]]:
        n = build.add(n, 1)
        return build.lt(n, 1000), [build.add(time, 0.001), n]

    time, _ = build.loop([build.constant(0.0), build.constant(0, I32)], inside)
    build.output("time", time)
    low, high, nan = Ranges(build.build(), peeled=3).outputs()["time"].hull()
    assert not nan
    assert 0.9 < low <= interpret(build.build())["time"].item() <= high < 1.1


def test_what_a_branch_gives_is_no_recurrence_but_its_loop_is_bounded() -> None:
    build = ProgramBuilder("branch", "exact")
    limit = build.input("limit")

    def inside(x: Value, y: Value, n: Value) -> tuple[Value, list[Value]]:
        n = build.add(n, 1)
        x, y = build.if_(build.lt(x, y), lambda: [build.add(x, 1.0), y], lambda: [y, x])
        return build.and_(build.lt(x, limit), build.lt(n, 90)), [x, y, n]

    first = [build.constant(0.0), build.constant(3.5), build.constant(0, I32)]
    x, _, n = build.loop(first, inside)
    build.output("x", x)
    build.output("n", n)
    program = build.build()
    found = Ranges(program, inputs={"limit": (1.0, 9.0)}, peeled=2)
    loop = found.evolution(only(program, "loop"))
    assert [one.value.type for one in loop.recurrences] == [I32]
    values = interpret(program, trials=2, inputs={"limit": np.array([1.0, 9.0])})
    assert all(loop.least <= n <= loop.most for n in values["n"])
    assert all(contains(found.outputs()["x"], x) for x in values["x"])


def test_a_counter_that_wraps_is_no_recurrence() -> None:
    build = ProgramBuilder("wraps", "exact")
    go = build.input("go")

    def inside(n: Value) -> tuple[Value, list[Value]]:
        n = build.add(n, 1 << 29)
        return build.op("ne", n, 0), [n]

    (n,) = build.loop([build.convert(go, I32.dtype)], inside)
    build.output("n", n)
    program = build.build()
    loop = Ranges(program, inputs={"go": (0.0, 5.0)}, peeled=1).evolution(only(program, "loop"))
    assert (loop.recurrences, loop.most) == ((), math.inf)
