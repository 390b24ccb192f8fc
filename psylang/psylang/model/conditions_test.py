"""Schedules: which mechanisms run in which time step, known beforehand and at run time alike.

Expected steps follow from the rules of PsyNeuLink's scheduler (docs/semantics.md, 7).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from psylang.ir.interpret import interpret
from psylang.model import (
    AfterNCalls,
    AfterNCallsCombined,
    AfterNPasses,
    AfterNSteps,
    AfterNTrials,
    AfterPass,
    AfterStep,
    AfterTrial,
    All,
    AllHaveRun,
    Always,
    AtLeast,
    AtPass,
    AtStep,
    AtTrial,
    BeforePass,
    BeforeStep,
    BeforeTrial,
    Condition,
    EveryNCalls,
    EveryNPasses,
    JustRan,
    Model,
    ModelError,
    Never,
    Not,
    NWhen,
    SimpleIntegrator,
    TimeInterval,
    Transfer,
    WhenFinished,
    While,
    function,
)
from psylang.model import Any as AnyOf
from psylang.model.schedule import Block, blocks, plan


@function
def certain(x):  # type: ignore[no-untyped-def]
    return x[0] > -1.0


def counter(name: str, **fields: Any) -> Transfer:
    """Its value is the number of its runs in the trial."""
    return Transfer(name, integrator=SimpleIntegrator(rate=0.0, offset=1.0), **fields)


def chain(conditions: dict[str, Condition], ends: Condition, **fields: Any) -> Model:
    """a → b → c, whose values are how often they ran."""
    model = Model("chain", **fields)
    for name in "abc":
        model.add(counter(name))
        model.output(name, name, earlier=True)
    model.input("x", "a")
    model.connect("a", "b")
    model.connect("b", "c")
    for name, condition in conditions.items():
        model.when(name, condition)
    model.ends(ends)
    return model


def counts(model: Model) -> list[float]:
    given = interpret(model.program("exact"), inputs={"x": [[0.0]]})
    assert not given.get("truncated", np.array([False]))[0]
    return [float(given[name][0, 0]) for name in "abc"]


CASES: list[tuple[dict[str, Condition], Condition, list[float]]] = [
    ({}, AllHaveRun(), [1, 1, 1]),
    ({}, AtPass(3), [3, 3, 3]),
    ({"b": EveryNCalls("a", 2), "c": EveryNCalls("b", 3)}, AllHaveRun(), [6, 3, 1]),
    ({"b": EveryNCalls("a", 2)}, AtPass(5), [5, 2, 2]),
    ({"b": AfterNCalls("a", 3)}, AfterNCalls("b", 2), [4, 2, 1]),
    ({"a": AtPass(0), "b": Always(), "c": AtPass(2)}, AllHaveRun(), [1, 3, 1]),
    ({"a": BeforePass(2), "b": Always()}, AtPass(4), [2, 4, 4]),
    ({"b": AfterPass(1)}, AtPass(5), [5, 3, 3]),
    ({"b": AfterNPasses(1)}, AtPass(5), [5, 4, 4]),
    ({"b": EveryNPasses(2)}, AtPass(5), [5, 3, 3]),
    ({"b": JustRan("a"), "a": EveryNPasses(3), "c": Always()}, AtPass(6), [2, 2, 6]),
    ({"c": JustRan("a")}, AtPass(4), [4, 4, 0]),
    ({"b": NWhen(EveryNCalls("a", 2), 2)}, AtPass(9), [9, 2, 2]),
    ({"b": Not(AtPass(1)), "c": All(Always(), Not(Never()))}, AtPass(3), [3, 2, 3]),
    ({"b": AnyOf(AtPass(0), AtPass(2)), "c": Always()}, AtPass(4), [4, 2, 4]),
    ({"b": TimeInterval(repeat=0.2, start=0.2, end=0.6, pass_time=0.1)}, AtPass(9), [9, 3, 3]),
    ({"b": WhenFinished("a")}, AllHaveRun(), [1, 1, 1]),
    ({"c": AllHaveRun("a", "b")}, AllHaveRun("c"), [1, 1, 1]),
    ({"a": Never(), "b": Always()}, AllHaveRun("b"), [0, 1, 0]),
]


@pytest.mark.parametrize(("conditions", "ends", "wanted"), CASES)
def test_passes_that_are_known(
    conditions: dict[str, Condition], ends: Condition, wanted: list[float]
) -> None:
    model = chain(conditions, ends)
    assert plan(model.schedule()) is not None
    assert counts(model) == wanted


@pytest.mark.parametrize(("conditions", "ends", "wanted"), CASES)
def test_the_same_passes_at_run_time(
    conditions: dict[str, Condition], ends: Condition, wanted: list[float]
) -> None:
    """A condition on a value, always true, makes all counts values of the program."""
    model = chain(conditions, ends)
    schedule = model.schedule()
    for name in "abc":
        model.when(name, All(schedule.conditions[name], While(certain, name)))
    assert plan(model.schedule()) is None
    assert counts(model) == wanted


RUNS: list[tuple[dict[str, Condition], Condition, list[list[float]]]] = [
    ({"b": AtTrial(1)}, AllHaveRun("a"), [[1, 0, 0], [1, 0, 0], [1, 0, 0]]),
    ({"b": AtTrial(1)}, AtPass(1), [[1, 0, 0], [1, 1, 1], [1, 0, 0]]),
    ({"b": BeforeTrial(1), "c": Always()}, AtPass(1), [[1, 1, 1], [1, 0, 1], [1, 0, 1]]),
    ({"b": AfterTrial(0), "c": Always()}, AtPass(2), [[2, 0, 2], [2, 2, 2], [2, 2, 2]]),
    ({"c": AfterNTrials(2)}, AtPass(1), [[1, 1, 0], [1, 1, 0], [1, 1, 1]]),
    ({"b": AfterNCalls("a", 4, "run")}, AtPass(2), [[2, 0, 0], [2, 1, 1], [2, 2, 2]]),
    ({"b": NWhen(Always(), 3, "run")}, AtPass(2), [[2, 2, 2], [2, 1, 1], [2, 0, 0]]),
    ({"b": AtPass(3, "run"), "c": Always()}, AtPass(2), [[2, 0, 2], [2, 1, 2], [2, 0, 2]]),
    ({"c": AtStep(2)}, AtPass(2), [[2, 2, 1]] * 3),
    ({"c": AtStep(8, "run")}, AtPass(2), [[2, 2, 0], [2, 2, 1], [2, 2, 0]]),
    ({"c": AtStep(6, "run"), "b": Always()}, AtPass(2), [[2, 2, 0], [2, 2, 1], [2, 2, 0]]),
    ({"b": AfterStep(1), "c": BeforeStep(2)}, AtPass(3), [[3, 2, 1]] * 3),
    ({"c": AfterNSteps(4)}, AtPass(3), [[3, 3, 2]] * 3),
    ({"c": AfterNCallsCombined("a", "b", n=4)}, AtPass(3), [[3, 3, 2]] * 3),
    ({"b": AfterNCalls("a", 1, "pass"), "a": AtPass(1)}, AtPass(3), [[1, 1, 1]] * 3),
    # The trial before ended with a step of c: a begins where c just ran.
    (
        {"a": AnyOf(AtTrial(0), JustRan("c")), "b": Always(), "c": Always()},
        AtPass(1),
        [[1, 1, 1]] * 3,
    ),
    # The run's end: no pass of a later trial begins.
    ({}, AfterNCalls("c", 1, "run"), [[1, 1, 1], [0, 0, 0], [0, 0, 0]]),
    # A pass that the end cuts off leaves the condition false again.
    ({}, All(AllHaveRun("a"), AnyOf(AtPass(0), AtPass(2))), [[2, 1, 1]] * 3),
]


@pytest.mark.parametrize(("conditions", "ends", "wanted"), RUNS)
def test_counts_since_the_run_began_and_of_steps(
    conditions: dict[str, Condition], ends: Condition, wanted: list[list[float]]
) -> None:
    program = chain(conditions, ends).program("exact")
    given = interpret(program, trials=3, inputs={"x": [[0.0]] * 3})
    ran = [[float(given[name][t, 0]) for name in "abc"] for t in range(3)]
    assert ran == wanted


def test_steps_of_a_trial() -> None:
    schedule = chain({"b": EveryNCalls("a", 2), "c": EveryNCalls("b", 1)}, AllHaveRun()).schedule()
    assert schedule.sets == (("a",), ("b",), ("c",))
    assert plan(schedule) == [(("a",),), (("a",), ("b",), ("c",))]


def test_blocks_of_passes() -> None:
    one, two, three = (("a",),), (("a",), ("b",)), (("c",),)
    assert blocks([one, two, one, two, one]) == [Block((*one, *two), 2), Block(one, 1)]
    assert blocks([three, one, one, one]) == [Block(three, 1), Block(one, 3)]
    assert blocks([]) == []


def test_many_passes_are_a_loop_without_conditions() -> None:
    model = chain({"b": EveryNCalls("a", 2)}, AtPass(501))
    program = model.program("fast")
    (loop,) = (op for op in program.body.ops if op.regions)
    assert loop.attributes["limit"] == 250
    names = {op.name for op in loop.regions[0].ops}
    assert names <= {"constant", "add", "mul", "lt", "stack", "extract"}
    assert counts(model) == [501, 250, 250]


def test_blocks_before_and_after_a_loop_go_on() -> None:
    model = Model("m")
    noisy = model.add(counter("noisy", reset="never"))
    model.input("x", noisy)
    late = model.add(Transfer("late", integrator=SimpleIntegrator(), noise=None))
    model.connect(noisy, late)
    model.when(noisy, Not(AtPass(1)))
    model.when(late, Not(AtPass(0)))
    model.ends(AtPass(900))
    model.output("n", noisy)
    model.output("sum", late)
    given = interpret(model.program("exact"), trials=2, inputs={"x": [[0.0], [0.0]]})
    assert given["n"].ravel().tolist() == [899.0, 1798.0]
    sums = [1 + sum(range(2, 900)), 900 + sum(range(901, 1799))]
    assert given["sum"].ravel().tolist() == sums


def test_a_loop_of_passes_that_is_too_long_says_so() -> None:
    @function
    def never(x):  # type: ignore[no-untyped-def]
        return x[0] < 0.0

    model = chain({}, While(never, "a"), max_passes=7)
    given = interpret(model.program("exact"), inputs={"x": [[0.0]]})
    assert given["truncated"].tolist() == [True]
    assert given["a"].tolist() == [[7.0]]


def test_a_node_that_finishes_lets_others_run() -> None:
    model = Model("m")
    rising = Transfer(
        "rising",
        integrator=SimpleIntegrator(),
        until=AtLeast(threshold=2.5),
        until_finished=False,
    )
    model.add(rising)
    model.input("x", "rising")
    model.add(counter("late"))
    model.connect("rising", "late")
    model.when("late", WhenFinished("rising"))
    model.output("x", "rising")
    model.output("n", "late")
    program = model.program("exact")
    given = interpret(program, trials=2, inputs={"x": [[1.0], [0.5]]})
    assert given["x"].ravel().tolist() == [3.0, 2.5]
    assert given["n"].ravel().tolist() == [1.0, 1.0]
    assert given["truncated"].tolist() == [False, False]


def test_together_sees_the_values_from_before() -> None:
    model = Model("m")
    for name in "ab":
        model.add(Transfer(name, reset="never"))
    model.add(Transfer("input"))
    model.input("x", "input")
    model.connect("input", "a")
    model.connect("a", "b")
    model.connect("b", "a")
    model.together("a", "b")
    model.output("y", ["a", "b"])
    assert model.schedule().sets == (("input",), ("a", "b"))
    given = interpret(model.program("exact"), trials=4, inputs={"x": [[1.0], [0.0], [0.0], [0.0]]})
    assert given["y"].tolist() == [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0]]
    with pytest.raises(ModelError, match="`a`: a group is of two mechanisms or more"):
        model.together("a", "input")


def test_last_runs_after_the_passes() -> None:
    model = chain({}, AtPass(3))
    model.add(counter("end"))
    model.connect("c", "end")
    model.last("end")
    model.output("end", "end")
    assert counts(model) == [3, 3, 3]
    assert interpret(model.program("exact"), inputs={"x": [[0.0]]})["end"].tolist() == [[1.0]]
    with pytest.raises(ModelError, match="`end` is a last one, or has a condition, already"):
        model.last("end")
    with pytest.raises(ModelError, match="`end` runs after the last pass; it takes no condition"):
        model.when("end", Always())
    model.connect("end", "b", feedback=True)
    with pytest.raises(ModelError, match="`end_to_b`: from what runs after the last pass"):
        model.program()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: AtPass(-1), "AtPass takes a whole number of at least 0, not -1"),
        (lambda: EveryNPasses(0), "EveryNPasses takes a whole number of at least 1, not 0"),
        (lambda: AfterNCalls("a", 1.5), "AfterNCalls takes a whole number of at least 0, not 1.5"),  # type: ignore[arg-type]
        (lambda: AtPass(0, "pass"), "AtPass counts since 'pass'; it is one of trial, run"),
        (lambda: AtTrial(0, "trial"), "AtTrial counts since 'trial'; it is one of run"),
        (lambda: NWhen(Always(), 1, "pass"), "NWhen counts since 'pass'; it is one of trial"),  # type: ignore[arg-type]
        (lambda: AfterNCallsCombined(n=1), "AfterNCallsCombined names no mechanism"),
        (lambda: While(certain, "a", ports=[]), "While has 1 nodes and 0 ports; name one of each"),
        (lambda: NWhen(Always(), 0), "NWhen takes a whole number of at least 1, not 0"),
        (lambda: TimeInterval(start=0.15, pass_time=0.1), "start of TimeInterval is 0.15; it must"),
    ],
)
def test_conditions_that_are_refused(make: Any, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        make()
