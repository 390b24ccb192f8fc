"""The extended Stroop models: a network after Cohen, Dunbar & McClelland (1990) that decides.

Its response layer drives a drift-diffusion process or two leaky competing accumulators.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from psylang.model import (
    DDM,
    LCA,
    AdaptiveIntegrator,
    AfterNCalls,
    All,
    AtLeast,
    DriftDiffusion,
    Logistic,
    Model,
    ModelError,
    Settled,
    Transfer,
    WhenFinished,
)
from psylang.model.noise import Normal

OPPOSED = np.array([[1.0, -1.0], [-1.0, 1.0]])
COLOUR, WORD, COLOUR_RESPONSE, WORD_RESPONSE = 2.2, 2.6, 1.3, 2.5  # Strengths of the pathways.
ATTENTION = 4.0  # Input of the task to all units of its pathway.
RESTING = 4.0  # Net input at which a hidden unit is half active.


def extended_stroop(
    decision: Literal["ddm", "lca"] = "ddm",
    integration_rate: float = 0.1,
    evidence: float = 2.0,
    noise: float | None = None,
    threshold: float = 0.7,
    dt: float | None = None,
    non_decision_time: float | None = None,
    *,
    passes: int | None = None,
    settled_below: float = 0.004,
    max_passes: int = 1000,
    max_steps: int = 100_000,
    seed: int | None = None,
) -> Model:
    """Two pathways that the task gates, a response layer, and a decision about its activity.

    decision: "ddm": after `passes` (20) the difference of the response units is the drift; "lca":
    when no response unit changes by more than settled_below any longer, after 10 `passes` at the
    least, both race. evidence: what their activities are multiplied by. Of neither: noise is 0.8,
    0.2; dt 0.004, 0.02; non_decision_time 0.2, 0; seed 1990, 2001 (in `exact`). Inputs:
    `colour_input`, `word_input`, `task_input`, two elements each. Parameters: integration_rate,
    evidence, noise, threshold, dt, non_decision_time. Outputs: response_time, choice, response
    (activities), truncated (of max_steps of the decision, and max_passes of "lca").
    ModelError: a value that cannot be.
    """
    if decision not in ("ddm", "lca"):
        raise ModelError(f"decision is {decision!r}; it must be ddm or lca")
    races = decision == "lca"
    model = Model("extended_stroop", max_passes=max_passes)
    _network(model, integration_rate, settled_below if races else None)
    given = {
        "noise": noise if noise is not None else (0.2 if races else 0.8),
        "dt": dt if dt is not None else (0.02 if races else 0.004),
        "non_decision_time": non_decision_time
        if non_decision_time is not None
        else (0.0 if races else 0.2),
    }
    p = {name: model.parameter(name, value) for name, value in given.items()}
    gain = model.parameter("evidence", evidence, description="of the activities of response")
    bound = model.parameter("threshold", threshold)
    count = passes if passes is not None else (10 if races else 20)
    scaled = model.add(Transfer("gathered", size=2 if races else 1))
    model.connect("response", scaled, None if races else np.array([[1.0], [-1.0]]))
    last: DDM | LCA
    if races:
        last = LCA(
            "decision",
            leak=0.4,
            self_excitation=0.2,
            dt=p["dt"],
            noise=Normal(standard_deviation=p["noise"]),
            until=AtLeast(threshold=bound),
            non_decision_time=p["non_decision_time"],
            max_steps=max_steps,
            seed=2001 if seed is None else seed,
        )
        model.ends(All(WhenFinished("response"), AfterNCalls("response", count)))
    else:
        process = DriftDiffusion(noise=p["noise"], threshold=bound, dt=p["dt"])
        last = DDM(
            "decision",
            integrator=process,
            non_decision_time=p["non_decision_time"],
            max_steps=max_steps,
            seed=1990 if seed is None else seed,
        )
        model.ends(AfterNCalls("response", count))
    model.add(last)
    model.connect(scaled, last, gain)
    model.last(scaled)
    model.last(last)
    model.output("response_time", last, "response_time")
    model.output("choice", last, "choice")
    model.output("response", "response")
    return model


def _network(model: Model, integration_rate: float, settled_below: float | None) -> None:
    """Inputs, two hidden layers, and the response layer."""
    rate = model.parameter("integration_rate", integration_rate, description="of all layers")
    for name in ("colour", "word", "task"):
        model.input(f"{name}_input", model.add(Transfer(f"{name}_input", size=2)))
    leaky = AdaptiveIntegrator(rate=rate)
    for name in ("colour", "word"):
        function = Logistic(x_0=RESTING)
        model.add(Transfer(name, size=2, function=function, integrator=leaky))
    until = None if settled_below is None else Settled(tolerance=settled_below)
    model.add(
        Transfer(
            "response",
            size=2,
            function=Logistic(),
            integrator=leaky,
            until=until,
            until_finished=False,
        )
    )
    model.connect("colour_input", "colour", COLOUR * OPPOSED)
    model.connect("task_input", "colour", np.array([[ATTENTION] * 2, [0.0] * 2]))
    model.connect("word_input", "word", WORD * OPPOSED)
    model.connect("task_input", "word", np.array([[0.0] * 2, [ATTENTION] * 2]))
    model.connect("colour", "response", COLOUR_RESPONSE * OPPOSED)
    model.connect("word", "response", WORD_RESPONSE * OPPOSED)
