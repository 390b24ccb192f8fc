"""Checks that parts, which the importer does not convert, leave values as they are.

PsyNeuLink computes at each port, and lets many arguments change what a part computes. What is
neither converted nor found plain here is refused: no argument is ignored.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from psylang.pnl.reading import kind_of, number_of, only, value_of
from psylang.pnl.refusals import RefusedError

UNCHANGED = {"slope": 1.0, "intercept": 0.0, "scale": 1.0, "offset": 0.0}
KEPT = {"rate": 1.0, "increment": 0.0, "noise": 0.0}
VALUE = "OWNER_VALUE"
TRIAL = "ENVIRONMENT_STATE_UPDATE"  # PsyNeuLink calls it TimeScale.TRIAL.
RUN = "ENVIRONMENT_SEQUENCE"  # And this one TimeScale.RUN.


def passes_on(function: Any) -> bool:
    """Returns whether a function gives what it takes."""
    if kind_of(function) == "Identity":
        return True
    return kind_of(function) == "Linear" and all(
        np.all(number_of(function, name) == one) for name, one in UNCHANGED.items()
    )


def adds(function: Any) -> bool:
    """Returns whether an input port's function gives the sum of what arrives."""
    return kind_of(function) == "Identity" or (
        kind_of(function) == "LinearCombination"
        and value_of(function, "weights") is None
        and value_of(function, "exponents") is None
        and sums_up(function)
    )


def appends(function: Any) -> bool:
    """Returns whether a function gives its elements one after the other."""
    return kind_of(function) == "Concatenate" and _unscaled(function)


def sums_up(function: Any) -> bool:
    """Returns whether a function gives the sum of its elements."""
    kind = kind_of(function) in ("LinearCombination", "Reduce")
    return kind and value_of(function, "operation") == "sum" and _unscaled(function)


def _unscaled(function: Any) -> bool:
    return all(np.all(number_of(function, name) == UNCHANGED[name]) for name in ("scale", "offset"))


def hands_on(port: Any, place: int = 0) -> bool:
    """Returns whether an output port passes on a value of its mechanism unchanged."""
    return takes_value(port, place) and passes_on(port.function)


def takes_value(port: Any, place: int = 0) -> bool:
    """Returns whether an output port's function takes a value of its mechanism."""
    spec = port._variable_spec
    return isinstance(spec, tuple) and spec == (VALUE, place)


def keeps(function: Any) -> bool:
    """Returns whether a function gives its memory unchanged, as the port of a matrix does."""
    return kind_of(function) == "AccumulatorIntegrator" and all(
        np.all(number_of(function, name) == one) for name, one in KEPT.items()
    )


def plain_parameters(component: Any) -> None:
    """RefusedError: a parameter port computes, so that the parameter is not what was given."""
    for port in component.parameter_ports:
        if not passes_on(port.function) and not keeps(port.function):
            raise RefusedError(
                f"its {port.name} passes through a function of its ParameterPort",
                "give the parameter the value",
            )


def weighs(projection: Any) -> bool:
    """Returns whether a projection has a weight or an exponent."""
    return any(value_of(projection, one) not in (None, 1) for one in ("weight", "exponent"))


def plain_matrix(projection: Any) -> None:
    """RefusedError: it does something else than to multiply by its matrix."""
    function = projection.function
    if kind_of(function) not in ("MatrixTransform", "LinearMatrix", "Identity"):
        raise RefusedError(f"{projection.name} computes {kind_of(function)}", "nearest: a matrix")
    if kind_of(function) == "MatrixTransform":
        operation = str(value_of(function, "operation"))
        if operation != "dot_product" or value_of(function, "normalize"):
            raise RefusedError(
                f"{projection.name} computes {operation}"
                f"{', normalised' if value_of(function, 'normalize') else ''}",
                "nearest: a MatrixTransform with operation=DOT_PRODUCT, not normalised",
            )
    plain_parameters(projection)


def trials_of(scheduler: Any, given: Mapping[Any, Any] | None) -> int | None:
    """The number of trials after which a run ends by its own condition.

    RefusedError: it has another condition that ends it, or one at another time scale.
    """
    found = None
    for scale, condition in {**scheduler.termination_conds, **(given or {})}.items():
        name = getattr(scale, "name", str(scale))
        if name == TRIAL or (name == RUN and kind_of(condition) == "Never"):
            continue
        counts = kind_of(condition) in ("AfterNTrials", "AfterNEnvironmentStateUpdates")
        if name != RUN or not counts or condition.args[1].name != RUN:
            raise RefusedError(
                f"{kind_of(condition)} ends it at the time scale {name}",
                "nearest: AfterNTrials at TimeScale.RUN, or num_trials",
            )
        found = int(condition.args[0])
        if found < 1:
            raise RefusedError(f"it ends after {found} trials", "1 or more")
    return found


def takes_each(function: Any) -> None:
    """RefusedError: it takes all ports together."""
    if kind_of(function) == "SoftMax":
        only(function, per_item=True)
    if kind_of(function) == "OneHot":
        raise RefusedError("OneHot takes several ports together", "one input port")


def same_everywhere(component: Any, name: str) -> None:
    """RefusedError: a parameter has another value in some context than the one that is read."""
    for context in [*getattr(component.parameters, name).values]:
        same_in(context, component, name)


def same_in(context: Any, component: Any, name: str) -> None:
    """RefusedError: a parameter has another value in a composition than the one that is read."""
    kept = getattr(component.parameters, name).values.get(context)
    if kept is None:
        return
    base = value_of(component, name)
    if not np.array_equal(np.ravel(kept), np.ravel(base)):
        raise RefusedError(
            f"`{name}` of {kind_of(component)} is {base}, but {kept} in the context {context}",
            f"set it for all contexts: parameters.{name}.set({kept})",
        )
