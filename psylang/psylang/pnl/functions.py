"""Converters of transfer functions, integrators and noise."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from psylang.model import functions, integrators, noise
from psylang.pnl.reading import At, kind_of, only, value_of
from psylang.pnl.refusals import RefusedError
from psylang.pnl.tables import converter, converts
from psylang.pnl.twister import refuse_states

# Transfer functions whose fields have PsyNeuLink's names, or the names given here.
PLAIN: Mapping[str, tuple[Callable[..., Any], Mapping[str, str]]] = {
    "Linear": (functions.Linear, {n: n for n in ("slope", "intercept", "scale", "offset")}),
    "Logistic": (functions.Logistic, {n: n for n in ("gain", "bias", "x_0", "scale", "offset")}),
    "Tanh": (functions.Tanh, {n: n for n in ("gain", "bias", "x_0", "scale", "offset")}),
    "ReLU": (functions.ReLU, {n: n for n in ("gain", "bias", "leak", "scale", "offset")}),
    "Exponential": (functions.Exponential, {n: n for n in ("rate", "bias", "scale", "offset")}),
}


def _plain(name: str) -> None:
    make, fields = PLAIN[name]

    @converts("function", name, name)
    def convert(function: Any, at: At) -> Any:
        return make(**at.numbers(function, fields))


for _name in PLAIN:
    _plain(_name)


@converts("function", "Identity", "Linear")
@converts("function", "Dropout", "Linear", "drops in learn() alone, as in PsyNeuLink")
def _identity(function: Any, at: At) -> Any:
    return functions.Linear()


@converts("function", "Gaussian", "Gaussian")
def _gaussian(function: Any, at: At) -> Any:
    fields = {"standard_deviation": "standard_deviation", "bias": "bias"}
    fields |= {"scale": "scale", "offset": "offset"}
    return functions.Gaussian(**at.numbers(function, fields))


@converts("function", "SoftMax", "SoftMax", "output ALL, no adaptive gain, no mask")
def _softmax(function: Any, at: At) -> Any:
    only(function, output="all", mask_threshold=None)
    if isinstance(value_of(function, "gain"), str):
        raise RefusedError("SoftMax has an adaptive gain", "give gain a number")
    return functions.SoftMax(**at.numbers(function, {"gain": "gain"}))


@converts("function", "OneHot", "OneHot", "of one port; ties FIRST, LAST, ALL; or by chance, below")
def _one_hot(function: Any, at: At) -> Any:
    options = [value_of(function, name) for name in ("direction", "abs_val", "indicator", "tie")]
    mode = str(value_of(function, "mode")).lower()
    if mode in ("prob", "prob_indicator"):
        raise RefusedError(
            f"OneHot has mode {mode.upper()}", "a ProcessingMechanism with two input ports"
        )
    if mode != "deterministic":
        options = list(function._parse_mode(value_of(function, "mode")))
    absolute, indicator = bool(options[1]), bool(options[2])
    which: list[Any] = [str(options[k]).lower() for k in (0, 3)]
    if which[1] == "random":
        raise RefusedError("OneHot chooses among equal elements at random", "tie=FIRST or ALL")
    return functions.OneHot(
        direction=which[0], absolute=absolute, indicator=indicator, tie=which[1]
    )


def transfer_function(function: Any, at: At) -> Any:
    """The transfer function of a mechanism."""
    return converter("function", kind_of(function))(function, at)


# Integrators.


def _integrator(make: Callable[..., Any], fields: Mapping[str, str]) -> Callable[..., Any]:
    def convert(function: Any, at: At) -> Any:
        given = value_of(function, "noise")
        numbers = at.numbers(function, fields)
        drawn, constant = noise_of(given, at.part("noise"))
        if constant:
            if numbers["offset"] != 0.0:
                raise RefusedError("noise is a number, and there is an offset", "give one of them")
            numbers["offset"] = constant
        return make(noise=drawn, initial=at.initial(function), **numbers)

    return convert


converts("integrator", "SimpleIntegrator", "SimpleIntegrator")(
    _integrator(integrators.SimpleIntegrator, {"rate": "rate", "offset": "offset"})
)
converts("integrator", "AdaptiveIntegrator", "AdaptiveIntegrator")(
    _integrator(integrators.AdaptiveIntegrator, {"rate": "rate", "offset": "offset"})
)


@converts("integrator", "LeakyCompetingIntegrator", "LeakyCompetingIntegrator", "noise is drawn")
def _leaky(function: Any, at: At) -> Any:
    given = value_of(function, "noise")
    drawn, constant = noise_of(given, at.part("noise"))
    if constant:
        raise RefusedError("LeakyCompetingIntegrator has a number as noise", "give it NormalDist")
    fields = {"leak": "rate", "dt": "time_step_size", "offset": "offset"}
    return integrators.LeakyCompetingIntegrator(
        noise=drawn,
        initial=at.initial(function),
        **at.numbers(function, fields),
    )


@converts("integrator", "AccumulatorIntegrator", "Accumulator", "in a TransferMechanism, too")
def _accumulator(function: Any, at: At) -> Any:
    drawn, constant = noise_of(value_of(function, "noise"), at.part("noise"))
    numbers = at.numbers(function, {"rate": "rate", "increment": "increment"})
    if constant:
        raise RefusedError("AccumulatorIntegrator has a number as noise", "add it to increment")
    return integrators.Accumulator(noise=drawn, initial=at.initial(function), **numbers)


@converts(
    "integrator", "InteractiveActivationIntegrator", "InteractiveActivation", "begins at rest"
)
def _interactive(function: Any, at: At) -> Any:
    drawn, constant = noise_of(value_of(function, "noise"), at.part("noise"))
    if constant:
        raise RefusedError("InteractiveActivationIntegrator has a number as noise", "NormalDist")
    fields = {"rate": "rate", "decay": "decay", "rest": "rest", "most": "max_val"}
    numbers = at.numbers(function, {**fields, "least": "min_val"})
    initial = at.initial(function, "rest") if at.start is not None else numbers["rest"]
    return integrators.InteractiveActivation(noise=drawn, initial=initial, **numbers)


@converts(
    "integrator", "OrnsteinUhlenbeckIntegrator", "OrnsteinUhlenbeck", "one draw for all units"
)
def _ornstein(function: Any, at: At) -> Any:
    fields = {"rate": "rate", "decay": "decay", "noise": "noise", "dt": "time_step_size"}
    numbers = at.numbers(function, {**fields, "offset": "offset"})
    return integrators.OrnsteinUhlenbeck(initial=at.initial(function), **numbers)


@converts("integrator", "DriftDiffusionIntegrator", "DriftDiffusion", "in a DDM")
def _drift(function: Any, at: At) -> Any:
    fields = {
        "rate": "rate",
        "noise": "noise",
        "threshold": "threshold",
        "dt": "time_step_size",
        "offset": "offset",
        "initial": "starting_value",
    }
    return integrators.DriftDiffusion(**at.numbers(function, fields))


def integrator_of(function: Any, at: At) -> Any:
    """The integrator of an integrator_function."""
    return converter("integrator", kind_of(function))(function, at)


def drawing(function: Any) -> Any:
    """What draws for an integrator: itself, or its noise."""
    return function if hasattr(function.parameters, "seed") else value_of(function, "noise")


# Noise.


@converts("noise", "NormalDist", "noise.Normal")
def _normal(dist: Any, at: At) -> Any:
    fields = {"mean": "mean", "standard_deviation": "standard_deviation"}
    return noise.Normal(**at.numbers(dist, fields))


@converts("noise", "UniformDist", "noise.Uniform")
def _uniform(dist: Any, at: At) -> Any:
    return noise.Uniform(**at.numbers(dist, {"low": "low", "high": "high"}))


@converts("noise", "ExponentialDist", "noise.Exponential")
def _exponential(dist: Any, at: At) -> Any:
    return noise.Exponential(**at.numbers(dist, {"mean": "beta"}))


@converts("noise", "GammaDist", "noise.Gamma")
def _gamma(dist: Any, at: At) -> Any:
    return noise.Gamma(**at.numbers(dist, {"shape": "dist_shape", "scale": "scale"}))


@converts("noise", "WaldDist", "noise.Wald")
def _wald(dist: Any, at: At) -> Any:
    return noise.Wald(**at.numbers(dist, {"mean": "mean", "scale": "scale"}))


def noise_of(given: Any, at: At) -> tuple[Any, float]:
    """(a distribution or None, a constant that is added)."""
    if hasattr(given, "parameters"):
        return converter("noise", kind_of(given))(given, at), 0.0
    if callable(given):
        raise RefusedError("noise is a Python function", "give it NormalDist or another of NumPy's")
    array = np.array(given, dtype=object)
    if any(callable(one) for one in array.flat):
        raise RefusedError("noise differs by unit", "give all units one distribution")
    numbers = array.astype(np.float64)
    if not np.all(numbers == numbers.flat[0]) or not math.isfinite(numbers.flat[0]):
        raise RefusedError("noise is numbers that differ by unit", "give it a distribution")
    return None, float(numbers.flat[0])


def seed_of(component: Any, at: At) -> int | None:
    """The seed of what draws for a mechanism, with its generator's state in a live import; None: it
    does not draw."""
    if not hasattr(component, "parameters") or not hasattr(component.parameters, "seed"):
        return None
    refuse_states(component)
    seed = int(value_of(component, "seed"))
    return seed if at.live is None else at.live.begun(component, seed)
