"""Converts an OptimizationControlMechanism with a grid search, run before or after each trial."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from psylang.model import ControlSignal, ExponentialCost, GridSearch, LinearCost
from psylang.model.control import LISTED_MAX, Cost
from psylang.pnl.plain import TRIAL, adds, appends, passes_on, sums_up
from psylang.pnl.reading import Paths, kind_of, number_of, only, value_of
from psylang.pnl.refusals import RefusedError

NEAREST = "nearest: an OptimizationControlMechanism with GridSearch"


def search_of(composition: Any, paths: Paths, node: Callable[[Any], str]) -> GridSearch:
    """The controller of a composition. RefusedError: it has another kind of control."""
    controller = composition.controller
    if kind_of(controller) != "OptimizationControlMechanism":
        raise RefusedError(f"the controller is {kind_of(controller)}", NEAREST)
    if kind_of(controller.function) != "GridSearch":
        raise RefusedError(f"it searches by {kind_of(controller.function)}", NEAREST)
    if kind_of(composition.controller_condition) != "Always":
        raise RefusedError("it runs on a condition of its own", "leave controller_condition out")
    if controller.agent_rep is not composition:
        raise RefusedError("its agent_rep is another composition", "nearest: the composition")
    if composition.controller_time_scale.name != TRIAL:
        raise RefusedError(
            f"it runs at the time scale {composition.controller_time_scale.name}",
            "nearest: controller_time_scale=TimeScale.TRIAL",
        )
    _features(controller)
    _outcome(controller)
    if value_of(controller, "num_estimates"):
        raise RefusedError(
            "num_estimates is given", "leave it out: candidates meet the noise of the trial"
        )
    if value_of(controller, "compute_reconfiguration_cost") is not None:
        raise RefusedError("it has a reconfiguration cost", "nearest: CostFunctions.INTENSITY")
    search = controller.function
    if value_of(search, "select_randomly_from_optimal_values"):
        raise RefusedError("it chooses among equal values at random", "take the first of them")
    return GridSearch(
        [_signal(one, paths) for one in controller.control_signals],
        objective=_objective(controller, node),
        direction=value_of(search, "direction"),
        after=str(composition.controller_mode).lower() == "after",
    )


def _features(controller: Any) -> None:
    """RefusedError: simulations have other inputs than the trial."""
    shadowed = [one.shadow_inputs for one in controller.state_input_ports]
    inputs = controller._get_agent_rep_input_receivers()
    same = len(shadowed) == len(inputs) and all(map(operator.is_, shadowed, inputs))
    if not same or not all(adds(one.function) for one in controller.state_input_ports):
        raise RefusedError(
            "its state_features are not the inputs of the composition as they are",
            "state_features with the input port of each INPUT node, without state_feature_function",
        )


def _outcome(controller: Any) -> None:
    """RefusedError: its outcome is not what is monitored, less the sum of its costs."""
    only(controller, combine_costs=np.sum, num_trials_per_estimate=None, search_statefulness=True)
    usual = type(controller).parameters.compute_net_outcome.default_value
    if value_of(controller, "compute_net_outcome") is not usual:
        raise RefusedError(
            "its compute_net_outcome is a function of its own", "an ObjectiveMechanism, and costs"
        )
    for port in controller.outcome_input_ports:
        if not adds(port.function) and not appends(port.function):
            raise RefusedError(
                f"its port {port.name} computes {kind_of(port.function)}",
                "an ObjectiveMechanism that computes it",
            )


def _objective(controller: Any, node: Callable[[Any], str]) -> str:
    objective = controller.objective_mechanism
    if objective is not None:
        return node(objective)
    senders = [one.sender for port in controller.outcome_input_ports for one in port.path_afferents]
    if len(senders) != 1 or senders[0] is not senders[0].owner.output_ports[0]:
        raise RefusedError(
            f"it monitors {len(senders)} output ports without an objective_mechanism",
            "nearest: an ObjectiveMechanism, or the one main output of a mechanism",
        )
    return node(senders[0].owner)


def _signal(signal: Any, paths: Paths) -> ControlSignal:
    if len(signal.efferents) != 1:
        raise RefusedError(
            f"{signal.name} sets {len(signal.efferents)} parameters", "give each a ControlSignal"
        )
    source = signal.efferents[0].receiver.source
    owner = source._owner._owner
    if kind_of(signal.function) != "TransferWithCosts" or not passes_on(
        signal.function.transfer_fct
    ):
        raise RefusedError(
            f"{signal.name} has a function of its own", "give it the allocation_samples themselves"
        )
    parameter = paths.find(owner, source.name)
    if parameter is None:
        raise RefusedError(
            f"{signal.name} sets {source.name} of {kind_of(owner)}",
            "nearest: a number of a mechanism's function, integrator or noise",
        )
    return ControlSignal(
        parameter,
        _levels(signal),
        modulation=_modulation(signal, source),
        cost=_cost(signal),
        initial=float(np.ravel(signal.defaults.value)[0]),
    )


def _levels(signal: Any) -> list[float]:
    samples = list(value_of(signal, "allocation_samples"))
    levels = [float(np.ravel(one)[0]) for one in samples]
    if len(levels) > LISTED_MAX:
        raise RefusedError(
            f"{signal.name} has {len(levels)} samples", f"nearest: {LISTED_MAX} of them"
        )
    return levels


def _modulation(signal: Any, source: Any) -> Any:
    """PsyNeuLink's default multiplies the function's multiplicative parameter."""
    given = str(value_of(signal, "modulation")).lower()
    for name in ("override", "multiplicative", "additive"):
        if name in given:
            return name
    raise RefusedError(f"modulation is {given}", "OVERRIDE, MULTIPLICATIVE or ADDITIVE")


def _cost(signal: Any) -> Cost | None:
    options = value_of(signal, "cost_options")
    names = [] if options is None else [one.name for one in type(options) if one & options]
    names = [one for one in names if one not in ("NONE", "DEFAULTS")]
    if not names:
        return None
    if names != ["INTENSITY"]:
        raise RefusedError(f"costs are {', '.join(names)}", "nearest: CostFunctions.INTENSITY")
    if not sums_up(signal.function.combine_costs_fct):
        raise RefusedError("the costs of a signal are combined", "nearest: their sum")
    function = signal.intensity_cost_function
    if kind_of(function) == "Exponential":
        if (number_of(function, "scale"), number_of(function, "offset")) != (1.0, 0.0):
            raise RefusedError("the cost has a scale or an offset", "rate and bias")
        return ExponentialCost(number_of(function, "rate"), number_of(function, "bias"))
    if kind_of(function) == "Linear":
        only(function, scale=1.0, offset=0.0)
        return LinearCost(number_of(function, "slope"), number_of(function, "intercept"))
    raise RefusedError(f"the cost is {kind_of(function)}", "nearest: Exponential or Linear")
