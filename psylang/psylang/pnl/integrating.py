"""Converters of integrators with several states, which are mechanisms of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from psylang.model.dynamics import DualAdaptive, FitzHughNagumo, Spiking
from psylang.pnl.plain import hands_on
from psylang.pnl.reading import At, kind_of, value_of
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
