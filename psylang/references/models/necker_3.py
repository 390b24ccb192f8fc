"""Necker cube with three vertices, one node per vertex and percept: neighbours excite, percepts
compete.
"""

from __future__ import annotations

from common import Columns

from models import necker

NAME = "necker_3"
TOLERANCE = 0.0
PARAMETERS = necker.parameters(vertices=3, excitation=0.5, trials=120)


def simulate() -> Columns:
    return necker.simulate(PARAMETERS)


def replay() -> Columns:
    return necker.replay(PARAMETERS)
