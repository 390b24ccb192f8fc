"""Parameters of compiled simulations are found again by maximum likelihood."""

from __future__ import annotations

import os

import numpy as np
import pytest

import psylang
from psylang.likelihood import fit
from psylang.runtime.plan_fixture import compiled, session_cache

__all__ = ["compiled", "session_cache"]
pytestmark = pytest.mark.usefixtures("compiled")
RECOVERIES, TRIALS = 200, 400


def plan() -> psylang.Plan:
    """Steps of 0.1 ms at corrected thresholds: the bias of steps is far below an error."""
    return psylang.compile(
        psylang.models.ddm(dt=1e-4, corrected=True),
        vary=["drift", "threshold", "starting_point", "non_decision_time"],
    )


def simulated(plan: psylang.Plan, true: dict[str, float], seed: int) -> psylang.Results:
    a = true["a"]
    return plan.run(
        params={
            "drift": true["v"],
            "threshold": a / 2,
            "starting_point": (true["z"] - 0.5) * a,
            "non_decision_time": true["t"],
        },
        trials=TRIALS,
        seed=seed,
    )


def test_results_of_a_plan_are_fitted() -> None:
    true = {"v": 0.8, "a": 1.4, "z": 0.6, "t": 0.3}
    found = fit(simulated(plan(), true, 1))
    for name, value in true.items():
        assert abs(found.parameters[name] - value) < 3 * found.standard_errors[name]


def test_a_nightly_run_covers_the_parameters_in_95_percent() -> None:
    """Runs only if PSYLANG_EXAMPLES is set."""
    if os.environ.get("PSYLANG_EXAMPLES") is None:
        pytest.skip("PSYLANG_EXAMPLES is not set")
    model = plan()
    rng = np.random.default_rng(20)
    covered = dict.fromkeys(("v", "a", "z", "t"), 0)
    for seed in range(RECOVERIES):
        true = {
            "v": rng.uniform(-2, 2),
            "a": rng.uniform(0.8, 2.0),
            "z": rng.uniform(0.35, 0.65),
            "t": rng.uniform(0.2, 0.5),
        }
        found = fit(simulated(model, true, seed))
        assert found.converged, true
        for name, (low, high) in found.intervals.items():
            covered[name] += low <= true[name] <= high
    shares = {name: count / RECOVERIES for name, count in covered.items()}
    assert all(0.90 <= share <= 0.99 for share in shares.values()), shares
