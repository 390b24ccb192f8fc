"""Necker cube with eight vertices in two nodes, one per percept, elements being vertices."""

from __future__ import annotations

from typing import Any

import numpy as np
from common import Columns, append_row, empty, logistic, restart

from models.necker import inputs, parameters

NAME = "necker_vectorised"
TOLERANCE = 1e-12
PARAMETERS: dict[str, Any] = {
    **parameters(vertices=8, excitation=0.25, trials=120),
    "seeds": {"a": 401, "b": 402},
}
del PARAMETERS["seed_of_first_node"]


def adjacency() -> list[list[float]]:
    """The recurrent matrix: excitation between neighbours, nothing else."""
    p = PARAMETERS
    n = p["vertices"]
    return [
        [p["excitation"] if j in p["neighbours"][i] else 0.0 for j in range(n)] for i in range(n)
    ]


def simulate() -> Columns:
    import psyneulink as pnl

    p = PARAMETERS
    n = p["vertices"]
    stimulus = pnl.TransferMechanism(name="stimulus", input_shapes=2 * n)
    nodes = {
        percept: pnl.RecurrentTransferMechanism(
            name=percept,
            input_shapes=n,
            function=pnl.Logistic(gain=p["gain"], x_0=p["x_0"]),
            matrix=np.array(adjacency()),
            integrator_mode=True,
            integration_rate=p["integration_rate"],
            noise=pnl.NormalDist(standard_deviation=p["noise_standard_deviation"], seed=seed),
            reset_stateful_function_when=pnl.AtRunStart(),
        )
        for percept, seed in p["seeds"].items()
    }
    composition = pnl.Composition(name="necker_vectorised")
    composition.add_nodes([stimulus, *nodes.values()])
    for base, (percept, rival) in ((0, "ab"), (n, "ba")):
        part = np.zeros((2 * n, n))
        part[base : base + n] = np.eye(n)
        composition.add_projection(pnl.MappingProjection(matrix=part), stimulus, nodes[percept])
        against = pnl.MappingProjection(matrix=p["inhibition"] * np.eye(n))
        composition.add_projection(against, nodes[rival], nodes[percept])
    for percept, seed in p["seeds"].items():
        restart(nodes[percept].integrator_function.parameters.noise.get(None), seed)
    columns = empty("input activity choice")
    columns["input"] = inputs(p)

    def record() -> None:
        a, b = (nodes[x].output_port.parameters.value.get(composition).tolist() for x in "ab")
        columns["activity"].append(a + b)
        columns["choice"].append(int(sum(a) > sum(b)))

    composition.run(
        inputs={stimulus: inputs(p)},
        termination_processing={pnl.TimeScale.TRIAL: pnl.AtPass(p["passes"])},
        call_after_trial=record,
    )
    return columns


def replay() -> Columns:
    p = PARAMETERS
    n, rate = p["vertices"], p["integration_rate"]
    random = {percept: np.random.RandomState([seed]) for percept, seed in p["seeds"].items()}
    columns = empty("input activity choice margin draws_before")
    state = {percept: [0.0] * n for percept in "ab"}
    output = {
        percept: [logistic(x, p["x_0"], p["gain"]) for x in state[percept]] for percept in "ab"
    }
    for trial, evidence in enumerate(inputs(p)):
        for _ in range(p["passes"]):
            last = output
            output = {}
            for base, (percept, rival) in ((0, "ab"), (n, "ba")):
                excited = [
                    sum((last[percept][u] * p["excitation"] for u in p["neighbours"][v]), 0.0)
                    for v in range(n)
                ]
                inhibited = [x * p["inhibition"] for x in last[rival]]
                net = [
                    (x + y) + z
                    for x, y, z in zip(excited, evidence[base : base + n], inhibited, strict=True)
                ]
                noise = [random[percept].normal(0.0, p["noise_standard_deviation"]) for _ in net]
                state[percept] = [
                    ((1 - rate) * s + rate * x) + z
                    for s, x, z in zip(state[percept], net, noise, strict=True)
                ]
                output[percept] = [logistic(x, p["x_0"], p["gain"]) for x in state[percept]]
        margin = sum(output["a"]) - sum(output["b"])
        row = [
            evidence,
            output["a"] + output["b"],
            int(margin > 0),
            margin,
            trial * p["passes"] * n,
        ]
        append_row(columns, row)
    return columns
