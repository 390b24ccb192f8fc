"""Predator-prey game with 4 levels of attention for each of three avatars.

Only 3 trials: PsyNeuLink takes 7 s and more for each, and each searches the whole grid of 64
points.
"""

from __future__ import annotations

from common import Columns

from models import predator_prey

NAME = "predator_prey_4"
TOLERANCE = 0.0
PARAMETERS = predator_prey.parameters(levels=4, trials=3)


def simulate() -> Columns:
    return predator_prey.simulate(PARAMETERS)


def replay() -> Columns:
    return predator_prey.replay(PARAMETERS)
