"""Nests: schedules within schedules, and searches of their own."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from psylang.ir.interpret import interpret
from psylang.model import (
    AfterNCalls,
    AfterNPasses,
    All,
    AtPass,
    AtTrial,
    Compute,
    Condition,
    ControlSignal,
    DurationCost,
    EveryNCalls,
    FunctionCost,
    GridSearch,
    JustRan,
    Linear,
    Model,
    ModelError,
    Normal,
    SimpleIntegrator,
    Transfer,
    WhenFinished,
    While,
    function,
)


@function
def certain(x):  # type: ignore[no-untyped-def]
    return x[0] > -1.0


@function
def near_two(x):  # type: ignore[no-untyped-def]
    return 1.0 - np.abs(x[0] - 2.0)


def counter(name: str, **fields: Any) -> Transfer:
    """Its value is the number of its runs."""
    return Transfer(name, integrator=SimpleIntegrator(rate=0.0, offset=1.0), **fields)


def nested(ends: Condition | None = None, reset: str = "never", **conditions: Condition) -> Model:
    """first → (a → b) → last, whose values are how often they ran."""
    model = Model("nested")
    for name in ("first", "a", "b", "last"):
        model.add(counter(name, reset=reset))
        model.output(name, name, earlier=True)
    model.input("x", "first")
    for sender, receiver in (("first", "a"), ("a", "b"), ("b", "last")):
        model.connect(sender, receiver)
    model.nest("inner", "a", "b", ends=ends)
    for name, condition in conditions.items():
        model.when(name, condition)
    return model


def counts(model: Model, trials: int = 2) -> list[list[float]]:
    given = interpret(model.program("exact"), trials=trials, inputs={"x": [[0.0]] * trials})
    assert not given.get("truncated", np.array([False])).any()
    return [[float(given[n][t, 0]) for n in ("first", "a", "b", "last")] for t in range(trials)]


CASES: list[tuple[Callable[[], Model], list[list[float]]]] = [
    (nested, [[1, 1, 1, 1], [2, 2, 2, 2]]),
    (
        lambda: nested(AfterNCalls("b", 2), b=EveryNCalls("a", 3)),
        [[1, 6, 2, 1], [2, 12, 4, 2]],
    ),
    (
        lambda: nested(AfterNPasses(2), inner=EveryNCalls("first", 2)),
        [[2, 2, 2, 1], [4, 4, 4, 2]],
    ),
    (
        lambda: nested(AfterNPasses(2), a=AtPass(1), b=JustRan("a")),
        [[1, 1, 1, 1], [2, 2, 2, 2]],
    ),
    # Trials of the nest are its calls; the outer trial has two.
    (
        lambda: nested(
            b=AtTrial(2),
            inner=EveryNCalls("first", 1),
            last=AfterNCalls("inner", 2),
            ends=AfterNPasses(1),
        ),
        [[2, 2, 0, 1], [4, 4, 1, 2]],
    ),
]


@pytest.mark.parametrize(("make", "wanted"), CASES)
def test_a_call_of_a_nest_is_a_trial_of_it(
    make: Callable[[], Model], wanted: list[list[float]]
) -> None:
    assert counts(make()) == wanted


@pytest.mark.parametrize("outer", [False, True])
@pytest.mark.parametrize("inner", [False, True])
@pytest.mark.parametrize("number", [0, 1, 2, 3])
def test_the_same_where_values_decide(number: int, inner: bool, outer: bool) -> None:
    """Conditions on values, always true, make loops of passes, of the nest and of the model."""
    make, wanted = CASES[number]
    model = make()
    for nest, node in (("inner", "a"), ("", "first")):
        if inner if nest else outer:
            condition = model.schedule(nest).conditions[node]
            model.when(node, All(condition, While(certain, node)))
    assert counts(model) == wanted


def test_what_is_reset_begins_anew_with_each_call_of_its_nest() -> None:
    model = nested(AfterNPasses(3), reset="trial", inner=EveryNCalls("first", 1))
    model.when("last", AfterNCalls("inner", 2))
    assert counts(model) == [[2, 3, 3, 1]] * 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m.nest("inner", "first"), "there is already a `inner` in `nested`"),
        (lambda m: m.nest("more"), "the nest `more` of none: it has members"),
        (lambda m: m.nest("more", "a"), "the nest `more` of `a`: it has members, each once"),
        (lambda m: m.when("last", AfterNCalls("a", 1)), "names `a`, which is not a node there"),
        (lambda m: m.when("b", AfterNCalls("first", 1)), "`inner` names `first`, which is not a"),
        (lambda m: m.when("last", WhenFinished("inner")), "`inner` is a nest, which has no crit"),
        (lambda m: m.control(GridSearch([ControlSignal("a.gain", [1.0])], "b"), "no"), "no nest"),
    ],
)
def test_what_is_no_nest_is_refused(change: Callable[[Model], Any], message: str) -> None:
    model = nested()

    def make() -> None:
        change(model)
        model.program("exact")

    with pytest.raises(ModelError, match=re.escape(message)):
        make()


def test_nests_of_one_set_that_send_to_one_another_are_refused() -> None:
    model = Model("two")
    for name in "ab":
        model.add(Transfer(name))
        model.nest(f"nest_{name}", name)
    model.input("x", "a")
    model.input("y", "b")
    model.connect("a", "b", feedback=True)
    model.output("b", "b")
    with pytest.raises(ModelError, match="the nests `nest_a`, `nest_b` run at once, and a_to_b"):
        model.program("exact")


def controlled(after: bool, both: bool = False, noise: bool = False) -> Model:
    """Two nests, each with a search of the slope that brings its output nearest to 2."""
    model = Model("controlled")
    for name in ("one", "two") if both else ("one",):
        drawn = Normal(standard_deviation=0.01) if noise else None
        model.add(Transfer(name, function=Linear(slope=1.0), noise=drawn))
        model.add(Compute(f"{name}_worth", function=near_two, inputs={"x": 1}, size=0))
        model.connect(name, f"{name}_worth")
        model.nest(f"{name}_nest", name, f"{name}_worth")
        signal = ControlSignal(f"{name}.function.slope", [0.5, 1.0, 2.0, 4.0], "override")
        model.control(GridSearch([signal], f"{name}_worth", after=after), f"{name}_nest")
        model.output(name, name)
    model.input("x", "one")
    if both:
        model.connect("one", "two", matrix=0.5)
    return model


@pytest.mark.parametrize("numerics", ["exact", "fast"])
def test_each_nest_has_its_own_search(numerics: Any) -> None:
    program = controlled(after=False, both=True).program(numerics)
    given = interpret(program, trials=3, inputs={"x": [[0.5], [1.0], [4.0]]})
    assert given["one"].ravel().tolist() == [2.0, 2.0, 2.0]
    assert given["two"].ravel().tolist() == [2.0, 2.0, 2.0]


def test_a_search_after_a_nests_trial_is_for_its_next_one() -> None:
    program = controlled(after=True).program("exact")
    given = interpret(program, trials=4, inputs={"x": [[0.5], [1.0], [4.0], [4.0]]})
    # Slopes: the first one, then what was best for the input before.
    assert given["one"].ravel().tolist() == [0.25, 4.0, 8.0, 2.0]


def test_candidates_of_a_nest_share_the_draws_of_its_trial() -> None:
    program = controlled(after=False, noise=True).program("exact")
    given = interpret(program, trials=50, inputs={"x": [[1.0]] * 50})
    plain = controlled(after=False, noise=True)
    plain.nests["one_nest"] = dataclasses.replace(plain.nests["one_nest"], search=None)
    alone = interpret(plain.program("exact"), trials=50, inputs={"x": [[1.0]] * 50})
    np.testing.assert_allclose(given["one"].ravel() - alone["one"].ravel(), 1.0, atol=0.2)
    assert np.corrcoef(given["one"].ravel(), alone["one"].ravel())[0, 1] > 0.99


OUTER = [-1.0, 0.5, 3.0]


def controlled_twice(slope: float | None) -> Any:
    """The outcomes of 30 trials of a noisy layer, a nest whose search meets noise too, and a noisy
    layer behind. slope: of the first layer; None: an outer search chooses one of OUTER."""
    noise = Normal(standard_deviation=1.0)
    model = Model("twice")
    model.add(
        Transfer("first", function=Linear(slope=1.0 if slope is None else slope), noise=noise)
    )
    model.add(Transfer("one", function=Linear(slope=1.0), noise=noise))
    model.add(Compute("one_worth", function=near_two, inputs={"x": 1}, size=0))
    model.add(Transfer("last", noise=noise))
    model.connect("first", "one")
    model.connect("one", "one_worth")
    model.connect("one", "last")
    model.nest("nest", "one", "one_worth")
    model.input("x", "first")
    model.output("last", "last")
    inner = ControlSignal("one.function.slope", [0.5, 1.0, 2.0, 4.0], "override")
    model.control(GridSearch([inner], "one_worth"), "nest")
    if slope is None:
        outer = ControlSignal("first.function.slope", OUTER, "override")
        model.control(GridSearch([outer], "last"))
    given = interpret(model.program("exact"), trials=30, inputs={"x": [[1.0]] * 30})
    return given["last"].ravel()


def test_a_search_around_a_search_meets_the_draws_of_the_trial_that_follows() -> None:
    """So its outcome is the greatest of those that its candidates have by themselves."""
    each = np.array([controlled_twice(slope) for slope in OUTER])
    chosen = controlled_twice(None)
    np.testing.assert_array_equal(chosen, each.max(axis=0))
    assert np.unique(each.argmax(axis=0)).size > 1


@function
def squared(x):  # type: ignore[no-untyped-def]
    return 0.8 * x[0] ** 2


COSTS: list[dict[str, Any]] = [
    {"adjustment": FunctionCost(squared), "initial": 0.0},
    {"duration": DurationCost(initial=-6.0)},
]


@pytest.mark.parametrize("loop", [False, True])
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("costs", COSTS)
def test_costs_of_a_nests_search_go_on_from_call_to_call(
    costs: dict[str, Any], after: bool, loop: bool
) -> None:
    """Two calls a trial of a nest have the values of two trials of a model."""

    def found(nested: bool, trials: int) -> list[float]:
        model = Model("costly")
        model.add(Transfer("one", function=Linear(slope=1.0)))
        model.add(Compute("worth", function=near_two, inputs={"x": 1}, size=0))
        model.connect("one", "worth")
        model.input("x", "one")
        model.output("one", "one", earlier=True)
        signal = ControlSignal("one.function.slope", [0.0, 1.0, 1.5, 2.0], "override", **costs)
        if nested:
            model.nest("nest", "one", "worth")
            model.ends(AfterNCalls("nest", 2))
            if loop:
                model.when("nest", While(certain, "one"))
        model.control(GridSearch([signal], "worth", after=after), "nest" if nested else "")
        given = interpret(model.program("exact"), trials=trials, inputs={"x": [[1.0]] * trials})
        return given["one"].ravel().tolist()

    alone = found(nested=False, trials=12)
    assert len(set(alone[:4])) > 1
    assert found(nested=True, trials=6) == alone[1::2]
