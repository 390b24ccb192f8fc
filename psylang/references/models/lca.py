"""Leaky competing accumulators: three noisy units that inhibit one another race to a threshold."""

from __future__ import annotations

from typing import Any

import numpy as np
from common import Columns, empty, restart

from models.race import race_once

NAME = "lca"
TOLERANCE = 0.0
PARAMETERS: dict[str, Any] = {
    "units": 3,
    "leak": 0.5,
    "competition": 0.9,
    "self_excitation": 0.1,
    "time_step_size": 0.01,
    "noise_standard_deviation": 0.3,
    "threshold": 0.75,
    "gain": 1.0,
    "bias": 0.0,
    "seed": 4242,
    "trials": 100,
}
STIMULI = ((1.5, 1.2, 0.9), (1.0, 1.1, 1.05), (2.0, 0.5, 0.5), (0.8, 1.6, 1.4), (1.3, 1.3, 1.3))


def inputs() -> list[list[float]]:
    return [list(STIMULI[i % len(STIMULI)]) for i in range(PARAMETERS["trials"])]


def simulate() -> Columns:
    import psyneulink as pnl

    p = PARAMETERS
    noise = pnl.NormalDist(
        mean=0.0, standard_deviation=p["noise_standard_deviation"], seed=p["seed"]
    )
    race = pnl.LCAMechanism(
        name="race",
        input_shapes=p["units"],
        leak=p["leak"],
        competition=p["competition"],
        self_excitation=p["self_excitation"],
        time_step_size=p["time_step_size"],
        noise=noise,
        threshold=p["threshold"],
        function=pnl.Logistic(gain=p["gain"], bias=p["bias"]),
        reset_stateful_function_when=pnl.AtTrialStart(),
        output_ports=[pnl.RESULT],
    )
    composition = pnl.Composition(nodes=[race], name="lca")
    restart(race.integrator_function.parameters.noise.get(None), p["seed"])
    steps: list[int] = []
    composition.run(
        inputs={race: inputs()},
        call_after_trial=lambda: steps.append(
            int(race.parameters.num_executions_before_finished.get(composition))
        ),
    )
    activities = [[float(x) for x in r[0]] for r in composition.results]
    return {
        "input": inputs(),
        "activity": activities,
        "choice": [int(np.argmax(a)) for a in activities],
        "steps": steps,
    }


def replay() -> Columns:
    p = PARAMETERS
    random = np.random.RandomState([p["seed"]])
    columns: Columns = empty(
        "input activity choice steps response_time draws_before past_threshold before_threshold"
    )
    draws = 0
    for stimulus in inputs():
        columns["draws_before"].append(draws)
        activity, steps, before = race_once(p, stimulus, random)
        draws += steps * p["units"]
        columns["input"].append(stimulus)
        columns["activity"].append(activity)
        columns["choice"].append(int(np.argmax(activity)))
        columns["steps"].append(steps)
        columns["response_time"].append(steps * p["time_step_size"])
        columns["past_threshold"].append(max(activity) - p["threshold"])
        columns["before_threshold"].append(p["threshold"] - before)
    return columns
