"""Prints coefficients.py: Chebyshev interpolants for elementary.py, by mpmath.

    python make_coefficients.py > coefficients.py     (needs mpmath; nothing else here does)

An interpolant at Chebyshev's nodes is within a factor of three or so of the best polynomial of its
degree (Trefethen, Approximation Theory and Practice, chapter 16); one more coefficient repays it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import mpmath as mp

mp.mp.dps = 60
Rounding = Callable[[Any], float]


def interpolant(
    function: Callable[[Any], Any], low: Any, high: Any, degree: int, rounded: Rounding = float
) -> list[float]:
    """Coefficients, of the highest power first, of the polynomial of `degree` over [low, high]."""
    nodes = [
        (low + high) / 2 + (high - low) / 2 * mp.cos(mp.pi * (2 * k + 1) / (2 * degree + 2))
        for k in range(degree + 1)
    ]
    powers = mp.matrix([[node**power for power in range(degree + 1)] for node in nodes])
    values = mp.matrix([function(node) for node in nodes])
    return [rounded(one) for one in reversed(list(mp.lu_solve(powers, values)))]


def single(number: Any) -> float:
    """The nearest f32."""
    packed: tuple[float] = struct.unpack("f", struct.pack("f", float(number)))
    return packed[0]


def off_zero(function: Callable[[Any], Any], limit: Any) -> Callable[[Any], Any]:
    """The function with its limit at 0, near which its formula loses all digits."""
    return lambda x: limit if abs(x) < mp.mpf(10) ** -25 else function(x)


def _log(z: Any) -> Any:
    s = mp.sqrt(z)
    return (mp.log((1 + s) / (1 - s)) / s - 2) / z


def _sin(z: Any) -> Any:
    x = mp.sqrt(z)
    return (mp.sin(x) / x - 1) / z


def _cos(z: Any) -> Any:
    return (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2


def _tanh(z: Any) -> Any:
    x = mp.sqrt(z)
    return (mp.tanh(x) / x - 1) / z


def _exp(r: Any) -> Any:
    return (mp.exp(r) - 1 - r) / r**2


def _radius(f: Any) -> Any:
    return -2 * mp.log(1 + f) / f


def single_tables() -> dict[str, list[float]]:
    """Of f32. An angle of draws is t * pi/4, |t| < 1."""
    ratio = (3 - 2 * mp.sqrt(2)) ** 2 * mp.mpf("1.001")
    eighth = (mp.pi / 4) ** 2 * mp.mpf("1.001")
    half = mp.log(2) / 2 * mp.mpf("1.001")
    return {
        "LOG_SINGLE": interpolant(_log, mp.mpf(0), ratio, 2, single),
        "SIN_SINGLE": interpolant(_sin, mp.mpf(0), eighth, 2, single),
        "COS_SINGLE": interpolant(_cos, mp.mpf(0), eighth, 2, single),
        "EXP_SINGLE": interpolant(off_zero(_exp, mp.mpf("0.5")), -half, half, 5, single),
        "TANH_SINGLE": interpolant(_tanh, mp.mpf(0), mp.mpf("0.55") ** 2, 4, single),
        "RADIUS_SINGLE": interpolant(
            off_zero(_radius, mp.mpf(-2)), mp.sqrt(0.5) - 1, mp.sqrt(2) - 1, 8, single
        ),
    }


def main() -> None:
    tables = {
        "LOG": interpolant(_log, mp.mpf(0), (3 - 2 * mp.sqrt(2)) ** 2 * mp.mpf("1.001"), 6),
        "SIN": interpolant(_sin, mp.mpf(0), (mp.pi / 4) ** 2 * mp.mpf("1.001"), 5),
        "COS": interpolant(_cos, mp.mpf(0), (mp.pi / 4) ** 2 * mp.mpf("1.001"), 5),
        "EXP": interpolant(
            off_zero(_exp, mp.mpf("0.5")),
            -mp.log(2) / 2 * mp.mpf("1.001"),
            mp.log(2) / 2 * mp.mpf("1.001"),
            10,
        ),
        "TANH": interpolant(_tanh, mp.mpf(0), mp.mpf("0.55") ** 2, 10),
    }
    # Of draws.py, whose numbers have 32 bits: -2 log((1 + s) / (1 - s)) / s + 4 over z = s**2, and
    # sin and cos of t * pi/2 / 2**31 for whole t, with that factor in the coefficients.
    unit = (mp.pi / 2) / mp.mpf(2) ** 31
    eighth = (mp.pi / 4) ** 2 * mp.mpf("1.001")
    logs = interpolant(_log, mp.mpf(0), (3 - 2 * mp.sqrt(2)) ** 2 * mp.mpf("1.001"), 4)
    sine = [*interpolant(_sin, mp.mpf(0), eighth, 4), 1.0]
    cosine = [*interpolant(_cos, mp.mpf(0), eighth, 4), -0.5, 1.0]
    tables["RADIUS"] = [-2 * one for one in logs]
    tables["ANGLE_SIN"] = [
        float(one * unit ** (2 * power + 1)) for power, one in enumerate(reversed(sine))
    ][::-1]
    tables["ANGLE_COS"] = [
        float(one * unit ** (2 * power)) for power, one in enumerate(reversed(cosine))
    ][::-1]
    tables |= single_tables()
    print(
        '"""Coefficients of polynomials, highest power first. Printed by make_coefficients.py."""'
    )
    for name, coefficients in tables.items():
        print(f"\n{name} = (")
        for coefficient in coefficients:
            print(f"    {coefficient!r},")
        print(")")
    rounding: Rounding
    for suffix, bits, rounding in (("", 32, float), ("_SINGLE", 15, single)):
        first = mp.floor(mp.log(2) * 2**bits) / 2**bits
        print(f"\nLN2_HIGH{suffix} = {rounding(first)!r}")
        print(f"LN2_LOW{suffix} = {rounding(mp.log(2) - first)!r}")
        parts: list[float] = []
        for _ in range(3):
            parts.append(rounding(mp.pi / 2 - sum(map(mp.mpf, parts))))
        print(f"HALF_PI_PARTS{suffix} = ({', '.join(map(repr, parts))})")


if __name__ == "__main__":
    main()
