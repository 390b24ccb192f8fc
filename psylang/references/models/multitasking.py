"""Multitasking: a network of 200 hidden units names a colour, a shape, or both at once, and its
outputs race as leaky competing accumulators.

108 trials: each of the 27 inputs four times.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from common import Columns, append_row, empty, logistic, restart, times

from models.race import race_once

NAME = "multitasking"
TOLERANCE = 1e-12
PARAMETERS: dict[str, Any] = {
    "hidden": 200,
    "x_0": 3.0,
    "output_x_0": 1.0,
    "evidence": 1.5,
    "leak": 0.4,
    "competition": 0.8,
    "self_excitation": 0.2,
    "time_step_size": 0.02,
    "noise_standard_deviation": 0.2,
    "threshold": 0.65,
    "seed": 6006,
    "trials": 108,
}
TASKS = ([1.0, 0.0], [0.0, 1.0], [1.0, 1.0])


def inputs() -> list[list[list[float]]]:
    """Stimulus (three colours, then three shapes, one of each is on) and tasks (colour, shape)."""
    trials = []
    for t in range(PARAMETERS["trials"]):
        stimulus = [0.0] * 6
        stimulus[t % 3] = stimulus[3 + t // 3 % 3] = 1.0
        trials.append([stimulus, list(TASKS[t // 9 % 3])])
    return trials


def jitter(i: int, j: int, k: int) -> float:
    """A number in [-0.5, 0.5) that looks random: exact, and the same in any language."""
    return ((i * 73856093 ^ j * 19349663 ^ k * 83492791) % 65536) / 65536 - 0.5


def weights() -> tuple[list[list[float]], list[list[float]], list[list[float]]]:
    """Stimulus to hidden, task to hidden, hidden to output. Hidden unit j serves task j % 2 and
    feature j // 2 % 3 of it.
    """
    hidden = range(PARAMETERS["hidden"])
    stimulus = [
        [(4.0 if i == 3 * (j % 2) + j // 2 % 3 else -1.0) + jitter(i, j, 1) for j in hidden]
        for i in range(6)
    ]
    task = [[(2.0 if i == j % 2 else -2.0) + jitter(i, j, 2) for j in hidden] for i in range(2)]
    output = [
        [(0.0625 if r == j // 2 % 3 else -0.03125) + jitter(j, r, 3) / 64 for r in range(3)]
        for j in hidden
    ]
    return stimulus, task, output


def simulate() -> Columns:
    import psyneulink as pnl

    p = PARAMETERS
    from_stimulus, from_task, to_output = (np.array(w) for w in weights())
    stimulus = pnl.TransferMechanism(name="stimulus", input_shapes=6)
    task = pnl.TransferMechanism(name="task", input_shapes=2)
    hidden = pnl.TransferMechanism(
        name="hidden", input_shapes=p["hidden"], function=pnl.Logistic(x_0=p["x_0"])
    )
    output = pnl.TransferMechanism(
        name="output", input_shapes=3, function=pnl.Logistic(x_0=p["output_x_0"])
    )
    race = pnl.LCAMechanism(
        name="race",
        input_shapes=3,
        leak=p["leak"],
        competition=p["competition"],
        self_excitation=p["self_excitation"],
        time_step_size=p["time_step_size"],
        noise=pnl.NormalDist(standard_deviation=p["noise_standard_deviation"], seed=p["seed"]),
        threshold=p["threshold"],
        reset_stateful_function_when=pnl.AtTrialStart(),
    )
    composition = pnl.Composition(name="multitasking")
    composition.add_nodes([stimulus, task, hidden, output, race])
    for matrix, sender, receiver in (
        (from_stimulus, stimulus, hidden),
        (from_task, task, hidden),
        (to_output, hidden, output),
        (p["evidence"] * np.eye(3), output, race),
    ):
        composition.add_projection(pnl.MappingProjection(matrix=matrix), sender, receiver)
    restart(race.integrator_function.parameters.noise.get(None), p["seed"])
    columns = empty("input output activity choice steps")
    columns["input"] = inputs()

    def record() -> None:
        columns["output"].append(output.output_port.parameters.value.get(composition).tolist())
        activity = race.output_port.parameters.value.get(composition).tolist()
        columns["activity"].append(activity)
        columns["choice"].append(int(np.argmax(activity)))
        columns["steps"].append(
            int(race.parameters.num_executions_before_finished.get(composition))
        )

    composition.run(
        inputs={stimulus: [t[0] for t in inputs()], task: [t[1] for t in inputs()]},
        call_after_trial=record,
    )
    return columns


def replay() -> Columns:
    p = PARAMETERS
    random = np.random.RandomState([p["seed"]])
    columns = empty(
        "input output activity choice steps response_time draws_before "
        "past_threshold before_threshold"
    )
    from_stimulus, from_task, to_output = weights()
    draws = 0
    for stimulus, task in inputs():
        net = [
            a + b
            for a, b in zip(times(stimulus, from_stimulus), times(task, from_task), strict=True)
        ]
        hidden = [logistic(x, p["x_0"]) for x in net]
        output = [logistic(x, p["output_x_0"]) for x in times(hidden, to_output)]
        activity, steps, before = race_once(p, [p["evidence"] * x for x in output], random)
        row = [[stimulus, task], output, activity, int(np.argmax(activity)), steps]
        row += [steps * p["time_step_size"], draws]
        row += [max(activity) - p["threshold"], p["threshold"] - before]
        append_row(columns, row)
        draws += 3 * steps
    return columns
