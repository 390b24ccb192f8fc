"""Scripts of controllers that search: costs, and estimates."""

from __future__ import annotations

from typing import Any

import numpy as np

from psylang.pnl.scripts_fixture import Built, Samples, stimuli

SAMPLES = Samples()
imported, refused = SAMPLES.imports, SAMPLES.refuses


@imported
def controlled_gain(pnl: Any) -> Built:
    """Shenhav and others 2013 in small: the gain whose outcome less its cost is the largest."""
    given = pnl.ProcessingMechanism(name="given", input_shapes=1)
    node = pnl.ProcessingMechanism(name="node", input_shapes=1, function=pnl.Linear(slope=1.0))
    net = pnl.Composition(pathways=[given, node], controller_mode=pnl.BEFORE)
    controller = pnl.OptimizationControlMechanism(
        name="control",
        agent_rep=net,
        state_features=[given.input_port],
        objective_mechanism=pnl.ObjectiveMechanism(name="objective", monitor=[node]),
        function=pnl.GridSearch(),
        control_signals=[
            pnl.ControlSignal(
                modulates=(pnl.SLOPE, node),
                modulation=pnl.OVERRIDE,
                allocation_samples=[0.5, 1.0, 2.0, 3.0],
                cost_options=pnl.CostFunctions.INTENSITY,
                intensity_cost_function=pnl.Exponential(rate=0.8, bias=-1.0),
            )
        ],
    )
    net.add_controller(controller)
    return net, {"inputs": {given: [[1.0], [3.0], [0.1]]}}


@imported
def controlled_afterwards(pnl: Any) -> Built:
    """PsyNeuLink's default: the search after a trial sets the level of the next one."""
    net, given = controlled_gain(pnl)
    net.controller_mode = pnl.AFTER
    return net, given


@imported
def controlled_integration(pnl: Any) -> Built:
    """A memory whose noise the candidates of the search after a trial share with the next trial."""
    function = pnl.SimpleIntegrator(rate=0.5, noise=pnl.NormalDist(seed=41))
    memory = pnl.IntegratorMechanism(name="memory", input_shapes=1, function=function)
    net = pnl.Composition(nodes=[memory])
    controller = pnl.OptimizationControlMechanism(
        name="control",
        agent_rep=net,
        state_features=[memory.input_port],
        objective_mechanism=pnl.ObjectiveMechanism(name="objective", monitor=[memory]),
        function=pnl.GridSearch(direction=pnl.MINIMIZE),
        control_signals=[
            pnl.ControlSignal(
                modulates=(pnl.RATE, memory),
                modulation=pnl.MULTIPLICATIVE,
                allocation_samples=[-1.0, 0.5, 2.0],
            )
        ],
    )
    net.add_controller(controller)
    return net, {"inputs": {memory: [[1.0], [3.0], [0.1], [-2.0], [0.7]]}, "num_trials": 15}


@refused("which a controller's simulations begin anew")
def control_and_runs(pnl: Any) -> Built:
    net, given = controlled_gain(pnl)
    net.scheduler.add_condition(net.nodes[1], pnl.AfterTrial(0))
    return net, given


# Costs.


def size_of(change: Any) -> Any:
    """The cost of a change in either direction."""
    return 0.3 * np.abs(change)


def _allocating(pnl: Any, *signals: dict[str, Any], mode: str = "before", **given: Any) -> Built:
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
def costs_of_changes(pnl: Any) -> Built:
    costs = pnl.CostFunctions
    both = {
        "cost_options": costs.ADJUSTMENT | costs.INTENSITY,
        "adjustment_cost_function": size_of,
        "intensity_cost_function": pnl.Exponential(rate=0.2, scale=0.3, offset=-0.1),
    }
    change = {"cost_options": costs.ADJUSTMENT, "default_allocation": [3.0]}
    return _allocating(pnl, both, change)


@imported
def costs_of_duration(pnl: Any) -> Built:
    lasting = {"cost_options": pnl.CostFunctions.DURATION}
    grown = pnl.SimpleIntegrator(rate=0.05, offset=-0.1, initializer=[3.0])
    faded = pnl.AdaptiveIntegrator(rate=0.3, offset=-0.1)
    signals = [{**lasting, "duration_cost_function": one} for one in (grown, faded)]
    return _allocating(pnl, *signals, mode="after")


@imported
def costs_in_a_nested_composition(pnl: Any) -> Built:
    return _within(pnl, costs_of_changes(pnl)[0])


@imported
def costs_of_duration_in_a_nested_composition(pnl: Any) -> Built:
    return _within(pnl, costs_of_duration(pnl)[0])


@refused("it has a reconfiguration cost, with which PsyNeuLink", "no attribute 'set'")
def cost_of_reconfiguration(pnl: Any) -> Built:
    return _allocating(pnl, {}, compute_reconfiguration_cost=lambda allocations: 5.0)


@refused("PsyNeuLink itself ends with an error where a duration", "can only convert an array")
def costs_of_all_kinds(pnl: Any) -> Built:
    """PsyNeuLink does not build such a signal; costs can be enabled later."""
    costs = pnl.CostFunctions
    net, given = _allocating(pnl, {"cost_options": costs.INTENSITY})
    net.controller.control_signals[0].function.enable_costs([costs.DURATION])
    return net, given


# Estimates.


def _estimating(pnl: Any, *noisy: Any, mode: str = "before", **given: Any) -> Built:
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
def estimates_of_two(pnl: Any) -> Built:
    """Each of two noisy mechanisms has seeds of its own."""
    noise = pnl.NormalDist(seed=7)
    integrates = pnl.TransferMechanism(name="integrates", integrator_mode=True, noise=noise)
    return _estimating(pnl, integrates, _distorts(pnl, "distorts", 6))


@imported
def estimates_after_trials(pnl: Any) -> Built:
    """Decisions draw until they end; all mechanisms share the seeds."""
    function = pnl.DriftDiffusionIntegrator(seed=4, threshold=0.3, time_step_size=0.1)
    decides = pnl.DDM(name="decides", function=function)
    sharing = {"noise_stream_policy": "shared_seed"}
    net, given = _estimating(pnl, _distorts(pnl, "distorts", 6), decides, mode="after", **sharing)
    return net, given


def _within(pnl: Any, inner: Any) -> Built:
    """A composition in another one, between noise and noise, called twice in a trial."""
    first, last = _distorts(pnl, "first", 8), _distorts(pnl, "last", 9)
    net = pnl.Composition(name="outer", pathways=[[first, inner, last]])
    net.scheduler.add_condition(last, pnl.EveryNCalls(inner, 2))
    return net, {"inputs": {first: stimuli(trials=12)}}


@imported
def estimates_in_a_nested_composition(pnl: Any) -> Built:
    return _within(pnl, _estimating(pnl, _distorts(pnl, "distorts", 6))[0])


@imported
def estimates_after_trials_of_a_nested_one(pnl: Any) -> Built:
    return _within(pnl, _estimating(pnl, _distorts(pnl, "distorts", 6), mode="after")[0])


@refused("control of the nest `.*` has num_estimates, and a control around it")
def estimates_that_are_simulated(pnl: Any) -> Built:
    inner, _ = _estimating(pnl, _distorts(pnl, "distorts", 6))
    return _estimating(pnl, inner, _distorts(pnl, "last", 9), num_estimates=None)


@refused("same_seed_for_all_allocations is given")
def estimates_with_one_seed(pnl: Any) -> Built:
    return _estimating(pnl, _distorts(pnl, "distorts", 6), same_seed_for_all_allocations=True)


@refused("it has an aggregation_function")
def estimates_at_most(pnl: Any) -> Built:
    """PsyNeuLink ignores the argument of GridSearch's constructor."""
    net, given = _estimating(pnl, _distorts(pnl, "distorts", 6))
    most = net.controller.function.parameters.aggregation_function
    most.set(lambda values: np.max(values, axis=1))
    return net, given


@refused("its random_variables leave out")
def estimates_of_one(pnl: Any) -> Built:
    nodes = [_distorts(pnl, "distorts", 6), _distorts(pnl, "disturbs", 5)]
    return _estimating(pnl, *nodes, random_variables=[nodes[0].function])
