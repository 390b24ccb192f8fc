"""Necker cube with all eight vertices, one node per vertex and percept.

160 node executions and 800 projections a trial take PsyNeuLink a second or more.
"""

from __future__ import annotations

from common import Columns

from models import necker

NAME = "necker_8"
TOLERANCE = 0.0
PARAMETERS = necker.parameters(vertices=8, excitation=0.25, trials=100)


def simulate() -> Columns:
    return necker.simulate(PARAMETERS)


def replay() -> Columns:
    return necker.replay(PARAMETERS)
