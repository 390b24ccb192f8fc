"""NaN decides nothing, is counted, and is an error that names its origin."""

from __future__ import annotations

import math
import pickle
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import psylang
from psylang.model import (
    DDM,
    AtLeast,
    Compute,
    Linear,
    Logistic,
    Model,
    Settled,
    Transfer,
    function,
)
from psylang.models import ddm, lca
from psylang.runtime.plan_fixture import compiled, session_cache

__all__ = ["compiled", "session_cache"]
pytestmark = pytest.mark.usefixtures("compiled")


@function
def root(x):  # type: ignore[no-untyped-def]
    """NaN for numbers below 0."""
    return np.sqrt(x)


@function
def cubic(x):  # type: ignore[no-untyped-def]
    """A force, as of a double well."""
    return x - x**3


def made_of(what: Any) -> Model:
    """A function of the input `x`, which drives a DDM."""
    model = Model("made")
    inner = model.add(Compute("force", function=what, inputs={"x": 0}, size=0))
    decision = model.add(DDM("decision"))
    model.input("x", inner)
    model.connect(inner, decision)
    model.output("force", inner)
    for port in ("response_time", "choice", "steps"):
        model.output(port, decision, port)
    return model


@pytest.mark.parametrize("numerics", ["fast", "exact"])
def test_a_state_that_is_nan_decides_nothing(numerics: Any) -> None:
    plan = psylang.compile(ddm(), vary=["drift", "threshold"], numerics=numerics)
    for params in ({"drift": math.nan}, {"threshold": math.nan}):
        found = plan.run(params=params, trials=9, allow_nan=True)
        assert (found.choice == -1).all()
        assert np.isnan(found.response_time).all()
        assert found.truncated.all()
    race = psylang.compile(lca(), vary=["leak"], numerics=numerics)
    found = race.run({"stimulus": [1.0, 0.9]}, params={"leak": math.nan}, allow_nan=True)
    assert found.choice.tolist() == [-1]
    assert found.truncated.tolist() == [True]
    assert found.nan == {"response_time": 1, "activity": 1}


@pytest.mark.parametrize("numerics", ["fast", "exact"])
def test_nan_behind_whole_numbers_is_noticed(numerics: Any) -> None:
    """Choices of -1 alone would tell nothing of it."""
    plan = psylang.compile(ddm(), vary=["drift"], numerics=numerics)
    drift = np.array([0.5, math.nan, 1.0, math.nan])
    found = plan.run(params={"drift": drift}, record=["choice"], allow_nan=True)
    assert list(found) == ["choice"]
    assert found.nan == {"response_time": 2, "decision_variable": 2}
    broken = psylang.compile(made_of(root), numerics=numerics)
    with pytest.raises(psylang.UndefinedError, match=r"force is NaN in 1 of 3 trials: mend") as got:
        broken.run({"x": [1.0, -1.0, 4.0]}, record=["choice", "steps"])
    assert got.value.results.choice.tolist()[1] == -1
    counts = broken.run({"x": [1.0, 4.0]}, record=["choice"])
    assert counts.nan == {}


@pytest.mark.parametrize("until", [AtLeast(threshold=0.9), Settled()], ids=["at_least", "settled"])
def test_a_transfer_of_nan_is_truncated(until: Any) -> None:
    model = Model("transfer")
    node = model.add(Transfer("node", function=Linear(), until=until, max_steps=20))
    model.input("x", node)
    model.output("y", node)
    found = psylang.compile(model).run({"x": [math.nan]}, allow_nan=True)
    assert found.truncated.tolist() == [True]


def test_nan_is_counted_and_named_with_its_operation() -> None:
    plan = psylang.compile(made_of(root))
    inputs = {"x": np.array([1.0, 4.0, -1.0, -2.0])}
    with pytest.raises(
        psylang.UndefinedError,
        match=r"output force is NaN in 2 of 4 trials, first in trial 2; `force@undefined_test.py:"
        r"\d+` made the first one: mend the model .* allow_nan=True",
    ) as caught:
        plan.run(inputs)
    assert caught.value.nan == {"force": 2, "response_time": 2}
    assert caught.value.results.choice.tolist()[2:] == [-1, -1]
    assert pickle.loads(pickle.dumps(caught.value)).nan == caught.value.nan
    found = plan.run(inputs, allow_nan=True)
    assert found.nan == caught.value.nan
    assert pickle.loads(pickle.dumps(found)).nan == found.nan
    with pytest.raises(psylang.UndefinedError, match="output response_time is NaN in 2 of 4"):
        plan.run(inputs, histogram={"response_time": (3, 0, 1)})


def test_the_second_trial_of_a_sequence_is_traced_through_its_states() -> None:
    model = Model("falling")
    node = model.add(Compute("fall", function=cubic, inputs={"x": 0}, size=0))
    low = model.add(Compute("low", function=root, inputs={"x": 0}, size=0))
    kept = model.add(Transfer("kept", function=Logistic(), reset="never"))
    model.input("x", node)
    model.connect(node, low)
    model.connect(low, kept)
    model.output("y", kept)
    with pytest.raises(psylang.UndefinedError, match=r"first in trial 1; `low@"):
        psylang.compile(model).run({"x": [0.5, -0.5, 0.5]})


def test_whole_powers_of_negative_numbers_are_numbers() -> None:
    found = psylang.compile(made_of(cubic)).run({"x": -0.5}, trials=400)
    assert found.force.tolist() == [-0.375] * 400
    assert 0 < np.mean(found.choice) < 0.5
    assert np.mean(found.response_time) > 0.5


def test_a_search_takes_no_nan_unasked() -> None:
    plan = psylang.compile(made_of(root))
    results: Mapping[str, Any] = plan.run({"x": 1.0})
    assert results["choice"] in (0, 1)
    varied = psylang.compile(ddm(), vary=["drift"])
    with pytest.raises(psylang.ArgumentError, match=r"grid\['drift'\] has NaN"):
        varied.search({"drift": [0.1, math.nan]}, objective="response_time")
