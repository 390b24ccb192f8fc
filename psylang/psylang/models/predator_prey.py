"""The predator-prey game: attention to three avatars, searched for on a grid (thesis, 2.2)."""

from __future__ import annotations

import numpy as np

from psylang.model import (
    Compute,
    ControlSignal,
    Evenly,
    ExponentialCost,
    GridSearch,
    Model,
    ModelError,
    Transfer,
    function,
)
from psylang.model.noise import Normal

AVATARS = ("player", "predator", "prey")
LEAST_SURE = 2.0  # The largest standard deviation of observed positions.


@function
def pursue(player, predator, prey, fear):  # type: ignore[no-untyped-def]
    """Towards the prey and away from the predator, the more so the nearer it is."""
    chase = prey - player
    flee = player - predator
    far = np.sqrt(chase[0] * chase[0] + chase[1] * chase[1])
    near = flee[0] * flee[0] + flee[1] * flee[1]
    return chase / (far + 1.0) + fear * flee / (near + 1.0)


@function
def likeness(action, ideal):  # type: ignore[no-untyped-def]
    """How near two moves are: 1 if equal."""
    return 1.0 - np.sum(np.abs(action - ideal)) / 4.0


def predator_prey(
    levels: int = 2,
    fear: float = 2.0,
    cost_rate: float = -1.0,
    cost_bias: float = -2.0,
    *,
    seed: int = 501,
) -> Model:
    """A player that attends to itself, a predator and its prey before it moves.

    levels: of attention to each; all levels**3 allocations are tried in each trial. The player sees
    an avatar's position with noise; the allocation is its standard deviation (0 … 2, less is more
    attention); an allocation costs e**(cost_rate * it + cost_bias). Inputs: `player`, `predator`,
    `prey`, positions (x, y). Parameter: fear. Outputs: allocation (of player, predator, prey),
    action (x, y), ideal (the action at true positions), outcome (their likeness).
    seed: of the player's noise in `exact`; the others' are seed + 1 and seed + 2.
    ModelError: `levels` is no whole number of 2 … 1000.
    """
    if isinstance(levels, bool) or not isinstance(levels, int) or not 2 <= levels <= 1000:
        raise ModelError(f"levels is {levels!r}; it must be a whole number of 2 … 1000")
    model = Model("predator_prey")
    cares = model.parameter("fear", fear, description="weight of flight against pursuit")
    sizes = dict.fromkeys(AVATARS, 2)
    moves = {
        name: model.add(
            Compute(name, function=pursue, inputs=sizes, parameters={"fear": cares}, size=2)
        )
        for name in ("action", "ideal")
    }
    for number, name in enumerate(AVATARS):
        position = model.add(Transfer(name, size=2))
        seen = model.add(Transfer(f"{name}_seen", size=2, noise=Normal(), seed=seed + number))
        model.input(name, position)
        model.connect(position, seen)
        model.connect(seen, moves["action"], receiver_port=name)
        model.connect(position, moves["ideal"], receiver_port=name)
    both = {"action": 2, "ideal": 2}
    outcome = model.add(Compute("outcome", function=likeness, inputs=both, size=0))
    for name, move in moves.items():
        model.connect(move, outcome, receiver_port=name)
    model.control(
        GridSearch(
            [
                ControlSignal(
                    f"{name}_seen.noise.standard_deviation",
                    Evenly(0.0, LEAST_SURE, levels),
                    modulation="override",
                    cost=ExponentialCost(cost_rate, cost_bias),
                )
                for name in AVATARS
            ],
            objective="outcome",
        )
    )
    model.output("action", "action")
    model.output("ideal", "ideal")
    model.output("outcome", "outcome")
    return model
