"""LLVM values of one trial or of several: scalars, and vectors of `width` lanes.

A Term is uniform (one LLVM scalar for all lanes) or varies (a vector, one element per lane). The
result of uniform terms is uniform, so parameters cost nothing in a loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import llvmlite.ir as ll

from psylang.ir.types import DType

POINTER = ll.PointerType()
I1, I8, I32, I64 = ll.IntType(1), ll.IntType(8), ll.IntType(32), ll.IntType(64)
ELEMENTS: dict[DType, Any] = {
    DType.F64: ll.DoubleType(),
    DType.F32: ll.FloatType(),
    DType.I64: I64,
    DType.I32: I32,
    DType.BOOL: I1,
}
INTRINSIC_NAMES = {DType.F64: "f64", DType.F32: "f32", DType.I64: "i64", DType.I32: "i32"}


@dataclass(frozen=True, slots=True)
class Term:
    """A value of one element: `llvm` is a scalar, or a vector if it varies."""

    llvm: Any
    dtype: DType
    varies: bool


class Lanes:
    """Helpers for terms: types, constants, splats, intrinsics, loops over lanes."""

    def __init__(self, module: Any, builder: Any, width: int) -> None:
        self.module = module
        self.builder = builder
        self.width = width
        # Of each constant that was splat, by identity: the constant, and its vector.
        self._splats: dict[int, tuple[Any, Any]] = {}
        self._vectors = {dtype: ll.VectorType(one, width) for dtype, one in ELEMENTS.items()}

    def llvm_type(self, dtype: DType, varies: bool) -> Any:
        return self._vectors[dtype] if varies else ELEMENTS[dtype]

    def constant(self, value: Any, dtype: DType) -> Term:
        if dtype.is_int:
            value = int(value) & ((1 << dtype.bits) - 1)
        return Term(ll.Constant(ELEMENTS[dtype], value), dtype, False)

    def lane_numbers(self, dtype: DType) -> Any:
        element = ELEMENTS[dtype]
        return ll.Constant(
            ll.VectorType(element, self.width), [element(lane) for lane in range(self.width)]
        )

    def splat(self, term: Term) -> Term:
        """The same in every lane."""
        if term.varies:
            return term
        return Term(self.splat_llvm(term.llvm), term.dtype, True)

    def splat_llvm(self, scalar: Any) -> Any:
        if isinstance(scalar, ll.Constant):
            # One constant has many uses: its vector is made, and written, once.
            known = self._splats.get(id(scalar))
            if known is None:
                vector = ll.VectorType(scalar.type, self.width)
                known = scalar, ll.Constant(vector, [scalar] * self.width)
                self._splats[id(scalar)] = known
            return known[1]
        vector = ll.VectorType(scalar.type, self.width)
        builder = self.builder
        undefined = ll.Constant(vector, ll.Undefined)
        first = builder.insert_element(undefined, scalar, I32(0))
        zeros = ll.Constant(ll.VectorType(I32, self.width), [I32(0)] * self.width)
        return builder.shuffle_vector(first, undefined, zeros)

    def alike(self, terms: Sequence[Term]) -> tuple[list[Any], bool]:
        """The terms' LLVM values: all vectors if one is a vector."""
        varies = any(term.varies for term in terms)
        return [(self.splat(term) if varies else term).llvm for term in terms], varies

    def intrinsic(self, name: str, terms: Sequence[Term], flags: Sequence[str] = ()) -> Term:
        """llvm.NAME of floats of one type. flags: of fast-math."""
        values, varies = self.alike(terms)
        dtype = terms[0].dtype
        suffix = f"v{self.width}{INTRINSIC_NAMES[dtype]}" if varies else INTRINSIC_NAMES[dtype]
        function = self.function(
            f"llvm.{name}.{suffix}", values[0].type, [value.type for value in values]
        )
        return Term(self.builder.call(function, values, fastmath=flags), dtype, varies)

    def libm(self, name: str, terms: Sequence[Term]) -> Term:
        """libm's function, lane by lane."""
        values, varies = self.alike(terms)
        dtype = terms[0].dtype
        element = ELEMENTS[dtype]
        function = self.function(
            name if dtype is DType.F64 else f"{name}f", element, [element] * len(values)
        )
        if not varies:
            return Term(self.builder.call(function, values), dtype, False)
        result = ll.Constant(ll.VectorType(element, self.width), ll.Undefined)
        for lane in range(self.width):
            scalars = [self.builder.extract_element(value, I32(lane)) for value in values]
            one = self.builder.call(function, scalars)
            result = self.builder.insert_element(result, one, I32(lane))
        return Term(result, dtype, True)

    def function(self, name: str, result: Any, arguments: Sequence[Any]) -> Any:
        known = self.module.globals.get(name)
        return known or ll.Function(self.module, ll.FunctionType(result, arguments), name)

    def bits(self, mask: Any) -> Any:
        """One condition per lane as an i64: lane 0 is bit 0."""
        whole = self.builder.bitcast(mask, ll.IntType(self.width))
        return self.builder.zext(whole, I64)

    def any(self, mask: Any) -> Any:
        whole = self.builder.bitcast(mask, ll.IntType(self.width))
        return self.builder.icmp_unsigned("!=", whole, ll.IntType(self.width)(0))

    def not_(self, mask: Any) -> Any:
        return self.builder.xor(mask, ll.Constant(mask.type, [I1(1)] * self.width))

    def for_bits(self, bits: Any, inside: Callable[[Any], None]) -> None:
        """`inside(lane)` for each bit of an i64 that is not zero, from the lowest on."""
        builder = self.builder
        before = builder.block
        body = builder.append_basic_block("lane")
        after = builder.append_basic_block("lanes.done")
        builder.branch(body)
        builder.position_at_end(body)
        left = builder.phi(I64)
        left.add_incoming(bits, before)
        cttz = self.function("llvm.cttz.i64", I64, [I64, I1])
        inside(builder.call(cttz, [left, I1(1)]))
        rest = builder.and_(left, builder.sub(left, I64(1)))
        left.add_incoming(rest, builder.block)
        builder.cbranch(builder.icmp_unsigned("!=", rest, I64(0)), body, after)
        builder.position_at_end(after)
