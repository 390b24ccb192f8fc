"""k winners take all, against NumPy, and layers that it does not fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from psylang.ir.interpret import interpret
from psylang.model import KWinners, Linear, Model, ModelError, Recurrent, Transfer

ROWS = np.random.default_rng(4).normal(size=(12, 6))


def layer(size: int = 6, recurrent: Recurrent | None = None, **fields: Any) -> Model:
    model = Model("layer")
    node = Transfer("node", size=size, winners=KWinners(**fields), recurrent=recurrent)
    model.add(node)
    model.input("x", "node")
    model.output("value", "node")
    return model


@pytest.mark.parametrize("numerics", ["exact", "fast"])
@pytest.mark.parametrize("count", [0, 1, 3, 5, 6])
def test_k_units_are_above_the_threshold(numerics: Any, count: int) -> None:
    model = layer(k=count, threshold=0.3, inhibition_only=False)
    found = interpret(model.program(numerics), inputs={"x": ROWS}, trials=12)["value"]
    # With all units as winners the least one is at the threshold, with none the greatest one.
    assert np.all(np.sum(found > 0.3 + 1e-12, axis=1) == (5 if count == 6 else count))
    apart = found - ROWS
    np.testing.assert_allclose(apart, np.broadcast_to(apart[:, :1], apart.shape), atol=1e-12)


@pytest.mark.parametrize("average_based", [False, True])
def test_the_threshold_lies_between_the_groups(average_based: bool) -> None:
    model = layer(k=0.34, ratio=0.2, average_based=average_based, inhibition_only=False)
    found = interpret(model.program("exact"), inputs={"x": ROWS}, trials=12)["value"]
    for row, x in zip(found, ROWS, strict=True):
        apart = np.sort(-x)
        groups = (apart[:2].mean(), apart[2:].mean()) if average_based else (apart[1], apart[2])
        np.testing.assert_allclose(row, x + 0.8 * groups[0] + 0.2 * groups[1], rtol=1e-12)


def test_inhibition_alone_and_recurrence() -> None:
    inhibited = layer(k=2, recurrent=Recurrent(auto=0.5))
    found = interpret(inhibited.program("exact"), inputs={"x": -np.abs(ROWS)}, trials=12)["value"]
    np.testing.assert_array_equal(found, -np.abs(ROWS))  # All are below 0 already.


@pytest.mark.parametrize(
    "fields", [{"k": 7}, {"k": -1}, {"k": 1.5}, {"k": 6, "average_based": True}, {"size": 65}]
)
def test_winners_that_do_not_fit(fields: dict[str, Any]) -> None:
    with pytest.raises(ModelError, match="winners among"):
        layer(**fields)


def test_a_ratio_beyond_its_limits() -> None:
    with pytest.raises(ModelError, match=r"winners\.ratio.*at most 1"):
        layer(ratio=1.5)


def test_the_function_takes_the_shifted_input() -> None:
    model = Model("one")
    made = Transfer("node", size=2, function=Linear(slope=3.0), winners=KWinners(k=1))
    model.add(made)
    model.input("x", "node")
    model.output("value", "node")
    found = interpret(model.program("exact"), inputs={"x": [[1.0, 2.0]]})["value"]
    np.testing.assert_array_equal(found, [[-1.5, 1.5]])
