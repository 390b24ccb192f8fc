"""The reference interpreter: slow, obvious, and the oracle of every target.

One element at a time, in the order of the text, with NumPy's scalars for each rounding. A target's
result of an operation is right if it equals the result of this module.

Draws and mathematics depend on the numerics:

    exact   libm's exp, log, …, and for each stream NumPy's RandomState([seed]) (Mersenne Twister;
            the list makes another stream than the number), as PsyNeuLink uses them; of further
            sequences RandomState of other keys (seeds.py)
    fast    programs made of the other operations, given as `expansions` (numerics/), and
            interpreted here
"""

from __future__ import annotations

import ctypes
import ctypes.util
import functools
import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psylang.errors import PsylangError
from psylang.ir.graph import Numerics, Op, Origin, Program, Region, Value
from psylang.ir.ops import DRAWS, RESEEDS
from psylang.ir.seeds import begun, key_of, reseeded, salt_of
from psylang.ir.types import DType, Type

Array = NDArray[Any]
# The expansion of an operation in `fast`: a region over its operands.
Expansion = Callable[[Op], Region]
MATHEMATICS = frozenset({"exp", "log", "sin", "cos", "tanh", "pow"})


class UnboundedError(PsylangError, RuntimeError):
    """A loop exceeded its limit: the model broke its promise."""


def interpret(
    program: Program,
    *,
    trials: int = 1,
    sequences: int = 1,
    seed: int = 0,
    parameters: Mapping[str, Any] | None = None,
    inputs: Mapping[str, Any] | None = None,
    expansions: Mapping[str, Expansion] | None = None,
) -> dict[str, Array]:
    """Outputs by name, each of shape (sequences * trials, *shape); states start at their initial
    values in each sequence. Parameters are for all trials; inputs have one row per trial.

    UnboundedError: a loop passed its limit. KeyError: an operation without expansion.
    """
    parameters, inputs = parameters or {}, inputs or {}
    machine = _Machine(program, expansions or {})
    fixed = [
        np.asarray(parameters.get(one.name, one.default), one.type.dtype.numpy)[()]
        for one in program.parameters
    ]
    rows: list[list[Array]] = []
    for sequence in range(sequences):
        machine.begin_sequence(sequence)
        states = [np.array(state.initial)[()] for state in program.states]
        for number in range(sequence * trials, (sequence + 1) * trials):
            given = [
                np.asarray(
                    inputs[one.name][number] if one.name in inputs else one.default,
                    one.type.dtype.numpy,
                )[()]
                for one in program.inputs
            ]
            arguments = [*fixed, *given, *states, np.int64(seed), np.int64(number)]
            with np.errstate(all="ignore"):
                results = machine.run(program.body, arguments)
            rows.append(results[: len(program.outputs)])
            states = results[len(program.outputs) :]
    return {
        output.name: np.array([row[index] for row in rows], output.type.dtype.numpy).reshape(
            len(rows), *output.type.shape
        )
        for index, output in enumerate(program.outputs)
    }


@functools.cache
def _library() -> ctypes.CDLL:
    """libm. Loaded at its first use, because finding it starts processes and takes 50 ms."""
    return ctypes.CDLL(ctypes.util.find_library("m"))


@dataclass(frozen=True)
class _Libm:
    """A function of libm, for both element types."""

    name: str
    arity: int

    def __call__(self, type: DType, *operands: Any) -> Any:
        function = self._double if type is DType.F64 else self._single
        return type.numpy.type(function(*map(float, operands)))

    @functools.cached_property
    def _double(self) -> Any:
        return self._function(self.name, ctypes.c_double)

    @functools.cached_property
    def _single(self) -> Any:
        return self._function(f"{self.name}f", ctypes.c_float)

    def _function(self, name: str, number: type[Any]) -> Any:
        function = getattr(_library(), name)
        function.restype, function.argtypes = number, [number] * self.arity
        return function


LIBM = {name: _Libm(name, 1) for name in ("exp", "log", "sin", "cos", "tanh", "floor", "sqrt")}
LIBM |= {"pow": _Libm("pow", 2), "fma": _Libm("fma", 3)}


class _FoundError(Exception):
    """NaN was computed, or the limit of operations was reached. Never leaves this module."""


def origin_of_nan(
    program: Program,
    parameters: Sequence[Sequence[Any]],
    inputs: Sequence[Sequence[Any]],
    seed: int,
    trial: int,
    expansions: Mapping[str, Expansion],
    most: int,
) -> Origin | None:
    """The origin of the first operation whose result is NaN although no operand is; None if there
    is none within `most` operations. parameters, inputs: a value for each trial, from number
    `trial` on, the first of its sequence, if trials depend on one another."""
    machine = _Tracer(program, expansions, most)
    machine.begin_sequence()
    states = [np.array(state.initial)[()] for state in program.states]
    rows = zip(*parameters, *inputs, strict=True) if parameters or inputs else [()]
    try:
        for number, row in enumerate(rows, trial):
            arguments = [
                *(np.asarray(one)[()] for one in row),
                *states,
                np.int64(seed),
                np.int64(number),
            ]
            with np.errstate(all="ignore"):
                states = machine.run(program.body, arguments)[len(program.outputs) :]
    except _FoundError:
        pass
    return machine.found


class _Machine:
    """Runs regions. Values are NumPy arrays and scalars of their types."""

    def __init__(self, program: Program, expansions: Mapping[str, Expansion]) -> None:
        self._program = program
        self._expansions = expansions
        self._generators: list[np.random.RandomState] = []
        self._salts: list[tuple[int, int]] = []
        self._regions: dict[Op, Region] = {}  # The expansions of operations.

    def begin_sequence(self, number: int = 0) -> None:
        if self._program.numerics == "exact":
            keys = [key_of(own, 0, number) for own in self._program.stream_seeds]
            self._generators = [np.random.RandomState(key) for key in keys]
            for generator, own in zip(self._generators, self._program.stream_seeds, strict=True):
                if (state := begun(own, 0, number)) is not None:
                    generator.set_state(state)
            self._salts = [salt_of(own, 0, number) for own in self._program.stream_seeds]

    def run(self, region: Region, arguments: Sequence[Any]) -> list[Any]:
        return self._inside(region, arguments, {})

    def _inside(self, region: Region, arguments: Sequence[Any], env: dict[Value, Any]) -> list[Any]:
        # Its values stay in env unused, because a value is defined in one place.
        env.update(zip(region.arguments, arguments, strict=True))
        for op in region.ops:
            operands = [env[operand] for operand in op.operands]
            env.update(zip(op.results, self._op(op, operands, env), strict=True))
        return [env[value] for value in region.yields]

    def _op(self, op: Op, operands: list[Any], env: dict[Value, Any]) -> list[Any]:
        if op.name in _RULES and op.name not in MATHEMATICS:
            return [self._elementwise(op, operands, _RULES[op.name])]
        match op.name:
            case "loop":
                return self._loop(op, operands, env)
            case "if":
                return self._inside(op.regions[0 if operands[0] else 1], [], env)
            case "argmin":
                return self._argmin(op, operands[0], env)
            case "constant":
                return [np.asarray(op.attributes["value"], op.result.type.dtype.numpy)[()]]
            case "stack":
                shape = op.result.type.shape
                return [np.array(operands, op.result.type.dtype.numpy).reshape(shape)]
            case "extract":
                return [operands[0][op.attributes["index"]]]
            case "dot":
                return [_dot(*operands)]
            case "sum":
                return [_folded(np.add, operands[0])]
            case "reduce_max":
                return [_folded(lambda a, b: b if b > a else a, operands[0])]
            case "reduce_min":
                return [_folded(lambda a, b: b if b < a else a, operands[0])]
        if op.name in DRAWS and self._program.numerics == "exact":
            generator = self._generators[op.attributes["stream"]]
            if op.name == RESEEDS:
                salt = self._salts[op.attributes["stream"]]
                generator.seed(reseeded(_unsigned(operands[2]), salt))
                return [np.float64(0.0)]
            draw = generator.normal if op.name == "random.normal" else generator.random_sample
            return [np.float64(draw())]
        if op.name in DRAWS or (op.name in MATHEMATICS and self._program.numerics == "fast"):
            return [self._elementwise(op, operands, self._expanded(op))]
        return [self._elementwise(op, operands, _RULES[op.name])]

    def _expanded(self, op: Op) -> Callable[..., Any]:
        if op not in self._regions:
            self._regions[op] = self._expansions[op.name](op)
        region = self._regions[op]
        return lambda op, *scalars: self.run(region, scalars)[0]

    def _loop(self, op: Op, values: list[Any], env: dict[Value, Any]) -> list[Any]:
        limit = op.attributes.get("limit", 0)
        for rounds in itertools.count(1):
            again, *values = self._inside(op.regions[0], values, env)
            if not again:
                break
            if limit and rounds >= limit:
                raise UnboundedError(
                    f"{op.origin or 'a loop'} goes on after {limit} rounds, its limit"
                )
        return values

    def _argmin(self, op: Op, count: Any, env: dict[Value, Any]) -> list[Any]:
        of = op.results[1].type.dtype.numpy
        number, least = np.int32(-1), of.type(np.inf)
        before = [generator.get_state() for generator in self._generators]
        for candidate in range(int(count)):
            (cost,) = self._inside(op.regions[0], [np.int32(candidate)], env)
            if cost < least or (number < 0 and cost == least):
                number, least = np.int32(candidate), cost
            for generator, state in zip(self._generators, before, strict=True):
                generator.set_state(state)
        return [number, least]

    @staticmethod
    def _elementwise(op: Op, operands: list[Any], rule: Callable[..., Any]) -> Any:
        type: Type = op.result.type
        if not type.shape:
            return type.dtype.numpy.type(rule(op, *operands))
        rows = zip(*(np.broadcast_to(one, type.shape).ravel() for one in operands), strict=True)
        flat = [rule(op, *row) for row in rows]
        return np.array(flat, type.dtype.numpy).reshape(type.shape)


class _Tracer(_Machine):
    """Stops at the first operation that computes NaN from operands without NaN."""

    def __init__(self, program: Program, expansions: Mapping[str, Expansion], most: int) -> None:
        super().__init__(program, expansions)
        self._inner = _Machine(program, expansions)  # Expansions may have NaN inside.
        self._left = most
        self.found: Origin | None = None
        self._written: set[Value] = set()  # Constants of NaN.

    def _expanded(self, op: Op) -> Callable[..., Any]:
        return self._inner._expanded(op)

    def _op(self, op: Op, operands: list[Any], env: dict[Value, Any]) -> list[Any]:
        self._left -= 1
        if self._left < 0:
            raise _FoundError
        results = super()._op(op, operands, env)
        if op.name == "constant":
            if _has_nan(results[0]):
                self._written.add(op.results[0])
            return results
        given = operands
        if op.name == "select":  # It makes a NaN that is written in the program.
            pairs = zip(op.operands, operands, strict=True)
            given = [one for value, one in pairs if value not in self._written]
        if any(map(_has_nan, results)) and not any(map(_has_nan, given)):
            self.found = op.origin
            raise _FoundError
        return results


def _has_nan(value: Any) -> bool:
    array = np.asarray(value)
    return array.dtype.kind == "f" and bool(np.isnan(array).any())


def _folded(function: Callable[[Any, Any], Any], array: Array) -> Any:
    flat = array.ravel()
    total = flat[0]
    for element in flat[1:]:
        total = function(total, element)
    return total


def _dot(left: Array, right: Array) -> Any:
    rows = left.reshape(-1, left.shape[-1])
    columns = right.reshape(right.shape[0], -1)
    flat = [
        _folded(np.add, np.array([a * b for a, b in zip(row, column, strict=True)]))
        for row in rows
        for column in columns.T
    ]
    shape = left.shape[:-1] + right.shape[1:]
    return np.array(flat, left.dtype).reshape(shape)[()]


def _unsigned(value: Any) -> int:
    return int(value) & ((1 << (8 * int(value.itemsize))) - 1)


def _wrapped(value: int, like: Any) -> Any:
    bits = 8 * like.itemsize
    value &= (1 << bits) - 1
    return like.dtype.type(value - (1 << bits) if value >> (bits - 1) else value)


def _of_unsigned(function: Callable[[int, int], int]) -> Callable[..., Any]:
    return lambda op, a, b: _wrapped(function(_unsigned(a), _unsigned(b)), a)


def _mathematics(name: str) -> Callable[..., Any]:
    return lambda op, *operands: LIBM[name](op.result.type.dtype, *operands)


def _convert(op: Op, a: Any) -> Any:
    to = op.result.type.dtype
    if not to.is_int:
        return to.numpy.type(a)
    if isinstance(a, np.floating):
        limit = 1 << (to.bits - 1)
        return to.numpy.type(int(a) if -limit <= a < limit else -limit)
    return _wrapped(int(a), to.numpy.type(0))


_RULES: Mapping[str, Callable[..., Any]] = {
    "add": lambda op, a, b: a + b,
    "sub": lambda op, a, b: a - b,
    "mul": lambda op, a, b: a * b,
    "div": lambda op, a, b: a / b,
    "fma": _mathematics("fma"),
    "neg": lambda op, a: -a,
    "abs": lambda op, a: abs(a),
    "sqrt": _mathematics("sqrt"),
    "floor": _mathematics("floor"),
    "min": lambda op, a, b: b if b < a else a,
    "max": lambda op, a, b: b if b > a else a,
    **{name: _mathematics(name) for name in sorted(MATHEMATICS)},
    "udiv": _of_unsigned(lambda a, b: a // b if b else -1),
    "urem": _of_unsigned(lambda a, b: a % b if b else a),
    "and": lambda op, a, b: a & b,
    "or": lambda op, a, b: a | b,
    "xor": lambda op, a, b: a ^ b,
    "not": lambda op, a: ~a,
    "shl": lambda op, a, b: _wrapped(_unsigned(a) << min(_unsigned(b), 64), a),
    "lshr": lambda op, a, b: _wrapped(_unsigned(a) >> min(_unsigned(b), 64), a),
    "mulhi": _of_unsigned(lambda a, b: a * b >> 32),
    "eq": lambda op, a, b: a == b,
    "ne": lambda op, a, b: a != b,
    "lt": lambda op, a, b: a < b,
    "le": lambda op, a, b: a <= b,
    "gt": lambda op, a, b: a > b,
    "ge": lambda op, a, b: a >= b,
    "ult": lambda op, a, b: _unsigned(a) < _unsigned(b),
    "select": lambda op, a, b, c: b if a else c,
    "convert": _convert,
    "uconvert": lambda op, a: (
        _wrapped(_unsigned(a), op.result.type.dtype.numpy.type(0))
        if op.result.type.dtype.is_int
        else op.result.type.dtype.numpy.type(_unsigned(a))
    ),
    "bitcast": lambda op, a: np.array(a).view(op.result.type.dtype.numpy)[()],
}


def evaluate(op: Op, operands: Sequence[Any], numerics: Numerics = "fast") -> Any:
    """The result of an operation without regions for these operands (NumPy scalars and arrays of
    their types), by the rules above. KeyError: a draw, or mathematics in `fast`: no rule."""
    if op.name in DRAWS:
        raise KeyError(op.name)
    with np.errstate(all="ignore"):
        (result,) = _ALONE[numerics]._op(op, list(operands), {})
    return result


def drawn(op: Op, words: Sequence[int], expansions: Mapping[str, Expansion]) -> Any:
    """The number that a draw of `fast` gives for (seed, trial, candidate, step)."""
    types = [value.type.dtype.numpy.type for value in op.operands]
    operands = [type(word) for type, word in zip(types, words, strict=True)]
    machine = _Machine(Program("", (), (), (), (), Region(()), "fast"), expansions)
    with np.errstate(all="ignore"):
        (result,) = machine._op(op, operands, {})
    return result


def replayed(
    program: Program,
    arguments: Sequence[Any],
    draw: Callable[[Op], float],
    wanted: Collection[Value],
    expansions: Mapping[str, Expansion],
) -> tuple[list[Any], dict[Value, list[Any]]]:
    """Interprets one trial with the draws that `draw` returns: the yields, and all values of each
    of `wanted`, in order. arguments: the body's arguments."""
    machine = _Replay(program, expansions, draw, wanted)
    with np.errstate(all="ignore"):
        return machine.run(program.body, arguments), machine.kept


class _Replay(_Machine):
    def __init__(
        self,
        program: Program,
        expansions: Mapping[str, Expansion],
        draw: Callable[[Op], float],
        wanted: Collection[Value],
    ) -> None:
        super().__init__(program, expansions)
        self._draw = draw
        self.kept: dict[Value, list[Any]] = {value: [] for value in wanted}

    def _op(self, op: Op, operands: list[Any], env: dict[Value, Any]) -> list[Any]:
        if op.name in DRAWS:
            return [op.result.type.dtype.numpy.type(self._draw(op))]
        results = super()._op(op, operands, env)
        for value, result in zip(op.results, results, strict=True):
            if value in self.kept:
                self.kept[value].append(result)
        return results


_ALONE: Mapping[Numerics, _Machine] = {
    "exact": _Machine(Program("", (), (), (), (), Region(()), "exact"), {}),
    "fast": _Machine(Program("", (), (), (), (), Region(()), "fast"), {}),
}
