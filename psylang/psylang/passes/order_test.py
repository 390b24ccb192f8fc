"""The order of operations, and how many values live at once in it."""

from __future__ import annotations

from psylang.ir.builder import ProgramBuilder
from psylang.ir.graph import Program, Value
from psylang.ir.programs_fixture import names, results, same
from psylang.ir.types import I32
from psylang.ir.verify import verify
from psylang.passes.order import Order, depth_first, living


def _layers(units: int) -> Program:
    """Three stages of `units` each, a stage after the other, and their sum."""
    build = ProgramBuilder("layers")
    x = build.input("x")
    sums = [build.add(x, build.constant(float(unit))) for unit in range(units)]
    exponents = [build.op("exp", one) for one in sums]
    units_out = [build.op("div", build.constant(1.0), one) for one in exponents]
    total = units_out[0]
    for one in units_out[1:]:
        total = build.add(total, one)
    build.output("y", total)
    return build.build()


def test_a_unit_is_computed_to_its_end_before_the_next_begins() -> None:
    program = _layers(40)
    after = Order(living=0)(program)
    verify(after)
    assert living(program.body.ops) >= 40
    assert living(after.body.ops) <= 3
    assert sorted(names(program)) == sorted(names(after))
    assert same(results(program), results(after))


def test_parts_whose_values_are_few_are_left_to_llvm() -> None:
    few, many = _layers(40), _layers(80)
    assert Order()(few) is few
    assert living(Order()(many).body.ops) <= 3


def test_a_program_in_this_order_is_left_alone() -> None:
    once = Order(living=0)(_layers(5))
    assert Order(living=0)(once) is once


def test_loops_and_draws_of_exact_keep_their_places() -> None:
    build = ProgramBuilder("draws", "exact")
    stream = build.stream("noise", 6)
    late = build.normal(stream)
    early = build.normal(stream)

    def inside(x: Value, n: Value) -> tuple[Value, list[Value]]:
        first, second = build.normal(stream), build.normal(stream)
        both = build.op("sub", second, first)
        n = build.op("add", n, build.constant(1, I32))
        return build.lt(n, 3), [build.add(x, both), n]

    x, _ = build.loop([early, build.constant(0, I32)], inside, limit=3)
    build.output("x", build.add(x, build.op("exp", late)))
    program = build.build()
    after = Order(living=0)(program)
    verify(after)

    def draws(of: Program) -> list[Value]:
        return [op.result for op in of.body.walk() if op.name == "random.normal"]

    assert draws(after) == draws(program)
    assert same(results(program), results(after))


def test_operations_that_nothing_reads_stay() -> None:
    build = ProgramBuilder("unread")
    x = build.input("x")
    build.op("exp", x)
    build.output("y", build.add(x, 1.0))
    ops = list(build.build().body.ops)
    assert set(depth_first(ops)) == set(ops)
    assert depth_first([]) == []
