"""Every model of the library: `fast` and `exact` draw from one distribution, in machine code.

Kolmogorov and Smirnov's distance of 20,000 trials each. If a trial depends on the previous one,
each compared trial is the last one of a sequence. Seeds are fixed: the tests have the same result
each time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import psylang
from psylang import models
from psylang.model import Model
from psylang.runtime.distributions_test import distance
from psylang.runtime.plan_fixture import compiled, session_cache

__all__ = ["compiled", "session_cache"]
pytestmark = pytest.mark.usefixtures("compiled")
SAMPLES = 20_000
# Of each of some 60 comparisons: all of them hold for equal distributions but in 1 of 100 seeds.
BOUND = 2.2 * np.sqrt(2 / SAMPLES)

COLOUR = {"colour_input": [1.0, 0.0], "word_input": [0.0, 1.0], "task_input": [1.0, 0.0]}
STROOP = {"colour_input": [1.0, 0, 0], "word_input": [0, 1.0, 0], "task_input": [1.0, 0.0]}
GAME = {"player": [0.0, 0.0], "predator": [1.5, -1.0], "prey": [-1.0, 2.0]}
TASKS = {"stimulus": [1.0, 0, 0, 0, 1.0, 0], "task": [1.0, 0.0]}

# (model, inputs, trials of a sequence)
CASES: Mapping[str, tuple[Callable[[], Model], Mapping[str, Any], int]] = {
    "ddm": (partial(models.ddm, drift=0.8, threshold=0.35, dt=0.002), {}, 1),
    "ddm_analytical": (partial(models.ddm_analytical, 0.8), {}, 1),
    "ddm_angle": (partial(models.ddm_angle, dt=0.01), {}, 1),
    "ddm_vazt": (partial(models.ddm_vazt, sv=0.3, sz=0.2, st=0.1, dt=0.01), {}, 1),
    "ddm_weibull": (partial(models.ddm_weibull, dt=0.01), {}, 1),
    "full_ddm": (partial(models.full_ddm, dt=0.01), {}, 1),
    "ornstein_uhlenbeck": (partial(models.ornstein_uhlenbeck, dt=0.01), {}, 1),
    "levy": (partial(models.levy, stability=1.4, dt=0.01), {}, 1),
    "lba": (models.lba, {"stimulus": [1.0, 0.5]}, 1),
    "race": (partial(models.race, dt=0.01), {"stimulus": [1.0, 0.5, 0.0]}, 1),
    "lca": (partial(models.lca, threshold=0.6, dt=0.02), {"stimulus": [1.1, 0.9]}, 1),
    "botvinick_stroop": (models.botvinick_stroop, STROOP, 2),
    "extended_stroop": (models.extended_stroop, COLOUR, 1),
    "extended_stroop_lca": (partial(models.extended_stroop, "lca"), COLOUR, 1),
    "necker_3": (partial(models.necker_3, passes=10), {}, 1),
    "necker_8": (partial(models.necker_8, passes=10), {}, 1),
    "necker_vectorised": (partial(models.necker_vectorised, passes=10), {}, 1),
    "predator_prey": (partial(models.predator_prey, 3), GAME, 1),
    "multitasking": (partial(models.multitasking, hidden=18), TASKS, 1),
}


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
    if name.startswith("necker"):  # All nodes alike.
        inputs = {one.name: np.full(one.shape, 0.5) for one in model.externals.values()}
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
