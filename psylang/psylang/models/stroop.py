"""Conflict monitoring in the Stroop task (Botvinick, Braver, Barch, Carter & Cohen 2001)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from psylang.model import (
    AdaptiveIntegrator,
    Compute,
    Logistic,
    Model,
    Recurrent,
    Transfer,
    function,
)
from psylang.model.noise import Normal

LAYERS = {"colour": 3, "word": 3, "task": 2, "response": 2}
SHIFTS = {"colour": 4.0, "word": 4.0, "task": 0.0, "response": 0.0}
Matrix = NDArray[np.float64]


@function
def energy(response, inhibition):  # type: ignore[no-untyped-def]
    """Hopfield's energy of two units that inhibit each other: the conflict of the response."""
    against = [inhibition * response[1], inhibition * response[0]]
    return -(response[0] * against[0] + response[1] * against[1]) / 2.0


def botvinick_stroop(
    integration_rate: float = 0.03,
    noise: float = 0.01,
    inhibition: float = -2.0,
    task_weight: float = 4.0,
    task_feedback: float = 1.0,
    colour_weight: float = 1.5,
    word_weight: float = 2.5,
    *,
    seed: int = 11,
) -> Model:
    """Four noisy layers with connections both ways; a trial is one step of all of them at once.

    Simulation 1 of the paper, weights in the manner of Cohen & Huston (1994). Layers go on from
    trial to trial: a sequence of trials is one presentation, first the task input alone, then with
    the stimulus. Inputs: `colour_input`, `word_input` (red, green, neutral), `task_input` (name the
    colour, read the word). Parameters: integration_rate, noise (standard deviation of a step),
    inhibition (within a layer); weights as `colour_to_response.matrix` and so on. Outputs:
    response, energy (the conflict), and the activities of colour, word and task. seed: of the
    colour layer in `exact`; word, task and response have the next three.
    """
    model = Model("botvinick_stroop")
    rate = model.parameter("integration_rate", integration_rate, description="of all layers")
    spread = model.parameter(
        "noise", noise, description="standard deviation of the noise of one step"
    )
    within = model.parameter(
        "inhibition", inhibition, description="weight between units of a layer"
    )
    for number, (name, size) in enumerate(LAYERS.items()):
        model.add(
            Transfer(
                name,
                size=size,
                function=Logistic(x_0=SHIFTS[name]),
                integrator=AdaptiveIntegrator(rate=rate, noise=Normal(standard_deviation=spread)),
                recurrent=Recurrent(auto=0.0, hetero=within),
                reset="never",
                seed=seed + number,
            )
        )
    for name in ("colour", "word", "task"):
        entry = model.add(Transfer(f"{name}_input", size=LAYERS[name]))
        model.input(f"{name}_input", entry)
        model.connect(entry, name)
    colour, word = _paired(colour_weight), _paired(word_weight)
    model.connect("task", "colour", _row(0, task_weight))
    model.connect("task", "word", _row(1, task_weight))
    model.connect("colour", "task", _row(0, task_feedback).T)
    model.connect("word", "task", _row(1, task_feedback).T)
    model.connect("colour", "response", colour)
    model.connect("word", "response", word)
    model.connect("response", "colour", colour.T)
    model.connect("response", "word", word.T)
    model.together(*LAYERS)
    conflict = model.add(
        Compute(
            "conflict",
            function=energy,
            inputs={"response": 2},
            parameters={"inhibition": within},
            size=0,
        )
    )
    model.connect("response", conflict)
    for name in ("response", "colour", "word", "task"):
        model.output(name, name)
    model.output("energy", conflict)
    return model


def _paired(weight: float) -> Matrix:
    """Red to red, green to green, neutral to none."""
    return weight * np.eye(3, 2)


def _row(task: int, weight: float) -> Matrix:
    """From a task unit to all units of its layer."""
    matrix = np.zeros((2, 3))
    matrix[task] = weight
    return matrix
