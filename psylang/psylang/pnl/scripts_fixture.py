"""Registers scripts in PsyNeuLink's style, after published models, written for these tests.

Each function builds a composition and gives it with the arguments of its run(), as a script would.
A file has the scripts of one topic; samples_fixture.py joins them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

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


def stimuli(size: int = 1, trials: int = TRIALS) -> list[list[float]]:
    rows: list[list[float]] = np.random.default_rng(3).normal(size=(trials, size)).tolist()
    return rows
