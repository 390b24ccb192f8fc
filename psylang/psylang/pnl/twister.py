"""Generators whose numbers Psylang's `exact` has: NumPy's RandomState on Mersenne Twister."""

from __future__ import annotations

from typing import Any

import numpy as np

from psylang.pnl.reading import kind_of
from psylang.pnl.refusals import RefusedError

TWISTER = "MT19937"


def refuse_states(component: Any) -> None:
    """RefusedError: a component of PsyNeuLink has a generator of another kind in a context, or one
    without PsyNeuLink's seed, at which PsyNeuLink stops."""
    parameter = getattr(component.parameters, "random_state", None)
    for generator in () if parameter is None else parameter.values.values():
        if generator is None:  # PsyNeuLink makes one at the first draw.
            continue
        is_theirs = isinstance(getattr(generator, "used_seed", None), list)
        if not is_theirs or engine_of(generator) != TWISTER:
            raise RefusedError(
                f"its {kind_of(component)} draws from a {kind_of(generator)}"
                f"{_on(engine_of(generator))}",
                "nearest: PsyNeuLink's own SeededRandomState",
            )


def refuse_engine(generator: np.random.RandomState) -> None:
    """RefusedError: the generator of a user-defined function is of another kind."""
    if engine_of(generator) != TWISTER:
        raise RefusedError(
            f"its function draws from a RandomState{_on(engine_of(generator))}",
            "numpy.random.RandomState(seed)",
        )


def engine_of(generator: Any) -> str:
    """NumPy's name of what makes its bits; "" of no generator of NumPy."""
    if isinstance(generator, np.random.RandomState):
        state: Any = generator.get_state(legacy=False)
        return str(state["bit_generator"])
    if isinstance(generator, np.random.Generator):
        return kind_of(generator.bit_generator)
    return ""


def _on(engine: str) -> str:
    return f" on {engine}" if engine else ""


__all__ = ["engine_of", "refuse_engine", "refuse_states"]
