"""Mathematics and draws against the true values (mpmath, 200 bits), and known answers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray

from psylang.ir.builder import ProgramBuilder
from psylang.ir.graph import Program
from psylang.ir.interpret import interpret
from psylang.ir.types import F32, F64, I64, DType, Type
from psylang.numerics import expansions
from psylang.numerics.philox import philox, word

Floats = NDArray[np.float64]


def of_function(name: str, arity: int = 1, type: object = F64) -> Program:
    build = ProgramBuilder(name)
    of = F32 if type is F32 else F64
    operands = [build.input(f"x{index}", of) for index in range(arity)]
    build.output("y", build.op(name, *operands))
    return build.build()


def values_of(name: str, *columns: Floats, type: object = F64) -> NDArray[np.floating]:
    inputs = {f"x{index}": column for index, column in enumerate(columns)}
    program = of_function(name, len(columns), type)
    found = interpret(program, trials=len(columns[0]), inputs=inputs, expansions=expansions())
    return np.asarray(found["y"])


def true_values(name: str, *columns: NDArray[np.floating]) -> list[Any]:
    """The function's values with 200 bits, as mpmath's numbers."""
    with mpmath.workprec(200):
        of = getattr(mpmath, {"pow": "power"}.get(name, name))
        return [of(*map(mpmath.mpf, map(float, row))) for row in zip(*columns, strict=True)]


def units_off(found: NDArray[np.floating], true: Sequence[Any]) -> float:
    """The largest error, in units of the last place of the true value."""
    largest, dtype = 0.0, found.dtype
    with mpmath.workprec(200), np.errstate(all="ignore"):
        for one, value in zip(found, true, strict=True):
            near = dtype.type(float(value))
            assert np.isfinite(one) == np.isfinite(near)
            if np.isfinite(near):
                unit = float(np.spacing(np.abs(near)))
                largest = max(largest, abs(float((mpmath.mpf(float(one)) - value) / unit)))
    return largest


def sweep(low: float, high: float, count: int = 400) -> Floats:
    return np.random.default_rng(7).uniform(low, high, count)


SWEEPS = {
    "exp": np.concatenate([sweep(-745, 709.7), sweep(-1, 1), [0.0, -0.0, 1e-300, -708.4]]),
    "log": np.concatenate([10 ** sweep(-320, 308), sweep(0.5, 2), [1.0, 5e-324, 1.8e308 / 1.1]]),
    "sin": np.concatenate([sweep(-10, 10), sweep(-(2.0**28), 2.0**28), [0.0, math.pi, 1e-310]]),
    "cos": np.concatenate([sweep(-10, 10), sweep(-(2.0**28), 2.0**28), [0.0, math.pi, 1e-310]]),
    "tanh": np.concatenate([sweep(-3, 3), sweep(-30, 30), [1e-320, 0.55, -0.55]]),
}

# The numbers nearest to quarter turns, where a function is 0 but for the rounding of the angle, and
# their neighbours.
QUARTERS = np.concatenate([np.arange(-300, 300), 2.0 ** np.arange(9, 27)]) * (math.pi / 2)
AT_QUARTERS = np.concatenate([np.nextafter(QUARTERS, to) for to in (-np.inf, 0.0, np.inf)])
AT_QUARTERS = np.concatenate([QUARTERS, AT_QUARTERS, QUARTERS / 2])
NEAR_QUARTERS = np.arange(-300, 300) * (math.pi / 2)
SINGLE_SWEEPS = {
    "exp": np.concatenate([sweep(-103, 88.7), sweep(-1, 1), [0.0, -0.0, 1e-30, -87.4]]),
    "log": np.concatenate([10 ** sweep(-44, 38), sweep(0.5, 2), [1.0, 1e-45, 3.4e38]]),
    "sin": np.concatenate([sweep(-10, 10), sweep(-(2.0**20), 2.0**20), NEAR_QUARTERS]),
    "cos": np.concatenate([sweep(-10, 10), sweep(-(2.0**20), 2.0**20), NEAR_QUARTERS]),
    "tanh": np.concatenate([sweep(-3, 3), sweep(-30, 30), [1e-40, 0.55, -0.55]]),
}


@pytest.mark.parametrize("name", SWEEPS)
def test_functions_are_right_to_the_last_place_but_one(name: str) -> None:
    points = SWEEPS[name]
    assert units_off(values_of(name, points), true_values(name, points)) < 1.5


@pytest.mark.parametrize("name", SWEEPS)
def test_functions_of_single_precision_are_right_to_the_last_place_but_one(name: str) -> None:
    points = SINGLE_SWEEPS[name].astype(np.float32)
    found = values_of(name, points.astype(np.float64), type=F32)
    assert found.dtype == np.float32
    assert units_off(found, true_values(name, points)) < 1.5


@pytest.mark.parametrize("type", [F64, F32], ids=str)
@pytest.mark.parametrize("name", ["sin", "cos"])
def test_sine_and_cosine_are_right_at_quarter_turns(name: str, type: Type) -> None:
    """There the angle less the quarters cancels: the result is as small as the angle's rounding."""
    points = AT_QUARTERS[np.abs(AT_QUARTERS) < (2.0**28 if type is F64 else 2.0**20)]
    points = points.astype(type.dtype.numpy)
    found, true = values_of(name, points.astype(np.float64), type=type), true_values(name, points)
    assert min(abs(float(one)) for one in true if one) < (1e-10 if type is F64 else 1e-5)
    assert units_off(found, true) < 1.5


def within(found: NDArray[np.floating], true: Sequence[Any], most: Floats) -> bool:
    """Whether each relative error is below its bound."""
    with mpmath.workprec(200):
        return all(
            abs((mpmath.mpf(float(one)) - value) / value) < bound
            for one, value, bound in zip(found, true, most, strict=True)
        )


def test_pow_keeps_its_promise() -> None:
    base, exponent = 10 ** sweep(-5, 5), sweep(-20, 20)
    found, true = values_of("pow", base, exponent), true_values("pow", base, exponent)
    assert within(found, true, 3e-16 * (2 + np.abs(exponent * np.log(base))))


def test_pow_of_single_precision_keeps_its_promise() -> None:
    base, exponent = ((10 ** sweep(-5, 5)).astype(np.float32), sweep(-6, 6).astype(np.float32))
    fits = np.abs(exponent * np.log10(base)) < 37
    base, exponent = base[fits], exponent[fits]
    true = true_values("pow", base, exponent)
    found = values_of("pow", base.astype(np.float64), exponent.astype(np.float64), type=F32)
    assert within(found, true, 1.5e-7 * (2 + np.abs(exponent * np.log(base))))


@pytest.mark.parametrize("type", [F64, F32], ids=str)
def test_whole_powers_of_negative_numbers_have_their_sign(type: Type) -> None:
    base = np.repeat([-0.5, -1.0, -2.0, -3.5, -0.0, 0.0], 10)
    exponent = np.tile([-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 4.0, 7.0, 10.0], 6)
    with np.errstate(all="ignore"):
        true = np.power(base, exponent)
    found = values_of("pow", base, exponent, type=type)
    np.testing.assert_allclose(found, true, rtol=1e-14 if type is F64 else 1e-5)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(true))
    assert np.isnan(
        values_of("pow", np.array([-2.0, -0.5]), np.array([0.5, -1.5]), type=type)
    ).all()


SPECIAL = np.array([0.0, -0.0, math.inf, -math.inf, math.nan, 710.0, -746.0, -1.0, 1e300])


@pytest.mark.parametrize("type", [F64, F32], ids=str)
@pytest.mark.parametrize("name", ["exp", "log", "tanh"])
def test_nan_and_infinity_are_as_in_libm(name: str, type: Type) -> None:
    with np.errstate(all="ignore"):
        true = getattr(np, name)(SPECIAL.astype(type.dtype.numpy))
    found = values_of(name, SPECIAL, type=type)
    special = ~np.isfinite(true) | (true == 0)
    np.testing.assert_array_equal(found[special], true[special])
    np.testing.assert_array_equal(np.signbit(found[true == 0]), np.signbit(true[true == 0]))


def test_angles_beyond_the_reduction_are_refused_not_guessed() -> None:
    beyond = np.array([2.0**28 * 1.01, -1e300, math.inf, math.nan])
    for name in ("sin", "cos"):
        assert np.isnan(values_of(name, beyond)).all()
        assert np.isnan(values_of(name, np.append(beyond, 2.0**20 * 1.01), type=F32)).all()
    assert np.signbit(values_of("sin", np.array([-0.0])))[0]


# Random123's known answers of philox4x32-10 (kat_vectors): counter, key, words.
ONES = 0xFFFFFFFF
KNOWN = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((ONES,) * 4, (ONES,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]


@pytest.mark.parametrize(("counter", "key", "words"), KNOWN)
def test_philox_gives_the_known_answers(
    counter: tuple[int, ...], key: tuple[int, int], words: tuple[int, ...]
) -> None:
    build = ProgramBuilder("philox")
    c0, c1, c2, c3 = (build.constant(one, I64) for one in counter)
    k0, k1 = (build.constant(one, I64) for one in key)
    for index, value in enumerate(philox(build, (c0, c1, c2, c3), (k0, k1))):
        build.output(f"w{index}", word(build, value))
    found = interpret(build.build())
    assert tuple(int(found[f"w{index}"][0]) for index in range(4)) == words


def drawn(
    kind: str, trials: int, seed: int = 3, stream: int = 0, steps: int = 8, single: bool = False
) -> Floats:
    """Shape (trials, steps); f64 for every element type of the draws."""
    build = ProgramBuilder("draws")
    streams = [build.stream(name) for name in ("first", "second")]
    for step in range(steps):
        z = getattr(build, kind)(streams[stream], step=step)
        if single:
            made = build.take()[-1]
            z = build.op(made.name, *made.operands, stream=streams[stream], to="f32")
        build.output(f"z{step}", build.convert(z, DType.F64))
    found = interpret(build.build(), trials=trials, seed=seed, expansions=expansions())
    return np.stack([found[f"z{step}"] for step in range(steps)], axis=1)


def test_normal_numbers_are_normal() -> None:
    z = drawn("normal", 250)
    count = z.size
    assert abs(z.mean()) < 4 / math.sqrt(count)
    assert abs(z.var() - 1) < 4 * math.sqrt(2 / count)
    # Kolmogorov and Smirnov's distance; 1.95 / sqrt(n) is passed by one sample in a thousand.
    ordered = np.sort(z.ravel())
    cdf = np.array([0.5 * math.erfc(-value / math.sqrt(2)) for value in ordered])
    steps = np.arange(1, count + 1) / count
    assert max(np.abs(steps - cdf).max(), np.abs(steps - 1 / count - cdf).max()) < 1.95 / count**0.5
    correlation = np.corrcoef(z.T) - np.eye(z.shape[1])
    assert np.abs(correlation).max() < 5 / math.sqrt(z.shape[0])


def test_uniform_numbers_are_uniform() -> None:
    u = drawn("uniform", 250)
    assert (u >= 0).all()
    assert (u < 1).all()
    ordered = np.sort(u.ravel())
    steps = np.arange(1, u.size + 1) / u.size
    assert np.abs(steps - ordered).max() < 2.1 / math.sqrt(u.size)


def test_draws_of_single_precision_are_the_same_numbers() -> None:
    double, single = (drawn("uniform", 100, single=one) for one in (False, True))
    np.testing.assert_array_equal(single, np.floor(double * 2**24) / 2**24)
    double, single = (drawn("normal", 250, single=one) for one in (False, True))
    assert not np.array_equal(double, single)
    np.testing.assert_array_equal(single, single.astype(np.float32))
    # Steps 0 and 1, 2 and 3, … are the two numbers of a radius.
    radius = np.hypot(double[:, 0::2], double[:, 1::2]).repeat(2, axis=1)
    off = np.abs(double - single)
    assert off[radius > 0.1].max() < 1e-6
    assert off.max() < 4e-4


def test_each_seed_trial_and_stream_has_its_own_numbers() -> None:
    sets = [drawn("normal", 5), drawn("normal", 5, seed=4), drawn("normal", 5, stream=1)]
    sets += [drawn("normal", 5, seed=3 + (1 << 32)), drawn("uniform", 5)]
    every = np.concatenate([one.ravel() for one in sets])
    assert len(np.unique(every)) == every.size
    np.testing.assert_array_equal(drawn("normal", 5), sets[0])
