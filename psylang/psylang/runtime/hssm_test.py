"""The callable for HSSM has the interface that ssms.hssm_support asks for, and calls."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import psylang
from psylang.likelihood import HSSMSimulator, LikelihoodError
from psylang.runtime.plan_fixture import compiled, session_cache

__all__ = ["compiled", "session_cache"]
pytestmark = pytest.mark.usefixtures("compiled")
NAMES = ("drift", "threshold", "non_decision_time")


@pytest.fixture
def plan(compiled: list[str]) -> psylang.Plan:
    return psylang.compile(psylang.models.ddm(dt=0.01), vary=[*NAMES, "starting_point"])


def test_it_has_the_attributes_and_arguments_that_hssm_reads(plan: psylang.Plan) -> None:
    simulator = HSSMSimulator(plan, NAMES)
    assert (simulator.model_name, simulator.choices, simulator.obs_dim) == ("ddm", [-1, 1], 2)
    names = inspect.signature(simulator).parameters
    assert list(names)[:3] == ["theta", "random_state", "n_replicas"]
    assert names["_"].kind is inspect.Parameter.VAR_KEYWORD


def test_rows_are_those_of_the_plan(plan: psylang.Plan) -> None:
    theta = np.array([[0.5, 1.0, 0.3], [-2.0, 0.6, 0.2], [3.0, 0.6, 0.1]])
    simulator = HSSMSimulator(plan, NAMES, params={"starting_point": 0.1})
    found = simulator(theta=theta, random_state=np.uint32(5), n_replicas=1, extra=True)
    params = {**dict(zip(NAMES, theta.T, strict=True)), "starting_point": 0.1}
    expected = plan.run(params=params, trials=3, seed=5)
    assert found.shape == (3, 2)
    assert found[:, 0].tolist() == expected.response_time.tolist()
    assert found[:, 1].tolist() == (2 * expected.choice - 1).tolist()


def test_replicas_stand_beside_their_row(plan: psylang.Plan) -> None:
    theta = np.array([[4.0, 1.0, 0.3], [-4.0, 1.0, 5.0]])
    found = HSSMSimulator(plan, NAMES)(theta=theta, random_state=1, n_replicas=50)
    assert found.shape == (2, 50, 2)
    assert found[0, :, 1].mean() > 0.9
    assert found[1, :, 1].mean() < -0.9
    assert found[1, :, 0].min() > 5.0
    assert HSSMSimulator(plan, NAMES)([1.0, 1.0, 0.1], random_state=1).shape == (1, 2)


def test_a_generator_gives_another_seed_each_time(plan: psylang.Plan) -> None:
    simulator = HSSMSimulator(plan, NAMES)
    theta = np.tile([0.5, 1.0, 0.3], (20, 1))
    rng = np.random.default_rng(3)
    one, other = (simulator(theta, random_state=rng) for _ in range(2))
    assert not np.array_equal(one, other)
    again = simulator(theta, random_state=np.random.default_rng(3))
    assert np.array_equal(one, again)
    assert not np.array_equal(simulator(theta), simulator(theta))


def test_choices_are_renamed(plan: psylang.Plan) -> None:
    simulator = HSSMSimulator(plan, NAMES, choices={0: 2, 1: 7})
    found = simulator(np.tile([0.0, 0.5, 0.1], (50, 1)), random_state=1)
    assert set(found[:, 1]) == {2.0, 7.0}
    assert simulator.choices == [2, 7]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"parameters": ["v"]}, "parameters: there is no `v`; there is drift, thresh"),
        ({"params": {"v": 1}}, "params: there is no `v`"),
        ({"outputs": ("rt", "choice")}, "outputs: there is no `rt`; there is response_time"),
        ({"choices": {}}, "parameters and choices must not be empty"),
        ({"parameters": []}, "parameters and choices must not be empty"),
    ],
)
def test_names_that_the_plan_has_not_are_refused(
    plan: psylang.Plan, given: dict[str, Any], message: str
) -> None:
    with pytest.raises(LikelihoodError, match=message):
        HSSMSimulator(plan, **{"parameters": NAMES, **given})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"theta": [[1.0, 2.0]]},
            r"theta has shape \(1, 2\); give \(trials, 3\), the columns drift",
        ),
        ({"random_state": "x"}, "random_state is 'x'; give a seed or a numpy.random.Generator"),
        ({"n_replicas": 0}, "n_replicas is 0; it must be 1 or more"),
    ],
)
def test_a_call_that_does_not_fit_is_refused(
    plan: psylang.Plan, given: dict[str, Any], message: str
) -> None:
    with pytest.raises(LikelihoodError, match=message):
        HSSMSimulator(plan, NAMES)(**{"theta": [[0.5, 1.0, 0.3]], **given})


def test_undecided_trials_are_no_responses() -> None:
    plan = psylang.compile(psylang.models.ddm(max_steps=10), vary=["drift"])
    with pytest.raises(LikelihoodError, match=r"4 of 4 trials have the choice -1, .* it has 0, 1"):
        HSSMSimulator(plan, ["drift"])([[0.0]], random_state=1, n_replicas=4)
