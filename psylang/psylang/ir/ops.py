"""The operations of the IR: operands, result and meaning of each.

This table is the whole language. The builder derives result types from it, the verifier checks
against it, the interpreter and the emitters have one rule for each name, and tests cover it.

Elementwise operations take operands of one shape, or scalars beside it (a scalar stands for all
elements). Integers wrap. Floats are IEEE 754, round to nearest even, and nothing is contracted or
reassociated: `fma` is one rounding, `mul` and `add` are two.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from psylang.errors import PsylangError
from psylang.ir.graph import Attribute
from psylang.ir.types import BOOL, DType, Type

Rule = Callable[[Sequence[Type], Mapping[str, Attribute]], Type]


class TypeMismatchError(PsylangError, ValueError):
    """Operands that an operation cannot take."""


@dataclass(frozen=True)
class OpInfo:
    """arity: operands, None if any number. rule: the type of the one result. of: element types.

    cost: its approximate cost in additions; passes compare costs.
    """

    arity: int | None
    rule: Rule
    of: frozenset[DType]
    cost: int = 1
    commutes: bool = False
    description: str = ""


FLOATS = frozenset({DType.F64, DType.F32})
INTS = frozenset({DType.I64, DType.I32})
NUMBERS = FLOATS | INTS
BITS = INTS | {DType.BOOL}
ANY = NUMBERS | {DType.BOOL}


def joined_shape(types: Sequence[Type]) -> tuple[int, ...]:
    """The one shape of operands that are scalars or of that shape."""
    shapes = {type.shape for type in types if type.shape}
    if len(shapes) > 1:
        raise TypeMismatchError(f"shapes {sorted(shapes)} do not go together")
    return shapes.pop() if shapes else ()


def _same(types: Sequence[Type], _: Mapping[str, Attribute]) -> Type:
    kinds = {type.dtype for type in types}
    if len(kinds) != 1:
        raise TypeMismatchError(f"elements of {', '.join(sorted(kind.value for kind in kinds))}")
    return Type(kinds.pop(), joined_shape(types))


def _condition(types: Sequence[Type], attributes: Mapping[str, Attribute]) -> Type:
    return _same(types, attributes).of(DType.BOOL)


def _select(types: Sequence[Type], _: Mapping[str, Attribute]) -> Type:
    condition, yes, no = types
    if condition.dtype is not DType.BOOL or yes.dtype is not no.dtype:
        raise TypeMismatchError("select takes a bool and two values of one element type")
    return Type(yes.dtype, joined_shape(types))


def _to(types: Sequence[Type], attributes: Mapping[str, Attribute]) -> Type:
    return types[0].of(DType(attributes["to"]))


def _bitcast(types: Sequence[Type], attributes: Mapping[str, Attribute]) -> Type:
    to = DType(attributes["to"])
    if to.bits != types[0].dtype.bits or DType.BOOL in (to, types[0].dtype):
        raise TypeMismatchError(f"no bitcast of {types[0].dtype.value} to {to.value}")
    return types[0].of(to)


def _stack(types: Sequence[Type], attributes: Mapping[str, Attribute]) -> Type:
    shape = tuple(attributes["shape"])
    result = Type(types[0].dtype if types else DType.F64, shape)
    if any(type.shape for type in types) or len({type.dtype for type in types}) != 1:
        raise TypeMismatchError("stack takes scalars of one element type")
    if len(types) != result.size:
        raise TypeMismatchError(f"{len(types)} scalars for shape {shape}")
    return result


def _extract(types: Sequence[Type], attributes: Mapping[str, Attribute]) -> Type:
    index = tuple(attributes["index"])
    shape = types[0].shape
    if len(index) != len(shape) or any(
        not 0 <= i < extent for i, extent in zip(index, shape, strict=True)
    ):
        raise TypeMismatchError(f"no element {index} in shape {shape}")
    return types[0].scalar


def _dot(types: Sequence[Type], attributes: Mapping[str, Attribute]) -> Type:
    """As numpy.dot of vectors and matrices."""
    left, right = types
    element = _same([left.scalar, right.scalar], attributes).dtype
    if not left.shape or not right.shape or left.shape[-1] != right.shape[0]:
        raise TypeMismatchError(f"no product of shapes {left.shape} and {right.shape}")
    return Type(element, left.shape[:-1] + right.shape[1:])


def _reduce(types: Sequence[Type], _: Mapping[str, Attribute]) -> Type:
    if not types[0].size:
        raise TypeMismatchError("nothing to reduce")
    return types[0].scalar


def _draw(types: Sequence[Type], attributes: Mapping[str, Attribute]) -> Type:
    wanted = (DType.I64, DType.I64, DType.I32, DType.I32)
    if tuple(type.dtype for type in types) != wanted or any(type.shape for type in types):
        raise TypeMismatchError("a draw takes (seed i64, trial i64, candidate i32, step i32)")
    to = DType(attributes.get("to", DType.F64))
    if not to.is_float:
        raise TypeMismatchError(f"a draw gives f64 or f32, not {to.value}")
    return Type(to)


def _constant(_: Sequence[Type], attributes: Mapping[str, Attribute]) -> Type:
    kind = attributes["type"]
    assert isinstance(kind, Type)
    return kind


def _unary(of: frozenset[DType], cost: int, description: str) -> OpInfo:
    return OpInfo(1, _same, of, cost, False, description)


def _binary(of: frozenset[DType], cost: int, description: str, commutes: bool = False) -> OpInfo:
    return OpInfo(2, _same, of, cost, commutes, description)


def _compare(of: frozenset[DType], description: str, commutes: bool = False) -> OpInfo:
    return OpInfo(2, _condition, of, 1, commutes, description)


OPS: Mapping[str, OpInfo] = {
    "constant": OpInfo(0, _constant, ANY, 0, description="attribute `value`, of attribute `type`"),
    # Arithmetic, elementwise.
    "add": _binary(NUMBERS, 1, "a + b", True),
    "sub": _binary(NUMBERS, 1, "a - b"),
    "mul": _binary(NUMBERS, 1, "a * b", True),
    "div": _binary(FLOATS, 8, "a / b"),
    "fma": OpInfo(3, _same, FLOATS, 1, False, "a * b + c, rounded once"),
    "neg": _unary(NUMBERS, 1, "-a; of a float the sign alone"),
    "abs": _unary(FLOATS, 1, "the sign dropped"),
    "sqrt": _unary(FLOATS, 10, "correctly rounded"),
    "floor": _unary(FLOATS, 1, "the integer at or below"),
    "min": _binary(NUMBERS, 1, "b if b < a else a; so a if one is NaN"),
    "max": _binary(NUMBERS, 1, "b if b > a else a; so a if one is NaN"),
    # Mathematics, elementwise: libm's in `exact`, expansions of this project in `fast`.
    "exp": _unary(FLOATS, 20, "e**a"),
    "log": _unary(FLOATS, 20, "natural logarithm"),
    "sin": _unary(FLOATS, 25, "of radians"),
    "cos": _unary(FLOATS, 25, "of radians"),
    "tanh": _unary(FLOATS, 30, "hyperbolic tangent"),
    "pow": _binary(FLOATS, 50, "a ** b"),
    # Integers and conditions, elementwise.
    "udiv": _binary(INTS, 20, "unsigned quotient; of 0: all ones"),
    "urem": _binary(INTS, 20, "unsigned remainder; of 0: a"),
    "and": _binary(BITS, 1, "bitwise", True),
    "or": _binary(BITS, 1, "bitwise", True),
    "xor": _binary(BITS, 1, "bitwise", True),
    "not": _unary(BITS, 1, "bitwise"),
    "shl": _binary(INTS, 1, "by b below the width, else 0"),
    "lshr": _binary(INTS, 1, "zeros come in; by b below the width, else 0"),
    "mulhi": _binary(frozenset({DType.I32}), 2, "upper word of the unsigned product", True),
    # Comparisons, elementwise; of floats ordered: false if one is NaN, but ne.
    "eq": _compare(ANY, "a == b", True),
    "ne": _compare(ANY, "a != b; true if one is NaN", True),
    "lt": _compare(NUMBERS, "a < b, signed"),
    "le": _compare(NUMBERS, "a <= b, signed"),
    "gt": _compare(NUMBERS, "a > b, signed"),
    "ge": _compare(NUMBERS, "a >= b, signed"),
    "ult": _compare(INTS, "a < b, unsigned"),
    "select": OpInfo(3, _select, ANY, 1, False, "b where a, else c"),
    # Conversions; `to` names an element type.
    "convert": OpInfo(
        1, _to, ANY, 1, False, "signed; floats towards zero, beyond: the least integer"
    ),
    "uconvert": OpInfo(1, _to, INTS, 1, False, "an unsigned integer to a float or wider integer"),
    "bitcast": OpInfo(1, _bitcast, NUMBERS, 0, False, "the same bits"),
    # Vectors and matrices.
    "stack": OpInfo(None, _stack, ANY, 0, False, "scalars, C order, to `shape`"),
    "extract": OpInfo(1, _extract, ANY, 0, False, "the element at `index`"),
    "dot": OpInfo(2, _dot, NUMBERS, 8, False, "numpy.dot, each sum from the first term on"),
    "sum": OpInfo(1, _reduce, NUMBERS, 4, False, "from the first element on"),
    "reduce_max": OpInfo(1, _reduce, NUMBERS, 4, False, "`max` from the first element on"),
    "reduce_min": OpInfo(1, _reduce, NUMBERS, 4, False, "`min` from the first element on"),
    # Draws: operands (seed, trial, candidate, step), attribute `stream`, and `to` if they give f32.
    # random.seed, of `exact` alone, gives 0: the stream's next draws are those of a generator whose
    # seed is the candidate, an unsigned i32 (ir/seeds.py tells in which sequences exactly those).
    "random.normal": OpInfo(4, _draw, FLOATS, 40, False, "mean 0, standard deviation 1"),
    "random.uniform": OpInfo(4, _draw, FLOATS, 15, False, "[0, 1)"),
    "random.seed": OpInfo(4, _draw, FLOATS, 5000, False, "begins the stream anew"),
}

# Operations with regions. Their results are typed by what the regions yield.
#
#   loop    operands: first values of the carried values; one region that takes the carried
#           values as arguments and yields (condition bool, next values…). Runs its region, then
#           again while the condition holds. Results: the last values. Attribute `limit`: most
#           rounds, an i64, or 0; the model's own condition must keep it, because analyses and
#           checks rely on it.
#   if      operand: a scalar bool; two regions without arguments, of like yields. Results: those of
#           the region that was run.
#   argmin  operand: a scalar i32, how many candidates; one region whose argument is a candidate's
#           number (i32) and which yields its cost (scalar float). Results: the number (i32) and
#           cost of the least; of equal ones the first; of all NaN, or none: -1 and infinity.
#           In `exact` each candidate begins with the generators as they are before the operation,
#           which leaves them so.
STRUCTURED = frozenset({"loop", "if", "argmin"})
RESEEDS = "random.seed"
# With the attribute `finite`, a promise of the program: operands and result are finite numbers
# wherever the operation is computed.
FINITE = frozenset(
    {"add", "sub", "mul", "div", "fma", "neg", "abs", "sqrt", "floor", "min", "max"}
    | {"eq", "ne", "lt", "le", "gt", "ge"}
)
DRAWS = frozenset({"random.normal", "random.uniform", RESEEDS})
CONDITION = BOOL


def result_type(name: str, types: Sequence[Type], attributes: Mapping[str, Attribute]) -> Type:
    """The result type of an operation of OPS. TypeMismatchError: wrong operand types."""
    info = OPS.get(name)
    if info is None:
        raise TypeMismatchError(f"there is no operation `{name}`")
    if info.arity is not None and len(types) != info.arity:
        raise TypeMismatchError(f"`{name}` takes {info.arity} operands, not {len(types)}")
    try:
        for type in types[1:] if name == "select" else types:
            if type.dtype not in info.of and name not in DRAWS:
                raise TypeMismatchError(f"`{name}` does not take {type}")
        return info.rule(types, attributes)
    except TypeMismatchError as error:
        raise TypeMismatchError(f"{name}({', '.join(map(str, types))}): {error}") from None
