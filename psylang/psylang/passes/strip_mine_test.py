"""Four rounds at a time: the same bits, one block of random words for four draws."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from psylang.ir.builder import Builder, ProgramBuilder
from psylang.ir.graph import Numerics, Op, Program, Region, Value
from psylang.ir.programs_fixture import EXPANSIONS, names, only, results, same
from psylang.ir.types import F64, I32, I64, Type
from psylang.ir.verify import verify
from psylang.passes.if_conversion import cost_of
from psylang.passes.pipeline import Settings, optimise
from psylang.passes.strip_mine import StripMine


def walk(
    begin: int = 0,
    *,
    rounds: int = 11,
    limit: int = 100,
    grows: int = 1,
    numerics: Numerics = "fast",
    step: Callable[[ProgramBuilder, Value], Value] = lambda build, n: n,
    counter: Type = I32,
    also: Callable[[ProgramBuilder, Value], Any] = lambda build, x: None,
) -> Program:
    """A random walk with a limit of rounds, which also stops at an edge."""
    build = ProgramBuilder("walk", numerics)
    noise, other = build.stream("noise", 1), build.stream("other", 2)
    last = (begin + rounds * grows + 2**31) % 2**32 - 2**31

    def inside(x: Value, n: Value, most: Value) -> tuple[Value, list[Value]]:
        at = step(build, n)
        z = build.sub(build.normal(noise, step=at), build.uniform(other, step=at))
        x = build.add(x, z)
        also(build, x)
        m = build.op("add", n, build.constant(grows, counter))
        on = build.and_(build.lt(build.abs(x), 6.0), build.op("ne", m, last))
        return on, [x, m, build.op("max", most, x)]

    first = [build.constant(0.0), build.constant(begin, counter), build.constant(-np.inf)]
    x, n, most = build.loop(first, inside, limit=limit, hints=["x", "n", "most"])
    build.output("x", x)
    build.output("n", n)
    build.output("most", most)
    return build.build()


@pytest.mark.parametrize("begin", [0, 4, -8, 2**31 - 4, -(2**31)])
@pytest.mark.parametrize("rounds", [1, 2, 3, 4, 5, 8, 11])
def test_any_number_of_rounds_gives_the_same_bits(begin: int, rounds: int) -> None:
    before = walk(begin, rounds=rounds)
    after = StripMine()(before)
    assert names(after).count("random.normal") == 4
    verify(after)
    assert same(results(before), results(after))
    assert same(results(before), results(optimise(before, EXPANSIONS)))


def test_one_block_serves_four_draws() -> None:
    settings = Settings(unroll=None)
    mined = Counter(names(optimise(walk(), EXPANSIONS, settings)))
    alone = Counter(names(optimise(walk(), EXPANSIONS, Settings(unroll=None, strip_mine=None))))
    # The block's word for both streams, and nothing that tells its lanes apart.
    assert mined["mulhi"] == alone["mulhi"] == 1
    assert alone["eq"] == 3
    assert mined["eq"] == 0
    assert mined["lshr"] == 1


def test_rounds_two_and_three_share_the_common_part_of_step_over_two() -> None:
    build = ProgramBuilder("pairs")
    stream = build.stream("noise")

    def inside(x: Value, n: Value) -> tuple[Value, list[Value]]:
        m = build.op("add", n, build.constant(1, I32))
        return build.lt(x, 9.0), [build.add(x, build.uniform(stream, step=n)), m]

    def of_half(op: Op) -> Region:
        inner = Builder()
        return inner.region(
            [value.type for value in op.operands],
            lambda seed, trial, candidate, step: [
                inner.op("sqrt", inner.op("uconvert", inner.op("lshr", step, 1), to="f64"))
            ],
        )

    x, _ = build.loop([build.constant(0.0), build.constant(0, I32)], inside, limit=99)
    build.output("x", x)
    after = optimise(build.build(), {"random.uniform": of_half})
    assert names(after).count("sqrt") == 2


@pytest.mark.parametrize(("limit", "blocks"), [(0, 0), (1, 1), (4, 1), (5, 2), (1000, 250)])
def test_the_limit_counts_blocks(limit: int, blocks: int) -> None:
    after = StripMine()(walk(limit=limit))
    assert only(after, "loop").attributes["limit"] == blocks


@pytest.mark.parametrize(
    "program",
    [
        walk(numerics="exact"),
        walk(2),
        walk(grows=2),
        walk(step=lambda build, n: build.op("shl", n, build.constant(1, I32))),
        walk(counter=I64, step=lambda build, n: build.op("convert", n, to="i32")),
        walk(
            also=lambda build, x: build.loop(
                [x], lambda y: (build.lt(y, 0.0), [build.neg(y)]), limit=9
            )
        ),
        walk(also=lambda build, x: build.argmin(2, lambda n: build.constant(0.0, F64))),
    ],
    ids=["exact", "begins at 2", "grows by 2", "other step", "i64", "loop inside", "argmin"],
)
def test_other_loops_stay_as_they_are(program: Program) -> None:
    assert StripMine()(program) is program


def test_a_loop_too_costly_stays_as_it_is() -> None:
    program = walk()
    cost = cost_of(only(program, "loop").regions[0])
    assert cost == 63
    assert StripMine(most_cost=4 * cost)(program) is not program
    assert StripMine(most_cost=4 * cost - 1)(program) is program


def test_an_inner_loop_is_mined_within_an_outer_one() -> None:
    build = ProgramBuilder("nested")
    noise = build.stream("noise")

    def inside(x: Value, n: Value) -> tuple[Value, list[Value]]:
        n = build.op("add", n, build.constant(1, I32))
        return build.lt(n, 6), [build.add(x, build.normal(noise, step=n, candidate=7)), n]

    def counted(x: Value, n: Value) -> tuple[Value, list[Value]]:
        z = build.normal(noise, step=n)
        n = build.op("add", n, build.constant(1, I32))
        return build.lt(n, 6), [build.add(x, z), n]

    def outer(x: Value, k: Value) -> tuple[Value, list[Value]]:
        (x, _) = build.loop([x, build.constant(0, I32)], counted, limit=6)
        (x, _) = build.loop([x, build.constant(0, I32)], inside, limit=6)
        k = build.op("add", k, build.constant(1, I32))
        return build.lt(k, 3), [x, k]

    x, _ = build.loop([build.constant(0.0), build.constant(0, I32)], outer, limit=3)
    build.output("x", x)
    program = build.build()
    after = StripMine()(program)
    verify(after)
    # Of the two inner ones, one draws with its counter.
    assert names(after).count("random.normal") == 5
    assert same(results(program), results(after))
