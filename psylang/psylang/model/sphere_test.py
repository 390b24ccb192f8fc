"""Drift on a sphere, against NumPy's vectors and rotations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from psylang.ir.interpret import interpret
from psylang.model import Model, ModelError, SphereDrift

Vector = NDArray[np.float64]


def drifting(**fields: Any) -> Model:
    model = Model("sphere")
    model.add(SphereDrift("point", reset="never", **fields))
    model.input("x", "point")
    model.output("value", "point")
    return model


def run(model: Model, x: Any) -> Vector:
    found: Vector = interpret(model.program("exact"), inputs={"x": x}, trials=len(x))["value"]
    return found


def test_a_step_towards_a_target_is_a_part_of_the_angle() -> None:
    """Half of the way in each step, along one great circle."""
    target = np.array([0.0, 0.6, 0.8])
    found = run(drifting(toward=True, rate=0.5), [3.0 * target] * 20)
    angles = np.arccos(np.clip(found @ target, -1.0, 1.0))
    np.testing.assert_allclose(angles[:10], np.pi / 2 * 0.5 ** np.arange(1, 11), atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1.0, rtol=1e-15)
    across = np.cross([1.0, 0.0, 0.0], target)
    np.testing.assert_allclose(found @ across, 0.0, atol=1e-15)


def test_no_target_none_apart_and_the_opposite_one() -> None:
    model = drifting(toward=True)
    for target in ([0.0, 0.0, 0.0], [2.0, 0.0, 0.0]):
        np.testing.assert_array_equal(run(model, [target]), [[1.0, 0.0, 0.0]])
    opposite = run(model, [[-1.0, 0.0, 0.0]])
    np.testing.assert_allclose(opposite, [[-1.0, 0.0, 0.0]], atol=1e-15)


@pytest.mark.parametrize("dimension", [2, 3, 5])
def test_a_drift_in_the_tangent_space_and_noise(dimension: int) -> None:
    """By an independent program: the basis by NumPy's outer product, the step by the map."""
    rng = np.random.default_rng(1)
    begin = np.abs(rng.normal(size=dimension))
    begin /= np.linalg.norm(begin)
    noise = np.linspace(0.1, 0.5, dimension - 1)
    x = rng.normal(size=(30, dimension - 1))
    fields = {"rate": 0.7, "noise": noise, "dt": 0.2, "begin": begin, "seed": 6}
    found = run(drifting(dimension=dimension, **fields), x)
    draws, point = np.random.RandomState([6]), begin
    for row, drift in zip(found, x, strict=True):
        apart = point - np.eye(dimension)[0]
        apart /= np.linalg.norm(apart)
        basis = (np.eye(dimension) - 2.0 * np.outer(apart, apart))[:, 1:]
        z = draws.normal(size=dimension - 1)
        way = 0.2 * (0.7 * (basis @ drift) + np.sqrt(0.2) * (basis @ (noise * z)))
        angle = np.linalg.norm(way)
        point = np.cos(angle) * point + np.sin(angle) * way / angle
        np.testing.assert_allclose(row, point, atol=1e-13)


def test_a_point_that_stays() -> None:
    found = run(drifting(), [[0.0, 0.0]] * 3)
    np.testing.assert_array_equal(found, [[1.0, 0.0, 0.0]] * 3)


def test_dimensions_that_do_not_fit() -> None:
    with pytest.raises(ModelError, match="`point` has 1 dimensions; it needs 2 or more"):
        drifting(dimension=1)
    with pytest.raises(ModelError, match=r"`begin` of `point` has shape \(3,\); it needs \(4,\)"):
        drifting(dimension=4).program("exact")
    with pytest.raises(ModelError, match=r"point\.dt"):
        drifting(dt=0.0)
