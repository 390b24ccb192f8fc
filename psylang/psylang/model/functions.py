"""Transfer functions: from a mechanism's net input to its activity, elementwise.

In `exact` the formulas and the order of operations are PsyNeuLink's (docs/semantics.md, 2): its
exponentials are powers of e as a double. In `fast` they are exp and tanh themselves.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np

from psylang.ir.graph import Value
from psylang.model.context import Scope
from psylang.model.errors import ModelError
from psylang.model.parameters import Number, number


class TransferFunction(Protocol):
    """Has emit(): from a value to a value of the same shape."""

    def emit(self, at: Scope, x: Value) -> Value: ...


def natural(at: Scope, exponent: Value) -> Value:
    """e to a power: pow() of PsyNeuLink's e in `exact`, else exp()."""
    if at.exact:
        return at.build.op("pow", at.build.constant(math.e), exponent)
    return at.build.op("exp", exponent)


@dataclass(frozen=True, eq=False, kw_only=True)
class Linear:
    """scale * (slope * x + intercept) + offset."""

    slope: Number = number(1.0)
    intercept: Number = number(0.0)
    scale: Number = number(1.0)
    offset: Number = number(0.0)

    def emit(self, at: Scope, x: Value) -> Value:
        return at.plus(at.times(at.plus(at.times(x, "slope"), "intercept"), "scale"), "offset")


@dataclass(frozen=True, eq=False, kw_only=True)
class Logistic:
    """scale / (1 + e**(-gain * (x + bias - x_0))) + offset."""

    gain: Number = number(1.0)
    bias: Number = number(0.0)
    x_0: Number = number(0.0)
    scale: Number = number(1.0)
    offset: Number = number(0.0)

    def emit(self, at: Scope, x: Value) -> Value:
        build = at.build
        shifted = at.minus(at.plus(x, "bias"), "x_0")
        power = natural(at, build.mul(build.neg(at["gain"]), shifted))
        return at.plus(at.times(build.div(1.0, build.add(power, 1.0)), "scale"), "offset")


@dataclass(frozen=True, eq=False, kw_only=True)
class Tanh:
    """scale * tanh(gain * (x + bias - x_0) + offset)."""

    gain: Number = number(1.0)
    bias: Number = number(0.0)
    x_0: Number = number(0.0)
    scale: Number = number(1.0)
    offset: Number = number(0.0)

    def emit(self, at: Scope, x: Value) -> Value:
        build = at.build
        shifted = at.minus(at.plus(x, "bias"), "x_0")
        inner = at.plus(at.times(shifted, "gain"), "offset")
        if not at.exact:
            return at.times(build.op("tanh", inner), "scale")
        power = natural(at, build.mul(inner, -2.0))
        scaled = at.times(build.sub(1.0, power), "scale")
        return build.div(scaled, build.add(power, 1.0))


@dataclass(frozen=True, eq=False, kw_only=True)
class ReLU:
    """t = gain * (x - bias); scale * max(t, leak * t) + offset."""

    gain: Number = number(1.0)
    bias: Number = number(0.0)
    leak: Number = number(0.0)
    scale: Number = number(1.0)
    offset: Number = number(0.0)

    def emit(self, at: Scope, x: Value) -> Value:
        build = at.build
        inner = at.times(at.minus(x, "bias"), "gain")
        leaked = build.mul(inner, at["leak"])
        return at.plus(at.times(build.op("max", inner, leaked), "scale"), "offset")


@dataclass(frozen=True, eq=False, kw_only=True)
class Exponential:
    """scale * e**(rate * x + bias) + offset."""

    rate: Number = number(1.0)
    bias: Number = number(0.0)
    scale: Number = number(1.0)
    offset: Number = number(0.0)

    def emit(self, at: Scope, x: Value) -> Value:
        power = natural(at, at.plus(at.times(x, "rate"), "bias"))
        return at.plus(at.times(power, "scale"), "offset")


@dataclass(frozen=True, eq=False, kw_only=True)
class Gaussian:
    """scale * e**(-(x - bias)**2 / (2 s**2)) / sqrt(2 pi s) + offset, s the standard deviation:
    PsyNeuLink's, which is a density for s = 1 alone."""

    standard_deviation: Number = number(1.0, above=0.0)
    bias: Number = number(0.0)
    scale: Number = number(1.0)
    offset: Number = number(0.0)

    def emit(self, at: Scope, x: Value) -> Value:
        build, s = at.build, at["standard_deviation"]
        apart = at.minus(x, "bias")
        wide = build.mul(build.mul(s, s), 2.0)
        power = natural(at, build.div(build.neg(build.mul(apart, apart)), wide))
        height = build.op("sqrt", build.mul(s, 2 * math.pi))
        return at.plus(at.times(build.div(power, height), "scale"), "offset")


@dataclass(frozen=True, eq=False, kw_only=True)
class SoftMax:
    """e**(gain * x_i) over the sum of all; the largest exponent is taken off first."""

    gain: Number = number(1.0)

    def emit(self, at: Scope, x: Value) -> Value:
        build = at.build
        scaled = at.times(x, "gain")
        if not scaled.type.shape:
            return build.constant(1.0)
        powers = build.op("exp", build.sub(scaled, build.op("reduce_max", scaled)))
        return build.div(powers, build.op("sum", powers))


@dataclass(frozen=True, eq=False, kw_only=True)
class OneHot:
    """The largest or smallest element, or 1 in its place, and 0 in all others.

    absolute: elements are compared, and given, without their sign. tie: which of equal ones.
    """

    direction: Literal["max", "min"] = "max"
    absolute: bool = False
    indicator: bool = False
    tie: Literal["all", "first", "last"] = "all"

    def __post_init__(self) -> None:
        if self.direction not in ("max", "min") or self.tie not in ("all", "first", "last"):
            raise ModelError(
                f"OneHot has direction {self.direction!r} and tie {self.tie!r}; they are max or "
                "min, and all, first or last"
            )

    def emit(self, at: Scope, x: Value) -> Value:
        build = at.build
        array = build.abs(x) if self.absolute else x
        best = build.op(f"reduce_{self.direction}", array) if x.type.shape else array
        given = build.constant(1.0) if self.indicator else best
        if not x.type.shape:
            return given
        places = list(np.ndindex(*x.type.shape))
        values: dict[tuple[int, ...], Value] = {}
        earlier = None
        for place in reversed(places) if self.tie == "last" else places:
            equal = chosen = build.op("eq", build.extract(array, *place), best)
            if self.tie != "all":
                chosen = equal if earlier is None else build.and_(equal, build.not_(earlier))
                earlier = equal if earlier is None else build.or_(earlier, equal)
            values[place] = build.select(chosen, given, build.constant(0.0))
        return build.stack([values[place] for place in places], x.type.shape)


def emit_part(at: Scope, field: str, x: Value) -> Value:
    """The transfer function that a field of the component holds, with its origin."""
    part = at.part(field)
    function: Any = part.holder
    with part.origin():
        result: Value = function.emit(part, x)
    return result
