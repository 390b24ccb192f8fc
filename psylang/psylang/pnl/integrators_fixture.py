"""Scripts of integrators and noise, and of the values with which they begin."""

from __future__ import annotations

from typing import Any

import numpy as np

from psylang.pnl.scripts_fixture import Built, Samples, stimuli

SAMPLES = Samples()
imported, refused = SAMPLES.imports, SAMPLES.refuses


# Integrators.


@imported
def cascade(pnl: Any) -> Built:
    """McClelland's 1979 cascade: activity builds up over trials, as nothing is reset."""
    first = pnl.TransferMechanism(
        name="first", input_shapes=2, integrator_mode=True, integration_rate=0.3
    )
    second = pnl.TransferMechanism(
        name="second",
        input_shapes=2,
        function=pnl.Logistic,
        integrator_mode=True,
        integration_rate=0.2,
    )
    net = pnl.Composition(pathways=[first, np.array([[1.0, -1.0], [-1.0, 1.0]]), second])
    return net, {"inputs": {first: [[1.0, 0.0]]}, "num_trials": 8}


@imported
def settling(pnl: Any) -> Built:
    """A layer that runs until it changes by less than its threshold."""
    node = pnl.TransferMechanism(
        name="node",
        input_shapes=2,
        integrator_mode=True,
        integration_rate=0.1,
        termination_threshold=0.01,
        reset_stateful_function_when=pnl.AtTrialStart(),
    )
    return pnl.Composition(nodes=[node]), {"inputs": {node: [[1.0, 0.3], [0.0, -2.0]]}}


@imported
def counter(pnl: Any) -> Built:
    node = pnl.IntegratorMechanism(
        name="node", input_shapes=2, function=pnl.SimpleIntegrator(rate=0.5, offset=0.25)
    )
    return pnl.Composition(nodes=[node]), {"inputs": {node: [[1.0, 2.0]]}, "num_trials": 5}


@imported
def leaky_memory(pnl: Any) -> Built:
    node = pnl.IntegratorMechanism(
        name="node",
        input_shapes=1,
        function=pnl.AdaptiveIntegrator(rate=0.2, initializer=0.5, noise=0.01),
    )
    return pnl.Composition(nodes=[node]), {"inputs": {node: [[1.0]]}, "num_trials": 6}


@imported
def noisy_integrator(pnl: Any) -> Built:
    node = pnl.IntegratorMechanism(
        name="node",
        input_shapes=2,
        function=pnl.SimpleIntegrator(
            rate=0.5, noise=pnl.NormalDist(standard_deviation=0.3, seed=12)
        ),
    )
    return pnl.Composition(nodes=[node]), {"inputs": {node: [[1.0, 2.0]]}, "num_trials": 6}


@imported
def accumulating(pnl: Any) -> Built:
    noise = pnl.NormalDist(standard_deviation=0.2, seed=51)
    function = pnl.AccumulatorIntegrator(rate=0.9, increment=0.1, noise=noise)
    node = pnl.IntegratorMechanism(name="node", input_shapes=2, function=function)
    return pnl.Composition(nodes=[node]), {"inputs": {node: [[1.0, 2.0]]}, "num_trials": 5}


@imported
def interactive_activation(pnl: Any) -> Built:
    """McClelland and Rumelhart 1981: excitation towards a maximum, inhibition to a minimum."""
    function = pnl.InteractiveActivationIntegrator(
        default_variable=[[0.0, 0.0, 0.0]],
        rate=0.4,
        decay=0.1,
        rest=-0.1,
        max_val=1.0,
        min_val=-0.2,
    )
    node = pnl.IntegratorMechanism(name="node", input_shapes=3, function=function)
    inputs = [[1.0, -0.5, 0.0], [0.2, 0.8, -1.0], [0.0, 0.0, 0.4]]
    return pnl.Composition(nodes=[node]), {"inputs": {node: inputs}, "num_trials": 9}


@imported
def mean_reverting(pnl: Any) -> Built:
    """Uhlenbeck and Ornstein 1930: one draw moves all units."""
    function = pnl.OrnsteinUhlenbeckIntegrator(
        rate=-0.4,
        decay=-0.5,
        noise=0.3,
        time_step_size=0.1,
        offset=0.01,
        initializer=[[0.2, -0.1]],
        seed=61,
    )
    node = pnl.IntegratorMechanism(name="node", input_shapes=2, function=function)
    return pnl.Composition(nodes=[node]), {"inputs": {node: [[1.0, 2.0]]}, "num_trials": 9}


# Noise.


def _noisy(pnl: Any, noise: Any) -> Built:
    node = pnl.TransferMechanism(name="node", input_shapes=2, noise=noise)
    return pnl.Composition(nodes=[node]), {"inputs": {node: [[1.0, 2.0]]}, "num_trials": 20}


@imported
def normal_noise(pnl: Any) -> Built:
    return _noisy(pnl, pnl.NormalDist(mean=0.1, standard_deviation=0.5, seed=3))


@imported
def uniform_noise(pnl: Any) -> Built:
    return _noisy(pnl, pnl.UniformDist(low=-0.5, high=1.5, seed=4))


@imported
def exponential_noise(pnl: Any) -> Built:
    return _noisy(pnl, pnl.ExponentialDist(beta=0.7, seed=5))


@imported
def gamma_noise(pnl: Any) -> Built:
    return _noisy(pnl, pnl.GammaDist(dist_shape=1.5, scale=0.4, seed=6))


@imported
def wald_noise(pnl: Any) -> Built:
    return _noisy(pnl, pnl.WaldDist(mean=1.2, scale=0.8, seed=7))


# What recurrent layers receive at first.


@imported
def begins_elsewhere(pnl: Any) -> Built:
    """A step of the construction moved what a layer that is never reset receives at first."""
    given = {"integrator_mode": True, "initial_value": [[0.3, 0.4]]}
    layer = pnl.RecurrentTransferMechanism(
        name="layer", input_shapes=2, function=pnl.Logistic, auto=0.5, **given
    )
    accumulates = pnl.LCAMechanism(name="accumulates", input_shapes=2, initial_value=[[0.6, -0.4]])
    net = pnl.Composition(pathways=[layer, accumulates])
    return net, {"inputs": {layer: stimuli(2)}}


@imported
def begins_as_set(pnl: Any) -> Built:
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


def _returns(pnl: Any, **given: Any) -> Built:
    """A cycle whose feedback is read before its sender first ran."""
    first = pnl.ProcessingMechanism(name="first", function=pnl.Tanh)
    integrates = pnl.IntegratorMechanism(
        name="integrates", function=pnl.AdaptiveIntegrator(rate=0.3, **given)
    )
    net = pnl.Composition(pathways=[first, integrates])
    net.add_projection(sender=integrates, receiver=first, feedback=True)
    return net, {"inputs": {first: stimuli()}}


@imported
def returns_nothing_at_first(pnl: Any) -> Built:
    return _returns(pnl)


@refused("before that first runs, and receives")
def returns_what_a_step_left(pnl: Any) -> Built:
    return _returns(pnl, initializer=[0.5])


# Integrators of several states.


def _integrates(pnl: Any, function: Any, size: int = 1, **given: Any) -> Built:
    node = pnl.IntegratorMechanism(name="node", input_shapes=size, function=function, **given)
    return pnl.Composition(nodes=[node]), {"inputs": {node: stimuli(size)}}


@imported
def spikes(pnl: Any) -> Built:
    """FitzHugh and Nagumo's neuron with its standard numbers; all rows of its value are sent."""
    ports = [
        pnl.OutputPort(name=name, variable=(pnl.OWNER_VALUE, k)) for k, name in enumerate("vwt")
    ]
    function = pnl.FitzHughNagumoIntegrator(time_step_size=0.3, initial_v=-1.0, t_0=0.5)
    return _integrates(pnl, function, output_ports=ports)


@imported
def spikes_by_gilzenrat(pnl: Any) -> Built:
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
def two_averages(pnl: Any) -> Built:
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
def two_averages_apart(pnl: Any) -> Built:
    function = pnl.DualAdaptiveIntegrator(operation="s-l", long_term_rate=0.2)
    return _integrates(pnl, function, reset_stateful_function_when=pnl.AtTrialStart())


@refused("of several states")
def spikes_in_a_layer(pnl: Any) -> Built:
    function = pnl.FitzHughNagumoIntegrator()
    node = pnl.TransferMechanism(name="node", integrator_mode=True, integrator_function=function)
    return pnl.Composition(nodes=[node]), {"inputs": {node: [[1.0]]}}


def _drifts(pnl: Any, size: int, function: dict[str, Any], **given: Any) -> Built:
    made = pnl.DriftOnASphereIntegrator(seed=5, **function)
    return _integrates(pnl, made, size, **given)


@imported
def sphere(pnl: Any) -> Built:
    """A drift in the tangent space, and noise, after a drifting context by Howard & Kahana 2002."""
    return _drifts(pnl, 2, {"rate": 0.5, "time_step_size": 0.1, "noise": 0.3})


@imported
def sphere_of_more_dimensions(pnl: Any) -> Built:
    given: dict[str, Any] = {"dimension": 5, "noise": [0.1, 0.2, 0.3, 0.4], "time_step_size": 0.3}
    return _drifts(pnl, 4, given, reset_stateful_function_when=pnl.AtRunStart())


@imported
def sphere_with_targets(pnl: Any) -> Built:
    given: dict[str, Any] = {"initializer": [0.5, 0.5, 1.0], "default_variable": [0.0] * 3}
    return _drifts(pnl, 3, {**given, "input_space": "target", "rate": 0.4})


OF_NORM_1 = (sphere, sphere_of_more_dimensions, sphere_with_targets)


@refused("its input is a number")
def sphere_with_a_direction(pnl: Any) -> Built:
    return _drifts(pnl, 1, {"dimension": 2})


@refused("`offset` of DriftOnASphereIntegrator")
def sphere_with_an_offset(pnl: Any) -> Built:
    """PsyNeuLink ignores it."""
    return _drifts(pnl, 2, {"offset": 0.5})
