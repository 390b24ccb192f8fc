"""The predator-prey game against its definition in plain Python, all candidates and draws."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest

from psylang.ir.interpret import interpret
from psylang.model import ModelError
from psylang.models import predator_prey

E = 2.718281828459045
AVATARS = ("player", "predator", "prey")


def move(player: Any, predator: Any, prey: Any) -> list[float]:
    chase = [prey[0] - player[0], prey[1] - player[1]]
    flee = [player[0] - predator[0], player[1] - predator[1]]
    far = math.sqrt(chase[0] * chase[0] + chase[1] * chase[1])
    near = flee[0] * flee[0] + flee[1] * flee[1]
    return [c / (far + 1.0) + 2.0 * f / (near + 1.0) for c, f in zip(chase, flee, strict=True)]


def net_outcome(
    allocation: tuple[float, ...], positions: Any, draws: Any
) -> tuple[float, list[float]]:
    seen = [
        [x + sd * z for x, z in zip(where, noise, strict=True)]
        for where, noise, sd in zip(positions, draws, allocation, strict=True)
    ]
    action, ideal = move(*seen), move(*positions)
    outcome = 1.0 - (abs(action[0] - ideal[0]) + abs(action[1] - ideal[1])) / 4.0
    costs = [E ** (-1.0 * x + -2.0) for x in allocation]
    return outcome - (costs[0] + costs[1] + costs[2]), action


@pytest.mark.parametrize("levels", [2, 4])
def test_predator_prey_exact_is_its_definition(levels: int) -> None:
    trials = 6
    positions = np.random.RandomState(1).uniform(-10, 10, (trials, 3, 2))
    inputs = {name: positions[:, k] for k, name in enumerate(AVATARS)}
    given = interpret(predator_prey(levels).program("exact"), trials=trials, inputs=inputs)
    random = [np.random.RandomState([501 + k]) for k in range(3)]
    grid = [2.0 * k / (levels - 1) for k in range(levels)]
    for trial in range(trials):
        draws = [[one.normal() for _ in range(2)] for one in random]
        where = positions[trial].tolist()
        values = {one: net_outcome(one, where, draws) for one in product(grid, repeat=3)}
        best = max(values, key=lambda one: values[one][0])
        assert given["allocation"][trial].tolist() == list(best)
        assert given["action"][trial].tolist() == values[best][1]
        assert given["ideal"][trial].tolist() == move(*where)


def test_predator_prey_fast_is_one_search() -> None:
    program = predator_prey(100).program("fast", vary=["fear"])
    (search,) = (op for op in program.body.ops if op.regions)
    assert search.name == "argmin"
    assert not any(op.regions for op in search.regions[0].ops)
    assert sum(op.name == "random.normal" for op in search.regions[0].ops) == 6
    assert program.is_independent()


@pytest.mark.parametrize("levels", [1, 2.5, True, 1001])
def test_levels_that_are_refused(levels: Any) -> None:
    with pytest.raises(ModelError, match="it must be a whole number of 2 … 1000"):
        predator_prey(levels)
