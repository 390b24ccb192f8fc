"""Plans of one drift-diffusion process are fitted by the density in closed form."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import psylang
from psylang.likelihood import LikelihoodError, fit
from psylang.likelihood.closed import ClosedLikelihood
from psylang.model.errors import ModelError
from psylang.models import ddm, ddm_angle, ddm_vazt, full_ddm, lca, levy, ornstein_uhlenbeck
from psylang.runtime.plan_fixture import compiled, session_cache

__all__ = ["compiled", "session_cache"]
pytestmark = pytest.mark.usefixtures("compiled")
TRUE = {"drift": 0.8, "threshold": 0.7, "starting_point": 0.14, "non_decision_time": 0.3}
START = {"drift": 0.3, "threshold": 0.9, "starting_point": 0.0, "non_decision_time": 0.2}
DATA = {"rt": [0.4, 0.5, 0.7, 0.9, 1.1, 0.6], "choice": [0, 1, 1, 1, 0, 1]}


def test_a_ddm_is_fitted_as_the_density_itself() -> None:
    plan = psylang.compile(ddm(dt=0.002, corrected=True), vary=list(TRUE))
    data = plan.run(params=TRUE, trials=500, seed=4)
    found, direct = plan.fit(data, START), fit(data)
    assert found.converged
    assert found.evaluations < 100
    assert found.log_likelihood == pytest.approx(direct.log_likelihood, abs=1e-4)
    p, e = found.parameters, found.standard_errors
    assert p["drift"] == pytest.approx(direct.parameters["v"], abs=2e-3)
    assert 2 * p["threshold"] == pytest.approx(direct.parameters["a"], abs=1e-3)
    assert e["drift"] == pytest.approx(direct.standard_errors["v"], rel=1e-2)
    assert 2 * e["threshold"] == pytest.approx(direct.standard_errors["a"], rel=1e-2)


@pytest.mark.parametrize("noise", [1.0, 0.5])
def test_thresholds_without_a_correction_are_those_of_the_model(noise: float) -> None:
    """The plain density would say 5 % more."""
    plan = psylang.compile(ddm(dt=0.004, noise=noise), vary=list(TRUE))
    data = plan.run(params={**TRUE, "drift": 0.5}, trials=20_000, seed=2)
    found = plan.fit(data, START)
    assert found.parameters["threshold"] == pytest.approx(0.7, rel=0.012)
    assert found.parameters["drift"] == pytest.approx(0.5, rel=0.06)
    assert found.parameters["non_decision_time"] == pytest.approx(0.3, abs=0.004)


def test_formulas_of_parameters_are_followed() -> None:
    true = {"v": 0.8, "a": 1.4, "z": 0.6, "t": 0.3, "sv": 0.7}
    plan = psylang.compile(ddm_vazt(), vary=list(true))
    data = plan.run(params=true, trials=500, seed=1)
    found = plan.fit(data, {"v": 0.5, "a": 1.0, "z": 0.5, "t": 0.2}, params={"sv": 0.7})
    direct = fit(data, fixed={"sv": 0.7})
    assert found.fixed == {"sv": 0.7}
    for name, value in direct.parameters.items():
        assert found.parameters[name] == pytest.approx(value, abs=2e-3), name


def closed(plan: psylang.Plan) -> ClosedLikelihood:
    rules: Any = plan._rules
    assert rules.closed_form is not None
    return ClosedLikelihood(plan.name, rules.closed_form, rules, frozenset(plan.parameters))


@pytest.mark.parametrize("late", [False, True])
def test_the_slopes_are_those_of_differences(late: bool) -> None:
    names = ["drift", "threshold", "starting_point", "noise", "drift_deviation", "start_range"]
    plan = psylang.compile(full_ddm(corrected=not late), vary=[*names, "dt"])
    likelihood = closed(plan)
    point = dict(zip([*names, "dt"], (0.7, 0.9, 0.1, 1.3, 0.4, 0.2, 0.01), strict=True))
    process = likelihood._process(point, {})
    for k, name in enumerate(point):
        step = 1e-5 * abs(point[name])
        ahead = likelihood._process({**point, name: point[name] + step}, {})
        behind = likelihood._process({**point, name: point[name] - step}, {})
        for field, one in process.items():
            wanted = (ahead[field].number - behind[field].number) / (2 * step)
            assert one.by[k] == pytest.approx(wanted, rel=1e-6, abs=1e-8), (name, field)


@pytest.mark.parametrize(
    ("plan", "given", "reason"),
    [
        ((lca, ["leak"]), {"start": {"leak": 0.5}}, "it is no single drift-diffusion process"),
        ((ddm_angle, ["drift"]), {}, "it is no single drift-diffusion process"),
        ((levy, ["drift"]), {}, "it is no single drift-diffusion process"),
        ((lambda: ddm(stimulus=True), ["drift"]), {}, "it is no single drift-diffusion process"),
        ((ornstein_uhlenbeck, ["drift"]), {}, "`leak` is not 0"),
        ((lambda: ornstein_uhlenbeck(leak=0.0), ["drift", "leak"]), {}, "`leak` is not 0"),
        ((ddm, ["drift"]), {"outputs": ("decision_variable", "choice")}, "outputs are decision_v"),
        ((ddm, ["drift"]), {"params": {"threshold": [1.0] * 6}}, "more than one number for thresh"),
        ((lambda: ddm(dt=0.2), ["drift"]), {}, "steps of 0.447 are too coarse for thresholds of 1"),
        ((lambda: ddm(noise=0.0), ["drift"]), {}, "steps of 0 are too coarse"),
        ((ddm, ["drift"]), {"data": {"rt": [0.4, 0.5], "choice": [0, -1]}}, "choices other than 0"),
    ],
)
def test_plans_without_a_closed_form_say_why(
    plan: tuple[Any, list[str]], given: dict[str, Any], reason: str
) -> None:
    make, vary = plan
    made = psylang.compile(make(), vary=vary)
    data, start = given.pop("data", DATA), given.pop("start", {"drift": 0.5})
    with pytest.raises(LikelihoodError, match=reason) as raised:
        made.fit(data, start, method="closed", **given)
    assert str(raised.value).endswith("leave out method='closed'")


def test_a_program_without_a_model_has_no_closed_form() -> None:
    plan = psylang.compile(ddm().program("fast", vary=["drift"]))
    with pytest.raises(LikelihoodError, match="no single drift-diffusion process"):
        plan.fit(DATA, {"drift": 0.5}, method="closed")


def test_a_plan_without_a_closed_form_is_simulated() -> None:
    plan = psylang.compile(ornstein_uhlenbeck(dt=0.01), vary=["drift"])
    data = plan.run(params={"drift": 1.0}, trials=300, seed=3)
    found = plan.fit(data, {"drift": 0.5}, trials=2000)
    assert abs(found.parameters["drift"] - 1.0) < 4 * found.standard_errors["drift"]
    assert found.parameters == plan.fit(data, {"drift": 0.5}, method="kde", trials=2000).parameters


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"start": {"rate": 1.0}}, LikelihoodError, "start: there is no parameter `rate`"),
        ({"params": {"rate": 1.0}}, LikelihoodError, "params: there is no parameter `rate`; there"),
        ({"start": {"threshold": -1.0}}, ModelError, "`threshold` is -1; it must be above 0"),
        ({"start": {"starting_point": 2.0}}, ModelError, "strictly within ±`threshold`"),
        ({"start": {"non_decision_time": 0.9}}, LikelihoodError, "likelihood 0 at the start"),
        ({"limits": {"drift": (1, 2)}, "start": {"drift": 0}}, LikelihoodError, "within its limit"),
    ],
)
def test_what_cannot_be_fitted_is_refused(
    given: dict[str, Any], error: type[Exception], message: str
) -> None:
    plan = psylang.compile(ddm(), vary=list(TRUE))
    with pytest.raises(error, match=message):
        plan.fit(DATA, given.pop("start", START), method="closed", **given)


def test_a_plan_that_was_pickled_is_fitted_alike() -> None:
    import pickle

    plan = psylang.compile(ddm(), vary=list(TRUE))
    data = plan.run(params=TRUE, trials=200, seed=1)
    again = pickle.loads(pickle.dumps(plan))
    assert again.fit(data, START).parameters == plan.fit(data, START).parameters


def test_limits_hold() -> None:
    plan = psylang.compile(ddm(), vary=list(TRUE))
    data = plan.run(params=TRUE, trials=500, seed=1)
    found = plan.fit(data, START, limits={"threshold": (0.8, 2.0)})
    assert found.parameters["threshold"] == 0.8
    assert found.notes == ("threshold is at its limit 0.8: it has no standard error",)
    assert np.isfinite(found.standard_errors["drift"])
