"""Multitasking: a network names a colour, a shape, or both at once; its outputs race."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from psylang.model import LCA, AtLeast, Logistic, Model, ModelError, Transfer
from psylang.model.noise import Normal

COLOURS, TASKS, FEATURES = 3, 2, 3
Matrix = NDArray[np.float64]


def multitasking(
    evidence: float = 1.5,
    leak: float = 0.4,
    competition: float = 0.8,
    self_excitation: float = 0.2,
    noise: float = 0.2,
    threshold: float = 0.65,
    dt: float = 0.02,
    *,
    hidden: int = 200,
    max_steps: int = 100_000,
    seed: int = 6006,
) -> Model:
    """A network of `hidden` units that serve one task each, and three accumulators.

    After the thesis, 2.2; its weights are not published: these are made of integers, the same on
    any machine. Inputs: `stimulus` (three colours, three shapes; one of each is on), `task`
    (colour, shape, or both). Parameters: those of the first line, of the race. Outputs:
    response_time, choice (the feature named; -1 none within max_steps), output (of the network),
    activity (of the accumulators), truncated. seed: in `exact`.
    ModelError: `hidden` is no whole number of 6 or more.
    """
    if isinstance(hidden, bool) or not isinstance(hidden, int) or hidden < TASKS * FEATURES:
        raise ModelError(f"hidden is {hidden!r}; it must be a whole number of 6 or more")
    model = Model("multitasking")
    p = model.parameter
    model.input("stimulus", model.add(Transfer("stimulus", size=COLOURS + FEATURES)))
    model.input("task", model.add(Transfer("task", size=TASKS)))
    model.add(Transfer("hidden", size=hidden, function=Logistic(x_0=3.0)))
    model.add(Transfer("output", size=FEATURES, function=Logistic(x_0=1.0)))
    from_stimulus, from_task, to_output = weights(hidden)
    model.connect("stimulus", "hidden", from_stimulus)
    model.connect("task", "hidden", from_task)
    model.connect("hidden", "output", to_output)
    race = model.add(
        LCA(
            "race",
            size=FEATURES,
            leak=p("leak", leak),
            competition=p("competition", competition),
            self_excitation=p("self_excitation", self_excitation),
            dt=p("dt", dt, description="time of one step"),
            noise=Normal(standard_deviation=p("noise", noise)),
            until=AtLeast(threshold=p("threshold", threshold)),
            max_steps=max_steps,
            seed=seed,
        )
    )
    model.connect("output", race, p("evidence", evidence, description="of the network's outputs"))
    for name in ("response_time", "choice"):
        model.output(name, race, name)
    model.output("output", "output")
    model.output("activity", race)
    return model


def weights(hidden: int) -> tuple[Matrix, Matrix, Matrix]:
    """From stimulus and task to hidden units, and from those to the outputs.

    Hidden unit j serves task j % 2 and feature (j // 2) % 3 of it; all weights have a jitter.
    """
    units = np.arange(hidden)
    task, feature = units % TASKS, units // TASKS % FEATURES
    inputs = np.arange(COLOURS + FEATURES)[:, None]
    from_stimulus = np.where(inputs == FEATURES * task + feature, 4.0, -1.0)
    from_task = np.where(np.arange(TASKS)[:, None] == task, 2.0, -2.0)
    to_output = np.where(np.arange(FEATURES) == feature[:, None], 0.0625, -0.03125)
    return (
        from_stimulus + _jitter(from_stimulus.shape, 1),
        from_task + _jitter(from_task.shape, 2),
        to_output + _jitter(to_output.shape, 3) / 64,
    )


def _jitter(shape: tuple[int, ...], k: int) -> Matrix:
    """Numbers in [-0.5, 0.5) that look random, exact multiples of 2**-16."""
    i, j = np.indices(shape, dtype=np.int64)
    mixed: Matrix = ((i * 73856093) ^ (j * 19349663) ^ (k * 83492791)) % 65536 / 65536 - 0.5
    return mixed
