"""Grids: each point has its own trials, the table its shape, the best point its place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import psylang
from psylang.runtime import search as module
from psylang.runtime.plan_fixture import compiled, session_cache, straight, walk

__all__ = ["compiled", "session_cache"]
pytestmark = pytest.mark.usefixtures("compiled")


def test_every_point_is_simulated_and_the_best_is_named() -> None:
    plan = psylang.compile(straight())
    found = plan.search(
        {"a": [1.0, -2.0, 3.0], "w": [[1, 1, 1], [2, 2, 2]]},
        trials=4,
        objective="y",
        inputs={"x": 10.0},
    )
    trial = np.arange(24.0).reshape(3, 2, 4).mean(axis=2)
    np.testing.assert_array_equal(found["y"], 10 * np.array([[1], [-2], [3]]) + trial)
    assert found["v"].shape == (3, 2, 3)
    assert found["v"][0, 1].tolist() == [20.0, 20.0, 20.0]
    assert found.dims["v"] == ("a", "w", "unit")
    assert (found.best_index, found.best_value) == ((1, 0), -20 + trial[1, 0])
    assert found.best["a"] == -2.0
    assert found.best["w"].tolist() == [1.0, 1.0, 1.0]
    assert found.rows()[2]["a"] == -2.0
    assert len(found.rows()) == 6
    assert "best: a -2.0" in repr(found)


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = psylang.compile(straight())
    grid = {"a": np.linspace(0, 1, 50)}
    whole = plan.search(grid, trials=3, objective="y", reduce="max")
    monkeypatch.setattr(module, "BLOCK_TRIALS", 10)
    seen: list[tuple[int, int]] = []
    parts = plan.search(
        grid, trials=3, objective="y", reduce="max", progress=lambda *at: seen.append(at)
    )
    np.testing.assert_array_equal(whole["y"], parts["y"])
    assert whole["y"].tolist() == [a + (3 * i + 2) for i, a in enumerate(grid["a"])]
    assert seen[-1] == (150, 150)
    assert seen == sorted(seen)


def test_dependent_trials_begin_anew_at_every_point(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BLOCK_TRIALS", 10)
    plan = psylang.compile(walk())
    found = plan.search(
        {"by": [0.0, 2.0, 1.0]},
        trials=5,
        reduce=lambda rows: rows[-1],
        objective=lambda reduced: reduced["at"],
        maximize=True,
    )
    assert found["at"].tolist() == [10.0, 18.0, 14.0]
    assert found["trial"].tolist() == [4, 9, 14]
    assert found.best == {"by": 2.0}


def test_points_without_a_number_are_not_the_best() -> None:
    plan = psylang.compile(walk())

    def objective(reduced: Any) -> float:
        return float("nan") if reduced["at"] < 11 else reduced["at"]

    assert plan.search({"by": [0, 3]}, trials=3, objective=objective).best == {"by": 3.0}
    with pytest.raises(psylang.ArgumentError, match="NaN at every point"):
        plan.search({"by": [0]}, trials=3, objective=objective)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"grid": {}}, "the grid is empty; give values of some of a, w"),
        ({"grid": {"b": [1]}}, "grid: there is no `b`; there is a, w"),
        ({"grid": {"a": []}}, r"grid\['a'\] has no values"),
        ({"grid": {"a": 1.0}}, r"grid\['a'\] has shape \(\); give the values to try"),
        ({"grid": {"a": ["1"]}}, "has elements of <U1"),
        ({"grid": {"a": [np.nan]}}, r"grid\['a'\] has NaN"),
        ({"grid": {"a": [1.0]}, "params": {"a": 1.0}}, "a is in grid and in params"),
        ({"grid": {"a": [1.0]}, "objective": None}, "objective is missing; name one of y, v, s"),
        ({"grid": {"a": [1.0]}, "objective": "z"}, "objective: there is no `z`"),
        ({"grid": {"a": [1.0]}, "objective": "v"}, "must be one number: give a function"),
        ({"grid": {"a": [1.0]}, "reduce": "mode"}, "reduce is 'mode'; give one of mean, std"),
        ({"grid": {"a": [1.0]}, "trials": 0}, "trials is 0"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(arguments: dict[str, Any], message: str) -> None:
    plan = psylang.compile(straight())
    with pytest.raises(psylang.PsylangError, match=message):
        plan.search(**{"objective": "y", **arguments})
