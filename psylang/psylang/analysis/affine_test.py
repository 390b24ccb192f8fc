"""Affine and bent forms: no run leaves them, and they are as tight as they are for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from psylang.analysis.affine import Forms
from psylang.analysis.ranges import Ranges
from psylang.ir.builder import ProgramBuilder
from psylang.ir.graph import Program, Value
from psylang.ir.interpret import interpret
from psylang.ir.types import F32, F64, Type
from psylang.numerics import expansions

PROGRAMS = 60
POINTS = 12
UNARY = ("neg", "abs", "sqrt", "exp", "abs", "tanh")
BINARY = ("add", "sub", "mul", "div", "min", "max")


def random_program(rng: np.random.Generator, type: Type) -> Program:
    """A program of a scalar, a vector, and operations that forms follow, and that they do not."""
    build = ProgramBuilder("random")
    x, y = (
        build.parameter("x", 0.0, type=type),
        build.parameter("y", np.zeros(2), type=Type(type.dtype, (2,))),
    )
    pool: list[Value] = [x, build.extract(y, 0), build.extract(y, 1)]
    pool += [
        build.constant(float(rng.choice([0.0, 0.25, -3.0, 1.5, 1e-3])), type) for _ in range(2)
    ]

    def one() -> Value:
        return pool[int(rng.integers(0, len(pool)))]

    for _ in range(int(rng.integers(4, 14))):
        match int(rng.integers(0, 8)):
            case 0 | 1:
                pool.append(build.op(str(rng.choice(UNARY)), one()))
            case 2:
                pool.append(build.op("fma", one(), one(), one()))
            case 3:
                twice = one()
                pool.append(build.mul(twice, twice))
            case 4:
                pool.append(build.select(build.lt(one(), one()), one(), one()))
            case _:
                pool.append(build.op(str(rng.choice(BINARY)), one(), one()))
    for k, value in enumerate(pool[5:]):
        build.output(f"o{k}", value)
    return build.build()


@pytest.mark.parametrize("type", [F64, F32], ids=str)
def test_no_run_leaves_its_form(type: Type) -> None:
    rng = np.random.default_rng(2022)
    looked = narrower = 0
    for _ in range(PROGRAMS):
        program = random_program(rng, type)
        ends = np.sort(rng.normal(size=(2, 3)) * rng.choice([0.01, 1.0, 3.0]), axis=0)
        ends = ends.astype(type.dtype.numpy).astype(np.float64)
        pairs: Any = {"x": tuple(ends[:, 0]), "y": (ends[0, 1:], ends[1, 1:])}
        found = Ranges(program, parameters=pairs, trials=1, seed=3)
        forms = Forms(found, {"x": 0, "y": 1}, 1)
        points = ends[0] + rng.choice([0.0, 0.3, 0.5, 0.81, 1.0], (POINTS, 3)) * (ends[1] - ends[0])
        points = np.clip(points.astype(type.dtype.numpy), ends[0], ends[1])
        for point in points:
            run = interpret(
                program,
                parameters={"x": point[0], "y": point[1:]},
                seed=3,
                expansions=expansions(),
            )
            for one, value in zip(program.outputs, program.body.yields, strict=True):
                low, high = forms.bounds(value)
                number = float(run[one.name][0])
                looked += 1
                assert np.isnan(number) or low[0] <= number <= high[0], (one.name, program)
                whole = found[value]
                narrower += bool(high[0] - low[0] < 0.9 * float((whole.high - whole.low)[0]))
    assert looked > 5_000
    assert narrower > 80  # Otherwise nothing but the intervals was tried.


def bounds(program: Program, pairs: Any) -> tuple[float, float]:
    found = Ranges(program, parameters=pairs, trials=1, seed=0)
    low, high = Forms(found, {one.name: k for k, one in enumerate(program.parameters)}, 1).bounds(
        program.body.yields[0]
    )
    return float(low[0]), float(high[0])


def test_what_is_subtracted_from_itself_is_nothing() -> None:
    build = ProgramBuilder("same")
    x = build.parameter("x", 0.0)
    build.output("y", build.sub(build.add(build.mul(x, 3.0), 1.0), build.mul(x, 3.0)))
    low, high = bounds(build.build(), {"x": (-5.0, 7.0)})
    assert low == pytest.approx(1.0, abs=1e-12)
    assert high == pytest.approx(1.0, abs=1e-12)


def test_the_error_shrinks_with_the_square_of_the_range() -> None:
    build = ProgramBuilder("smooth")
    x = build.parameter("x", 0.0)
    far = build.add(build.op("sqrt", build.add(build.mul(x, x), 1.0)), 1.0)
    build.output("y", build.sub(build.div(x, far), build.div(build.op("exp", x), 4.0)))
    program, errors = build.build(), []
    for half in (0.1, 0.01):
        low, high = bounds(program, {"x": (1.0 - half, 1.0 + half)})
        points = np.linspace(1 - half, 1 + half, 101)
        true = points / (np.sqrt(points * points + 1) + 1) - np.exp(points) / 4
        assert low <= true.min()
        assert true.max() <= high
        errors.append(high - low - np.ptp(true))
    assert errors[1] < errors[0] / 50


def test_a_distance_is_bounded_where_its_terms_are_zero() -> None:
    """-|x - y| - |x + y - 2| + x / 10 is at most 0.1, at (1, 1): slopes and bends balance."""
    build = ProgramBuilder("distance")
    x, y = build.parameter("x", 0.0), build.parameter("y", 0.0)
    apart = build.abs(build.sub(x, y))
    away = build.abs(build.sub(build.add(x, y), 2.0))
    build.output("near", build.sub(build.mul(x, 0.1), build.div(build.add(apart, away), 1.0)))
    low, high = bounds(build.build(), {"x": (0.0, 3.0), "y": (0.0, 3.0)})
    assert high == pytest.approx(0.1, abs=1e-9)
    assert low <= -6.0
