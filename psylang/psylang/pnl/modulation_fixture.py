"""Scripts in PsyNeuLink's style whose parameters others set: costs of control, estimates, signals
and gates within a trial; and integrators of several states, which the locus coeruleus is one of.

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


@imported
def costs_in_a_nested_composition(pnl: Any) -> tuple[Any, dict[str, Any]]:
    return _within(pnl, costs_of_changes(pnl)[0])


@imported
def costs_of_duration_in_a_nested_composition(pnl: Any) -> tuple[Any, dict[str, Any]]:
    return _within(pnl, costs_of_duration(pnl)[0])


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


def _within(pnl: Any, inner: Any) -> tuple[Any, dict[str, Any]]:
    """A composition in another one, between noise and noise, called twice in a trial."""
    first, last = _distorts(pnl, "first", 8), _distorts(pnl, "last", 9)
    net = pnl.Composition(name="outer", pathways=[[first, inner, last]])
    net.scheduler.add_condition(last, pnl.EveryNCalls(inner, 2))
    return net, {"inputs": {first: stimuli(trials=12)}}


@imported
def estimates_in_a_nested_composition(pnl: Any) -> tuple[Any, dict[str, Any]]:
    return _within(pnl, _estimating(pnl, _distorts(pnl, "distorts", 6))[0])


@imported
def estimates_after_trials_of_a_nested_one(pnl: Any) -> tuple[Any, dict[str, Any]]:
    return _within(pnl, _estimating(pnl, _distorts(pnl, "distorts", 6), mode="after")[0])


@refused("control of the nest `.*` has num_estimates, and a control around it")
def estimates_that_are_simulated(pnl: Any) -> tuple[Any, dict[str, Any]]:
    inner, _ = _estimating(pnl, _distorts(pnl, "distorts", 6))
    return _estimating(pnl, inner, _distorts(pnl, "last", 9), num_estimates=None)


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


# Signals within a trial.


def _controls(
    pnl: Any, signal: dict[str, Any], node: Any, *parts: Any, **given: Any
) -> tuple[Any, dict[str, Any]]:
    """A mechanism sets a parameter of another one by the value of a third."""
    monitored = pnl.ProcessingMechanism(name="monitored")
    control = pnl.ControlMechanism(
        name="control",
        monitor_for_control=monitored,
        control_signals=[pnl.ControlSignal(**signal)],
        **given,
    )
    net = pnl.Composition(nodes=[monitored, control, node, *parts])
    size = node.input_port.defaults.value.size
    return net, {"inputs": {monitored: stimuli(), node: stimuli(size)}}


def _layer(pnl: Any, **given: Any) -> Any:
    return pnl.TransferMechanism(name="layer", input_shapes=2, function=pnl.Logistic, **given)


@imported
def control_of_a_gain(pnl: Any) -> tuple[Any, dict[str, Any]]:
    layer = _layer(pnl, integrator_mode=True, noise=pnl.NormalDist(seed=3))
    return _controls(pnl, {"modulates": (pnl.GAIN, layer)}, layer, function=pnl.Linear(slope=0.3))


@imported
def control_of_a_rate(pnl: Any) -> tuple[Any, dict[str, Any]]:
    """The rate of an integrator is a function of what is monitored."""
    layer = _layer(pnl, integrator_mode=True)
    signal = {"modulates": ("integration_rate", layer), "modulation": pnl.OVERRIDE}
    return _controls(pnl, signal, layer, function=pnl.Logistic(gain=0.7))


@imported
def control_by_a_user(pnl: Any) -> tuple[Any, dict[str, Any]]:
    layer = _layer(pnl)
    signal = {"modulates": ("bias", layer), "modulation": pnl.ADDITIVE}
    function = pnl.UserDefinedFunction(size_of, default_variable=[[0.0]])
    return _controls(pnl, signal, layer, function=function)


@imported
def control_of_a_threshold(pnl: Any) -> tuple[Any, dict[str, Any]]:
    """Decisions whose threshold changes from trial to trial, always within their start."""
    function = pnl.DriftDiffusionIntegrator(seed=4, threshold=0.5, time_step_size=0.1)
    decides = pnl.DDM(
        name="decides", function=function, reset_stateful_function_when=pnl.AtTrialStart()
    )
    signal = {"modulates": ("threshold", decides)}
    return _controls(pnl, signal, decides, function=pnl.Exponential(rate=0.3))


@imported
def control_of_the_next_trial(pnl: Any) -> tuple[Any, dict[str, Any]]:
    """A cycle: what is controlled comes before the control, which has its default at first."""
    first = pnl.ProcessingMechanism(name="first")
    last = pnl.ProcessingMechanism(name="last", function=pnl.Tanh)
    monitor = pnl.ObjectiveMechanism(name="objective", monitor=[first, last])
    control = pnl.ControlMechanism(
        name="control",
        objective_mechanism=monitor,
        function=pnl.LinearCombination(),
        default_allocation=[0.7],
        control_signals=[pnl.ControlSignal(modulates=(pnl.SLOPE, first), modulation=pnl.ADDITIVE)],
    )
    monitor.function = pnl.CombineMeans()
    net = pnl.Composition(pathways=[[first, last], [control]])
    return net, {"inputs": {first: stimuli()}}


@imported
def locus_coeruleus(pnl: Any) -> tuple[Any, dict[str, Any]]:
    """Gain by the locus coeruleus, after Gilzenrat et al. 2002."""
    stimulus = pnl.TransferMechanism(name="stimulus", input_shapes=2)
    decision = pnl.TransferMechanism(
        name="decision", input_shapes=2, function=pnl.Logistic, integrator_mode=True
    )
    response = pnl.TransferMechanism(name="response", function=pnl.Logistic(gain=2.0))
    locus = pnl.LCControlMechanism(
        name="locus",
        monitor_for_control=[stimulus, decision],
        modulated_mechanisms=[decision, response],
        time_step_size_FitzHughNagumo=0.4,
        mode_FitzHughNagumo=0.8,
        uncorrelated_activity_FitzHughNagumo=0.2,
        base_level_gain=0.6,
        scaling_factor_gain=2.5,
        initial_v_FitzHughNagumo=0.3,
        initial_w_FitzHughNagumo=0.1,
    )
    net = pnl.Composition(pathways=[[stimulus, decision, response]])
    net.add_node(locus)
    return net, {"inputs": {stimulus: stimuli(2)}}


def _gates(pnl: Any, gated: Any, size: int = 2, **given: Any) -> tuple[Any, dict[str, Any]]:
    """A gate on the port of one of two layers."""
    half = pnl.Linear(slope=0.5)
    first = pnl.ProcessingMechanism(name="first", input_shapes=size, function=half)
    last = pnl.ProcessingMechanism(name="last", input_shapes=size, function=pnl.Logistic)
    opens = pnl.ProcessingMechanism(name="opens")
    gate = pnl.GatingMechanism(
        name="gate", monitor_for_gating=opens, gate=[gated(first, last)], **given
    )
    net = pnl.Composition(pathways=[[first, last], [opens], [gate]])
    return net, {"inputs": {first: stimuli(size), opens: stimuli()}}


@imported
def gate_before(pnl: Any) -> tuple[Any, dict[str, Any]]:
    return _gates(pnl, lambda first, last: last, function=pnl.Logistic(gain=3.0))


@imported
def gate_behind(pnl: Any) -> tuple[Any, dict[str, Any]]:
    return _gates(pnl, lambda first, last: first.output_port, modulation=pnl.ADDITIVE)


@imported
def gate_of_an_input(pnl: Any) -> tuple[Any, dict[str, Any]]:
    return _gates(pnl, lambda first, last: first.input_port, size=1, modulation=pnl.OVERRIDE)


@refused("takes the place of several elements", "shape-mismatch")
def gate_in_place_of_two(pnl: Any) -> tuple[Any, dict[str, Any]]:
    return _gates(pnl, lambda first, last: first.input_port, modulation=pnl.OVERRIDE)


@refused("is gated, and it is recurrent")
def gate_of_a_recurrent_layer(pnl: Any) -> tuple[Any, dict[str, Any]]:
    layer = pnl.RecurrentTransferMechanism(name="layer", input_shapes=2)
    gate = pnl.GatingMechanism(name="gate", gate=[layer.output_port])
    net = pnl.Composition(nodes=[layer, gate])
    return net, {"inputs": {layer: [[1.0, 2.0]], gate: [[1.0]]}}


@refused("acts at its reset or between its steps")
def control_between_steps(pnl: Any) -> tuple[Any, dict[str, Any]]:
    function = pnl.DriftDiffusionIntegrator(seed=4, threshold=0.5)
    decides = pnl.DDM(name="decides", function=function, execute_until_finished=False)
    return _controls(pnl, {"modulates": ("threshold", decides)}, decides)


@refused("has a function of its own")
def control_by_a_signals_function(pnl: Any) -> tuple[Any, dict[str, Any]]:
    layer = _layer(pnl)
    signal = {"modulates": (pnl.GAIN, layer), "transfer_function": pnl.Linear(slope=-1.0)}
    return _controls(pnl, signal, layer)


# What recurrent layers receive at first.


@imported
def begins_elsewhere(pnl: Any) -> tuple[Any, dict[str, Any]]:
    """A step of the construction moved what a layer that is never reset receives at first."""
    given = {"integrator_mode": True, "initial_value": [[0.3, 0.4]]}
    layer = pnl.RecurrentTransferMechanism(
        name="layer", input_shapes=2, function=pnl.Logistic, auto=0.5, **given
    )
    accumulates = pnl.LCAMechanism(name="accumulates", input_shapes=2, initial_value=[[0.6, -0.4]])
    net = pnl.Composition(pathways=[layer, accumulates])
    return net, {"inputs": {layer: stimuli(2)}}


@imported
def begins_as_set(pnl: Any) -> tuple[Any, dict[str, Any]]:
    """After PsyNeuLink's model of Nieuwenhuis et al. 2005, which sets values of output ports."""
    decides = pnl.LCAMechanism(name="decides", input_shapes=2)
    decides.output_ports[0].parameters.value.set(np.array([0.1, 0.0]), override=True)
    locus = pnl.LCControlMechanism(
        name="locus",
        objective_mechanism=pnl.ObjectiveMechanism(
            name="objective", function=pnl.Linear, monitor=[(decides, np.array([[0.3], [0.0]]))]
        ),
        modulated_mechanisms=[decides],
        integration_method="EULER",
        time_step_size_FitzHughNagumo=0.1,
    )
    locus.output_ports[0].parameters.value.set(np.array([0.9]), override=True)
    net = pnl.Composition(nodes=[decides, locus])
    return net, {"inputs": {decides: stimuli(2)}}


def _returns(pnl: Any, **given: Any) -> tuple[Any, dict[str, Any]]:
    """A cycle whose feedback is read before its sender first ran."""
    first = pnl.ProcessingMechanism(name="first", function=pnl.Tanh)
    integrates = pnl.IntegratorMechanism(
        name="integrates", function=pnl.AdaptiveIntegrator(rate=0.3, **given)
    )
    net = pnl.Composition(pathways=[first, integrates])
    net.add_projection(sender=integrates, receiver=first, feedback=True)
    return net, {"inputs": {first: stimuli()}}


@imported
def returns_nothing_at_first(pnl: Any) -> tuple[Any, dict[str, Any]]:
    return _returns(pnl)


@refused("before that first runs, and receives")
def returns_what_a_step_left(pnl: Any) -> tuple[Any, dict[str, Any]]:
    return _returns(pnl, initializer=[0.5])


# Integrators of several states.


def _integrates(pnl: Any, function: Any, size: int = 1, **given: Any) -> tuple[Any, dict[str, Any]]:
    node = pnl.IntegratorMechanism(name="node", input_shapes=size, function=function, **given)
    return pnl.Composition(nodes=[node]), {"inputs": {node: stimuli(size)}}


@imported
def spikes(pnl: Any) -> tuple[Any, dict[str, Any]]:
    """FitzHugh and Nagumo's neuron with its standard numbers; all rows of its value are sent."""
    ports = [
        pnl.OutputPort(name=name, variable=(pnl.OWNER_VALUE, k)) for k, name in enumerate("vwt")
    ]
    function = pnl.FitzHughNagumoIntegrator(time_step_size=0.3, initial_v=-1.0, t_0=0.5)
    return _integrates(pnl, function, output_ports=ports)


@imported
def spikes_by_gilzenrat(pnl: Any) -> tuple[Any, dict[str, Any]]:
    function = pnl.FitzHughNagumoIntegrator(
        integration_method="EULER",
        time_step_size=0.01,
        time_constant_v=0.1,
        a_v=-1.0,
        b_v=1.0,
        c_v=1.0,
        threshold=0.5,
        a_w=1.0,
        b_w=-0.5,
        c_w=0.1,
        time_constant_w=1.0,
        mode=0.7,
        uncorrelated_activity=0.4,
    )
    return _integrates(pnl, function)


@imported
def two_averages(pnl: Any) -> tuple[Any, dict[str, Any]]:
    function = pnl.DualAdaptiveIntegrator(
        initial_short_term_avg=0.2,
        initial_long_term_avg=0.4,
        short_term_gain=1.3,
        long_term_bias=0.2,
        short_term_rate=0.8,
        offset=-0.1,
    )
    return _integrates(pnl, function)


@imported
def two_averages_apart(pnl: Any) -> tuple[Any, dict[str, Any]]:
    function = pnl.DualAdaptiveIntegrator(operation="s-l", long_term_rate=0.2)
    return _integrates(pnl, function, reset_stateful_function_when=pnl.AtTrialStart())


@refused("of several states")
def spikes_in_a_layer(pnl: Any) -> tuple[Any, dict[str, Any]]:
    function = pnl.FitzHughNagumoIntegrator()
    node = pnl.TransferMechanism(name="node", integrator_mode=True, integrator_function=function)
    return pnl.Composition(nodes=[node]), {"inputs": {node: [[1.0]]}}


def _drifts(
    pnl: Any, size: int, function: dict[str, Any], **given: Any
) -> tuple[Any, dict[str, Any]]:
    made = pnl.DriftOnASphereIntegrator(seed=5, **function)
    return _integrates(pnl, made, size, **given)


@imported
def sphere(pnl: Any) -> tuple[Any, dict[str, Any]]:
    """A drift in the tangent space, and noise, after a drifting context by Howard & Kahana 2002."""
    return _drifts(pnl, 2, {"rate": 0.5, "time_step_size": 0.1, "noise": 0.3})


@imported
def sphere_of_more_dimensions(pnl: Any) -> tuple[Any, dict[str, Any]]:
    given: dict[str, Any] = {"dimension": 5, "noise": [0.1, 0.2, 0.3, 0.4], "time_step_size": 0.3}
    return _drifts(pnl, 4, given, reset_stateful_function_when=pnl.AtRunStart())


@imported
def sphere_with_targets(pnl: Any) -> tuple[Any, dict[str, Any]]:
    given: dict[str, Any] = {"initializer": [0.5, 0.5, 1.0], "default_variable": [0.0] * 3}
    return _drifts(pnl, 3, {**given, "input_space": "target", "rate": 0.4})


OF_NORM_1 = (sphere, sphere_of_more_dimensions, sphere_with_targets)


@refused("its input is a number")
def sphere_with_a_direction(pnl: Any) -> tuple[Any, dict[str, Any]]:
    return _drifts(pnl, 1, {"dimension": 2})


@refused("`offset` of DriftOnASphereIntegrator")
def sphere_with_an_offset(pnl: Any) -> tuple[Any, dict[str, Any]]:
    """PsyNeuLink ignores it."""
    return _drifts(pnl, 2, {"offset": 0.5})


# Winners.


def _winners(pnl: Any, size: int, **given: Any) -> tuple[Any, dict[str, Any]]:
    node = pnl.KWTAMechanism(name="node", input_shapes=size, **given)
    return pnl.Composition(nodes=[node]), {"inputs": {node: stimuli(size)}}


@imported
def winners(pnl: Any) -> tuple[Any, dict[str, Any]]:
    """k winners take all with its defaults: half of the units, inhibition only."""
    return _winners(pnl, 5)


@imported
def winners_above_a_threshold(pnl: Any) -> tuple[Any, dict[str, Any]]:
    given = {"k_value": 3, "ratio": 0.2, "threshold": 0.4, "inhibition_only": False}
    return _winners(pnl, 6, auto=0.5, hetero=-0.3, **given)


@imported
def winners_by_means(pnl: Any) -> tuple[Any, dict[str, Any]]:
    return _winners(pnl, 20, k_value=9, average_based=True, ratio=0.3)


@imported
def winners_all_or_none(pnl: Any) -> tuple[Any, dict[str, Any]]:
    layers = [
        pnl.KWTAMechanism(
            name=f"layer{k}", input_shapes=4, k_value=k, function=pnl.Linear, auto=0.5
        )
        for k in (0, 4)
    ]
    return pnl.Composition(pathways=layers), {"inputs": {layers[0]: stimuli(4)}}


@refused("which PsyNeuLink ignores in a KWTAMechanism")
def winners_that_integrate(pnl: Any) -> tuple[Any, dict[str, Any]]:
    return _winners(pnl, 5, integrator_mode=True)


@refused("which PsyNeuLink ignores in a KWTAMechanism")
def winners_with_noise(pnl: Any) -> tuple[Any, dict[str, Any]]:
    return _winners(pnl, 5, noise=[0.5])


@refused("winners among 70 units")
def winners_of_many(pnl: Any) -> tuple[Any, dict[str, Any]]:
    return _winners(pnl, 70)
