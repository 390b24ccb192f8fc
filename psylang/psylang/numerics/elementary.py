"""exp, log, sin, cos, tanh, pow as programs of the IR, for f64 and for f32.

Errors against the true value, found over the ranges that the tests sweep: exp, log, sin, cos and
tanh below 1.5 units in the last place. pow(a, b) = exp(b log |a|), of a negative base with the sign
of a whole power, else NaN; its relative error grows with the exponent: below 3e-16 *
(2 + |b log a|), in f32 below 1.5e-7 of that.
sin and cos are for |x| up to 2**28, in f32 2**20, where reduction by three parts of pi/2 ends;
beyond they are NaN, never a wrong number.

Reductions as in W. J. Cody and W. Waite, Software Manual for the Elementary Functions, 1980; the
log as K. C. Ng's, which folds f**2 / 2 in late.
"""

from __future__ import annotations

from collections.abc import Sequence

from psylang.ir.builder import Builder
from psylang.ir.graph import Value
from psylang.ir.types import I64
from psylang.numerics.formats import format_of

INFINITY = float("inf")
NAN = float("nan")
LN2 = 0.6931471805599453


def polynomial(b: Builder, x: Value, coefficients: Sequence[float]) -> Value:
    """Horner's rule, one rounding a step."""
    value = b.constant(coefficients[0], x.type)
    for coefficient in coefficients[1:]:
        value = b.fma(value, x, coefficient)
    return value


def bits_of(b: Builder, x: Value) -> Value:
    return b.op("bitcast", x, to=format_of(x).word.value)


def float_of(b: Builder, bits: Value) -> Value:
    return b.op("bitcast", bits, to="f64" if bits.type == I64 else "f32")


def split(b: Builder, x: Value) -> tuple[Value, Value]:
    """(k, m - 1) of a positive normal number 2**k m with m in [sqrt(1/2), sqrt(2)).

    Adding the difference of the bits of 1 and sqrt(1/2) carries into the exponent.
    """
    of = format_of(x)
    bits = b.add(bits_of(b, x), of.one - of.sqrt_half)
    exponent = b.op("lshr", bits, of.fraction)
    # A small integer as a float: its bits below those of 2**52 (2**23).
    power = b.sub(float_of(b, b.op("or", exponent, of.whole_bits)), of.whole + of.bias)
    mantissa = b.add(b.op("and", bits, of.mantissa), of.sqrt_half)
    return power, b.sub(float_of(b, mantissa), 1.0)


def log_normal(b: Builder, x: Value) -> Value:
    """log of a positive normal number; meaningless for others."""
    power, f = split(b, x)
    s = b.div(f, b.add(f, 2.0))
    z = b.mul(s, s)
    half = b.mul(b.mul(f, 0.5), f)
    of = format_of(x)
    rest = b.mul(z, polynomial(b, z, of.log))
    tail = b.fma(s, b.add(half, rest), b.mul(power, of.ln2[1]))
    return b.fma(power, of.ln2[0], b.sub(f, b.sub(half, tail)))


def log(b: Builder, x: Value) -> Value:
    # Subnormal numbers are scaled up first.
    of = format_of(x)
    small = b.lt(x, of.least)
    by = of.fraction + 2
    scaled = b.select(small, b.mul(x, 2.0**by), x)
    value = log_normal(b, scaled)
    value = b.select(small, b.sub(value, by * LN2), value)
    value = b.select(b.op("eq", x, 0.0), -INFINITY, value)
    value = b.select(b.lt(x, 0.0), NAN, value)
    # +inf and NaN.
    return b.select(b.lt(x, INFINITY), value, x)


def exp(b: Builder, x: Value, guarded: bool = True) -> Value:
    """guarded: x may be any number, not only within exp_min - 1 … exp_max + 1."""
    of = format_of(x)
    # Both bounds let NaN through: min and max give their first operand then.
    bounded = b.op("max", b.op("min", x, of.exp_max + 1), of.exp_min - 1) if guarded else x
    k = b.op("floor", b.fma(bounded, 1.4426950408889634, 0.5))
    r = b.fma(k, -of.ln2[1], b.fma(k, -of.ln2[0], bounded))
    p = b.fma(b.mul(r, r), polynomial(b, r, of.exp), r)
    p = b.add(p, 1.0)
    # 2**k in two factors, so that subnormal results round once.
    first = b.op("floor", b.mul(k, 0.5))
    return b.mul(b.mul(p, power_of_two(b, first)), power_of_two(b, b.sub(k, first)))


def power_of_two(b: Builder, k: Value) -> Value:
    """2**k of a whole float whose power is a normal number, by bits alone."""
    of = format_of(k)
    bits = bits_of(b, b.add(k, of.rounder + of.bias))
    return float_of(b, b.op("shl", bits, of.fraction))


def tanh(b: Builder, x: Value) -> Value:
    a = b.abs(x)
    value = b.select(b.lt(a, format_of(x).tanh_small), _tanh_near(b, x, a), _tanh_far(b, a))
    return with_sign_of(b, value, x)


def tanh_near(b: Builder, x: Value) -> Value:
    """tanh of |x| < tanh_small."""
    return with_sign_of(b, _tanh_near(b, x, b.abs(x)), x)


def tanh_far(b: Builder, x: Value) -> Value:
    """tanh of |x| >= tanh_small."""
    return with_sign_of(b, _tanh_far(b, b.abs(x)), x)


def _tanh_near(b: Builder, x: Value, a: Value) -> Value:
    z = b.mul(x, x)
    return b.fma(b.mul(a, z), polynomial(b, z, format_of(x).tanh), a)


def _tanh_far(b: Builder, a: Value) -> Value:
    double = b.mul(b.op("min", a, format_of(a).tanh_max), 2.0)
    return b.sub(1.0, b.div(2.0, b.add(exp(b, double), 1.0)))


def with_sign_of(b: Builder, magnitude: Value, x: Value) -> Value:
    sign = b.op("and", bits_of(b, x), format_of(x).sign)
    return float_of(b, b.op("or", bits_of(b, magnitude), sign))


def sin_small(b: Builder, r: Value) -> Value:
    """sin of |r| <= pi/4."""
    z = b.mul(r, r)
    return b.fma(b.mul(r, z), polynomial(b, z, format_of(r).sin), r)


def cos_small(b: Builder, r: Value) -> Value:
    """cos of |r| <= pi/4."""
    z = b.mul(r, r)
    half = b.mul(z, 0.5)
    first = b.sub(1.0, half)
    # The rounding error of 1 - z/2 is added with the tail.
    lost = b.sub(b.sub(1.0, first), half)
    return b.add(first, b.fma(b.mul(z, z), polynomial(b, z, format_of(r).cos), lost))


def _trigonometric(b: Builder, x: Value, quarter: int, guarded: bool) -> Value:
    """sin(x + quarter * pi/2). guarded: |x| may be beyond angle_max."""
    of = format_of(x)
    shifted = b.fma(x, 0.6366197723675814, of.rounder)
    turns = b.sub(shifted, of.rounder)
    r = x
    for part in of.half_pi:
        r = b.fma(turns, -part, r)
    q = b.add(bits_of(b, shifted), quarter)
    odd = b.op("ne", b.op("and", q, 1), 0)
    value = b.select(odd, cos_small(b, r), sin_small(b, r))
    flip = b.op("shl", b.op("and", q, 2), of.word.bits - 2)
    value = float_of(b, b.op("xor", bits_of(b, value), flip))
    return b.select(b.op("le", b.abs(x), of.angle_max), value, NAN) if guarded else value


def sin(b: Builder, x: Value, guarded: bool = True) -> Value:
    value = _trigonometric(b, x, 0, guarded)
    return b.select(b.op("eq", x, 0.0), x, value)  # -0.0 stays.


def cos(b: Builder, x: Value, guarded: bool = True) -> Value:
    return _trigonometric(b, x, 1, guarded)


def pow(b: Builder, a: Value, exponent: Value) -> Value:
    value = exp(b, b.mul(exponent, log(b, b.abs(a))))
    one = b.or_(b.op("eq", exponent, 0.0), b.op("eq", a, 1.0))
    # Of 2n + 1 the sign of the base, which may be -0.0; half of such a number is not whole.
    half = b.mul(exponent, 0.5)
    whole = b.op("eq", b.op("floor", exponent), exponent)
    odd = b.and_(whole, b.op("ne", b.op("floor", half), half))
    value = b.select(odd, with_sign_of(b, value, a), value)
    value = b.select(b.and_(b.lt(a, 0.0), b.not_(whole)), NAN, value)
    return b.select(one, 1.0, value)


def pow_normal(b: Builder, a: Value, exponent: Value, guarded: bool = True) -> Value:
    """pow of a positive normal base. guarded: exp of the product needs its bounds."""
    return exp(b, b.mul(exponent, log_normal(b, a)), guarded)


__all__ = [
    "cos",
    "exp",
    "log",
    "log_normal",
    "pow",
    "pow_normal",
    "sin",
    "tanh",
    "tanh_far",
    "tanh_near",
]
