"""Derivatives of the drift-diffusion model against ones that share no code with them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from mpmath import mp, mpf

from psylang.likelihood.ddm import PARAMETERS, log_densities
from psylang.likelihood.ddm_gradient import log_densities_and_slopes
from psylang.likelihood.first_passage import (
    image_terms,
    log_first_passage,
    passage_slopes,
    sine_terms,
)


def log_images(u: Any, w: Any) -> Any:
    """The logarithm of the sum of 81 images, in the digits of mp."""
    total = sum((w + 2 * k) * mp.exp(-((w + 2 * k) ** 2) / (2 * u)) for k in range(-40, 41))
    return mp.log(total) - mp.log(2 * mp.pi) / 2 - mpf("1.5") * mp.log(u)


@pytest.mark.parametrize("w", [0.01, 0.3, 0.5, 0.77, 0.99])
def test_slopes_of_the_series_are_right_at_all_times(w: float) -> None:
    times = np.exp(np.linspace(np.log(1e-3), np.log(20.0), 24))
    starts = np.full(24, w)
    early = image_terms(times, starts) <= sine_terms(times, starts)
    assert early.any()
    assert not early.all()
    logs, by_u, by_w = passage_slopes(times, starts)
    assert logs == pytest.approx(log_first_passage(times, starts), abs=1e-12, rel=1e-12)
    with mp.workdps(60):
        slow_u = [float(mp.diff(lambda u: log_images(u, mpf(w)), mpf(u))) for u in times]
        slow_w = [float(mp.diff(lambda x, u=u: log_images(mpf(u), x), mpf(w))) for u in times]
    assert by_u == pytest.approx(slow_u, rel=1e-9, abs=1e-9)
    assert by_w == pytest.approx(slow_w, rel=1e-9, abs=1e-9)


def points(count: int, spread: tuple[str, ...]) -> tuple[Any, Any, dict[str, Any]]:
    """Random trials, and parameters a trial each; of sv, sz and st those in `spread`."""
    rng = np.random.default_rng(7)
    p = {
        "v": rng.normal(0, 2, count),
        "a": rng.uniform(0.5, 3, count),
        "z": rng.uniform(0.25, 0.75, count),
        "t": rng.uniform(0.1, 0.4, count),
        "sv": rng.uniform(0.1, 1.5, count),
        "sz": rng.uniform(0.05, 0.4, count),
        "st": rng.uniform(0.05, 0.2, count),
    }
    for name in ("sv", "sz", "st"):
        if name not in spread:
            p[name] = np.zeros(count)
    rt = p["t"] + p["st"] / 2 + np.exp(rng.uniform(np.log(0.03), np.log(4), count))
    return rt, rng.random(count) < 0.5, p


def by_differences(rt: Any, upper: Any, p: dict[str, Any], name: str, step: float = 1e-4) -> Any:
    def at(k: int) -> Any:
        return log_densities(rt, upper, {**p, name: p[name] + k * step}, 1e-12)

    return (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * step)


@pytest.mark.parametrize("spread", [(), ("sv",), ("sv", "sz"), ("st",), ("sv", "sz", "st")])
def test_the_gradient_is_right_to_1e_6(spread: tuple[str, ...]) -> None:
    rt, upper, p = points(40 if "st" in spread and "sz" in spread else 200, spread)
    logs, slopes = log_densities_and_slopes(rt, upper, p)
    assert logs == pytest.approx(log_densities(rt, upper, p), abs=1e-8)
    for name, found in zip(PARAMETERS, slopes, strict=True):
        if name in spread or name in "vazt":
            wanted = by_differences(rt, upper, p, name)
            assert np.abs(found - wanted).max() < 1e-6 * max(1.0, np.abs(wanted).max()), name
        else:
            assert (found == 0).all(), name  # An even function of a width that is 0.


def test_a_range_of_times_that_is_cut_has_a_gradient() -> None:
    count = 30
    rt, upper, p = points(count, ("st",))
    rt = p["t"] + np.linspace(-0.4, 0.4, count) * p["st"]  # Within st/2 of t.
    logs, slopes = log_densities_and_slopes(rt, upper, p)
    seen = logs > -60  # The density has no digits where the cut range is short.
    assert seen.sum() > 10
    for name in ("v", "a", "z", "t", "st"):
        wanted = by_differences(rt, upper, p, name, 1e-5)[seen]
        found = slopes[PARAMETERS.index(name)][seen]
        assert (np.abs(found - wanted) < 1e-5 * np.maximum(1, np.abs(wanted))).all(), name


def test_where_the_density_is_0_the_gradient_is_0_and_never_nan() -> None:
    rt = np.array([0.1, 0.3, 0.3 + 1e-12, 0.3 + 1e-160, 1e6])
    p = {
        name: np.full(5, one)
        for name, one in zip(PARAMETERS, (1, 1, 0.5, 0.3, 0, 0, 0), strict=True)
    }
    logs, slopes = log_densities_and_slopes(rt, np.ones(5, bool), p)
    assert (logs[:2] == -np.inf).all()
    assert (slopes[:, :2] == 0).all()
    assert np.isfinite(slopes).all()
    assert not np.isnan(logs).any()
