"""The search by slopes finds maxima that are known, in few evaluations."""

from __future__ import annotations

import math

import numpy as np
import pytest

from psylang.likelihood.maximum import Range, maximise

WIDE = Range(0.0, 1.0, -100.0, 100.0)
Sloped = tuple[float, dict[str, float]]


def test_a_maximum_and_its_errors_are_found_in_few_evaluations() -> None:
    covariance = np.array([[4.0, 1.5, 0.0], [1.5, 1.0, 0.2], [0.0, 0.2, 0.25]])
    inverse = np.linalg.inv(covariance)
    middle = np.array([3.0, -2.0, 10.0])

    def slopes(p: dict[str, float]) -> Sloped:
        away = np.array(list(p.values())) - middle
        by = dict(zip(p, (-inverse @ away).tolist(), strict=True))
        return 7.0 - 0.5 * float(away @ inverse @ away), by

    ranges = {"x": WIDE, "y": WIDE, "z": WIDE}
    found = maximise(lambda p: slopes(p)[0], ranges, slopes=slopes)
    assert list(found.values.values()) == pytest.approx(middle, abs=1e-3)
    assert list(found.errors.values()) == pytest.approx([2.0, 1.0, 0.5], rel=1e-4)
    assert found.converged
    assert found.evaluations < 80
    assert maximise(lambda p: slopes(p)[0], ranges).evaluations > 2 * found.evaluations


def bumps(p: dict[str, float]) -> Sloped:
    """Even in w: a valley of slope 0 at w = 0, and the maximum at w = 2."""
    w = p["w"]
    return -((w * w - 4) ** 2), {"w": -4 * w * (w * w - 4)}


@pytest.mark.parametrize("start", [0.0, 0.5, 5.0])
def test_a_width_that_stands_at_0_without_a_reason_leaves_it(start: float) -> None:
    ranges = {"w": Range(start, 1.0, 0.0, 9.0)}
    found = maximise(lambda p: bumps(p)[0], ranges, slopes=bumps)
    assert found.values["w"] == pytest.approx(2.0, abs=1e-4)
    assert found.converged


def test_a_width_whose_best_value_is_0_is_at_its_limit() -> None:
    def slopes(p: dict[str, float]) -> Sloped:
        return -(p["w"] ** 2), {"w": -2 * p["w"]}

    found = maximise(lambda p: slopes(p)[0], {"w": Range(1.0, 1.0, 0.0, 9.0)}, slopes=slopes)
    assert found.values["w"] == 0.0
    assert found.notes == ("w is at its limit 0: it has no standard error",)


def test_the_search_stays_within_the_limits_and_beside_impossible_points() -> None:
    seen = []

    def slopes(p: dict[str, float]) -> Sloped:
        seen.append(p["x"])
        if p["y"] <= 0:
            return -math.inf, {"x": math.nan, "y": math.nan}
        away = math.log(p["y"]) - 1
        return -p["x"] - away**2, {"x": -1.0, "y": -2 * away / p["y"]}

    ranges = {"x": Range(1.0, 0.5, 0.25, 2.0), "y": Range(0.01, 1.0, -5.0, 9.0)}
    found = maximise(lambda p: slopes(p)[0], ranges, slopes=slopes)
    assert min(seen) == 0.25
    assert found.values["x"] == 0.25
    assert found.values["y"] == pytest.approx(math.e, abs=1e-3)
    assert found.errors["y"] == pytest.approx(math.e / math.sqrt(2), rel=1e-2)


def test_a_search_that_stops_at_a_ridge_goes_on_as_a_simplex() -> None:
    def slopes(p: dict[str, float]) -> Sloped:
        x, y = p["x"], p["y"]
        ridge = 50 * abs(x - y)
        side = 50 * math.copysign(1.0, x - y)
        return -ridge - (x + y - 2) ** 2, {
            "x": -side - 2 * (x + y - 2),
            "y": side - 2 * (x + y - 2),
        }

    ranges = {"x": Range(-3.0, 1.0, -9, 9), "y": Range(0.5, 1.0, -9, 9)}
    found = maximise(lambda p: slopes(p)[0], ranges, slopes=slopes)
    assert found.converged
    assert list(found.values.values()) == pytest.approx([1.0, 1.0], abs=1e-2)
