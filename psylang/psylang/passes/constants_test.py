"""Folding and algebra: the same bits as without them, and as short as promised."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from psylang.ir.builder import ProgramBuilder
from psylang.ir.graph import Program, Value
from psylang.ir.interpret import interpret
from psylang.ir.ops import OPS
from psylang.ir.programs_fixture import FLOATS, INTS, names, same
from psylang.ir.text import print_program
from psylang.ir.types import BOOL, F32, F64, I32, I64, DType, Type
from psylang.passes.constants import Constants
from psylang.passes.cse import CommonSubexpressions
from psylang.passes.dead_code import DeadCode

Make = Callable[[ProgramBuilder, Value, Value], Value]
EDGES: dict[DType, Sequence[Any]] = {
    DType.F64: (*FLOATS, 1e-310, -1e308, 3.0),
    DType.F32: (0.0, -0.0, 1.0, -2.5, 1e-40, 3e38, np.inf, -np.inf, np.nan),
    DType.I32: (*INTS, 12345, -4, 2**30),
    DType.I64: (*INTS, 2**63 - 1, -(2**63), 2**32, -(2**32), 2**40 + 5),
    DType.BOOL: (False, True),
}


def _program(make: Make, of: Type) -> Program:
    build = ProgramBuilder("one", "exact")
    x, y = build.parameter("x", 0, type=of), build.parameter("y", 0, type=of)
    build.output("result", make(build, x, y))
    return build.build()


def _simple(program: Program) -> Program:
    """Simplifies until nothing changes, so a rule that undoes another one is found here."""
    for _ in range(10):
        before = program
        for one in (Constants(), CommonSubexpressions(), DeadCode()):
            program = one(program)
        if program is before:
            return program
    raise AssertionError(print_program(program))


def _check(before: Program, after: Program, of: Type) -> None:
    for x in EDGES[of.dtype]:
        for y in EDGES[of.dtype][-5:]:
            given = {"x": x, "y": y}
            one = interpret(before, parameters=given)
            two = interpret(after, parameters=given)
            assert same(one, two), (x, y, one, two, print_program(after))


PAIRS = tuple(name for name, info in OPS.items() if info.arity == 2 and name not in ("dot", "pow"))
SINGLE = ("neg", "abs", "floor", "not")


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.data())
def test_chains_with_constants_keep_every_bit(data: st.DataObject) -> None:
    of = data.draw(st.sampled_from((I32, I32, I32, I64, F64, F32, BOOL)))
    fit = [name for name in (*PAIRS, *SINGLE) if of.dtype in OPS[name].of]

    def make(build: ProgramBuilder, x: Value, y: Value) -> Value:
        values = [x, x]
        conditions = [build.constant(True, BOOL), build.op("eq", x, y)]
        for _ in range(data.draw(st.integers(1, 6))):
            name = data.draw(
                st.sampled_from([*fit, "select", *(["fma"] if of.dtype.is_float else [])])
            )
            numbers: Any = EDGES[of.dtype]
            among = [build.constant(data.draw(st.sampled_from(numbers)), of), y, *values[-2:]]
            a, b = values[-1], data.draw(st.sampled_from(among))
            if data.draw(st.integers(0, 3)) == 0:
                a, b = b, a
            if name == "fma":
                values.append(build.fma(a, b, data.draw(st.sampled_from(among))))
            elif name == "select":
                values.append(build.op("select", data.draw(st.sampled_from(conditions)), a, b))
            elif name in SINGLE:
                values.append(build.op(name, values[-1]))
            else:
                result = build.op(name, a, b)
                (conditions if result.type == BOOL else values).append(result)
        return build.select(conditions[-1], values[-1], x)

    before = _program(make, of)
    _check(before, _simple(before), of)


def _op(name: str, *constants: Any) -> Make:
    """The operation on x and constants of its type."""
    return lambda build, x, y: build.op(name, x, *(build.constant(c, x.type) for c in constants))


def _word(build: ProgramBuilder, x: Value, k: int, c: int) -> Value:
    """x << k | c"""
    return build.op("or", build.op("shl", x, build.constant(k, x.type)), build.constant(c, x.type))


@pytest.mark.parametrize(
    ("make", "of", "left"),
    [
        # Floats: rules that are exact for every value, and rules that only look exact.
        (_op("mul", 1.0), F64, []),
        (_op("mul", 0.0), F64, ["mul"]),
        (_op("mul", -1.0), F64, ["neg"]),
        (lambda b, x, y: b.mul(b.neg(x), 3.0), F64, ["mul"]),
        (lambda b, x, y: b.mul(b.neg(x), b.neg(y)), F64, ["mul"]),
        (lambda b, x, y: b.add(x, b.neg(y)), F64, ["sub"]),
        (lambda b, x, y: b.add(b.neg(x), y), F64, ["sub"]),
        (lambda b, x, y: b.sub(x, b.neg(y)), F64, ["add"]),
        (lambda b, x, y: b.sub(-0.0, x), F64, ["neg"]),
        (lambda b, x, y: b.sub(0.0, x), F64, ["sub"]),
        (lambda b, x, y: b.fma(x, 1.0, y), F64, ["add"]),
        (lambda b, x, y: b.fma(-1.0, x, y), F64, ["sub"]),
        (lambda b, x, y: b.fma(x, y, -0.0), F64, ["mul"]),
        (lambda b, x, y: b.fma(x, y, 0.0), F64, ["fma"]),
        (_op("add", 0.0), F64, ["add"]),
        (_op("add", -0.0), F64, []),
        (_op("sub", 0.0), F64, []),
        (_op("sub", -0.0), F64, ["sub"]),
        (_op("div", 1.0), F64, []),
        (_op("div", -8.0), F64, ["mul"]),
        (_op("div", 3.0), F64, ["div"]),
        (_op("div", 5e-324), F64, ["div"]),
        (lambda b, x, y: b.sub(x, x), F64, ["sub"]),
        (lambda b, x, y: b.op("eq", x, x), F64, ["eq"]),
        (lambda b, x, y: b.op("not", b.lt(x, y)), F64, ["lt", "not"]),
        (lambda b, x, y: b.op("not", b.op("eq", x, y)), F64, ["ne"]),
        (lambda b, x, y: b.neg(b.neg(x)), F64, []),
        (lambda b, x, y: b.abs(b.neg(b.abs(x))), F64, ["abs"]),
        (lambda b, x, y: b.op("max", x, x), F64, []),
        # Choices.
        (lambda b, x, y: b.select(b.lt(x, y), x, x), F64, []),
        (lambda b, x, y: b.select(b.op("not", b.lt(x, y)), x, y), F64, ["lt", "select"]),
        (lambda b, x, y: b.select(b.constant(False, BOOL), x, y), F64, []),
        (
            lambda b, x, y: b.select(b.lt(x, y), b.select(b.lt(x, y), x, y), b.neg(x)),
            F64,
            ["lt", "neg", "select"],
        ),
        (lambda b, x, y: b.select(x, y, b.constant(False, BOOL)), BOOL, ["and"]),
        (lambda b, x, y: b.op("eq", x, b.constant(True, BOOL)), BOOL, []),
        # Integers.
        (lambda b, x, y: b.sub(x, x), I32, []),
        (lambda b, x, y: b.op("not", b.lt(x, y)), I32, ["ge"]),
        (_op("mul", 8), I32, ["shl"]),
        (_op("mul", -(2**31)), I32, ["shl"]),
        (_op("udiv", 16), I64, ["lshr"]),
        (_op("urem", 16), I64, ["and"]),
        (_op("udiv", 0), I32, []),
        (_op("shl", 32), I32, []),
        (lambda b, x, y: b.add(b.add(b.sub(x, 3), 1), 2), I32, []),
        # One block of four draws.
        (lambda b, x, y: b.op("lshr", _word(b, x, 2, 3), b.constant(2, I32)), I32, ["and"]),
        (lambda b, x, y: b.op("lshr", _word(b, x, 2, 3), 1), I32, ["shl", "lshr", "or"]),
        (lambda b, x, y: b.op("and", _word(b, x, 2, 3), b.constant(3, I32)), I32, []),
        (
            lambda b, x, y: b.op("and", _word(b, x, 2, 3), b.constant(7, I32)),
            I32,
            ["shl", "or", "and"],
        ),
        (lambda b, x, y: b.add(_word(b, x, 2, 1), 2), I32, ["shl", "or"]),
        (lambda b, x, y: b.add(_word(b, x, 2, 3), 1), I32, ["shl", "or", "add"]),
        (
            lambda b, x, y: b.op("lshr", _word(b, b.op("lshr", x, 2), 2, 1), b.constant(2, I32)),
            I32,
            ["lshr"],
        ),
        (lambda b, x, y: b.op("and", b.op("uconvert", x, to="i64"), 2**32 - 1), I32, ["uconvert"]),
        (lambda b, x, y: b.lt(_word(b, x, 2, 3), 8), I32, ["shl", "lt"]),
        (lambda b, x, y: b.lt(_word(b, x, 2, 3), -(2**31)), I32, ["shl", "lt"]),
        (lambda b, x, y: b.ge(_word(b, x, 3, 3), -4), I32, ["shl", "ge"]),
        (lambda b, x, y: b.lt(_word(b, x, 2, 3), 6), I32, ["shl", "or", "lt"]),
        (lambda b, x, y: b.op("gt", _word(b, x, 2, 3), 8), I32, ["shl", "or", "gt"]),
        (lambda b, x, y: b.op("bitcast", b.op("bitcast", x, to="f64"), to="i64"), I64, []),
    ],
)
def test_the_remaining_program_is_as_short_as_it_can_be(
    make: Make, of: Type, left: list[str]
) -> None:
    before = _program(make, of)
    after = _simple(before)
    assert names(after) == left, print_program(after)
    _check(before, after, of)


def test_mathematics_folds_in_exact_alone() -> None:
    for numerics, left in (("exact", []), ("fast", ["exp"])):
        build = ProgramBuilder("one", numerics)  # type: ignore[arg-type]
        build.output("y", build.op("exp", build.constant(1.0)))
        assert names(Constants()(build.build())) == left


def test_constants_of_vectors_fold_up_to_a_size() -> None:
    build = ProgramBuilder("one")
    row = build.constant(np.arange(10.0), Type(DType.F64, (10,)))
    build.output("y", build.add(row, row))
    program = build.build()
    assert names(Constants()(program)) == []
    assert Constants(most=9)(program) is program


def test_an_if_of_a_known_condition_is_its_region() -> None:
    build = ProgramBuilder("one", "exact")
    stream = build.stream("noise")
    condition = build.lt(build.constant(1.0), 2.0)
    (y,) = build.if_(condition, lambda: [build.normal(stream)], lambda: [build.uniform(stream)])
    build.output("y", y)
    program = build.build()
    after = Constants()(program)
    assert names(after) == ["random.normal"]
    assert same(interpret(program), interpret(after))
