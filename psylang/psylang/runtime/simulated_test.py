"""Simulated likelihoods of compiled models."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import psylang
from psylang.likelihood import SimulatedLikelihood, ddm_log_density, fit
from psylang.runtime.plan_fixture import compiled, session_cache

__all__ = ["compiled", "session_cache"]
pytestmark = pytest.mark.usefixtures("compiled")
TRUE = {"drift": 0.8, "threshold": 0.7, "starting_point": 0.14, "non_decision_time": 0.3}


def ddm() -> psylang.Plan:
    return psylang.compile(psylang.models.ddm(dt=0.002, corrected=True), vary=list(TRUE))


@pytest.mark.parametrize(("method", "within"), [("kde", 0.04), ("bins", 0.08)])
def test_the_ddm_has_its_own_likelihood(method: Any, within: float) -> None:
    plan = ddm()
    data = plan.run(params=TRUE, trials=500, seed=3)
    exact = ddm_log_density(data.response_time, data.choice, v=0.8, a=1.4, z=0.6, t=0.3)
    likelihood = SimulatedLikelihood(plan, method=method, trials=50_000)
    found = likelihood.log_density(data.response_time, data.choice, TRUE)
    assert np.abs(found - exact).mean() < within
    assert likelihood.log_likelihood(data, TRUE) == found.sum()


def test_a_plan_fits_itself_to_data() -> None:
    plan = ddm()
    data = plan.run(params=TRUE, trials=400, seed=4)
    rest = {name: TRUE[name] for name in ("starting_point", "non_decision_time")}
    start = {"drift": 0.4, "threshold": 0.9}
    limits = {"threshold": (0.2, 3.0)}
    found = plan.fit(data, start, params=rest, limits=limits, method="kde")
    exact = fit(data, vary=("v", "a"), fixed={"z": 0.6, "t": 0.3})
    assert found.converged
    assert found.fixed == rest
    error = exact.standard_errors
    assert abs(found.parameters["drift"] - exact.parameters["v"]) < error["v"]
    assert abs(2 * found.parameters["threshold"] - exact.parameters["a"]) < error["a"]
    assert found.standard_errors["drift"] == pytest.approx(error["v"], rel=0.4)


def test_a_model_with_inputs_and_several_choices_has_a_likelihood() -> None:
    plan = psylang.compile(psylang.models.lca(3, noise=0.5), vary=["competition"])
    inputs = {"stimulus": [1.2, 1.0, 0.8]}
    data = plan.run({"stimulus": np.broadcast_to(inputs["stimulus"], (300, 3))}, trials=300, seed=5)
    likelihood = SimulatedLikelihood(plan, trials=20_000, inputs=inputs)
    heights = {c: likelihood.log_likelihood(data, {"competition": c}) for c in (0.1, 1.0, 4.0)}
    assert max(heights, key=lambda c: heights[c]) == 1.0


def test_the_errors_of_a_run_are_those_of_the_caller() -> None:
    likelihood = SimulatedLikelihood(ddm(), trials=100)
    with pytest.raises(psylang.ArgumentError, match="there is no `rate`"):
        likelihood.log_density([0.5], [1], {"rate": 1.0})
    with pytest.raises(psylang.PsylangError, match="threshold"):
        ddm().fit({"rt": [0.5], "choice": [1]}, {"threshold": -1.0})
