"""Registers scripts in PsyNeuLink's style, after published models, written for these tests.

Each function builds a composition and gives it with the arguments of its run(), as a script would.
A file has the scripts of one topic; samples_fixture.py joins them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest

Built = tuple[Any, dict[str, Any]]
Script = Callable[[Any], Built]
TRIALS = 100


class Samples:
    """The scripts of a topic. imported: those whose compositions are imported. refused: the others,
    each with a part of the reason. stopped: refused scripts at which PsyNeuLink itself stops, with
    a part of its error."""

    def __init__(self) -> None:
        self.imported: list[Script] = []
        self.refused: dict[Script, str] = {}
        self.stopped: dict[Script, str] = {}

    def imports(self, script: Script) -> Script:
        self.imported.append(script)
        return script

    def refuses(self, why: str, stopped: str = "") -> Callable[[Script], Script]:
        def register(script: Script) -> Script:
            self.refused[script] = why
            if stopped:
                self.stopped[script] = stopped
            return script

        return register


# How names of scripts begin that PsyNeuLink runs for up to minutes: most of them search.
LONG = (
    "conflict_never_reset",
    "control_of_a_threshold",
    "costs_",
    "estimates_",
    "network_and_diffusion",
    "searches_",
)


def some(scripts: Iterable[Script], every: int) -> list[Any]:
    """Scripts as parameters of a test, slow but for one in so many that do not take long."""
    made, counted = [], 0
    for one in scripts:
        long = one.__name__.startswith(LONG)
        marks = [pytest.mark.slow] if long or counted % every else []
        counted += not long
        made.append(pytest.param(one, id=one.__name__, marks=marks))
    return made


def stimuli(size: int = 1, trials: int = TRIALS) -> list[list[float]]:
    rows: list[list[float]] = np.random.default_rng(3).normal(size=(trials, size)).tolist()
    return rows
