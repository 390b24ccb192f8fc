"""Distributions of noise, each made of counter-based normal and uniform draws.

`exact` follows NumPy's RandomState, draw by draw. What they take:

    Normal, Uniform, Exponential   one draw, by inverse transform where not drawn as such
    Wald                           one normal, one uniform (Michael, Schucany & Haas 1976)
    Gamma, shape 1                 one draw; else rejection (Marsaglia & Tsang 2000): the number of
                                   draws varies; at most 64 rounds, of which 4 already are rare
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

from psylang.ir.graph import Value
from psylang.model.context import Scope, as_i32
from psylang.model.errors import ModelError
from psylang.model.parameters import Number, number
from psylang.model.rules import Relation

ROUNDS_MAX = 64
# Maps the number of a draw to its acceptance and its value.
Attempt = Callable[[Value], tuple[Value, Value]]


class Distribution(Protocol):
    """Has sample(): one draw, a scalar, for the element of the scope."""

    def sample(self, at: Scope) -> Value: ...


@dataclass(frozen=True, eq=False, kw_only=True)
class Normal:
    """Mean and standard deviation."""

    mean: Number = number(0.0)
    standard_deviation: Number = number(1.0, least=0.0)

    def sample(self, at: Scope) -> Value:
        build, z = at.build, at.draw("normal", "")
        if at.exact or at.is_always("mean", 0.0):
            return at.plus(at.times(z, "standard_deviation"), "mean")
        return build.fma(z, at["standard_deviation"], at["mean"])


@dataclass(frozen=True, eq=False, kw_only=True)
class Uniform:
    """[low, high)."""

    low: Number = number(0.0)
    high: Number = number(1.0)
    relations: ClassVar = (Relation("low", "below", "high"),)

    def sample(self, at: Scope) -> Value:
        build, u = at.build, at.draw("uniform", "")
        return at.plus(build.mul(build.sub(at["high"], at["low"]), u), "low")


@dataclass(frozen=True, eq=False, kw_only=True)
class Exponential:
    """Exponential with a mean: -mean * log(1 - u)."""

    mean: Number = number(1.0, least=0.0)

    def sample(self, at: Scope) -> Value:
        return at.times(_standard_exponential(at), "mean")


@dataclass(frozen=True, eq=False, kw_only=True)
class Wald:
    """The inverse Gaussian with a mean and a scale (also called shape)."""

    mean: Number = number(1.0, above=0.0)
    scale: Number = number(1.0, above=0.0)

    def sample(self, at: Scope) -> Value:
        build, mean, scale = at.build, at["mean"], at["scale"]
        z = at.draw("normal", "normal")
        y = build.mul(build.mul(mean, z), z)
        ratio = build.div(mean, build.mul(scale, 2.0))
        root = build.op("sqrt", build.add(build.mul(build.mul(scale, 4.0), y), build.mul(y, y)))
        x = build.add(mean, build.mul(ratio, build.sub(y, root)))
        u = at.draw("uniform", "uniform")
        other = build.div(build.mul(mean, mean), x)
        below = build.op("le", u, build.div(mean, build.add(mean, x)))
        return build.select(below, x, other)


@dataclass(frozen=True, eq=False, kw_only=True)
class Gamma:
    """Gamma with a shape and a scale. The shape cannot vary, because the rejection loop depends on
    it."""

    shape: Number = number(1.0, above=0.0)
    scale: Number = number(1.0, least=0.0)

    def sample(self, at: Scope) -> Value:
        constant = at.constant("shape")
        if constant is None or constant.shape:
            raise ModelError(
                f"the shape of the Gamma noise of `{at.component}` is varied or no scalar; "
                "fix it: which rejection loop is written depends on it"
            )
        shape = float(constant)
        if shape == 1.0:
            draw = _standard_exponential(at)
        elif shape > 1.0:
            draw = _rejected(at, lambda step: _marsaglia_tsang(at, step, shape))
        else:
            draw = _rejected(at, lambda step: _small_gamma(at, step, shape))
        return at.times(draw, "scale")


def _standard_exponential(at: Scope, site: str = "", step: Value | None = None) -> Value:
    build, u = at.build, at.draw("uniform", site, step)
    return build.neg(build.op("log", build.sub(1.0, u)))


def _rejected(at: Scope, attempt: Attempt) -> Value:
    """The first accepted attempt; after ROUNDS_MAX attempts the last one."""
    build = at.build
    first = build.op("mul", as_i32(at, at.step), ROUNDS_MAX)

    def inside(_: Value, rounds: Value) -> tuple[Value, Sequence[Value]]:
        accepted, value = attempt(build.add(first, rounds))
        after = build.add(rounds, 1)
        return build.and_(build.not_(accepted), build.lt(after, ROUNDS_MAX)), [value, after]

    with at.context.inside():
        value, _ = build.loop(
            [build.constant(0.0), as_i32(at, 0)], inside, ROUNDS_MAX, ["gamma", "attempt"]
        )
    return value


def _marsaglia_tsang(at: Scope, step: Value, shape: float) -> tuple[Value, Value]:
    """NumPy draws its uniform number only if v is above 0, and so does `exact`; `fast` always draws
    it."""
    build = at.build
    b = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * b)
    x = at.draw("normal", "normal", step)
    v = build.add(build.mul(x, c), 1.0)
    positive = build.op("gt", v, 0.0)

    def judged() -> list[Value]:
        cube = build.mul(build.mul(v, v), v)
        u = at.draw("uniform", "uniform", step)
        square = build.mul(x, x)
        squeeze = build.sub(1.0, build.mul(build.mul(square, 0.0331), square))
        logs = build.add(build.sub(1.0, cube), build.op("log", cube))
        slow = build.add(build.mul(build.mul(x, 0.5), x), build.mul(logs, b))
        accepted = build.or_(build.lt(u, squeeze), build.lt(build.op("log", u), slow))
        return [accepted, build.mul(cube, b)]

    if at.exact:
        with at.context.inside():
            accepted, value = build.if_(
                positive,
                judged,
                lambda: [build.op("ne", v, v), build.constant(0.0)],
            )
        return accepted, value
    accepted, value = judged()
    return build.and_(positive, accepted), value


def _small_gamma(at: Scope, step: Value, shape: float) -> tuple[Value, Value]:
    """For a shape below 1 (Ahrens & Dieter 1974), as in NumPy."""
    build = at.build
    u = at.draw("uniform", "uniform", step)
    v = _standard_exponential(at, "exponential", step)
    rest = 1.0 - shape
    x = build.op("pow", u, build.constant(1.0 / shape))
    y = build.neg(build.op("log", build.div(build.sub(1.0, u), shape)))
    z = build.op("pow", build.add(build.mul(y, shape), rest), build.constant(1.0 / shape))
    low = build.op("le", u, rest)
    accepted = build.select(low, build.op("le", x, v), build.op("le", z, build.add(v, y)))
    return accepted, build.select(low, x, z)
