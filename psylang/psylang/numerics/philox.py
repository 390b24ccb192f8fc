"""Philox4x32-10: four random words of a counter of four words and a key of two.

J. K. Salmon et al., Parallel random numbers: as easy as 1, 2, 3, SC 2011. Words are kept in i64,
because the product of two is then one multiplication, and vector units multiply the lower halves;
the upper half of a word is undefined until `word()` clears it.
"""

from __future__ import annotations

from psylang.ir.builder import Builder
from psylang.ir.graph import Value
from psylang.ir.types import I64

ROUNDS = 10
MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
KEY_STEPS = (0x9E3779B9, 0xBB67AE85)
WORD = 0xFFFFFFFF

Words = tuple[Value, Value, Value, Value]


def word(b: Builder, value: Value) -> Value:
    """The lower half, zeros above."""
    return b.op("and", value, b.constant(WORD, I64))


def upper(b: Builder, value: Value) -> Value:
    return b.op("lshr", value, b.constant(32, I64))


def philox(b: Builder, counter: Words, key: tuple[Value, Value]) -> Words:
    """Four words, in the lower halves of i64."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for number in range(ROUNDS):
        if number:
            k0 = b.add(k0, b.constant(KEY_STEPS[0], I64))
            k1 = b.add(k1, b.constant(KEY_STEPS[1], I64))
        p0 = b.mul(word(b, c0), b.constant(MULTIPLIERS[0], I64))
        p1 = b.mul(word(b, c2), b.constant(MULTIPLIERS[1], I64))
        c0, c1, c2, c3 = (
            b.op("xor", b.op("xor", upper(b, p1), c1), k0),
            p1,
            b.op("xor", b.op("xor", upper(b, p0), c3), k1),
            p0,
        )
    return c0, c1, c2, c3
