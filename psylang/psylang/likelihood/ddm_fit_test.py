"""Maximum likelihood of the drift-diffusion model finds the parameters that made the data."""

from __future__ import annotations

import json
import math
import sys
from typing import Any

import numpy as np
import pytest

from psylang.likelihood import Fit, LikelihoodError, ddm_fit, ddm_log_density, fit
from psylang.likelihood.ddm_fit import ez
from psylang.likelihood.maximum import maximise
from psylang.likelihood.samples_fixture import drawn

TRUE = {"v": 0.8, "a": 1.4, "z": 0.6, "t": 0.3}


@pytest.fixture(scope="module")
def fitted() -> Fit:
    return fit(drawn(1000, 1, **TRUE))


def test_a_fit_finds_the_parameters_within_its_errors(fitted: Fit) -> None:
    assert fitted.converged
    assert not fitted.notes
    assert list(fitted.parameters) == ["v", "a", "z", "t"]
    for name, value in TRUE.items():
        assert abs(fitted.parameters[name] - value) < 3 * fitted.standard_errors[name]
    assert 0.03 < fitted.standard_errors["v"] < 0.12
    assert fitted.standard_errors["t"] < 0.01


def test_no_other_point_near_it_is_more_likely(fitted: Fit) -> None:
    data = drawn(1000, 1, **TRUE)

    def height(**parameters: float) -> float:
        return float(ddm_log_density(data["rt"], data["choice"], **parameters).sum())

    best: Any = dict(fitted.parameters)
    assert height(**best) == pytest.approx(fitted.log_likelihood, abs=1e-9)
    for name, error in fitted.standard_errors.items():
        for side in (-1, 1):
            moved = {**best, name: best[name] + side * 0.05 * error}
            assert height(**moved) < fitted.log_likelihood
    # The likelihood falls by 1/2 an error away along the ridge: no less than that along an axis.
    for name, error in fitted.standard_errors.items():
        assert height(**{**best, name: best[name] + error}) < fitted.log_likelihood - 0.45


def test_the_unit_of_time_changes_only_units(fitted: Fit) -> None:
    data = drawn(1000, 1, **TRUE)
    other = fit({"response_time": data["rt"] * 1000, "response": data["choice"]})
    scale = {"v": 1 / math.sqrt(1000), "a": math.sqrt(1000), "z": 1, "t": 1000}
    for name, by in scale.items():
        assert other.parameters[name] == pytest.approx(fitted.parameters[name] * by, rel=1e-3)
        assert other.standard_errors[name] == pytest.approx(
            fitted.standard_errors[name] * by, rel=1e-2
        )


def test_variability_between_trials_is_found() -> None:
    data = drawn(1500, 2, v=1.5, a=1.6, z=0.5, t=0.35, sv=0.9, st=0.2)
    found = fit(data, vary=("v", "a", "t", "sv", "st"))
    assert found.converged
    assert found.fixed == {"z": 0.5, "sz": 0.0}
    for name, value in {"v": 1.5, "a": 1.6, "t": 0.35, "sv": 0.9, "st": 0.2}.items():
        assert abs(found.parameters[name] - value) < 3 * found.standard_errors[name], name
    assert found.standard_errors["st"] < 0.03


def test_an_estimate_at_its_limit_has_no_error_and_a_note_says_so() -> None:
    data = drawn(300, 6, v=0.5, a=1.0, t=0.3)
    found = fit(data, vary=("v", "a", "t", "sv"))
    assert found.parameters["sv"] < 0.01
    assert found.notes == ("sv is at its limit 0: it has no standard error",)
    assert math.isnan(found.standard_errors["sv"])
    assert found.standard_errors["v"] > 0
    assert found.to_dict()["parameters"]["sv"]["low"] is None
    assert str(found).splitlines()[5].split() == ["sv", "0.0000", "-", "-", "-"]


def test_a_fit_is_a_table_and_data() -> None:
    found = Fit("m", {"v": 1.0}, {"v": 0.5}, {"z": 0.5}, -10.0, 20, 99, False, ("a note",))
    assert str(found).splitlines() == [
        "m: 20 trials, log-likelihood -10.000, AIC 22.000, BIC 22.996, NOT CONVERGED",
        "parameter    estimate  std. error       2.5 %      97.5 %",
        "v              1.0000      0.5000      0.0200      1.9800",
        "z              0.5000  fixed",
        "a note",
    ]
    data = json.loads(json.dumps(found.to_dict()))
    assert data["parameters"]["v"]["high"] == pytest.approx(1.97998, abs=1e-5)
    assert (data["fixed"], data["trials"], data["converged"]) == ({"z": 0.5}, 20, False)
    assert data["bic"] == pytest.approx(math.log(20) + 20)


@pytest.mark.parametrize("v", [-1.2, 0.4, 1.0])
def test_the_search_begins_near_by(v: float) -> None:
    data = drawn(50_000, 4, v=v, a=1.3, t=0.3)
    assert ez(data["rt"], data["choice"]) == pytest.approx((v, 1.3, 0.3), abs=0.1)


def test_one_kind_of_choice_and_even_choices_have_a_start() -> None:
    rt = np.linspace(0.4, 1.2, 10)
    for choice in (np.zeros(10), np.ones(10), np.arange(10) % 2):
        assert np.isfinite(ez(rt, choice.astype(np.int64))).all()


GOOD: dict[str, Any] = {"rt": [0.4, 0.5, 0.7, 0.9, 1.1, 0.6], "choice": [0, 1, 1, 1, 0, 1]}


@pytest.mark.parametrize(
    ("data", "given", "message"),
    [
        ({"choice": [1]}, {}, "data has no column `rt` or `response_time`"),
        ({"rt": [1.0]}, {}, "data has no column `choice` or `response`"),
        ({"rt": [1.0, 2.0], "choice": [1]}, {}, r"times of shape \(2,\) and choices of shape"),
        ({"rt": [], "choice": []}, {}, r"shape \(0,\)"),
        ({"rt": [0.5, -1.0], "choice": [1, 1]}, {}, "rt is -1 in row 1"),
        ({"rt": [0.5, 0.6], "choice": [1, -1]}, {}, "choice is -1 in row 1; a choice is 0 or 1"),
        ({"rt": [0.5] * 9, "choice": [1] * 9}, {}, "9 trials with 1 different times"),
        ({"rt": [0.5, 0.6], "choice": [1, 0]}, {}, "2 trials with 2 different times; 4 parameters"),
        (GOOD, {"vary": "v"}, "vary is 'v'; give names of v, a, z"),
        (GOOD, {"vary": ()}, "give names of v, a, z"),
        (GOOD, {"vary": ["v", "b"]}, "vary: there is no `b`; there is v, a, z, t, sv, sz, st"),
        (GOOD, {"fixed": {"q": 1}}, "fixed: there is no `q`"),
        (GOOD, {"fixed": {"z": 0.5}}, "z is in vary and in fixed"),
        (GOOD, {"start": {"sv": 1.0}}, "start has sv, which vary has not"),
        (GOOD, {"vary": ["v"]}, "a is neither in vary nor in fixed"),
        (GOOD, {"vary": ["v", "a"], "fixed": {"z": 2.0}}, "z is 2; it must be above 0 and below 1"),
        (GOOD, {"start": {"a": -1.0}}, "a is -1; it must be above 0"),
        (GOOD, {"start": {"t": 0.8}}, "likelihood 0 at the start of the search .*t 0.8"),
    ],
)
def test_what_cannot_be_fitted_is_refused(
    data: dict[str, Any], given: dict[str, Any], message: str
) -> None:
    with pytest.raises(LikelihoodError, match=message):
        fit(data, **given)


def test_without_scipy_a_fit_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    with pytest.raises(LikelihoodError, match=r"a fit needs scipy: pip install 'psylang\[fit\]'"):
        fit(GOOD)


@pytest.mark.parametrize("names", ["v a t", "v a z t", "v a z t sv"])
def test_the_simplex_finds_the_same_maximum_in_five_times_the_evaluations(
    names: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    vary = names.split()
    data = drawn(500, 3, v=1.0, a=1.4, z=0.5, t=0.3, sv=0.8 if "sv" in vary else 0.0)
    found = fit(data, vary=vary)
    monkeypatch.setattr(
        ddm_fit, "maximise", lambda height, ranges, slopes: maximise(height, ranges)
    )
    other = fit(data, vary=vary)
    assert found.log_likelihood == pytest.approx(other.log_likelihood, abs=1e-5)
    for name, value in other.parameters.items():
        assert abs(found.parameters[name] - value) < 0.01 * other.standard_errors[name]
        assert found.standard_errors[name] == pytest.approx(other.standard_errors[name], rel=0.02)
    assert other.evaluations > 5 * found.evaluations
