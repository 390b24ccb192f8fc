"""The Necker cube with one node per vertex and percept: what its two sizes share."""

from __future__ import annotations

from typing import Any

import numpy as np
from common import Columns, append_row, empty, logistic, restart

EDGES = {3: [[1, 2], [0, 2], [0, 1]], 8: [sorted([v ^ 1, v ^ 2, v ^ 4]) for v in range(8)]}
"""The neighbours of each vertex: a triangle, a cube."""


def parameters(vertices: int, excitation: float, trials: int) -> dict[str, Any]:
    return {
        "vertices": vertices,
        "neighbours": EDGES[vertices],
        "excitation": excitation,
        "inhibition": -1.1,
        "gain": 2.0,
        "x_0": 0.75,
        "integration_rate": 0.2,
        "noise_standard_deviation": 0.3,
        "lean": 0.1,
        "passes": 10,
        "seed_of_first_node": 300,
        "trials": trials,
    }


def inputs(p: dict[str, Any]) -> list[list[float]]:
    """Evidence for percept a at each vertex, then for b; it leans to either side for five trials in
    turn.
    """
    n = p["vertices"]
    lean = [p["lean"] * (1 if trial // 5 % 2 == 0 else -1) for trial in range(p["trials"])]
    return [[0.5 + x] * n + [0.5 - x] * n for x in lean]


def names(vertices: int) -> list[str]:
    return [f"{percept}_{v}" for percept in "ab" for v in range(vertices)]


def weights(p: dict[str, Any]) -> list[tuple[int, int, float]]:
    """Sender, receiver and weight between nodes, in the order in which a receiver adds them."""
    n, result = p["vertices"], []
    for node in range(2 * n):
        base, vertex = node - node % n, node % n
        result += [(base + other, node, p["excitation"]) for other in p["neighbours"][vertex]]
        result.append(((node + n) % (2 * n), node, p["inhibition"]))
    return result


def simulate(p: dict[str, Any]) -> Columns:
    import psyneulink as pnl

    n = p["vertices"]
    stimulus = pnl.TransferMechanism(name="stimulus", input_shapes=2 * n)
    nodes = []
    for index, name in enumerate(names(n)):
        seed = p["seed_of_first_node"] + index
        noise = pnl.NormalDist(standard_deviation=p["noise_standard_deviation"], seed=seed)
        node = pnl.TransferMechanism(
            name=name,
            input_shapes=1,
            function=pnl.Logistic(gain=p["gain"], x_0=p["x_0"]),
            integrator_mode=True,
            integration_rate=p["integration_rate"],
            noise=noise,
            reset_stateful_function_when=pnl.AtRunStart(),
        )
        nodes.append(node)
    composition = pnl.Composition(name=f"necker_{n}")
    composition.add_nodes([stimulus, *nodes])
    for index, node in enumerate(nodes):
        column = np.array([[1.0 if i == index else 0.0] for i in range(2 * n)])
        composition.add_projection(pnl.MappingProjection(matrix=column), stimulus, node)
    for sender, receiver, weight in weights(p):
        projection = pnl.MappingProjection(matrix=np.array([[weight]]))
        composition.add_projection(projection, nodes[sender], nodes[receiver])
    for index, node in enumerate(nodes):
        restart(
            node.integrator_function.parameters.noise.get(None), p["seed_of_first_node"] + index
        )
    columns = empty("input activity choice")
    columns["input"] = inputs(p)

    def record() -> None:
        values = [float(node.output_port.parameters.value.get(composition)[0]) for node in nodes]
        columns["activity"].append(values)
        columns["choice"].append(int(sum(values[:n]) > sum(values[n:])))

    composition.run(
        inputs={stimulus: inputs(p)},
        termination_processing={pnl.TimeScale.TRIAL: pnl.AtPass(p["passes"])},
        call_after_trial=record,
    )
    return columns


def replay(p: dict[str, Any]) -> Columns:
    n, rate = p["vertices"], p["integration_rate"]
    random = [np.random.RandomState([p["seed_of_first_node"] + i]) for i in range(2 * n)]
    columns = empty("input activity choice margin draws_before")
    state = [0.0] * (2 * n)
    output = [logistic(x, p["x_0"], p["gain"]) for x in state]
    for trial, evidence in enumerate(inputs(p)):
        for _ in range(p["passes"]):
            net = list(evidence)
            for sender, receiver, weight in weights(p):
                net[receiver] += output[sender] * weight
            noise = [r.normal(0.0, p["noise_standard_deviation"]) for r in random]
            state = [
                ((1 - rate) * s + rate * x) + z for s, x, z in zip(state, net, noise, strict=True)
            ]
            output = [logistic(x, p["x_0"], p["gain"]) for x in state]
        margin = sum(output[:n]) - sum(output[n:])
        row = [evidence, output, int(margin > 0), margin, trial * p["passes"]]
        append_row(columns, row)
    return columns
