"""Drift diffusion by integration: one accumulator, steps of 1 ms, absorbing thresholds."""

from __future__ import annotations

from typing import Any

import numpy as np
from common import Columns, empty, restart

NAME = "ddm"
TOLERANCE = 0.0
PARAMETERS: dict[str, Any] = {
    "rate": 1.0,
    "noise": 1.0,
    "threshold": 1.0,
    "time_step_size": 0.001,
    "non_decision_time": 0.15,
    "starting_value": 0.0,
    "offset": 0.0,
    "seed": 20210,
    "trials": 100,
}
STIMULI = (0.1, -0.2, 0.4, 0.75, -1.0, 1.5, 0.0, -0.5)


def inputs() -> list[float]:
    return [STIMULI[i % len(STIMULI)] for i in range(PARAMETERS["trials"])]


def simulate() -> Columns:
    import psyneulink as pnl

    p = PARAMETERS
    decision = pnl.DDM(
        name="decision",
        function=pnl.DriftDiffusionIntegrator(
            rate=p["rate"],
            noise=p["noise"],
            threshold=p["threshold"],
            time_step_size=p["time_step_size"],
            non_decision_time=p["non_decision_time"],
            starting_value=p["starting_value"],
            seed=p["seed"],
        ),
        output_ports=[pnl.DECISION_VARIABLE, pnl.RESPONSE_TIME],
        reset_stateful_function_when=pnl.AtTrialStart(),
    )
    composition = pnl.Composition(nodes=[decision], name="ddm")
    restart(decision.function, p["seed"])
    steps: list[int] = []
    composition.run(
        inputs={decision: [[x] for x in inputs()]},
        call_after_trial=lambda: steps.append(
            int(decision.parameters.num_executions_before_finished.get(composition))
        ),
    )
    values = [float(r[0][0]) for r in composition.results]
    return {
        "input": inputs(),
        "decision_variable": values,
        "response_time": [float(r[1][0]) for r in composition.results],
        "choice": [int(v > 0) for v in values],
        "steps": steps,
    }


def replay() -> Columns:
    p = PARAMETERS
    random = np.random.RandomState([p["seed"]])
    columns = empty(
        "input decision_variable response_time choice steps draws_before past_threshold "
        "before_threshold"
    )
    draws = 0
    for stimulus in inputs():
        columns["draws_before"].append(draws)
        value, time, steps, raw, before = diffuse(p, stimulus, random)
        draws += steps
        columns["input"].append(stimulus)
        columns["decision_variable"].append(value)
        columns["response_time"].append(time)
        columns["choice"].append(int(value > 0))
        columns["steps"].append(steps)
        columns["past_threshold"].append(abs(raw) - p["threshold"])
        columns["before_threshold"].append(p["threshold"] - before)
    return columns


def diffuse(
    p: dict[str, Any], stimulus: float, random: np.random.RandomState
) -> tuple[float, float, int, float, float]:
    """The value, the time and the steps at the crossing; the value before it was clipped, and the
    magnitude one step before.
    """
    scale = p["noise"] * float(np.sqrt(p["time_step_size"]))
    value, time, steps = p["starting_value"], p["non_decision_time"], 0
    while True:
        before = abs(value)
        raw = (
            value
            + p["rate"] * stimulus * p["time_step_size"]
            + scale * random.normal()
            + p.get("offset", 0.0)
        )
        value = min(max(raw, -p["threshold"]), p["threshold"])
        time += p["time_step_size"]
        steps += 1
        if abs(value) >= p["threshold"]:
            return value, time, steps, raw, before
