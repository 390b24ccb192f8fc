"""Functions of While: found in their files, their reads made arguments. Needs no PsyNeuLink."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from psylang.ir.builder import ProgramBuilder
from psylang.ir.interpret import interpret
from psylang.ir.types import F64, Type
from psylang.model import AfterNCalls, All, Always, EveryNCalls, Model, Not, Transfer
from psylang.model.context import Context
from psylang.pnl.asking import Passing, Place, asked_of
from psylang.pnl.order import by_chance
from psylang.pnl.refusals import RefusedError


class Ports(list[Any]):
    """As PsyNeuLink's lists of ports."""


class Component:
    """As PsyNeuLink's components look to the reader."""

    def __init__(self, name: str, ports: int = 1) -> None:
        self.name, self.parameters = name, None
        self.output_ports = Ports(Component(f"{name}_port{k}", 0) for k in range(ports))
        if ports:
            self.output_port = self.output_ports[0]


Component.__module__ = Ports.__module__ = "psyneulink.fake"
A: Any = Component("a")
B: Any = Component("b")
BOUND = 2.0
UNKNOWN: Any = eval("lambda: True", {})


def place(component: Any) -> Place:
    return Place(
        component.name.partition("_")[0], component.name, 2, 1 if component.output_ports else None
    )


def truths(python: Callable[..., Any], *data: Any, **named: Any) -> list[bool]:
    """The function's truth where both elements of each value are 1, and where they are 3."""
    ask, places = asked_of(python, data, named, place)
    build = ProgramBuilder("asked", "exact")
    inputs = [build.input(f"v{k}", Type(F64.dtype, (2,))) for k in range(len(places))]
    build.input("unused")
    build.output("truth", ask.emit(Context(build, {}, {}), inputs))
    rows: dict[str, Any] = {f"v{k}": [[1.0] * 2, [3.0] * 2] for k in range(len(places))}
    found = interpret(build.build(), trials=2, inputs={**rows, "unused": [0.0, 0.0]})
    return [bool(one) for one in found["truth"]]


def small(node: Any, most: float, times: int = 1) -> bool:
    total = 0.0
    for _ in range(times):
        total += node.output_port.value[0]
    if total > most:
        return bool(np.max(node.output_ports[0].value) < 0.0)
    return True


def test_functions_read_values_in_each_way() -> None:
    limit = 2.0
    assert truths(lambda: A.value[0][0] < BOUND) == [True, False]
    assert truths(lambda node: node.value[0][1] > limit, A) == [False, True]
    assert truths(lambda: (A.value[0][0] + B.output_port.value[0]) / 2 > limit) == [False, True]
    assert truths(small, A, 2.0) == [True, False]
    assert truths(small, node=A, most=5.0) == [True, True]
    assert truths(lambda: True) == [True, True]
    assert truths(lambda: A.value[0, 0] - 1.0) == [False, True]  # As Python's `if`.


def test_a_lambda_within_a_lambda_is_told_apart() -> None:
    made = [lambda: lambda: A.value[0][0] < BOUND, lambda: lambda: A.value[0][0] > BOUND]
    assert truths(made[0]()) == [True, False]
    assert truths(made[1]()) == [False, True]


def no_value(node: Any, scheduler: Any = None) -> Any:
    return scheduler


@pytest.mark.parametrize(
    ("python", "message"),
    [
        (bool, "which is not written in Python"),
        (lambda missing: missing, "takes `missing`, which nothing gives"),
        (lambda scheduler: scheduler.time, "uses PsyNeuLink's `scheduler`"),
        (lambda: A.value, "gives several values; it must give one truth"),
        (lambda: A.name.upper(), "asking_test.py"),
        (UNKNOWN, "the source of its function at <string>:1 is not there"),
    ],
)
def test_other_functions_are_refused(python: Any, message: str) -> None:
    with pytest.raises(RefusedError) as caught:
        asked_of(python, (), {}, place)
    assert message in caught.value.reason


class Given:
    """As PsyNeuLink's Threshold."""

    def __init__(self, indices: Any, comparator: str = "<", atol: float = 0.0) -> None:
        self.indices, self.comparator, self.threshold = indices, comparator, 2.0
        self.atol, self.rtol = atol, 0.0


@pytest.mark.parametrize(
    ("comparator", "wanted"),
    [("<", [True, False]), (">=", [False, True]), ("==", [False, True]), ("!=", [True, False])],
)
def test_thresholds_compare_one_element(comparator: str, wanted: list[bool]) -> None:
    made = Passing.of(Given((0, 1), comparator, 0.5), Place("a", "a", 2, 1))
    build = ProgramBuilder("asked", "exact")
    value = build.input("v", Type(F64.dtype, (2,)))
    build.output("truth", made.emit(Context(build, {}, {}), [value]))
    rows = [[9.0, 1.0], [9.0, 2.25]]
    found = interpret(build.build(), trials=2, inputs={"v": rows})
    assert [bool(one) for one in found["truth"]] == wanted == [made(row) for row in rows]


@pytest.mark.parametrize(
    ("indices", "message"),
    [(None, "compares 2 elements"), ((1, 0), "has the index 1"), ((0, 2), "has the index 2 of 2")],
)
def test_thresholds_of_no_element_are_refused(indices: Any, message: str) -> None:
    with pytest.raises(RefusedError, match=message):
        Passing.of(Given(indices), Place("a", "a", 2, 1))


def test_what_wants_a_node_of_its_set_not_to_have_run_is_by_chance() -> None:
    model = Model("m")
    for name in "abc":
        model.add(Transfer(name))
    model.input("x", "a")
    model.input("y", "b")
    model.connect("a", "c")
    model.when("b", All(Always(), Not(AfterNCalls("a", 2))))
    model.when("c", Not(AfterNCalls("a", 3)))
    assert list(by_chance(model.schedule())) == [("b", "a")]
    model.when("b", Not(Not(EveryNCalls("a", 2))))
    assert list(by_chance(model.schedule())) == []
