"""Conflict monitoring in the Stroop task: four noisy interacting layers, two-way connections, the
energy of the response layer as conflict.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from common import Columns, empty, logistic, restart, times

NAME = "stroop"
TOLERANCE = 0.0
PARAMETERS: dict[str, Any] = {
    "integration_rate": 0.03,
    "noise_standard_deviation": 0.01,
    "inhibition": -2.0,
    "task_weight": 4.0,
    "task_feedback": 1.0,
    "colour_weight": 1.5,
    "word_weight": 2.5,
    "x_0": {"colour": 4.0, "word": 4.0, "task": 0.0, "response": 0.0},
    "seeds": {"colour": 11, "word": 12, "task": 13, "response": 14},
    "trials_without_stimulus": 100,
    "trials_with_stimulus": 220,
    "stored_every": 4,
    "response_threshold": 0.55,
    "conditions": ["congruent", "incongruent", "neutral"],
}
STIMULI = {
    "congruent": ((1.0, 0.0, 0.0), (1.0, 0.0, 0.0)),
    "incongruent": ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0)),
    "neutral": ((1.0, 0.0, 0.0), (0.0, 0.0, 1.0)),
}
SILENCE = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
TASK = (1.0, 0.0)
SIZES = {"colour": 3, "word": 3, "task": 2, "response": 2}


def weights() -> list[tuple[str, str, list[list[float]]]]:
    """Sender, receiver and matrix (row = sender) of each projection between layers, in the order in
    which a receiver adds them.
    """
    p = PARAMETERS
    colour = [[p["colour_weight"], 0.0], [0.0, p["colour_weight"]], [0.0, 0.0]]
    word = [[p["word_weight"], 0.0], [0.0, p["word_weight"]], [0.0, 0.0]]
    attend_colour = [[p["task_weight"]] * 3, [0.0] * 3]
    attend_word = [[0.0] * 3, [p["task_weight"]] * 3]
    return [
        ("colour_input", "colour", identity(3)),
        ("word_input", "word", identity(3)),
        ("task_input", "task", identity(2)),
        ("task", "colour", attend_colour),
        ("task", "word", attend_word),
        ("colour", "task", [[p["task_feedback"], 0.0]] * 3),
        ("word", "task", [[0.0, p["task_feedback"]]] * 3),
        ("colour", "response", colour),
        ("word", "response", word),
        ("response", "colour", transposed(colour)),
        ("response", "word", transposed(word)),
    ]


def identity(size: int) -> list[list[float]]:
    return [[1.0 if i == j else 0.0 for j in range(size)] for i in range(size)]


def transposed(matrix: list[list[float]]) -> list[list[float]]:
    return [list(row) for row in zip(*matrix, strict=True)]


def inputs(condition: str) -> list[tuple[tuple[float, ...], ...]]:
    """Colour, word and task input of each trial."""
    p = PARAMETERS
    colour, word = STIMULI[condition]
    before: list[tuple[tuple[float, ...], ...]] = [(*SILENCE, TASK)]
    after: list[tuple[tuple[float, ...], ...]] = [(colour, word, TASK)]
    counts = int(p["trials_without_stimulus"]), int(p["trials_with_stimulus"])
    return before * counts[0] + after * counts[1]


def simulate() -> Columns:
    import psyneulink as pnl

    p = PARAMETERS
    nodes = {
        f"{name}_input": pnl.TransferMechanism(name=f"{name}_input", input_shapes=SIZES[name])
        for name in ("colour", "word", "task")
    }
    for name, size in SIZES.items():
        nodes[name] = pnl.RecurrentTransferMechanism(
            name=name,
            input_shapes=size,
            function=pnl.Logistic(x_0=p["x_0"][name]),
            auto=0.0,
            hetero=p["inhibition"],
            integrator_mode=True,
            integration_rate=p["integration_rate"],
            noise=pnl.NormalDist(
                mean=0.0, standard_deviation=p["noise_standard_deviation"], seed=p["seeds"][name]
            ),
            reset_stateful_function_when=pnl.AtRunStart(),
            output_ports=[pnl.RESULT, pnl.ENERGY] if name == "response" else [pnl.RESULT],
        )
    composition = pnl.Composition(name="stroop")
    composition.add_nodes(list(nodes.values()))
    for sender, receiver, matrix in weights():
        projection = pnl.MappingProjection(matrix=np.array(matrix))
        composition.add_projection(projection, sender=nodes[sender], receiver=nodes[receiver])
    for name in SIZES:
        restart(nodes[name].integrator_function.parameters.noise.get(None), p["seeds"][name])
    columns = empty("input response energy task colour word")
    for condition in p["conditions"]:
        seen: Columns = {name: [] for name in SIZES}
        seen["energy"] = []

        def record(seen: Columns = seen, context: str = condition) -> None:
            for name in SIZES:
                seen[name].append(nodes[name].output_port.parameters.value.get(context).tolist())
            seen["energy"].append(
                float(nodes["response"].output_ports[pnl.ENERGY].parameters.value.get(context)[0])
            )

        trials = inputs(condition)
        composition.run(
            inputs={
                nodes[f"{n}_input"]: [t[i] for t in trials]
                for i, n in enumerate(("colour", "word", "task"))
            },
            context=condition,
            call_after_trial=record,
        )
        store(columns, condition, seen)
    return columns


def store(columns: Columns, condition: str, seen: Columns) -> None:
    every = PARAMETERS["stored_every"]
    for trial in range(every - 1, len(seen["energy"]), every):
        columns["input"].append([condition, trial])
        for key, values in seen.items():
            columns[key].append(values[trial])


def replay() -> Columns:
    columns = empty("input response energy task colour word")
    for condition in PARAMETERS["conditions"]:
        store(columns, condition, replay_condition(condition))
    return columns


def replay_condition(condition: str) -> Columns:
    """All layers and the energy after each trial."""
    p = PARAMETERS
    random = {name: np.random.RandomState([seed]) for name, seed in p["seeds"].items()}
    state = {name: [0.0] * size for name, size in SIZES.items()}
    output = {name: [logistic(x, p["x_0"][name]) for x in state[name]] for name in SIZES}
    hollow = {
        name: [[0.0 if i == j else p["inhibition"] for j in range(n)] for i in range(n)]
        for name, n in SIZES.items()
    }
    seen: Columns = {**{name: [] for name in SIZES}, "energy": []}
    for colour, word, task in inputs(condition):
        sent = {
            **output,
            "colour_input": list(colour),
            "word_input": list(word),
            "task_input": list(task),
        }
        for name in SIZES:
            net = times(output[name], hollow[name])
            for sender, receiver, matrix in weights():
                if receiver == name:
                    net = [a + b for a, b in zip(net, times(sent[sender], matrix), strict=True)]
            noise = [random[name].normal(0.0, p["noise_standard_deviation"]) for _ in net]
            rate = p["integration_rate"]
            state[name] = [
                ((1 - rate) * s + rate * x) + z
                for s, x, z in zip(state[name], net, noise, strict=True)
            ]
        output = {name: [logistic(x, p["x_0"][name]) for x in state[name]] for name in SIZES}
        for name in SIZES:
            seen[name].append(output[name])
        y, t = output["response"], times(output["response"], hollow["response"])
        seen["energy"].append(-(y[0] * t[0] + y[1] * t[1]) / 2.0)
    return seen


def summary() -> dict[str, Any]:
    """Per condition: the first trial with the stimulus at whose end a response unit reached the
    threshold, which, and the margins.
    """
    p = PARAMETERS
    result: dict[str, Any] = {}
    for condition in p["conditions"]:
        response = replay_condition(condition)["response"]
        begin = p["trials_without_stimulus"]
        crossed = next(
            (t for t in range(begin, len(response)) if max(response[t]) >= p["response_threshold"]),
            None,
        )
        result[condition] = (
            None
            if crossed is None
            else {
                "response_time": crossed - begin + 1,
                "choice": int(np.argmax(response[crossed])),
                "past_threshold": max(response[crossed]) - p["response_threshold"],
                "before_threshold": p["response_threshold"] - max(response[crossed - 1]),
            }
        )
    return result
