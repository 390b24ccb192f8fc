"""Scripts of networks without a course of their own: layers, functions, recurrence, decisions."""

from __future__ import annotations

from typing import Any

import numpy as np

from psylang.pnl.scripts_fixture import TRIALS, Built, Samples, stimuli

SAMPLES = Samples()
imported, refused = SAMPLES.imports, SAMPLES.refuses


# Feed-forward networks.


@imported
def logistic_layers(pnl: Any) -> Built:
    """Two layers with a random matrix, after McClelland and Rumelhart 1981's feature detectors."""
    features = pnl.TransferMechanism(name="features", input_shapes=4)
    letters = pnl.TransferMechanism(
        name="letters", input_shapes=3, function=pnl.Logistic(gain=2.0, bias=-0.5)
    )
    matrix = np.random.default_rng(1).normal(size=(4, 3))
    net = pnl.Composition(pathways=[features, matrix, letters])
    return net, {"inputs": {features: np.eye(4).tolist()}}


@imported
def stroop_feed_forward(pnl: Any) -> Built:
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
def softmax_choice(pnl: Any) -> Built:
    """Luce's choice rule."""
    values = pnl.ProcessingMechanism(name="values", input_shapes=3)
    choice = pnl.ProcessingMechanism(
        name="choice", input_shapes=3, function=pnl.SoftMax(gain=3.0, output=pnl.ALL)
    )
    return pnl.Composition(pathways=[values, choice]), {"inputs": {values: [[0.1, 0.5, 0.2]]}}


@imported
def transfer_functions(pnl: Any) -> Built:
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
def several_ports(pnl: Any) -> Built:
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
def clipped(pnl: Any) -> Built:
    node = pnl.TransferMechanism(
        name="node", input_shapes=2, clip=[-0.5, 0.5], function=pnl.Linear(slope=3.0)
    )
    return pnl.Composition(nodes=[node]), {"inputs": {node: [[0.1, 1.0], [-1.0, 0.0]]}}


# Functions.


def weighted(variable: Any, gain: float = 2.0, bias: float = 0.1) -> Any:
    """A function of the modeller's, with parameters."""
    parts = [np.maximum(gain * row, 0.0) + bias * np.sum(row) for row in variable]
    return np.array(parts)


@imported
def user_defined(pnl: Any) -> Built:
    given = pnl.ProcessingMechanism(name="given", input_shapes=3)
    function = pnl.UserDefinedFunction(weighted, default_variable=np.zeros((1, 3)), gain=3.0)
    node = pnl.ProcessingMechanism(name="node", input_shapes=3, function=function)
    return pnl.Composition(pathways=[given, node]), {"inputs": {given: [[1.0, -2.0, 0.5]]}}


@imported
def one_hot(pnl: Any) -> Built:
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
def bell(pnl: Any) -> Built:
    function = pnl.Gaussian(standard_deviation=0.7, bias=0.2, scale=1.5, offset=0.1)
    node = pnl.ProcessingMechanism(name="node", input_shapes=2, function=function)
    return pnl.Composition(nodes=[node]), {"inputs": {node: [[1.0, 2.0], [-0.3, 0.2]]}}


@imported
def ports_one_by_one(pnl: Any) -> Built:
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


def _single(pnl: Any, node: Any) -> Built:
    return pnl.Composition(nodes=[node]), {"inputs": {node: [[1.0] * 2]}}


def _by_chance(pnl: Any, mode: str, chances: list[list[float]]) -> Built:
    """One of three elements; where all chances are 0, the elements themselves."""
    function = pnl.OneHot(mode=mode, default_variable=[[0.0] * 3] * 2, seed=4)
    node = pnl.ProcessingMechanism(name="node", input_shapes=[3, 3], function=function)
    rows = zip(stimuli(3, len(chances)), chances, strict=True)
    return pnl.Composition(nodes=[node]), {"inputs": {node: [list(row) for row in rows]}}


@imported
def one_hot_by_chance(pnl: Any) -> Built:
    return _by_chance(pnl, pnl.PROB, [[0.7, 0.2, 0.1], [0.0] * 3, [0.0, 0.5, 0.5]] * 20)


@imported
def one_hot_by_chance_as_indicator(pnl: Any) -> Built:
    return _by_chance(pnl, pnl.PROB_INDICATOR, [[0.2, 0.3, 0.5]] * 50)


def _distorted(pnl: Any, p: float) -> Built:
    function = pnl.BinomialDistort(p=p, seed=6)
    node = pnl.ProcessingMechanism(name="node", input_shapes=3, function=function)
    return pnl.Composition(nodes=[node]), {"inputs": {node: stimuli(3)}}


@imported
def zeros_by_chance(pnl: Any) -> Built:
    return _distorted(pnl, 0.3)


@imported
def zeros_by_a_high_chance(pnl: Any) -> Built:
    return _distorted(pnl, 0.85)


@refused("OneHot has mode PROB, and 3 input ports")
def one_hot_of_three_ports(pnl: Any) -> Built:
    function = pnl.OneHot(mode=pnl.PROB, default_variable=[[0.0, 0.0]] * 3)
    node = pnl.ProcessingMechanism(name="node", input_shapes=[2, 2, 2], function=function)
    return pnl.Composition(nodes=[node]), {"inputs": {node: [[[1.0, 2.0]] * 3]}}


@refused("the function BinomialDistort is not imported")
def zeros_by_chance_in_a_layer(pnl: Any) -> Built:
    node = pnl.TransferMechanism(name="node", input_shapes=2, function=pnl.BinomialDistort(p=0.3))
    return pnl.Composition(nodes=[node]), {"inputs": {node: [[1.0, 2.0]]}}


@refused("OneHot chooses among equal elements at random")
def one_hot_of_equal_ones(pnl: Any) -> Built:
    function = pnl.OneHot(tie="random")
    return _single(pnl, pnl.ProcessingMechanism(name="node", input_shapes=2, function=function))


@refused("OneHot takes several ports together")
def one_hot_of_two(pnl: Any) -> Built:
    node = pnl.ProcessingMechanism(name="node", input_shapes=[2, 2], function=pnl.OneHot())
    return pnl.Composition(nodes=[node]), {"inputs": {node: [[[1.0, 2.0], [0.5, 0.5]]]}}


def running_sum(variable: Any, total: float = 0.0) -> Any:
    """Keeps its own sum."""
    return variable + total


def faded(variable: Any, trace: Any = 0.0, rate: float = 0.3) -> Any:
    """A trace of what came, which decays."""
    return (1.0 - rate) * trace + rate * np.tanh(variable)


def summed(variable: Any, total: float = 0.0) -> Any:
    """Not element by element: a number and an array of it differ."""
    return variable + np.sum(total)


def _user_defined(pnl: Any, python: Any, **given: Any) -> Built:
    """A function of the modeller's, in every second call of its sender."""
    first = pnl.ProcessingMechanism(name="first", input_shapes=2)
    function = pnl.UserDefinedFunction(python, default_variable=[[0.0, 0.0]], **given)
    node = pnl.ProcessingMechanism(name="node", input_shapes=2, function=function)
    net = pnl.Composition(pathways=[first, np.array([[1.0, 0.3], [-0.2, 0.7]]), node])
    net.scheduler.add_condition(node, pnl.EveryNCalls(first, 2))
    return net, {"inputs": {first: stimuli(2)}}


@imported
def user_defined_state(pnl: Any) -> Built:
    return _user_defined(pnl, running_sum, stateful_parameter="total")


@imported
def user_defined_trace(pnl: Any) -> Built:
    begins = np.array([[0.5, -0.5]])
    return _user_defined(pnl, faded, stateful_parameter="trace", trace=begins, rate=0.2)


@refused("its function keeps total, which begins with shape")
def user_defined_state_of_a_sum(pnl: Any) -> Built:
    return _user_defined(pnl, summed, stateful_parameter="total", total=0.25)


OWN_GENERATOR = np.random.RandomState(8)


def jittered(variable: Any, width: float = 0.3) -> Any:
    """Draws from a generator of the modeller's."""
    return variable + width * OWN_GENERATOR.normal() + OWN_GENERATOR.uniform(-0.1, 0.1)


def drifting(variable: Any, place: float = 0.0) -> Any:
    """Keeps its result, and draws from NumPy's generator."""
    return 0.9 * place + variable + np.random.normal(0.0, 0.2)


def of_two(variable: Any) -> Any:
    return variable + OWN_GENERATOR.normal() + np.random.uniform()


@imported
def user_defined_draws(pnl: Any) -> Built:
    return _user_defined(pnl, jittered, width=0.5)


@imported
def user_defined_state_and_draws(pnl: Any) -> Built:
    return _user_defined(pnl, drifting, stateful_parameter="place")


@refused("its function takes draws from several generators")
def user_defined_draws_of_two(pnl: Any) -> Built:
    return _user_defined(pnl, of_two)


@imported
def dropout(pnl: Any) -> Built:
    """Units are dropped while learning alone."""
    node = pnl.ProcessingMechanism(name="node", input_shapes=2, function=pnl.Dropout(p=0.4))
    return pnl.Composition(nodes=[node]), {"inputs": {node: stimuli(2)}}


# Recurrent networks.


@imported
def hopfield(pnl: Any) -> Built:
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
def hebbian(pnl: Any) -> Built:
    """A network that could learn, which run() does not."""
    node = pnl.RecurrentTransferMechanism(
        name="node", input_shapes=2, auto=0.3, hetero=0.2, enable_learning=True
    )
    inputs = [[1.0, 0.5], [0.3, -0.2], [0.7, 0.1]]
    return pnl.Composition(nodes=[node]), {"inputs": {node: inputs}, "num_trials": 6}


@imported
def conflict(pnl: Any) -> Built:
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


def _of_value(pnl: Any, name: str, function: Any) -> dict[str, Any]:
    """An output port with a function of the mechanism's value."""
    return {pnl.NAME: name, pnl.VARIABLE: (pnl.OWNER_VALUE, 0), pnl.FUNCTION: function}


OWN = [[1.0, -3.0, 0.5], [-4.0, 0.0, 0.25], [0.5, -1.0, 2.0]]


@imported
def energy_of_another_matrix(pnl: Any) -> Built:
    """Energies by matrices of the ports' own, as PsyNeuLink's model of Botvinick has them."""
    node = pnl.RecurrentTransferMechanism(
        name="node",
        input_shapes=3,
        auto=0.0,
        hetero=-1.5,
        function=pnl.Logistic,
        integrator_mode=True,
        integration_rate=0.2,
        output_ports=[
            pnl.RESULT,
            pnl.ENERGY,
            _of_value(pnl, "own", pnl.Energy(default_variable=[0.0] * 3, matrix=np.array(OWN))),
            _of_value(
                pnl,
                "apart",
                pnl.Stability(
                    default_variable=[0.0] * 3, metric=pnl.DIFFERENCE, matrix=np.array(OWN)
                ),
            ),
        ],
        reset_stateful_function_when=pnl.AtRunStart(),
    )
    return pnl.Composition(nodes=[node]), {
        "inputs": {node: [[1.0, 0.8, 0.3]]},
        "num_trials": TRIALS,
    }


@imported
def conflict_monitor(pnl: Any) -> Built:
    """Botvinick's conflict in a monitor of its own, and the stability of a layer."""
    layer = pnl.ProcessingMechanism(name="layer", input_shapes=3, function=pnl.Logistic)
    monitor = pnl.ObjectiveMechanism(
        name="monitor", monitor=layer, function=pnl.Energy(input_shapes=3, matrix=np.array(OWN))
    )
    steady = pnl.ProcessingMechanism(
        name="steady",
        input_shapes=3,
        function=pnl.Stability(default_variable=[0.0] * 3, metric=pnl.EUCLIDEAN),
    )
    net = pnl.Composition(nodes=[layer, monitor, steady])
    net.add_projection(pnl.MappingProjection(matrix=np.eye(3) * 1.5), layer, steady)
    return net, {"inputs": {layer: stimuli(3)}}


@refused("`normalize` of Stability is True")
def stability_normalised(pnl: Any) -> Built:
    steady = pnl.ProcessingMechanism(
        name="steady",
        input_shapes=3,
        function=pnl.Stability(default_variable=[0.0] * 3, normalize=True),
    )
    return pnl.Composition(nodes=[steady]), {"inputs": {steady: [[1.0, 0.8, -0.3]]}}


@refused("Stability has the metric correlation")
def stability_by_correlation(pnl: Any) -> Built:
    steady = pnl.ProcessingMechanism(
        name="steady",
        input_shapes=3,
        function=pnl.Stability(default_variable=[0.0] * 3, metric=pnl.CORRELATION),
    )
    return pnl.Composition(nodes=[steady]), {"inputs": {steady: [[1.0, 0.8, -0.3]]}}


@imported
def feedback_loop(pnl: Any) -> Built:
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


# Winners.


def _winners(pnl: Any, size: int, **given: Any) -> Built:
    node = pnl.KWTAMechanism(name="node", input_shapes=size, **given)
    return pnl.Composition(nodes=[node]), {"inputs": {node: stimuli(size)}}


@imported
def winners(pnl: Any) -> Built:
    """k winners take all with its defaults: half of the units, inhibition only."""
    return _winners(pnl, 5)


@imported
def winners_above_a_threshold(pnl: Any) -> Built:
    given = {"k_value": 3, "ratio": 0.2, "threshold": 0.4, "inhibition_only": False}
    return _winners(pnl, 6, auto=0.5, hetero=-0.3, **given)


@imported
def winners_by_means(pnl: Any) -> Built:
    return _winners(pnl, 20, k_value=9, average_based=True, ratio=0.3)


@imported
def winners_all_or_none(pnl: Any) -> Built:
    layers = [
        pnl.KWTAMechanism(
            name=f"layer{k}", input_shapes=4, k_value=k, function=pnl.Linear, auto=0.5
        )
        for k in (0, 4)
    ]
    return pnl.Composition(pathways=layers), {"inputs": {layers[0]: stimuli(4)}}


@refused("which PsyNeuLink ignores in a KWTAMechanism")
def winners_that_integrate(pnl: Any) -> Built:
    return _winners(pnl, 5, integrator_mode=True)


@refused("which PsyNeuLink ignores in a KWTAMechanism")
def winners_with_noise(pnl: Any) -> Built:
    return _winners(pnl, 5, noise=[0.5])


@refused("winners among 70 units")
def winners_of_many(pnl: Any) -> Built:
    return _winners(pnl, 70)


# Decisions.


def _lca(pnl: Any, **given: Any) -> Built:
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
def usher_mcclelland(pnl: Any) -> Built:
    return _lca(pnl, threshold=0.7)


@imported
def best_against_next(pnl: Any) -> Built:
    return _lca(pnl, threshold=0.1, threshold_criterion=pnl.MAX_VS_NEXT)


@imported
def best_against_average(pnl: Any) -> Built:
    return _lca(pnl, threshold=0.1, threshold_criterion=pnl.MAX_VS_AVG)


@imported
def diffusion(pnl: Any) -> Built:
    decision = pnl.DDM(
        name="decision",
        function=pnl.DriftDiffusionIntegrator(
            rate=0.8, noise=0.7, threshold=0.8, time_step_size=0.01, seed=31
        ),
        reset_stateful_function_when=pnl.AtTrialStart(),
    )
    return pnl.Composition(nodes=[decision]), {"inputs": {decision: [[0.5], [-1.0]]}}


@imported
def closed_form(pnl: Any) -> Built:
    """Bogacz and others 2006."""
    decision = pnl.DDM(
        name="decision",
        function=pnl.DriftDiffusionAnalytical(drift_rate=0.8, threshold=1.1, noise=0.6),
        seed=32,
    )
    return pnl.Composition(nodes=[decision]), {"inputs": {decision: [[0.5], [-1.0], [0.2]]}}


@imported
def network_and_diffusion(pnl: Any) -> Built:
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
