"""Lets a live composition draw the numbers that its model draws in `exact`."""

from __future__ import annotations

import itertools
from typing import Any

from psylang.pnl.environment import psyneulink
from psylang.pnl.nesting import Nesting
from psylang.pnl.reading import value_of
from psylang.pnl.stateful import FIRST_SEED, generator_of


def restart(composition: Any) -> None:
    """Lets all random functions of a composition begin at their seeds' first numbers.

    PsyNeuLink draws while it builds mechanisms, so that its own runs begin later in each stream.
    Call it before the first run; PsyNeuLink's numbers are then those of `exact`. The generator of a
    user-defined function is seeded, too.
    """
    numbers = itertools.count(FIRST_SEED)
    for node in Nesting(psyneulink(), composition).mechanisms:
        for one in drawers(node):
            one.parameters.seed.set(value_of(one, "seed"), context=None)
        generator = generator_of(node.function)
        if generator is not None:
            generator.seed([next(numbers)])  # As PsyNeuLink seeds its own.


def drawers(node: Any) -> list[Any]:
    """The parts of a mechanism that have a seed, and at last itself."""
    parts = [node.function, getattr(node, "integrator_function", None), node]
    noises = [
        value_of(one, "noise")
        for one in parts
        if hasattr(one, "parameters") and hasattr(one.parameters, "noise")
    ]
    return [
        one
        for one in (*noises, *parts)
        if hasattr(one, "parameters") and hasattr(one.parameters, "seed")
    ]
