"""Control in machine code: common random numbers, estimates, and `fast` against `exact`.

Kolmogorov and Smirnov's distances; seeds are fixed, so that the tests have the same result each
time.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import psylang
from psylang.emit.compile import optimised
from psylang.ir.interpret import interpret
from psylang.model import (
    DDM,
    AfterNCalls,
    Compute,
    ControlSignal,
    DDMAnalytical,
    DriftDiffusion,
    Evenly,
    ExponentialCost,
    GridSearch,
    Mechanism,
    Model,
    Transfer,
    While,
    function,
)
from psylang.model.estimates import Reseeding
from psylang.model.noise import Normal
from psylang.models import predator_prey
from psylang.runtime.distributions_test import distance
from psylang.runtime.plan_fixture import compiled, session_cache

__all__ = ["compiled", "session_cache"]
pytestmark = pytest.mark.usefixtures("compiled")
TRIALS = 20_000
BOUND = 1.95 * np.sqrt(2 / TRIALS)  # One pair of equal distributions in a thousand is beyond.


@function
def hill(x, top):  # type: ignore[no-untyped-def]
    """Highest at the top."""
    return 10.0 - (x[0] - top) ** 2


def climber(count: int | None, noisy: bool = True) -> Model:
    """Its control chooses the intercept at which a noisy layer climbs a hill."""
    model = Model("hill")
    noise = Normal(standard_deviation=2.0) if noisy else None
    layer = model.add(Transfer("layer", noise=noise))
    model.input("x", layer)
    top = {"top": 3.0}
    height = model.add(Compute("height", function=hill, inputs={"x": 1}, parameters=top, size=0))
    model.connect(layer, height)
    signal = ControlSignal("layer.function.intercept", Evenly(0.0, 4.0, 9), "additive")
    model.control(GridSearch([signal], objective="height", num_estimates=count))
    model.output("height", height)
    return model


def test_estimates_have_draws_of_their_own_and_average_out() -> None:
    chosen = {}
    for count in (None, 1, 400):
        found = psylang.compile(climber(count)).run({"x": [1.0]}, trials=200, seed=1)
        chosen[count] = found.allocation[:, 0]
    assert np.std(chosen[None]) > 0.7
    assert np.std(chosen[1]) > 0.7
    assert (chosen[1] != chosen[None]).any()
    assert np.abs(chosen[400] - 2.0).max() <= 0.5


def test_estimates_of_exact_are_those_of_fast() -> None:
    runs = [
        psylang.compile(climber(5)).run({"x": [1.0]}, trials=4000, seed=2),
        psylang.compile(climber(5), numerics="exact").run({"x": [1.0]}, sequences=4000, seed=2),
    ]
    for name in ("allocation", "height"):
        one, other = (run[name].reshape(4000) for run in runs)
        assert distance(one, other) < 1.95 * np.sqrt(2 / 4000), name


def reseeding(after: bool, count: int = 3) -> Model:
    """A climber whose estimates have the seeds 7, 9, … of PsyNeuLink's rule with two slots."""
    model = climber(count)
    assert model.search is not None
    seeds = Reseeding({"layer": 1}, first=3, width=2, blocks=50, before=count)
    model.search = dataclasses.replace(model.search, reseeding=seeds, after=after)
    return model


def by_hand(after: bool, count: int, trials: int) -> list[tuple[float, float]]:
    """(level, height) of each trial, drawn by NumPy."""

    def height(level: float, seed: int) -> float:
        x = 1.0 + 2.0 * np.random.RandomState([seed]).normal()
        return float(hill(np.array([x + level]), 3.0))

    made, block, level, key = [], 3, 0.0, count
    for _ in range(trials):
        if after:
            made.append((level, height(level, key + 1)))
        levels = np.linspace(0.0, 4.0, 9)
        seeds = [(block + i) % 50 * 2 + 1 for i in range(count)]
        means = [sum(height(one, seed) for seed in seeds) / count for one in levels]
        level, key = float(levels[int(np.argmax(means))]), block * 2
        block = (block + len(levels) * count * count) % 50
        if not after:
            made.append((level, height(level, key + 1)))
    return made


@pytest.mark.parametrize("after", [False, True])
def test_reseeded_estimates_have_the_seeds_of_the_rule(after: bool) -> None:
    program = reseeding(after).program("exact")
    found = psylang.compile(program).run({"x": [[1.0]] * 9})
    wanted = interpret(program, inputs={"x": [[1.0]] * 9}, trials=9)
    for name, values in wanted.items():
        np.testing.assert_array_equal(found[name], values)
    np.testing.assert_allclose(
        np.column_stack([found.allocation[:, 0], found.height]), by_hand(after, 3, 9), rtol=1e-12
    )


@function
def always(x):  # type: ignore[no-untyped-def]
    return x[0] > -1e9


def nested(model: Model) -> Model:
    """The same model as a nest, with its control."""
    search, model.search = model.search, None
    assert search is not None
    model.nest("inner", "layer", "height")
    model.control(search, "inner")
    return model


@pytest.mark.parametrize("loop", [False, True])
@pytest.mark.parametrize("after", [False, True])
def test_seeds_of_a_nests_estimates_are_counted_from_call_to_call(after: bool, loop: bool) -> None:
    model = nested(reseeding(after))
    model.ends(AfterNCalls("inner", 2))
    if loop:
        model.when("inner", While(always, "layer"))
    program = model.program("exact")
    found = psylang.compile(program).run({"x": [[1.0]] * 4})
    wanted = interpret(program, inputs={"x": [[1.0]] * 4}, trials=4)
    np.testing.assert_array_equal(found.height, wanted["height"])
    heights = [height for _, height in by_hand(after, 3, 8)]
    np.testing.assert_allclose(found.height, heights[1::2], rtol=1e-12)


def test_a_nests_estimates_in_fast_are_those_of_a_model() -> None:
    runs = [
        psylang.compile(model).run({"x": [1.0]}, trials=4000, seed=2)
        for model in (climber(5), nested(climber(5)))
    ]
    np.testing.assert_array_equal(runs[0].height, runs[1].height)


@pytest.mark.parametrize("seeds", [False, True])
def test_estimates_of_a_nest_within_those_of_a_control_are_refused(seeds: bool) -> None:
    model = nested(reseeding(False) if seeds else climber(5))
    signal = ControlSignal("layer.function.slope", [1.0, 2.0])
    model.control(GridSearch([signal], "height", num_estimates=None if seeds else 2))
    with pytest.raises(psylang.PsylangError, match="control of the nest `inner` has num_estimates"):
        model.program("exact")


@pytest.mark.parametrize("count", [1, 5])
def test_reseeded_estimates_of_exact_are_those_of_fast(count: int) -> None:
    """The trial that follows has the noise of the first estimate: with one estimate, the best."""
    model = reseeding(False, count)
    runs = [
        psylang.compile(model).run({"x": [1.0]}, trials=4000, seed=2),
        psylang.compile(model, numerics="exact").run({"x": [1.0]}, sequences=4000, seed=2),
    ]
    for name in ("allocation", "height"):
        one, other = (run[name].reshape(4000) for run in runs)
        assert distance(one, other) < 1.95 * np.sqrt(2 / 4000), name
    own = psylang.compile(climber(count)).run({"x": [1.0]}, trials=4000, seed=2)
    assert runs[0].height.mean() > own.height.mean() + 0.1


def test_reseeding_needs_estimates_and_seeds_that_there_are() -> None:
    search = climber(None).search
    assert search is not None
    with pytest.raises(psylang.PsylangError, match="reseeding is of estimates; give num_estimates"):
        dataclasses.replace(search, reseeding=Reseeding({}, 0))
    with pytest.raises(psylang.PsylangError, match="seeds of estimates from -1 on"):
        Reseeding({}, -1)


@pytest.mark.parametrize("numerics", ["exact", "fast"])
def test_a_search_after_trials_is_the_interpreters(numerics: Any) -> None:
    model = climber(None, noisy=numerics == "exact")  # In `fast` its candidates may not draw.
    assert model.search is not None
    model.search = dataclasses.replace(model.search, after=True)
    program, x = model.program(numerics), np.linspace(-1, 4, 12)
    found = psylang.compile(program).run({"x": x[:, None]})
    wanted = interpret(program, inputs={"x": x[:, None]}, trials=12)
    for name, values in wanted.items():
        np.testing.assert_array_equal(found[name], values)
    assert len(np.unique(found["allocation"])) > 3


def test_draws_that_do_not_depend_on_the_candidate_are_made_once() -> None:
    program = optimised(predator_prey(levels=4).program("fast"))
    (search,) = (op for op in program.body.walk() if op.name == "argmin")
    products = [op for op in search.regions[0].ops if op.name == "mul"]
    assert not any(op.result.type.dtype.is_int for op in products)  # Philox multiplies.


def test_exact_candidates_that_draw_in_a_loop_are_the_interpreters() -> None:
    program = evc(stepwise(), "choice").program("exact")
    found, wanted = psylang.compile(program).run(trials=40), interpret(program, trials=40)
    for name, values in wanted.items():
        np.testing.assert_array_equal(found[name], values)


def stepwise() -> DDM:
    """A DDM of some 25 steps."""
    process = DriftDiffusion(rate=0.5, dt=0.02, threshold=0.5)
    return DDM("decision", integrator=process)


@function
def reward(choice, time):  # type: ignore[no-untyped-def]
    """The reward of the upper threshold, less the time."""
    return 4.0 * choice - time


def evc(decision: Mechanism, port: str) -> Model:
    """Expected value of control: a level multiplies the drift, and costs."""
    model = Model("evc")
    model.add(decision)
    value = model.add(Compute("value", function=reward, inputs={"choice": 0, "time": 0}, size=0))
    for sender, receiver in ((port, "choice"), ("response_time", "time")):
        model.connect(
            decision, value, sender_port=sender, receiver_port=receiver, name=f"of_{receiver}"
        )
    name = "integrator.rate" if isinstance(decision, DDM) else "drift"
    signal = ControlSignal(
        f"decision.{name}", Evenly(1.0, 4.0, 7), cost=ExponentialCost(rate=0.8, bias=-2.0)
    )
    model.control(GridSearch([signal], objective="value"))
    model.output("value", value)
    model.output("response_time", decision, "response_time")
    return model


GAME = {"player": [0.0, 0.0], "predator": [1.5, -1.0], "prey": [-1.0, 2.0]}


@pytest.mark.parametrize(
    ("model", "inputs"),
    [
        (predator_prey(levels=4), GAME),
        (evc(DDMAnalytical("decision", drift=0.5, threshold=1.0), "choice"), {}),
        (evc(stepwise(), "choice"), {}),
    ],
    ids=["predator_prey", "evc_analytical", "evc_stepwise"],
)
def test_fast_and_exact_choose_alike(model: Model, inputs: dict[str, Any]) -> None:
    """Each trial of `exact` is a sequence. With one generator a trial would begin with draws that
    the search of the previous trial has used, because other levels needed more draws."""
    found = [
        psylang.compile(model).run(inputs, trials=TRIALS, seed=3),
        psylang.compile(model, numerics="exact").run(inputs, sequences=TRIALS, seed=3),
    ]
    for name in found[1]:
        one, other = (run[name].reshape(TRIALS, -1).astype(float) for run in found)
        for k in range(one.shape[1]):
            assert distance(one[:, k], other[:, k]) < BOUND, (name, k)
    assert len(np.unique(found[1].allocation)) > 1
