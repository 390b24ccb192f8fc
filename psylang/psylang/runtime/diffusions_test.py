"""Models of response times against simulations in NumPy that share no code with them.

Kolmogorov and Smirnov's distance, as in distributions_test.py; seeds are fixed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import psylang
from psylang import models
from psylang.likelihood import ddm_density
from psylang.model import LBA, Diffusion, Model
from psylang.runtime.distributions_test import distance
from psylang.runtime.plan_fixture import compiled, session_cache

__all__ = ["compiled", "session_cache"]
pytestmark = pytest.mark.usefixtures("compiled")
TRIALS, DT = 20_000, 0.01
Floats = NDArray[np.float64]


def simulated(
    drift: Any = 0.8,
    start: Any = 0.0,
    late: Any = 0.0,
    leak: float = 0.0,
    threshold: Callable[[float], float] = lambda _: 1.0,
    steps: Callable[[np.random.Generator], Floats] | None = None,
) -> tuple[Floats, Floats]:
    """Times and choices of all trials, a step for all of them at once. steps: the noise of one."""
    rng = np.random.default_rng(11)
    x = np.broadcast_to(start, TRIALS).astype(float)
    late = np.broadcast_to(late, TRIALS)
    rt, choice = np.full(TRIALS, np.nan), np.full(TRIALS, np.nan)
    going = np.ones(TRIALS, bool)
    for step in range(1, 3000):
        noise = np.sqrt(DT) * rng.standard_normal(TRIALS) if steps is None else steps(rng)
        x = x + (drift - leak * x) * DT + noise
        ended = going & (np.abs(x) >= threshold(step * DT))
        rt[ended], choice[ended] = late[ended] + step * DT, x[ended] > 0
        going &= ~ended
        if not going.any():
            return rt, choice
    raise AssertionError("trials did not end")


def stable(alpha: float, scale: float) -> Callable[[np.random.Generator], Floats]:
    """A normal number of random variance: sqrt(2 a) z with a positive stable number `a` (Kanter
    1975), another way than that of the model; for alpha 1 a ratio of two normal numbers."""

    def steps(rng: np.random.Generator) -> Floats:
        z, half = rng.standard_normal(TRIALS), alpha / 2
        if alpha == 1:
            return np.asarray(scale * DT * z / rng.standard_normal(TRIALS))
        u, w = rng.uniform(0, np.pi, TRIALS), rng.standard_exponential(TRIALS)
        ratio = np.sin((1 - half) * u) / w
        a = np.sin(half * u) / np.sin(u) ** (1 / half) * ratio ** ((1 - half) / half)
        return np.asarray(scale * DT ** (1 / alpha) * np.sqrt(2 * a) * z)

    return steps


DRAW = np.random.default_rng(12)
CASES: dict[str, tuple[Any, dict[str, Any]]] = {
    "angle": (
        models.ddm_angle(angle=0.5, starting_point=0.2, dt=DT),
        {"start": 0.2, "threshold": lambda t: 1.0 - np.tan(0.5) * t},
    ),
    "weibull": (
        models.ddm_weibull(scale=0.6, shape=2.5, non_decision_time=0.2, dt=DT),
        {"late": 0.2, "threshold": lambda t: np.exp(-((t / 0.6) ** 2.5))},
    ),
    "leak": (models.ornstein_uhlenbeck(leak=1.5, dt=DT), {"leak": 1.5}),
    "growth": (models.ornstein_uhlenbeck(leak=-2.0, dt=DT), {"leak": -2.0}),
    "heavy tails": (
        models.levy(stability=1.3, noise=0.6, dt=DT),
        {"steps": stable(1.3, 0.6)},
    ),
    "Cauchy's steps": (
        models.levy(stability=1.0, noise=0.3, starting_point=-0.2, dt=DT),
        {"start": -0.2, "steps": stable(1, 0.3)},
    ),
    "normal steps": (models.levy(stability=2.0, noise=0.5**0.5, dt=DT), {}),
    "full": (
        models.full_ddm(drift_deviation=1.2, start_range=1.0, time_range=0.3, dt=DT),
        {
            "drift": 0.8 + 1.2 * DRAW.standard_normal(TRIALS),
            "start": DRAW.uniform(-0.5, 0.5, TRIALS),
            "late": 0.3 + DRAW.uniform(-0.15, 0.15, TRIALS),
        },
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_times_and_choices_are_those_of_a_simulation(name: str) -> None:
    model, given = CASES[name]
    found = psylang.compile(model).run(trials=TRIALS, seed=3)
    rt, choice = simulated(**given)
    assert not found["truncated"].any()
    # Beyond 2.2 once in 8,000 pairs of equal distributions.
    assert distance(found["response_time"], rt) < 2.2 * np.sqrt(2 / TRIALS)
    assert distance(found["choice"].astype(float), choice) < 2.2 * np.sqrt(2 / TRIALS)
    for one in (0, 1):
        mine, theirs = found["response_time"][found["choice"] == one], rt[choice == one]
        assert distance(mine, theirs) < 2.2 * np.sqrt(1 / len(mine) + 1 / len(theirs))


def test_a_race_is_that_of_a_simulation() -> None:
    drift = np.array([1.0, 0.5, 0.0])
    plan = psylang.compile(models.race(3, non_decision_time=0.1, dt=DT, starting_point=0.1))
    found = plan.run({"stimulus": drift}, trials=TRIALS, seed=3)
    rng = np.random.default_rng(13)
    x, rt, winner = np.full((TRIALS, 3), 0.1), np.full(TRIALS, np.nan), np.full(TRIALS, np.nan)
    for step in range(1, 6000):
        x += drift * DT + np.sqrt(DT) * rng.standard_normal((TRIALS, 3))
        ended = np.isnan(rt) & (x.max(axis=1) >= 1.0)
        rt[ended], winner[ended] = 0.1 + step * DT, x[ended].argmax(axis=1)
        if not np.isnan(rt).any():
            break
    assert not np.isnan(rt).any()
    assert distance(found["response_time"], rt) < 2.2 * np.sqrt(2 / TRIALS)
    assert distance(found["choice"].astype(float), winner) < 2.2 * np.sqrt(2 / TRIALS)


def test_ballistic_accumulators_are_those_of_a_simulation() -> None:
    mean = np.array([0.9, 0.4, -0.2])
    made = models.lba(3, 1.2, 0.8, 0.7, 0.15, deadline=3.0)
    found = psylang.compile(made).run({"stimulus": mean}, trials=TRIALS, seed=3)
    rng = np.random.default_rng(14)
    rise = rng.normal(mean, 0.7, (TRIALS, 3))
    with np.errstate(divide="ignore"):
        times = (1.2 - rng.uniform(0, 0.8, (TRIALS, 3))) / rise
    times[rise <= 0] = np.inf
    rt, winner = 0.15 + np.minimum(times.min(axis=1), 3.0), times.argmin(axis=1)
    winner[times.min(axis=1) > 3.0] = -1
    assert (winner == -1).mean() > 0.05
    assert ((found["choice"] == -1) == found["truncated"]).all()
    assert (found["response_time"][found["truncated"]] == 3.15).all()
    bound = 2.2 * np.sqrt(2 / TRIALS)
    assert distance(found["response_time"], rt) < bound
    assert distance(found["choice"].astype(float), winner.astype(float)) < bound
    for one in range(3):
        mine, theirs = found["response_time"][found["choice"] == one], rt[winner == one]
        assert distance(mine, theirs) < 2.2 * np.sqrt(1 / len(mine) + 1 / len(theirs))
        column = np.minimum(times[:, one], 3.0)
        assert distance(found["times"][:, one], column) < bound


def test_the_ballistic_winner_is_the_first_accumulator() -> None:
    found = psylang.compile(models.lba(4)).run({"stimulus": np.full(4, 0.5)}, trials=2000, seed=1)
    decided = ~found["truncated"]
    first = found["times"].argmin(axis=1)
    assert (found["choice"][decided] == first[decided]).all()
    assert np.array_equal(found["response_time"], found["times"].min(axis=1))
    assert (found["choice"][~decided] == -1).all()
    assert (~decided).any()


@pytest.mark.parametrize("named", [False, True], ids=["full_ddm", "ddm_vazt"])
def test_the_full_ddm_has_the_density_in_closed_form(named: bool) -> None:
    """In 30 bins a choice no count is off by 5 deviations, and 5 trials for the bias of steps."""
    full = {"v": 0.8, "a": 1.2, "t": 0.3, "sv": 0.5, "sz": 0.5 / 1.2, "st": 0.1}
    model = models.full_ddm(threshold=0.6, start_range=0.5, dt=0.0005, corrected=True)
    if named:
        full |= {"z": 0.45, "sz": 0.3}
        model = models.ddm_vazt(dt=0.0005)
    plan = psylang.compile(model, vary=list(full) if named else [])
    found = plan.run(params=full if named else None, trials=200_000, seed=4)
    edges = np.linspace(0.3, 2.1, 31)
    x, weight = np.polynomial.legendre.leggauss(12)
    middles, half = (edges[1:] + edges[:-1]) / 2, np.diff(edges) / 2
    for choice in (0, 1):
        density = ddm_density(middles[:, None] + half[:, None] * x, choice, **full)
        expected = 200_000 * (density * weight).sum(axis=1) * half
        counts, _ = np.histogram(found["response_time"][found["choice"] == choice], edges)
        assert (np.abs(counts - expected) < 5 * np.sqrt(expected) + 5).all()


@pytest.mark.parametrize("width", ["drift_deviation", "start_range", "time_range"])
def test_a_width_of_zero_that_is_varied_is_one(width: str) -> None:
    """Its draw was left out, as of a constant 0, and the given width had no effect."""
    model = models.full_ddm(drift_deviation=0.0, start_range=0.0, time_range=0.0, dt=DT)
    given = psylang.compile(model, vary=[width]).run(params={width: 0.3}, trials=300, seed=2)
    fixed = psylang.compile(model, fix={width: 0.3}).run(trials=300, seed=2)
    if width == "drift_deviation":  # Other operations round: nearly all trials end alike.
        assert np.isclose(given["response_time"], fixed["response_time"]).mean() > 0.9
    assert np.mean(given["response_time"]) == pytest.approx(np.mean(fixed["response_time"]), 0.02)
    none = psylang.compile(model).run(trials=300, seed=2)
    assert (given["response_time"] != none["response_time"]).mean() > 0.2


def test_an_input_multiplies_the_drift() -> None:
    model = Model("driven")
    decision = model.add(Diffusion("decision", drift=0.5, dt=DT))
    model.input("stimulus", decision)
    model.output("response_time", decision, "response_time")
    driven = psylang.compile(model).run({"stimulus": np.full(500, 2.0)}, seed=6)
    plain = psylang.compile(models.ornstein_uhlenbeck(drift=1.0, leak=0.0, dt=DT))
    expected = plain.run(trials=500, seed=6)["response_time"]
    assert np.array_equal(driven["response_time"], expected)


def test_values_that_cannot_be_are_refused() -> None:
    with pytest.raises(psylang.PsylangError, match="`starting_point` is 2; it must be strictly wi"):
        models.ddm_angle(starting_point=2.0).program("fast")
    with pytest.raises(psylang.PsylangError, match=r"`time_range` is 0\.5; it must be at most"):
        models.full_ddm(time_range=0.5).program("fast")
    with pytest.raises(psylang.PsylangError, match="`angle` is 2"):
        models.ddm_angle(angle=2.0)
    with pytest.raises(psylang.PsylangError, match="draws anew in each trial; leave reset='trial'"):
        Diffusion("decision", reset="never")
    with pytest.raises(psylang.PsylangError, match="must be strictly within"):
        models.ddm_vazt(z=1.0)
    with pytest.raises(psylang.PsylangError, match=r"`decision\.threshold` is -0\.5"):
        models.ddm_vazt(a=-1.0)
    plan = psylang.compile(models.ddm_vazt(), vary=["a", "z"])
    with pytest.raises(psylang.PsylangError, match="must be strictly within"):
        plan.run(params={"z": [0.5, 1.5]})
    with pytest.raises(psylang.PsylangError, match=r"`stability` is 2\.5"):
        models.levy(stability=2.5)
    with pytest.raises(psylang.PsylangError, match="corrected for normal steps, and has a stabil"):
        Diffusion("decision", stability=1.5, corrected=True)
    with pytest.raises(psylang.PsylangError, match="`start_range` is 2; it must be within"):
        models.lba(start_range=2.0)
    with pytest.raises(psylang.PsylangError, match="has 1 accumulators; a race takes two"):
        models.lba(1)
    with pytest.raises(psylang.PsylangError, match="draws anew in each trial; leave reset='trial'"):
        LBA("race", reset="never")


def test_trials_that_do_not_end_are_cut_off() -> None:
    found = psylang.compile(models.ornstein_uhlenbeck(max_steps=2)).run(trials=50, seed=1)
    assert found["truncated"].all()
    assert (found["choice"] == -1).all()
