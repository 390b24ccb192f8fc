"""The library: published models, written with psylang.model."""

from psylang.models.decisions import ddm, ddm_analytical, lca
from psylang.models.diffusions import (
    ddm_angle,
    ddm_vazt,
    ddm_weibull,
    full_ddm,
    lba,
    levy,
    ornstein_uhlenbeck,
    race,
)
from psylang.models.extended_stroop import extended_stroop
from psylang.models.multitasking import multitasking
from psylang.models.necker import necker_3, necker_8, necker_vectorised
from psylang.models.predator_prey import predator_prey
from psylang.models.stroop import botvinick_stroop

__all__ = [
    "botvinick_stroop",
    "ddm",
    "ddm_analytical",
    "ddm_angle",
    "ddm_vazt",
    "ddm_weibull",
    "extended_stroop",
    "full_ddm",
    "lba",
    "lca",
    "levy",
    "multitasking",
    "necker_3",
    "necker_8",
    "necker_vectorised",
    "ornstein_uhlenbeck",
    "predator_prey",
    "race",
]
