"""Predator-prey game with 2 levels of attention for each of three avatars."""

from __future__ import annotations

from common import Columns

from models import predator_prey

NAME = "predator_prey_2"
TOLERANCE = 0.0
PARAMETERS = predator_prey.parameters(levels=2, trials=100)


def simulate() -> Columns:
    return predator_prey.simulate(PARAMETERS)


def replay() -> Columns:
    return predator_prey.replay(PARAMETERS)
