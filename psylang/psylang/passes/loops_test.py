"""Limits of unrolling and if-conversion, and the statistics and signature of the pipeline."""

from __future__ import annotations

import pytest

from psylang.ir.builder import ProgramBuilder
from psylang.ir.graph import Origin, Program, Value
from psylang.ir.interpret import interpret
from psylang.ir.programs_fixture import EXPANSIONS, names, results, same
from psylang.ir.types import I32
from psylang.passes.hoist import Hoist
from psylang.passes.if_conversion import IfConversion, cost_of
from psylang.passes.layout import layout_of
from psylang.passes.pipeline import Record, Removed, Settings, optimise
from psylang.passes.unroll import Unroll


def _counted(rounds: int) -> Program:
    build = ProgramBuilder("counted", "exact")
    stream = build.stream("noise", 6)

    def inside(x: Value, n: Value) -> tuple[Value, list[Value]]:
        n = build.op("sub", n, build.constant(2, I32))
        return build.op("ne", n, build.constant(0, I32)), [build.add(x, build.normal(stream)), n]

    x, _ = build.loop([build.constant(0.0), build.constant(2 * rounds, I32)], inside, limit=99)
    build.output("x", x)
    return build.build()


@pytest.mark.parametrize("rounds", [1, 2, 16])
def test_a_countable_loop_is_unrolled(rounds: int) -> None:
    program = _counted(rounds)
    after = Unroll()(program)
    assert names(after).count("random.normal") == rounds
    assert "loop" not in names(after)
    assert same(results(program), results(after))


def test_a_loop_of_too_many_rounds_or_too_much_cost_stays() -> None:
    assert "loop" in names(Unroll()(_counted(17)))
    assert "loop" in names(Unroll(most_cost=644)(_counted(16)))
    assert "loop" not in names(Unroll(most_cost=645)(_counted(16)))
    assert "loop" not in names(Unroll(most_rounds=17)(_counted(17)))


def test_nested_countable_loops_share_the_limit() -> None:
    build = ProgramBuilder("nested")

    def loop(x: Value, then: object = None) -> Value:
        def inside(x: Value, n: Value) -> tuple[Value, list[Value]]:
            x = loop(x) if then else build.mul(x, 3.0)
            n = build.op("add", n, build.constant(1, I32))
            return build.lt(n, 3), [x, n]

        return build.loop([x, build.constant(0, I32)], inside, limit=3)[0]

    build.output("x", loop(build.parameter("p", 1.5), then=True))
    program = build.build()
    assert names(Unroll()(program)).count("mul") == 9
    assert "loop" in names(Unroll(most_cost=15)(program))
    for most in (15, 30, 1024):
        assert same(results(program), results(Unroll(most_cost=most)(program)))


def test_branches_beyond_the_cost_stay() -> None:
    build = ProgramBuilder("branch", "exact")
    stream = build.stream("noise", 3)
    x = build.parameter("x", 0.5)
    on = build.lt(x, 1.0)
    (a,) = build.if_(on, lambda: [build.op("exp", x)], lambda: [x])
    (b,) = build.if_(on, lambda: [build.normal(stream)], lambda: [x])
    build.output("y", build.add(a, b))
    program = build.build()
    first = next(op for op in program.body.walk() if op.name == "if")
    assert sum(map(cost_of, first.regions)) == 20
    assert names(IfConversion(most_cost=19)(program)).count("if") == 2
    # A loop that draws in `exact` stays at any cost.
    assert names(IfConversion(most_cost=20)(program)).count("if") == 1
    assert same(results(program), results(IfConversion()(program)))


def test_branches_with_loops_stay_if_wanted() -> None:
    build = ProgramBuilder("branch")
    x = build.parameter("x", 0.5)

    def loops() -> list[Value]:
        return list(build.loop([x], lambda y: (build.lt(y, 8.0), [build.add(y, y)]), limit=9))

    (y,) = build.if_(build.lt(x, 1.0), loops, lambda: [x])
    build.output("y", y)
    program = build.build()
    assert "if" in names(IfConversion(loops=False)(program))
    after = IfConversion()(program)
    assert "if" not in names(after)
    for value in (0.5, 3.0, -1.0):
        # For -1 the loop would never end; but in a branch that is not taken it runs one round.
        if value > 0:
            given = {"x": value}
            assert same(interpret(program, parameters=given), interpret(after, parameters=given))


def test_a_loop_in_a_branch_that_is_not_meant_ends() -> None:
    build = ProgramBuilder("guarded")
    x = build.parameter("x", -1.0)

    def endless() -> list[Value]:
        return list(build.loop([x], lambda y: (build.lt(y, 8.0), [build.add(y, y)])))

    (y,) = build.if_(build.lt(build.constant(0.0), x), endless, lambda: [x])
    build.output("y", y)
    program = build.build()
    after = optimise(program, {})
    assert "if" not in names(after)
    for value in (-1.0, 0.0, 0.5):
        given = {"x": value}
        assert same(interpret(program, parameters=given), interpret(after, parameters=given))


def test_hoisting_leaves_draws_of_exact_in_their_loop() -> None:
    after = Hoist()(_counted(3))
    assert [op.name for op in after.body.ops].count("random.normal") == 0
    assert same(results(_counted(3)), results(after))


def _with_dead_parts() -> Program:
    build = ProgramBuilder("dead")
    x, _ = build.parameter("x", 0.5), build.parameter("unread", 1.0)
    build.input("nobody", default=0.0)
    clock = build.state("clock", 0.0)
    with build.at(Origin("timer")):
        build.set_state("clock", build.add(clock, 1.0))
    with build.at(Origin("unit")):
        build.output("y", build.mul(build.op("exp", x), 1.0))
        build.mul(x, x)
    return build.build()


def test_the_pipeline_reports_removed_parts_and_their_origin() -> None:
    records: list[Record] = []
    after = optimise(_with_dead_parts(), EXPANSIONS, records=records)
    by = {record.name: record for record in records}
    assert by["Constants"].removed == (Removed(Origin("unit"), "mul", 1),)
    assert set(by["DeadCode"].removed) == {
        Removed(Origin("timer"), "add", 1),
        Removed(Origin("unit"), "mul", 1),
    }
    assert by["Expand"].removed == (Removed(Origin("unit"), "exp", 1),)
    assert all(record.seconds >= 0 for record in records)
    assert records[-1].ops_after == len(names(after))


def test_the_signature_loses_unread_inputs_unless_they_are_kept() -> None:
    program = _with_dead_parts()
    after = optimise(program, EXPANSIONS)
    assert [one.name for one in after.parameters] == ["x"]
    assert (after.inputs, after.states) == ((), ())
    assert after.is_independent()
    assert not program.is_independent()
    kept = optimise(program, EXPANSIONS, Settings(keep_signature=True))
    assert len(kept.parameters) == 2
    assert [one.name for one in kept.states] == ["clock"]
    assert kept.body.yields[1] is kept.body.arguments[3]
    live = layout_of(kept)
    assert live.parameters == ("x",)
    assert (live.dead_parameters, live.dead_inputs) == (("unread",), ("nobody",))
    assert (live.dead_states, live.state_bytes) == (("clock",), 0)
    assert layout_of(program).state_bytes == 8
    assert same(results(program), results(kept))


def test_exact_needs_no_expansions() -> None:
    program = _counted(3)
    after = optimise(program, {})
    assert "loop" not in names(after)
    assert same(results(program), results(after))
