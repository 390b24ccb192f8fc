"""Random numbers as functions of counters.

A draw belongs to (seed, trial, candidate, step) and its stream; nothing else matters, so any target
may compute any of them at any time. The counter of Philox is

    word 0   step / 4 for normal numbers, step / 2 for uniform ones
    word 1   trial, its lower 32 bits
    word 2   candidate
    word 3   stream (7 bits), 1 bit that tells uniform from normal, 24 bits of the trial

and its key the seed. Four words make four normal numbers, by Box and Muller (1958), each pair of
two words of 32 bits; |z| is below 6.77, which one number in 8e10 would exceed. A uniform number is
a multiple of 2**-52.

Draws of f32 have the same words, so they are those of f64 to f32's precision: a uniform number is
cut to a multiple of 2**-24, and a normal one is off by 1e-6 at most, but for radii below 0.1.
"""

from __future__ import annotations

from psylang.ir.builder import Builder
from psylang.ir.graph import Op, Value
from psylang.ir.types import F32, I32, I64, DType
from psylang.numerics.coefficients import ANGLE_COS, ANGLE_SIN, RADIUS, RADIUS_SINGLE
from psylang.numerics.elementary import bits_of, cos_small, float_of, polynomial, sin_small, split
from psylang.numerics.philox import Words, philox, upper, word

STREAMS_MAX = 128
TRIALS_MAX = 1 << 56
UNIFORM = 1 << 7
LN2 = 0.6931471805599453
QUARTER_PI = 0.7853981633974483


def block(b: Builder, op: Op, operands: tuple[Value, ...], per_block: int, kind: int) -> Words:
    """The words that hold the draw. per_block: draws of one block, 2 or 4."""
    seed, trial, candidate, step = operands
    number = b.op("lshr", step, b.constant(2 if per_block == 4 else 1, I32))
    tag = b.op("shl", b.op("lshr", trial, b.constant(32, I64)), b.constant(8, I64))
    counter = (
        b.op("uconvert", number, to="i64"),
        trial,
        b.op("uconvert", candidate, to="i64"),
        b.op("or", tag, b.constant(op.attributes["stream"] | kind, I64)),
    )
    return philox(b, counter, (seed, upper(b, seed)))


def normal_pair(b: Builder, first: Value, second: Value) -> tuple[Value, Value]:
    """Two normal numbers from two words: the radius from one, the angle from the other.

    Exact to 1e-11, much finer than the words. Exactness to the last place would cost a fifth more
    and change no distribution.
    """
    high = b.constant(0x433 << 52, I64)
    # 2**52 + word, exactly; then (word + 1/2) / 2**32 in one rounding, which is none.
    u = b.fma(float_of(b, b.op("or", word(b, first), high)), 2.0**-32, -(2.0**20) + 2.0**-33)
    radius = b.op("sqrt", minus_two_log(b, u))
    # The angle is in one of four quarters around the axes: 30 bits and a half within (-pi/4, pi/4),
    # one that turns left and right, one that turns both to up and down.
    within = b.op("and", b.op("shl", second, b.constant(1, I64)), b.constant((1 << 31) - 2, I64))
    odd = b.op("or", within, b.constant((0x433 << 52) | 1, I64))
    turn = b.sub(float_of(b, odd), 2.0**52 + 2.0**30)
    z = b.mul(turn, turn)
    sine, cosine = b.mul(turn, polynomial(b, z, ANGLE_SIN)), polynomial(b, z, ANGLE_COS)
    flip = b.op("shl", b.op("lshr", word(b, second), b.constant(31, I64)), b.constant(63, I64))
    cosine = float_of(b, b.op("xor", b.op("bitcast", cosine, to="i64"), flip))
    swapped = b.op("ne", b.op("and", second, b.constant(1 << 30, I64)), b.constant(0, I64))
    x, y = b.mul(radius, cosine), b.mul(radius, sine)
    return b.select(swapped, y, x), b.select(swapped, x, y)


def minus_two_log(b: Builder, u: Value) -> Value:
    """-2 log u of a normal number u in (0, 1)."""
    power, f = split(b, u)
    s = b.div(f, b.add(f, 2.0))
    z = b.mul(s, s)
    return b.fma(power, -2 * LN2, b.mul(s, b.fma(z, polynomial(b, z, RADIUS), -4.0)))


def single_pair(b: Builder, first: Value, second: Value) -> tuple[Value, Value]:
    """normal_pair() in f32."""
    # 31 bits suffice, and every machine converts signed integers to floats in one instruction.
    number = b.op("lshr", b.convert(first, DType.I32), b.constant(1, I32))
    u = b.fma(b.convert(number, DType.F32), 2.0**-31, 2.0**-32)
    power, f = split(b, u)
    square = b.fma(power, -2 * LN2, b.mul(f, polynomial(b, f, RADIUS_SINGLE)))
    radius = b.op("sqrt", square)
    bits = b.convert(second, DType.I32)
    # 30 bits plus a half as a signed word, from -pi/4 to pi/4.
    odd = b.op("or", b.op("shl", bits, b.constant(2, I32)), b.constant(2, I32))
    turn = b.op("xor", odd, b.constant(-(1 << 31), I32))
    angle = b.mul(b.convert(turn, DType.F32), QUARTER_PI * 2.0**-31)
    sine, cosine = sin_small(b, angle), cos_small(b, angle)
    flip = b.op("and", bits, b.constant(-(1 << 31), I32))
    cosine = float_of(b, b.op("xor", bits_of(b, cosine), flip))
    swapped = b.op("ne", b.op("and", bits, b.constant(1 << 30, I32)), b.constant(0, I32))
    x, y = b.mul(radius, cosine), b.mul(radius, sine)
    return b.select(swapped, y, x), b.select(swapped, x, y)


def normal(b: Builder, op: Op, operands: tuple[Value, ...]) -> Value:
    w0, w1, w2, w3 = block(b, op, operands, 4, 0)
    step = operands[3]
    odd = b.op("ne", b.op("and", step, b.constant(1, I32)), b.constant(0, I32))
    late = b.op("ne", b.op("and", step, b.constant(2, I32)), b.constant(0, I32))
    # The pair is selected before it is computed: an unneeded pair costs nothing.
    pair = single_pair if op.result.type == F32 else normal_pair
    z0, z1 = pair(b, b.select(late, w2, w0), b.select(late, w3, w1))
    return b.select(odd, z1, z0)


def uniform(b: Builder, op: Op, operands: tuple[Value, ...]) -> Value:
    w0, w1, w2, w3 = block(b, op, operands, 2, UNIFORM)
    odd = b.op("ne", b.op("and", operands[3], b.constant(1, I32)), b.constant(0, I32))
    first, second = b.select(odd, w2, w0), b.select(odd, w3, w1)
    if op.result.type == F32:
        number = b.op("lshr", b.convert(first, DType.I32), b.constant(8, I32))
        return b.mul(b.convert(number, DType.F32), 2.0**-24)
    # 32 bits and 20 are the mantissa of a number in [1, 2).
    bits = b.op(
        "or",
        b.op("shl", word(b, first), b.constant(20, I64)),
        b.op("lshr", word(b, second), b.constant(12, I64)),
    )
    one = float_of(b, b.op("or", bits, b.constant(1023 << 52, I64)))
    return b.sub(one, 1.0)
