"""Changes along the course of trials: what happens to a mechanism while a condition holds.

reset_when(model, node, AtTrial(3))              its memory begins anew before the trial
override(model, node, "node.function.gain", 2.0, AfterTrial(5))   its calls take another value
"""

from __future__ import annotations

from typing import Any

import numpy as np

from psylang.model.along import Override, Reset
from psylang.model.composition import Model
from psylang.model.compound import NWhen
from psylang.model.conditions import Always, Condition, EveryNCalls, JustRan, WhenFinished
from psylang.model.errors import ModelError, listed
from psylang.model.mechanism import Mechanism
from psylang.model.parameters import array_of


def reset_when(model: Model, mechanism: str | Mechanism, condition: Condition) -> None:
    """Lets a mechanism that keeps its memory from trial to trial begin anew in some trials.

    ModelError: it begins anew in each, or the condition asks for calls, or for what ended, within
    the trial, which has only begun.
    """
    node = model._known(mechanism)
    if node.reset != "never":
        raise ModelError(f"`{node.name}` is reset in each trial; give it reset='never'")
    kinds = (NWhen, EveryNCalls, JustRan, WhenFinished)
    wrong = [one for one in condition.walk() if isinstance(one, kinds)]
    within = [
        one
        for one in condition.walk()
        if any(unit == "calls" and scale != "run" for unit, scale, _ in one.counters(("",)))
    ]
    for one in (*wrong, *within):
        raise ModelError(
            f"{type(one).__name__} counts within the trial, and `{node.name}` is reset when the "
            "trial begins; count since the run began, or trials"
        )
    if any(one.node == node.name for one in model.resets):
        raise ModelError(f"`{node.name}` has a condition for its reset already; join them by Any")
    model.resets.append(Reset(node.name, condition))


def override(
    model: Model,
    mechanism: str | Mechanism,
    parameter: str,
    value: Any,
    condition: Condition | None = None,
) -> None:
    """Gives a parameter another value in the calls of a mechanism; without a condition in all.

    ModelError: no parameter of this mechanism alone, a shape or a limit that the value violates, or
    a condition that counts since the owner ran.
    """
    node, default = model._known(mechanism), model.default(parameter)
    users = [one for one, names in model.names.items() if parameter in names.values()]
    if users != [node.name] or parameter in model._formulas:
        raise ModelError(
            f"`{parameter}` is used by {listed(users)}; a parameter of `{node.name}` alone may "
            "have another value in its calls"
        )
    given = array_of(parameter, value)
    try:
        array = np.broadcast_to(given, default.shape).copy()
    except ValueError:
        raise ModelError(
            f"the value of `{parameter}` has shape {given.shape}; it needs {default.shape}"
        ) from None
    for limits in model.limits(parameter):
        limits.check(parameter, array)
    asked = condition or Always()
    for one in asked.walk():
        if isinstance(one, NWhen | EveryNCalls):
            raise ModelError(
                f"{type(one).__name__} counts the calls of its owner, and the value of a parameter "
                "has none; use AfterNCalls"
            )
    model.overrides.append(Override(node.name, parameter, array, asked))
