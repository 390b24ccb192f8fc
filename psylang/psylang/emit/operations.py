"""One rule for each elementwise operation of ops.OPS: the LLVM code that computes it.

The rounding is exactly as written. The only fast-math flags are nnan and ninf, of operations with
the attribute `finite`: their operands and results are finite numbers in every lane, so the flags
change no bit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import llvmlite.ir as ll

from psylang.emit.lanes import ELEMENTS, Lanes, Term
from psylang.ir.graph import Op
from psylang.ir.types import DType

Rule = Callable[[Lanes, Op, Sequence[Term]], Term]
COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


FLAGS = ("nnan", "ninf")


def _flags(op: Op) -> tuple[str, ...]:
    return FLAGS if "finite" in op.attributes else ()


def _number(names: tuple[str, str]) -> Rule:
    """A method of the builder, for floats or for integers."""

    def rule(lanes: Lanes, op: Op, terms: Sequence[Term]) -> Term:
        values, varies = lanes.alike(terms)
        dtype = terms[0].dtype
        if dtype.is_float:
            made = getattr(lanes.builder, names[0])(*values, flags=_flags(op))
        else:
            made = getattr(lanes.builder, names[1])(*values)
        return Term(made, dtype, varies)

    return rule


def _neg(lanes: Lanes, op: Op, terms: Sequence[Term]) -> Term:
    (term,) = terms
    if not term.dtype.is_float:
        return Term(lanes.builder.neg(term.llvm), term.dtype, term.varies)
    return Term(lanes.builder.fneg(term.llvm, flags=_flags(op)), term.dtype, term.varies)


def _intrinsic(name: str) -> Rule:
    return lambda lanes, op, terms: lanes.intrinsic(name, terms, _flags(op))


def _libm(name: str) -> Rule:
    return lambda lanes, _, terms: lanes.libm(name, terms)


def _compare(lanes: Lanes, op: Op, terms: Sequence[Term]) -> Term:
    values, varies = lanes.alike(terms)
    builder = lanes.builder
    sign = COMPARISONS[op.name]
    if not terms[0].dtype.is_float:
        of = builder.icmp_unsigned if terms[0].dtype is DType.BOOL else builder.icmp_signed
        return Term(of(sign, *values), DType.BOOL, varies)
    of = builder.fcmp_unordered if sign == "!=" else builder.fcmp_ordered
    return Term(of(sign, *values, flags=_flags(op)), DType.BOOL, varies)


def _ult(lanes: Lanes, _: Op, terms: Sequence[Term]) -> Term:
    values, varies = lanes.alike(terms)
    return Term(lanes.builder.icmp_unsigned("<", *values), DType.BOOL, varies)


def _extreme(sign: str) -> Rule:
    """b if b < a else a."""

    def rule(lanes: Lanes, op: Op, terms: Sequence[Term]) -> Term:
        (a, b), varies = lanes.alike(terms)
        builder = lanes.builder
        if terms[0].dtype.is_float:
            less = builder.fcmp_ordered(sign, b, a, flags=_flags(op))
        else:
            less = builder.icmp_signed(sign, b, a)
        return Term(builder.select(less, b, a), terms[0].dtype, varies)

    return rule


def select(lanes: Lanes, _: Op, terms: Sequence[Term]) -> Term:
    condition, yes, no = terms
    if not condition.varies:
        values, varies = lanes.alike([yes, no])
        return Term(lanes.builder.select(condition.llvm, *values), yes.dtype, varies)
    values = [lanes.splat(term).llvm for term in terms]
    return Term(lanes.builder.select(*values), yes.dtype, True)


def _shift(name: str) -> Rule:
    """A shift by the width or more is undefined in LLVM; here it gives 0."""

    def rule(lanes: Lanes, _: Op, terms: Sequence[Term]) -> Term:
        (value, by), varies = lanes.alike(terms)
        builder = lanes.builder
        if isinstance(terms[1].llvm, ll.Constant) and terms[1].llvm.constant < terms[1].dtype.bits:
            return Term(getattr(builder, name)(value, by), terms[0].dtype, varies)
        bits = terms[0].dtype.bits
        numbers = [lanes.constant(number, terms[0].dtype) for number in (bits, bits - 1, 0)]
        limit, mask, none = [(lanes.splat(one) if varies else one).llvm for one in numbers]
        inside = builder.icmp_unsigned("<", by, limit)
        # A mask: a select by the same condition becomes one shl.b64 in LLVM 21 and 22 for NVPTX,
        # which has the lower 32 bits of the number alone.
        shifted = getattr(builder, name)(value, builder.and_(by, mask))
        return Term(builder.select(inside, shifted, none), terms[0].dtype, varies)

    return rule


def _divide(name: str) -> Rule:
    """Unsigned division; division by zero is undefined in LLVM. Here a divisor of 0 gives all ones,
    or the dividend as remainder."""

    def rule(lanes: Lanes, _: Op, terms: Sequence[Term]) -> Term:
        (a, b), varies = lanes.alike(terms)
        builder = lanes.builder
        dtype = terms[0].dtype

        def constant(value: int) -> Any:
            term = lanes.constant(value, dtype)
            return (lanes.splat(term) if varies else term).llvm

        zero = builder.icmp_unsigned("==", b, constant(0))
        quotient = getattr(builder, name)(a, builder.select(zero, constant(1), b))
        otherwise = constant(-1) if name == "udiv" else a
        return Term(builder.select(zero, otherwise, quotient), dtype, varies)

    return rule


def _mulhi(lanes: Lanes, _: Op, terms: Sequence[Term]) -> Term:
    values, varies = lanes.alike(terms)
    builder = lanes.builder
    wide = lanes.llvm_type(DType.I64, varies)
    product = builder.mul(*(builder.zext(value, wide) for value in values))
    by = lanes.constant(32, DType.I64)
    shifted = builder.lshr(product, (lanes.splat(by) if varies else by).llvm)
    return Term(builder.trunc(shifted, lanes.llvm_type(DType.I32, varies)), DType.I32, varies)


def _convert(lanes: Lanes, op: Op, terms: Sequence[Term]) -> Term:
    """Signed. A float beyond an integer's range gives the least integer, as x86 does."""
    (term,) = terms
    to = DType(op.attributes["to"])
    if to is term.dtype:
        return term
    of, builder = term.dtype, lanes.builder
    type = lanes.llvm_type(to, term.varies)
    if of.is_float and to.is_int:
        return _to_integer(lanes, term, to)
    if of.is_float and to.is_float:
        value = (builder.fptrunc if to.bits < of.bits else builder.fpext)(term.llvm, type)
    elif to.is_float:
        value = (builder.uitofp if of is DType.BOOL else builder.sitofp)(term.llvm, type)
    elif to is DType.BOOL:
        zero = Term(ll.Constant(ELEMENTS[of], 0), of, False)
        (value, none), _ = lanes.alike([term, zero])
        is_set = builder.fcmp_unordered if of.is_float else builder.icmp_signed
        value = is_set("!=", value, none)
    elif of is DType.BOOL:
        value = builder.zext(term.llvm, type)
    else:
        value = (builder.trunc if to.bits < of.bits else builder.sext)(term.llvm, type)
    return Term(value, to, term.varies)


def _to_integer(lanes: Lanes, term: Term, to: DType) -> Term:
    builder = lanes.builder
    limit = float(1 << (to.bits - 1))
    low, high = (lanes.constant(bound, term.dtype) for bound in (-limit, limit))
    (value, least, most), varies = lanes.alike([term, low, high])
    inside = builder.and_(
        builder.fcmp_ordered(">=", value, least), builder.fcmp_ordered("<", value, most)
    )
    zero = lanes.constant(0.0, term.dtype)
    none = lanes.constant(-(1 << (to.bits - 1)), to)
    if varies:
        zero, none = lanes.splat(zero), lanes.splat(none)
    type = lanes.llvm_type(to, varies)
    number = builder.fptosi(builder.select(inside, value, zero.llvm), type)
    return Term(builder.select(inside, number, none.llvm), to, varies)


def _uconvert(lanes: Lanes, op: Op, terms: Sequence[Term]) -> Term:
    (term,) = terms
    to = DType(op.attributes["to"])
    type = lanes.llvm_type(to, term.varies)
    if to.is_float:
        return Term(lanes.builder.uitofp(term.llvm, type), to, term.varies)
    if to.bits == term.dtype.bits:
        return Term(term.llvm, to, term.varies)
    name = "zext" if to.bits > term.dtype.bits else "trunc"
    return Term(getattr(lanes.builder, name)(term.llvm, type), to, term.varies)


def _bitcast(lanes: Lanes, op: Op, terms: Sequence[Term]) -> Term:
    (term,) = terms
    to = DType(op.attributes["to"])
    type = lanes.llvm_type(to, term.varies)
    return Term(lanes.builder.bitcast(term.llvm, type), to, term.varies)


RULES: Mapping[str, Rule] = {
    "add": _number(("fadd", "add")),
    "sub": _number(("fsub", "sub")),
    "mul": _number(("fmul", "mul")),
    "div": _number(("fdiv", "")),
    "fma": _intrinsic("fma"),
    "neg": _neg,
    "abs": _intrinsic("fabs"),
    "sqrt": _intrinsic("sqrt"),
    "floor": _intrinsic("floor"),
    "min": _extreme("<"),
    "max": _extreme(">"),
    **{name: _libm(name) for name in ("exp", "log", "sin", "cos", "tanh", "pow")},
    "udiv": _divide("udiv"),
    "urem": _divide("urem"),
    "and": _number(("", "and_")),
    "or": _number(("", "or_")),
    "xor": _number(("", "xor")),
    "not": _number(("", "not_")),
    "shl": _shift("shl"),
    "lshr": _shift("lshr"),
    "mulhi": _mulhi,
    **dict.fromkeys(COMPARISONS, _compare),
    "ult": _ult,
    "select": select,
    "convert": _convert,
    "uconvert": _uconvert,
    "bitcast": _bitcast,
}
