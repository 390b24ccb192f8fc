"""Models of simple decisions: drift diffusion and competing accumulators."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

from psylang.model import (
    DDM,
    LCA,
    AtLeast,
    DDMAnalytical,
    DriftDiffusion,
    Logistic,
    MaxVsAverage,
    MaxVsNext,
    Model,
    ModelError,
)
from psylang.model.criteria import Criterion
from psylang.model.noise import Normal


def ddm(
    drift: float = 0.3,
    threshold: float = 1.0,
    noise: float = 1.0,
    dt: float = 0.001,
    starting_point: float = 0.0,
    non_decision_time: float = 0.0,
    *,
    stimulus: bool = False,
    corrected: bool = False,
    max_steps: int = 100_000,
    seed: int = 0,
) -> Model:
    """The drift-diffusion model in steps of dt (Ratcliff 1978), to ±threshold.

    drift, noise: per unit of time. starting_point: between -threshold and threshold. Times are in
    the unit of dt. stimulus: an input of that name multiplies the drift. corrected: decide at
    thresholds nearer by 0.5826 * noise * sqrt(dt), which takes away nearly all of the bias of steps
    (mean times 3.7 % too long by default); PsyNeuLink does not. seed: in `exact`.
    Parameters: those of the first line. Outputs: response_time, choice (1 upper, 0 lower, -1 none
    within max_steps), decision_variable, truncated. ModelError: a value that cannot be.
    """
    model = Model("ddm")
    p = model.parameter
    process = DriftDiffusion(
        rate=p("drift", drift, description="mean change per unit of time"),
        noise=p("noise", noise, description="standard deviation over one unit of time"),
        threshold=p("threshold", threshold, description="distance of both thresholds from 0"),
        dt=p("dt", dt, description="time of one step"),
        initial=p("starting_point", starting_point, description="where it begins"),
        corrected=corrected,
    )
    time = p("non_decision_time", non_decision_time, description="part of response_time")
    decision = model.add(
        DDM(
            "decision",
            integrator=process,
            non_decision_time=time,
            max_steps=max_steps,
            seed=seed,
        )
    )
    if stimulus:
        model.input("stimulus", decision)
    for port in ("response_time", "choice", "decision_variable"):
        model.output(port, decision, port)
    return model


def ddm_analytical(
    drift: float = 0.3,
    threshold: float = 1.0,
    noise: float = 1.0,
    starting_point: float = 0.0,
    non_decision_time: float = 0.0,
    *,
    stimulus: bool = False,
    seed: int = 0,
) -> Model:
    """The drift-diffusion model in closed form (Bogacz et al. 2006; Srivastava et al. 2016).

    stimulus: an input of that name multiplies the drift. Parameters: those of the first line.
    Outputs: choice (1 upper, 0 lower: drawn), decision_variable, response_time (the mean),
    probability_upper, probability_lower, and mean, variance and skew of correct and incorrect
    times (rt_correct_mean and so on; correct is upper). From a start off the middle `fast` is
    right; `exact` has PsyNeuLink's probabilities and response_time, which are not. seed: in
    `exact`.
    ModelError: a value that cannot be.
    """
    model = Model("ddm_analytical")
    p = model.parameter
    decision = model.add(
        DDMAnalytical(
            "decision",
            drift=p("drift", drift),
            threshold=p("threshold", threshold),
            noise=p("noise", noise),
            starting_point=p("starting_point", starting_point),
            non_decision_time=p("non_decision_time", non_decision_time),
            seed=seed,
        )
    )
    if stimulus:
        model.input("stimulus", decision)
    for port in decision.ports():
        model.output(port, decision, port)
    return model


def lca(
    size: int = 2,
    leak: float = 0.5,
    competition: float = 1.0,
    self_excitation: float = 0.0,
    noise: float = 0.1,
    threshold: float = 0.75,
    dt: float = 0.1,
    gain: float = 1.0,
    bias: float = 0.0,
    non_decision_time: float = 0.0,
    *,
    ends: Literal["value", "max_vs_next", "max_vs_average"] = "value",
    max_steps: int = 100_000,
    seed: int = 0,
) -> Model:
    """Leaky competing accumulators of logistic activity (Usher & McClelland 2001).

    size: units, each with its element of the input `stimulus`. ends: what meets the threshold: the
    largest activity, or by how much it is above the next one, or above the mean of the others
    (McMillen & Holmes 2006). noise: standard deviation over one unit of time. Parameters: the
    numbers from leak on. Outputs: response_time, choice (the winner's number, -1 none within
    max_steps), activity, truncated. ModelError: a value that cannot be.
    """
    criteria: Mapping[str, Callable[..., Criterion]] = {
        "value": AtLeast,
        "max_vs_next": MaxVsNext,
        "max_vs_average": MaxVsAverage,
    }
    if ends not in criteria:
        raise ModelError(f"ends is {ends!r}; it must be one of {', '.join(criteria)}")
    model = Model("lca")
    p = model.parameter
    race = model.add(
        LCA(
            "race",
            size=size,
            leak=p("leak", leak),
            competition=p("competition", competition),
            self_excitation=p("self_excitation", self_excitation),
            dt=p("dt", dt, description="time of one step"),
            noise=Normal(standard_deviation=p("noise", noise)),
            function=Logistic(gain=p("gain", gain), bias=p("bias", bias)),
            until=criteria[ends](threshold=p("threshold", threshold)),
            non_decision_time=p("non_decision_time", non_decision_time),
            max_steps=max_steps,
            seed=seed,
        )
    )
    model.input("stimulus", race)
    for name, port in (("response_time",) * 2, ("choice",) * 2, ("activity", "value")):
        model.output(name, race, port)
    return model
