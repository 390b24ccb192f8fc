"""`fast` draws other numbers than `exact`, from the same distributions.

Kolmogorov and Smirnov's distance of 10**5 trials each. Seeds are fixed: the tests have the same
result each time, and 1.95 sqrt(2 / n) is passed by one pair of equal distributions in a thousand.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import psylang
from psylang.model import Model
from psylang.models import ddm, lca

TRIALS = 100_000


def distance(one: NDArray[Any], other: NDArray[Any]) -> float:
    """The largest difference of the two empirical distribution functions."""
    # Times are sums in one and products in the other; a step is a step.
    one, other = one.round(9), other.round(9)
    places = np.concatenate([one, other])
    at = [
        np.searchsorted(np.sort(sample), places, "right") / len(sample) for sample in (one, other)
    ]
    return float(np.abs(at[0] - at[1]).max())


def trials_of(model: Model, numerics: Any, **inputs: Any) -> Any:
    given = {
        name: np.broadcast_to(value, (TRIALS, *np.shape(value))) for name, value in inputs.items()
    }
    return psylang.compile(model, numerics=numerics).run(inputs=given, trials=TRIALS, seed=1)


@pytest.mark.parametrize(
    ("model", "inputs"),
    [
        (ddm(drift=0.8, threshold=0.35, dt=0.002), {}),
        (lca(2, threshold=0.6, dt=0.02), {"stimulus": [1.1, 0.9]}),
    ],
    ids=["ddm", "lca"],
)
def test_fast_and_exact_draw_from_one_distribution(model: Model, inputs: dict[str, Any]) -> None:
    fast, exact = (trials_of(model, numerics, **inputs) for numerics in ("fast", "exact"))
    bound = 1.95 * np.sqrt(2 / TRIALS)
    # Ties only shorten the distance.
    assert distance(fast["response_time"], exact["response_time"]) < bound
    assert distance(fast["choice"].astype(float), exact["choice"].astype(float)) < bound
    for choice in np.unique(exact["choice"]):
        one, other = (found["response_time"][found["choice"] == choice] for found in (fast, exact))
        assert distance(one, other) < 1.95 * np.sqrt(1 / len(one) + 1 / len(other))
    assert len(np.unique(exact["response_time"])) > 50
    assert not np.array_equal(fast["response_time"], exact["response_time"])
