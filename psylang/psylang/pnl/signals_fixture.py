"""Scripts of mechanisms that set parameters of others or gate their ports within a trial."""

from __future__ import annotations

from typing import Any

from psylang.pnl.control_fixture import size_of
from psylang.pnl.scripts_fixture import Built, Samples, stimuli

SAMPLES = Samples()
imported, refused = SAMPLES.imports, SAMPLES.refuses


def _controls(pnl: Any, signal: dict[str, Any], node: Any, *parts: Any, **given: Any) -> Built:
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
def control_of_a_gain(pnl: Any) -> Built:
    layer = _layer(pnl, integrator_mode=True, noise=pnl.NormalDist(seed=3))
    return _controls(pnl, {"modulates": (pnl.GAIN, layer)}, layer, function=pnl.Linear(slope=0.3))


@imported
def control_of_a_rate(pnl: Any) -> Built:
    """The rate of an integrator is a function of what is monitored."""
    layer = _layer(pnl, integrator_mode=True)
    signal = {"modulates": ("integration_rate", layer), "modulation": pnl.OVERRIDE}
    return _controls(pnl, signal, layer, function=pnl.Logistic(gain=0.7))


@imported
def control_by_a_user(pnl: Any) -> Built:
    layer = _layer(pnl)
    signal = {"modulates": ("bias", layer), "modulation": pnl.ADDITIVE}
    function = pnl.UserDefinedFunction(size_of, default_variable=[[0.0]])
    return _controls(pnl, signal, layer, function=function)


@imported
def control_of_a_threshold(pnl: Any) -> Built:
    """Decisions whose threshold changes from trial to trial, always within their start."""
    function = pnl.DriftDiffusionIntegrator(seed=4, threshold=0.5, time_step_size=0.1)
    decides = pnl.DDM(
        name="decides", function=function, reset_stateful_function_when=pnl.AtTrialStart()
    )
    signal = {"modulates": ("threshold", decides)}
    return _controls(pnl, signal, decides, function=pnl.Exponential(rate=0.3))


@imported
def control_of_the_next_trial(pnl: Any) -> Built:
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
def locus_coeruleus(pnl: Any) -> Built:
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


def _gates(pnl: Any, gated: Any, size: int = 2, **given: Any) -> Built:
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
def gate_before(pnl: Any) -> Built:
    return _gates(pnl, lambda first, last: last, function=pnl.Logistic(gain=3.0))


@imported
def gate_behind(pnl: Any) -> Built:
    return _gates(pnl, lambda first, last: first.output_port, modulation=pnl.ADDITIVE)


@imported
def gate_of_an_input(pnl: Any) -> Built:
    return _gates(pnl, lambda first, last: first.input_port, size=1, modulation=pnl.OVERRIDE)


@refused("takes the place of several elements", "shape-mismatch")
def gate_in_place_of_two(pnl: Any) -> Built:
    return _gates(pnl, lambda first, last: first.input_port, modulation=pnl.OVERRIDE)


@refused("is gated, and it is recurrent")
def gate_of_a_recurrent_layer(pnl: Any) -> Built:
    layer = pnl.RecurrentTransferMechanism(name="layer", input_shapes=2)
    gate = pnl.GatingMechanism(name="gate", gate=[layer.output_port])
    net = pnl.Composition(nodes=[layer, gate])
    return net, {"inputs": {layer: [[1.0, 2.0]], gate: [[1.0]]}}


@refused("acts at its reset or between its steps")
def control_between_steps(pnl: Any) -> Built:
    function = pnl.DriftDiffusionIntegrator(seed=4, threshold=0.5)
    decides = pnl.DDM(name="decides", function=function, execute_until_finished=False)
    return _controls(pnl, {"modulates": ("threshold", decides)}, decides)


@refused("has a function of its own")
def control_by_a_signals_function(pnl: Any) -> Built:
    layer = _layer(pnl)
    signal = {"modulates": (pnl.GAIN, layer), "transfer_function": pnl.Linear(slope=-1.0)}
    return _controls(pnl, signal, layer)
