"""Integrators: how a mechanism's state follows its input, one step at a time.

Formulas and, in `exact`, the order of operations are PsyNeuLink's (docs/semantics.md, 4). `rate` of
the leaky competing one is its leak; noise is a distribution (noise.py) or nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from psylang.ir.graph import Value
from psylang.model.context import Scope
from psylang.model.noise import Distribution
from psylang.model.parameters import Number, number, part
from psylang.model.rules import Relation

LATE = 0.5825971579390107  # -zeta(1/2) / sqrt(2 pi), in standard deviations of a step.


class Integrator(Protocol):
    """Has emit(): from the previous value and the input to the next value, of one shape."""

    @property
    def initial(self) -> Number: ...
    def emit(self, at: Scope, before: Value, x: Value) -> Value: ...


@dataclass(frozen=True, eq=False, kw_only=True)
class SimpleIntegrator:
    """before + rate * x + noise + offset."""

    rate: Number = number(1.0)
    offset: Number = number(0.0)
    noise: Distribution | None = part()
    initial: Number = number(0.0)

    def emit(self, at: Scope, before: Value, x: Value) -> Value:
        noise = sampled(at, x.type.shape)
        value = at.build.add(before, at.times(x, "rate"))
        return at.plus(value if noise is None else at.build.add(value, noise), "offset")


@dataclass(frozen=True, eq=False, kw_only=True)
class AdaptiveIntegrator:
    """(1 - rate) * before + rate * x + noise + offset: an exponentially weighted mean."""

    rate: Number = number(0.5, least=0.0, most=1.0)
    offset: Number = number(0.0)
    noise: Distribution | None = part()
    initial: Number = number(0.0)

    def emit(self, at: Scope, before: Value, x: Value) -> Value:
        build, rate = at.build, at["rate"]
        noise = sampled(at, x.type.shape)
        kept = build.mul(build.sub(1.0, rate), before)
        value = build.add(kept, build.mul(rate, x)) if at.exact else build.fma(rate, x, kept)
        return at.plus(value if noise is None else build.add(value, noise), "offset")


@dataclass(frozen=True, eq=False, kw_only=True)
class LeakyCompetingIntegrator:
    """before + (x - leak * before) * dt + noise * sqrt(dt) + offset (Usher & McClelland 2001)."""

    leak: Number = number(0.5)
    dt: Number = number(0.1, above=0.0)
    offset: Number = number(0.0)
    noise: Distribution | None = part()
    initial: Number = number(0.0)

    def emit(self, at: Scope, before: Value, x: Value) -> Value:
        build, dt = at.build, at["dt"]
        noise = sampled(at, x.type.shape)
        if at.exact:
            change = build.add(build.mul(build.neg(at["leak"]), before), x)
            value = build.add(before, build.mul(change, dt))
        else:
            kept = build.sub(1.0, build.mul(at["leak"], dt))
            value = build.fma(before, kept, build.mul(x, dt))
        if noise is not None:
            root = build.op("sqrt", dt)
            value = (
                build.add(value, build.mul(noise, root))
                if at.exact
                else build.fma(noise, root, value)
            )
        return at.plus(value, "offset")


@dataclass(frozen=True, eq=False, kw_only=True)
class Accumulator:
    """rate * before + noise + increment; its input has no effect."""

    rate: Number = number(1.0)
    increment: Number = number(0.0)
    noise: Distribution | None = part()
    initial: Number = number(0.0)

    def emit(self, at: Scope, before: Value, x: Value) -> Value:
        noise = sampled(at, x.type.shape)
        value = at.times(before, "rate")
        return at.plus(value if noise is None else at.build.add(value, noise), "increment")


@dataclass(frozen=True, eq=False, kw_only=True)
class InteractiveActivation:
    """before + rate * (x + noise) * d - decay * (before - rest), d the distance to `most` for an
    input above 0, from `least` for one below 0 (McClelland & Rumelhart 1981)."""

    rate: Number = number(1.0)
    decay: Number = number(0.0)
    rest: Number = number(0.0)
    most: Number = number(1.0)
    least: Number = number(-1.0)
    noise: Distribution | None = part()
    initial: Number = number(0.0)

    def emit(self, at: Scope, before: Value, x: Value) -> Value:
        build = at.build
        noise = sampled(at, x.type.shape)
        distances = []
        for index in np.ndindex(*x.type.shape):
            one, state = build.extract(x, *index), build.extract(before, *index)
            falls = build.select(
                build.lt(one, 0.0), build.sub(state, at["least"]), build.constant(0.0)
            )
            rises = build.sub(at["most"], state)
            distances.append(build.select(build.op("gt", one, 0.0), rises, falls))
        distance = build.stack(distances, x.type.shape) if x.type.shape else distances[0]
        push = x if noise is None else build.add(x, noise)
        push = build.mul(build.mul(at["rate"], push), distance)
        pull = build.mul(at["decay"], build.sub(before, at["rest"]))
        return build.sub(build.add(before, push), pull)


@dataclass(frozen=True, eq=False, kw_only=True)
class OrnsteinUhlenbeck:
    """before + (decay * before - rate * x) * dt + sqrt(dt * noise) * z + offset, z normal and the
    same for all units, as in PsyNeuLink, whose decay below 0 draws towards 0. noise is a variance
    over one unit of time."""

    rate: Number = number(1.0)
    decay: Number = number(1.0)
    noise: Number = number(0.0, least=0.0)
    dt: Number = number(1.0, above=0.0)
    offset: Number = number(0.0)
    initial: Number = number(0.0)

    def emit(self, at: Scope, before: Value, x: Value) -> Value:
        build, dt = at.build, at["dt"]
        change = build.sub(build.mul(at["decay"], before), build.mul(at["rate"], x))
        scale = build.op("sqrt", build.mul(dt, at["noise"]))
        push = build.mul(scale, at.draw("normal", "noise"))
        return at.plus(build.add(build.add(before, build.mul(change, dt)), push), "offset")


@dataclass(frozen=True, eq=False, kw_only=True)
class DriftDiffusion:
    """before + rate * x * dt + noise * sqrt(dt) * z + offset, z normal, kept within ±threshold
    (Ratcliff 1978, in steps). noise is a standard deviation over one unit of time.

    A process that is observed in steps of dt passes a threshold late, as if the threshold were
    farther by 0.5826 * noise * sqrt(dt) (Broadie, Glasserman & Kou 1997): mean times are 3.7 % too
    long at thresholds of ±1 and steps of 1 ms. corrected: a DDM decides at thresholds that are
    nearer by this amount.
    """

    rate: Number = number(1.0)
    noise: Number = number(1.0, least=0.0)
    threshold: Number = number(1.0, above=0.0)
    dt: Number = number(0.001, above=0.0)
    offset: Number = number(0.0)
    initial: Number = number(0.0)
    corrected: bool = False
    relations: ClassVar = (Relation("initial", "inside", "threshold"),)

    def slope(self, at: Scope, x: Value | None) -> Value:
        """The amount that the input (1 without input) adds per step; in `fast` with the offset."""
        rate = at["rate"] if x is None else at.build.mul(at["rate"], x)
        slope = at.build.mul(rate, at["dt"])
        return slope if at.exact else at.plus(slope, "offset")

    def scale(self, at: Scope) -> Value:
        """The standard deviation of a step."""
        return at.build.mul(at["noise"], at.build.op("sqrt", at["dt"]))

    def free(self, at: Scope, before: Value, slope: Value, scale: Value) -> Value:
        """A step without thresholds."""
        build = at.build
        z = at.normals("noise", before.type.shape)
        if at.exact:
            value = build.add(build.add(before, slope), build.mul(scale, z))
            return at.plus(value, "offset")
        # The dependence chain of a round is then one addition.
        return build.add(before, build.fma(scale, z, slope))

    def bound(self, at: Scope) -> Value:
        """The distance at which a process in steps decides."""
        if not self.corrected:
            return at["threshold"]
        return at.build.sub(at["threshold"], at.build.mul(self.scale(at), LATE))

    def kept(self, at: Scope, value: Value) -> Value:
        """The value limited to the thresholds."""
        build, threshold = at.build, at["threshold"]
        return build.op("min", build.op("max", value, build.neg(threshold)), threshold)

    def emit(self, at: Scope, before: Value, x: Value) -> Value:
        return self.kept(at, self.free(at, before, self.slope(at, x), self.scale(at)))


def sampled(at: Scope, shape: tuple[int, ...]) -> Value | None:
    """Draws of the `noise` of a component or part, one per element, in order; None without
    noise."""
    distribution: Any = at.holder.noise
    if distribution is None:
        return None
    inner = at.part("noise")
    with inner.origin():
        count = int(np.prod(shape))
        return at.each(shape, lambda k: distribution.sample(inner.for_element(k, count)))
