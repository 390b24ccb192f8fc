"""`exact` draws: PsyNeuLink's consecutive seeds, and other numbers in each sequence."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import psylang
from psylang.ir.interpret import interpret
from psylang.ir.seeds import Begun, key_of
from psylang.model import DDM, DriftDiffusion, Model, Transfer
from psylang.model.noise import Normal
from psylang.models import ddm
from psylang.runtime.generators import seeded
from psylang.runtime.plan_fixture import compiled, session_cache

__all__ = ["compiled", "session_cache"]
pytestmark = pytest.mark.usefixtures("compiled")


@pytest.mark.parametrize("length", [1, 2, 3, 700])
def test_many_generators_are_seeded_as_numpy_seeds_one(length: int) -> None:
    keys = np.random.default_rng(2).integers(0, 2**32, (7, length), np.uint32)
    for key, words in zip(keys, seeded(keys), strict=True):
        np.testing.assert_array_equal(np.random.RandomState(key.tolist()).get_state()[1], words)  # type: ignore[index]


def noisy(**seeds: int) -> Model:
    """Three noisy mechanisms, with a silent one between them."""
    model = Model("noisy")
    for name in ("a", "silent", "b", "c"):
        noise = None if name == "silent" else Normal()
        node = model.add(Transfer(name, noise=noise, seed=seeds.get(name)))
        model.input(f"to_{name}", node, default=[0.0])
        model.output(name, node)
    return model


def test_mechanisms_without_a_seed_have_consecutive_ones() -> None:
    assert noisy().program("exact").stream_seeds == (0, 1, 2)
    assert noisy(b=0).program("exact").stream_seeds == (1, 0, 2)
    found = psylang.compile(noisy(), numerics="exact").run(trials=1000)
    for seed, name in enumerate("abc"):
        wanted = np.random.RandomState([seed]).normal(size=1000)
        np.testing.assert_array_equal(found[name][:, 0], wanted)
    assert abs(np.corrcoef(found.a[:, 0], found.b[:, 0])[0, 1]) < 0.1


def test_a_race_of_two_is_won_by_both() -> None:
    model = Model("race")
    for name, rate in (("strong", 1.2), ("weak", 1.0)):
        process = DriftDiffusion(rate=rate, dt=0.01)
        model.add(DDM(name, integrator=process))
        model.output(name, name, "response_time")
    won = {}
    for numerics in ("fast", "exact"):
        found = psylang.compile(model, numerics=numerics).run(trials=20_000, seed=4)
        won[numerics] = np.mean(found.strong < found.weak)
    assert 0.5 < won["exact"] < 0.6
    assert won["fast"] == pytest.approx(won["exact"], abs=0.02)


@pytest.mark.parametrize("seed", [0, 5])
def test_sequences_differ_and_do_not_depend_on_the_run(seed: int) -> None:
    plan = psylang.compile(noisy(), numerics="exact")
    found = plan.run(trials=3, sequences=40, seed=seed, threads=2)
    assert len(np.unique(found.a)) == 120
    fewer = plan.run(trials=3, sequences=7, seed=seed, threads=1)
    np.testing.assert_array_equal(fewer.a, found.a[:7])
    np.testing.assert_array_equal(plan.run(trials=3, seed=seed).a, found.a[0])
    wanted = np.random.RandomState(key_of(1, seed, 6)).normal(size=3)
    np.testing.assert_array_equal(found.b[6, :, 0], wanted)


def test_all_points_of_a_search_meet_the_same_draws() -> None:
    plan = psylang.compile(ddm(dt=0.01), vary=["non_decision_time"], numerics="exact")
    found = plan.search({"non_decision_time": [0.0, 1.0]}, trials=30, objective="response_time")
    assert found["response_time"][1] - found["response_time"][0] == pytest.approx(1.0)


def test_a_stream_goes_on_from_the_state_of_a_generator() -> None:
    other = np.random.RandomState([7])
    other.normal(size=3)  # One of a pair of normal numbers is kept.
    state: Any = other.get_state(legacy=True)
    model = noisy(b=Begun(7, state))
    plan = psylang.compile(model, numerics="exact")
    wanted = other.normal(size=8)
    for one in (plan, pickle.loads(pickle.dumps(plan))):
        np.testing.assert_array_equal(one.run(trials=8)["b"][:, 0], wanted)
    interpreted = interpret(model.program("exact"), trials=8)
    np.testing.assert_array_equal(interpreted["b"][:, 0], wanted)
    # Other sequences and seeds have their own generators; so has a plan of the plain seed.
    plain = psylang.compile(noisy(b=7), numerics="exact")
    for seed, sequences in ((3, 1), (0, 2)):
        found, usual = (
            one.run(trials=8, seed=seed, sequences=sequences)["b"] for one in (plan, plain)
        )
        np.testing.assert_array_equal(found.ravel()[-8:], usual.ravel()[-8:])
    first = plain.run(trials=8)["b"][:, 0]
    np.testing.assert_array_equal(first, np.random.RandomState([7]).normal(size=8))
