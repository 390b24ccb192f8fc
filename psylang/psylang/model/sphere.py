"""Drift and diffusion on the unit sphere, as PsyNeuLink's DriftOnASphereIntegrator has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from psylang.ir.graph import Value
from psylang.ir.types import DType, Type
from psylang.model.calls import arctan
from psylang.model.context import Scope
from psylang.model.errors import ModelError
from psylang.model.mechanism import Memory, MemoryPorts, Values, filled
from psylang.model.parameters import Number, number

NEAR, NEAREST = 1e-14, 1e-8  # PsyNeuLink's bounds for no angle at all, and for no rotation.


@dataclass(frozen=True, eq=False, kw_only=True)
class SphereDrift(MemoryPorts):
    """A point on the sphere of `dimension` dimensions, which moves along great circles.

    The input is a drift in the tangent space, of dimension - 1 elements, or with `toward` a point
    to move to. A step moves by dt * (rate * drift + sqrt(dt) * noise * z), z normal and of
    dimension - 1 elements, in PsyNeuLink's basis of the tangent space: the Householder reflection
    of the point onto the first axis. noise: a number, or one for each of these elements.
    begin: the first point, of norm 1. Output port: `value`, the point.
    """

    dimension: int = 3
    toward: bool = False
    rate: Number = number(1.0)
    noise: Number = number(0.0)
    dt: Number = number(1.0, above=0.0)
    begin: Number = number((1.0, 0.0, 0.0))

    def __post_init__(self) -> None:
        if self.dimension < 2:
            raise ModelError(f"`{self.name}` has {self.dimension} dimensions; it needs 2 or more")

    def arrivals(self) -> Mapping[str, tuple[int, ...]]:
        return {"input": (self.dimension if self.toward else self.dimension - 1,)}

    def ports(self) -> Mapping[str, Type]:
        return {"value": Type(DType.F64, (self.dimension,))}

    def initial(self, at: Scope) -> Memory:
        value = at["begin"]
        if value.type.shape != (self.dimension,):
            raise ModelError(
                f"`begin` of `{self.name}` has shape {value.type.shape}; it needs "
                f"({self.dimension},)"
            )
        return {"point": value}

    def step(self, at: Scope, prepared: Values, memory: Memory) -> Memory:
        build, point = at.build, memory["point"]
        # There is a draw for each element, whatever the noise is.
        z = at.normals("noise", (self.dimension - 1,))
        basis = self._basis(at, point)
        if self.toward:
            drift = self._way(at, point, prepared["input"])
        else:
            drift = _into(at, basis, prepared["input"])
        root = build.op("sqrt", at["dt"])
        if at["noise"].type.shape:
            noise = filled(at, "noise", self.dimension - 1)
            pushed = _into(at, basis, build.mul(noise, z))
        else:
            pushed = build.mul(at["noise"], _into(at, basis, z))
        moved = build.add(build.mul(at["rate"], drift), build.mul(root, pushed))
        return {"point": _along(at, point, build.mul(at["dt"], moved))}

    def _basis(self, at: Scope, point: Value) -> list[Value]:
        """Tangent vectors at a point: columns of the reflection of it onto the first axis."""
        build, count = at.build, self.dimension
        x = _elements(at, build.div(point, _norm(at, point)))
        apart = [build.sub(x[0], 1.0), *x[1:]]
        here = build.op("le", build.abs(apart[0]), NEAREST + 1e-5)
        for one in x[1:]:
            here = build.and_(here, build.op("le", build.abs(one), NEAREST))
        v = build.stack(apart)
        v = build.div(v, build.select(here, 1.0, _norm(at, v)))
        units = _elements(at, v)
        columns = []
        for k in range(1, count):
            column = []
            for j in range(count):
                identity = 1.0 if j == k else 0.0
                product = build.mul(build.mul(units[j], units[k]), 2.0)
                column.append(build.select(here, identity, build.sub(identity, product)))
            columns.append(build.stack(column))
        return columns

    def _way(self, at: Scope, point: Value, target: Value) -> Value:
        """The tangent vector whose great circle leads from a point to a target."""
        build = at.build
        x = build.div(point, _norm(at, point))
        size = _norm(at, target)
        nowhere = build.lt(size, NEAR)
        t = build.div(target, build.select(nowhere, 1.0, size))
        cosine = build.op("min", build.op("max", build.op("dot", x, t), -1.0), 1.0)
        half = build.op("sqrt", build.div(build.sub(1.0, cosine), build.add(1.0, cosine)))
        angle = build.mul(arctan(build, half), 2.0)
        across = build.sub(t, build.mul(x, cosine))
        length = _norm(at, across)
        opposite = build.lt(length, NEAR)
        any_way = self._basis(at, point)[0]
        across = build.div(across, build.select(opposite, 1.0, length))
        way = build.mul(build.select(opposite, any_way, across), angle)
        none = build.constant(0.0, way.type)
        return build.select(build.or_(nowhere, build.lt(angle, NEAR)), none, way)

    def slot_of(self, port: str) -> str:
        return "point"


def _elements(at: Scope, vector: Value) -> list[Value]:
    return [at.build.extract(vector, k) for k in range(vector.type.size)]


def _norm(at: Scope, vector: Value) -> Value:
    return at.build.op("sqrt", at.build.op("dot", vector, vector))


def _into(at: Scope, basis: list[Value], numbers: Value) -> Value:
    """The sum of the basis' vectors, each times its number; in the order of OpenBLAS for two."""
    build, factors = at.build, _elements(at, numbers)
    result = build.mul(basis[-1], factors[-1])
    for vector, factor in zip(basis[-2::-1], factors[-2::-1], strict=True):
        result = build.fma(vector, factor, result)
    return result


def _along(at: Scope, point: Value, way: Value) -> Value:
    """The point at the end of a tangent vector's great circle."""
    build = at.build
    length = _norm(at, way)
    still = build.op("eq", length, 0.0)
    unit = build.div(way, build.select(still, 1.0, length))
    turned = build.add(
        build.mul(point, build.op("cos", length)), build.mul(unit, build.op("sin", length))
    )
    return build.select(still, point, build.div(turned, _norm(at, turned)))
