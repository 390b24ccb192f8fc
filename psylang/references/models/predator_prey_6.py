"""Predator-prey game with 6 levels of attention for each of three avatars.

Only ten trials: PsyNeuLink takes 100 s for each, which searches the whole grid of 216
points.
"""

from __future__ import annotations

from common import Columns

from models import predator_prey

NAME = "predator_prey_6"
TOLERANCE = 0.0
PARAMETERS = predator_prey.parameters(levels=6, trials=10)


def simulate() -> Columns:
    return predator_prey.simulate(PARAMETERS)


def replay() -> Columns:
    return predator_prey.replay(PARAMETERS)
