"""Converts an OptimizationControlMechanism with a grid search, run before or after each trial."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from psylang.model import (
    ControlSignal,
    DurationCost,
    ExponentialCost,
    FunctionCost,
    GridSearch,
    LinearCost,
)
from psylang.model.control import LISTED_MAX
from psylang.model.costs import Cost
from psylang.model.estimates import SEEDS, Reseeding
from psylang.pnl.modulating import modulation_of, parameter_set, sends_level
from psylang.pnl.plain import TRIAL, adds, appends, sums_up
from psylang.pnl.ports import Adopted, is_plain
from psylang.pnl.reading import Paths, kind_of, number_of, only, value_of
from psylang.pnl.refusals import RefusedError

RANDOMIZATION = "RANDOMIZATION_CONTROL_SIGNAL"
NEAREST = "nearest: an OptimizationControlMechanism with GridSearch"


def search_of(
    composition: Any,
    paths: Paths,
    node: Callable[[Any], str],
    drawing: Callable[[], Mapping[str, Any]],
) -> GridSearch:
    """The controller of a composition. drawing: gives, by mechanism that draws, the component that
    has its seed. RefusedError: it has another kind of control."""
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
    if value_of(controller, "compute_reconfiguration_cost") is not None:
        raise RefusedError(
            "it has a reconfiguration cost, with which PsyNeuLink 0.21 itself ends with an error",
            "nearest: CostFunctions.ADJUSTMENT, with an adjustment_cost_function",
        )
    search = controller.function
    signals = list(controller.control_signals)
    estimates, reseeding = None, None
    if value_of(controller, "num_estimates"):
        estimates, signals = int(value_of(controller, "num_estimates")), signals[:-1]
        reseeding = _reseeding(controller, drawing())
    if value_of(search, "select_randomly_from_optimal_values"):
        raise RefusedError("it chooses among equal values at random", "take the first of them")
    return GridSearch(
        [_signal(one, paths) for one in signals],
        objective=_objective(controller, node),
        direction=value_of(search, "direction"),
        num_estimates=estimates,
        after=str(composition.controller_mode).lower() == "after",
        reseeding=reseeding,
    )


def _reseeding(controller: Any, drawing: Mapping[str, Any]) -> Reseeding:
    """The seeds that its signal for randomization gives."""
    signal, search = controller.control_signals[-1], controller.function
    if signal.name != RANDOMIZATION:
        raise RefusedError(f"{signal.name} follows {RANDOMIZATION}", "give signals at construction")
    if value_of(controller, "same_seed_for_all_allocations"):
        raise RefusedError(
            "same_seed_for_all_allocations is given",
            "leave it out: all allocations of a search have the same seeds",
        )
    if not _averages(value_of(search, "aggregation_function")):
        raise RefusedError("it has an aggregation_function", "nearest: the mean")
    sharing = value_of(controller, "noise_stream_policy") != "independent"
    order = list(controller.random_variables)
    slots = {}
    for mechanism, component in drawing.items():
        places = [k for k, one in enumerate(order) if one is component]
        if not places:
            raise RefusedError(
                f"its random_variables leave out {component.name}, which draws for {mechanism}",
                "random_variables=ALL",
            )
        slots[mechanism] = 0 if sharing else places[0]
    width = 1 if sharing else len(order)
    first = int(_samples(value_of(search, "search_space")[-1])[0])
    return Reseeding(
        slots,
        first=first // width,
        width=width,
        blocks=0 if sharing else SEEDS // width,
        before=int(np.ravel(signal.defaults.value)[0]),
    )


def _averages(function: Any) -> bool:
    """Returns whether a function gives the mean of a search's estimates."""
    try:
        found = function(np.array([[[1.0], [2.0], [6.0]], [[0.5], [-1.0], [3.5]]]))
        return bool(np.array_equal(np.ravel(found), [3.0, 1.0]))
    except Exception:  # A function of the modeller may stop in any way.
        return False


def _samples(samples: Any) -> list[float]:
    return [float(np.ravel(one)[0]) for one in samples]


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
    if not sends_level(signal):
        raise RefusedError(
            f"{signal.name} has a function of its own", "give it the allocation_samples themselves"
        )
    parameter = parameter_set(signal, signal.efferents[0].receiver, paths)
    cost, adjustment, duration = _costs(signal)
    return ControlSignal(
        parameter,
        _levels(signal),
        modulation=modulation_of(signal),
        cost=cost,
        adjustment=adjustment,
        duration=duration,
        initial=float(np.ravel(signal.defaults.value)[0]),
    )


def _levels(signal: Any) -> list[float]:
    levels = _samples(value_of(signal, "allocation_samples"))
    if len(levels) > LISTED_MAX:
        raise RefusedError(
            f"{signal.name} has {len(levels)} samples", f"nearest: {LISTED_MAX} of them"
        )
    return levels


Made = TypeVar("Made")


def _costs(signal: Any) -> tuple[Cost | None, Cost | None, DurationCost | None]:
    """The costs of the level, of its change and of its duration."""
    options = value_of(signal, "cost_options")
    names = [] if options is None else [one.name for one in type(options) if one & options]
    names = [one for one in names if one in ("INTENSITY", "ADJUSTMENT", "DURATION")]
    if names and not sums_up(signal.function.combine_costs_fct):
        raise RefusedError("the costs of a signal are combined", "nearest: their sum")
    if "DURATION" in names and len(names) > 1:
        raise RefusedError(
            f"costs are {', '.join(names)}; PsyNeuLink itself ends with an error where a duration "
            "cost is one of several",
            "nearest: CostFunctions.DURATION alone",
        )

    def enabled(name: str, convert: Callable[[str, Any], Made], function: Any) -> Made | None:
        return convert(f"{name.lower()} cost", function) if name in names else None

    return (
        enabled("INTENSITY", _cost, signal.intensity_cost_function),
        enabled("ADJUSTMENT", _cost, signal.adjustment_cost_function),
        enabled("DURATION", _duration, signal.duration_cost_function),
    )


def _cost(which: str, function: Any) -> Cost:
    kind = kind_of(function)
    if kind == "Exponential":
        return ExponentialCost(**_plain(function, ("rate", "bias", "scale", "offset")))
    if kind == "Linear":
        return LinearCost(**_plain(function, ("slope", "intercept", "scale", "offset")))
    if kind == "UserDefinedFunction":
        python = value_of(function, "custom_function")
        if not is_plain(python) or len(inspect.signature(python).parameters) != 1:
            raise RefusedError(
                f"the {which} is {python!r}", "a function of one argument, by `def` in a file"
            )
        return FunctionCost(Adopted(python))
    raise RefusedError(f"the {which} is {kind}", "nearest: Exponential, Linear or a function")


def _duration(which: str, function: Any) -> DurationCost:
    """A SimpleIntegrator or AdaptiveIntegrator; it begins as its construction left it."""
    kind = kind_of(function)
    if kind not in ("SimpleIntegrator", "AdaptiveIntegrator"):
        raise RefusedError(
            f"the {which} is {kind}", "nearest: SimpleIntegrator or AdaptiveIntegrator"
        )
    only(function, noise=0.0)
    numbers = _plain(function, ("rate", "offset"))
    if kind == "AdaptiveIntegrator":
        numbers["kept"] = 1.0 - numbers["rate"]
    return DurationCost(initial=float(np.ravel(value_of(function, "previous_value"))[0]), **numbers)


def _plain(function: Any, names: Sequence[str]) -> dict[str, float]:
    """Parameters of one number. RefusedError: a vector."""
    numbers = {name: number_of(function, name) for name in names}
    for name, number in numbers.items():
        if not isinstance(number, float):
            raise RefusedError(f"`{name}` of its {kind_of(function)} is {number}", "one number")
    return numbers
