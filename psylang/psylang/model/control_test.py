"""Control by grid search: the best allocation by hand, ties, costs, and shared noise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from psylang.ir.interpret import interpret
from psylang.model import (
    AfterNPasses,
    Compute,
    ControlSignal,
    DriftDiffusion,
    DurationCost,
    Evenly,
    ExponentialCost,
    FunctionCost,
    GridSearch,
    LinearCost,
    Listed,
    Model,
    ModelError,
    SimpleIntegrator,
    Transfer,
    While,
    function,
)
from psylang.model.decision import DDM
from psylang.model.noise import Normal


@function
def hill(x, top):  # type: ignore[no-untyped-def]
    return 10.0 - (x[0] - top) ** 2


def hill_climber(signal: ControlSignal, **fields: Any) -> Model:
    model = Model("hill")
    layer = model.add(Transfer("layer", noise=fields.pop("noise", None)))
    model.input("x", layer)
    height = model.add(
        Compute("height", function=hill, inputs={"x": 1}, parameters={"top": 3.0}, size=0)
    )
    model.connect(layer, height)
    model.control(GridSearch([signal], objective="height", **fields))
    model.output("height", height)
    return model


@pytest.mark.parametrize(
    ("modulation", "best"), [("multiplicative", 1.5), ("additive", 1.0), ("override", 3.0)]
)
def test_modulation(modulation: Any, best: float) -> None:
    signal = ControlSignal("layer.function.slope", Evenly(0.0, 3.0, 7), modulation)
    model = hill_climber(signal)
    slope = 2.0 if modulation != "override" else 1.0
    x = 1.0
    program = model.program("exact", fix={"layer.function.slope": slope})
    given = interpret(program, inputs={"x": [[x]]})
    assert given["allocation"].tolist() == [[best]]
    assert given["height"].tolist() == [10.0]


def test_costs_and_directions() -> None:
    levels = Listed((0.0, 1.0, 2.0, 3.0))
    signal = ControlSignal("layer.function.slope", levels, cost=LinearCost(slope=4.0))
    given = interpret(hill_climber(signal).program("exact"), inputs={"x": [[1.0]]})
    assert given["allocation"].tolist() == [[1.0]]  # 10 - 4 - 4 is 2; of 2: 10 - 1 - 8 is 1.
    least = ControlSignal("layer.function.slope", levels)
    given = interpret(
        hill_climber(least, direction="minimize").program("exact"), inputs={"x": [[1.0]]}
    )
    assert given["allocation"].tolist() == [[0.0]]


def test_of_equal_candidates_the_first() -> None:
    signal = ControlSignal("layer.function.slope", Listed((5.0, 1.0, 3.0)))
    given = interpret(hill_climber(signal).program("exact"), inputs={"x": [[0.0]]})
    assert given["allocation"].tolist() == [[5.0]]


def test_exact_candidates_meet_the_draws_of_the_trial() -> None:
    signal = ControlSignal("layer.noise.standard_deviation", Evenly(0.0, 4.0, 9), "override")
    model = hill_climber(signal, noise=Normal())
    given = interpret(model.program("exact"), trials=20, inputs={"x": np.ones((20, 1))})
    random = np.random.RandomState([0])
    for allocation, height in zip(given["allocation"][:, 0], given["height"], strict=True):
        z = random.normal()
        heights = [10.0 - (1.0 + level * z - 3.0) ** 2 for level in np.linspace(0, 4, 9)]
        assert allocation == 0.5 * int(np.argmax(heights))
        assert height == max(heights)


def test_fast_candidates_and_the_trial_have_the_same_draws() -> None:
    signal = ControlSignal("layer.noise.standard_deviation", Evenly(0.0, 4.0, 9), "override")
    program = hill_climber(signal, noise=Normal()).program("fast")
    constants = {op.result: op.attributes["value"] for op in program.body.walk() if not op.operands}
    draws = [op for op in program.body.walk() if op.name == "random.normal"]
    assert len(draws) == 2  # One in the search, one in the trial.
    assert {tuple(constants[one] for one in op.operands[2:]) for op in draws} == {(0, 0)}


def test_estimates_that_cannot_be() -> None:
    signal = ControlSignal("layer.function.intercept", Evenly(0.0, 4.0, 9), "additive")
    for count in (0, 2.5, True):
        with pytest.raises(ModelError, match=r"num_estimates is .*; it must be"):
            hill_climber(signal, num_estimates=count)


def test_estimates_of_exact_have_a_generator_of_their_own() -> None:
    """The candidates meet the same numbers; those of the trial come from another generator."""
    signal = ControlSignal("layer.function.intercept", Evenly(0.0, 4.0, 9), "additive")
    model = hill_climber(signal, num_estimates=3, noise=Normal())
    given = interpret(model.program("exact"), inputs={"x": [[0.5], [1.5]]}, trials=2)
    z = np.random.RandomState([1]).normal(size=3)
    own = np.random.RandomState([0]).normal(size=2)
    for row, x in enumerate((0.5, 1.5)):
        means = [np.mean(10.0 - (x + level + z - 3.0) ** 2) for level in np.arange(0, 4.1, 0.5)]
        best = 0.5 * np.argmax(means)
        assert given["allocation"][row, 0] == best
        assert given["height"][row] == pytest.approx(10.0 - (x + own[row] + best - 3.0) ** 2)


def tracker(after: bool, **fields: Any) -> Model:
    """Its control lets an integrator, which keeps its state, reach the top of a hill."""
    model = Model("tracker")
    layer = model.add(
        Transfer("layer", integrator=SimpleIntegrator(**fields), reset="never", seed=5)
    )
    model.input("x", layer)
    height = model.add(
        Compute("height", function=hill, inputs={"x": 1}, parameters={"top": 3.0}, size=0)
    )
    model.connect(layer, height)
    signal = ControlSignal("layer.integrator.rate", [-1.0, 0.0, 0.5, 2.0], "override", initial=1.0)
    model.control(GridSearch([signal], objective="height", after=after))
    model.output("y", layer)
    return model


@pytest.mark.parametrize("numerics", ["exact", "fast"])
def test_a_search_after_trials_sets_the_levels_of_the_next(numerics: Any) -> None:
    """By hand: a trial, then the best level for one more trial of that input from that state."""
    xs = [1.0, 1.5, -0.5, 4.0, 0.25, -3.0]
    program = tracker(True).program(numerics)
    given = interpret(program, inputs={"x": [[x] for x in xs]}, trials=len(xs))
    y, level, levels, states = 0.0, 1.0, [], []
    for x in xs:
        y = y + level * x
        levels.append(level)
        states.append(y)
        level = max((-1.0, 0.0, 0.5, 2.0), key=lambda one, x=x, y=y: -((y + one * x - 3) ** 2))  # type: ignore[misc]
    assert given["allocation"][:, 0].tolist() == levels
    assert given["y"][:, 0].tolist() == pytest.approx(states)
    assert len(set(levels)) > 2


def test_candidates_after_a_trial_meet_the_noise_of_the_next() -> None:
    program = tracker(True, noise=Normal(standard_deviation=2.0)).program("exact")
    given = interpret(program, inputs={"x": [[1.0]] * 20}, trials=20)
    z = 2.0 * np.random.RandomState([5]).normal(size=21)
    y, level = 0.0, 1.0
    for row in range(20):
        assert given["allocation"][row, 0] == level
        y = y + level + z[row]
        assert given["y"][row, 0] == pytest.approx(y)
        after = {one: -((y + one + z[row + 1] - 3.0) ** 2) for one in (-1.0, 0.0, 0.5, 2.0)}
        level = max(after, key=lambda one: after[one])
    noisy = tracker(True, noise=Normal())
    with pytest.raises(ModelError, match="candidates draw random numbers; use exact numerics"):
        noisy.program("fast")
    with pytest.raises(ModelError, match=r"initial of `layer\.integrator\.rate` is nan"):
        ControlSignal("layer.integrator.rate", [0.0], initial=float("nan"))


def test_what_runs_after_the_last_pass_has_draws_of_its_own() -> None:
    model = hill_climber(ControlSignal("layer.function.slope", Evenly(0.0, 3.0, 4)))
    model.last(report := model.add(Transfer("report", noise=Normal())))
    model.connect("layer", report)
    model.output("report", report)
    given = interpret(model.program("exact"), inputs={"x": [[1.0]]})
    assert given["report"][0, 0] == 3.0 + np.random.RandomState([0]).normal()


def test_a_search_over_conditions_that_ask_for_values() -> None:
    @function
    def low(x):  # type: ignore[no-untyped-def]
        return x[0] < 2.0

    signal = ControlSignal("layer.function.slope", Evenly(0.0, 3.0, 4), "additive")
    model = hill_climber(signal)
    model.when("height", While(low, "layer"))
    model.ends(AfterNPasses(1))
    for numerics in ("exact", "fast"):
        program = model.program(numerics, fix={"layer.function.slope": 0.5})
        given = interpret(program, inputs={"x": [[1.0]]})
        # Heights are 3.75, 7.75 and, where it does not run, what it begins with: 1 and 1.
        assert given["allocation"].tolist() == [[1.0]]
        assert given["height"].tolist() == [7.75]


def test_two_signals_the_last_one_fastest() -> None:
    model = Model("two")
    layer = model.add(Transfer("layer", size=2))
    model.input("x", layer)

    @function
    def flat(x):  # type: ignore[no-untyped-def]
        return x[0] * 0.0

    outcome = model.add(Compute("outcome", function=flat, inputs={"x": 2}, size=0))
    model.connect(layer, outcome)
    signals = [
        ControlSignal("layer.function.slope", Evenly(1.0, 2.0, 2), cost=LinearCost(-1.0)),
        ControlSignal("layer.function.intercept", Evenly(0.0, 2.0, 3), "additive"),
    ]
    search = GridSearch(signals, objective="outcome")
    model.control(search)
    model.output("y", layer)
    assert search.candidates == 6
    given = interpret(model.program("exact"), inputs={"x": [[1.0, 2.0]]})
    assert given["allocation"].tolist() == [[1.0, 0.0]]  # Negative costs are none: all are equal.


def test_searches_that_are_refused() -> None:
    signal = ControlSignal("layer.function.slope", Evenly(0.0, 1.0, 2))
    with pytest.raises(ModelError, match="a search over no signals"):
        GridSearch([], objective="height")
    with pytest.raises(ModelError, match="name a parameter twice"):
        GridSearch([signal, signal], objective="height")
    with pytest.raises(ModelError, match="direction is 'up'; it is maximize or minimize"):
        GridSearch([signal], objective="height", direction="up")  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="levels are a whole number of at least 1, not 0"):
        Evenly(0.0, 1.0, 0)
    with pytest.raises(ModelError, match=r"levels from 0\.0 to nan must be finite"):
        Evenly(0.0, float("nan"), 3)
    with pytest.raises(ModelError, match="0 listed levels; there must be 1 to 64"):
        Listed(())
    with pytest.raises(ModelError, match=r"no parameter `layer\.gain` in `hill`"):
        hill_climber(ControlSignal("layer.gain", Evenly(0.0, 1.0, 2)))
    with pytest.raises(ModelError, match=r"modulation of `layer\.function\.slope` is 'times'"):
        hill_climber(
            ControlSignal("layer.function.slope", Evenly(0.0, 1.0, 2), "times")  # type: ignore[arg-type]
        ).program()
    model = hill_climber(signal)
    with pytest.raises(ModelError, match="`hill` has a control already"):
        model.control(GridSearch([signal], objective="height"))
    big = [ControlSignal(f"p{k}", Evenly(0.0, 1.0, 2)) for k in range(31)]
    with pytest.raises(ModelError, match=r"2147483648 allocations; a search takes less than"):
        GridSearch(big, objective="height")


def test_exact_candidates_that_draw_in_a_loop_begin_alike() -> None:
    model = Model("m")
    decision = model.add(DDM("decision", integrator=DriftDiffusion(dt=0.01), seed=7))
    model.control(
        GridSearch(
            [ControlSignal("decision.integrator.threshold", Evenly(0.5, 1.0, 3))],
            objective="decision",
            objective_port="decision_variable",
            direction="minimize",
        )
    )
    model.output("x", decision, "decision_variable")
    model.output("time", decision, "response_time")
    program = model.program("exact")
    given = interpret(program, trials=30)
    random = np.random.RandomState([7])
    for row in range(30):
        before, ends = random.get_state(), {}
        for threshold in (0.5, 0.75, 1.0):
            random.set_state(before)
            x, time = 0.0, 0.0
            while abs(x) < threshold:
                x, time = x + 0.01 + 0.1 * random.normal(), time + 0.01
            ends[threshold] = (min(max(x, -threshold), threshold), time, random.get_state())
        best = min(ends, key=lambda one: ends[one][0])
        random.set_state(ends[best][2])
        assert given["allocation"][row, 0] == best
        assert (given["x"][row], given["time"][row]) == pytest.approx(ends[best][:2])


def test_a_change_costs_and_the_level_before_is_kept() -> None:
    """10 - (level - 3)**2 less 4 for each unit that the level rises."""
    levels = Listed((0.0, 1.0, 2.0, 3.0))
    rising = LinearCost(slope=4.0)
    signal = ControlSignal("layer.function.slope", levels, adjustment=rising, initial=2.0)
    x = [[1.0], [0.0], [1.0], [1.0]]
    for numerics in ("exact", "fast"):
        given = interpret(hill_climber(signal).program(numerics), inputs={"x": x}, trials=4)
        # From 2 up to 3: 10 - 4 is below 9. Without input level 0 is first; from there 1: 6 - 4.
        assert given["allocation"].tolist() == [[2.0], [0.0], [1.0], [1.0]], numerics


@pytest.mark.parametrize(("after", "chosen"), [(False, [1, 1, 0, 0, 0]), (True, [0, 1, 1, 0, 0])])
def test_a_duration_cost_grows_with_each_level(after: bool, chosen: list[float]) -> None:
    """Level 1 wins by 5 until its cost, three times the sum of -4 and 2 a trial, is above 0."""
    duration = DurationCost(rate=2.0, initial=-4.0)
    signal = ControlSignal("layer.function.slope", Listed((0.0, 1.0)), duration=duration)
    program = hill_climber(signal, after=after).program("exact")
    given = interpret(program, inputs={"x": [[1.0]] * 5}, trials=5)
    assert given["allocation"].ravel().tolist() == chosen


@function
def doubled(level):  # type: ignore[no-untyped-def]
    return level + level


@function
def pair(level):  # type: ignore[no-untyped-def]
    return np.array([level[0], 1.0])


@function
def of_two(level, other):  # type: ignore[no-untyped-def]
    return level + other


def test_a_function_as_cost() -> None:
    levels = Listed((0.0, 1.0, 2.0, 3.0))
    signal = ControlSignal("layer.function.slope", levels, cost=FunctionCost(doubled))
    given = interpret(hill_climber(signal).program("exact"), inputs={"x": [[1.0]]})
    assert given["allocation"].tolist() == [[2.0]]  # 9 - 4; of 1: 6 - 2; of 3: 10 - 6.
    wrong = ControlSignal("layer.function.slope", levels, cost=FunctionCost(pair))
    with pytest.raises(ModelError, match=r"the cost `pair` gives shape \(2,\)"):
        hill_climber(wrong).program("exact")
    with pytest.raises(ModelError, match="must be a function of one argument"):
        FunctionCost(of_two)


def test_costs_that_do_not_go_together_or_are_not_finite() -> None:
    with pytest.raises(ModelError, match="has a duration cost and another one"):
        ControlSignal("slope", [1.0], cost=LinearCost(), duration=DurationCost())
    with pytest.raises(ModelError, match="rate of DurationCost is nan; it must be finite"):
        DurationCost(rate=float("nan"))
    with pytest.raises(ModelError, match="bias of ExponentialCost is inf"):
        ExponentialCost(bias=float("inf"))
