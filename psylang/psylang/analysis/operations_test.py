"""The range of each operation holds its results for operands anywhere in their ranges."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from psylang.analysis.intervals import INFINITY, Range, shown
from psylang.analysis.ranges import Ranges
from psylang.analysis.ranges_fixture import contains
from psylang.ir.builder import ProgramBuilder
from psylang.ir.graph import Numerics, Program
from psylang.ir.interpret import interpret
from psylang.ir.ops import DRAWS, OPS
from psylang.ir.types import DType, Type
from psylang.numerics import expansions

BOXES, POINTS = 8, 5
FLOATS = np.array(
    [
        *(0.0, -0.0, 5e-324, 1e-300, 1e-3, 0.5, 1.0, 1.5, 2.0, 3.0),
        *(math.pi, 30.0, 710.0, 1e6, 1e155, 1e300, np.inf),
    ]
)
INTS = (0, 1, 2, 3, 5, 7, 31, 32, 33, 64, 1000, 2**31 - 1)
NAMES = sorted(set(OPS) - DRAWS - {"constant", "stack", "extract", "dot", "sum"})
NAMES = [name for name in NAMES if not name.startswith("reduce")]


def ends(rng: np.random.Generator, dtype: DType) -> tuple[Any, Any]:
    if dtype is DType.BOOL:
        return tuple(sorted(rng.integers(0, 2, 2)))
    among: Any = INTS if dtype.is_int else FLOATS
    signs = rng.choice([-1, 1], 2)
    with np.errstate(over="ignore"):
        pair = np.sort((rng.choice(among, 2) * signs).astype(dtype.numpy))
    if rng.random() < 0.2:
        pair[1] = pair[0]
    return pair[0], pair[1]


def inside(rng: np.random.Generator, low: Any, high: Any, dtype: DType) -> Any:
    if dtype is DType.BOOL or rng.random() < 0.5:
        return dtype.numpy.type(rng.choice([low, high]))
    if dtype.is_int:
        return dtype.numpy.type(rng.integers(int(low), int(high), endpoint=True))
    a, b = np.clip([float(low), float(high)], -1e300, 1e300)
    point = a + rng.random() * (b - a)
    with np.errstate(over="ignore"):
        return dtype.numpy.type(min(max(point, float(low)), float(high)))


def made(name: str, dtype: DType, to: str, numerics: Numerics) -> Program:
    build = ProgramBuilder(name, numerics)
    types = [dtype] * (OPS[name].arity or 0)
    if name == "select":
        types[0] = DType.BOOL
    operands = [build.input(f"x{k}", Type(one)) for k, one in enumerate(types)]
    attributes = {"to": to} if to else {}
    build.output("y", build.op(name, *operands, **attributes))
    return build.build()


def variants(name: str) -> list[tuple[DType, str]]:
    of = sorted(OPS[name].of, key=lambda one: one.value)
    if name == "convert":
        return [(one, to.value) for one in of for to in DType]
    if name == "uconvert":
        return [(one, to) for one in of for to in ("f64", "f32", "i64")]
    if name == "bitcast":
        return [(DType.F64, "i64"), (DType.I32, "f32"), (DType.I64, "i64")]
    return [(one, "") for one in of]


@pytest.mark.parametrize("numerics", ["exact", "fast"])
@pytest.mark.parametrize("name", NAMES)
def test_an_operation_stays_in_its_range(name: str, numerics: Numerics) -> None:
    rng = np.random.default_rng(5)
    table = expansions() if numerics == "fast" else {}
    for dtype, to in variants(name):
        program = made(name, dtype, to, numerics)
        for _ in range(BOXES):
            pairs = {one.name: ends(rng, one.type.dtype) for one in program.inputs}
            found = Ranges(program, inputs=pairs)
            rows = {
                one.name: np.array(
                    [inside(rng, *pairs[one.name], one.type.dtype) for _ in range(POINTS)]
                )
                for one in program.inputs
            }
            values = interpret(program, trials=POINTS, inputs=rows, expansions=table)["y"]
            for k, value in enumerate(values):
                given = [row[k] for row in rows.values()]
                assert contains(found.outputs()["y"], value), (dtype, to, pairs, given, value)


@pytest.mark.parametrize("name", ["add", "min", "max", "pow", "lt", "ne", "convert", "fma"])
def test_nan_among_operands_is_seen(name: str) -> None:
    """sqrt of [-1, 4] may be NaN; so may the result of an operation on it, or it is the operation's
    result for NaN."""
    for place in range(OPS[name].arity or 0):
        build = ProgramBuilder(name, "exact")
        x = build.op("sqrt", build.input("x"))
        others = [build.input(f"y{k}") for k in range((OPS[name].arity or 0) - 1)]
        operands = [*others[:place], x, *others[place:]]
        attributes = {"to": "i32"} if name == "convert" else {}
        build.output("y", build.op(name, *operands, **attributes))
        program = build.build()
        pairs = {one.name: (-1.0, 4.0) for one in program.inputs}
        found = Ranges(program, inputs=pairs).outputs()["y"]
        rng = np.random.default_rng(1)
        rows = {one.name: rng.uniform(-1, 4, 60) for one in program.inputs}
        values = interpret(program, trials=60, inputs=rows)["y"]
        assert all(contains(found, value) for value in values), place
        assert np.isnan(values).any() == bool(found.nan.any()) or not found.nan.any()


def test_ends_are_rounded_outward_and_no_farther() -> None:
    build = ProgramBuilder("sums", "exact")
    x = build.input("x")
    build.output("inexact", build.add(x, 0.2))
    build.output("exact", build.add(x, 0.5))
    build.output("double", build.mul(x, 2.0))
    build.output("third", build.div(x, 3.0))
    build.output("root", build.op("sqrt", build.abs(x)))
    found = Ranges(build.build(), inputs={"x": (0.25, 4.0)}).outputs()

    def hull(name: str) -> tuple[float, float]:
        low, high, nan = found[name].hull()
        assert not nan
        return low, high

    assert hull("exact") == (0.75, 4.5)
    assert hull("double") == (0.5, 8.0)
    assert hull("root") == (0.5, 2.0)
    low, high = hull("third")
    assert low < 0.25 / 3 < np.nextafter(low, 1) * (1 + 1e-15)
    assert high == np.nextafter(4.0 / 3.0, 2)
    assert hull("inexact")[1] == np.nextafter(4.2, 5)


def test_nothing_passes_zero_by_rounding() -> None:
    """The root of a product of numbers above 0 is no NaN."""
    build = ProgramBuilder("product", "exact")
    x = build.input("x")
    build.output("root", build.op("sqrt", build.mul(x, x)))
    assert not Ranges(build.build(), inputs={"x": (0.0, 1e-200)}).outputs()["root"].nan.any()


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ((0.5, 0.5, False), "0.5"),
        ((0.1, 0.3, False), "[0.1, 0.3]"),
        ((1 / 3, 2 / 3, False), "[0.333333, 0.666667]"),
        ((-1 / 3, 1 / 3, True), "[-0.333334, 0.333334] or NaN"),
        ((1 / 3, 1 / 3, False), "[0.333333, 0.333334]"),
        ((0.0, INFINITY, False), "[0, inf]"),
        ((INFINITY, -INFINITY, True), "NaN"),
        ((INFINITY, -INFINITY, False), "never computed"),
    ],
)
def test_ranges_are_shown_rounded_outward(given: tuple[float, float, bool], text: str) -> None:
    assert shown(*given) == text
    low, high, nan = given
    assert str(Range(np.array([low]), np.array([high]), np.array([nan]))) == text
