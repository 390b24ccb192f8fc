"""Mechanisms of several states, winners and modulation in machine code: `fast` against `exact`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import psylang
from psylang.model import (
    DualAdaptive,
    FitzHughNagumo,
    KWinners,
    LocusCoeruleus,
    Logistic,
    Mechanism,
    Model,
    Recurrent,
    SphereDrift,
    Transfer,
)
from psylang.runtime.distributions_test import distance
from psylang.runtime.plan_fixture import compiled, session_cache

__all__ = ["compiled", "session_cache"]
pytestmark = pytest.mark.usefixtures("compiled")


def alone(node: Mechanism) -> Model:
    model = Model("alone")
    model.add(node)
    model.input("x", node)
    model.output("value", node)
    return model


def gained() -> Model:
    """The locus coeruleus sets the gain of a layer and gates another one's input."""
    model = Model("gained")
    neuron = FitzHughNagumo(dt=0.3, mode=0.8, initial_w=0.2)
    model.add(LocusCoeruleus("locus", neuron=neuron, reset="never"))
    model.add(Transfer("layer", size=2, function=Logistic()))
    model.add(Transfer("gated", size=2))
    model.input("arousal", "locus")
    model.input("x", "layer")
    model.connect("layer", "gated")
    model.modulate("locus", "layer.function.gain", sender_port="gain")
    model.modulate("locus", "input", sender_port="gain", receiver="gated", kind="input")
    model.output("value", "gated")
    return model


MODELS = {
    "winners": (
        alone(Transfer("n", size=5, winners=KWinners(k=2), recurrent=Recurrent(auto=0.5))),
        5,
    ),
    "averages": (alone(DualAdaptive("n", size=2, reset="never")), 2),
    "sphere": (alone(SphereDrift("n", rate=0.3, reset="never")), 2),
    "target": (alone(SphereDrift("n", toward=True, rate=0.3, reset="never")), 3),
    "gained": (gained(), 2),
}


@pytest.mark.parametrize("name", MODELS)
def test_fast_is_exact_without_noise(name: str) -> None:
    model, size = MODELS[name]
    x = np.random.default_rng(2).normal(size=(60, size))
    inputs: dict[str, Any] = {"x": x}
    if name == "gained":
        inputs["arousal"] = x[:, :1]
    fast, exact = (
        psylang.compile(model, numerics=numerics).run(inputs, trials=60).value
        for numerics in ("fast", "exact")
    )
    np.testing.assert_allclose(fast, exact, rtol=0, atol=1e-12)
    assert len(np.unique(exact[:, 0])) > 30


def test_noise_on_a_sphere_has_one_distribution() -> None:
    model = alone(SphereDrift("n", noise=0.4, rate=0.2, reset="never"))
    x = np.full((5, 2), 0.5)
    found = [
        psylang.compile(model, numerics=numerics).run({"x": x}, trials=5, sequences=4000, seed=3)
        for numerics in ("fast", "exact")
    ]
    for k in range(3):
        one, other = (run.value[:, -1, k] for run in found)
        assert distance(one, other) < 1.95 * np.sqrt(2 / 4000)
