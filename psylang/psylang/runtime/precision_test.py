"""precision="f32": the interpreter's bits on every target, f64's distributions, and refusals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import psylang
from psylang.emit import host_targets, target
from psylang.emit.compile import is_single, llvm_text, optimised
from psylang.ir.builder import ProgramBuilder
from psylang.ir.interpret import interpret
from psylang.model import Model
from psylang.models import ddm, lca, predator_prey
from psylang.numerics import expansions
from psylang.runtime.distributions_test import distance
from psylang.runtime.keys import object_key
from psylang.runtime.plan_fixture import session_cache, straight

__all__ = ["session_cache"]
PLACES = {"player": [0.0, 0.0], "predator": [1.5, -1.0], "prey": [-1.0, 2.0]}
# Lanes are refilled in the first, grouped in the second; the third searches.
MODELS: dict[str, tuple[Model, dict[str, Any], int]] = {
    "ddm": (ddm(drift=0.8, threshold=0.2, dt=0.01), {}, 70),
    "lca": (lca(2, threshold=0.6, dt=0.05), {"stimulus": [1.1, 0.9]}, 40),
    "predator_prey": (predator_prey(levels=2), PLACES, 3),
}


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, session_cache: Path) -> None:
    monkeypatch.setenv("PSYLANG_CACHE_DIR", str(session_cache))


def rows(inputs: dict[str, Any], trials: int) -> dict[str, Any]:
    return {name: np.tile(value, (trials, 1)) for name, value in inputs.items()}


@pytest.mark.parametrize("name", MODELS)
def test_f32_is_the_interpreter_bit_for_bit_on_every_target_and_thread(name: str) -> None:
    model, inputs, trials = MODELS[name]
    given = rows(inputs, trials)
    plan = psylang.compile(model, precision="f32")
    wanted = interpret(plan.program, trials=trials, seed=3, inputs=given, expansions=expansions())
    for isa in host_targets():
        for threads in (1, 3):
            found = plan.run(given, trials=trials, seed=3, isa=isa.name, threads=threads)
            assert found.precision == "f32"
            for output, array in wanted.items():
                assert found[output].dtype == array.dtype
                np.testing.assert_array_equal(found[output], array, err_msg=isa.name)


def test_f32_draws_from_the_distributions_of_f64() -> None:
    trials = 100_000
    plan = psylang.compile(ddm(drift=0.8, threshold=0.35, dt=0.002))
    double = plan.run(trials=trials, seed=1)
    single = plan.run(trials=trials, seed=2, precision="f32")
    # Times are n dt, and round elsewhere in f32.
    times = [np.round(found.response_time / 0.002) for found in (double, single)]
    assert distance(*times) < 1.95 * np.sqrt(2 / trials)
    assert distance(double.choice.astype(float), single.choice.astype(float)) < 1.95 * np.sqrt(
        2 / trials
    )
    # With one seed the trials are the same, except for a few that rounding changes.
    same = plan.run(trials=trials, seed=1, precision="f32")
    assert (same.choice == double.choice).mean() > 0.999
    assert not np.array_equal(same.response_time, double.response_time)


def test_plan_and_run_agree_and_each_is_compiled_once() -> None:
    model = ddm(threshold=0.2, dt=0.01)
    plan, other = psylang.compile(model, precision="f32"), psylang.compile(model)
    assert repr(plan).startswith("Plan(ddm, fast, f32; ")
    assert ("precision", "f32") in plan.explain().sections["model"]
    one, two = plan.run(trials=50), other.run(trials=50, precision="f32")
    np.testing.assert_array_equal(one.response_time, two.response_time)
    back = plan.run(trials=50, precision="f64")
    np.testing.assert_array_equal(back.response_time, other.run(trials=50).response_time)
    assert (one.run["precision"], back.run["precision"]) == ("f32", "f64")
    variants = other._others["f32"].all()
    other.run(trials=60, precision="f32")
    assert other._others["f32"].all() == variants
    with pytest.raises(psylang.ArgumentError, match="precision is 'f16'"):
        psylang.compile(straight()).search(  # type: ignore[call-overload]
            {"a": [1.0]},
            objective="y",
            precision="f16",
        )


def test_the_signature_is_that_of_f64() -> None:
    plan = psylang.compile(straight(), precision="f32")
    results = plan.run(params={"a": 0.1}, inputs={"x": [1.0, 3.0]})
    a = np.float32(0.1)
    wanted = np.array([a, a * np.float32(3) + np.float32(1)], np.float64)
    np.testing.assert_array_equal(results.y, wanted)
    assert plan.search({"a": [0.0, 0.1]}, inputs={"x": 1.0}, objective="y")["y"][1] == a + 1


def test_keys_of_the_cache_differ() -> None:
    model = ddm(threshold=0.2, dt=0.01)
    programs = [psylang.compile(model, precision=one).program for one in ("f64", "f32")]
    best = host_targets()[0]
    keys = {object_key(program, best, frozenset()) for program in programs}
    assert len(keys) == 2


def test_f32_has_twice_the_lanes() -> None:
    program = psylang.compile(ddm(), precision="f32").program
    assert is_single(optimised(program))
    assert not is_single(optimised(psylang.compile(ddm()).program))
    best = host_targets()[0]
    assert f"<{2 * best.width} x float>" in llvm_text(program, best)
    assert " x float>" not in llvm_text(program, target("scalar"))


def test_exact_and_bits_of_f64_are_refused() -> None:
    message = r"precision='f32' of `ddm`, which is exact: .* leave precision out, or compile with"
    with pytest.raises(psylang.ArgumentError, match=message):
        psylang.compile(ddm(), numerics="exact", precision="f32")
    with pytest.raises(psylang.ArgumentError, match=message):
        psylang.compile(ddm(), numerics="exact").run(precision="f32")
    build = ProgramBuilder("bits")
    build.output("y", build.op("bitcast", build.parameter("x", 1.0), to="i64"))
    plan = psylang.compile(build.build())
    with pytest.raises(psylang.NotSupportedError, match=r"f32': bits: `bitcast` .*; leave it out"):
        plan.run(precision="f32")
