"""The Necker cube: two percepts of a drawing compete, a node for each vertex of each percept."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from psylang.model import (
    AdaptiveIntegrator,
    AtPass,
    Compute,
    Logistic,
    Model,
    ModelError,
    Parameter,
    Recurrent,
    Transfer,
    function,
)
from psylang.model.noise import Normal

# The neighbours of each vertex: of a triangle, of a cube.
TRIANGLE = ((1, 2), (0, 2), (0, 1))
CUBE = tuple(tuple(sorted((v ^ 1, v ^ 2, v ^ 4))) for v in range(8))
Neighbours = tuple[tuple[int, ...], ...]


@function
def leads(margin):  # type: ignore[no-untyped-def]
    """1 where the activity of percept a is larger, else 0."""
    return 1 if margin[0] > 0.0 else 0


def necker_3(
    excitation: float = 0.5,
    inhibition: float = -1.1,
    gain: float = 2.0,
    x_0: float = 0.75,
    integration_rate: float = 0.2,
    noise: float = 0.3,
    *,
    passes: int = 10,
    seed: int = 300,
) -> Model:
    """Three vertices, six nodes. See necker()."""
    numbers = (excitation, inhibition, gain, x_0, integration_rate, noise)
    return necker("necker_3", TRIANGLE, numbers, passes, seed)


def necker_8(
    excitation: float = 0.25,
    inhibition: float = -1.1,
    gain: float = 2.0,
    x_0: float = 0.75,
    integration_rate: float = 0.2,
    noise: float = 0.3,
    *,
    passes: int = 10,
    seed: int = 300,
) -> Model:
    """All eight vertices, sixteen nodes. See necker()."""
    numbers = (excitation, inhibition, gain, x_0, integration_rate, noise)
    return necker("necker_8", CUBE, numbers, passes, seed)


def necker(
    name: str,
    neighbours: Neighbours,
    numbers: tuple[float, float, float, float, float, float],
    passes: int,
    seed: int,
) -> Model:
    """A node of one unit for each vertex and percept, in order a_0, a_1, …, b_0, b_1, ….

    Nodes of a percept at neighbouring vertices excite one another (excitation), the two of a vertex
    inhibit each other (inhibition). All run at once, `passes` times in a trial, and go on from
    trial to trial: percepts persist, and switch. numbers: the parameters excitation, inhibition,
    gain, x_0, integration_rate, noise. Input: `stimulus`, evidence for each node.
    Outputs: activity (of each node), choice (1 where percept a leads, else 0). seed: of a_0 in
    `exact`; the next nodes' follow. ModelError: `passes` is no whole number above 0.
    """
    model, parameters = _begun(name, neighbours, numbers, passes)
    n = len(neighbours)
    nodes = [f"{percept}_{v}" for percept in "ab" for v in range(n)]
    for index, node in enumerate(nodes):
        model.add(_unit(node, 1, parameters, seed + index))
        model.connect("stimulus", node, np.eye(2 * n)[:, index : index + 1])
    for index, node in enumerate(nodes):
        vertex, base = index % n, index - index % n
        for other in neighbours[vertex]:
            model.connect(nodes[base + other], node, parameters["excitation"])
        model.connect(nodes[(index + n) % (2 * n)], node, parameters["inhibition"])
    _end(model, nodes, passes)
    return model


def necker_vectorised(
    excitation: float = 0.25,
    inhibition: float = -1.1,
    gain: float = 2.0,
    x_0: float = 0.75,
    integration_rate: float = 0.2,
    noise: float = 0.3,
    *,
    passes: int = 10,
    seed: int = 401,
) -> Model:
    """The cube in two nodes of eight units, `a` and `b`, one a percept. See necker().

    seed: of a in `exact`; b has the next one.
    """
    numbers = (excitation, inhibition, gain, x_0, integration_rate, noise)
    model, parameters = _begun("necker_vectorised", CUBE, numbers, passes)
    n = len(CUBE)
    edges = np.array([[1.0 if j in CUBE[i] else 0.0 for j in range(n)] for i in range(n)])
    for index, name in enumerate("ab"):
        excites = Recurrent(pattern=edges, auto=parameters["excitation"])
        model.add(_unit(name, n, parameters, seed + index, excites))
        model.connect("stimulus", name, np.eye(2 * n)[:, n * index : n * (index + 1)])
    model.connect("b", "a", parameters["inhibition"])
    model.connect("a", "b", parameters["inhibition"])
    _end(model, ["a", "b"], passes)
    return model


def _begun(
    name: str, neighbours: Neighbours, numbers: tuple[float, ...], passes: int
) -> tuple[Model, dict[str, Parameter]]:
    """A model with its parameters and its stimulus."""
    if isinstance(passes, bool) or not isinstance(passes, int) or passes < 1:
        raise ModelError(f"passes is {passes!r}; it must be a whole number above 0")
    model = Model(name)
    names = ("excitation", "inhibition", "gain", "x_0", "integration_rate", "noise")
    made = {one: model.parameter(one, value) for one, value in zip(names, numbers, strict=True)}
    stimulus = model.add(Transfer("stimulus", size=2 * len(neighbours)))
    model.input("stimulus", stimulus)
    return model, made


def _unit(
    name: str,
    size: int,
    parameters: Mapping[str, Parameter],
    seed: int,
    recurrent: Recurrent | None = None,
) -> Transfer:
    """A noisy leaky node that goes on from trial to trial."""
    noise = Normal(standard_deviation=parameters["noise"])
    return Transfer(
        name,
        size=size,
        function=Logistic(gain=parameters["gain"], x_0=parameters["x_0"]),
        integrator=AdaptiveIntegrator(rate=parameters["integration_rate"], noise=noise),
        recurrent=recurrent,
        reset="never",
        seed=seed,
    )


def _end(model: Model, nodes: list[str], passes: int) -> None:
    """All nodes at once; after the last pass the activities, and which percept leads."""
    model.together(*nodes)
    margin = model.add(Transfer("margin"))
    for index, node in enumerate(nodes):
        side = 1.0 if 2 * index < len(nodes) else -1.0
        size = model.mechanisms[node].ports()["value"].size
        model.connect(node, margin, np.full((size, 1), side))
    model.last(margin)
    choice = model.add(Compute("leader", function=leads, inputs={"margin": 1}, size=0, choice=True))
    model.connect(margin, choice)
    model.last(choice)
    model.ends(AtPass(passes))
    model.output("activity", nodes)
    model.output("choice", choice)
