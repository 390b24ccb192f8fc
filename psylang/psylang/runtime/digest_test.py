"""Equal programs have equal digests; whatever changes the machine code changes the digest."""

from __future__ import annotations

from dataclasses import replace

import pytest

from psylang.ir.builder import ProgramBuilder
from psylang.ir.graph import Program
from psylang.runtime.digest import digest


def program(factor: float = 2.0, op: str = "add", default: float = 1.0, hint: str = "") -> Program:
    build = ProgramBuilder("p")
    a = build.parameter("a", default)
    x = build.input("x")
    build.output("y", build.op(op, build.mul(a, factor), x, hint=hint))
    return build.build()


def test_the_same_program_built_twice_has_one_digest() -> None:
    assert digest(program()) == digest(program())
    assert len(digest(program())) == 64


def test_hints_and_defaults_do_not_count() -> None:
    assert digest(program()) == digest(program(default=7.0, hint="sum"))


@pytest.mark.parametrize(
    "other",
    [
        program(factor=2.5),
        program(factor=-0.0),
        program(op="sub"),
        replace(program(), numerics="exact"),
        replace(program(), name="q"),
        replace(program(), parameters=(replace(program().parameters[0], range=(0.0, 1.0)),)),
    ],
)
def test_a_change_of_the_code_changes_the_digest(other: Program) -> None:
    assert digest(other) != digest(program())


def test_zeros_of_both_signs_differ() -> None:
    assert digest(program(factor=0.0)) != digest(program(factor=-0.0))


def test_operands_count_in_their_order() -> None:
    def of(swap: bool) -> Program:
        build = ProgramBuilder("p")
        a, x = build.parameter("a", 1.0), build.input("x")
        build.output("y", build.sub(x, a) if swap else build.sub(a, x))
        return build.build()

    assert digest(of(False)) != digest(of(True))
