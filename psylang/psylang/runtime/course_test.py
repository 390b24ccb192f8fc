"""Resets on conditions, and parameters that some calls have, against plain Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import psylang
from psylang.ir.text import print_program
from psylang.model import Linear, Model, Transfer
from psylang.model.compound import Any as AnyOf
from psylang.model.compound import Not, While
from psylang.model.conditions import (
    AfterNCalls,
    AfterTrial,
    AtPass,
    AtTrial,
    Condition,
    EveryNCalls,
    JustRan,
)
from psylang.model.course import override, reset_when
from psylang.model.function import function
from psylang.model.integrators import SimpleIntegrator

X = np.linspace(-1.0, 2.0, 24).reshape(12, 2)


def summing(passes: int = 1) -> Model:
    """A layer that adds up its input in each pass, and sends twice the sum."""
    model = Model("summing")
    integrator, send = SimpleIntegrator(rate=1.0, initial=0.5), Linear(slope=2.0)
    model.add(Transfer("a", size=2, integrator=integrator, function=send, reset="never"))
    model.input("x", "a")
    model.output("value", "a")
    model.ends(AfterNCalls("a", passes))
    return model


def expected(
    passes: int, resets: Callable[[int, Any], bool], slope: Callable[[int, int], float]
) -> list[Any]:
    state, found = np.full(2, 0.5), []
    for trial, x in enumerate(X):
        if resets(trial, 2.0 * state):
            state = np.full(2, 0.5)
        for number in range(passes):
            state = state + x
            value = slope(trial, number) * state
        found.append(value)
    return found


@function
def is_large(value):  # type: ignore[no-untyped-def]
    return value[0] < -3.0


@pytest.mark.parametrize("numerics", ["fast", "exact"])
@pytest.mark.parametrize(
    ("condition", "resets"),
    [
        (AtTrial(4), lambda trial, value: trial == 4),
        (AnyOf(AtTrial(0), AfterTrial(8)), lambda trial, value: trial in (0, 9, 10, 11)),
        (Not(AtPass(0)), lambda trial, value: False),
        (AtPass(0), lambda trial, value: True),
        (AfterNCalls("a", 9, "run"), lambda trial, value: trial >= 3),
        (While(is_large, "a"), lambda trial, value: bool(value[0] < -3.0)),
    ],
    ids=["trial", "trials", "no_pass", "pass", "calls", "value"],
)
def test_a_reset_begins_a_trial_anew(
    numerics: Any, condition: Condition, resets: Callable[[int, Any], bool]
) -> None:
    model = summing(3)
    reset_when(model, "a", condition)
    found = psylang.compile(model, numerics=numerics).run({"x": X})
    np.testing.assert_allclose(found["value"], expected(3, resets, lambda *_: 2.0), rtol=1e-14)


@pytest.mark.parametrize("numerics", ["fast", "exact"])
@pytest.mark.parametrize(
    ("condition", "slope"),
    [
        (None, lambda trial, number: 5.0),
        (AfterTrial(5), lambda trial, number: 5.0 if trial > 5 else 2.0),
        (AfterNCalls("a", 3), lambda trial, number: 5.0 if number == 2 else 2.0),
        (AtPass(1), lambda trial, number: 5.0 if number == 1 else 2.0),
    ],
    ids=["always", "trials", "calls", "pass"],
)
def test_an_override_holds_in_the_calls_of_its_condition(
    numerics: Any, condition: Condition | None, slope: Callable[[int, int], float]
) -> None:
    model = summing(3)
    override(model, "a", "a.function.slope", 5.0, condition)
    found = psylang.compile(model, numerics=numerics).run({"x": X})
    np.testing.assert_allclose(found["value"], expected(3, lambda *_: False, slope), rtol=1e-14)


def test_an_override_of_trials_leaves_the_passes_known() -> None:
    model = summing(3)
    override(model, "a", "a.function.slope", 5.0, AfterTrial(5))
    assert "loop" not in print_program(model.program())
    override(model, "a", "a.function.intercept", 1.0, AtPass(1))
    assert "loop" in print_program(model.program())


def test_several_overrides_and_a_reset_go_together() -> None:
    model = summing()
    reset_when(model, "a", AtTrial(6))
    override(model, "a", "a.function.slope", 5.0, AfterTrial(5))
    override(model, "a", "a.integrator.rate", 0.0, AtTrial(2))
    found = psylang.compile(model).run({"x": X})["value"]
    state, wanted = np.full(2, 0.5), []
    for trial, x in enumerate(X):
        state = np.full(2, 0.5) if trial == 6 else state
        state = state + (0.0 if trial == 2 else 1.0) * x
        wanted.append((5.0 if trial > 5 else 2.0) * state)
    np.testing.assert_allclose(found, wanted, rtol=1e-14)


def _twice(model: Model) -> None:
    for trial in (1, 2):
        reset_when(model, "a", AtTrial(trial))


def _each_trial() -> Model:
    model = Model("each")
    model.add(Transfer("a", size=2, integrator=SimpleIntegrator()))
    return model


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda m: reset_when(m, "a", AfterNCalls("a", 2)), "AfterNCalls counts within the trial"),
        (lambda m: reset_when(m, "a", JustRan("a")), "JustRan counts within the trial"),
        (_twice, "`a` has a condition for its reset already"),
        (lambda m: reset_when(_each_trial(), "a", AtTrial(1)), "`a` is reset in each trial"),
        (lambda m: override(m, "a", "a.function.slop", 1.0), "a.function.slop"),
        (lambda m: override(m, "a", "a.function.slope", [1.0, 2.0, 3.0]), "has shape"),
        (
            lambda m: override(m, "a", "a.function.slope", 1.0, EveryNCalls("a", 2)),
            "EveryNCalls counts the calls of its owner",
        ),
        (lambda m: override(m, "a", "a.function.slope", float("nan")), "a.function.slope"),
    ],
)
def test_an_impossible_change_is_refused(change: Callable[[Model], object], said: str) -> None:
    with pytest.raises(psylang.PsylangError, match=said):
        change(summing())


def test_a_parameter_of_several_mechanisms_has_no_override() -> None:
    model = Model("shared")
    slope = model.parameter("slope", 2.0)
    for name in "ab":
        model.add(Transfer(name, function=Linear(slope=slope)))
    with pytest.raises(psylang.PsylangError, match="`slope` is used by `a`, `b`"):
        override(model, "a", "slope", 1.0)
