"""Scripts of compositions in compositions."""

from __future__ import annotations

from typing import Any

import numpy as np

from psylang.pnl.control_fixture import controlled_gain
from psylang.pnl.scripts_fixture import Built, Samples

SAMPLES = Samples()
imported, refused = SAMPLES.imports, SAMPLES.refuses


@imported
def nested(pnl: Any) -> Built:
    inner_node = pnl.ProcessingMechanism(name="inner_node", input_shapes=2)
    inner = pnl.Composition(name="inner", nodes=[inner_node])
    return pnl.Composition(nodes=[inner]), {"inputs": {inner: [[1.0, 2.0]]}}


@imported
def nested_between(pnl: Any) -> Built:
    return _between(pnl)[:2]


def _between(pnl: Any) -> tuple[Any, dict[str, Any], Any, Any]:
    """A decision in two layers of its own, between an encoder and a response."""
    encoder = pnl.TransferMechanism(name="encoder", input_shapes=3, function=pnl.Logistic)
    hidden = pnl.TransferMechanism(
        name="hidden", input_shapes=2, integrator_mode=True, integration_rate=0.4
    )
    out = pnl.TransferMechanism(name="out", input_shapes=2, function=pnl.Tanh)
    decision = pnl.Composition(
        name="decision", pathways=[[hidden, np.array([[1.0, -0.5], [0.3, 2.0]]), out]]
    )
    response = pnl.TransferMechanism(name="response", input_shapes=1)
    net = pnl.Composition(name="net")
    net.add_nodes([encoder, decision, response])
    matrix = np.array([[1.0, 0.2], [-1.0, 0.5], [0.4, 0.4]])
    net.add_projection(pnl.MappingProjection(matrix=matrix), sender=encoder, receiver=decision)
    net.add_projection(
        pnl.MappingProjection(matrix=np.array([[1.0], [-1.0]])), sender=decision, receiver=response
    )
    given = {"inputs": {encoder: [[1.0, 0.0, -1.0], [0.5, 0.5, 2.0]]}, "num_trials": 4}
    return net, given, decision, response


@imported
def nested_twice(pnl: Any) -> Built:
    """Two inputs and two levels, of which the inner one counts its calls."""
    counter = pnl.IntegratorMechanism(
        name="counter", input_shapes=1, function=pnl.SimpleIntegrator(rate=0.5)
    )
    deep = pnl.Composition(name="deep", nodes=[counter])
    left = pnl.ProcessingMechanism(name="left", input_shapes=1, function=pnl.Linear(slope=2.0))
    right = pnl.ProcessingMechanism(name="right", input_shapes=2)
    middle = pnl.Composition(name="middle", nodes=[right], pathways=[[left, deep]])
    return pnl.Composition(name="outer", nodes=[middle]), {
        "inputs": {middle: [[[1.0, 2.0], [3.0]], [[0.5, -1.0], [1.0]]]},
    }


@imported
def nested_every_second_call(pnl: Any) -> Built:
    """A nested composition under a condition; the trial ends after it."""
    first = pnl.IntegratorMechanism(
        name="first", input_shapes=1, function=pnl.SimpleIntegrator(rate=1.0)
    )
    inner_node = pnl.IntegratorMechanism(
        name="inner_node", input_shapes=1, function=pnl.SimpleIntegrator(rate=0.1)
    )
    inner = pnl.Composition(name="inner", nodes=[inner_node])
    net = pnl.Composition(pathways=[[first, inner]])
    net.scheduler.add_condition(inner, pnl.EveryNCalls(first, 2))
    return net, {
        "inputs": {first: [[1.0]]},
        "num_trials": 3,
        "termination_processing": {pnl.TimeScale.TRIAL: pnl.AfterNCalls(inner, 2)},
    }


@imported
def nested_course(pnl: Any) -> Built:
    """A nested composition settles: out runs when hidden has run three times."""
    net, given, inner, _ = _between(pnl)
    hidden, out = inner.nodes
    inner.scheduler.add_condition(out, pnl.AfterNCalls(hidden, 3))
    return net, given


@imported
def nested_until_a_value(pnl: Any) -> Built:
    """It ends by a value, and is called twice in a trial."""
    net, given, inner, response = _between(pnl)
    hidden, _ = inner.nodes
    settled = pnl.While(lambda: hidden.value[0][0] > 0.4)
    inner.scheduler.termination_conds = {
        pnl.TimeScale.TRIAL: pnl.Any(settled, pnl.AfterNPasses(20))
    }
    net.scheduler.add_condition(response, pnl.EveryNCalls(inner, 2))
    return net, given


def _within_controlled(pnl: Any, after: bool) -> Built:
    inner, _ = controlled_gain(pnl)
    inner.controller_mode = pnl.AFTER if after else pnl.BEFORE
    first = pnl.ProcessingMechanism(name="first", input_shapes=1, function=pnl.Linear(slope=0.5))
    last = pnl.IntegratorMechanism(
        name="last", input_shapes=1, function=pnl.SimpleIntegrator(rate=0.5)
    )
    net = pnl.Composition(name="outer", pathways=[[first, inner, last]])
    return net, {"inputs": {first: [[1.0], [3.0], [0.1], [-2.0]]}, "num_trials": 6}


@imported
def controlled_within(pnl: Any) -> Built:
    """A nested composition whose controller searches before each of its trials."""
    return _within_controlled(pnl, after=False)


@imported
def controlled_within_afterwards(pnl: Any) -> Built:
    """A nested composition whose controller searches after each of its trials."""
    return _within_controlled(pnl, after=True)


@imported
def controlled_at_two_levels(pnl: Any) -> Built:
    """Each composition has a controller: the outer one simulates the inner one's search."""
    net, given = _within_controlled(pnl, after=False)
    first, _, last = net.nodes
    net.controller_mode = pnl.BEFORE
    controller = pnl.OptimizationControlMechanism(
        name="outer_control",
        agent_rep=net,
        state_features=[first.input_port],
        objective_mechanism=pnl.ObjectiveMechanism(name="outer_objective", monitor=[last]),
        function=pnl.GridSearch(direction=pnl.MINIMIZE),
        control_signals=[
            pnl.ControlSignal(
                modulates=(pnl.SLOPE, first),
                modulation=pnl.OVERRIDE,
                allocation_samples=[0.5, -1.0, 2.0],
            )
        ],
    )
    net.add_controller(controller)
    return net, given


def _searches_with_noise(pnl: Any, inner_mode: str, outer_mode: str) -> Built:
    """A search within the simulations of another one; what is before, in and after the nest draws,
    and so each candidate of the outer search has to leave all draws to the next."""

    def integrator(name: str, rate: float, seed: int) -> Any:
        noise = pnl.NormalDist(seed=seed)
        function = pnl.SimpleIntegrator(rate=rate, noise=noise)
        return pnl.IntegratorMechanism(name=name, input_shapes=1, function=function)

    def control(name: str, net: Any, entry: Any, monitored: Any, of: Any, **given: Any) -> Any:
        return pnl.OptimizationControlMechanism(
            name=name,
            agent_rep=net,
            state_features=[entry.input_port],
            objective_mechanism=pnl.ObjectiveMechanism(name=f"{name}_of", monitor=[monitored]),
            function=pnl.GridSearch(**given),
            control_signals=[
                pnl.ControlSignal(
                    modulates=("rate", of),
                    modulation=pnl.OVERRIDE,
                    allocation_samples=[-1.0, 0.5, 2.0],
                )
            ],
        )

    entry = pnl.ProcessingMechanism(name="entry", input_shapes=1)
    node = integrator("node", 1.0, 11)
    inner = pnl.Composition(name="inner", pathways=[entry, node], controller_mode=inner_mode)
    inner.add_controller(control("control", inner, entry, node, node, direction=pnl.MINIMIZE))
    first, last = integrator("first", 0.5, 12), integrator("last", 0.5, 13)
    net = pnl.Composition(pathways=[[first, inner, last]], controller_mode=outer_mode)
    net.add_controller(control("outer_control", net, first, last, first))
    return net, {"inputs": {first: [[1.0], [3.0], [0.1], [-2.0]]}, "num_trials": 8}


@imported
def searches_with_noise(pnl: Any) -> Built:
    return _searches_with_noise(pnl, pnl.BEFORE, pnl.BEFORE)


@imported
def searches_with_noise_the_inner_one_afterwards(pnl: Any) -> Built:
    return _searches_with_noise(pnl, pnl.AFTER, pnl.BEFORE)


@imported
def searches_with_noise_the_outer_one_afterwards(pnl: Any) -> Built:
    return _searches_with_noise(pnl, pnl.BEFORE, pnl.AFTER)


@imported
def nested_cut_off(pnl: Any) -> Built:
    net, given, _, response = _between(pnl)
    ends = {pnl.TimeScale.TRIAL: pnl.AfterNCalls(response, 2)}
    return net, {**given, "termination_processing": ends}
