"""Models of response times beyond the DDM: variability between trials, collapsing thresholds, a
leak, steps with heavy tails, and races."""

from __future__ import annotations

from typing import Any

from psylang.model import LBA, LCA, AtLeast, Linear, Model
from psylang.model.diffusion import Angle, Collapse, Diffusion, WeibullCollapse
from psylang.model.noise import Normal


def full_ddm(
    drift: float = 0.8,
    threshold: float = 1.0,
    starting_point: float = 0.0,
    non_decision_time: float = 0.3,
    drift_deviation: float = 0.5,
    start_range: float = 0.4,
    time_range: float = 0.1,
    noise: float = 1.0,
    dt: float = 0.001,
    *,
    corrected: bool = False,
    max_steps: int = 100_000,
) -> Model:
    """The DDM whose drift, start and non-decision time vary between trials (Ratcliff & Rouder
    1998).

    drift_deviation: standard deviation of the drift. start_range, time_range: widths of the ranges
    of starting_point, in units of evidence, and of non_decision_time, which is the middle and not
    below time_range. Others, corrected and outputs: as of ddm(). Parameters: those in front of the
    star. ModelError: a value that cannot be.
    """
    model = Model("full_ddm")
    fields = {
        "drift": drift,
        "threshold": threshold,
        "starting_point": starting_point,
        "non_decision_time": non_decision_time,
        "drift_deviation": drift_deviation,
        "start_range": start_range,
        "time_range": time_range,
        "noise": noise,
        "dt": dt,
    }
    return _decides(model, fields, None, corrected, max_steps)


def ddm_vazt(
    v: float = 0.8,
    a: float = 2.0,
    z: float = 0.5,
    t: float = 0.3,
    sv: float = 0.0,
    sz: float = 0.0,
    st: float = 0.0,
    dt: float = 0.001,
    *,
    corrected: bool = True,
    max_steps: int = 100_000,
) -> Model:
    """full_ddm() with the parameters of HDDM and of psylang.likelihood, and noise 1.

    v: drift. a: distance of the thresholds. z: start, as a share of a. t: non-decision time. sv:
    standard deviation of v. sz, st: widths of the ranges of z, and of t, which is the middle and
    not below st. corrected and outputs: as of ddm(). Parameters: those in front of the star.
    ModelError: a value that cannot be.
    """
    model = Model("ddm_vazt")
    given = {"v": v, "a": a, "z": z, "t": t, "sv": sv, "sz": sz, "st": st, "dt": dt}
    p = {name: model.parameter(name, value) for name, value in given.items()}
    fields = {
        "drift": p["v"],
        "threshold": p["a"] * 0.5,
        "starting_point": (p["z"] - 0.5) * p["a"],
        "non_decision_time": p["t"],
        "drift_deviation": p["sv"],
        "start_range": p["sz"] * p["a"],
        "time_range": p["st"],
        "dt": p["dt"],
    }
    return _diffuses(model, fields, None, corrected, max_steps)


def ddm_angle(
    drift: float = 0.8,
    threshold: float = 1.0,
    angle: float = 0.3,
    starting_point: float = 0.0,
    non_decision_time: float = 0.0,
    noise: float = 1.0,
    dt: float = 0.001,
    *,
    corrected: bool = False,
    max_steps: int = 100_000,
) -> Model:
    """The DDM whose thresholds fall linearly: threshold - tan(angle) * time, angle in radians.

    Others, corrected and outputs: as of ddm(). Parameters: those in front of the star. ModelError:
    a value that cannot be.
    """
    model = Model("ddm_angle")
    fields = _fields(drift, threshold, starting_point, non_decision_time, noise, dt)
    return _decides(
        model, fields, Angle(angle=model.parameter("angle", angle)), corrected, max_steps
    )


def ddm_weibull(
    drift: float = 0.8,
    threshold: float = 1.0,
    scale: float = 1.5,
    shape: float = 3.0,
    starting_point: float = 0.0,
    non_decision_time: float = 0.0,
    noise: float = 1.0,
    dt: float = 0.001,
    *,
    corrected: bool = False,
    max_steps: int = 100_000,
) -> Model:
    """The DDM whose thresholds fall by Weibull's function: threshold * exp(-(time/scale)**shape).

    Others, corrected and outputs: as of ddm(). Parameters: those in front of the star. ModelError:
    a value that cannot be.
    """
    model = Model("ddm_weibull")
    p = model.parameter
    fields = _fields(drift, threshold, starting_point, non_decision_time, noise, dt)
    collapse = WeibullCollapse(scale=p("scale", scale), shape=p("shape", shape))
    return _decides(model, fields, collapse, corrected, max_steps)


def ornstein_uhlenbeck(
    drift: float = 0.8,
    threshold: float = 1.0,
    leak: float = 1.0,
    starting_point: float = 0.0,
    non_decision_time: float = 0.0,
    noise: float = 1.0,
    dt: float = 0.001,
    *,
    corrected: bool = False,
    max_steps: int = 100_000,
) -> Model:
    """The DDM with a leak (Busemeyer & Townsend 1993): the drift is drift - leak * evidence, so
    evidence decays, or grows by itself with a leak below 0.

    Others, corrected and outputs: as of ddm(). Parameters: those in front of the star. ModelError:
    a value that cannot be.
    """
    model = Model("ornstein_uhlenbeck")
    fields = _fields(drift, threshold, starting_point, non_decision_time, noise, dt)
    return _decides(model, {**fields, "leak": leak}, None, corrected, max_steps)


def levy(
    drift: float = 0.8,
    threshold: float = 1.0,
    stability: float = 1.5,
    starting_point: float = 0.0,
    non_decision_time: float = 0.0,
    noise: float = 0.7,
    dt: float = 0.001,
    *,
    max_steps: int = 100_000,
) -> Model:
    """The Lévy flight (Voss et al. 2019): the DDM with steps of heavy tails.

    A step is noise * dt**(1 / stability) times a symmetric stable number, whose characteristic
    function is exp(-|t|**stability): with the stability 2 it is the DDM with sqrt(2) * noise, with
    1 steps are Cauchy's. Others and outputs: as of ddm(). Parameters: those in front of the star.
    ModelError: a value that cannot be, such as a stability outside [1, 2].
    """
    model = Model("levy")
    fields = _fields(drift, threshold, starting_point, non_decision_time, noise, dt)
    return _decides(model, {**fields, "stability": stability}, None, False, max_steps)


def lba(
    size: int = 2,
    threshold: float = 1.0,
    start_range: float = 0.5,
    drift_deviation: float = 1.0,
    non_decision_time: float = 0.0,
    deadline: float = 1000.0,
    *,
    seed: int = 0,
) -> Model:
    """The linear ballistic accumulator (Brown & Heathcote 2008): straight lines race to one
    threshold, each from a uniform start in [0, start_range) with a normal drift.

    size: accumulators, each with its mean drift, an element of the input `stimulus`. deadline: the
    longest decision; a trial without one by then has choice -1 and `truncated`. Parameters: the
    numbers from threshold to deadline. Outputs: response_time, choice (the winner's number),
    times (of all accumulators), truncated. ModelError: a value that cannot be.
    """
    model = Model("lba")
    p = model.parameter
    accumulators = model.add(
        LBA(
            "accumulators",
            size=size,
            threshold=p("threshold", threshold),
            start_range=p("start_range", start_range),
            drift_deviation=p("drift_deviation", drift_deviation),
            non_decision_time=p("non_decision_time", non_decision_time),
            deadline=p("deadline", deadline),
            seed=seed,
        )
    )
    model.input("stimulus", accumulators)
    for name, port in (("response_time",) * 2, ("choice",) * 2, ("times", "value")):
        model.output(name, accumulators, port)
    return model


def race(
    size: int = 3,
    noise: float = 1.0,
    threshold: float = 1.0,
    starting_point: float = 0.0,
    non_decision_time: float = 0.0,
    dt: float = 0.001,
    *,
    max_steps: int = 100_000,
    seed: int = 0,
) -> Model:
    """Independent accumulators that race to one threshold (Logan et al. 2014, with steps of dt).

    size: accumulators, each with its drift, an element of the input `stimulus`. Parameters: the
    numbers from noise to dt. Outputs: response_time, choice (the winner's number, -1 none within
    max_steps), activity, truncated. ModelError: a value that cannot be.
    """
    model = Model("race")
    p = model.parameter
    accumulators = model.add(
        LCA(
            "accumulators",
            size=size,
            leak=0.0,
            competition=0.0,
            self_excitation=0.0,
            dt=p("dt", dt, description="time of one step"),
            noise=Normal(standard_deviation=p("noise", noise)),
            initial_state=p("starting_point", starting_point),
            function=Linear(),
            until=AtLeast(threshold=p("threshold", threshold)),
            non_decision_time=p("non_decision_time", non_decision_time),
            max_steps=max_steps,
            seed=seed,
        )
    )
    model.input("stimulus", accumulators)
    for name, port in (("response_time",) * 2, ("choice",) * 2, ("activity", "value")):
        model.output(name, accumulators, port)
    return model


def _fields(
    drift: float,
    threshold: float,
    starting_point: float,
    non_decision_time: float,
    noise: float,
    dt: float,
) -> dict[str, float]:
    return {
        "drift": drift,
        "threshold": threshold,
        "starting_point": starting_point,
        "non_decision_time": non_decision_time,
        "noise": noise,
        "dt": dt,
    }


def _decides(
    model: Model,
    fields: dict[str, float],
    collapse: Collapse | None,
    corrected: bool,
    max_steps: int,
) -> Model:
    """The model of one Diffusion, with a parameter for each field."""
    named = {name: model.parameter(name, value) for name, value in fields.items()}
    return _diffuses(model, named, collapse, corrected, max_steps)


def _diffuses(
    model: Model,
    fields: dict[str, Any],
    collapse: Collapse | None,
    corrected: bool,
    max_steps: int,
) -> Model:
    """The model of one Diffusion with these fields."""
    decision = model.add(
        Diffusion(
            "decision",
            collapse=collapse,
            corrected=corrected,
            max_steps=max_steps,
            seed=0,
            **fields,
        )
    )
    for port in ("response_time", "choice", "decision_variable"):
        model.output(port, decision, port)
    return model
