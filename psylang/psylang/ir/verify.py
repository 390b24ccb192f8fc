"""Checks all rules of graph.py and ops.py for a program.

    verify(program)     returns, or raises VerifyError for the first rule that is broken

Front ends verify their programs, tests verify the result of every pass, and loaders of text verify
the loaded program.
Rules in the order of checking: the signature, then each operation in the order of the text.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from psylang.errors import PsylangError
from psylang.ir.graph import NOWHERE, Op, Origin, Program, Region, Value
from psylang.ir.ops import DRAWS, FINITE, OPS, RESEEDS, STRUCTURED, TypeMismatchError, result_type
from psylang.ir.types import BOOL, I32, I64, DType, Type

# The attributes of each operation; other operations have none.
ATTRIBUTES = {
    "constant": {"value", "type"},
    "convert": {"to"},
    "uconvert": {"to"},
    "bitcast": {"to"},
    "stack": {"shape"},
    "extract": {"index"},
    **{name: {"stream", "to"} for name in DRAWS},
    "loop": {"limit"},
    **{name: {"finite"} for name in FINITE},
}
# The optional attributes.
OPTIONAL = {
    "loop": {"limit"},
    **{name: {"to"} for name in DRAWS},
    **{name: {"finite"} for name in FINITE},
}
LARGEST = 2**63 - 1
SEEDS = 2**32  # Of NumPy's RandomState.


class VerifyError(PsylangError, ValueError):
    """A program that breaks a rule of the IR: a mistake of its author."""


def verify(program: Program) -> None:
    """Returns if the program is valid. VerifyError: names the operation, its origin and the broken
    rule."""
    _signature(program)
    checker = _Checker(program)
    checker.define(program.body.arguments, "the program's arguments")
    checker.region(program.body)
    wanted = [one.type for one in program.outputs] + [one.type for one in program.states]
    names = [f"output `{one.name}`" for one in program.outputs]
    names += [f"the next value of state `{one.name}`" for one in program.states]
    given = program.body.yields
    if len(given) != len(wanted):
        raise VerifyError(
            f"{program.name}: its body yields {len(given)} values; {len(program.outputs)} outputs "
            f"and {len(program.states)} states need {len(wanted)}"
        )
    for name, type, value in zip(names, wanted, given, strict=True):
        if value.type != type:
            raise VerifyError(
                f"{program.name}: {name} is declared {type}, its value is {value.type}"
            )


def _signature(program: Program) -> None:
    for kind in ("parameters", "inputs", "states", "outputs"):
        _unique(program, kind[:-1], [one.name for one in getattr(program, kind)])
    _unique(program, "stream", program.streams)
    if program.numerics not in ("exact", "fast"):
        raise VerifyError(
            f"{program.name}: numerics `{program.numerics}`; there are `exact` and `fast`"
        )
    if len(program.streams) != len(program.stream_seeds):
        raise VerifyError(
            f"{program.name}: {len(program.streams)} streams and {len(program.stream_seeds)} seeds"
        )
    for name, seed in zip(program.streams, program.stream_seeds, strict=True):
        if not 0 <= seed < SEEDS:
            raise VerifyError(
                f"{program.name}: stream `{name}` has the seed {seed}; it must be at least 0 and "
                f"below {SEEDS}"
            )
    arguments = program.body.arguments
    if len(arguments) != program.argument_count:
        raise VerifyError(
            f"{program.name}: its body has {len(arguments)} arguments; parameters, inputs, states, "
            f"seed and trial are {program.argument_count}"
        )
    declared = [
        *((f"parameter `{one.name}`", one.type, one.default) for one in program.parameters),
        *((f"input `{one.name}`", one.type, one.default) for one in program.inputs),
        *((f"state `{one.name}`", one.type, one.initial) for one in program.states),
        ("the seed", I64, None),
        ("the number of the trial", I64, None),
    ]
    for (name, type, array), value in zip(declared, arguments, strict=True):
        if value.type != type:
            raise VerifyError(
                f"{program.name}: {name} is declared {type}, its argument is {value.type}"
            )
        if array is not None and (array.dtype, array.shape) != (type.dtype.numpy, type.shape):
            raise VerifyError(
                f"{program.name}: {name} is declared {type}, its default has elements of "
                f"{array.dtype} in shape {array.shape}"
            )
    for parameter in program.parameters:
        if parameter.range is not None and not parameter.range[0] <= parameter.range[1]:
            raise VerifyError(
                f"{program.name}: parameter `{parameter.name}` has the range {parameter.range}, "
                "which nothing is in"
            )
    for output in program.outputs:
        if output.dims and len(output.dims) != len(output.type.shape):
            raise VerifyError(
                f"{program.name}: output `{output.name}` is declared {output.type} and has "
                f"{len(output.dims)} names of axes"
            )


def _unique(program: Program, kind: str, names: Iterable[str]) -> None:
    for name, count in Counter(names).items():
        if count > 1:
            raise VerifyError(f"{program.name}: {count} {kind}s have the name `{name}`")


class _Checker:
    """Tracks the values that can be used at the current position."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._defined: set[Value] = set()
        self._visible: set[Value] = set()
        self._rules = {"loop": self._loop, "if": self._if, "argmin": self._argmin}

    def define(self, values: Sequence[Value], what: str) -> None:
        for value in values:
            if value in self._defined:
                raise VerifyError(
                    f"{self._program.name}: {what} define {value!r} a second time; "
                    "a value is defined once"
                )
            self._defined.add(value)
            self._visible.add(value)

    def region(self, region: Region) -> None:
        for op in region.ops:
            self.op(op)
        for number, value in enumerate(region.yields):
            if value not in self._visible:
                raise VerifyError(
                    f"{self._program.name}: a region yields {value!r} (number {number}), which "
                    f"{self._missing(value)}"
                )

    def op(self, op: Op) -> None:
        if not isinstance(op.origin, Origin):
            raise self._error(op, f"its origin is {op.origin!r}, no Origin")
        if op.name not in OPS and op.name not in STRUCTURED:
            raise self._error(op, "there is no such operation")
        for number, value in enumerate(op.operands):
            if value not in self._visible:
                raise self._error(op, f"operand {number}, {value!r}, {self._missing(value)}")
        self._attributes(op)
        if op.name in STRUCTURED:
            self._rules[op.name](op)
        else:
            self._plain(op)
        self.define(op.results, f"results of {self._named(op)}")

    def _missing(self, value: Value) -> str:
        if value in self._defined:
            return "is defined in a region that does not contain this place"
        return "is not defined before"

    def _named(self, op: Op) -> str:
        return f"`{op.name}` of {op.origin if op.origin != NOWHERE else 'no origin'}"

    def _error(self, op: Op, message: str) -> VerifyError:
        return VerifyError(f"{self._program.name}: {self._named(op)}: {message}")

    # Operations.

    def _attributes(self, op: Op) -> None:
        wanted = ATTRIBUTES.get(op.name, set())
        given = set(op.attributes)
        if given - wanted or wanted - given - OPTIONAL.get(op.name, set()):
            raise self._error(
                op,
                f"attributes {sorted(given) or 'none'}; it takes {sorted(wanted) or 'none'}",
            )
        if "limit" in given:
            limit = op.attributes["limit"]
            if type(limit) is not int or not 0 <= limit <= LARGEST:
                raise self._error(op, f"limit {limit!r}; it must be 0 or a number of rounds")
        if "stream" in given:
            stream = op.attributes["stream"]
            count = len(self._program.streams)
            if type(stream) is not int or not 0 <= stream < count:
                raise self._error(op, f"stream {stream!r}; the program has {count}")
        if "finite" in given:
            floats = all(value.type.dtype.is_float for value in op.operands)
            if op.attributes["finite"] is not True or not floats:
                raise self._error(
                    op, f"finite {op.attributes['finite']!r}; it must be true, and of floats"
                )
        for name in ("shape", "index"):
            if name in given and not _is_extents(op.attributes[name]):
                raise self._error(
                    op, f"{name} {op.attributes[name]!r}; it must be at most two integers"
                )
        if "to" in given and op.attributes["to"] not in {one.value for one in DType}:
            raise self._error(op, f"to {op.attributes['to']!r}, which is no element type")
        if op.name in DRAWS and "to" in given and self._program.numerics == "exact":
            raise self._error(op, "to is of `fast`; generators of `exact` give f64")
        if op.name == RESEEDS and self._program.numerics == "fast":
            raise self._error(op, "it is of `exact`; draws of `fast` have no generator")

    def _plain(self, op: Op) -> None:
        if op.regions:
            raise self._error(op, f"{len(op.regions)} regions; it has none")
        types = [value.type for value in op.operands]
        if op.name == "constant":
            self._constant(op)
        elif op.name == "dot" and not all(type.size for type in types):
            raise self._error(op, f"a product of {_listed(types)} has sums of no terms")
        try:
            wanted = result_type(op.name, types, op.attributes)
        except TypeMismatchError as error:
            raise self._error(op, str(error)) from None
        self._results(op, [wanted])

    def _constant(self, op: Op) -> None:
        type, value = op.attributes["type"], op.attributes["value"]
        if not isinstance(type, Type):
            raise self._error(op, f"type {type!r} is no Type")
        if not fits(value, type.dtype, type.shape):
            raise self._error(op, f"{value!r} is no value of {type}")

    def _results(self, op: Op, wanted: Sequence[Type]) -> None:
        given = [value.type for value in op.results]
        if given != list(wanted):
            raise self._error(op, f"its results are {_listed(given)}; it gives {_listed(wanted)}")

    # Structure.

    def _inner(self, op: Op, arguments: Sequence[Sequence[Type]]) -> list[list[Type]]:
        """Checks the regions and their arguments' types; returns the types of their yields."""
        if len(op.regions) != len(arguments):
            raise self._error(op, f"{len(op.regions)} regions; it has {len(arguments)}")
        yields = []
        for region, wanted in zip(op.regions, arguments, strict=True):
            given = [value.type for value in region.arguments]
            if given != list(wanted):
                raise self._error(
                    op, f"its region takes {_listed(given)}, and is given {_listed(wanted)}"
                )
            outside = set(self._visible)
            self.define(region.arguments, f"arguments of a region of {self._named(op)}")
            self.region(region)
            self._visible = outside
            yields.append([value.type for value in region.yields])
        return yields

    def _loop(self, op: Op) -> None:
        carried = [value.type for value in op.operands]
        (yields,) = self._inner(op, [carried])
        if yields != [BOOL, *carried]:
            raise self._error(
                op, f"its region yields {_listed(yields)}; it must {_listed([BOOL, *carried])}"
            )
        self._results(op, carried)

    def _if(self, op: Op) -> None:
        self._operands(op, [BOOL])
        yes, no = self._inner(op, [[], []])
        if yes != no:
            raise self._error(op, f"its regions yield {_listed(yes)} and {_listed(no)}")
        self._results(op, yes)

    def _argmin(self, op: Op) -> None:
        self._operands(op, [I32])
        (yields,) = self._inner(op, [[I32]])
        if len(yields) != 1 or yields[0].shape or not yields[0].dtype.is_float:
            raise self._error(op, f"its region yields {_listed(yields)}; it must one scalar float")
        self._results(op, [I32, *yields])

    def _operands(self, op: Op, wanted: Sequence[Type]) -> None:
        given = [value.type for value in op.operands]
        if given != list(wanted):
            raise self._error(op, f"it is given {_listed(given)}; it takes {_listed(wanted)}")


def _listed(types: Iterable[Type]) -> str:
    return f"({', '.join(map(str, types))})"


def _is_extents(value: Any) -> bool:
    return (
        isinstance(value, tuple)
        and len(value) <= 2
        and all(type(one) is int and one >= 0 for one in value)
    )


def fits(value: Any, dtype: DType, shape: tuple[int, ...]) -> bool:
    """Whether an attribute is a constant of such elements."""
    if shape:
        return (
            isinstance(value, tuple)
            and len(value) == shape[0]
            and all(fits(one, dtype, shape[1:]) for one in value)
        )
    if dtype is DType.BOOL:
        return type(value) is bool
    if dtype.is_int:
        return type(value) is int and -(1 << (dtype.bits - 1)) <= value < 1 << (dtype.bits - 1)
    if type(value) is not float:
        return False
    if dtype is DType.F64 or not math.isfinite(value):
        return True
    with np.errstate(over="ignore"):
        return float(dtype.numpy.type(value)) == value
