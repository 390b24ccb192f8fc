"""The two float formats of the expansions: bit layouts, and bounds of the reductions.

One text of exp, log, sin, cos and tanh (elementary.py) serves both; the differences are here. A
format has polynomials that are exact to its last place, and not longer than that needs.
"""

from __future__ import annotations

from dataclasses import dataclass

from psylang.ir.graph import Value
from psylang.ir.types import DType, Type
from psylang.numerics import coefficients as of


@dataclass(frozen=True)
class Format:
    """dtype, word: the float and the integer of its bits. fraction, bias: bits below the exponent,
    and what is added to that. sqrt_half: bits of sqrt(1/2).

    exp_max, exp_min: beyond, exp is infinite, or zero. angle_max: greatest |x| of sin and cos.
    tanh_small: below, tanh is a polynomial; tanh_max: above, it is 1. ln2, half_pi: constants in
    parts, of which all but the last have zeros at the end, or are as long as the format.
    """

    dtype: DType
    word: DType
    fraction: int
    bias: int
    sqrt_half: int
    exp_max: float
    exp_min: float
    angle_max: float
    tanh_small: float
    tanh_max: float
    log: tuple[float, ...]
    exp: tuple[float, ...]
    sin: tuple[float, ...]
    cos: tuple[float, ...]
    tanh: tuple[float, ...]
    ln2: tuple[float, float]
    half_pi: tuple[float, ...]

    @property
    def integer(self) -> Type:
        return Type(self.word)

    @property
    def one(self) -> int:
        """The bits of the number 1."""
        return self.bias << self.fraction

    @property
    def mantissa(self) -> int:
        """Bits below the exponent."""
        return (1 << self.fraction) - 1

    @property
    def sign(self) -> int:
        return -(1 << (self.word.bits - 1))

    @property
    def whole(self) -> float:
        """From this number on floats are integers, with the integer in the lowest bits."""
        return float(1 << self.fraction)

    @property
    def whole_bits(self) -> int:
        return (self.bias + self.fraction) << self.fraction

    @property
    def rounder(self) -> float:
        """Adding it rounds to the nearest integer."""
        return 1.5 * self.whole

    @property
    def least(self) -> float:
        """The least normal number."""
        return 2.0 ** (1 - self.bias)


DOUBLE = Format(
    dtype=DType.F64,
    word=DType.I64,
    fraction=52,
    bias=1023,
    sqrt_half=0x3FE6A09E667F3BCD,
    exp_max=709.8,
    exp_min=-745.2,
    angle_max=float(1 << 28),
    tanh_small=0.55,
    tanh_max=22.0,
    log=of.LOG,
    exp=of.EXP,
    sin=of.SIN,
    cos=of.COS,
    tanh=of.TANH,
    ln2=(of.LN2_HIGH, of.LN2_LOW),
    half_pi=of.HALF_PI_PARTS,
)
SINGLE = Format(
    dtype=DType.F32,
    word=DType.I32,
    fraction=23,
    bias=127,
    sqrt_half=0x3F3504F3,
    exp_max=88.75,
    exp_min=-104.0,
    angle_max=float(1 << 20),
    tanh_small=0.55,
    tanh_max=10.0,
    log=of.LOG_SINGLE,
    exp=of.EXP_SINGLE,
    sin=of.SIN_SINGLE,
    cos=of.COS_SINGLE,
    tanh=of.TANH_SINGLE,
    ln2=(of.LN2_HIGH_SINGLE, of.LN2_LOW_SINGLE),
    half_pi=of.HALF_PI_PARTS_SINGLE,
)


def format_of(x: Value) -> Format:
    """The format of a float."""
    return SINGLE if x.type.dtype is DType.F32 else DOUBLE
