"""Extended Stroop: a feed-forward network settles for a fixed number of passes, then its response
drives a drift diffusion process.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from common import Columns, append_row, empty, restart

from models.ddm import diffuse
from models.stroop_network import SHAPE, Network, build, run, stimulus

NAME = "stroop_ddm"
TOLERANCE = 0.0
PARAMETERS: dict[str, Any] = {
    "network": SHAPE,
    "passes": 20,
    "evidence_weights": [[2.0], [-2.0]],
    "rate": 1.0,
    "noise": 0.8,
    "threshold": 0.7,
    "time_step_size": 0.004,
    "non_decision_time": 0.2,
    "starting_value": 0.0,
    "seed": 1990,
    "trials": 100,
}


def inputs() -> list[list[list[float]]]:
    return [stimulus(trial) for trial in range(PARAMETERS["trials"])]


def simulate() -> Columns:
    import psyneulink as pnl

    p = PARAMETERS
    composition, nodes = build(pnl)
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
    composition.add_node(decision)
    evidence = pnl.MappingProjection(matrix=np.array(p["evidence_weights"]))
    composition.add_projection(evidence, sender=nodes["response"], receiver=decision)
    composition.scheduler.add_condition(decision, pnl.AfterNCalls(nodes["response"], p["passes"]))
    restart(decision.function, p["seed"])
    columns: Columns = empty("input response decision_variable response_time choice steps")
    columns["input"] = inputs()

    def record() -> None:
        columns["response"].append(
            nodes["response"].output_port.parameters.value.get(composition).tolist()
        )
        value, time = (
            float(port.parameters.value.get(composition)[0]) for port in decision.output_ports
        )
        columns["decision_variable"].append(value)
        columns["response_time"].append(time)
        columns["choice"].append(int(value > 0))
        columns["steps"].append(
            int(decision.parameters.num_executions_before_finished.get(composition))
        )

    run(composition, nodes, inputs(), record)
    return columns


def replay() -> Columns:
    p = PARAMETERS
    random = np.random.RandomState([p["seed"]])
    columns = empty(
        "input response decision_variable response_time choice steps draws_before "
        "past_threshold before_threshold"
    )
    draws = 0
    for trial in inputs():
        network = Network()
        for _ in range(p["passes"]):
            response = network.run_pass(*trial)
        evidence = (
            response[0] * p["evidence_weights"][0][0] + response[1] * p["evidence_weights"][1][0]
        )
        value, time, steps, raw, before = diffuse(p, evidence, random)
        row = [
            trial,
            response,
            value,
            time,
            int(value > 0),
            steps,
            draws,
            abs(raw) - p["threshold"],
            p["threshold"] - before,
        ]
        append_row(columns, row)
        draws += steps
    return columns
