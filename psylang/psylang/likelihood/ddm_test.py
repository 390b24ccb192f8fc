"""Densities of the drift-diffusion model against slow references that share no code with them."""

from __future__ import annotations

import functools
import itertools
import math
from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad

from psylang.likelihood import LikelihoodError, ddm_density, ddm_log_density
from psylang.likelihood.first_passage import image_terms, log_first_passage, sine_terms


@functools.cache
def images(u: float, w: float) -> float:
    """log f(u | w), the sum of 2 * 60 + 1 images in 80 digits."""
    with localcontext() as context:
        context.prec = 80
        time, start = Decimal(u), Decimal(w)
        total = sum(
            (start + 2 * k) * (-((start + 2 * k) ** 2) / (2 * time)).exp() for k in range(-60, 61)
        )
        return float(Decimal(total).ln()) - 0.5 * math.log(2 * math.pi) - 1.5 * math.log(u)


def reference(rt: float, choice: int, v: float, a: float, z: float, t: float) -> float:
    """The density, from the images alone."""
    if choice == 1:
        v, z = -v, 1 - z
    tau = rt - t
    if tau <= 0:
        return 0.0
    return math.exp(images(tau / a**2, z) - v * a * z - v * v * tau / 2 - 2 * math.log(a))


@pytest.mark.parametrize("w", [1e-6, 0.01, 0.3, 0.5, 0.77, 0.99, 1 - 1e-6])
def test_the_series_are_right_at_all_times(w: float) -> None:
    times = np.exp(np.linspace(math.log(1e-3), math.log(30.0), 60))
    found = log_first_passage(times, np.full(60, w))
    assert found == pytest.approx([images(u, w) for u in times], abs=1e-9, rel=1e-12)


def test_both_series_are_used_and_few_terms_are_enough() -> None:
    times, starts = (
        one.ravel()
        for one in np.meshgrid(np.exp(np.linspace(-12, 8, 400)), np.linspace(0.02, 0.98, 25))
    )
    early, late = image_terms(times, starts), sine_terms(times, starts)
    assert np.minimum(early, late).max() <= 8
    assert (early <= late).any()
    assert (early > late).any()
    assert sine_terms(times[:1], starts[:1]) > 1000  # The wrong one would be slow.


CASES = [
    (rt, choice, v, a, z, 0.2)
    for rt, choice, v, a, z in itertools.product(
        (0.2001, 0.25, 0.5, 1.3, 4.0), (0, 1), (-3.0, 0.0, 1.1), (0.6, 1.7), (0.1, 0.5, 0.8)
    )
]


def test_the_density_is_right_to_1e_8_of_itself() -> None:
    columns: Any = np.array(CASES).T
    found = ddm_density(columns[0], columns[1], **dict(zip("vazt", columns[2:], strict=True)))
    expected = np.array([reference(*one) for one in CASES])
    seen = expected > 1e-290
    assert seen.sum() > 150
    assert found[seen] == pytest.approx(expected[seen], rel=1e-8)
    assert (found[~seen] < 1e-280).all()


def test_the_drift_varies_as_a_normal_number_does() -> None:
    for rt, choice, sv in itertools.product((0.3, 0.6, 2.0), (0, 1), (0.3, 1.4)):
        expected, _ = quad(
            lambda x, rt=rt, choice=choice, sv=sv: (
                reference(rt, choice, 0.8 + sv * x, 1.2, 0.4, 0.2)
                * math.exp(-x * x / 2)
                / math.sqrt(2 * math.pi)
            ),
            -9,
            9,
            epsabs=1e-13,
            epsrel=1e-11,
        )
        found = ddm_density(rt, choice, v=0.8, a=1.2, z=0.4, t=0.2, sv=sv)
        assert float(found) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize(
    ("sz", "st", "times"),
    [
        (0.3, 0.0, (0.21, 0.3, 0.7, 2.5)),
        (0.78, 0.0, (0.201, 0.3, 0.7, 2.5)),
        (0.0, 0.1, (0.12, 0.16, 0.3, 0.7, 2.5)),
        (0.0, 0.4, (0.12, 0.3, 0.37, 0.41, 0.7, 2.5)),
        (0.5, 0.3, (0.07, 0.3, 0.7)),
    ],
)
def test_the_start_and_the_non_decision_time_vary_evenly(
    sz: float, st: float, times: tuple[float, ...]
) -> None:
    found = ddm_density(times, 0, v=0.8, a=1.2, z=0.4, t=0.2, sv=0.5, sz=sz, st=st)
    assert found == pytest.approx([averaged(sz, st, rt) for rt in times], rel=1e-8, abs=1e-300)


def averaged(sz: float, st: float, rt: float) -> float:
    """By adaptive quadrature over the non-decision time, of dense sums over the start."""
    x, weight = np.polynomial.legendre.leggauss(300)

    def over_start(t: float) -> float:
        if not sz:
            return float(ddm_density(rt, 0, v=0.8, a=1.2, z=0.4, t=t, sv=0.5))
        found = ddm_density(rt, 0, v=0.8, a=1.2, z=0.4 + x * sz / 2, t=t, sv=0.5)
        return float((found * weight).sum()) / 2

    if not st:
        return over_start(0.2)
    begin, end = 0.2 - st / 2, min(0.2 + st / 2, rt)
    if begin >= end:
        return 0.0
    return float(quad(over_start, begin, end, epsabs=0, epsrel=1e-10, limit=400)[0]) / st


def test_the_densities_of_both_choices_integrate_to_one() -> None:
    full: Any = {"v": 0.7, "a": 1.3, "z": 0.6, "t": 0.3, "sv": 0.6, "sz": 0.4, "st": 0.2}
    x, weight = np.polynomial.legendre.leggauss(100)
    total = 0.0
    for begin, end in ((0.2, 0.5), (0.5, 2.0), (2.0, 8.0), (8.0, 40.0)):
        rt = begin + (x + 1) * (end - begin) / 2
        for choice in (0, 1):
            total += float((ddm_density(rt, choice, **full) * weight).sum()) * (end - begin) / 2
    assert total == pytest.approx(1.0, abs=1e-8)


def test_the_choice_has_the_probability_of_the_closed_form() -> None:
    v, a, z = 0.7, 1.3, 0.6
    upper, _ = quad(lambda rt: float(ddm_density(rt, 1, v=v, a=a, z=z)), 0, np.inf, epsabs=1e-11)
    expected = (1 - math.exp(-2 * v * a * z)) / (1 - math.exp(-2 * v * a))
    assert upper == pytest.approx(expected, abs=1e-9)


def test_logarithms_are_finite_where_densities_underflow() -> None:
    assert ddm_density(0.301, 0, v=1.0, a=3.0, t=0.3) == 0.0
    found = ddm_log_density([0.301, 900.0], 0, v=1.0, a=3.0, t=0.3)
    tau = 0.301 - 0.3
    expected = -2.25 / (2 * tau) + math.log(1.5) - 0.5 * math.log(2 * math.pi) - 1.5 * math.log(tau)
    assert found[0] == pytest.approx(expected - 1.5 - tau / 2, rel=1e-12)
    assert np.isfinite(found).all()


def test_no_decision_is_made_within_the_non_decision_time() -> None:
    assert ddm_log_density([0.0, 0.2, 0.3], 1, v=1, a=1, t=0.3).tolist() == [-math.inf] * 3
    assert ddm_log_density(0.375, 1, v=1, a=1, t=0.5, st=0.25) == -math.inf
    assert math.isfinite(float(ddm_log_density(0.38, 1, v=1, a=1, t=0.5, st=0.25)))


def test_rows_and_parameters_are_broadcast() -> None:
    found = ddm_log_density([0.5, 0.9], [0, 1], v=[[0.1], [0.2], [0.3]], a=[1.0, 2.0], st=0.0)
    assert found.shape == (3, 2)
    assert found[2, 1] == ddm_log_density(0.9, 1, v=0.3, a=2.0)
    mixed = ddm_log_density(0.9, 1, v=0.3, a=1.0, t=0.2, sz=[0.0, 0.2, 0.0], st=[0.0, 0.0, 0.1])
    alone = [
        float(ddm_log_density(0.9, 1, v=0.3, a=1.0, t=0.2, sz=sz, st=st))
        for sz, st in ((0.0, 0.0), (0.2, 0.0), (0.0, 0.1))
    ]
    assert mixed == pytest.approx(alone, rel=1e-12)
    assert ddm_log_density([], [], v=1, a=1).shape == (0,)


GOOD: dict[str, Any] = {"rt": [0.5, 0.7], "choice": [0, 1], "v": 1.0, "a": 1.0}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rt": [0.5, math.nan]}, "rt is nan in row 1; leave out trials without a response"),
        ({"rt": [0.5, math.inf]}, "rt is inf in row 1; leave out"),
        ({"rt": [-0.5, 0.7]}, "rt is -0.5 in row 0; a response time is 0 or more"),
        ({"rt": ["a", "b"]}, "rt has elements of <U1; give numbers"),
        ({"rt": [[0.5], [0.5, 0.7]]}, "rt is no array"),
        ({"choice": [0, 2]}, "choice is 2 in row 1; a choice is 0 or 1"),
        ({"choice": [0, math.nan]}, "choice is nan in row 1; leave out"),
        ({"v": math.inf}, "v is inf; it must be finite"),
        ({"a": 0.0}, "a is 0; it must be above 0 and finite"),
        ({"a": math.nan}, "a is nan; it must be above 0 and finite"),
        ({"z": 1.0}, "z is 1; it must be above 0 and below 1, a share of a"),
        ({"t": -0.1}, "t is -0.1; it must be 0 or more and finite"),
        ({"sv": [0.0, -1.0]}, "sv is -1; it must be 0 or more and finite"),
        ({"sz": 1.0}, "sz is 1; it must be 0 or more and below 1"),
        ({"sz": 0.5, "z": 0.2}, "sz is 0.5; it must keep z - sz/2 above 0 and z [+] sz/2 below 1"),
        ({"st": 0.5, "t": 0.2}, "st is 0.5; it must keep t - st/2 at 0 or above"),
        ({"sz": [0.1] * 3, "z": [0.5] * 2}, r"cannot be broadcast: z \(2,\), sz \(3,\)"),
        ({"a": [1.0] * 3}, r"cannot be broadcast: rt \(2,\), choice \(2,\), a \(3,\)"),
    ],
)
def test_what_has_no_likelihood_is_refused(change: dict[str, Any], message: str) -> None:
    given = {**GOOD, **change}
    with pytest.raises(LikelihoodError, match=message):
        ddm_log_density(given.pop("rt"), given.pop("choice"), **given)
