"""Closed forms of loops: what a loop of a known number of rounds carries, without the loop.

A carried value whose next value is a*x + b, with a and b that stay the same in all rounds, is after
n rounds a**n * x + b * (1 + a + … + a**(n-1)). Power and sum are computed by doubling, in
2 * log2(n) steps: nothing cancels if a is not negative, which its range must show.

    affine      x + n * b, rounded once
    geometric   a**n * x + b * sum; each doubling adds at most two units in the last place

A power that could overflow is none of these: the loop multiplies its value round by round, and a
small one stays finite where the power is an infinity. And where a is above 1, x and b of opposite
signs cancel: at x = b / (1 - a) the loop stays, and the closed form is the difference of two great
numbers. So where a may be above 1, the greatest power and sum must be finite by its range, and x
and b must have one sign by theirs, or b be 0.

A loop is replaced if every carried value that its last round reads has such a form; that round is
then computed as it stands. The loop itself rounds in every round, so the results differ from its
results: by at most UNITS units in the last place of the greatest value that is carried, for every
round and operation of it. Whole numbers stay the same. A value that begins as an infinity may
become NaN.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from psylang.analysis.ranges import Ranges
from psylang.analysis.recurrences import Hull, coefficients
from psylang.ir.graph import Op, Program, Value
from psylang.ir.ops import DRAWS
from psylang.ir.types import DType
from psylang.passes.rewrite import Rewriter
from psylang.passes.scalarise import Scalarise

UNITS = 4
STEADY = 2.0**-20  # Log2 of a power that is 1: the end of a's range may be rounded beyond 1.
EXPONENTS = {DType.F32: 127, DType.F64: 1023}
_LINEAR = frozenset({"add", "sub", "neg", "mul", "fma"})


@dataclass(frozen=True)
class ClosedForm:
    """A carried value of a loop. name: its name; text: its value after the loop."""

    loop: Op
    name: str
    text: str


def without_loops(program: Program) -> tuple[Program, list[ClosedForm]]:
    """The program in scalars, with closed forms in place of the loops that have them; and these."""
    scalars = Scalarise()(program)
    made = _Closer(scalars, Ranges(scalars))
    return made.result(), made.found


# Factor and summand of a*x + b, as values of the new program; a plain 1, and None for 0.
_Part = Value | float | None


class _Closer(Rewriter):
    def __init__(self, program: Program, ranges: Ranges) -> None:
        super().__init__(program)
        self._ranges = ranges
        self.found: list[ClosedForm] = []
        self._used = set(_read(program))

    def visit(self, op: Op) -> None:
        rounds = self._ranges.rounds.get(op) if op.name == "loop" else None
        if rounds is None or rounds.least != rounds.most or self._copying:
            self.keep(op)
            return
        loop = _Loop(op, self._ranges, rounds.least)
        wanted = [k for k, value in enumerate(op.results) if value in self._used]
        needed = sorted(loop.needed(wanted))
        if not wanted or not needed or not all(map(loop.closes, needed)):
            self.keep(op)
            return
        with self.at(op.origin):
            self._close(op, loop, needed, rounds.least)

    def _close(self, op: Op, loop: _Loop, needed: list[int], rounds: int) -> None:
        """The values before the last round, and that round."""
        (body,) = op.regions
        first = self.all_now(op.operands)
        for k in loop.constant:
            self.replace([body.arguments[k]], [first[k]])
        for one in body.ops:
            if loop.invariant(one.result):
                self.keep(one)
        last = list(first)
        for k in needed:
            if k not in loop.constant:
                last[k] = self._after(loop, k, first[k], rounds)
        _, *results = self.inline(body, last, op.origin)
        self.replace(op.results, results)

    def _after(self, loop: _Loop, k: int, first: Value, rounds: int) -> Value:
        """A carried value before the last of all rounds."""
        x, after = loop.carried(k)
        a, b = self._form(loop, x, after)
        name = x.hint or "a carried value"
        if isinstance(a, float):
            self.found.append(ClosedForm(loop.op, name, f"first + {rounds} * step"))
            if b is None or rounds == 1:
                return first
            number = self.constant(rounds - 1, first.type)
            if first.type.dtype.is_float:
                return self.op("fma", number, self._value(b, first), first)
            return self.op("add", first, self.op("mul", number, self._value(b, first)))
        self.found.append(
            ClosedForm(loop.op, name, f"factor**{rounds} * first + step * a geometric sum")
        )
        if rounds == 1:
            return first
        power, total = self._doubled(self._value(a, first), rounds - 1)
        if b is None:
            return self.op("mul", power, first)
        # The product is not above x, or has the sign of the rest: it is finite if the result is.
        return self.op("fma", self._value(b, first), total, self.op("mul", power, first))

    def _doubled(self, a: Value, rounds: int) -> tuple[Value, Value]:
        """(a**rounds, 1 + a + … + a**(rounds - 1))."""
        power, total = a, self.constant(1.0, a.type)
        for bit in f"{rounds:b}"[1:]:
            total = self.op("fma", total, power, total)
            power = self.op("mul", power, power)
            if bit == "1":
                total = self.op("fma", total, a, self.constant(1.0, a.type))
                power = self.op("mul", power, a)
        return power, total

    def _value(self, part: _Part, like: Value) -> Value:
        if isinstance(part, Value):
            return part
        return self.constant(0 if part is None else part, like.type)

    def _form(self, loop: _Loop, x: Value, value: Value) -> tuple[_Part, _Part]:
        """(a, b) of a value of the loop that is a*x + b."""
        if value is x:
            return 1.0, None
        if loop.invariant(value):
            return None, self.now(value)
        op = loop.definition[value]
        parts = [self._form(loop, x, one) for one in op.operands]
        if op.name == "neg":
            return self._negative(parts[0][0], x), self._negative(parts[0][1], x)
        if op.name in ("mul", "fma"):
            (by, other) = parts[:2] if parts[0][0] is None else parts[1::-1]
            product = tuple(self._product(by[1], one, x) for one in other)
            if op.name == "mul":
                return product[0], product[1]
            parts = [(product[0], product[1]), parts[2]]
        if op.name == "sub":
            one, other = parts
            parts = [one, (self._negative(other[0], x), self._negative(other[1], x))]
        (a, b), (c, d) = parts
        return self._sum(a, c, x), self._sum(b, d, x)

    def _negative(self, part: _Part, x: Value) -> _Part:
        return None if part is None else self.op("neg", self._value(part, x))

    def _product(self, by: _Part, part: _Part, x: Value) -> _Part:
        if part is None or by is None:
            return None
        return by if isinstance(part, float) else self.op("mul", self._value(by, x), part)

    def _sum(self, a: _Part, b: _Part, x: Value) -> _Part:
        if a is None or b is None:
            return b if a is None else a
        return self.op("add", self._value(a, x), self._value(b, x))


class _Loop:
    """What the rounds of one loop have in common."""

    def __init__(self, op: Op, ranges: Ranges, rounds: int) -> None:
        (body,) = op.regions
        self.op, self._body, self._ranges, self._rounds = op, body, ranges, rounds
        self.definition = {value: one for one in body.ops for value in one.results}
        pairs = list(enumerate(zip(body.arguments, body.yields[1:], strict=True)))
        self.constant = frozenset(k for k, (x, after) in pairs if x is after)
        self._moving = {x for k, (x, _) in pairs if k not in self.constant}
        self._varies: dict[Value, bool] = dict.fromkeys(self._moving, True)
        self._plain = not any(one.regions or one.name in DRAWS for one in body.ops)
        if self._plain:
            for one in body.ops:
                self._varies[one.result] = any(self._varies.get(v, False) for v in one.operands)

    def needed(self, results: list[int]) -> set[int]:
        """The carried values that one round reads for these results."""
        reads: dict[Value, set[int]] = {x: {k} for k, x in enumerate(self._body.arguments)}
        for one in self._body.ops if self._plain else ():
            reads[one.result] = set().union(*(reads.get(v, set()) for v in one.operands))
        return set().union(*(reads.get(self._body.yields[k + 1], set()) for k in results))

    def carried(self, k: int) -> tuple[Value, Value]:
        return self._body.arguments[k], self._body.yields[k + 1]

    def invariant(self, value: Value) -> bool:
        return not self._varies.get(value, False)

    def closes(self, k: int) -> bool:
        """Whether the carried value has a closed form."""
        if k in self.constant:
            return True
        x, after = self.carried(k)
        dtype = x.type.dtype
        if not self._plain or dtype is DType.BOOL or not self._is_linear(x, after):
            return False
        found = coefficients(self._body, x, after, self._hull)
        if found is None or not all(map(math.isfinite, found[0])):
            return False
        if found[0] == (1.0, 1.0):
            return True
        if not dtype.is_float or found[0][0] < 0:
            return False
        (_, greatest), b = found
        grown = self._rounds * math.log2(max(greatest, 1.0))
        if grown < STEADY:
            return True
        grown += math.log2(self._rounds) + 1
        first = self._hull(self.op.operands[k])
        one_sign = min(*b, *first) >= 0 or max(*b, *first) <= 0
        return grown < EXPONENTS[dtype] and (b == (0.0, 0.0) or one_sign)

    def _hull(self, value: Value) -> Hull:
        return self._ranges[value].hull()[:2]

    def _is_linear(self, x: Value, value: Value) -> bool:
        if value is x or self.invariant(value):
            return True
        op = self.definition.get(value)
        if op is None or op.name not in _LINEAR:
            return False
        if op.name in ("mul", "fma") and not any(map(self.invariant, op.operands[:2])):
            return False
        return all(self._is_linear(x, one) for one in op.operands)


def _read(program: Program) -> Iterator[Value]:
    """The values that an operation reads, or that a region yields."""
    yield from program.body.yields
    for op in program.body.walk():
        yield from op.operands
        for region in op.regions:
            yield from region.yields


__all__ = ["UNITS", "ClosedForm", "without_loops"]
