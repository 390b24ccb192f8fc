"""Choices and times drawn from the density itself, by its integral over a dense grid of times."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from psylang.likelihood import ddm_density


def drawn(trials: int, seed: int, **parameters: Any) -> dict[str, NDArray[Any]]:
    """Columns `rt` and `choice`; right to the grid's 0.4 ms."""
    middles = (np.arange(25_000) + 0.5) * 4e-4
    mass = np.concatenate([ddm_density(middles, choice, **parameters) for choice in (0, 1)])
    index = np.random.default_rng(seed).choice(2 * len(middles), trials, p=mass / mass.sum())
    return {"rt": middles[index % len(middles)], "choice": index // len(middles)}
