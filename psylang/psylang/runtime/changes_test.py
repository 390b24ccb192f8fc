"""Changes of a model are seen wherever they are; what cannot change costs nothing."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

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


def test_what_cannot_change_is_not_looked_at() -> None:
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
