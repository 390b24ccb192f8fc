"""The maximum and the errors of functions of which both are known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from psylang.likelihood import maximum
from psylang.likelihood.maximum import Range, maximise

WIDE = Range(0.0, 1.0, -100.0, 100.0)


def test_errors_are_those_of_the_inverse_hessian() -> None:
    covariance = np.array([[4.0, 1.5, 0.0], [1.5, 1.0, 0.2], [0.0, 0.2, 0.25]])
    inverse = np.linalg.inv(covariance)
    middle = np.array([3.0, -2.0, 10.0])

    def height(p: dict[str, float]) -> float:
        away = np.array(list(p.values())) - middle
        return 7.0 - 0.5 * float(away @ inverse @ away)

    found = maximise(height, {"x": WIDE, "y": WIDE, "z": WIDE})
    assert list(found.values.values()) == pytest.approx(middle, abs=1e-3)
    assert list(found.errors.values()) == pytest.approx([2.0, 1.0, 0.5], rel=1e-4)
    assert found.height == pytest.approx(7.0, abs=1e-6)
    assert found.converged
    assert not found.notes


def test_the_search_stays_within_the_limits_and_beside_impossible_points() -> None:
    seen = []

    def height(p: dict[str, float]) -> float:
        seen.append(p["x"])
        return -math.inf if p["y"] <= 0 else -p["x"] - (math.log(p["y"]) - 1) ** 2

    found = maximise(height, {"x": Range(1.0, 0.5, 0.25, 2.0), "y": Range(0.5, 1.0, -5.0, 9.0)})
    assert min(seen) == 0.25
    assert found.values["y"] == pytest.approx(math.e, abs=1e-3)
    assert found.notes == ("x is at its limit 0.25: it has no standard error",)
    assert found.errors["y"] == pytest.approx(math.e / math.sqrt(2), rel=1e-2)


def test_a_flat_likelihood_has_no_errors() -> None:
    found = maximise(lambda p: -(p["x"] ** 2), {"x": WIDE, "y": WIDE})
    assert all(math.isnan(one) for one in found.errors.values())
    assert "flat or has no maximum here" in found.notes[0]


def test_a_search_that_is_cut_off_has_not_converged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maximum, "EVALUATIONS_MAX", 4)
    found = maximise(lambda p: -((p["x"] - 50) ** 2), {"x": WIDE})
    assert not found.converged
    assert 0 < found.values["x"] < 50
