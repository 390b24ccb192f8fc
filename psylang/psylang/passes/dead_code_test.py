"""Operations that are removed, and unread operations that stay."""

from __future__ import annotations

from psylang.ir.builder import ProgramBuilder
from psylang.ir.graph import Numerics, Program, Value
from psylang.ir.programs_fixture import names, only, results, same
from psylang.ir.types import BOOL, I32
from psylang.passes.dead_code import DeadCode


def _unread_loop(limit: int, numerics: Numerics, draws: bool) -> Program:
    build = ProgramBuilder("unread", numerics)
    stream = build.stream("noise", 4)

    def inside(x: Value) -> tuple[Value, list[Value]]:
        x = build.add(x, build.add(build.uniform(stream), 0.1) if draws else 0.25)
        return build.lt(x, 1.0), [x]

    build.loop([build.constant(0.0)], inside, limit=limit)
    build.output("z", build.normal(stream, step=1))
    return build.build()


def test_an_unread_loop_goes_if_it_ends_and_moves_no_generator() -> None:
    for limit, numerics, draws, stays in (
        (100, "fast", True, False),
        (100, "exact", False, False),
        (100, "exact", True, True),
        (0, "fast", False, True),
        (0, "exact", False, True),
    ):
        program = _unread_loop(limit, numerics, draws)  # type: ignore[arg-type]
        after = DeadCode()(program)
        assert ("loop" in names(after)) is stays, (limit, numerics, draws)
        assert same(results(program), results(after))


def test_a_draw_of_exact_keeps_the_branch_around_it() -> None:
    build = ProgramBuilder("branch", "exact")
    stream = build.stream("noise", 4)
    late = build.op("lt", build.constant(1, build.trial.type), build.trial)
    build.if_(late, lambda: [build.normal(stream)], lambda: [build.constant(0.0)])
    build.output("z", build.normal(stream))
    program = build.build()
    after = DeadCode()(program)
    assert names(after) == ["lt", "if", "random.normal", "random.normal"]
    assert only(after, "if").results == ()
    assert same(results(program), results(after))


def test_carried_values_that_feed_only_each_other_go() -> None:
    build = ProgramBuilder("carried")

    def inside(a: Value, b: Value, c: Value, n: Value) -> tuple[Value, list[Value]]:
        n = build.op("add", n, build.constant(1, I32))
        return build.lt(n, 5), [build.add(b, 1.0), build.add(a, c), build.mul(c, 2.0), n]

    first = [build.constant(1.0), build.constant(2.0), build.constant(3.0), build.constant(0, I32)]
    for read, kept in ((0, 4), (2, 2), (3, 1)):
        values = build.loop(first, inside, limit=5)
        build.output(f"o{read}", values[read])
        program = build.build()
        after = DeadCode()(program)
        loops = [op for op in after.body.walk() if op.name == "loop"]
        assert len(loops[-1].operands) == kept
        assert same(results(program), results(after))


def test_a_state_lives_if_an_output_or_a_living_state_reads_it() -> None:
    build = ProgramBuilder("states")
    read, fed, dead, clock = (build.state(name, 1.0) for name in ("read", "fed", "dead", "clock"))
    build.set_state("read", build.add(read, fed))
    build.set_state("fed", build.mul(fed, 3.0))
    build.set_state("dead", build.add(dead, clock))
    build.set_state("clock", build.add(clock, read))
    build.output("y", read)
    program = build.build()
    after = DeadCode()(program)
    assert names(after) == ["add", "mul"]
    assert after.body.yields[3:] == after.body.arguments[2:4]
    assert same(results(program), results(after))


def test_a_clean_program_stays_the_same_object() -> None:
    build = ProgramBuilder("clean")
    (y,) = build.if_(build.constant(True, BOOL), lambda: [build.seed], lambda: [build.trial])
    build.output("y", y)
    program = build.build()
    assert DeadCode()(program) is program
