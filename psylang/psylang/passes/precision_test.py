"""f32 programs: the rounding of each operation, and the refusals."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings

from psylang.ir.builder import ProgramBuilder
from psylang.ir.graph import Op, Origin, Program
from psylang.ir.interpret import interpret
from psylang.ir.ops import DRAWS, STRUCTURED
from psylang.ir.programs_fixture import programs, results, same
from psylang.ir.types import F32, DType
from psylang.ir.verify import verify
from psylang.passes.precision import Precision
from psylang.passes.rewrite import PassError, Rewriter

QUICK = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
)


class _Rounding(Rewriter):
    """The same program with f64 values, but each operation computes in f32, between two
    conversions. So it is independent of regions, and is no copy of the pass."""

    def visit_all(self, ops: Iterable[Op]) -> None:
        if ops is self.source.body.ops:
            for one in self.source.body.arguments:
                if self.wide(one.type.dtype):
                    narrow = self.convert(one, DType.F32)
                    self.replace([one], [self.convert(narrow, DType.F64)])
        super().visit_all(ops)

    def visit(self, op: Op) -> None:
        if op.name in STRUCTURED:
            self.keep(op)
            return
        operands = [
            self.convert(value, DType.F32) if self.wide(value.type.dtype) else value
            for value in self.all_now(op.operands)
        ]
        attributes = dict(op.attributes)
        if self.wide(op.result.type.dtype):
            if op.name == "constant":
                with np.errstate(all="ignore"):
                    value = self.constant(op.attributes["value"], op.result.type.of(DType.F32))
                self.replace(op.results, [self.convert(value, DType.F64)])
                return
            if op.name in DRAWS or "to" in attributes:
                attributes["to"] = "f32"
        value = self.op(op.name, *operands, **attributes)
        self.replace(op.results, [self.convert(value, op.result.type.dtype)])

    @staticmethod
    def wide(dtype: DType) -> bool:
        return dtype is DType.F64


def _looks_at_bits(program: Program) -> bool:
    return any(
        op.name == "bitcast" and DType.F64 in (op.operands[0].type.dtype, op.result.type.dtype)
        for op in program.body.walk()
    )


def test_every_operation_is_rounded_to_f32() -> None:
    seen = 0

    @QUICK
    @given(programs("fast"))
    def check(program: Program) -> None:
        nonlocal seen
        if _looks_at_bits(program):
            with pytest.raises(PassError, match="is about the bits of f64, which f32 has not"):
                Precision()(program)
            return
        after = Precision()(program)
        verify(after)
        for op in after.body.walk():
            if DType.F64 in {value.type.dtype for value in op.results}:
                assert op.name == "convert"
                assert op.result in after.body.yields
        assert same(results(_Rounding(program).result()), results(after))
        assert Precision(DType.F64)(program) is program
        seen += 1

    check()
    assert seen > 8


def test_conversions_are_at_the_ends_alone() -> None:
    build = ProgramBuilder("ends")
    x = build.parameter("x", 0.1)
    build.output("same", x)
    build.output("third", build.div(x, 3.0))
    found = interpret(Precision()(build.build()))
    assert found["same"][0] == np.float64(np.float32(0.1))
    assert found["third"][0] == np.float64(np.float32(0.1) / np.float32(3))
    assert found["third"].dtype == np.float64


def test_numbers_beyond_f32_are_infinite_and_integers_stay() -> None:
    build = ProgramBuilder("far")
    build.output("far", build.constant(1e300))
    build.output("near", build.constant(1e-300))
    n = build.parameter("n", (1 << 40) + 1)
    build.output("float", build.convert(n, DType.F64))
    build.output("single", build.constant(0.5, F32))
    given = build.build()
    found = interpret(Precision()(given))
    assert (found["far"][0], found["near"][0], found["float"][0]) == (np.inf, 0.0, 2.0**40)
    assert found["single"].dtype == np.float32


def test_a_program_without_f64_is_left_alone() -> None:
    build = ProgramBuilder("whole")
    build.output("seed", build.add(build.seed, build.trial))
    program = build.build()
    assert Precision()(program) is program


def test_exact_and_words_are_refused() -> None:
    with pytest.raises(PassError, match="one: `exact` is what PsyNeuLink computes, in f64; f32 is"):
        Precision()(ProgramBuilder("one", "exact").build())
    build = ProgramBuilder("bits")
    with build.at(Origin("unit")):
        build.output("y", build.op("bitcast", build.parameter("x", 1.0), to="i64"))
    with pytest.raises(PassError, match=r"bits: `bitcast` of f64 to i64 \(unit\) is about"):
        Precision()(build.build())
    with pytest.raises(PassError, match="bits: no program computes in i32 alone"):
        Precision(DType.I32)(build.build())
