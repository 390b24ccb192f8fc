"""A broken program for each rule, and its message."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from psylang.ir.builder import Builder, ProgramBuilder
from psylang.ir.graph import (
    NO_ATTRIBUTES,
    Input,
    Op,
    Origin,
    Output,
    Parameter,
    Program,
    Region,
    State,
    Value,
)
from psylang.ir.types import BOOL, F32, F64, I32, I64, DType, Type
from psylang.ir.verify import VerifyError, verify

HERE = Origin("lca", "in", "rate", "model.py:7")
VECTOR = Type(DType.F64, (3,))


def _constant(value: Any, of: Type, into: Value | None = None) -> Op:
    return Op("constant", (), (into or Value(of),), {"value": value, "type": of}, (), HERE)


def _program(*ops: Op, **changes: Any) -> Program:
    """A program of those operations, without outputs."""
    build = ProgramBuilder("broken")
    build.parameter("gain", 1.0)
    build.stream("noise")
    for op in ops:
        build.append(op)
    return replace(build.build(), **changes)


def _op(
    name: str,
    operands: Sequence[Value],
    results: Sequence[Type],
    attributes: Mapping[str, Any] = NO_ATTRIBUTES,
    regions: Sequence[Region] = (),
) -> Op:
    made = tuple(Value(one, "r") for one in results)
    return Op(name, tuple(operands), made, attributes, tuple(regions), HERE)


def _over(
    name: str,
    types: Sequence[Type],
    results: Sequence[Type],
    attributes: Mapping[str, Any] = NO_ATTRIBUTES,
    regions: Sequence[Region] = (),
) -> Program:
    """A program with that operation over zeros of such types."""
    build = Builder()
    values = [build.constant(0, one) for one in types]
    return _program(*build.take(), _op(name, values, results, attributes, regions))


def _draws(stream: Any, **more: Any) -> Program:
    return _over("random.normal", [I64, I64, I32, I32], [F64], {"stream": stream, **more})


def _exact(program: Program) -> Program:
    return replace(program, numerics="exact", stream_seeds=(0,))


def _region(arguments: Sequence[Type], yields: Sequence[Type]) -> Region:
    build = Builder()
    return build.region(arguments, lambda *_: [build.constant(0, one) for one in yields])


def _unseen() -> Program:
    """A value of a region, used behind it."""
    condition = Value(BOOL)
    inside = Value(F64, "inside")
    region = Region((), (_constant(1.0, F64, inside),), ())
    other = Region(())
    branch = Op("if", (condition,), (), NO_ATTRIBUTES, (region, other), HERE)
    return _program(_constant(True, BOOL, condition), branch, _op("neg", [inside], [F64]))


def _twice() -> Program:
    value = Value(F64, "again")
    return _program(_constant(1.0, F64, value), _constant(2.0, F64, value))


def _yields_unknown() -> Program:
    program = _program()
    body = Region(program.body.arguments, (), (Value(F64, "ghost"),))
    return replace(program, outputs=(Output("x", F64),), body=body)


def _yields(*types: Type, outputs: Sequence[Output]) -> Program:
    build = Builder()
    values = tuple(build.constant(0, one) for one in types)
    program = _program()
    body = Region(program.body.arguments, build.take(), values)
    return replace(program, outputs=tuple(outputs), body=body)


def _arguments(*values: Value) -> Program:
    return _program(body=Region(values))


def _gain(**changes: Any) -> Program:
    return _program(parameters=(replace(Parameter("gain", F64, np.array(1.0)), **changes),))


S, T = Value(I64, "seed"), Value(I64, "trial")
AT = r"`%s` of lca\.in\.rate@model\.py:7: "
BROKEN: Mapping[str, tuple[Callable[[], Program], str]] = {
    # The signature.
    "numerics": (lambda: _program(numerics="quick"), "numerics `quick`; there are `exact`"),
    "names of parameters": (
        lambda: _program(parameters=(Parameter("a", F64, np.array(0.0)),) * 2),
        "2 parameters have the name `a`",
    ),
    "names of streams": (
        lambda: _program(streams=("a", "a"), stream_seeds=(1, 2)),
        "2 streams have the name `a`",
    ),
    "names of outputs": (
        lambda: _yields(F64, F64, outputs=[Output("x", F64)] * 2),
        "2 outputs have the name `x`",
    ),
    "seeds": (lambda: _program(stream_seeds=()), "1 streams and 0 seeds"),
    "range of seeds": (
        lambda: _program(stream_seeds=(-1,)),
        "stream `noise` has the seed -1; it must be at least 0 and below 4294967296",
    ),
    "number of arguments": (
        lambda: _arguments(S, T),
        "its body has 2 arguments; parameters, inputs, states, seed and trial are 3",
    ),
    "type of a parameter": (
        lambda: _arguments(Value(F32), S, T),
        "parameter `gain` is declared f64, its argument is f32",
    ),
    "type of the trial": (
        lambda: _arguments(Value(F64), S, Value(I32)),
        "the number of the trial is declared i64, its argument is i32",
    ),
    "type of a state": (
        lambda: _program(
            parameters=(),
            states=(State("s", F32, np.array(0.0, np.float32)),),
        ),
        "state `s` is declared f32, its argument is f64",
    ),
    "default of an input": (
        lambda: _program(parameters=(), inputs=(Input("i", F64, np.zeros(2)),)),
        r"input `i` is declared f64, its default has elements of float64 in shape \(2,\)",
    ),
    "default of a parameter": (
        lambda: _gain(default=np.array(1, np.int64)),
        r"parameter `gain` is declared f64, its default has elements of int64 in shape \(\)",
    ),
    "empty range": (
        lambda: _gain(range=(2.0, 1.0)),
        r"parameter `gain` has the range \(2\.0, 1\.0\), which nothing is in",
    ),
    "range of NaN": (lambda: _gain(range=(np.nan, 1.0)), "which nothing is in"),
    "one argument twice": (
        lambda: _arguments(Value(F64), S, S),
        "the program's arguments define <seed: i64> a second time",
    ),
    "axes of an output": (
        lambda: _yields(VECTOR, outputs=[Output("x", VECTOR, ("a", "b"))]),
        "output `x` is declared 3xf64 and has 2 names of axes",
    ),
    "number of yields": (
        lambda: _yields(F64, outputs=[]),
        "its body yields 1 values; 0 outputs and 0 states need 0",
    ),
    "type of an output": (
        lambda: _yields(F64, outputs=[Output("x", VECTOR)]),
        "output `x` is declared 3xf64, its value is f64",
    ),
    "yield of nothing": (
        _yields_unknown,
        r"a region yields <ghost: f64> \(number 0\), which is not defined before",
    ),
    # Operations.
    "unknown name": (lambda: _over("frobnicate", [], [F64]), "there is no such operation"),
    "origin": (
        lambda: _program(Op("constant", (), (Value(F64),), {}, (), "here")),  # type: ignore[arg-type]
        "its origin is 'here', no Origin",
    ),
    "operand from nowhere": (
        lambda: _program(_op("neg", [Value(F64, "x")], [F64])),
        AT % "neg" + "operand 0, <x: f64>, is not defined before",
    ),
    "operand of an inner region": (
        _unseen,
        AT % "neg"
        + "operand 0, <inside: f64>, is defined in a region that does not contain this place",
    ),
    "defined twice": (_twice, "define <again: f64> a second time; a value is defined once"),
    "arity": (lambda: _over("add", [F64], [F64]), AT % "add" + "`add` takes 2 operands, not 1"),
    "operand types": (
        lambda: _over("add", [F64, F32], [F64]),
        AT % "add" + r"add\(f64, f32\): elements of f32, f64",
    ),
    "shapes": (
        lambda: _over("add", [VECTOR, Type(DType.F64, (2,))], [VECTOR]),
        r"add\(3xf64, 2xf64\): shapes \[\(2,\), \(3,\)\] do not go together",
    ),
    "result type": (
        lambda: _over("lt", [F64, F64], [F64]),
        AT % "lt" + r"its results are \(f64\); it gives \(bool\)",
    ),
    "number of results": (
        lambda: _over("neg", [F64], []),
        r"its results are \(\); it gives \(f64\)",
    ),
    "regions of plain": (
        lambda: _over("neg", [F64], [F64], regions=[Region(())]),
        "1 regions; it has none",
    ),
    "attribute too many": (
        lambda: _over("neg", [F64], [F64], {"fast": True}),
        r"attributes \['fast'\]; it takes \['finite'\]",
    ),
    "attribute missing": (
        lambda: _over("convert", [F64], [I32]),
        r"attributes none; it takes \['to'\]",
    ),
    "unknown element type": (
        lambda: _over("convert", [F64], [I32], {"to": "i8"}),
        "to 'i8', which is no element type",
    ),
    "shape": (
        lambda: _over("stack", [F64], [F64], {"shape": (1, 1, 1)}),
        r"shape \(1, 1, 1\); it must be at most two integers",
    ),
    "index": (
        lambda: _over("extract", [VECTOR], [F64], {"index": (-1,)}),
        r"index \(-1,\); it must be at most two integers",
    ),
    "index beyond": (
        lambda: _over("extract", [VECTOR], [F64], {"index": (3,)}),
        r"no element \(3,\) in shape \(3,\)",
    ),
    "empty product": (
        lambda: _over("dot", [Type(DType.F64, (0,))] * 2, [F64]),
        r"a product of \(0xf64, 0xf64\) has sums of no terms",
    ),
    "empty sum": (lambda: _over("sum", [Type(DType.F64, (0,))], [F64]), "nothing to reduce"),
    "stream": (lambda: _draws(1), "stream 1; the program has 1"),
    "draw of integers": (lambda: _draws(0, to="i32"), "a draw gives f64 or f32, not i32"),
    "draw of f32": (
        lambda: _draws(0, to="f32"),
        r"its results are \(f64\); it gives \(f32\)",
    ),
    "draw of f32 in exact": (
        lambda: _exact(_draws(0, to="f32")),
        "to is of `fast`; generators of `exact` give f64",
    ),
    "reseeding in fast": (
        lambda: _over("random.seed", [I64, I64, I32, I32], [F64], {"stream": 0}),
        "it is of `exact`; draws of `fast` have no generator",
    ),
    "stream of bool": (lambda: _draws(True), "stream True; the program has 1"),
    "constant's type": (
        lambda: _program(_op("constant", [], [F64], {"value": 1.0, "type": "f64"})),
        "type 'f64' is no Type",
    ),
    "integer for a float": (
        lambda: _program(_constant(1, F64)),
        AT % "constant" + "1 is no value of f64",
    ),
    "no f32": (lambda: _program(_constant(0.1, F32)), "0.1 is no value of f32"),
    "beyond f32": (lambda: _program(_constant(1e300, F32)), "1e[+]300 is no value of f32"),
    "beyond i32": (lambda: _program(_constant(2**31, I32)), "2147483648 is no value of i32"),
    "number for a bool": (lambda: _program(_constant(1, BOOL)), "1 is no value of bool"),
    "elements": (
        lambda: _program(_constant((1.0, 2.0), VECTOR)),
        r"\(1\.0, 2\.0\) is no value of 3xf64",
    ),
    # Structure.
    "loop without region": (lambda: _over("loop", [F64], [F64]), "0 regions; it has 1"),
    "loop's arguments": (
        lambda: _over("loop", [F64], [F64], {}, [_region([F32], [BOOL, F64])]),
        AT % "loop" + r"its region takes \(f32\), and is given \(f64\)",
    ),
    "loop's condition": (
        lambda: _over("loop", [F64], [F64], {}, [_region([F64], [F64, F64])]),
        r"its region yields \(f64, f64\); it must \(bool, f64\)",
    ),
    "loop's results": (
        lambda: _over("loop", [F64], [I32], {}, [_region([F64], [BOOL, F64])]),
        r"its results are \(i32\); it gives \(f64\)",
    ),
    "limit": (
        lambda: _over("loop", [], [], {"limit": -1}, [_region([], [BOOL])]),
        "limit -1; it must be 0 or a number of rounds",
    ),
    "limit of a float": (
        lambda: _over("loop", [], [], {"limit": 10.0}, [_region([], [BOOL])]),
        r"limit 10\.0; it must be 0 or a number of rounds",
    ),
    "if's condition": (
        lambda: _over("if", [I32], [], {}, [Region(())] * 2),
        AT % "if" + r"it is given \(i32\); it takes \(bool\)",
    ),
    "if's regions": (
        lambda: _over("if", [BOOL], [F64], {}, [_region([], [F64]), _region([], [F32])]),
        r"its regions yield \(f64\) and \(f32\)",
    ),
    "one region": (
        lambda: _over("if", [BOOL], [], {}, [Region(())]),
        "1 regions; it has 2",
    ),
    "argmin's count": (
        lambda: _over("argmin", [I64], [I32, F64], {}, [_region([I32], [F64])]),
        r"it is given \(i64\); it takes \(i32\)",
    ),
    "argmin's cost": (
        lambda: _over("argmin", [I32], [I32, F64], {}, [_region([I32], [VECTOR])]),
        r"its region yields \(3xf64\); it must one scalar float",
    ),
    "argmin's results": (
        lambda: _over("argmin", [I32], [I32, F64], {}, [_region([I32], [F32])]),
        r"its results are \(i32, f64\); it gives \(i32, f32\)",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_rule_is_named_with_operation_origin_and_types(name: str) -> None:
    make, message = BROKEN[name]
    with pytest.raises(VerifyError, match=message) as error:
        verify(make())
    assert str(error.value).startswith("broken: ")


def test_one_region_object_cannot_define_its_arguments_twice() -> None:
    region = _region([], [F64])
    with pytest.raises(VerifyError, match="a second time"):
        verify(_over("if", [BOOL], [F64], {}, [region, region]))


def test_a_right_program_passes() -> None:
    verify(_program(_constant(1.0, F64)))
