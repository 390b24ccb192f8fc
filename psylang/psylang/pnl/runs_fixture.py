"""Scripts whose run() resets mechanisms, and gives parameters other values in some calls."""

from __future__ import annotations

from typing import Any

import numpy as np

from psylang.pnl.control_fixture import controlled_gain, controlled_integration
from psylang.pnl.networks_fixture import jittered, running_sum
from psylang.pnl.scripts_fixture import Built, Samples, stimuli

SAMPLES = Samples()
imported, refused = SAMPLES.imports, SAMPLES.refuses


# Resets.


def _accumulates(pnl: Any, when: Any, **given: Any) -> tuple[Any, Any]:
    node = pnl.TransferMechanism(
        name="node",
        input_shapes=2,
        function=pnl.Logistic(gain=0.3),
        integrator_mode=True,
        integration_rate=0.3,
        integrator_function=pnl.AdaptiveIntegrator(initializer=0.4),
        **({"reset_stateful_function_when": when} if when else {}),
        **given,
    )
    return pnl.Composition(nodes=[node]), node


def _resets(pnl: Any, when: Any) -> Built:
    net, node = _accumulates(pnl, when)
    return net, {"inputs": {node: stimuli(2)}}


@imported
def reset_at_a_trial(pnl: Any) -> Built:
    return _resets(pnl, pnl.AtTrial(7))


@imported
def reset_in_the_first_trials(pnl: Any) -> Built:
    return _resets(pnl, pnl.Any(pnl.BeforeTrial(4), pnl.AtTrial(40), pnl.AfterTrial(95)))


@imported
def reset_in_every_trial(pnl: Any) -> Built:
    return _resets(pnl, pnl.Always())


@imported
def reset_at_a_pass(pnl: Any) -> Built:
    """Resets are decided when a trial begins, in pass 0."""
    return _resets(pnl, pnl.All(pnl.AtPass(0), pnl.AfterNTrials(20)))


@imported
def reset_at_a_later_pass(pnl: Any) -> Built:
    return _resets(pnl, pnl.AtPass(1))


@imported
def reset_after_calls(pnl: Any) -> Built:
    """A layer forgets once another one has run 30 times since the run began."""
    first = pnl.ProcessingMechanism(name="first", input_shapes=2)
    node = pnl.IntegratorMechanism(
        name="node",
        input_shapes=2,
        function=pnl.SimpleIntegrator(rate=0.5),
        reset_stateful_function_when=pnl.All(
            pnl.AfterNCalls(first, 30, pnl.TimeScale.RUN),
            pnl.Not(pnl.AfterNCalls(first, 60, pnl.TimeScale.RUN)),
        ),
    )
    net = pnl.Composition(pathways=[first, node])
    net.scheduler.add_condition(node, pnl.EveryNCalls(first, 2))
    return net, {"inputs": {first: stimuli(2)}}


@imported
def reset_when_a_value_is_large(pnl: Any) -> Built:
    """The sum begins anew as soon as the trial before left it beyond a bound."""
    node = pnl.IntegratorMechanism(
        name="node", input_shapes=1, function=pnl.SimpleIntegrator(rate=0.5)
    )
    node.reset_stateful_function_when = pnl.While(lambda: abs(node.value[0][0]) > 0.8)
    return pnl.Composition(nodes=[node]), {"inputs": {node: stimuli(1)}}


@imported
def reset_of_a_decision(pnl: Any) -> Built:
    """A race that goes on where the last one ended, but in each block of trials."""
    node = pnl.DDM(
        name="node",
        function=pnl.DriftDiffusionIntegrator(
            threshold=0.4, rate=1.0, noise=0.5, time_step_size=0.01, seed=3
        ),
        execute_until_finished=False,
        reset_stateful_function_when=pnl.Any(pnl.AtTrial(0), pnl.AtTrial(30), pnl.AtTrial(60)),
    )
    return pnl.Composition(nodes=[node]), {"inputs": {node: stimuli(1)}}


@imported
def reset_of_a_race(pnl: Any) -> Built:
    node = pnl.LCAMechanism(
        name="node",
        input_shapes=2,
        leak=0.3,
        competition=0.5,
        noise=0.0,
        time_step_size=0.1,
        reset_stateful_function_when=pnl.Any(pnl.AtTrial(0), pnl.AtTrial(50)),
        execute_until_finished=False,
    )
    return pnl.Composition(nodes=[node]), {"inputs": {node: stimuli(2)}}


@imported
def reset_in_a_nest(pnl: Any) -> Built:
    """A trial of the nested composition's own clock."""
    inner_node = pnl.IntegratorMechanism(
        name="inner_node",
        input_shapes=1,
        function=pnl.SimpleIntegrator(rate=0.1),
        reset_stateful_function_when=pnl.AtTrial(5),
    )
    inner = pnl.Composition(name="inner", nodes=[inner_node])
    first = pnl.ProcessingMechanism(name="first", input_shapes=1)
    net = pnl.Composition(pathways=[[first, inner]])
    return net, {"inputs": {first: stimuli(1)}}


@refused("AfterNCalls counts within the trial")
def reset_by_calls_of_a_trial(pnl: Any) -> Built:
    net, node = _accumulates(pnl, None)
    node.reset_stateful_function_when = pnl.AfterNCalls(node, 1)
    return net, {"inputs": {node: stimuli(2)}}


# Resets by run().


@imported
def run_resets_all(pnl: Any) -> Built:
    net, node = _accumulates(pnl, None)
    return net, {"inputs": {node: stimuli(2)}, "reset_stateful_functions_when": pnl.AtTrial(12)}


@imported
def run_resets_in_each_trial(pnl: Any) -> Built:
    """The run's conditions replace the mechanisms'."""
    net, node = _accumulates(pnl, pnl.AtTrial(3))
    return net, {
        "inputs": {node: stimuli(2)},
        "reset_stateful_functions_when": {node: pnl.AtTrialStart()},
    }


@imported
def run_leaves_other_resets(pnl: Any) -> Built:
    """A condition is for mechanisms without one."""
    net, node = _accumulates(pnl, pnl.AtTrial(3))
    return net, {"inputs": {node: stimuli(2)}, "reset_stateful_functions_when": pnl.AtTrial(9)}


@imported
def run_begins_elsewhere(pnl: Any) -> Built:
    net, node = _accumulates(pnl, None)
    return net, {
        "inputs": {node: stimuli(2)},
        "reset_stateful_functions_to": {node: [[0.9, -0.3]]},
    }


@imported
def run_begins_each_trial_elsewhere(pnl: Any) -> Built:
    net, node = _accumulates(pnl, pnl.AtTrialStart())
    return net, {
        "inputs": {node: stimuli(2)},
        "reset_stateful_functions_to": {node: [[0.9, -0.3]]},
    }


@refused("reset_stateful_functions_to gives it a state")
def run_moves_a_decision(pnl: Any) -> Built:
    function = pnl.DriftDiffusionIntegrator(threshold=0.4, time_step_size=0.01, seed=3)
    node = pnl.DDM(name="node", function=function)
    return pnl.Composition(nodes=[node]), {
        "inputs": {node: stimuli(1)},
        "reset_stateful_functions_to": {node: [0.1]},
    }


# Parameters of some calls.


def _changed(pnl: Any, params: dict[str, Any], **given: Any) -> Built:
    node = pnl.TransferMechanism(
        name="node", input_shapes=2, function=pnl.Logistic(gain=0.7, bias=0.1), **given
    )
    return pnl.Composition(nodes=[node]), {
        "inputs": {node: stimuli(2)},
        "runtime_params": {node: params},
    }


@imported
def parameter_in_all_calls(pnl: Any) -> Built:
    return _changed(pnl, {"gain": 3.0, "bias": -0.4})


@imported
def parameter_in_late_trials(pnl: Any) -> Built:
    late, one = pnl.AfterTrial(60), pnl.AtTrial(9)
    return _changed(pnl, {"gain": (3.0, late), "bias": (-0.4, pnl.Any(late, one))})


@imported
def parameter_of_an_integrator(pnl: Any) -> Built:
    params = {"integration_rate": (0.9, pnl.AfterNTrials(50))}
    return _changed(pnl, params, integrator_mode=True, integration_rate=0.2)


@imported
def parameter_of_calls(pnl: Any) -> Built:
    """In the second and later calls of a trial."""
    net, given = _changed(pnl, {})
    (node,) = net.nodes
    given["runtime_params"] = {node: {"gain": (2.5, pnl.AfterNCalls(node, 2))}}
    given["termination_processing"] = {pnl.TimeScale.TRIAL: pnl.AfterNCalls(node, 3)}
    return net, given


@imported
def parameter_of_passes(pnl: Any) -> Built:
    node = pnl.IntegratorMechanism(
        name="node", input_shapes=1, function=pnl.SimpleIntegrator(rate=0.5)
    )
    net = pnl.Composition(nodes=[node])
    return net, {
        "inputs": {node: stimuli(1)},
        "runtime_params": {node: {"rate": (-0.25, pnl.AtPass(1))}},
        "termination_processing": {pnl.TimeScale.TRIAL: pnl.AfterNCalls(node, 3)},
    }


@imported
def parameter_by_a_value(pnl: Any) -> Built:
    """A gain that depends on what another layer sent."""
    first = pnl.ProcessingMechanism(name="first", input_shapes=2)
    node = pnl.ProcessingMechanism(
        name="node", input_shapes=2, function=pnl.Linear(slope=2.0, intercept=0.5)
    )
    net = pnl.Composition(pathways=[first, node])
    large = pnl.While(lambda: first.value[0][0] > 0.0)
    return net, {
        "inputs": {first: stimuli(2)},
        "runtime_params": {node: {"slope": (-1.0, large)}},
    }


def _decides(pnl: Any, params: dict[str, Any]) -> Built:
    function = pnl.DriftDiffusionIntegrator(
        rate=1.0, threshold=0.6, noise=0.4, time_step_size=0.1, seed=3
    )
    node = pnl.DDM(name="node", function=function)
    return pnl.Composition(nodes=[node]), {
        "inputs": {node: stimuli(1)},
        "runtime_params": {node: params},
    }


@refused("runtime_params gives it numbers, which PsyNeuLink ignores in a DDM that steps")
def parameter_of_a_decision(pnl: Any) -> Built:
    return _decides(pnl, {"rate": (4.0, pnl.AfterTrial(49))})


def _races(pnl: Any, params: dict[str, Any], **given: Any) -> Built:
    node = pnl.LCAMechanism(
        name="node",
        input_shapes=3,
        leak=0.4,
        competition=0.7,
        noise=pnl.NormalDist(standard_deviation=0.2, seed=21),
        time_step_size=0.05,
        threshold=0.6,
        reset_stateful_function_when=pnl.AtTrialStart(),
        **given,
    )
    return pnl.Composition(nodes=[node]), {
        "inputs": {node: [[1.5, 1.0, 0.6], [0.5, 0.5, 1.5]]},
        "num_trials": 30,
        "runtime_params": {node: params},
    }


@imported
def parameters_of_a_race(pnl: Any) -> Built:
    """A race to a threshold whose steps have other numbers in late trials."""
    late = pnl.AfterTrial(14)
    return _races(pnl, {"leak": (0.9, late), "gain": (1.5, pnl.AtTrial(3))})


@imported
def parameters_of_single_steps(pnl: Any) -> Built:
    """The scheduler, not the call, repeats the steps until the threshold is reached."""
    params = {"time_step_size": (0.1, pnl.AfterPass(4)), "gain": (1.5, pnl.AtTrial(3))}
    net, given = _races(pnl, params, execute_until_finished=False)
    (node,) = net.nodes
    return net, {**given, "termination_processing": {pnl.TimeScale.TRIAL: pnl.WhenFinished(node)}}


@imported
def parameters_of_a_layer_that_settles(pnl: Any) -> Built:
    """It begins each trial anew, with the numbers that it has outside of its calls."""
    how = {
        "integrator_mode": True,
        "integration_rate": 0.1,
        "termination_threshold": 0.001,
        "execute_until_finished": True,
        "reset_stateful_function_when": pnl.AtTrialStart(),
    }
    late = pnl.AfterTrial(60)
    return _changed(pnl, {"gain": (3.0, late), "integration_rate": (0.3, pnl.AtTrial(5))}, **how)


@imported
def parameters_of_a_recurrent_layer(pnl: Any) -> Built:
    node = pnl.RecurrentTransferMechanism(
        name="node",
        input_shapes=2,
        auto=0.4,
        hetero=-0.3,
        function=pnl.Logistic(gain=2.0),
        integrator_mode=True,
        integration_rate=0.3,
        reset_stateful_function_when=pnl.AtTrialStart(),
    )
    return pnl.Composition(nodes=[node]), {
        "inputs": {node: stimuli(2)},
        "runtime_params": {node: {"gain": (3.0, pnl.AfterTrial(50))}},
    }


@imported
def parameter_of_winners(pnl: Any) -> Built:
    node = pnl.KWTAMechanism(name="node", input_shapes=5, threshold=0.1, ratio=0.4)
    return pnl.Composition(nodes=[node]), {
        "inputs": {node: stimuli(5)},
        "runtime_params": {
            node: {"ratio": (0.8, pnl.AfterTrial(50)), "threshold": (0.3, pnl.AtTrial(60))}
        },
    }


def _closed(pnl: Any, params: dict[str, Any]) -> Built:
    function = pnl.DriftDiffusionAnalytical(drift_rate=0.8, threshold=1.1, noise=0.6)
    node = pnl.DDM(name="node", function=function, seed=32)
    return pnl.Composition(nodes=[node]), {
        "inputs": {node: stimuli(1)},
        "runtime_params": {node: params},
    }


@imported
def parameters_of_a_closed_form(pnl: Any) -> Built:
    late = pnl.AfterTrial(50)
    return _closed(pnl, {"drift_rate": (0.2, late), "non_decision_time": (0.4, pnl.AtTrial(3))})


AGAIN = "PsyNeuLink takes it back before it compares the result with a threshold"


@refused(f"runtime_params has `threshold`, and {AGAIN}")
def threshold_of_a_closed_form(pnl: Any) -> Built:
    return _closed(pnl, {"threshold": (0.7, pnl.AfterTrial(50))})


@refused(f"runtime_params has `termination_threshold`, and {AGAIN}")
def threshold_of_a_race(pnl: Any) -> Built:
    return _races(pnl, {"termination_threshold": (0.7, pnl.AfterTrial(14))})


@refused("runtime_params has `clip`, which is no number of the model")
def parameter_that_is_none(pnl: Any) -> Built:
    return _changed(pnl, {"clip": [0.0, 1.0]})


# A controller simulates with a clock of its own; construction leaves other values than a reset.


@refused("its reset is on AtTrial, and a controller simulates it")
def controlled_reset(pnl: Any) -> Built:
    net, given = controlled_integration(pnl)
    net.nodes[0].reset_stateful_function_when = pnl.AtTrial(2)
    return net, given


@refused("runtime_params gives it numbers, and it is nested or a controller simulates it")
def controlled_parameter(pnl: Any) -> Built:
    net, given = controlled_gain(pnl)
    return net, {**given, "runtime_params": {net.nodes[1]: {"intercept": 1.0}}}


def _recurrent(pnl: Any) -> tuple[Any, Any]:
    node = pnl.RecurrentTransferMechanism(
        name="node",
        input_shapes=2,
        auto=0.4,
        hetero=-0.3,
        function=pnl.Logistic(),
        integrator_mode=True,
        reset_stateful_function_when=pnl.AtTrial(3),
    )
    return pnl.Composition(nodes=[node]), node


@imported
def reset_of_a_recurrent_layer(pnl: Any) -> Built:
    net, node = _recurrent(pnl)
    return net, {"inputs": {node: stimuli(2)}}


@refused("it begins with the value that its construction left")
def reset_of_a_layer_with_a_value(pnl: Any) -> Built:
    net, node = _recurrent(pnl)
    node.output_port.parameters.value.set(np.array([0.1, 0.9]), override=True)
    return net, {"inputs": {node: stimuli(2)}}


@refused("its reset is on AtTrial, and it begins where its construction moved it")
def reset_of_a_point(pnl: Any) -> Built:
    function = pnl.DriftOnASphereIntegrator(seed=5, noise=0.3)
    node = pnl.IntegratorMechanism(
        name="node",
        input_shapes=2,
        function=function,
        reset_stateful_function_when=pnl.AtTrial(3),
    )
    return pnl.Composition(nodes=[node]), {"inputs": {node: stimuli(2)}}


@refused("reset_stateful_functions_to gives it a state")
def run_moves_a_point(pnl: Any) -> Built:
    function = pnl.FitzHughNagumoIntegrator()
    node = pnl.IntegratorMechanism(name="node", function=function)
    return pnl.Composition(nodes=[node]), {
        "inputs": {node: stimuli(1)},
        "reset_stateful_functions_to": {node: [0.1]},
    }


@refused("its function has draws, and a controller simulates it")
def controlled_draws(pnl: Any) -> Built:
    net, given = controlled_gain(pnl)
    function = pnl.UserDefinedFunction(jittered, default_variable=[[0.0]])
    net.add_node(pnl.ProcessingMechanism(name="drawn", input_shapes=1, function=function))
    return net, given


@refused("its function keeps a value")
def kept_beside_a_mean(pnl: Any) -> Built:
    function = pnl.UserDefinedFunction(
        running_sum, default_variable=[[0.0, 0.0]], stateful_parameter="total"
    )
    node = pnl.ProcessingMechanism(
        name="node", input_shapes=2, function=function, output_ports=[pnl.RESULT, pnl.MEAN]
    )
    return pnl.Composition(nodes=[node]), {"inputs": {node: stimuli(2)}}


@refused("its function keeps total")
def control_that_keeps(pnl: Any) -> Built:
    node = pnl.ProcessingMechanism(name="node", input_shapes=1, function=pnl.Linear())
    function = pnl.UserDefinedFunction(
        running_sum, default_variable=[[0.0]], stateful_parameter="total"
    )
    control = pnl.ControlMechanism(
        name="control",
        monitor_for_control=[node],
        function=function,
        control_signals=[pnl.ControlSignal(modulates=(pnl.SLOPE, node))],
    )
    return pnl.Composition(nodes=[node, control]), {"inputs": {node: stimuli(1)}}


def _cycle(pnl: Any, begins: Any, **given: Any) -> Built:
    """Two layers that send to each other; the values with which they begin."""
    one = pnl.TransferMechanism(name="one", input_shapes=2)
    other = pnl.TransferMechanism(name="other", input_shapes=2, function=pnl.Logistic, **given)
    net = pnl.Composition(nodes=[one, other])
    net.add_projection(pnl.MappingProjection(matrix=[[0.5, 0.1], [0.2, 0.3]]), one, other)
    net.add_projection(pnl.MappingProjection(matrix=[[0.4, 0.0], [0.2, 0.7]]), other, one)
    return net, {
        "inputs": {one: stimuli(2), other: stimuli(2)},
        "initialize_cycle_values": begins(one, other),
    }


@imported
def cycle_with_a_first_value(pnl: Any) -> Built:
    return _cycle(pnl, lambda one, other: {other: [[2.0, 3.0]]})


@imported
def cycle_with_first_values(pnl: Any) -> Built:
    """One of them integrates, and begins with another state than its value's."""
    how = {"integrator_mode": True, "integration_rate": 0.3}
    return _cycle(pnl, lambda one, other: {one: [[0.5, -1.0]], other: [[2.0, 3.0]]}, **how)


@refused("initialize_cycle_values gives it a value, and it is more than a layer")
def cycle_with_a_reset(pnl: Any) -> Built:
    how = {"integrator_mode": True, "reset_stateful_function_when": pnl.AtTrialStart()}
    return _cycle(pnl, lambda one, other: {other: [[2.0, 3.0]]}, **how)
