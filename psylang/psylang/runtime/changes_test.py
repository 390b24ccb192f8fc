"""Changes are detected in all parts of a model; parts that cannot change cost nothing."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from psylang.model import (
    AfterNPasses,
    Always,
    Compute,
    ControlSignal,
    EveryNCalls,
    GridSearch,
    Linear,
    Model,
    ModelError,
    Transfer,
    function,
)
from psylang.runtime.changes import Watch
from psylang.runtime.errors import ModelChangedError
from psylang.runtime.plan_fixture import calls_of, straight


@dataclass(frozen=True)
class Frozen:
    parts: Any = ()


def model() -> SimpleNamespace:
    def scaled(x: float, by: float = 2.0) -> float:
        return x * by

    inner = SimpleNamespace(rate=0.5, weights=np.eye(2), names=["a", "b"], kinds={"a", "b"})
    inner.owner = inner  # A circle.
    part = functools.partial(min, 1)
    return SimpleNamespace(
        part=part, module=np, inner=inner, table={"x": (1, 2.0)}, function=scaled
    )


@pytest.mark.parametrize(
    "change",
    [
        lambda one: setattr(one.inner, "rate", 0.25),
        lambda one: setattr(one.inner, "rate", True),
        lambda one: one.inner.weights.__setitem__((0, 1), 1e-300),
        lambda one: one.inner.names.append("c"),
        lambda one: one.inner.kinds.add("c"),
        lambda one: one.table.update(x=(1, 2.5)),
        lambda one: one.table.update(y=1),
        lambda one: setattr(one, "function", lambda x, by=2.0: x + by),
        lambda one: setattr(one.function, "__defaults__", (3.0,)),
        lambda one: setattr(one, "new", None),
        lambda one: setattr(one, "part", functools.partial(max, 2)),
        lambda one: setattr(one, "module", time),
    ],
)
def test_a_change_is_seen(change: Callable[[Any], None]) -> None:
    one = model()
    watch = Watch(one)
    watch.check()
    change(one)
    with pytest.raises(ModelChangedError, match="`SimpleNamespace` was changed after"):
        watch.check()


def test_an_equal_thing_in_its_place_is_no_change() -> None:
    one = model()
    watch = Watch(one)
    one.inner.rate = float("0.5")
    one.table["x"] = (1, float("2.0"))
    watch.check()
    watch.check()


def decision() -> Model:
    model = Model("choice")
    rate = model.parameter("rate", 0.5)
    first = model.add(Transfer("first", size=2, function=Linear(slope=rate)))
    second = model.add(Transfer("second", size=2))
    model.connect(first, second)
    model.input("stimulus", first)
    model.when("second", EveryNCalls("first", 2))
    model.ends(AfterNPasses(4))
    model.output("y", second)
    return model


@pytest.mark.parametrize(
    "call",
    [
        lambda model: model.when("second", EveryNCalls("first", 2)),
        lambda model: model.ends(AfterNPasses(4)),
        lambda model: (model.ends(AfterNPasses(5)), model.ends(AfterNPasses(4))),
        lambda model: model.program("exact", vary=["rate"]),
        lambda model: (model.schedule(), model.afterwards(), model.limits("rate")),
    ],
)
def test_a_call_that_leaves_the_model_as_it_was_is_no_change(call: Callable[[Model], Any]) -> None:
    model = decision()
    watch = Watch(model)
    call(model)
    watch.check()


def test_a_call_that_is_refused_is_no_change() -> None:
    model = decision()
    watch = Watch(model)
    for call in (
        lambda: model.parameter("rate", 1.0),
        lambda: model.output("y", "first"),
        lambda: model.connect("first", "second"),
    ):
        with pytest.raises(ModelError, match="there is already"):
            call()
        watch.check()


@pytest.mark.parametrize(
    "call",
    [
        lambda model: model.parameter("other", 0.5),
        lambda model: model.add(Transfer("third")),
        lambda model: model.connect("first", "second", name="again"),
        lambda model: model.input("stimulus", "second"),
        lambda model: model.input("stimulus", "first"),
        lambda model: model.together("first", "second"),
        lambda model: model.last("first"),
        lambda model: model.when("second", EveryNCalls("first", 3)),
        lambda model: model.when("first", Always()),
        lambda model: model.ends(AfterNPasses(5)),
        lambda model: model.control(GridSearch([ControlSignal("rate", [0.5, 1.0])], "goal")),
        lambda model: model.output("z", "second"),
    ],
)
def test_a_call_that_changes_the_model_is_seen(call: Callable[[Model], Any]) -> None:
    model = decision()
    model.add(Transfer("goal"))
    watch = Watch(model)
    call(model)
    with pytest.raises(ModelChangedError, match="`choice` was changed after"):
        watch.check()


def test_objects_that_cannot_change_are_not_looked_at() -> None:
    array = np.zeros(3)
    array.setflags(write=False)
    assert len(Watch(Frozen((1, "a", array, Frozen(len))))._parts) == 0
    assert not Watch(straight())._watched
    assert len(Watch(Frozen([1]))._parts) == 1
    assert len(Watch(Frozen(np.zeros(3)))._parts) == 1
    view = np.zeros(3)[:]
    view.setflags(write=False)
    assert len(Watch(Frozen(view))._parts) == 1


@pytest.mark.parametrize("parts", [10, 100])
def test_parts_are_looked_at_by_loops_in_c(parts: int) -> None:
    one = SimpleNamespace(
        parts=[SimpleNamespace(a=[i], b={"x": float(i)}) for i in range(parts)],
    )
    watch = Watch(one)
    assert len(watch._parts) == 3 * parts + 2
    assert calls_of(watch.check) <= 10


SCALE, TABLE = 2.0, np.array([1.0, 2.0])


@function
def scaled(x):  # type: ignore[no-untyped-def]
    """Reads this module's numbers."""
    return x * SCALE + TABLE[0]


def test_a_global_that_a_function_reads_is_part_of_the_model(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = Model("scaled")
    node = model.add(Compute("unit", function=scaled, inputs={"x": 0}, size=0))
    model.input("x", node)
    model.output("y", node)
    watch = Watch(model)
    watch.check()
    space = scaled.python.__globals__
    monkeypatch.setitem(space, "SCALE", float("2.0"))
    watch.check()
    monkeypatch.setitem(space, "SCALE", 3.0)
    with pytest.raises(ModelChangedError, match="`scaled` was changed after"):
        watch.check()
    monkeypatch.setitem(space, "SCALE", 2.0)
    watch.check()
    TABLE[0] += 1.0
    with pytest.raises(ModelChangedError):
        watch.check()
