"""With the real emitter: the interpreter's numbers, from the cache too, and by many processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import psylang
from psylang.emit import host_targets
from psylang.ir.builder import ProgramBuilder
from psylang.ir.graph import Numerics, Origin, Program, Value
from psylang.ir.interpret import interpret
from psylang.ir.types import I32, DType
from psylang.numerics import expansions
from psylang.runtime import cache
from psylang.runtime.execute import BLOCK_ROWS


def race(numerics: Numerics = "fast", limit: int = 40) -> Program:
    """A random walk between two bounds that starts at the input."""
    build = ProgramBuilder("race", numerics)
    drift = build.parameter("drift", 0.1)
    start = build.input("start", default=0.0)
    noise = build.stream("noise", seed=7)

    def step(x: Value, n: Value) -> tuple[Value, list[Value]]:
        x = build.add(build.add(x, drift), build.mul(0.4, build.normal(noise, step=n)))
        n = build.add(n, 1)
        return build.and_(build.lt(build.abs(x), 1.0), build.lt(n, limit)), [x, n]

    x, n = build.loop([start, build.constant(0, I32)], step, limit=limit)
    build.output("steps", n)
    build.output("choice", build.op("gt", x, 0.0))
    build.output("x", build.op("exp", x))
    build.output("late", build.op("tanh", build.convert(n, DType.F64)))
    return build.build()


@pytest.fixture(autouse=True)
def empty_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("PSYLANG_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def same(left: object, right: object) -> None:
    np.testing.assert_array_equal(np.asarray(left).view(np.uint8), np.asarray(right).view(np.uint8))


def test_fast_is_the_interpreter_bit_for_bit_on_every_target_and_thread() -> None:
    expected = interpret(race(), trials=50, seed=3, expansions=expansions())
    plan = psylang.compile(race())
    for target in host_targets():
        for threads in (1, 3):
            results = plan.run(trials=50, seed=3, isa=target.name, threads=threads)
            assert results.isa == target.name
            for name, array in expected.items():
                same(results[name], array)


def test_exact_is_the_interpreter_and_seeds_lead_elsewhere() -> None:
    expected = interpret(race("exact"), trials=20, sequences=2)
    plan = psylang.compile(race("exact"))
    results = plan.run(trials=20, sequences=2)
    for name, array in expected.items():
        same(results[name].reshape(-1), array)
    assert (results.x[0] != results.x[1]).any()
    other = plan.run(trials=20, seed=1)
    assert (other.x != results.x[0]).any()
    same(other.x, plan.run(trials=20, seed=1, threads=4).x)


def test_rows_a_trial_are_the_same_trials() -> None:
    plan = psylang.compile(race())
    drift = np.linspace(-1, 1, 30)
    together = plan.run(params={"drift": drift}, inputs={"start": np.linspace(0, 0.5, 30)})
    for trial in (0, 11, 29):
        alone = plan.run(params={"drift": drift[trial]}, inputs={"start": np.linspace(0, 0.5, 30)})
        assert alone.x[trial] == together.x[trial]


def test_a_search_is_its_points() -> None:
    plan = psylang.compile(race())
    found = plan.search({"drift": [-0.3, 0.3]}, trials=200, objective="choice", maximize=True)
    assert found.best == {"drift": 0.3}
    runs = plan.run(params={"drift": 0.3}, trials=200, sequences=2)
    assert found["choice"][1] == runs.choice[1].mean()


def test_histograms_agree_with_the_stored_trials() -> None:
    plan = psylang.compile(race())
    stored = plan.run(trials=100_000, threads=1)
    counted = plan.run(trials=100_000, threads=2, histogram={"x": (50, 0.0, 4.0)})
    assert list(counted) == []
    assert (counted.histograms["x"].counts == np.histogram(stored.x, 50, (0.0, 4.0))[0]).all()
    assert counted.histograms["x"].total == 100_000


def test_the_second_plan_comes_from_the_cache(empty_cache: Path) -> None:
    first = psylang.compile(race())
    (path,) = empty_cache.iterdir()
    second = psylang.compile(race())
    assert [one.cached for one in (*first._variants.all(), *second._variants.all())] == [
        False,
        True,
    ]
    same(first.run(trials=9).x, second.run(trials=9).x)
    path.write_bytes(path.read_bytes()[:-1])  # Damaged: compiled again, and replaced.
    third = psylang.compile(race())
    assert not third._variants.all()[0].cached
    assert psylang.compile(race())._variants.all()[0].cached
    same(first.run(trials=9).x, third.run(trials=9).x)
    psylang.compile(race(), fix={"drift": 0.2})
    assert len(list(empty_cache.iterdir())) == 2


def test_an_object_that_cannot_be_loaded_is_made_anew(empty_cache: Path) -> None:
    first = psylang.compile(race())
    (path,) = empty_cache.iterdir()
    whole = cache.ObjectCache(empty_cache)
    code = whole.get(path.stem)
    assert code is not None
    whole.put(path.stem, code.replace(b"psylang_run", b"psylang_bad"))
    second = psylang.compile(race())
    assert not second._variants.all()[0].cached
    same(first.run(trials=5).x, second.run(trials=5).x)


def test_the_cache_can_be_switched_off(monkeypatch: pytest.MonkeyPatch, empty_cache: Path) -> None:
    monkeypatch.setenv("PSYLANG_CACHE_BYTES", "0")
    psylang.compile(race()).run(trials=3)
    assert not empty_cache.exists()


def test_removed_parts_are_explained() -> None:
    build = ProgramBuilder("wasteful")
    a = build.parameter("a", 1.0)
    with build.at(Origin("idle")):
        build.op("exp", a)
    build.output("y", build.add(a, build.add(build.mul(a, 2.0), build.mul(a, 2.0))))
    explanation = psylang.compile(build.build()).explain()
    removed = explanation.sections["removed"]
    assert removed[0] == ("idle", "altogether")
    assert sorted(removed[1:]) == [("(shared)", "1 operations"), ("idle", "1 operations")]
    assert any(name == "DeadCode" for name, _ in explanation.sections["passes"])


SCRIPT = """
import sys
import psylang
from psylang.runtime.whole_test import race
plan = psylang.compile(race())
print(plan._variants.all()[0].cached, plan.run(trials=50, seed=3).x.sum().hex(), flush=True)
"""


def process() -> subprocess.Popen[str]:
    root = Path(cache.__file__).parents[2]
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(root)},
    )


def test_processes_that_compile_at_once_all_get_it_right(empty_cache: Path) -> None:
    expected = interpret(race(), trials=50, seed=3, expansions=expansions())["x"].sum().hex()
    for expect_cached in (False, True):
        processes = [process() for _ in range(2)]
        for one in processes:
            out, errors = one.communicate(timeout=100)
            assert errors == ""
            cached, total = out.split()
            assert total == expected
            assert cached == "True" or not expect_cached
    assert [path.suffix for path in empty_cache.iterdir()] == [".object"]


def test_kill_9_at_any_moment_leaves_a_cache_that_works(empty_cache: Path) -> None:
    for delay in (0.25, 0.35, 0.45):
        with process() as killed:
            time.sleep(delay)
            killed.send_signal(signal.SIGKILL)
    with process() as after:
        out, errors = after.communicate(timeout=100)
    assert (errors, out.split()[0] in ("True", "False")) == ("", True)
    assert psylang.compile(race())._variants.all()[0].cached


def test_one_value_for_all_trials_of_a_long_sequence() -> None:
    """A block of its rows is shorter than the sequence, which one call would compute."""
    build = ProgramBuilder("sums")
    x, total = build.input("x"), build.state("total", 0.0)
    build.set_state("total", build.add(total, x))
    build.output("total", build.add(total, x))
    plan = psylang.compile(build.build())
    for trials in (BLOCK_ROWS, BLOCK_ROWS + 1, BLOCK_ROWS + 7000):
        plan.variant().kernel.seconds_per_trial = 1e-12  # As if it were that fast.
        found = plan.run({"x": 2.0}, trials=trials)
        assert found.total.tolist() == [2.0 * k for k in range(1, trials + 1)]
