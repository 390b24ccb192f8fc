"""Predator-prey game with 4 levels of attention for each of three avatars.

PsyNeuLink takes 20 s for each trial, which searches the whole grid of 64 points.
"""

from __future__ import annotations

from common import Columns

from models import predator_prey

NAME = "predator_prey_4"
TOLERANCE = 0.0
PARAMETERS = predator_prey.parameters(levels=4, trials=100)


def simulate() -> Columns:
    return predator_prey.simulate(PARAMETERS)


def replay() -> Columns:
    return predator_prey.replay(PARAMETERS)
