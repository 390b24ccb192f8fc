"""Precision: turns a program in f64 into one that computes in f32.

Half the bytes give twice the lanes of a vector register, and shorter polynomials suffice. For the
caller only the last digits differ: parameters, inputs, states and outputs stay f64, converted once
on the way in and once on the way out. f32 must be requested: f64 is the
default, and `exact`, which is defined by the f64 of PsyNeuLink, is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from psylang.ir.builder import plain
from psylang.ir.graph import Attribute, Op, Program, Region, Value
from psylang.ir.ops import DRAWS
from psylang.ir.types import DType, Type
from psylang.passes.rewrite import PassError, Rewriter


@dataclass(frozen=True)
class Precision:
    """to: F32, or F64, which leaves the program as it is."""

    to: DType = DType.F32
    contract: ClassVar[str] = """
    needs  a verified program; before Expand, for afterwards there are bits of f64 in it
    keeps  the signature, so the ABI; integers, conditions, control, counters and words of draws
    gives  no f64 in the body but arguments, which are converted at its begin, and conversions at
           its end; constants rounded once (beyond 3.4e38 to infinity); draws `to` f32
    raises PassError: numerics `exact`, a bitcast of or to f64, a `to` that is no float
    """

    def __call__(self, program: Program) -> Program:
        if not self.to.is_float:
            raise PassError(f"{program.name}: no program computes in {self.to.value} alone")
        return program if self.to is DType.F64 else single(program)


def single(program: Program) -> Program:
    """The program in f32. PassError: as Precision says."""
    if program.numerics == "exact":
        raise PassError(
            f"{program.name}: `exact` is what PsyNeuLink computes, in f64; f32 is for `fast`"
        )
    return _Narrower(program).result()


def _narrow(type: Type) -> Type:
    return type.of(DType.F32) if type.dtype is DType.F64 else type


class _Narrower(Rewriter):
    def rewritten(self, region: Region) -> Region:
        if region is self.source.body:
            return self._body(region)
        arguments = self._narrowed(region.arguments)
        self._open.append([])
        self.visit_all(region.ops)
        ops = tuple(self._open.pop())
        yields = self.all_now(region.yields)
        if (arguments, ops, yields) == (region.arguments, region.ops, region.yields):
            return region
        return Region(arguments, ops, yields)

    def _body(self, region: Region) -> Region:
        """The region in f32; its arguments and yields keep their types."""
        self._open.append([])
        for argument in region.arguments:
            if argument.type.dtype is DType.F64:
                self.replace([argument], [self._convert(argument, DType.F32)])
        self.visit_all(region.ops)
        wide: dict[Value, Value] = {}
        for value in dict.fromkeys(region.yields):
            wide[value] = self.now(value)
            if value.type.dtype is DType.F64:
                wide[value] = self._convert(wide[value], DType.F64)
        ops = tuple(self._open.pop())
        if ops == region.ops:
            return region
        return Region(region.arguments, ops, tuple(wide[value] for value in region.yields))

    def _convert(self, value: Value, to: DType) -> Value:
        return self.op("convert", value, to=to.value, hint=value.hint)

    def _narrowed(self, values: Sequence[Value]) -> tuple[Value, ...]:
        """Values of f32 that replace values of f64 from here on."""
        made = []
        for value in values:
            if value.type.dtype is DType.F64:
                narrow = Value(_narrow(value.type), value.hint)
                self.replace([value], [narrow])
                value = narrow
            made.append(value)
        return tuple(made)

    def visit(self, op: Op) -> None:
        operands = self.all_now(op.operands)
        attributes = self._attributes(op)
        regions = self.rewritten_all(op.regions)
        results = self._narrowed(op.results)
        if results == op.results:
            self.keep_as(op, operands, regions, attributes)
        else:
            self.append(Op(op.name, operands, results, attributes, regions, op.origin))

    def _attributes(self, op: Op) -> Mapping[str, Attribute]:
        if op.name == "bitcast":
            kinds = (op.operands[0].type.dtype, op.result.type.dtype)
            if DType.F64 in kinds:
                raise PassError(
                    f"{self.source.name}: `bitcast` of {op.operands[0].type} to {op.result.type} "
                    f"({op.origin or 'no origin'}) is about the bits of f64, which f32 has not"
                )
        if not op.results or op.results[0].type.dtype is not DType.F64:
            return op.attributes
        if op.name == "constant":
            of = _narrow(op.result.type)
            with np.errstate(all="ignore"):
                return {"value": plain(op.attributes["value"], of), "type": of}
        if op.name in DRAWS or "to" in op.attributes:
            return {**op.attributes, "to": DType.F32.value}
        return op.attributes
