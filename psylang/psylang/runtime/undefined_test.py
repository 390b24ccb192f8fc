"""NaN decides nothing, is counted, and is an error that names its origin."""

from __future__ import annotations

import math
import pickle
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import psylang
from psylang.ir.builder import ProgramBuilder
from psylang.ir.graph import Origin
from psylang.ir.types import I32
from psylang.model import (
    DDM,
    AtLeast,
    Compute,
    DriftDiffusion,
    Linear,
    Logistic,
    Model,
    Settled,
    Transfer,
    function,
)
from psylang.models import ddm, lca
from psylang.runtime.plan_fixture import compiled, session_cache
from psylang.runtime.witnesses import with_witnesses

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


def modulated(target: str, modulation: Any, **fields: Any) -> Model:
    """A DDM, of which the input `level` sets a parameter."""
    model = Model("modulated")
    decision = model.add(DDM("decision", integrator=DriftDiffusion(rate=10.0, dt=0.01, **fields)))
    level = model.add(Transfer("level"))
    model.input("level", level)
    model.modulate(level, f"decision.{target}", modulation=modulation)
    for port in ("choice", "response_time"):
        model.output(port, decision, port)
    return model


@pytest.mark.parametrize("numerics", ["fast", "exact"])
@pytest.mark.parametrize(
    ("target", "modulation", "levels", "rule"),
    [
        ("integrator.threshold", "multiplicative", [0.5, -1.0, 0.0], "above 0"),
        ("integrator.threshold", "override", [0.2, 0.0, -0.1], "above 0"),
        ("integrator.noise", "additive", [-1.0, -1.5, -9.0], "at least 0"),
        ("integrator.dt", "override", [0.1, -0.1, 0.0], "above 0"),
        ("integrator.rate", "multiplicative", [1.0, 1e308, -1e308], "finite"),
    ],
)
def test_a_modulated_parameter_beyond_its_limits_is_nan(
    numerics: Any, target: str, modulation: Any, levels: list[float], rule: str
) -> None:
    plan = psylang.compile(modulated(target, modulation), numerics=numerics)
    inputs = {"level": np.array(levels)[:, None]}
    with pytest.raises(
        psylang.UndefinedError,
        match=rf"in 2 of 3 trials, first in trial 1; `decision.{target}` was modulated beyond its "
        rf"limits, which made the first one \({rule}\): mend the model",
    ) as caught:
        plan.run(inputs)
    assert caught.value.nan == {"response_time": 2}
    with pytest.raises(psylang.UndefinedError, match=r"response_time is NaN in 2 of 3 trials"):
        plan.run(inputs, record=["choice"])
    found = plan.run(inputs, allow_nan=True)
    assert found.choice[0] in (0, 1)
    assert np.isnan(found.response_time).tolist() == [False, True, True]
    assert plan.run({"level": inputs["level"][:1]}).nan == {}


def test_relations_hold_for_modulated_parameters() -> None:
    """A threshold that comes below the start, and a value that is computed from it."""
    plan = psylang.compile(modulated("integrator.threshold", "override", initial=0.3))
    with pytest.raises(psylang.UndefinedError, match="response_time is NaN") as caught:
        plan.run({"level": [[0.5], [0.3], [0.2]]})
    assert "in 2 of 3 trials, first in trial 1; `decision.integrator.threshold` was" in str(
        caught.value
    )
    assert (
        "(`decision.integrator.initial` strictly within ±`decision.integrator.threshold`)"
    ) in str(caught.value)


def test_what_is_computed_from_a_modulated_parameter_is_held_too() -> None:
    model = Model("computed")
    base = model.parameter("base", 1.0)
    level = model.add(Transfer("level"))
    noisy = DriftDiffusion(rate=base, threshold=0.5, noise=1.0 - base, dt=0.01)
    decision = model.add(DDM("decision", integrator=noisy))
    model.input("level", level)
    model.modulate(level, "base")
    model.output("choice", decision, "choice")
    model.output("response_time", decision, "response_time")
    plan = psylang.compile(model)
    assert plan.run({"level": [[0.5], [1.0]]}).nan == {}
    with pytest.raises(
        psylang.UndefinedError, match=r"`decision.integrator.noise` was .*\(at least 0\)"
    ):
        plan.run({"level": [[1.5]]})


def only_whole(what: Any) -> Model:
    """A choice, and nothing else, of a function of the input `x`."""
    model = Model("choice")
    inner = model.add(Compute("force", function=what, inputs={"x": 0}, size=0))
    decision = model.add(DDM("decision", integrator=DriftDiffusion(dt=0.01)))
    model.input("x", inner)
    model.connect(inner, decision)
    model.output("choice", decision, "choice")
    model.output("steps", decision, "steps")
    return model


@pytest.mark.parametrize("numerics", ["fast", "exact"])
def test_a_choice_of_nan_is_counted_where_all_outputs_are_whole_numbers(numerics: Any) -> None:
    plan = psylang.compile(only_whole(root), numerics=numerics)
    inputs = {"x": np.array([1.0, -1.0, 4.0, -2.0])}
    for record in (None, ["choice"], ["steps"]):
        with pytest.raises(
            psylang.UndefinedError,
            match=r"output choice is of NaN in 2 of 4 trials, first in trial 1; `force@undefined_t",
        ) as caught:
            plan.run(inputs, record=record)
        assert caught.value.nan == {"choice": 2, "steps": 2, "truncated": 2}
        assert list(caught.value.results) == (record or ["choice", "steps", "truncated"])
    with pytest.raises(psylang.UndefinedError, match="output choice is of NaN in 2 of 4 trials"):
        plan.run(inputs, histogram={"steps": (3, 0, 1000)})
    found = plan.run(inputs, allow_nan=True)
    assert found.nan == {"choice": 2, "steps": 2, "truncated": 2}
    assert list(found) == list(plan.outputs) == ["choice", "steps", "truncated"]
    good = plan.run({"x": [1.0, 4.0]})
    assert good.nan == {}
    assert set(good.choice.tolist()) <= {0, 1}
    again = pickle.loads(pickle.dumps(plan)).run({"x": [1.0, 4.0]})
    assert again.choice.tolist() == good.choice.tolist()


def decided(write: Any) -> psylang.Plan:
    """A plan with the one output that `write` makes of the input `x`."""
    build = ProgramBuilder("decided")
    build.output("yes", write(build, build.input("x")))
    return psylang.compile(build.build())


def below(build: Any, x: Any) -> Any:
    return build.lt(build.op("sqrt", x), 2.0)


def chosen(build: Any, truth: Any, yes: Any) -> Any:
    return build.select(truth, build.constant(yes, I32), build.constant(7, I32))


def in_a_loop(build: Any, x: Any) -> Any:
    def step(value: Any, count: Any) -> Any:
        after = build.op("sqrt", value)
        more = build.and_(build.op("gt", after, 0.5), build.lt(count, 5))
        return more, [after, build.add(count, 1)]

    return build.loop([x, build.constant(0, I32)], step, limit=5)[1]


def own_test(build: Any, x: Any) -> Any:
    value = build.op("sqrt", x)
    with build.at(Origin("node", source="mine.py:3")):
        missing = build.op("ne", value, value)
        return build.select(missing, False, build.lt(value, 2.0))


@pytest.mark.parametrize(
    ("write", "doubtful"),
    [
        (below, True),
        (lambda build, x: build.not_(below(build, x)), True),
        (lambda build, x: chosen(build, below(build, x), 1), True),
        (lambda build, x: build.op("gt", build.select(below(build, x), 1.0, 0.0), 0.5), True),
        (lambda build, x: build.convert(build.op("sqrt", x), I32.dtype), True),
        (lambda build, x: build.extract(build.stack([below(build, x), True]), 0), True),
        (in_a_loop, True),
        (lambda build, x: build.extract(build.stack([below(build, x), True]), 1), False),
        (lambda build, x: build.and_(below(build, x), build.op("gt", x, 0.0)), False),
        (lambda build, x: build.or_(build.lt(x, 0.0), below(build, x)), False),
        (lambda build, x: build.select(build.lt(x, 0.0), False, below(build, x)), False),
        (own_test, False),
    ],
)  # fmt: skip
def test_nan_is_counted_where_it_makes_a_difference(write: Any, doubtful: bool) -> None:
    found = decided(write).run({"x": [4.5, -1.0, -9.0]}, allow_nan=True)
    assert found.nan == ({"yes": 2} if doubtful else {})
    assert list(found) == ["yes"]


def test_programs_with_a_fraction_among_their_outputs_stay_as_they_are() -> None:
    program = psylang.compile(ddm()).program
    assert with_witnesses(program) is program
