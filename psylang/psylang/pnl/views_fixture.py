"""Scripts whose output ports compute: Python functions, lambdas, and PsyNeuLink's own."""

from __future__ import annotations

from typing import Any

import numpy as np

from psylang.pnl.scripts_fixture import TRIALS, Built, Samples, stimuli

SAMPLES = Samples()
imported, refused = SAMPLES.imports, SAMPLES.refuses
SETTLED = 0.02


def rectified(variable):  # type: ignore[no-untyped-def]
    """What is above a small activity."""
    return np.fmax([0], variable - SETTLED)


def conflict(variable):  # type: ignore[no-untyped-def]
    """The product of two units that are on."""
    above = rectified(variable)  # type: ignore[no-untyped-call]
    return [above[0] * above[1] * 5.0]


def weighed(variable, gain, shift):  # type: ignore[no-untyped-def]
    return variable * gain + shift


def first_row(value):  # type: ignore[no-untyped-def]
    """Of the whole value, a matrix."""
    return value[0] * 2.0 - value[0][0]


def apart(variable):  # type: ignore[no-untyped-def]
    return variable[0] - variable[1]


def ranked(variable):  # type: ignore[no-untyped-def]
    return np.sort(variable)


@imported
def computed_ports(pnl: Any) -> Built:
    """A port that passes the value on, a function, a lambda, and statistics."""
    node = pnl.TransferMechanism(
        name="node",
        input_shapes=3,
        function=pnl.Logistic,
        output_ports=[
            pnl.RESULT,
            {pnl.NAME: "ABOVE", pnl.FUNCTION: rectified},
            {pnl.NAME: "POWER", pnl.FUNCTION: lambda x: np.sum(x**2) + 1.0},
            {pnl.NAME: "ROW", pnl.VARIABLE: pnl.OWNER_VALUE, pnl.FUNCTION: first_row},
            pnl.MEAN,
            pnl.VARIANCE,
            pnl.MAX_ABS_VAL,
        ],
    )
    return pnl.Composition(nodes=[node]), {"inputs": {node: stimuli(3)}}


@imported
def computed_numbers(pnl: Any) -> Built:
    """A function with numbers, which are parameters of PsyNeuLink."""
    function = pnl.UserDefinedFunction(custom_function=weighed, gain=2.5, shift=-0.25)
    node = pnl.ProcessingMechanism(
        name="node",
        input_shapes=2,
        function=pnl.Linear(slope=0.5),
        output_ports=[{pnl.NAME: "WEIGHED", pnl.FUNCTION: function}, pnl.RESULT],
    )
    return pnl.Composition(nodes=[node]), {"inputs": {node: stimuli(2)}}


@imported
def conflict_from_ports(pnl: Any) -> Built:
    """Layers that send what is above a threshold, to themselves too, and a conflict, also against
    the order of calls; after Kalanthroff, Davelaar, Henik, Goldfarb and Usher 2018."""
    return _conflict(pnl, pnl.AtRunStart())


@imported
def conflict_never_reset(pnl: Any) -> Built:
    return _conflict(pnl, pnl.Never())


def _conflict(pnl: Any, reset: Any) -> Built:
    def layer(name: str, *functions: Any) -> Any:
        return pnl.RecurrentTransferMechanism(
            name=name,
            input_shapes=2,
            function=pnl.Logistic(gain=4, x_0=1),
            integrator_mode=True,
            integration_rate=0.1,
            hetero=-0.7,
            output_ports=[
                {
                    pnl.NAME: f"PORT_{one.__name__}",
                    pnl.VARIABLE: (pnl.OWNER_VALUE, 0),
                    pnl.FUNCTION: one,
                }
                for one in functions
            ],
            reset_stateful_function_when=reset,
        )

    task, words = layer("task", rectified, conflict), layer("words", rectified)
    response = pnl.TransferMechanism(name="response", input_shapes=2)
    net = pnl.Composition(nodes=[words, task, response])
    matrix = np.array([[1.0, 0.4], [0.3, 1.0]])
    sent = "PORT_rectified"
    for sender, receiver, weights in (
        (words.output_ports[sent], task, matrix),
        (task.output_ports[sent], words, matrix * 0.5),
        (words.output_ports[sent], response, matrix),
        (task.output_ports["PORT_conflict"], response, np.array([[-1.0, -2.0]])),
    ):
        net.add_projection(pnl.MappingProjection(weights), sender, receiver)
    net.scheduler.add_condition(response, pnl.EveryNCalls(task, 3))
    inputs = {words: [[1.5, 0.4], [0.2, 1.8]], task: [[1.0, 1.0], [1.4, 0.8]]}
    return net, {"inputs": inputs, "num_trials": TRIALS}


@imported
def threshold_of_a_port(pnl: Any) -> Built:
    """A trial ends when a port that computes has passed a threshold."""
    node = pnl.TransferMechanism(
        name="node",
        input_shapes=2,
        function=pnl.Logistic,
        integrator_mode=True,
        integration_rate=0.2,
        execute_until_finished=False,
        reset_stateful_function_when=pnl.AtTrialStart(),
        output_ports=[pnl.RESULT, {pnl.NAME: "ABOVE", pnl.FUNCTION: rectified}],
    )
    reader = pnl.ProcessingMechanism(name="reader", input_shapes=2)
    net = pnl.Composition(nodes=[node, reader])
    net.add_projection(pnl.MappingProjection(np.eye(2)), node.output_ports["ABOVE"], reader)
    ends = pnl.Threshold(node.output_ports["ABOVE"], "value", 0.75, ">=", 0)
    net.termination_processing = {pnl.TimeScale.TRIAL: ends}
    return net, {"inputs": {node: [[1.5, 1.0], [2.0, -1.0]]}, "num_trials": 10}


@imported
def computed_accumulators(pnl: Any) -> Built:
    """Accumulators whose difference is a port, and an objective whose square is one."""
    process = pnl.LCAMechanism(
        name="process",
        input_shapes=2,
        leak=0.3,
        competition=0.4,
        noise=0.0,
        time_step_size=0.05,
        threshold=0.6,
        reset_stateful_function_when=pnl.AtTrialStart(),
        output_ports=[
            pnl.RESULT,
            {pnl.NAME: "APART", pnl.VARIABLE: (pnl.OWNER_VALUE, 0), pnl.FUNCTION: apart},
        ],
    )
    objective = pnl.ObjectiveMechanism(
        name="objective",
        monitor=[process],
        function=pnl.LinearCombination(scale=1.0),
        output_ports=[{pnl.NAME: "SQUARE", pnl.FUNCTION: lambda x: x * x}],
    )
    net = pnl.Composition(pathways=[process, objective])
    return net, {"inputs": {process: [[1.2, 0.9], [0.8, 1.1]]}}


@imported
def lambda_of_a_mechanism(pnl: Any) -> Built:
    """A lambda is a mechanism's function."""
    node = pnl.ProcessingMechanism(
        name="node", input_shapes=2, function=lambda variable: variable * 2.0 + 1.0
    )
    return pnl.Composition(nodes=[node]), {"inputs": {node: stimuli(2)}}


def _one(pnl: Any, port: Any) -> Built:
    node = pnl.ProcessingMechanism(
        name="node", input_shapes=2, output_ports=[port], function=pnl.Linear(slope=2.0)
    )
    return pnl.Composition(nodes=[node]), {"inputs": {node: stimuli(2)}}


@refused("output port RANKED: ")
def uncompiled_port(pnl: Any) -> Built:
    """A function that @function does not take."""
    return _one(pnl, {pnl.NAME: "RANKED", pnl.FUNCTION: ranked})


@refused("output port MEDIAN: ")
def median_port(pnl: Any) -> Built:
    return _one(pnl, pnl.MEDIAN)


@refused("output port of takes")
def port_of_a_variable(pnl: Any) -> Built:
    """A function of what the mechanism takes."""
    return _one(
        pnl, {pnl.NAME: "of", pnl.VARIABLE: (pnl.OWNER_VARIABLE, 0), pnl.FUNCTION: rectified}
    )


@refused("output port rows gives an array of shape")
def port_of_rows(pnl: Any) -> Built:
    """A port whose value is a matrix."""
    return _one(
        pnl, {pnl.NAME: "rows", pnl.VARIABLE: pnl.OWNER_VALUE, pnl.FUNCTION: lambda x: x * 2.0}
    )


@refused("its recurrence begins at ABOVE, which computes a value of its own")
def accumulators_that_send_a_function(pnl: Any) -> Built:
    """Accumulators that inhibit one another by a port that computes."""
    node = pnl.LCAMechanism(
        name="node",
        input_shapes=2,
        output_ports=[{pnl.NAME: "ABOVE", pnl.FUNCTION: rectified}],
        reset_stateful_function_when=pnl.AtTrialStart(),
    )
    return pnl.Composition(nodes=[node]), {"inputs": {node: [[1.0, 0.5]]}}
