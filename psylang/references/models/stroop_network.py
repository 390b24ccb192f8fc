"""The feed-forward Stroop network of the two extended models: two pathways, task units that gate
them, a response layer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from common import logistic, times

if TYPE_CHECKING:
    from collections.abc import Callable

SHAPE: dict[str, Any] = {
    "integration_rate": 0.1,
    "x_0": 4.0,
    "colour_weights": [[2.2, -2.2], [-2.2, 2.2]],
    "word_weights": [[2.6, -2.6], [-2.6, 2.6]],
    "colour_response_weights": [[1.3, -1.3], [-1.3, 1.3]],
    "word_response_weights": [[2.5, -2.5], [-2.5, 2.5]],
    "attend_colour": [[4.0, 4.0], [0.0, 0.0]],
    "attend_word": [[0.0, 0.0], [4.0, 4.0]],
}
COLOURS = {
    "congruent": ((1.0, 0.0), (1.0, 0.0)),
    "incongruent": ((1.0, 0.0), (0.0, 1.0)),
    "neutral": ((1.0, 0.0), (0.0, 0.0)),
}
TASKS = {"name_colour": (1.0, 0.0), "read_word": (0.0, 1.0)}
LAYERS = ("colour", "word", "response")
X_0 = {"colour": SHAPE["x_0"], "word": SHAPE["x_0"], "response": 0.0}


def stimulus(trial: int) -> list[list[float]]:
    """Colour, word and task input: the three conditions in turn, within them the tasks, within
    those the two colours swapped.
    """
    condition = list(COLOURS.values())[trial % 3]
    task = list(TASKS.values())[trial // 3 % 2]
    colour, word = (
        ([list(x) for x in condition])
        if trial // 6 % 2 == 0
        else ([list(reversed(x)) for x in condition])
    )
    return [colour, word, list(task)]


def build(pnl: Any, **response_arguments: Any) -> tuple[Any, dict[str, Any]]:
    """The Composition and its nodes; response_arguments go to the response layer."""
    import numpy as np

    nodes = {
        f"{n}_input": pnl.TransferMechanism(name=f"{n}_input", input_shapes=2)
        for n in ("colour", "word", "task")
    }
    for name in LAYERS:
        nodes[name] = pnl.TransferMechanism(
            name=name,
            input_shapes=2,
            function=pnl.Logistic() if name == "response" else pnl.Logistic(x_0=SHAPE["x_0"]),
            integrator_mode=True,
            integration_rate=SHAPE["integration_rate"],
            reset_stateful_function_when=pnl.AtTrialStart(),
            **(response_arguments if name == "response" else {}),
        )
    composition = pnl.Composition(name="stroop_network")
    composition.add_nodes(list(nodes.values()))
    for sender, receiver, matrix in (
        ("colour_input", "colour", "colour_weights"),
        ("task_input", "colour", "attend_colour"),
        ("word_input", "word", "word_weights"),
        ("task_input", "word", "attend_word"),
        ("colour", "response", "colour_response_weights"),
        ("word", "response", "word_response_weights"),
    ):
        projection = pnl.MappingProjection(matrix=np.array(SHAPE[matrix]))
        composition.add_projection(projection, sender=nodes[sender], receiver=nodes[receiver])
    return composition, nodes


def run(
    composition: Any,
    nodes: dict[str, Any],
    trials: list[list[list[float]]],
    record: Callable[[], None],
) -> None:
    """Runs the trials, each of colour, word and task input; `record` is called after each."""
    composition.run(
        inputs={
            nodes[f"{n}_input"]: [t[i] for t in trials]
            for i, n in enumerate(("colour", "word", "task"))
        },
        call_after_trial=record,
    )


class Network:
    """The same network without PsyNeuLink, from its reset on."""

    def __init__(self) -> None:
        self.state = {name: [0.0, 0.0] for name in LAYERS}
        self.output = {name: [logistic(0.0, X_0[name])] * 2 for name in LAYERS}

    def run_pass(self, colour: list[float], word: list[float], task: list[float]) -> list[float]:
        """One pass: both hidden layers, then the response layer, which sees their new values."""
        self.advance(
            "colour",
            add(times(colour, SHAPE["colour_weights"]), times(task, SHAPE["attend_colour"])),
        )
        self.advance(
            "word", add(times(word, SHAPE["word_weights"]), times(task, SHAPE["attend_word"]))
        )
        from_colour = times(self.output["colour"], SHAPE["colour_response_weights"])
        from_word = times(self.output["word"], SHAPE["word_response_weights"])
        self.advance("response", add(from_colour, from_word))
        return self.output["response"]

    def advance(self, name: str, net: list[float]) -> None:
        rate = SHAPE["integration_rate"]
        self.state[name] = [
            (1 - rate) * s + rate * x for s, x in zip(self.state[name], net, strict=True)
        ]
        self.output[name] = [logistic(x, X_0[name]) for x in self.state[name]]


def add(a: list[float], b: list[float]) -> list[float]:
    return [x + y for x, y in zip(a, b, strict=True)]
