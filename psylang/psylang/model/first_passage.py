"""First passages of a drift-diffusion process in closed form, right from every starting point.

Times from the start to a threshold, given that it is the one reached, have the cumulants

    k_n(distance of the thresholds) - k_n(distance of the start from the other threshold)

with k_n(b) of a process with drift a and noise c that travels b (Srivastava, Holmes & Simen 2016).
In s = a * b / c**2 they are s coth s and its derivatives without their constants, which cancel in
every difference; near s = 0 as power series, so that no digits are lost and no drift is too small.
"""

from __future__ import annotations

from fractions import Fraction
from math import factorial

import numpy as np

from psylang.model.function import function

TERMS = 18


def _coefficients() -> list[Fraction]:
    """Of s coth s = cosh s / (sinh s / s), a series in s**2."""
    made: list[Fraction] = []
    for n in range(TERMS + 3):
        rest = sum((made[n - k] / factorial(2 * k + 1) for k in range(1, n + 1)), start=Fraction(0))
        made.append(Fraction(1, factorial(2 * n)) - rest)
    return made


_C = _coefficients()
# From the highest power of s**2 on, for Horner's rule; without the powers that are factors.
FIRST = tuple(float(_C[n]) for n in range(TERMS, 0, -1))
SECOND = tuple(float(_C[n] * (2 - 2 * n)) for n in range(TERMS + 1, 1, -1))
THIRD = tuple(float(4 * _C[n] * (n - 1) * (n - 2)) for n in range(TERMS + 2, 2, -1))


@function
def series(coefficients, x):  # type: ignore[no-untyped-def]
    """Horner's rule."""
    total = 0.0
    for coefficient in coefficients:
        total = total * x + coefficient
    return total


@function
def cumulants(b, a, c):  # type: ignore[no-untyped-def]
    """k_1, k_2, k_3 of b, without constants that cancel."""
    unit = b * b / (c * c)  # Of time.
    s = abs(a) * b / (c * c)
    x = min(s, 1.0) ** 2
    # For s above 1, by exponentials that vanish for large s.
    r = max(s, 0.5)
    e = np.exp(-2.0 * r)
    t = 1.0 / (1.0 - e)
    f = r * (1.0 + e) * t
    g = 4.0 * r * r * e * t * t
    h = 4.0 * r * r * r * e * (1.0 + e) * t * t * t
    square = r * r
    first = series(FIRST, x) if s < 1.0 else (f - 1.0) / square
    second = series(SECOND, x) if s < 1.0 else (f + g - 2.0) / (square * square)
    far = (3.0 * g + 2.0 * h + 3.0 * f - 8.0) / (square * square * square)
    third = series(THIRD, x) if s < 1.0 else far
    return [unit * first, unit * unit * second, unit * unit * unit * third]


@function
def spent(x):  # type: ignore[no-untyped-def]
    """(1 - e**-x) / x of x >= 0."""
    t = np.tanh(x / 2.0)
    return 1.0 - x / 2.0 if x < 1e-8 else 2.0 * t / ((1.0 + t) * x)


@function
def against_drift(a, z, c, start):  # type: ignore[no-untyped-def]
    """The probability of the threshold opposite to the drift."""
    rate = 2.0 * abs(a) / (c * c)
    near = z - start if a < 0 else z + start
    part = (2.0 * z - near) * spent(rate * (2.0 * z - near)) / (2.0 * z * spent(rate * 2.0 * z))
    return np.exp(-rate * near) * part


@function
def passages(a, z, c, t0, start):  # type: ignore[no-untyped-def]
    """The mean time, P(upper), P(lower), then mean, variance and skew of the times of the upper
    threshold, and of the lower one."""
    wrong = against_drift(a, z, c, start)
    upper = wrong if a < 0 else 1.0 - wrong
    lower = 1.0 - wrong if a < 0 else wrong
    whole = cumulants(2.0 * z, a, c)
    up = cumulants(z + start, a, c)
    down = cumulants(z - start, a, c)
    high = [whole[k] - up[k] for k in range(3)]
    low = [whole[k] - down[k] for k in range(3)]
    time = t0 + upper * high[0] + lower * low[0]
    high_skew = high[2] / (high[1] * np.sqrt(high[1]))
    low_skew = low[2] / (low[1] * np.sqrt(low[1]))
    return [
        time,
        upper,
        lower,
        t0 + high[0],
        high[1],
        high_skew,
        t0 + low[0],
        low[1],
        low_skew,
    ]
