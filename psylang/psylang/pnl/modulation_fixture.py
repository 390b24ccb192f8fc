"""Scripts in PsyNeuLink's style whose parameters others set: costs of control, estimates.

IMPORTED and REFUSED as in samples_fixture.py. STOPPED: refused scripts at which PsyNeuLink itself
stops, with a part of its error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from psylang.pnl.samples_fixture import Script

IMPORTED: list[Script] = []
REFUSED: dict[Script, str] = {}
STOPPED: dict[Script, str] = {}
TRIALS = 100


def imported(script: Script) -> Script:
    IMPORTED.append(script)
    return script


def refused(why: str, stopped: str = "") -> Callable[[Script], Script]:
    def register(script: Script) -> Script:
        REFUSED[script] = why
        if stopped:
            STOPPED[script] = stopped
        return script

    return register


def stimuli(size: int = 1, trials: int = TRIALS) -> list[list[float]]:
    rows: list[list[float]] = np.random.default_rng(3).normal(size=(trials, size)).tolist()
    return rows


# Costs.


def size_of(change: Any) -> Any:
    """The cost of a change in either direction."""
    return 0.3 * np.abs(change)


def _allocating(
    pnl: Any, *signals: dict[str, Any], mode: str = "before", **given: Any
) -> tuple[Any, dict[str, Any]]:
    """Slopes of two layers that a grid search chooses, after Lieder et al. 2018."""
    source = pnl.ProcessingMechanism(name="source")
    nodes = [
        pnl.ProcessingMechanism(name=f"node{k}", function=pnl.Linear(slope=1.0 + k))
        for k in range(len(signals))
    ]
    net = pnl.Composition(pathways=[[source, one] for one in nodes], controller_mode=mode)
    monitor = pnl.ObjectiveMechanism(
        name="objective", monitor=nodes, function=pnl.LinearCombination
    )
    net.add_controller(
        pnl.OptimizationControlMechanism(
            name="control",
            agent_rep=net,
            state_features=[source.input_port],
            objective_mechanism=monitor,
            function=pnl.GridSearch(),
            control_signals=[
                pnl.ControlSignal(
                    modulates=(pnl.SLOPE, node), allocation_samples=[0.5, 2.0], **signal
                )
                for node, signal in zip(nodes, signals, strict=True)
            ],
            **given,
        )
    )
    return net, {"inputs": {source: stimuli()}}


@imported
def costs_of_changes(pnl: Any) -> tuple[Any, dict[str, Any]]:
    costs = pnl.CostFunctions
    both = {
        "cost_options": costs.ADJUSTMENT | costs.INTENSITY,
        "adjustment_cost_function": size_of,
        "intensity_cost_function": pnl.Exponential(rate=0.2, scale=0.3, offset=-0.1),
    }
    change = {"cost_options": costs.ADJUSTMENT, "default_allocation": [3.0]}
    return _allocating(pnl, both, change)


@imported
def costs_of_duration(pnl: Any) -> tuple[Any, dict[str, Any]]:
    lasting = {"cost_options": pnl.CostFunctions.DURATION}
    grown = pnl.SimpleIntegrator(rate=0.05, offset=-0.1, initializer=[3.0])
    faded = pnl.AdaptiveIntegrator(rate=0.3, offset=-0.1)
    signals = [{**lasting, "duration_cost_function": one} for one in (grown, faded)]
    return _allocating(pnl, *signals, mode="after")


@refused("it has a reconfiguration cost, with which PsyNeuLink", "no attribute 'set'")
def cost_of_reconfiguration(pnl: Any) -> tuple[Any, dict[str, Any]]:
    return _allocating(pnl, {}, compute_reconfiguration_cost=lambda allocations: 5.0)


@refused("PsyNeuLink itself ends with an error where a duration", "can only convert an array")
def costs_of_all_kinds(pnl: Any) -> tuple[Any, dict[str, Any]]:
    """PsyNeuLink does not build such a signal; costs can be enabled later."""
    costs = pnl.CostFunctions
    net, given = _allocating(pnl, {"cost_options": costs.INTENSITY})
    net.controller.control_signals[0].function.enable_costs([costs.DURATION])
    return net, given


# Estimates.


def _estimating(
    pnl: Any, *noisy: Any, mode: str = "before", **given: Any
) -> tuple[Any, dict[str, Any]]:
    """A slope that is chosen by the mean of two simulations."""
    source = pnl.ProcessingMechanism(name="source")
    net = pnl.Composition(pathways=[source, *noisy], controller_mode=mode)
    levels = pnl.ControlSignal(
        modulates=(pnl.SLOPE, source),
        allocation_samples=[0.5, 2.0],
        cost_options=pnl.CostFunctions.INTENSITY,
        intensity_cost_function=pnl.Linear(slope=0.1),
    )
    given = {"num_estimates": 2, "initial_seed": 10, "function": pnl.GridSearch(), **given}
    net.add_controller(
        pnl.OptimizationControlMechanism(
            name="control",
            agent_rep=net,
            state_features=[source.input_port],
            objective_mechanism=pnl.ObjectiveMechanism(name="objective", monitor=[noisy[-1]]),
            control_signals=[levels],
            **given,
        )
    )
    return net, {"inputs": {source: stimuli()}}


def _distorts(pnl: Any, name: str, seed: int) -> Any:
    return pnl.ProcessingMechanism(name=name, function=pnl.GaussianDistort(seed=seed))


@imported
def estimates_of_two(pnl: Any) -> tuple[Any, dict[str, Any]]:
    """Each of two noisy mechanisms has seeds of its own."""
    noise = pnl.NormalDist(seed=7)
    integrates = pnl.TransferMechanism(name="integrates", integrator_mode=True, noise=noise)
    return _estimating(pnl, integrates, _distorts(pnl, "distorts", 6))


@imported
def estimates_after_trials(pnl: Any) -> tuple[Any, dict[str, Any]]:
    """Decisions draw until they end; all mechanisms share the seeds."""
    function = pnl.DriftDiffusionIntegrator(seed=4, threshold=0.3, time_step_size=0.1)
    decides = pnl.DDM(name="decides", function=function)
    sharing = {"noise_stream_policy": "shared_seed"}
    net, given = _estimating(pnl, _distorts(pnl, "distorts", 6), decides, mode="after", **sharing)
    return net, given


@refused("same_seed_for_all_allocations is given")
def estimates_with_one_seed(pnl: Any) -> tuple[Any, dict[str, Any]]:
    return _estimating(pnl, _distorts(pnl, "distorts", 6), same_seed_for_all_allocations=True)


@refused("it has an aggregation_function")
def estimates_at_most(pnl: Any) -> tuple[Any, dict[str, Any]]:
    """PsyNeuLink ignores the argument of GridSearch's constructor."""
    net, given = _estimating(pnl, _distorts(pnl, "distorts", 6))
    most = net.controller.function.parameters.aggregation_function
    most.set(lambda values: np.max(values, axis=1))
    return net, given


@refused("its random_variables leave out")
def estimates_of_one(pnl: Any) -> tuple[Any, dict[str, Any]]:
    nodes = [_distorts(pnl, "distorts", 6), _distorts(pnl, "disturbs", 5)]
    return _estimating(pnl, *nodes, random_variables=[nodes[0].function])
