"""Simulated likelihoods against models of which the density is known."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from psylang.errors import ProgramError, PsylangError
from psylang.likelihood import LikelihoodError, SimulatedLikelihood
from psylang.likelihood.smoothed import bandwidth_of, bin_density, kernel_density


class Lognormal:
    """Stands for a plan: choice 1 with the probability p, times whose logarithm is normal."""

    name = "lognormal"

    def __init__(self) -> None:
        self.seeds: list[int] = []
        self.asked: dict[str, Any] = {}

    @property
    def parameters(self) -> dict[str, NDArray[Any]]:
        return {"mu": np.array(0.0), "sigma": np.array(0.5), "p": np.array(0.7), "w": np.ones(2)}

    @property
    def outputs(self) -> dict[str, tuple[int, ...]]:
        return {"response_time": (), "choice": (), "activity": (2,)}

    def run(
        self,
        inputs: Mapping[str, Any] | None = None,
        params: Mapping[str, Any] | None = None,
        *,
        trials: int | None = None,
        seed: int = 0,
        threads: int | None = None,
        record: Sequence[str] | None = None,
    ) -> Mapping[str, NDArray[Any]]:
        self.seeds.append(seed)
        self.asked = {"inputs": inputs, "threads": threads, "record": record}
        p = {
            **{name: one.item() for name, one in list(self.parameters.items())[:3]},
            **(params or {}),
        }
        if p["sigma"] <= 0:
            raise ProgramError("sigma must be above 0")
        rng = np.random.default_rng(seed)
        upper = rng.random(trials) < p["p"]
        rt = np.exp(p["mu"] + p["sigma"] * rng.standard_normal(trials))
        return {"response_time": rt, "choice": upper.astype(np.int32)}


def truth(rt: Any, choice: Any, mu: float = 0.0, sigma: float = 0.5, p: float = 0.7) -> Any:
    rt, choice = np.asarray(rt), np.asarray(choice)
    z = (np.log(rt) - mu) / sigma
    share = np.where(choice == 1, p, 1 - p)
    return share * np.exp(-z * z / 2) / (math.sqrt(2 * math.pi) * sigma * rt)


RT = np.linspace(0.4, 2.5, 60)


@pytest.mark.parametrize(("method", "within"), [("kde", 0.06), ("bins", 0.25)])
@pytest.mark.parametrize("choice", [0, 1])
def test_the_density_is_that_of_the_model(method: Any, within: float, choice: int) -> None:
    likelihood = SimulatedLikelihood(Lognormal(), method=method, trials=100_000, bins=30)
    found = likelihood.log_density(RT, np.full(60, choice), {})
    assert np.exp(found) == pytest.approx(truth(RT, choice), rel=within)


def test_both_choices_together_have_the_mass_of_one() -> None:
    likelihood = SimulatedLikelihood(Lognormal(), trials=20_000)
    grid = np.exp(np.linspace(-6, 6, 20_001))
    total = sum(
        np.trapezoid(np.exp(likelihood.log_density(grid, np.full(20_001, one), {})), grid)
        for one in (0, 1)
    )
    assert total == pytest.approx(1.0, abs=1e-3)


def test_every_point_has_the_same_seed_and_only_what_is_needed_is_recorded() -> None:
    plan = Lognormal()
    likelihood = SimulatedLikelihood(plan, trials=1000, seed=7, inputs={"x": 1.0}, threads=1)
    data = {"rt": RT, "choice": np.ones(60)}
    one, other = (likelihood.log_likelihood(data, {"mu": 0.1}) for _ in range(2))
    assert one == other
    assert likelihood.log_likelihood(data, {"mu": 0.2}) != one
    assert plan.seeds == [7, 7, 7]
    assert plan.asked == {
        "inputs": {"x": 1.0},
        "threads": 1,
        "record": ("response_time", "choice"),
    }


def test_what_no_simulation_resembles_has_the_floor() -> None:
    likelihood = SimulatedLikelihood(Lognormal(), trials=1000, floor=1e-5)
    found = likelihood.log_density([1.0, 1e4, 0.0, 1.0], [1, 1, 1, 5], {})
    assert found[1:].tolist() == [math.log(1e-5)] * 3
    assert found[0] > -2
    edges = SimulatedLikelihood(Lognormal(), method="bins", trials=1000, bins=[0.5, 1.0, 2.0])
    assert edges.log_density([0.4, 2.1], [1, 1], {}).tolist() == [math.log(1e-7)] * 2


def test_bins_have_the_share_of_their_times_and_the_last_one_has_both_ends() -> None:
    edges = np.array([1.0, 2.0, 4.0])
    found = bin_density(np.array([0.5, 1.0, 1.5, 2.0, 4.0]), np.array([0.9, 1.0, 2.0, 4.0]), edges)
    assert found.tolist() == [0.0, 0.4, 0.2, 0.2]
    assert bin_density(np.array([]), np.array([1.5]), edges).tolist() == [0.0]


def test_kernels_are_those_of_a_plain_sum() -> None:
    times = np.random.default_rng(2).gamma(3.0, 0.2, 500)
    at = np.linspace(0.05, 3.0, 200)
    for width in (None, 0.05):
        h = bandwidth_of(np.log(times)) if width is None else width
        away = (np.log(at)[:, None] - np.log(times)) / h
        plain = np.exp(-away * away / 2).sum(axis=1) / (500 * h * math.sqrt(2 * math.pi) * at)
        assert kernel_density(times, at, width) == pytest.approx(plain, rel=5e-3, abs=1e-4)
    assert kernel_density(np.array([1.0]), at, None).tolist() == [0.0] * 200
    same = kernel_density(np.full(9, 1.0), np.array([1.0, 1.1]), None)
    assert same[0] > 100
    assert same[1] == 0.0


def test_a_fit_finds_the_parameters_and_their_errors() -> None:
    rng = np.random.default_rng(5)
    data = {"response_time": np.exp(0.2 + 0.4 * rng.standard_normal(800)), "choice": np.ones(800)}
    likelihood = SimulatedLikelihood(Lognormal(), trials=20_000)
    found = likelihood.fit(
        data, {"mu": 0.0, "sigma": 0.6}, limits={"sigma": (0.01, 5.0)}, params={"p": 0.9}
    )
    logs = np.log(data["response_time"])
    # Of the normal distribution: sigma / sqrt(n) and sigma / sqrt(2 n).
    errors = {"mu": 0.4 / math.sqrt(800), "sigma": 0.4 / math.sqrt(1600)}
    best = {"mu": logs.mean(), "sigma": logs.std()}
    for name, value in best.items():
        assert abs(found.parameters[name] - value) < errors[name]
        assert found.standard_errors[name] == pytest.approx(errors[name], rel=0.2)
    assert found.converged
    assert found.fixed == {"p": 0.9}
    assert found.model == "lognormal"


def test_an_estimate_at_a_limit_is_said_so() -> None:
    rng = np.random.default_rng(6)
    data = {"rt": np.exp(0.4 * rng.standard_normal(300)), "choice": np.ones(300)}
    found = SimulatedLikelihood(Lognormal(), trials=5000).fit(
        data, {"mu": 0.5, "sigma": 0.5}, limits={"mu": (0.3, 1.0)}
    )
    assert found.notes == ("mu is at its limit 0.3: it has no standard error",)
    assert found.standard_errors["sigma"] > 0


GOOD = {"rt": RT, "choice": np.ones(60)}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"method": "spline"}, "method is 'spline'; there are 'kde' and 'bins'"),
        ({"outputs": ("response_time",)}, "give the names of time and of choice"),
        ({"outputs": "ab"}, "outputs is 'ab'; give the names of time and of choice"),
        ({"outputs": ("rt", "choice")}, "`rt` is no output of one number a trial; there is resp"),
        ({"outputs": ("response_time", "activity")}, "`activity` is no output of one number"),
        ({"floor": 0.0}, "floor is 0.0; it must be above 0 and finite"),
        ({"bandwidth": -1.0}, "bandwidth is -1.0; it must be above 0 and finite"),
        ({"bins": 0}, "bins is 0; it must be 1 … 100000, or edges"),
        ({"bins": [1.0]}, "bins: edges must be finite and rise, at least two"),
        ({"bins": [1.0, 1.0]}, "bins: edges must be finite and rise"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(LikelihoodError, match=message):
        SimulatedLikelihood(Lognormal(), **given)


@pytest.mark.parametrize(
    ("data", "start", "given", "message"),
    [
        ({"rt": [0.5, math.nan], "choice": [1, 1]}, {"mu": 0}, {}, "rt is nan in row 1"),
        ({"rt": [0.5], "choice": [0.5]}, {"mu": 0}, {}, "choice is 0.5 in row 0; a choice is a w"),
        ({"rt": [0.5]}, {"mu": 0}, {}, "data has no column `choice` or `response`"),
        (GOOD, {}, {}, "start is empty; give values of some of mu, sigma, p"),
        (GOOD, {"w": 0}, {}, "there is no parameter `w` of one number; there is mu, sigma, p"),
        (GOOD, {"mu": 0}, {"params": {"mu": 1}}, "mu is in start and in params"),
        (
            GOOD,
            {"mu": 3},
            {"limits": {"mu": (0, 1)}},
            "mu is 3; it must be within its limits 0 … 1",
        ),
        (GOOD, {"mu": 0}, {"limits": {"p": (0, 1)}}, "limits has p, which start has not"),
    ],
)
def test_what_cannot_be_fitted_is_refused(
    data: dict[str, Any], start: dict[str, float], given: dict[str, Any], message: str
) -> None:
    with pytest.raises(LikelihoodError, match=message):
        SimulatedLikelihood(Lognormal(), trials=100).fit(data, start, **given)


def test_a_point_that_the_model_refuses_ends_only_the_start() -> None:
    data = {"rt": np.exp(0.05 * np.random.default_rng(8).standard_normal(60)), "choice": [1] * 60}
    likelihood = SimulatedLikelihood(Lognormal(), trials=2000)
    with pytest.raises(PsylangError, match="sigma must be above 0"):
        likelihood.fit(data, {"sigma": -1.0})
    # The search steps below 0 from here, where the model refuses.
    found = likelihood.fit(data, {"sigma": 0.2, "mu": 0.3})
    assert 0.03 < found.parameters["sigma"] < 0.08
