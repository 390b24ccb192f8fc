"""Converters of integrators with several states, which are mechanisms of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from psylang.model.dynamics import DualAdaptive, FitzHughNagumo, Spiking
from psylang.model.sphere import SphereDrift
from psylang.pnl.functions import seed_of
from psylang.pnl.plain import hands_on
from psylang.pnl.reading import At, begins_as_built, kind_of, only, value_of
from psylang.pnl.refusals import RefusedError
from psylang.pnl.tables import converts

NEURON = {
    **{name: name for name in ("a_v", "b_v", "c_v", "d_v", "e_v", "f_v", "a_w", "b_w", "c_w")},
    "initial_v": "initial_v",
    "initial_w": "initial_w",
    "initial_time": "t_0",
    "dt": "time_step_size",
    "tau_v": "time_constant_v",
    "tau_w": "time_constant_w",
    "threshold": "threshold",
    "mode": "mode",
    "uncorrelated": "uncorrelated_activity",
}


def neuron_of(function: Any, at: At) -> FitzHughNagumo:
    method: Literal["RK4", "EULER"] = value_of(function, "integration_method")
    return FitzHughNagumo(method=method, **at.numbers(function, NEURON))


def rows_of(mechanism: Any, names: tuple[str, ...]) -> dict[str, str]:
    """By output port the row of the value that it passes on; others may be unused."""
    return {
        port.name: name
        for port in mechanism.output_ports
        for place, name in enumerate(names)
        if hands_on(port, place)
    }


Whole = Callable[..., tuple[Any, dict[str, str]]]
WHOLE: dict[str, Whole] = {}  # By class: from the IntegratorMechanism to a mechanism.


def _whole(name: str, form: str) -> Callable[[Whole], Whole]:
    @converts("integrator", name, form, "in an IntegratorMechanism")
    def refused(function: Any, at: At) -> Any:
        raise RefusedError(
            f"its integrator is {kind_of(function)}, of several states", "an IntegratorMechanism"
        )

    def register(convert: Whole) -> Whole:
        WHOLE[name] = convert
        return convert

    return register


@_whole("FitzHughNagumoIntegrator", "Spiking")
def _spiking(mechanism: Any, name: str, at: At, **how: Any) -> tuple[Any, dict[str, str]]:
    made = Spiking(name, neuron=neuron_of(mechanism.function, at.part("neuron")), **how)
    return made, rows_of(mechanism, ("v", "w", "time"))


@_whole("DualAdaptiveIntegrator", "DualAdaptive")
def _dual(mechanism: Any, name: str, at: At, **how: Any) -> tuple[Any, dict[str, str]]:
    function = mechanism.function
    fields = {"initial_short": "initial_short_term_avg", "initial_long": "initial_long_term_avg"}
    for which in ("short", "long"):
        for what in ("rate", "gain", "bias"):
            fields[f"{which}_{what}"] = f"{which}_term_{what}"
    numbers = at.numbers(function, {**fields, "offset": "offset"})
    operation: Any = str(value_of(function, "operation"))  # One of PsyNeuLink's names, and ours.
    return DualAdaptive(name, operation=operation, **numbers, **how), rows_of(mechanism, ("value",))


@_whole("DriftOnASphereIntegrator", "SphereDrift")
def _sphere(mechanism: Any, name: str, at: At, *, size: int, **how: Any) -> tuple[Any, Any]:
    function = mechanism.function
    only(function, offset=0.0)
    dimension = int(value_of(function, "dimension"))
    if size == 1:
        raise RefusedError(
            "its input is a number, which scales a direction that NumPy's global generator drew",
            "an input of dimension - 1 elements, of 3 dimensions or more",
        )
    space = str(value_of(function, "input_space"))
    sizes = {"tangent": (dimension - 1,), "target": (dimension,)}
    if size not in sizes.get(space, (dimension - 1, dimension)):
        raise RefusedError(
            f"its input has {size} elements, and input_space is {space}",
            f"{dimension - 1} elements, or {dimension} of a target",
        )
    numbers = at.numbers(function, {"rate": "rate", "noise": "noise", "dt": "time_step_size"})
    # Its construction moves the point, with draws, and only a reset takes it back.
    built = begins_as_built(mechanism)
    begins = "previous_value" if built else "initializer"
    kind = kind_of(mechanism.reset_stateful_function_when)
    kept, usual = (np.ravel(value_of(function, one)) for one in ("previous_value", "initializer"))
    if built and kind != "Never" and not np.array_equal(kept, usual):
        raise RefusedError(
            f"its reset is on {kind}, and it begins where its construction moved it",
            "AtRunStart, AtTrialStart or Never",
        )
    made = SphereDrift(
        name,
        dimension=dimension,
        toward=size == dimension,
        begin=np.array(value_of(function, begins), dtype=np.float64).ravel(),
        seed=seed_of(function, at),
        **numbers,
        **how,
    )
    return made, rows_of(mechanism, ("value",))
