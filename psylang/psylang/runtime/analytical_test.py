"""The DDM in closed form against quadrature of first-passage densities, and in steps against it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import psylang
from psylang.models import ddm, ddm_analytical
from psylang.runtime.plan_fixture import compiled, session_cache

__all__ = ["compiled", "session_cache"]
pytestmark = pytest.mark.usefixtures("compiled")


def density(t: NDArray[Any], v: float, width: float, w: float, c: float) -> NDArray[Any]:
    """Of the time at which a process that starts w above the lower threshold reaches it, the upper
    one being `width` above that: reflections for short times, sines for long ones."""
    u = t[:, None] * (c / width) ** 2
    x = w / width
    k = np.arange(-30, 31)
    terms = (x + 2 * k) * np.exp(-((x + 2 * k) ** 2) / (2 * u))
    short = terms.sum(axis=1) / np.sqrt(2 * math.pi * u[:, 0] ** 3)
    n = np.arange(1, 60)
    long = math.pi * (n * np.exp(-(n**2) * math.pi**2 * u / 2) * np.sin(n * math.pi * x)).sum(
        axis=1
    )
    shape = np.where(u[:, 0] < 0.3, short, long) * (c / width) ** 2
    density: NDArray[Any] = shape * np.exp(-v * w / c**2 - v * v * t / (2 * c * c))
    return density


def by_quadrature(a: float, z: float, c: float, start: float, t0: float) -> dict[str, float]:
    """Everything from the densities, by the trapezoidal rule over the logarithm of time."""
    scale = (z / c) ** 2
    t = scale * np.exp(np.linspace(math.log(1e-5), math.log(60.0), 30_001))
    found, mean = {}, 0.0
    for name, label, values in (
        ("upper", "correct", density(t, -a, 2 * z, z - start, c)),
        ("lower", "incorrect", density(t, a, 2 * z, z + start, c)),
    ):

        def integral(weight: Any, values: Any = values) -> float:
            return float(np.trapezoid(values * weight * t, np.log(t)))

        p = integral(1.0)
        first = integral(t) / p
        variance = integral((t - first) ** 2) / p
        found[f"probability_{name}"] = p
        found[f"rt_{label}_mean"] = first + t0
        found[f"rt_{label}_variance"] = variance
        found[f"rt_{label}_skew"] = integral((t - first) ** 3) / p / variance**1.5
        mean += p * first
    return {**found, "response_time": mean + t0}


@pytest.mark.parametrize("start", [0.0, 0.5, -0.6, 0.95])
@pytest.mark.parametrize("a", [0.0, 1e-6, 0.004, -0.3, 1.0, -2.5])
@pytest.mark.parametrize(("z", "c"), [(1.0, 1.0), (0.7, 0.4)])
def test_fast_is_right_from_every_start(a: float, z: float, c: float, start: float) -> None:
    names = ["drift", "threshold", "noise", "starting_point"]
    plan = psylang.compile(ddm_analytical(non_decision_time=0.2), vary=names)
    params = {"drift": a, "threshold": z, "noise": c, "starting_point": start * z}
    found = plan.run(params=params)
    for name, wanted in by_quadrature(a, z, c, start * z, 0.2).items():
        allowed = 2e-6 if name.endswith("skew") else 1e-7
        assert found[name][0] == pytest.approx(wanted, rel=allowed), name


def test_exact_keeps_psyneulinks_numbers_off_the_middle() -> None:
    model = ddm_analytical(drift=1.0, starting_point=0.5)
    fast, exact = (
        psylang.compile(model, numerics=numerics).run() for numerics in ("fast", "exact")
    )
    assert exact.probability_upper[0] == pytest.approx(0.97270, abs=1e-4)
    assert fast.probability_upper[0] == pytest.approx((1 - math.exp(-3)) / (1 - math.exp(-4)))
    middle = ddm_analytical(drift=1.0)
    fast, exact = (
        psylang.compile(middle, numerics=numerics).run() for numerics in ("fast", "exact")
    )
    for name in ("probability_upper", "response_time", "rt_correct_skew"):
        assert fast[name][0] == pytest.approx(exact[name][0], rel=1e-10)


def test_steps_approach_the_closed_form_as_their_square_root() -> None:
    """The bias is as if thresholds were farther by 0.5826 sigma sqrt(dt); corrected, it is gone."""
    start, trials = 0.2, 100_000
    truth = psylang.compile(ddm_analytical(0.8, starting_point=start)).run()
    spread = 0.6 / math.sqrt(trials)  # Of a mean time.
    for dt in (0.016, 0.004, 0.001):
        found = psylang.compile(ddm(0.8, dt=dt, starting_point=start)).run(trials=trials, seed=2)
        late = 0.5826 * math.sqrt(dt)
        wide = psylang.compile(
            ddm_analytical(0.8, threshold=1.0 + late, starting_point=start)
        ).run()
        assert found.response_time.mean() == pytest.approx(
            wide.response_time[0], abs=4 * spread + dt / 2
        )
        assert found.response_time.mean() > truth.response_time[0] + 0.3 * late
        better = psylang.compile(ddm(0.8, dt=dt, starting_point=start, corrected=True)).run(
            trials=trials, seed=2
        )
        assert better.response_time.mean() == pytest.approx(
            truth.response_time[0], abs=4 * spread + dt / 2
        )
        assert better.choice.mean() == pytest.approx(truth.probability_upper[0], abs=0.005)
        assert set(np.unique(better.decision_variable)) == {-1.0, 1.0}
