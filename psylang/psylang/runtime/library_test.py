"""Every model of the library: `fast` and `exact` draw from one distribution, in machine code.

Kolmogorov and Smirnov's distance of 20,000 trials each. If a trial depends on the previous one,
each compared trial is the last one of a sequence. Seeds are fixed: the tests have the same result
each time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import psylang
from psylang import models
from psylang.model import Model
from psylang.runtime.distributions_test import distance
from psylang.runtime.library_fixture import CASES
from psylang.runtime.plan_fixture import compiled, session_cache

__all__ = ["compiled", "session_cache"]
pytestmark = pytest.mark.usefixtures("compiled")
SAMPLES = 20_000
# Of each of some 60 comparisons: all of them hold for equal distributions but in 1 of 100 seeds.
BOUND = 2.2 * np.sqrt(2 / SAMPLES)


def samples(model: Model, numerics: Any, inputs: Mapping[str, Any], each: int) -> dict[str, Any]:
    """The last trial of each sequence, by output."""
    plan = psylang.compile(model, numerics=numerics)
    found = plan.run(inputs, trials=each, sequences=SAMPLES, seed=5)
    return {name: found[name][:, -1] for name in found}


def columns(one: NDArray[Any]) -> NDArray[Any]:
    return one.reshape(len(one), -1).astype(float)


@pytest.mark.parametrize("name", CASES)
def test_fast_and_exact_draw_from_one_distribution(name: str) -> None:
    make, inputs, each = CASES[name]
    model = make()
    fast, exact = (samples(model, numerics, inputs, each) for numerics in ("fast", "exact"))
    assert list(fast) == list(exact)
    varied = 0
    for output, values in fast.items():
        for one, other in zip(columns(values).T, columns(exact[output]).T, strict=True):
            assert distance(one, other) < BOUND, output
            varied += len(np.unique(one)) > 1
    assert varied, "nothing of it is random"


def test_no_model_of_the_library_is_missing() -> None:
    assert {name.removesuffix("_lca") for name in CASES} == set(models.__all__)
