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
from psylang.models import ddm
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
