"""Scripts whose networks have learned, or could, before they run. PyTorch only where it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from psylang.pnl.scripts_fixture import Built, Samples

SAMPLES = Samples()
imported, refused = SAMPLES.imports, SAMPLES.refuses
STIMULI = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
TARGETS = [[0.0], [1.0], [1.0], [0.0]]


def _layers(pnl: Any) -> tuple[list[Any], list[Any]]:
    """Three layers, and the projections between them."""
    sizes = {"stimulus": 2, "hidden": 3, "answer": 1}
    layers = [
        pnl.TransferMechanism(name=name, input_shapes=size, function=pnl.Logistic)
        for name, size in sizes.items()
    ]
    draw = np.random.default_rng(5)
    shapes = list(zip([*sizes.values()][:-1], [*sizes.values()][1:], strict=True))
    return layers, [pnl.MappingProjection(matrix=draw.normal(size=shape)) for shape in shapes]


def _network(pnl: Any) -> tuple[Any, list[Any]]:
    layers, projections = _layers(pnl)
    net = pnl.AutodiffComposition(name="net", learning_rate=0.5)
    for one in layers:
        net.add_node(one)
    for sender, one, receiver in zip(layers, projections, layers[1:], strict=False):
        net.add_projection(one, sender, receiver)
    return net, layers


def _trained(pnl: Any, mode: Any) -> Built:
    net, layers = _network(pnl)
    net.learn(
        inputs={"inputs": {layers[0]: STIMULI}, "targets": {layers[-1]: TARGETS}, "epochs": 5},
        execution_mode=mode,
    )
    return net, {"inputs": {layers[0]: STIMULI}}


@imported
def network_before_training(pnl: Any) -> Built:
    net, layers = _network(pnl)
    return net, {"inputs": {layers[0]: STIMULI}}


@imported
def network_trained_by_pytorch(pnl: Any) -> Built:
    pytest.importorskip("torch", reason="PsyNeuLink trains by PyTorch, which is not installed")
    return _trained(pnl, pnl.ExecutionMode.PyTorch)


@imported
def network_trained_by_python(pnl: Any) -> Built:
    """learn() of an AutodiffComposition in PsyNeuLink's own Python."""
    pytest.importorskip("torch", reason="PsyNeuLink asks for PyTorch, which is not installed")
    return _trained(pnl, pnl.ExecutionMode.Python)


def _within(pnl: Any, net: Any) -> Built:
    before = pnl.TransferMechanism(name="before", input_shapes=2)
    after = pnl.TransferMechanism(name="after", function=pnl.Linear(slope=2.0))
    outer = pnl.Composition(name="outer", pathways=[[before, net, after]])
    return outer, {"inputs": {before: STIMULI}}


@imported
def network_in_a_composition(pnl: Any) -> Built:
    """An untrained network is a node, as in the published Multitasking model."""
    return _within(pnl, _network(pnl)[0])


@imported
def trained_network_in_a_composition(pnl: Any) -> Built:
    """Nodes that only learn are within a nested composition."""
    return _within(pnl, _pathway(pnl)[0])


@imported
def pathway_that_has_learned(pnl: Any) -> Built:
    """Backpropagation by mechanisms: the last change of a matrix is in its port alone."""
    return _pathway(pnl)


def _pathway(pnl: Any) -> Built:
    layers, projections = _layers(pnl)
    net = pnl.Composition(name="net")
    path = [layers[0], projections[0], layers[1], projections[1], layers[2]]
    learned = net.add_backpropagation_learning_pathway(path, learning_rate=0.5)
    net.learn(inputs={layers[0]: STIMULI, learned.target: TARGETS}, num_trials=10)
    return net, {"inputs": {layers[0]: STIMULI}}


@imported
def weights_of_a_module(pnl: Any) -> Built:
    """A perceptron of PyTorch's own: weights of its Linear layers, transposed, and their biases."""
    draw = np.random.default_rng(6)
    weights, biases = draw.normal(size=(3, 2)), draw.normal(size=3)  # As torch.nn.Linear(2, 3).
    stimulus = pnl.ProcessingMechanism(name="stimulus", input_shapes=2)
    hidden = pnl.ProcessingMechanism(
        name="hidden", input_shapes=3, function=pnl.Logistic(bias=biases)
    )
    net = pnl.Composition(pathways=[stimulus, weights.T, hidden])
    return net, {"inputs": {stimulus: STIMULI}}
