"""Extended Stroop: a feed-forward network runs until its response settles, then two leaky competing
accumulators race.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from common import Columns, append_row, empty, restart

from models.race import race_once
from models.stroop_network import SHAPE, Network, build, run, stimulus

NAME = "stroop_lca"
TOLERANCE = 0.0
PARAMETERS: dict[str, Any] = {
    "network": SHAPE,
    "settled_below": 0.004,
    "passes_min": 10,
    "evidence_weights": [[2.0, 0.0], [0.0, 2.0]],
    "leak": 0.4,
    "competition": 1.0,
    "self_excitation": 0.2,
    "time_step_size": 0.02,
    "noise_standard_deviation": 0.2,
    "threshold": 0.7,
    "seed": 2001,
    "trials": 120,
}


def inputs() -> list[list[list[float]]]:
    return [stimulus(trial) for trial in range(PARAMETERS["trials"])]


def simulate() -> Columns:
    import psyneulink as pnl

    p = PARAMETERS
    composition, nodes = build(
        pnl, termination_threshold=p["settled_below"], execute_until_finished=False
    )
    race = pnl.LCAMechanism(
        name="race",
        input_shapes=2,
        leak=p["leak"],
        competition=p["competition"],
        self_excitation=p["self_excitation"],
        time_step_size=p["time_step_size"],
        noise=pnl.NormalDist(
            mean=0.0, standard_deviation=p["noise_standard_deviation"], seed=p["seed"]
        ),
        threshold=p["threshold"],
        reset_stateful_function_when=pnl.AtTrialStart(),
    )
    composition.add_node(race)
    evidence = pnl.MappingProjection(matrix=np.array(p["evidence_weights"]))
    composition.add_projection(evidence, sender=nodes["response"], receiver=race)
    settled = pnl.All(
        pnl.WhenFinished(nodes["response"]), pnl.AfterNCalls(nodes["response"], p["passes_min"])
    )
    composition.scheduler.add_condition(race, settled)
    restart(race.integrator_function.parameters.noise.get(None), p["seed"])
    columns: Columns = empty("input response passes activity choice steps")
    columns["input"] = inputs()

    def record() -> None:
        columns["response"].append(
            nodes["response"].output_port.parameters.value.get(composition).tolist()
        )
        columns["passes"].append(
            composition.scheduler.counts_total[composition.default_execution_id][
                pnl.TimeScale.TRIAL
            ][nodes["response"]]
        )
        activity = race.output_port.parameters.value.get(composition).tolist()
        columns["activity"].append(activity)
        columns["choice"].append(int(np.argmax(activity)))
        columns["steps"].append(
            int(race.parameters.num_executions_before_finished.get(composition))
        )

    run(composition, nodes, inputs(), record)
    return columns


def replay() -> Columns:
    p = PARAMETERS
    random = np.random.RandomState([p["seed"]])
    columns = empty(
        "input response passes activity choice steps response_time draws_before "
        "past_threshold before_threshold settled_by unsettled_by"
    )
    draws = 0
    for trial in inputs():
        network, passes, change = Network(), 0, 1.0
        while change > p["settled_below"] or passes < p["passes_min"]:
            previous, last_change = network.output["response"], change
            response = network.run_pass(*trial)
            change = max(abs(a - b) for a, b in zip(response, previous, strict=True))
            passes += 1
        activity, steps, before = race_once(p, [2.0 * x for x in response], random)
        row = [
            trial,
            response,
            passes,
            activity,
            int(np.argmax(activity)),
            steps,
            steps * p["time_step_size"],
            draws,
        ]
        row += [max(activity) - p["threshold"], p["threshold"] - before]
        row += [p["settled_below"] - change, last_change - p["settled_below"]]
        append_row(columns, row)
        draws += 2 * steps
    return columns
