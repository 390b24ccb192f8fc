"""Models with searches that threads share, for the tests of sharing.py."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Any

from psylang.ir.graph import Numerics
from psylang.model import (
    DDM,
    Compute,
    ControlSignal,
    DriftDiffusion,
    Evenly,
    ExponentialCost,
    GridSearch,
    LinearCost,
    Model,
    Transfer,
    function,
)
from psylang.model.costs import DurationCost
from psylang.model.estimates import Reseeding
from psylang.model.noise import Normal
from psylang.models import predator_prey

GAME = {"player": [0.0, 0.0], "predator": [1.5, -1.0], "prey": [-1.0, 2.0]}


@function
def hill(x, top):  # type: ignore[no-untyped-def]
    """Highest at the top."""
    return 10.0 - (x[0] - top) ** 2


def climber(
    model: Model,
    name: str = "",
    estimates: int | None = None,
    levels: int = 20_001,
    **costs: Any,
) -> GridSearch:
    """A noisy layer that climbs a hill, and the search of its intercept."""
    layer = model.add(Transfer(f"layer{name}", noise=Normal(standard_deviation=2.0)))
    model.input(f"x{name}", layer)
    top = {"top": 3.0}
    height = model.add(
        Compute(f"height{name}", function=hill, inputs={"x": 1}, parameters=top, size=0)
    )
    model.connect(layer, height)
    model.output(f"height{name}", height)
    grid = Evenly(0.0, 4.0, levels)
    signal = ControlSignal(f"layer{name}.function.intercept", grid, "additive", **costs)
    return GridSearch([signal], objective=f"height{name}", num_estimates=estimates)


def controlled(after: bool = False, **options: Any) -> Model:
    model = Model("controlled")
    search = climber(model, **options)
    model.control(dataclasses.replace(search, after=after))
    return model


def reseeded() -> Model:
    model = Model("reseeded")
    seeds = Reseeding({"layer": 1}, first=3, width=2, blocks=50, before=3)
    search = climber(model, estimates=3)
    model.control(dataclasses.replace(search, reseeding=seeds, after=True))
    return model


def two_controllers() -> Model:
    """Two nests, each with a search of its own: the second begins after the first."""
    model = Model("two")
    for name in ("_one", "_two"):
        search = climber(model, name)
        model.nest(f"nest{name}", f"layer{name}", f"height{name}")
        model.control(search, f"nest{name}")
    model.connect("height_one", "layer_two")
    return model


@function
def reward(choice, time):  # type: ignore[no-untyped-def]
    """The reward of the upper threshold, less the time."""
    return 4.0 * choice - time


def evc() -> Model:
    """Expected value of control: candidates are decisions in steps."""
    model = Model("evc")
    process = DriftDiffusion(rate=0.5, dt=0.02, threshold=0.5)
    decision = model.add(DDM("decision", integrator=process))
    value = model.add(Compute("value", function=reward, inputs={"choice": 0, "time": 0}, size=0))
    for sender, receiver in (("choice", "choice"), ("response_time", "time")):
        model.connect(
            decision, value, sender_port=sender, receiver_port=receiver, name=f"of_{receiver}"
        )
    cost = ExponentialCost(rate=0.8, bias=-2.0)
    signal = ControlSignal("decision.integrator.rate", Evenly(1.0, 4.0, 300), cost=cost)
    model.control(GridSearch([signal], objective="value"))
    model.output("value", value)
    model.output("response_time", decision, "response_time")
    return model


# (model, inputs, numerics)
EVERY: dict[str, tuple[Callable[[], Model], dict[str, Any], tuple[Numerics, ...]]] = {
    "predator_prey": (partial(predator_prey, 12), GAME, ("fast", "exact")),
    "evc": (evc, {}, ("fast", "exact")),
    "estimates": (partial(controlled, estimates=5), {"x": [1.0]}, ("fast", "exact")),
    "reseeded": (reseeded, {"x": [1.0]}, ("exact",)),
    "cost": (partial(controlled, cost=LinearCost(0.7)), {"x": [1.0]}, ("fast", "exact")),
    "adjustment": (
        partial(controlled, adjustment=ExponentialCost(1.1)),
        {"x": [1.0]},
        ("fast", "exact"),
    ),
    "duration": (
        partial(controlled, duration=DurationCost(0.1)),
        {"x": [1.0]},
        ("fast", "exact"),
    ),
    "after": (partial(controlled, True), {"x": [1.0]}, ("exact",)),
    "two": (two_controllers, {"x_one": [1.0], "x_two": [2.0]}, ("fast", "exact")),
}
