"""The models of the library with inputs, for tests and benchmarks of all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from psylang import models
from psylang.model import Model

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
    "necker_3": (partial(models.necker_3, passes=10), {"stimulus": [0.5] * 6}, 1),
    "necker_8": (partial(models.necker_8, passes=10), {"stimulus": [0.5] * 16}, 1),
    "necker_vectorised": (
        partial(models.necker_vectorised, passes=10),
        {"stimulus": [0.5] * 16},
        1,
    ),
    "predator_prey": (partial(models.predator_prey, 3), GAME, 1),
    "multitasking": (partial(models.multitasking, hidden=18), TASKS, 1),
}
