"""A composition that changes after it was imported is not run as it was before, without a word."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import psylang
from psylang.errors import ModelChangedError, PsylangError
from psylang.model import Transfer
from psylang.pnl import ImportedModel, restart, results_of, run_arguments
from psylang.pnl.pnl_fixture import needs_psyneulink
from psylang.pnl.source import Source


class Given:
    """What a Source watches, and the text that importing it gives."""

    def __init__(self) -> None:
        self.parts = [1.0, {"rate": np.ones(2)}, {"b"}]
        self.text, self.imports = "x  # node.rate\ny  # other.rate", 0
        self.source = Source((SimpleNamespace(name="net"), self.parts), self.written, self.text)

    def written(self) -> str:
        self.imports += 1
        return self.text


def test_a_composition_is_imported_again_only_if_a_part_was_replaced() -> None:
    given = Given()
    given.source.check()
    assert given.imports == 0
    given.parts[1]["rate"] = np.ones(2)  # type: ignore[index]
    given.source.check()
    given.source.check()
    assert given.imports == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda parts: parts.append(2.0),
        lambda parts: parts[1].update(gain=1.0),
        lambda parts: parts[1]["rate"].__setitem__(0, 2.0),
        lambda parts: parts[2].add("c"),
    ],
)
def test_another_text_is_an_error_with_the_component(change: Callable[[Any], Any]) -> None:
    given = Given()
    change(given.parts)
    given.text = given.text.replace("y", "z")
    for _ in range(2):  # Not only once.
        with pytest.raises(
            ModelChangedError,
            match=r"composition `net` was changed after psylang.from_psyneulink\(\) \(`other`\); "
            r"import it again: model = psylang.from_psyneulink\(…\), .* model.release\(\)",
        ):
            given.source.check()
    given.source.release()
    given.source.check()


def test_a_change_that_is_not_imported_is_told() -> None:
    given = Given()

    def refused() -> str:
        raise PsylangError("it learns")

    source = Source((SimpleNamespace(name="net"), given.parts), refused, "")
    given.parts.append(1.0)
    with pytest.raises(ModelChangedError, match=r"\(it learns\); import it again"):
        source.check()


def test_plans_and_arguments_ask_the_source() -> None:
    model = ImportedModel("one")
    node = model.add(Transfer("node"))
    model.input("x", node)
    model.output("y", node)
    given = Given()
    model._check = given.source.check
    plan = psylang.compile(model)
    copies = pickle.loads(pickle.dumps(given.source)), copy.deepcopy(given.source)
    assert plan.run({"x": [2.0]}).y.tolist() == [[2.0]]
    given.parts.append(2.0)
    given.text += "!"
    with pytest.raises(ModelChangedError, match="`net` was changed"):
        plan.run({"x": [2.0]})
    with pytest.raises(ModelChangedError, match="`net` was changed"):
        run_arguments(None, model)
    for one in copies:
        one.check()
    model.release()
    assert plan.run({"x": [2.0]}).y.tolist() == [[2.0]]


def made() -> SimpleNamespace:
    """A composition with noise and memory, and its parts."""
    import psyneulink as pnl

    first = pnl.TransferMechanism(name="first", input_shapes=2)
    layer = pnl.TransferMechanism(
        name="layer",
        input_shapes=2,
        function=pnl.Logistic(gain=2.0),
        integrator_mode=True,
        integration_rate=0.3,
        noise=pnl.NormalDist(standard_deviation=0.1),
    )
    link = pnl.MappingProjection(matrix=[[1.0, 0.5], [0.0, 1.0]])
    side = pnl.TransferMechanism(name="side", input_shapes=2)
    net = pnl.Composition(pathways=[[first, link, layer], [side]])
    return SimpleNamespace(pnl=pnl, net=net, first=first, layer=layer, link=link, side=side)


def added(one: Any) -> None:
    one.net.add_linear_processing_pathway([one.layer, one.pnl.TransferMechanism(input_shapes=2)])


CHANGES: dict[str, Callable[[Any], Any]] = {
    "a parameter": lambda one: one.layer.function.parameters.gain.set(3.0),
    "a parameter by its name": lambda one: setattr(one.layer.function.gain, "base", 3.0),
    "in the composition": lambda one: one.layer.function.parameters.gain.set(3.0, one.net),
    "a function": lambda one: one.layer.parameters.function.set(one.pnl.Linear()),
    "a matrix": lambda one: one.link.parameters.matrix.set(np.ones((2, 2))),
    "a node": lambda one: one.net.add_node(one.pnl.TransferMechanism(name="new")),
    "a projection": lambda one: one.net.add_projection(
        one.pnl.MappingProjection(matrix=-np.eye(2)), one.side, one.layer
    ),
    "a pathway": added,
    "a condition": lambda one: one.net.scheduler.add_condition(one.layer, one.pnl.AtTrial(1)),
    "the end": lambda one: setattr(
        one.net, "termination_processing", {one.pnl.TimeScale.TRIAL: one.pnl.AfterNPasses(4)}
    ),
}


@needs_psyneulink
@pytest.mark.parametrize("name", CHANGES)
def test_each_change_of_a_composition_is_noticed(name: str) -> None:
    one = made()
    model = psylang.from_psyneulink(one.net)
    plan = psylang.compile(model, numerics="exact")
    inputs, trials = run_arguments(one.net, model, {one.first: [[1.0, 2.0]]})
    plan.run(inputs=inputs, trials=trials)
    CHANGES[name](one)
    with pytest.raises(ModelChangedError, match=r"`Composition-.*` was changed after"):
        plan.run(inputs=inputs, trials=trials)
    with pytest.raises(ModelChangedError, match=r"`Composition-.*` was changed after"):
        run_arguments(one.net, model, {one.first: [[1.0, 2.0]]})
    model.release()
    plan.run(inputs=inputs, trials=trials)


@needs_psyneulink
def test_runs_of_psyneulink_are_no_change() -> None:
    one = made()
    model = psylang.from_psyneulink(one.net)
    plan = psylang.compile(model, numerics="exact")
    inputs, trials = run_arguments(one.net, model, {one.first: [[1.0, 2.0], [0.0, 1.0]]})
    restart(one.net)
    one.net.run(inputs={one.first: [[1.0, 2.0], [0.0, 1.0]]})
    found = results_of(model, plan.run(inputs=inputs, trials=trials))
    np.testing.assert_allclose(found, np.array(one.net.results), rtol=1e-12)


@needs_psyneulink
def test_a_condition_that_refers_to_a_mechanism_lets_it_run() -> None:
    """The function of While has the mechanism, which PsyNeuLink's runs change."""
    one = made()
    side = one.side
    one.net.scheduler.add_condition(one.layer, one.pnl.While(lambda: side.value[0][0] < 3.0))
    model = psylang.from_psyneulink(one.net)
    inputs, trials = run_arguments(one.net, model, {one.first: [[1.0, 2.0]]})
    plan = psylang.compile(model, numerics="exact")
    before = plan.run(inputs=inputs, trials=trials)
    one.net.run(inputs={one.first: [[1.0, 2.0]]})
    after = plan.run(inputs=inputs, trials=trials)
    for name, array in before.items():
        np.testing.assert_array_equal(array, after[name])


@needs_psyneulink
def test_a_change_that_is_taken_back_is_none() -> None:
    one = made()
    model = psylang.from_psyneulink(one.net)
    gain = one.layer.function.parameters.gain
    gain.set(3.0)
    with pytest.raises(ModelChangedError, match=r"\(`layer.*`\); import it again"):
        model.check_source()
    gain.set(2.0)
    model.check_source()
