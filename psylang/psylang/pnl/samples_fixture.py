"""Scripts in PsyNeuLink's style, after published models, written for these tests.

Each function builds a composition and gives it with the arguments of its run(), as a script would.
IMPORTED lists the functions whose compositions are imported, REFUSED the others, each with a part
of the reason.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Script = Callable[[Any], tuple[Any, dict[str, Any]]]
IMPORTED: list[Script] = []
REFUSED: dict[Script, str] = {}


def imported(script: Script) -> Script:
    IMPORTED.append(script)
    return script


def refused(why: str) -> Callable[[Script], Script]:
    def register(script: Script) -> Script:
        REFUSED[script] = why
        return script

    return register


# Feed-forward networks.


@imported
def logistic_layers(pnl: Any) -> tuple[Any, dict[str, Any]]:
    """Two layers with a random matrix, after McClelland and Rumelhart 1981's feature detectors."""
    features = pnl.TransferMechanism(name="features", input_shapes=4)
    letters = pnl.TransferMechanism(
        name="letters", input_shapes=3, function=pnl.Logistic(gain=2.0, bias=-0.5)
    )
    matrix = np.random.default_rng(1).normal(size=(4, 3))
    net = pnl.Composition(pathways=[features, matrix, letters])
    return net, {"inputs": {features: np.eye(4).tolist()}}


@imported
def stroop_feed_forward(pnl: Any) -> tuple[Any, dict[str, Any]]:
    """Cohen, Dunbar and McClelland 1990 without the cascade."""
    colour = pnl.ProcessingMechanism(name="colour", input_shapes=2)
    word = pnl.ProcessingMechanism(name="word", input_shapes=2)
    task = pnl.ProcessingMechanism(name="task", input_shapes=2)
    hidden = [
        pnl.ProcessingMechanism(name=name, input_shapes=2, function=pnl.Logistic(x_0=4.0))
        for name in ("colour_hidden", "word_hidden")
    ]
    out = pnl.ProcessingMechanism(name="out", input_shapes=2, function=pnl.Logistic)
    net = pnl.Composition()
    for sender, weights, layer in (
        (colour, [[2.2, -2.2], [-2.2, 2.2]], hidden[0]),
        (word, [[2.6, -2.6], [-2.6, 2.6]], hidden[1]),
        (task, [[4.0, 4.0], [0.0, 0.0]], hidden[0]),
        (task, [[0.0, 0.0], [4.0, 4.0]], hidden[1]),
    ):
        net.add_linear_processing_pathway([sender, np.array(weights), layer, out])
    inputs = {colour: [[1, 0], [1, 0]], word: [[0, 1], [1, 0]], task: [[1, 0], [0, 1]]}
    return net, {"inputs": inputs}


@imported
def softmax_choice(pnl: Any) -> tuple[Any, dict[str, Any]]:
    """Luce's choice rule."""
    values = pnl.ProcessingMechanism(name="values", input_shapes=3)
    choice = pnl.ProcessingMechanism(
        name="choice", input_shapes=3, function=pnl.SoftMax(gain=3.0, output=pnl.ALL)
    )
    return pnl.Composition(pathways=[values, choice]), {"inputs": {values: [[0.1, 0.5, 0.2]]}}


@imported
def transfer_functions(pnl: Any) -> tuple[Any, dict[str, Any]]:
    """One input to five functions; PsyNeuLink lists their results in its own order."""
    given = pnl.ProcessingMechanism(name="given", input_shapes=2)
    made = (
        pnl.Linear(slope=2.0, intercept=-1.0),
        pnl.Tanh(gain=0.5, bias=0.2),
        pnl.ReLU(gain=1.5, bias=0.1, leak=0.05),
        pnl.Exponential(rate=0.3, bias=0.1, scale=2.0),
        pnl.Logistic(gain=1.2, x_0=0.3),
    )
    nodes = [
        pnl.ProcessingMechanism(name=f"f{k}", input_shapes=2, function=one)
        for k, one in enumerate(made)
    ]
    return pnl.Composition(pathways=[[given, one] for one in nodes]), {
        "inputs": {given: [[0.4, -0.7], [1.3, 0.0]]}
    }


@imported
def several_ports(pnl: Any) -> tuple[Any, dict[str, Any]]:
    """A comparator: the product of two inputs of different size of origin."""
    left = pnl.ProcessingMechanism(name="left", input_shapes=2)
    right = pnl.ProcessingMechanism(name="right", input_shapes=2)
    both = pnl.ProcessingMechanism(
        name="both",
        input_shapes=[2, 2],
        function=pnl.LinearCombination(operation=pnl.PRODUCT),
    )
    net = pnl.Composition(nodes=[left, right, both])
    net.add_projection(sender=left, receiver=both.input_ports[0])
    net.add_projection(sender=right, receiver=both.input_ports[1])
    return net, {"inputs": {left: [[1, 2]], right: [[3, 4]]}}


@imported
def clipped(pnl: Any) -> tuple[Any, dict[str, Any]]:
    node = pnl.TransferMechanism(
        name="node", input_shapes=2, clip=[-0.5, 0.5], function=pnl.Linear(slope=3.0)
    )
    return pnl.Composition(nodes=[node]), {"inputs": {node: [[0.1, 1.0], [-1.0, 0.0]]}}


# Integrators.


@imported
def cascade(pnl: Any) -> tuple[Any, dict[str, Any]]:
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
def settling(pnl: Any) -> tuple[Any, dict[str, Any]]:
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
def counter(pnl: Any) -> tuple[Any, dict[str, Any]]:
    node = pnl.IntegratorMechanism(
        name="node", input_shapes=2, function=pnl.SimpleIntegrator(rate=0.5, offset=0.25)
    )
    return pnl.Composition(nodes=[node]), {"inputs": {node: [[1.0, 2.0]]}, "num_trials": 5}


@imported
def leaky_memory(pnl: Any) -> tuple[Any, dict[str, Any]]:
    node = pnl.IntegratorMechanism(
        name="node",
        input_shapes=1,
        function=pnl.AdaptiveIntegrator(rate=0.2, initializer=0.5, noise=0.01),
    )
    return pnl.Composition(nodes=[node]), {"inputs": {node: [[1.0]]}, "num_trials": 6}


@imported
def noisy_integrator(pnl: Any) -> tuple[Any, dict[str, Any]]:
    node = pnl.IntegratorMechanism(
        name="node",
        input_shapes=2,
        function=pnl.SimpleIntegrator(
            rate=0.5, noise=pnl.NormalDist(standard_deviation=0.3, seed=12)
        ),
    )
    return pnl.Composition(nodes=[node]), {"inputs": {node: [[1.0, 2.0]]}, "num_trials": 6}


# Noise.


def _noisy(pnl: Any, noise: Any) -> tuple[Any, dict[str, Any]]:
    node = pnl.TransferMechanism(name="node", input_shapes=2, noise=noise)
    return pnl.Composition(nodes=[node]), {"inputs": {node: [[1.0, 2.0]]}, "num_trials": 20}


@imported
def normal_noise(pnl: Any) -> tuple[Any, dict[str, Any]]:
    return _noisy(pnl, pnl.NormalDist(mean=0.1, standard_deviation=0.5, seed=3))


@imported
def uniform_noise(pnl: Any) -> tuple[Any, dict[str, Any]]:
    return _noisy(pnl, pnl.UniformDist(low=-0.5, high=1.5, seed=4))


@imported
def exponential_noise(pnl: Any) -> tuple[Any, dict[str, Any]]:
    return _noisy(pnl, pnl.ExponentialDist(beta=0.7, seed=5))


@imported
def gamma_noise(pnl: Any) -> tuple[Any, dict[str, Any]]:
    return _noisy(pnl, pnl.GammaDist(dist_shape=1.5, scale=0.4, seed=6))


@imported
def wald_noise(pnl: Any) -> tuple[Any, dict[str, Any]]:
    return _noisy(pnl, pnl.WaldDist(mean=1.2, scale=0.8, seed=7))


# Recurrent networks.


@imported
def hopfield(pnl: Any) -> tuple[Any, dict[str, Any]]:
    """Hopfield 1982 with continuous units: a stored pattern from a part of it."""
    pattern = np.array([1.0, -1.0, 1.0, -1.0])
    matrix = np.outer(pattern, pattern) / 4
    np.fill_diagonal(matrix, 0.0)
    node = pnl.RecurrentTransferMechanism(
        name="node", input_shapes=4, matrix=matrix, function=pnl.Tanh(gain=2.0)
    )
    return pnl.Composition(nodes=[node]), {
        "inputs": {node: [[1.0, 0.0, 0.0, 0.0]]},
        "num_trials": 5,
    }


@imported
def hebbian(pnl: Any) -> tuple[Any, dict[str, Any]]:
    """A network that could learn, which run() does not."""
    node = pnl.RecurrentTransferMechanism(
        name="node", input_shapes=2, auto=0.3, hetero=0.2, enable_learning=True
    )
    inputs = [[1.0, 0.5], [0.3, -0.2], [0.7, 0.1]]
    return pnl.Composition(nodes=[node]), {"inputs": {node: inputs}, "num_trials": 6}


@imported
def conflict(pnl: Any) -> tuple[Any, dict[str, Any]]:
    """Botvinick's conflict: the energy of two units that inhibit one another."""
    node = pnl.RecurrentTransferMechanism(
        name="node",
        input_shapes=2,
        auto=0.0,
        hetero=-1.5,
        function=pnl.Logistic,
        integrator_mode=True,
        integration_rate=0.2,
        output_ports=[pnl.RESULT, pnl.ENERGY],
        reset_stateful_function_when=pnl.AtRunStart(),
    )
    return pnl.Composition(nodes=[node]), {"inputs": {node: [[1.0, 0.8]]}, "num_trials": 9}


@imported
def feedback_loop(pnl: Any) -> tuple[Any, dict[str, Any]]:
    """Two layers that excite one another: a cycle that PsyNeuLink runs at once."""
    given = pnl.TransferMechanism(name="given", input_shapes=2)
    low, high = (
        pnl.TransferMechanism(
            name=name,
            input_shapes=2,
            function=pnl.Logistic,
            integrator_mode=True,
            integration_rate=0.3,
            reset_stateful_function_when=pnl.AtRunStart(),
        )
        for name in ("low", "high")
    )
    net = pnl.Composition(nodes=[given, low, high])
    net.add_projection(sender=given, receiver=low)
    net.add_projection(pnl.MappingProjection(matrix=np.eye(2) * 1.5), low, high)
    net.add_projection(pnl.MappingProjection(matrix=np.eye(2) * 0.5), high, low)
    return net, {"inputs": {given: [[1.0, 0.2]]}, "num_trials": 6}


# Decisions.


def _lca(pnl: Any, **given: Any) -> tuple[Any, dict[str, Any]]:
    race = pnl.LCAMechanism(
        name="race",
        input_shapes=3,
        leak=0.4,
        competition=0.7,
        noise=pnl.NormalDist(standard_deviation=0.2, seed=21),
        time_step_size=0.05,
        reset_stateful_function_when=pnl.AtTrialStart(),
        **given,
    )
    return pnl.Composition(nodes=[race]), {
        "inputs": {race: [[1.5, 1.0, 0.6], [0.5, 0.5, 1.5]]},
        "num_trials": 4,
    }


@imported
def usher_mcclelland(pnl: Any) -> tuple[Any, dict[str, Any]]:
    return _lca(pnl, threshold=0.7)


@imported
def best_against_next(pnl: Any) -> tuple[Any, dict[str, Any]]:
    return _lca(pnl, threshold=0.1, threshold_criterion=pnl.MAX_VS_NEXT)


@imported
def best_against_average(pnl: Any) -> tuple[Any, dict[str, Any]]:
    return _lca(pnl, threshold=0.1, threshold_criterion=pnl.MAX_VS_AVG)


@imported
def diffusion(pnl: Any) -> tuple[Any, dict[str, Any]]:
    decision = pnl.DDM(
        name="decision",
        function=pnl.DriftDiffusionIntegrator(
            rate=0.8, noise=0.7, threshold=0.8, time_step_size=0.01, seed=31
        ),
        reset_stateful_function_when=pnl.AtTrialStart(),
    )
    return pnl.Composition(nodes=[decision]), {"inputs": {decision: [[0.5], [-1.0]]}}


@imported
def closed_form(pnl: Any) -> tuple[Any, dict[str, Any]]:
    """Bogacz and others 2006."""
    decision = pnl.DDM(
        name="decision",
        function=pnl.DriftDiffusionAnalytical(drift_rate=0.8, threshold=1.1, noise=0.6),
        seed=32,
    )
    return pnl.Composition(nodes=[decision]), {"inputs": {decision: [[0.5], [-1.0], [0.2]]}}


@imported
def network_and_diffusion(pnl: Any) -> tuple[Any, dict[str, Any]]:
    """A layer that cascades for 15 passes, and then drives a decision."""
    given = pnl.TransferMechanism(name="given", input_shapes=2)
    layer = pnl.TransferMechanism(
        name="layer",
        input_shapes=2,
        function=pnl.Logistic,
        integrator_mode=True,
        integration_rate=0.1,
        reset_stateful_function_when=pnl.AtTrialStart(),
    )
    decision = pnl.DDM(
        name="decision",
        function=pnl.DriftDiffusionIntegrator(noise=0.5, time_step_size=0.01, seed=33),
        reset_stateful_function_when=pnl.AtTrialStart(),
    )
    net = pnl.Composition(pathways=[given, layer, np.array([[1.0], [-1.0]]), decision])
    net.scheduler.add_condition(decision, pnl.AfterNCalls(layer, 15))
    return net, {"inputs": {given: [[3.0, -1.0], [-2.0, 2.0]]}}


# Schedules.


def _chain(pnl: Any) -> tuple[Any, Any, Any]:
    nodes = [
        pnl.IntegratorMechanism(
            name=name, input_shapes=1, function=pnl.SimpleIntegrator(rate=0.5 + k)
        )
        for k, name in enumerate(("a", "b"))
    ]
    return pnl.Composition(pathways=[nodes]), *nodes


@imported
def every_second_call(pnl: Any) -> tuple[Any, dict[str, Any]]:
    net, a, b = _chain(pnl)
    net.scheduler.add_condition(b, pnl.EveryNCalls(a, 2))
    return net, {"inputs": {a: [[1.0]]}, "num_trials": 3}


@imported
def ends_at_a_pass(pnl: Any) -> tuple[Any, dict[str, Any]]:
    net, a, _ = _chain(pnl)
    return net, {
        "inputs": {a: [[1.0], [2.0]]},
        "termination_processing": {pnl.TimeScale.TRIAL: pnl.AfterPass(4)},
    }


@imported
def any_of_conditions(pnl: Any) -> tuple[Any, dict[str, Any]]:
    net, a, b = _chain(pnl)
    net.scheduler.add_condition(a, pnl.Any(pnl.AtPass(0), pnl.EveryNPasses(3)))
    net.scheduler.add_condition(b, pnl.All(pnl.AfterPass(1), pnl.Not(pnl.AtPass(3))))
    return net, {
        "inputs": {a: [[1.0]]},
        "num_trials": 2,
        "termination_processing": {pnl.TimeScale.TRIAL: pnl.AfterNCalls(b, 3)},
    }


@imported
def just_ran(pnl: Any) -> tuple[Any, dict[str, Any]]:
    net, a, b = _chain(pnl)
    net.scheduler.add_condition(a, pnl.EveryNPasses(2))
    net.scheduler.add_condition(b, pnl.JustRan(a))
    return net, {
        "inputs": {a: [[1.0]]},
        "termination_processing": {pnl.TimeScale.TRIAL: pnl.AfterNCalls(b, 2)},
    }


@imported
def before_and_at_calls(pnl: Any) -> tuple[Any, dict[str, Any]]:
    net, a, b = _chain(pnl)
    net.scheduler.add_condition(b, pnl.Any(pnl.AtNCalls(a, 2), pnl.AfterCall(a, 3)))
    return net, {
        "inputs": {a: [[1.0]]},
        "termination_processing": {pnl.TimeScale.TRIAL: pnl.AfterNCalls(b, 3)},
    }


# User-defined functions, control.


def weighted(variable: Any, gain: float = 2.0, bias: float = 0.1) -> Any:
    """A function of the modeller's, with parameters."""
    parts = [np.maximum(gain * row, 0.0) + bias * np.sum(row) for row in variable]
    return np.array(parts)


@imported
def user_defined(pnl: Any) -> tuple[Any, dict[str, Any]]:
    given = pnl.ProcessingMechanism(name="given", input_shapes=3)
    function = pnl.UserDefinedFunction(weighted, default_variable=np.zeros((1, 3)), gain=3.0)
    node = pnl.ProcessingMechanism(name="node", input_shapes=3, function=function)
    return pnl.Composition(pathways=[given, node]), {"inputs": {given: [[1.0, -2.0, 0.5]]}}


@imported
def controlled_gain(pnl: Any) -> tuple[Any, dict[str, Any]]:
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
def controlled_afterwards(pnl: Any) -> tuple[Any, dict[str, Any]]:
    """PsyNeuLink's default: the search after a trial sets the level of the next one."""
    net, given = controlled_gain(pnl)
    net.controller_mode = pnl.AFTER
    return net, given


@imported
def controlled_integration(pnl: Any) -> tuple[Any, dict[str, Any]]:
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


@imported
def accumulating(pnl: Any) -> tuple[Any, dict[str, Any]]:
    noise = pnl.NormalDist(standard_deviation=0.2, seed=51)
    function = pnl.AccumulatorIntegrator(rate=0.9, increment=0.1, noise=noise)
    node = pnl.IntegratorMechanism(name="node", input_shapes=2, function=function)
    return pnl.Composition(nodes=[node]), {"inputs": {node: [[1.0, 2.0]]}, "num_trials": 5}


@imported
def interactive_activation(pnl: Any) -> tuple[Any, dict[str, Any]]:
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
def mean_reverting(pnl: Any) -> tuple[Any, dict[str, Any]]:
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


@imported
def one_hot(pnl: Any) -> tuple[Any, dict[str, Any]]:
    """The winner takes all, in every way; two elements are equal."""
    given = pnl.ProcessingMechanism(name="given", input_shapes=3)
    made = [
        pnl.OneHot(),
        pnl.OneHot(direction="min", tie="first"),
        pnl.OneHot(tie="last", indicator=True),
        pnl.OneHot(mode=pnl.MAX_ABS_VAL),
        pnl.OneHot(mode=pnl.ARG_MIN_ABS_INDICATOR),
    ]
    nodes = [
        pnl.ProcessingMechanism(name=f"f{k}", input_shapes=3, function=one)
        for k, one in enumerate(made)
    ]
    inputs = [[0.5, -1.0, 0.5], [-0.2, -0.2, -0.7], [1.0, 2.0, -3.0]]
    return pnl.Composition(pathways=[[given, one] for one in nodes]), {"inputs": {given: inputs}}


@imported
def bell(pnl: Any) -> tuple[Any, dict[str, Any]]:
    function = pnl.Gaussian(standard_deviation=0.7, bias=0.2, scale=1.5, offset=0.1)
    node = pnl.ProcessingMechanism(name="node", input_shapes=2, function=function)
    return pnl.Composition(nodes=[node]), {"inputs": {node: [[1.0, 2.0], [-0.3, 0.2]]}}


@imported
def ports_one_by_one(pnl: Any) -> tuple[Any, dict[str, Any]]:
    """A function takes each port alone, and each output port has the value of one."""
    left = pnl.ProcessingMechanism(name="left", input_shapes=2)
    right = pnl.ProcessingMechanism(name="right", input_shapes=2)
    both = pnl.ProcessingMechanism(
        name="both", input_shapes=[2, 2], function=pnl.Logistic(gain=2.0)
    )
    net = pnl.Composition(nodes=[left, right, both])
    net.add_projection(sender=left, receiver=both.input_ports[0])
    net.add_projection(sender=right, receiver=both.input_ports[1])
    return net, {"inputs": {left: [[1, 2]], right: [[3, 4]]}}


# Nested compositions.


@imported
def nested(pnl: Any) -> tuple[Any, dict[str, Any]]:
    inner_node = pnl.ProcessingMechanism(name="inner_node", input_shapes=2)
    inner = pnl.Composition(name="inner", nodes=[inner_node])
    return pnl.Composition(nodes=[inner]), {"inputs": {inner: [[1.0, 2.0]]}}


@imported
def nested_between(pnl: Any) -> tuple[Any, dict[str, Any]]:
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
def nested_twice(pnl: Any) -> tuple[Any, dict[str, Any]]:
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
def nested_every_second_call(pnl: Any) -> tuple[Any, dict[str, Any]]:
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
def nested_course(pnl: Any) -> tuple[Any, dict[str, Any]]:
    net, given, inner, _ = _between(pnl)
    """A nested composition settles: out runs when hidden has run three times."""
    hidden, out = inner.nodes
    inner.scheduler.add_condition(out, pnl.AfterNCalls(hidden, 3))
    return net, given


@imported
def nested_until_a_value(pnl: Any) -> tuple[Any, dict[str, Any]]:
    """It ends by a value, and is called twice in a trial."""
    net, given, inner, response = _between(pnl)
    hidden, _ = inner.nodes
    settled = pnl.While(lambda: hidden.value[0][0] > 0.4)
    inner.scheduler.termination_conds = {
        pnl.TimeScale.TRIAL: pnl.Any(settled, pnl.AfterNPasses(20))
    }
    net.scheduler.add_condition(response, pnl.EveryNCalls(inner, 2))
    return net, given


def _within_controlled(pnl: Any, after: bool) -> tuple[Any, dict[str, Any]]:
    inner, _ = controlled_gain(pnl)
    inner.controller_mode = pnl.AFTER if after else pnl.BEFORE
    first = pnl.ProcessingMechanism(name="first", input_shapes=1, function=pnl.Linear(slope=0.5))
    last = pnl.IntegratorMechanism(
        name="last", input_shapes=1, function=pnl.SimpleIntegrator(rate=0.5)
    )
    net = pnl.Composition(name="outer", pathways=[[first, inner, last]])
    return net, {"inputs": {first: [[1.0], [3.0], [0.1], [-2.0]]}, "num_trials": 6}


@imported
def controlled_within(pnl: Any) -> tuple[Any, dict[str, Any]]:
    """A nested composition whose controller searches before each of its trials."""
    return _within_controlled(pnl, after=False)


@imported
def controlled_within_afterwards(pnl: Any) -> tuple[Any, dict[str, Any]]:
    """A nested composition whose controller searches after each of its trials."""
    return _within_controlled(pnl, after=True)


@imported
def controlled_at_two_levels(pnl: Any) -> tuple[Any, dict[str, Any]]:
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


@imported
def nested_cut_off(pnl: Any) -> tuple[Any, dict[str, Any]]:
    net, given, _, response = _between(pnl)
    ends = {pnl.TimeScale.TRIAL: pnl.AfterNCalls(response, 2)}
    return net, {**given, "termination_processing": ends}


# Refused compositions.


def _single(pnl: Any, node: Any) -> tuple[Any, dict[str, Any]]:
    return pnl.Composition(nodes=[node]), {"inputs": {node: [[1.0] * 2]}}


@refused("OneHot has mode PROB")
def one_hot_drawn(pnl: Any) -> tuple[Any, dict[str, Any]]:
    function = pnl.OneHot(mode=pnl.PROB, default_variable=[[0.0, 0.0], [0.0, 0.0]])
    node = pnl.ProcessingMechanism(name="node", input_shapes=[2, 2], function=function)
    return pnl.Composition(nodes=[node]), {"inputs": {node: [[[1.0, 2.0], [0.5, 0.5]]]}}


@refused("OneHot chooses among equal elements at random")
def one_hot_by_chance(pnl: Any) -> tuple[Any, dict[str, Any]]:
    function = pnl.OneHot(tie="random")
    return _single(pnl, pnl.ProcessingMechanism(name="node", input_shapes=2, function=function))


@refused("OneHot takes several ports together")
def one_hot_of_two(pnl: Any) -> tuple[Any, dict[str, Any]]:
    node = pnl.ProcessingMechanism(name="node", input_shapes=[2, 2], function=pnl.OneHot())
    return pnl.Composition(nodes=[node]), {"inputs": {node: [[[1.0, 2.0], [0.5, 0.5]]]}}


def running_sum(variable: Any, total: float = 0.0) -> Any:
    """Keeps its own sum."""
    return variable + total


@refused("its function keeps total")
def user_defined_state(pnl: Any) -> tuple[Any, dict[str, Any]]:
    function = pnl.UserDefinedFunction(
        running_sum, default_variable=[[0.0, 0.0]], stateful_parameter="total"
    )
    return _single(pnl, pnl.ProcessingMechanism(name="node", input_shapes=2, function=function))


def _chain_until(pnl: Any, condition: Any) -> tuple[Any, dict[str, Any]]:
    """a → b; condition: of a and b, that of b."""
    net, a, b = _chain(pnl)
    net.scheduler.add_condition(b, condition(a, b))
    return net, {
        "inputs": {a: [[1.0], [0.5]]},
        "num_trials": 4,
        "termination_processing": {pnl.TimeScale.TRIAL: pnl.AfterNPasses(4)},
    }


@imported
def always_true(pnl: Any) -> tuple[Any, dict[str, Any]]:
    return _chain_until(pnl, lambda a, b: pnl.While(lambda: True))


@imported
def while_a_value_is_small(pnl: Any) -> tuple[Any, dict[str, Any]]:
    def small(node: Any, most: float) -> bool:
        level = float(np.abs(node.output_ports[0].value[0]))
        return level < most if level > 0.6 else True

    return _chain_until(pnl, lambda a, b: pnl.While(small, a, 1.6))


@imported
def over_a_life(pnl: Any) -> tuple[Any, dict[str, Any]]:
    return _chain_until(pnl, lambda a, b: pnl.AfterNCalls(a, 5, time_scale=pnl.TimeScale.LIFE))


@imported
def by_its_own_clock(pnl: Any) -> tuple[Any, dict[str, Any]]:
    return _chain_until(pnl, lambda a, b: pnl.TimeInterval(repeat=3, start=4, end=9))


@refused("its conditions have times in microsecond and millisecond")
def by_two_units(pnl: Any) -> tuple[Any, dict[str, Any]]:
    return _chain_until(pnl, lambda a, b: pnl.TimeInterval(repeat="500us", start="1ms"))


@refused("uses PsyNeuLink's `scheduler`")
def asks_the_scheduler(pnl: Any) -> tuple[Any, dict[str, Any]]:
    return _chain_until(pnl, lambda a, b: pnl.While(lambda scheduler: scheduler is not None))


@refused("takes `missing`, which nothing gives")
def asks_for_more(pnl: Any) -> tuple[Any, dict[str, Any]]:
    return _chain_until(pnl, lambda a, b: pnl.While(lambda missing: missing))


@refused("is not written in Python")
def asks_a_class(pnl: Any) -> tuple[Any, dict[str, Any]]:
    return _chain_until(pnl, lambda a, b: pnl.While(bool))


@refused("gives several values")
def asks_for_many_values(pnl: Any) -> tuple[Any, dict[str, Any]]:
    net, a, b = _chain(pnl)
    wide = pnl.TransferMechanism(name="wide", input_shapes=3)
    net.add_node(wide)
    net.scheduler.add_condition(b, pnl.While(lambda: wide.value > 1.0))
    return net, {"inputs": {a: [[1.0]], wide: [[1.0] * 3]}}


@refused("Threshold compares `num_executions` of a")
def asks_for_executions(pnl: Any) -> tuple[Any, dict[str, Any]]:
    return _chain_until(
        pnl,
        lambda a, b: pnl.Threshold(a, "num_executions", 2, ">=", indices=pnl.TimeScale.TRIAL),
    )


@refused("NWhen is part of another condition")
def counts_within(pnl: Any) -> tuple[Any, dict[str, Any]]:
    return _chain_until(pnl, lambda a, b: pnl.All(pnl.NWhen(pnl.Always(), 2), pnl.Always()))


@refused("counts within a pass")
def steps_of_a_pass(pnl: Any) -> tuple[Any, dict[str, Any]]:
    return _chain_until(pnl, lambda a, b: pnl.AfterNTimeSteps(1, pnl.TimeScale.PASS))


@refused("its condition wants a not to have run, which PsyNeuLink may run before")
def decided_by_chance(pnl: Any) -> tuple[Any, dict[str, Any]]:
    a, b = (pnl.ProcessingMechanism(name=name, input_shapes=1) for name in "ab")
    net = pnl.Composition(nodes=[a, b])
    net.scheduler.add_condition(b, pnl.BeforeNCalls(a, 1))
    return net, {"inputs": {a: [[1.0]], b: [[1.0]]}}


@refused("is within Not, where PsyNeuLink's time stands still")
def time_that_stands_still(pnl: Any) -> tuple[Any, dict[str, Any]]:
    return _chain_until(pnl, lambda a, b: pnl.Not(pnl.TimeInterval(start=2)))


@refused("TimeInterval with `repeat` ends the trial")
def ends_again_and_again(pnl: Any) -> tuple[Any, dict[str, Any]]:
    net, a, _ = _chain(pnl)
    ends = {pnl.TimeScale.TRIAL: pnl.TimeInterval(repeat=2)}
    return net, {"inputs": {a: [[1.0]]}, "termination_processing": ends}


@refused("its scheduler is in exact time")
def exact_time(pnl: Any) -> tuple[Any, dict[str, Any]]:
    net, given = by_its_own_clock(pnl)
    net.scheduler.mode = pnl.SchedulingMode.EXACT_TIME
    return net, given


@refused("which a controller's simulations begin anew")
def control_and_runs(pnl: Any) -> tuple[Any, dict[str, Any]]:
    net, given = controlled_gain(pnl)
    net.scheduler.add_condition(net.nodes[1], pnl.AfterTrial(0))
    return net, given
