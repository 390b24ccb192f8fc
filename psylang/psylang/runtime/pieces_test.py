"""A run in pieces, by plan.run(first=…), is the run as a whole, bit by bit."""

from __future__ import annotations

import pickle
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np
import pytest

import psylang
from psylang.model import AdaptiveIntegrator, Logistic, Model, Normal, Transfer
from psylang.models import botvinick_stroop, ddm
from psylang.runtime.plan_fixture import compiled, session_cache

__all__ = ["compiled", "session_cache"]
pytestmark = pytest.mark.usefixtures("compiled")


def remembering() -> Model:
    """A noisy layer that goes on from trial to trial."""
    model = Model("remembering")
    integrator = AdaptiveIntegrator(rate=0.3, noise=Normal(standard_deviation=0.5))
    layer = Transfer("layer", size=2, function=Logistic(), integrator=integrator, reset="never")
    model.add(layer)
    model.input("x", layer)
    model.output("y", layer)
    return model


def bits(parts: list[Any], name: str) -> bytes:
    return b"".join(np.ascontiguousarray(one[name]).tobytes() for one in parts)


@pytest.mark.parametrize("numerics", ["fast", "exact"])
@pytest.mark.parametrize("seed", [0, 7])
def test_pieces_of_sequences_are_the_whole(numerics: Any, seed: int) -> None:
    plan = psylang.compile(remembering(), numerics=numerics)
    inputs = np.random.default_rng(1).normal(size=(10, 5, 2))
    whole = plan.run({"x": inputs}, sequences=10, trials=5, seed=seed)
    assert len({one.tobytes() for one in whole.y}) == 10
    pieces = [
        plan.run({"x": inputs[a:b]}, sequences=b - a, trials=5, seed=seed, first=a)
        for a, b in ((0, 3), (3, 4), (4, 10))
    ]
    assert bits(pieces, "y") == bits([whole], "y")
    assert [one.run.get("first", 0) for one in pieces] == [0, 3, 4]


def test_trials_that_do_not_depend_on_one_another_are_pieces_too() -> None:
    plan = psylang.compile(ddm(), vary=["drift"])
    drift = np.linspace(-1.0, 1.0, 300)
    whole = plan.run(params={"drift": drift}, seed=3)
    pieces = [
        plan.run(params={"drift": drift[k * 100 : (k + 1) * 100]}, seed=3, first=k)
        for k in range(3)
    ]
    uneven = [
        plan.run(params={"drift": drift[a:b, None]}, sequences=b - a, trials=1, seed=3, first=a)
        for a, b in ((0, 7), (7, 299), (299, 300))
    ]
    for name in plan.outputs:
        assert bits(pieces, name) == bits(uneven, name) == bits([whole], name)


def piece(plan: bytes, first: int) -> dict[str, Any]:
    """In a process of its own."""
    return dict(pickle.loads(plan).run(trials=50, first=first, seed=5))


def test_processes_share_a_run() -> None:
    plan = psylang.compile(ddm())
    whole = plan.run(trials=100, seed=5)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        pieces = list(pool.map(piece, [pickle.dumps(plan)] * 2, range(2)))
    for name in plan.outputs:
        assert bits(pieces, name) == bits([whole], name)


def test_a_histogram_of_pieces_adds_up() -> None:
    plan = psylang.compile(ddm())
    asked = {"response_time": (50, 0.0, 5.0)}
    whole = plan.run(trials=400, histogram=asked).histograms["response_time"].counts
    parts = [plan.run(trials=100, first=k, histogram=asked).histograms for k in range(4)]
    np.testing.assert_array_equal(sum(one["response_time"].counts for one in parts), whole)


@pytest.mark.parametrize("first", [-1, 2**62, True, 1.5])
def test_a_number_out_of_bounds_is_refused(first: Any) -> None:
    with pytest.raises((psylang.ArgumentError, psylang.ArgumentTypeError), match="first"):
        psylang.compile(ddm()).run(trials=2, first=first)


@pytest.mark.parametrize("numerics", ["fast", "exact"])
@pytest.mark.parametrize("seed", [0, 7])
@pytest.mark.parametrize("make", [remembering, botvinick_stroop, ddm], ids=lambda one: one.__name__)
def test_a_run_goes_on_where_another_one_ended(numerics: Any, seed: int, make: Any) -> None:
    plan = psylang.compile(make(), numerics=numerics)
    rng = np.random.default_rng(2)
    inputs = {name: rng.normal(size=(30, *shape)) for name, shape in plan.inputs.items()}

    def run(a: int, b: int, after: Any = None) -> psylang.Results:
        given = {name: array[a:b] for name, array in inputs.items()}
        return plan.run(given, trials=b - a, seed=seed, after=after)

    whole, parts = run(0, 30), [run(0, 7)]
    for a, b in ((7, 8), (8, 21), (21, 30)):
        parts.append(run(a, b, parts[-1]))
    for name in plan.outputs:
        assert bits(parts, name) == bits([whole], name)
    kept = pickle.loads(pickle.dumps(parts[-2]))
    for _ in range(2):  # A run leaves the results that it continues as they are.
        assert bits([run(21, 30, kept)], "y" if "y" in whole else next(iter(whole))) == bits(
            parts[-1:], "y" if "y" in whole else next(iter(whole))
        )


def test_long_runs_go_on_too() -> None:
    plan = psylang.compile(remembering())
    whole = plan.run({"x": [1.0, 0.5]}, trials=100_000, seed=1)
    begun = plan.run({"x": [1.0, 0.5]}, trials=33_333, seed=1)
    rest = plan.run({"x": [1.0, 0.5]}, trials=66_667, seed=1, after=begun)
    assert bits([begun, rest], "y") == bits([whole], "y")


def test_a_run_that_cannot_go_on_is_refused(tmp_path: Any) -> None:
    plan, inputs = psylang.compile(remembering()), {"x": [1.0, 0.5]}
    begun = plan.run(inputs, trials=3, seed=1)
    plan.run(inputs, seed=1, after=begun)
    begun.save(tmp_path / "begun.npz")
    several = plan.run(inputs, trials=3, sequences=2, seed=1)
    other = psylang.compile(ddm()).run(trials=3, seed=1)
    for after, given, said in (
        (begun, {"seed": 2}, "after has seed 1, this run 2"),
        (begun, {"precision": "f32"}, "after has precision 'f64', this run 'f32'"),
        (begun, {"sequences": 2}, "leave out sequences, first and device"),
        (begun, {"first": 1}, "leave out sequences, first and device"),
        (other, {}, "after has model 'ddm', this run 'remembering'"),
        (several, {}, "after has no states: it was read from a file"),
        (psylang.Results.load(tmp_path / "begun.npz"), {}, "after has no states"),
    ):
        with pytest.raises(psylang.ArgumentError, match=said):
            plan.run(inputs, **{"seed": 1, **given}, after=after)  # type: ignore[arg-type]
    with pytest.raises(psylang.ArgumentTypeError, match="give the results of an earlier run"):
        plan.run(inputs, seed=1, after={})  # type: ignore[arg-type]


def test_states_of_outputs_that_were_not_recorded_are_not_continued() -> None:
    plan = psylang.compile(botvinick_stroop())
    inputs = {name: np.ones(shape) for name, shape in plan.inputs.items()}
    first, *_, last = plan.outputs
    begun = plan.run(inputs, trials=3, record=[first])
    plan.run(inputs, trials=3, record=[first], after=begun)
    with pytest.raises(psylang.ArgumentError, match=f"after has not computed .*{last}"):
        plan.run(inputs, trials=3, after=begun)
