"""The refusals of expansion, and their messages."""

from __future__ import annotations

import pytest

from psylang.ir.builder import Builder, ProgramBuilder
from psylang.ir.graph import Op, Origin, Program, Region, Value
from psylang.ir.types import F32, F64, DType, Type
from psylang.passes.expand import Expand, expand
from psylang.passes.rewrite import PassError


def _exp(of: Type = F64, numerics: str = "fast") -> Program:
    build = ProgramBuilder("one", numerics)  # type: ignore[arg-type]
    with build.at(Origin("unit")):
        build.output("y", build.op("exp", build.constant(1.0, of)))
    return build.build()


def _as(of: Type, *ops: str) -> Region:
    build = Builder()

    def inside(x: Value) -> list[Value]:
        for name in ops:
            x = build.op(name, x)
        return [x]

    return build.region([of], inside)


def test_exact_has_no_expansions() -> None:
    with pytest.raises(PassError, match="one: expansions are the meaning of `fast`; in `exact`"):
        expand(_exp(numerics="exact"), {})


def test_vectors_are_scalarised_first() -> None:
    program = _exp(Type(DType.F64, (3,)))
    with pytest.raises(PassError, match=r"`exp` of 3xf64 \(unit\) is not expanded: run Scalarise"):
        expand(program, {"exp": lambda op: _as(F64, "neg")})


def test_an_expansion_must_have_the_types_of_its_operation() -> None:
    with pytest.raises(PassError, match=r"of `exp` takes \(f32\), the operation \(f64\)"):
        expand(_exp(), {"exp": lambda op: _as(F32, "neg")})
    nothing = Region((Value(F64),), (), ())
    with pytest.raises(PassError, match=r"of `exp` gives \(\), the operation \(f64\)"):
        expand(_exp(), {"exp": lambda op: nothing})


def test_an_expansion_must_not_contain_itself() -> None:
    circle = {"exp": lambda op: _as(F64, "tanh"), "tanh": lambda op: _as(F64, "neg", "exp")}
    with pytest.raises(PassError, match="of `exp` contains itself: exp -> tanh -> exp"):
        expand(_exp(), circle)


def test_an_expansion_is_asked_once_for_each_kind_of_operation() -> None:
    asked: list[Op] = []

    def square(op: Op) -> Region:
        asked.append(op)
        of = op.result.type
        build = Builder()
        return build.region([of], lambda x: [build.mul(x, x)])

    build = ProgramBuilder("many")
    for number in range(3):
        x, y = build.parameter(f"x{number}", 0.5), build.parameter(f"y{number}", 0.5, type=F32)
        build.output(f"o{number}", build.op("exp", x))
        build.output(f"s{number}", build.op("exp", y))
    after = Expand({"exp": square})(build.build())
    assert [op.result.type for op in asked] == [F64, F32]
    values = [op.result for op in after.body.walk() if op.name == "mul"]
    assert len(set(values)) == 6


def test_operations_without_an_expansion_stay() -> None:
    program = _exp()
    assert expand(program, {}) is program
