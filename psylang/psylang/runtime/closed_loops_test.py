"""compile(closed_forms=True): the values of the loops within the stated units, and no loop."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import psylang
from psylang.analysis.closed_loops import UNITS, without_loops
from psylang.ir.builder import ProgramBuilder
from psylang.ir.graph import Program, Value
from psylang.ir.types import I32
from psylang.model import AdaptiveIntegrator, AtPass, Logistic, Model, Transfer
from psylang.runtime.plan_fixture import session_cache

__all__ = ["session_cache"]
Step = Callable[[ProgramBuilder, Value, Value], Value]


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, session_cache: Path) -> None:
    monkeypatch.setenv("PSYLANG_CACHE_DIR", str(session_cache))


def looping(rounds: int, step: Step, rate: tuple[float, float] = (0.0, 0.9)) -> Program:
    """x after so many rounds of `step`, from an input, and their number."""
    build = ProgramBuilder("looping")
    a, x = build.parameter("rate", 0.5, rate), build.input("x")

    def once(x: Value, n: Value) -> tuple[Value, Sequence[Value]]:
        after = build.add(n, 1)
        return build.lt(after, rounds), [step(build, x, a), after]

    found, n = build.loop([x, build.constant(0, I32)], once, rounds, ["x", "n"])
    build.output("y", found)
    build.output("rounds", n)
    return build.build()


STEPS: dict[str, Step] = {
    "affine": lambda build, x, a: build.add(x, build.mul(a, 0.1)),
    "down": lambda build, x, a: build.sub(x, a),
    "leaky": lambda build, x, a: build.add(build.mul(x, a), 0.3),
    "fma": lambda build, x, a: build.fma(a, x, build.mul(a, a)),
    "towards": lambda build, x, a: build.add(x, build.mul(build.sub(1.5, x), build.mul(a, 0.1))),
    "decay": lambda build, x, a: build.mul(build.neg(x), build.neg(a)),
}


@pytest.mark.parametrize("precision", ["f64", "f32"])
@pytest.mark.parametrize("step", list(STEPS))
@pytest.mark.parametrize("rounds", [1, 7, 500])
def test_values_are_those_of_the_loop_within_units(
    rounds: int, step: str, precision: psylang.Precision
) -> None:
    program = looping(rounds, STEPS[step])
    closed, found = without_loops(program)
    assert [one.name for one in found] == ["x", "n"]
    assert not [op for op in closed.body.walk() if op.name == "loop"]
    plans = [psylang.compile(program, precision=precision, closed_forms=on) for on in (False, True)]
    rng = np.random.default_rng(rounds)
    given = {"x": rng.uniform(-2, 2, 500)}
    params = {"rate": rng.uniform(0, 0.9, 500)}
    loop, form = (plan.run(given, params) for plan in plans)
    assert form.rounds.tolist() == loop.rounds.tolist() == [rounds] * 500
    greatest = np.maximum(np.abs(loop.y), np.abs(given["x"])) + 1.5
    unit = np.finfo(np.float32 if precision == "f32" else np.float64).eps * greatest
    assert np.all(np.abs(form.y - loop.y) <= UNITS * 4 * rounds * unit)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.integers(1, 3000),
    st.floats(0.0, 1.0, exclude_max=True),
    st.floats(-5.0, 5.0),
    st.floats(-5.0, 5.0),
)
def test_random_recurrences_are_right_to_many_digits(
    rounds: int, a: float, b: float, first: float
) -> None:
    program = looping(rounds, lambda build, x, a: build.add(build.mul(a, x), b), (a, a))
    plan = psylang.compile(program, fix={"rate": a}, closed_forms=True)
    found = plan.run({"x": first}).y[0]
    # Of fractions that terminate, the oracle would be slow: long doubles by the formula do.
    wide, one = np.longdouble(a), np.longdouble(1)
    power = wide ** np.longdouble(rounds)
    right = power * first + b * (one - power) / (one - wide)
    # The error of a round's product is multiplied by at most the rounds.
    size = max(abs(power * first), abs(b * (one - power) / (one - wide)), abs(first), 1e-300)
    assert abs(found - right) <= UNITS * (np.log2(rounds) + 1) * 2 * rounds * 2.3e-16 * size


def test_one_model_of_passes_has_no_loop_any_more() -> None:
    model = Model("leaking", max_passes=30_000)
    node = model.add(
        Transfer("node", integrator=AdaptiveIntegrator(rate=0.0005), function=Logistic())
    )
    model.input("x", node)
    model.output("y", node)
    model.ends(AtPass(20_000))
    plain, closed = (psylang.compile(model, closed_forms=on) for on in (False, True))
    rows = {"x": np.linspace(-1, 1, 64)[:, np.newaxis]}
    one, other = (plan.run(rows) for plan in (plain, closed))
    assert np.abs(one.y - other.y).max() < 1e-12
    again = pickle.loads(pickle.dumps(closed)).run(rows)
    assert again.y.tobytes() == other.y.tobytes()
    texts = [one.text for one in plain.analyse().of("loop")]
    assert any("closed_forms=True computes it without the loop" in text for text in texts), texts


def kept(program: Program) -> bool:
    closed, found = without_loops(program)
    return not found and [op for op in closed.body.walk() if op.name == "loop"] != []


def test_loops_without_a_closed_form_stay() -> None:
    assert kept(looping(9, lambda build, x, a: build.mul(x, x)))
    assert kept(looping(9, lambda build, x, a: build.add(build.op("exp", x), a)))
    assert kept(looping(9, STEPS["leaky"], (-0.5, 0.5)))  # Powers change their sign.
    build = ProgramBuilder("until")
    x = build.input("x")

    def once(y: Value) -> tuple[Value, Sequence[Value]]:
        after = build.add(y, 1.0)
        return build.lt(after, x), [after]

    build.output("y", build.loop([build.constant(0.0)], once, 1000)[0])
    assert kept(build.build())  # The number of rounds depends on the input.
    build = ProgramBuilder("noisy")
    noise = build.stream("noise")

    def step(y: Value, n: Value) -> tuple[Value, Sequence[Value]]:
        after = build.add(n, 1)
        return build.lt(after, 8), [build.add(y, build.normal(noise, n)), after]

    build.output("y", build.loop([build.constant(0.0), build.constant(0, I32)], step, 8)[0])
    assert kept(build.build())


GROWING = (0.0, 2.0)


@pytest.mark.parametrize(
    ("precision", "rounds", "step", "first"),
    [
        ("f64", 1100, lambda build, x, a: build.mul(a, x), [1e-300, 0.0]),
        ("f64", 1100, lambda build, x, a: build.fma(a, x, 1e-300), [0.0, 1e-290]),
        ("f64", 1100, lambda build, x, a: build.sub(build.mul(a, x), 1.0), [1.0]),  # Stays at 1.
        ("f32", 200, lambda build, x, a: build.mul(a, x), [1e-30, 0.0]),
        ("f32", 200, lambda build, x, a: build.sub(build.mul(a, x), 1.0), [1.0]),
    ],
)
def test_a_power_that_overflows_leaves_the_loop(
    precision: psylang.Precision, rounds: int, step: Step, first: list[float]
) -> None:
    program = looping(rounds, step, GROWING)
    plans = [psylang.compile(program, precision=precision, closed_forms=on) for on in (False, True)]
    loop, form = (plan.run({"x": np.array(first)}, {"rate": 2.0}).y for plan in plans)
    assert np.all(np.isfinite(loop))
    assert form.tobytes() == loop.tobytes()


def growing(rounds: int, range_of_b: tuple[float, float], first: float) -> Program:
    """A recurrence from a constant, with a below 2 and b in a range."""
    build = ProgramBuilder("growing")
    a, b = build.parameter("a", 1.5, GROWING), build.parameter("b", 0.5, range_of_b)

    def once(x: Value, n: Value) -> tuple[Value, Sequence[Value]]:
        after = build.add(n, 1)
        return build.lt(after, rounds), [build.fma(a, x, b), after]

    begin = [build.constant(first), build.constant(0, I32)]
    build.output("y", build.loop(begin, once, rounds, ["x", "n"])[0])
    return build.build()


def test_growth_is_closed_where_nothing_overflows_or_cancels() -> None:
    assert not kept(looping(900, lambda build, x, a: build.mul(a, x), GROWING))
    assert kept(looping(1100, lambda build, x, a: build.mul(a, x), GROWING))
    assert kept(looping(900, lambda build, x, a: build.fma(a, x, -1.0), GROWING))  # Any sign of x.
    assert not kept(growing(900, (0.0, 1.0), 2.0))
    assert kept(growing(900, (-1.0, 1.0), 2.0))
    assert kept(growing(900, (0.0, 1.0), -2.0))
    assert kept(growing(1020, (0.0, 1.0), 2.0))  # The sum is up to 1020 times the power.


@settings(max_examples=30, deadline=None, derandomize=True)
@given(
    st.sampled_from([40, 300, 1000]),
    st.floats(0.5, 2.5),
    st.floats(-300.0, 300.0),
    st.floats(-300.0, 300.0),
    st.sampled_from([-1.0, 1.0]),
)
def test_finite_loops_have_finite_closed_forms_in_random_cases(
    rounds: int, a: float, step: float, first: float, sign: float
) -> None:
    b, x = sign * 10.0**step, 10.0**first
    program = looping(rounds, lambda build, x, a: build.fma(a, x, b), (0.5, a))
    values = []
    for on in (False, True):
        plan = psylang.compile(program, fix={"rate": a}, closed_forms=on)
        # The fixed point, too, at which power and sum cancel.
        given = np.array([x, -x, b / (1.0 - a) if a != 1.0 else 0.0])
        values.append(plan.run({"x": given}, allow_nan=True).y)
    loop, form = values
    greatest = np.maximum(np.abs(loop), np.abs(given))
    near = np.isfinite(loop) & (greatest < 1e307)
    assert np.all(np.isfinite(form[near]))
    apart = np.abs(form[near] - loop[near])
    assert np.all(apart <= UNITS * 4 * rounds * 2.3e-16 * greatest[near])


def test_exact_refuses_closed_forms() -> None:
    wanted = "closed_forms=True rounds otherwise than the loops of `exact`"
    with pytest.raises(psylang.ArgumentError, match=wanted):
        psylang.compile(psylang.models.ddm(), numerics="exact", closed_forms=True)
    build = ProgramBuilder("exact", "exact")
    build.output("y", build.input("x"))
    with pytest.raises(psylang.ArgumentError, match=wanted):
        psylang.compile(build.build(), closed_forms=True)
