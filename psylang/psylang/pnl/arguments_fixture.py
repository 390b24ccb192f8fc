"""Arguments of PsyNeuLink that change results, each in a small composition.

The imported ones are what Psylang follows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from psylang.pnl.scripts_fixture import Built, Samples, Script

SAMPLES = Samples()


def _case(name: str, script: Script, why: str = "") -> None:
    script.__name__ = name
    if why:
        SAMPLES.refuses(why)(script)
    else:
        SAMPLES.imports(script)


def _of(pnl: Any, node: Any) -> Built:
    size = node.input_port.defaults.value.size
    inputs = [[1.0] * size, [0.3] * size, [-0.4] * size]
    return pnl.Composition(nodes=[node]), {"inputs": {node: inputs}}


# Output ports.


def _sent(pnl: Any, **given: Any) -> Built:
    port = pnl.OutputPort(**given)
    function = pnl.Linear(slope=2.0)
    node = pnl.ProcessingMechanism(
        name="node", input_shapes=2, function=function, output_ports=[port]
    )
    return _of(pnl, node)


_case("sent_plain", lambda pnl: _sent(pnl, function=pnl.Linear()))
_case("sent_scaled", lambda pnl: _sent(pnl, function=pnl.Linear(scale=3.0)))
_case("sent_shifted", lambda pnl: _sent(pnl, function=pnl.Linear(offset=3.0, intercept=-0.7)))
_case(
    "sent_by_element",
    lambda pnl: _sent(pnl, function=pnl.Linear(slope=[1.0, 2.0])),
    "its slope differs by element, at which PsyNeuLink stops",
)
_case("sent_otherwise", lambda pnl: _sent(pnl, function=pnl.Logistic()), "computes Logistic")


def _sent_in_context(pnl: Any) -> Built:
    net, given = _sent(pnl, function=pnl.Linear(slope=3.0))
    function = net.nodes[0].output_port.function
    function.parameters.slope.set(7.0, context=net.default_execution_id)
    return net, given


_case("sent_in_context", _sent_in_context, "`slope` of Linear is 3.0, but 7.0")


def _sent_and_gated(pnl: Any) -> Built:
    net, given = _sent(pnl, function=pnl.Linear(slope=3.0))
    gate = pnl.GatingMechanism(name="gate", gating_signals=[net.nodes[0].output_port])
    net.add_node(gate)
    return net, {"inputs": {**given["inputs"], gate: [[0.5]]}}


_case("sent_and_gated", _sent_and_gated, "it is gated, and scales the value")


def _sent_by_layers(pnl: Any, kind: str) -> Built:
    """Scaled ports of a layer that integrates, or of accumulators, beside their result."""
    ports = [pnl.RESULT, pnl.OutputPort(name="TWICE", function=pnl.Linear(slope=2.0, offset=0.1))]
    how = {"noise": 0.0} if kind == "LCAMechanism" else {"integrator_mode": True}
    node = getattr(pnl, kind)(name="node", input_shapes=2, output_ports=ports, **how)
    return _of(pnl, node)


_case("sent_by_a_layer", lambda pnl: _sent_by_layers(pnl, "TransferMechanism"))
_case("sent_by_accumulators", lambda pnl: _sent_by_layers(pnl, "LCAMechanism"))
_case(
    "sent_variable",
    lambda pnl: _sent(pnl, variable=(pnl.OWNER_VARIABLE, 0)),
    "output port OutputPort-0",
)
_case(
    "sent_input",
    lambda pnl: _sent(pnl, variable=(pnl.INPUT_PORT_VARIABLES, 0)),
    "output port OutputPort-0",
)


def _misnamed(pnl: Any) -> Built:
    """An output port with the name of another value."""
    port = pnl.OutputPort(name="RESPONSE_TIME", variable=(pnl.OWNER_VALUE, 0))
    function = pnl.DriftDiffusionIntegrator(threshold=0.3, time_step_size=0.01, seed=3)
    return _of(pnl, pnl.DDM(name="node", function=function, output_ports=[port]))


_case("misnamed", _misnamed, "output port RESPONSE_TIME is not imported")


# Input ports and projections.


def _arriving(pnl: Any, **given: Any) -> Built:
    """Two projections to one port."""
    senders = [pnl.ProcessingMechanism(name=name) for name in ("left", "right")]
    port = pnl.InputPort(name="port", **given)
    node = pnl.ProcessingMechanism(name="node", input_ports=[port])
    net = pnl.Composition(nodes=[*senders, node])
    for one in senders:
        net.add_projection(sender=one, receiver=node)
    return net, {"inputs": {senders[0]: [[2.0]], senders[1]: [[3.0]]}}


_case("port_weight", lambda pnl: _arriving(pnl, weight=3.0))
_case("port_product", lambda pnl: _arriving(pnl, combine=pnl.PRODUCT), "port multiplies")
_case(
    "port_scaled",
    lambda pnl: _arriving(pnl, function=pnl.LinearCombination(scale=2.0)),
    "`scale` of LinearCombination",
)


def _monitored(pnl: Any, exponent: float) -> Built:
    senders = [pnl.ProcessingMechanism(name=name) for name in ("left", "right")]
    node = pnl.ObjectiveMechanism(name="node", monitor=[(senders[0], 3.0, exponent), senders[1]])
    net = pnl.Composition(nodes=[*senders, node])
    return net, {"inputs": {senders[0]: [[2.0]], senders[1]: [[3.0]]}}


_case("monitored_weight", lambda pnl: _monitored(pnl, 1.0))
_case("monitored_exponent", lambda pnl: _monitored(pnl, 2.0), "`exponents` of LinearCombination")


def _projected(pnl: Any, **given: Any) -> Built:
    nodes = [pnl.ProcessingMechanism(name=name, input_shapes=2) for name in ("first", "last")]
    net = pnl.Composition(nodes=nodes)
    net.add_projection(pnl.MappingProjection(**given), *nodes)
    return net, {"inputs": {nodes[0]: [[1.0, 2.0]]}}


WEIGHTS = np.array([[1.0, 0.3], [0.2, -1.0]])
_case("matrix_hollow", lambda pnl: _projected(pnl, matrix=pnl.HOLLOW_MATRIX))
_case("matrix_random", lambda pnl: _projected(pnl, matrix=pnl.RANDOM_CONNECTIVITY_MATRIX))
_case(
    "matrix_distance",
    lambda pnl: _projected(pnl, matrix=WEIGHTS, function=pnl.MatrixTransform(operation=pnl.L0)),
    "computes difference",
)


def _normalised(pnl: Any) -> Built:
    node = pnl.RecurrentTransferMechanism(name="node", input_shapes=2, auto=0.3, hetero=0.4)
    node.recurrent_projection.function.parameters.normalize.set(True)
    return _of(pnl, node)


_case("matrix_normalised", _normalised, "computes dot_product, normalised")


def _shadowed(pnl: Any) -> Built:
    """A node that takes the input of another."""
    first = pnl.ProcessingMechanism(name="first", input_shapes=2)
    node = pnl.ProcessingMechanism(
        name="node", input_ports=[first.input_port], function=pnl.Linear(slope=2.0)
    )
    return pnl.Composition(nodes=[first, node]), {"inputs": {first: [[1.0, 2.0], [0.5, -3.0]]}}


_case("shadowed", _shadowed)


# Parameters.


def _ported(pnl: Any) -> Built:
    node = pnl.ProcessingMechanism(name="node", function=pnl.Linear(slope=2.0))
    node.parameter_ports["slope"].function = pnl.Linear(slope=3.0)
    return _of(pnl, node)


def _in_context(pnl: Any) -> Built:
    node = pnl.ProcessingMechanism(name="node", function=pnl.Linear(slope=2.0))
    net, given = _of(pnl, node)
    node.function.parameters.slope.set(7.0, context=net.default_execution_id)
    return net, given


def _limited(pnl: Any) -> Built:
    """A limit of steps that is set after construction, which ignores it."""
    node = pnl.LCAMechanism(
        name="node",
        input_shapes=2,
        threshold=0.9,
        noise=0.0,
        reset_stateful_function_when=pnl.AtTrialStart(),
    )
    node.max_executions_before_finished = 7
    return _of(pnl, node)


def _together(pnl: Any, per_item: bool) -> Built:
    senders = [pnl.ProcessingMechanism(name=name, input_shapes=2) for name in ("left", "right")]
    node = pnl.ProcessingMechanism(
        name="node", input_shapes=[2, 2], function=pnl.SoftMax(per_item=per_item)
    )
    net = pnl.Composition(nodes=[*senders, node])
    for one, port in zip(senders, node.input_ports, strict=True):
        net.add_projection(sender=one, receiver=port)
    return net, {"inputs": {senders[0]: [[1.0, 2.0]], senders[1]: [[3.0, 5.0]]}}


_case("parameter_port", _ported, "slope passes through a function of its ParameterPort")
_case("parameter_in_context", _in_context, "`slope` of Linear is 2.0, but 7.0")
_case("limited_steps", _limited)
_case("softmax_of_each", lambda pnl: _together(pnl, True))
_case("softmax_of_all", lambda pnl: _together(pnl, False), "`per_item` of SoftMax is False")


# The end of a run.


def _ends(pnl: Any, condition: Any, in_scheduler: bool = False) -> Built:
    node = pnl.IntegratorMechanism(name="node", function=pnl.SimpleIntegrator())
    net, given = _of(pnl, node)
    ends = {pnl.TimeScale.RUN: condition}
    if in_scheduler:
        net.scheduler.termination_conds = {**net.scheduler.termination_conds, **ends}
        return net, given
    return net, {**given, "termination_processing": ends}


_case("run_ends", lambda pnl: _ends(pnl, pnl.AfterNTrials(2)))
_case("run_ends_late", lambda pnl: _ends(pnl, pnl.AfterNTrials(7)))
_case("scheduler_ends", lambda pnl: _ends(pnl, pnl.AfterNTrials(1), True))
_case(
    "life_ends",
    lambda pnl: _ends(pnl, pnl.AfterNTrials(2, time_scale=pnl.TimeScale.LIFE)),
    "AfterNTrials ends it at the time scale",
)
_case("passes_end", lambda pnl: _ends(pnl, pnl.AfterPass(2)), "AfterPass ends it at the time scale")
_case("no_trials", lambda pnl: _ends(pnl, pnl.AfterNTrials(0)), "it ends after 0 trials")


# Control.


def _controlled(pnl: Any, composition: Any = (), signal: Any = (), **given: Any) -> Built:
    source = pnl.ProcessingMechanism(name="source")
    node = pnl.ProcessingMechanism(name="node", function=pnl.Linear(slope=2.0))
    net = pnl.Composition(pathways=[source, node], controller_mode=pnl.BEFORE, **dict(composition))
    level = {
        "modulates": (pnl.SLOPE, node),
        "allocation_samples": [0.5, 1.0, 2.0, 3.0],
        "cost_options": pnl.CostFunctions.INTENSITY,
        "intensity_cost_function": pnl.Exponential(rate=0.8, bias=-1.0),
        **dict(signal),
    }
    control = {
        "agent_rep": net,
        "name": "control",
        "state_features": [source.input_port],
        "objective_mechanism": pnl.ObjectiveMechanism(name="objective", monitor=[node]),
        "function": pnl.GridSearch(),
        "control_signals": [pnl.ControlSignal(**level)],
        **given,
    }
    if control.get("state_features") == "its output":
        control["state_features"] = [node.output_port]
    net.add_controller(pnl.OptimizationControlMechanism(**control))
    return net, {"inputs": {source: [[1.0], [3.0]]}}


def _signal(name: str, script: Callable[[Any], dict[str, Any]], why: str = "") -> None:
    _case(name, lambda pnl: _controlled(pnl, signal=script(pnl)), why)


def _control(name: str, script: Callable[[Any], dict[str, Any]], why: str = "") -> None:
    _case(name, lambda pnl: _controlled(pnl, **script(pnl)), why)


FEATURES = "its state_features are not the inputs"
_signal("signal_additive", lambda pnl: {"modulation": pnl.ADDITIVE})
_signal("signal_cost", lambda pnl: {"intensity_cost_function": pnl.Linear(intercept=-1.0)})
_signal(
    "signal_cost_scaled",
    lambda pnl: {"intensity_cost_function": pnl.Linear(scale=3.0, offset=-0.5)},
)
_signal("signal_cost_raised", lambda pnl: {"intensity_cost_function": pnl.Exponential(scale=0.1)})
_signal(
    "signal_cost_logistic",
    lambda pnl: {"intensity_cost_function": pnl.Logistic()},
    "the intensity cost is Logistic",
)
_signal(
    "signal_function",
    lambda pnl: {"transfer_function": pnl.Linear(slope=-1.0)},
    "has a function of its own",
)
_signal(
    "signal_costs_combined",
    lambda pnl: {"combine_costs_function": pnl.Reduce(operation=pnl.PRODUCT)},
    "the costs of a signal are combined",
)


def _lasting(pnl: Any, **given: Any) -> dict[str, Any]:
    return {"cost_options": pnl.CostFunctions.DURATION, **given}


_signal("signal_adjusts", lambda pnl: {"cost_options": pnl.CostFunctions.ADJUSTMENT})
_signal("signal_lasts", _lasting)
_signal(
    "signal_lasts_noisily",
    lambda pnl: _lasting(pnl, duration_cost_function=pnl.SimpleIntegrator(noise=1.0)),
    "`noise` of SimpleIntegrator",
)
_signal(
    "signal_accumulates",
    lambda pnl: _lasting(pnl, duration_cost_function=pnl.AccumulatorIntegrator()),
    "the duration cost is AccumulatorIntegrator",
)
_control("features_none", lambda pnl: {"state_features": None}, FEATURES)
_control("features_number", lambda pnl: {"state_features": [2.5]}, FEATURES)
_control("features_output", lambda pnl: {"state_features": "its output"}, FEATURES)
_control(
    "features_function",
    lambda pnl: {"state_feature_function": pnl.Linear(slope=-1.0)},
    FEATURES,
)
_control(
    "net_outcome",
    lambda pnl: {"compute_net_outcome": lambda outcome, cost: outcome - 3.0 * cost},
    "its compute_net_outcome is a function of its own",
)
_control("costs_multiplied", lambda pnl: {"combine_costs": np.prod}, "`combine_costs` of")
_control(
    "several_trials", lambda pnl: {"num_trials_per_estimate": 3}, "`num_trials_per_estimate` of"
)
_control(
    "control_each_pass",
    lambda pnl: {"composition": {"controller_time_scale": pnl.TimeScale.PASS}},
    "it runs at the time scale PASS",
)


def _outcome_scaled(pnl: Any) -> Built:
    net, given = _controlled(pnl)
    net.controller.outcome_input_ports[0].function.parameters.scale.set(-1.0)
    return net, given


_case("outcome_scaled", _outcome_scaled, "its port OUTCOME computes LinearCombination")
