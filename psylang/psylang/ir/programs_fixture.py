"""Shared by tests: random programs, small expansions, and the comparison.

Programs have every operation of OPS, vectors and matrices, nested loops, ifs and argmins, draws,
states, and constants that are easy to get wrong (-0.0, infinities, NaN, the ends of integers).
They never read the bits of a NaN, because those are unspecified.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from psylang.ir.builder import Builder, ProgramBuilder
from psylang.ir.graph import Numerics, Op, Origin, Program, Region, Value
from psylang.ir.interpret import Expansion, interpret
from psylang.ir.ops import DRAWS, OPS, RESEEDS
from psylang.ir.types import BOOL, F64, I32, I64, DType, Type

SHAPES = ((), (), (), (2,), (3,), (2, 2), (2, 3))
FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 3.5, -7.25, 1e300, 5e-324, np.inf, -np.inf, np.nan)
INTS = (0, 1, -1, 2, 3, 4, 5, 7, 8, 31, 32, 33, 64, 2**31 - 1, -(2**31))
DTYPES = tuple(DType)


class _Maker:
    """Appends random operations; `pool` has the values that they may use."""

    def __init__(self, draw: Any, build: ProgramBuilder, most: int) -> None:
        self.draw = draw
        self.build = build
        self.pool: list[Value] = []
        self.counters: list[Value] = []
        self.left = most
        self.streams: list[int] = []

    def one_of(self, things: Sequence[Any]) -> Any:
        return things[self.draw(st.integers(0, len(things) - 1))]

    def constant(self, type: Type) -> Value:
        if type.dtype is DType.BOOL:
            flat = [self.one_of((False, True)) for _ in range(type.size)]
        else:
            among: Any = FLOATS if type.dtype.is_float else INTS
            flat = [self.one_of(among) for _ in range(type.size)]
        with np.errstate(all="ignore"):
            value = np.array(flat).astype(type.dtype.numpy).reshape(type.shape)
        return self.build.constant(value, type)

    def value(self, type: Type) -> Value:
        """A value of the pool, more likely a late one, or a constant."""
        fit = [value for value in self.pool if value.type == type]
        if not fit or self.draw(st.integers(0, 5)) == 0:
            return self.constant(type)
        chosen: Value = fit[-1 - self.draw(st.integers(0, min(len(fit) - 1, 6)))]
        return chosen

    def give(self, *values: Value) -> None:
        self.pool.extend(values)

    # Operations.

    def step(self, depth: int) -> None:
        self.left -= 1
        kind = self.draw(st.integers(0, 24))
        with self.build.at(Origin(self.one_of(("", "a", "b")))):
            if kind == 0 and depth < 3:
                self.loop(depth)
            elif kind == 1 and depth < 3:
                self.branch(depth)
            elif kind == 2 and depth < 3:
                self.argmin(depth)
            elif kind == 3:
                self.give(self.random())
            else:
                self.operation()

    def steps(self, count: int, depth: int) -> None:
        for _ in range(self.draw(st.integers(1, count))):
            if self.left > 0:
                self.step(depth)

    def operation(self) -> None:
        name = self.one_of(NAMES)
        info = OPS[name]
        dtype = self.one_of(sorted(info.of, key=lambda one: one.value))
        shape = self.one_of(SHAPES)
        build = self.build
        if name == "constant":
            self.give(self.constant(Type(dtype, shape)))
        elif name == "stack":
            size = Type(dtype, shape).size
            scalars = [self.value(Type(dtype)) for _ in range(size)]
            self.give(build.op("stack", *scalars, shape=shape))
        elif name == "extract":
            index = tuple(self.draw(st.integers(0, extent - 1)) for extent in shape)
            self.give(build.op("extract", self.value(Type(dtype, shape)), index=index))
        elif name == "dot":
            left, right = self.one_of(
                (((2,), (2,)), ((2, 2), (2,)), ((2,), (2, 3)), ((2, 3), (3,)), ((2, 2), (2, 3)))
            )
            self.give(
                build.op("dot", self.value(Type(dtype, left)), self.value(Type(dtype, right)))
            )
        elif name == "select":
            condition = self.value(Type(DType.BOOL, self.one_of(((), shape))))
            both = [self.value(Type(dtype, self.one_of(((), shape)))) for _ in range(2)]
            self.give(build.op("select", condition, *both))
        elif name in ("convert", "uconvert"):
            among = DTYPES if name == "convert" else (DType.F64, DType.F32, DType.I64)
            to = self.one_of(among).value
            self.give(build.op(name, self.value(Type(dtype, shape)), to=to))
        elif name == "bitcast":
            value = self.value(Type(dtype, shape))
            other = {"f64": "i64", "f32": "i32", "i64": "f64", "i32": "f32"}[dtype.value]
            if dtype.is_float:
                zero = build.constant(0.0, Type(dtype))
                value = build.op("select", build.op("eq", value, value), value, zero)
            self.give(build.op(name, value, to=self.one_of((other, dtype.value))))
        else:
            count = info.arity or 0
            operands = [
                self.value(Type(dtype, self.one_of((shape, shape, ())))) for _ in range(count)
            ]
            self.give(build.op(name, *operands))

    def random(self) -> Value:
        exact = self.build.numerics == "exact"
        name = self.one_of(sorted(DRAWS if exact else DRAWS - {RESEEDS}))
        step = self.one_of((*self.counters, *self.counters[-1:] * 4, self.value(I32)))
        candidate = self.value(I32) if self.one_of((False, True)) else self.build.constant(0, I32)
        return self.build.op(
            name,
            self.build.seed,
            self.build.trial,
            candidate,
            step,
            stream=self.one_of(self.streams),
        )

    # Structure. The values of a region leave the pool after it.

    def loop(self, depth: int) -> None:
        build = self.build
        carried = [
            self.value(Type(self.one_of(DTYPES), self.one_of(SHAPES)))
            for _ in range(self.draw(st.integers(0, 3)))
        ]
        begin = self.one_of((0, 0, 4, -8, 1))
        rounds = self.one_of((1, 2, 3, 5, 7, 9))
        limit = self.one_of((0, rounds + 1))

        def inside(n: Value, *values: Value) -> tuple[Value, list[Value]]:
            size = len(self.pool)
            self.give(n, *values)
            self.counters.append(n)
            self.steps(5, depth + 1)
            self.counters.pop()
            after = [self.value(value.type) for value in values]
            more = build.op("add", n, build.constant(1, I32))
            again = build.op("lt", more, build.constant(begin + rounds, I32))
            if self.one_of((False, True)):
                again = build.op("and", again, self.value(BOOL))
            del self.pool[size:]
            return again, [more, *after]

        self.give(*build.loop([build.constant(begin, I32), *carried], inside, limit=limit))

    def branch(self, depth: int) -> None:
        types = [
            Type(self.one_of(DTYPES), self.one_of(SHAPES))
            for _ in range(self.draw(st.integers(0, 3)))
        ]

        def inside() -> list[Value]:
            size = len(self.pool)
            self.steps(3, depth + 1)
            values = [self.value(type) for type in types]
            del self.pool[size:]
            return values

        self.give(*self.build.if_(self.value(BOOL), inside, inside))

    def argmin(self, depth: int) -> None:
        build = self.build
        dtype = self.one_of((DType.F64, DType.F32))

        def inside(candidate: Value) -> Value:
            size = len(self.pool)
            self.give(candidate)
            self.steps(4, depth + 1)
            cost = self.value(Type(dtype))
            del self.pool[size:]
            return cost

        count = build.op("and", self.value(I32), build.constant(3, I32))
        self.give(*build.argmin(count, inside))


NAMES = tuple(sorted(set(OPS) - DRAWS))


@st.composite
def programs(draw: Any, numerics: Numerics | None = None, most: int = 30) -> Program:
    """A random program of about `most` operations in its text."""
    if numerics is None:
        numerics = draw(st.sampled_from(("exact", "fast")))
    build = ProgramBuilder("random", numerics)
    make = _Maker(draw, build, most)
    make.streams = [build.stream("one", 3), build.stream("two", 8)]
    shapes = draw(st.lists(st.sampled_from(SHAPES), min_size=3, max_size=3))
    make.give(build.parameter("p", 0.75), build.parameter("q", np.full(shapes[0], -2.5)))
    make.give(build.parameter("k", 5, type=I32))
    make.give(
        build.input("i", default=1.25),
        build.input("v", Type(DType.F64, shapes[1]), 0.1 + np.zeros(shapes[1])),
    )
    states = [
        ("s", build.state("s", 0.5)),
        ("t", build.state("t", np.ones(shapes[2]))),
        ("u", build.state("u", 0)),
    ]
    make.give(*(value for _, value in states))
    make.give(build.convert(build.trial, DType.I32))
    make.give(build.op("lt", build.trial, build.constant(1, I64)))
    make.steps(most, 0)
    for name, value in states:
        if draw(st.booleans()):
            build.set_state(name, make.value(value.type))
    some = draw(st.lists(st.sampled_from(make.pool), min_size=1, max_size=6))
    for number, value in enumerate(some):
        build.output(f"o{number}", value)
    return build.build()


# Expansions. Bad random numbers, but four steps share a block, as with Philox.


def _region(types: Sequence[Type], inside: Any) -> Region:
    build = Builder()
    return build.region(types, lambda *values: [inside(build, *values)])


def _mixed(build: Builder, op: Op, seed: Value, trial: Value, *words: Value) -> Value:
    candidate, step = words
    block = build.op("lshr", step, build.constant(2, I32))
    lane = build.op("and", step, build.constant(3, I32))
    key = build.op("xor", build.convert(seed, DType.I32), build.convert(trial, DType.I32))
    word = build.op("mulhi", build.op("add", block, candidate), build.constant(-0x2DAEE1AD, I32))
    word = build.op("xor", word, build.op("mul", block, build.constant(0x6C078965, I32)))
    word = build.op("xor", word, build.op("add", key, build.constant(op.attributes["stream"], I32)))
    lanes = [build.op("mul", word, build.constant(2 * n + 77777, I32)) for n in range(4)]
    chosen = lanes[3]
    for n in (2, 1, 0):
        chosen = build.op("select", build.op("eq", lane, build.constant(n, I32)), lanes[n], chosen)
    unit = build.op("uconvert", chosen, to="f64")
    return build.convert(build.mul(build.add(unit, 0.5), 2.0**-32), op.result.type.dtype)


def _uniform(op: Op) -> Region:
    return _region([I64, I64, I32, I32], lambda build, *words: _mixed(build, op, *words))


def _normal(op: Op) -> Region:
    def inside(build: Builder, *words: Value) -> Value:
        unit = _mixed(build, op, *words)
        return build.mul(build.op("log", unit), build.op("sqrt", unit))

    return _region([I64, I64, I32, I32], inside)


def _function(op: Op) -> Region:
    types = [value.type.scalar for value in op.operands]

    def inside(build: Builder, *values: Value) -> Value:
        x = values[0]
        large = build.ge(build.abs(x), 4.0)
        (y,) = build.if_(large, lambda: [build.mul(x, 0.5)], lambda: [build.fma(x, x, 1.0)])
        return build.sub(y, values[-1])

    return _region(types, inside)


EXPANSIONS: Mapping[str, Expansion] = {
    "random.uniform": _uniform,
    "random.normal": _normal,
    **dict.fromkeys(("exp", "log", "sin", "cos", "tanh", "pow"), _function),
}
TRIALS = 3


def results(program: Program) -> dict[str, NDArray[Any]]:
    """Outputs of two sequences of TRIALS trials."""
    expansions = EXPANSIONS if program.numerics == "fast" else {}
    return interpret(program, trials=TRIALS, sequences=2, seed=11, expansions=expansions)


def same(before: Mapping[str, NDArray[Any]], after: Mapping[str, NDArray[Any]]) -> bool:
    """Equal bit by bit, except for the bits of a NaN."""
    return before.keys() == after.keys() and all(
        one.shape == after[name].shape and _bits(one) == _bits(after[name])
        for name, one in before.items()
    )


def _bits(array: NDArray[Any]) -> bytes:
    if array.dtype.kind == "f":
        array = np.where(np.isnan(array), array.dtype.type(np.nan), array)
    return array.tobytes()


def only(program: Program, name: str) -> Op:
    """The one operation of that name."""
    (found,) = (op for op in program.body.walk() if op.name == name)
    return found


def names(program: Program) -> list[str]:
    """Names of all operations but constants, in order."""
    return [op.name for op in program.body.walk() if op.name != "constant"]


__all__ = ["EXPANSIONS", "F64", "names", "only", "programs", "results", "same"]
