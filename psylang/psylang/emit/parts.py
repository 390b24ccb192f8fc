"""Parts of a trial, for threads that share the candidates of its searches (abi.py).

A shared search is a function of its own, of a range of candidates. The whole trial and its parts
call that one function, so its code is emitted once; what its candidates read is handed over in
memory. A part computes again what precedes its search, which is little beside many candidates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import llvmlite.ir as ll

from psylang.emit import abi
from psylang.emit.arguments import Arguments
from psylang.emit.lanes import ELEMENTS, I8, I32, I64, POINTER, Lanes, Term
from psylang.emit.regions import Environment, Regions, Terms, used
from psylang.emit.rows import Rows, addresses
from psylang.emit.twister import GENERATOR_BYTES
from psylang.ir.graph import Op, Program, Value
from psylang.ir.ops import RESEEDS
from psylang.ir.types import DType
from psylang.passes.if_conversion import cost_of

CANDIDATES_MIN = 64  # Searches of fewer candidates do not use lanes.
# The least cost of a search, in additions (ops.py), that is worth handing over: some 20 us.
SHARED_COST_MIN = 1 << 16
LOOP_ROUNDS = 64  # As the cost takes it; nobody knows.
NUMBER_AT = abi.FOUND.fields["number"][1] if abi.FOUND.fields else 0


def constant_count(op: Op, program: Program) -> int | None:
    """The number of a search's candidates, if it is a constant."""
    for other in program.body.walk():
        if op.operands[0] in other.results:
            value = other.attributes.get("value")
            return int(value) if other.name == "constant" and isinstance(value, int) else None
    return None


def shared_searches(program: Program) -> dict[int, int]:
    """By place in the body: the candidates of each search outside of loops that has a constant
    number of candidates, and much to do. In `fast`, where few candidates leave the lanes to trials,
    at least CANDIDATES_MIN."""
    found = {}
    for place, op in enumerate(program.body.ops):
        count = constant_count(op, program) if op.name == "argmin" else None
        if count is None or (program.numerics == "fast" and count < CANDIDATES_MIN):
            continue
        (body,) = op.regions
        loops = any(one.name in ("loop", "argmin") for one in body.walk())
        if count * cost_of(body) * (LOOP_ROUNDS if loops else 1) >= SHARED_COST_MIN:
            found[place] = count
    return found


def drawing(
    builder: Any, generators: dict[str, Any], row: Any
) -> Callable[[Op, list[Terms]], Term]:
    """Emits draws of `exact`. row: the address of stream 0's generator."""

    def draw(op: Op, operands: list[Terms]) -> Term:
        offset = op.attributes["stream"] * GENERATOR_BYTES
        state = builder.gep(row, [I64(offset)], source_etype=I8)
        given = [state, operands[2][0].llvm] if op.name == RESEEDS else [state]
        return Term(builder.call(generators[op.name], given), DType.F64, False)

    return draw


def generators_at(builder: Any, program: Program, first: Any, row: Any) -> Any:
    """The address of the generators of a row."""
    number = builder.mul(row, I64(GENERATOR_BYTES * len(program.streams)))
    return builder.gep(first, [number], source_etype=I8)


@dataclass
class Parts:
    """Emits the shared searches of a program, calls of them, and the functions of its parts.

    generators: the functions of generators, empty without."""

    module: Any
    program: Program
    width: int
    varying: frozenset[str]
    generators: dict[str, Any]
    _functions: dict[int, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.searches = shared_searches(self.program)
        self._calls = self.program.numerics == "fast"
        self._constants = {op.result for op in self.program.body.ops if op.name == "constant"}
        self._made = {op.result: op for op in self.program.body.ops if op.name == "constant"}

    # Searches.

    def call(
        self,
        lanes: Lanes,
        place: int,
        env: Environment,
        bounds: tuple[Any, Any],
        found: Any,
        generators: Any,
    ) -> None:
        """Calls a search for the candidates between two numbers; it stores its result in the
        record `found`."""
        builder = lanes.builder
        terms = [term for value in self._read(place) for term in env[value]]
        with builder.goto_entry_block():
            handed = builder.alloca(I64, size=max(len(terms), 1))
        handed.type = POINTER
        for slot, term in enumerate(terms):
            builder.store(term.llvm, builder.gep(handed, [I64(slot)], source_etype=I64))
        given = [handed, *bounds, found]
        builder.call(self._function(place), [*given, generators] if generators else given)

    def result(self, lanes: Lanes, place: int, found: Any) -> list[Terms]:
        """The results of a search, from its record."""
        builder, op = lanes.builder, self.program.body.ops[place]
        kind = op.results[1].type.dtype
        number = builder.load(_number(builder, found), typ=I32)
        cost = builder.load(found, typ=ELEMENTS[DType.F64])
        if kind is DType.F32:
            cost = builder.fptrunc(cost, ELEMENTS[kind])
        return [(Term(number, DType.I32, False),), (Term(cost, kind, False),)]

    def _read(self, place: int) -> list[Value]:
        """What the candidates read of the trial, except constants."""
        (body,) = self.program.body.ops[place].regions
        ops = self.program.body.ops[:place]
        before = {value for op in ops for value in op.results}
        before |= {*self.program.body.arguments}
        return [
            value
            for value in used(body, (), ())
            if value in before and value not in self._constants
        ]

    def _function(self, place: int) -> Any:
        """void search(handed, low, high, found[, generators])."""
        if place in self._functions:
            return self._functions[place]
        op = self.program.body.ops[place]
        kinds = [POINTER, I32, I32, POINTER, *([POINTER] if self.generators else [])]
        name = self.module.get_unique_name("search")
        function = ll.Function(self.module, ll.FunctionType(ll.VoidType(), kinds), name)
        function.linkage = "internal"
        function.attributes.add("noinline")  # Of several callers; its code is large.
        self._functions[place] = function
        handed, low, high, found, *generators = function.args
        builder = ll.IRBuilder(function.append_basic_block("entry"))
        lanes = Lanes(self.module, builder, self.width)
        row = generators[0] if generators else None
        draw = drawing(builder, self.generators, row)
        regions = Regions(lanes, draw, True, row, self._calls)
        env: Environment = {}
        regions.ops(self._made.values(), env)
        slot = 0
        for value in self._read(place):
            kind, terms = value.type.dtype, []
            for _ in range(value.type.size):
                at = builder.gep(handed, [I64(slot)], source_etype=I64)
                terms.append(Term(builder.load(at, typ=ELEMENTS[kind]), kind, False))
                slot += 1
            env[value] = tuple(terms)
        (number,), (cost,) = regions.search(op, low, Term(high, DType.I32, False), env)
        widened = cost.llvm
        if cost.dtype is DType.F32:
            widened = builder.fpext(widened, ELEMENTS[DType.F64])
        builder.store(widened, found)
        builder.store(number.llvm, _number(builder, found))
        builder.ret_void()
        return function

    # Parts.

    def emit(self) -> None:
        """psylang_searches and psylang_part, if there is something to share."""
        if self.searches:
            self._emit_counts()
            self._emit_part()

    def _emit_counts(self) -> None:
        kind = ll.FunctionType(I64, [I64])
        function = ll.Function(self.module, kind, abi.SEARCHES)
        builder = ll.IRBuilder(function.append_basic_block("entry"))
        count = I64(0)
        for number, candidates in enumerate(self.searches.values()):
            is_it = builder.icmp_signed("==", function.args[0], I64(number))
            count = builder.select(is_it, I64(candidates), count)
        builder.ret(count)

    def _emit_part(self) -> None:
        kinds = [I64, I64, I64, I64, I64, POINTER, POINTER]
        function = ll.Function(self.module, ll.FunctionType(ll.VoidType(), kinds), abi.PART)
        which, trial, low, high, seed, buffers, records = function.args
        builder = ll.IRBuilder(function.append_basic_block("entry"))
        program, table = self.program, abi.buffers_of(self.program)
        lanes = Lanes(self.module, builder, self.width)
        rows = Rows(lanes, addresses(builder, buffers, table.count))
        arguments = Arguments(lanes, rows, program, self.varying, seed)
        generators = None
        if self.generators:
            generators = generators_at(builder, program, rows.buffer(table.generators), trial)
        draw = drawing(builder, self.generators, generators)
        regions = Regions(lanes, draw, True, generators, self._calls)
        states = list(enumerate(program.states, table.states))
        given = program.body.arguments
        env = {
            **arguments.uniform(),
            **arguments.of_trial(trial),
            **{given[index]: rows.load(index, trial, state.type) for index, state in states},
        }
        bounds = builder.trunc(low, I32), builder.trunc(high, I32)
        numbers = {place: number for number, place in enumerate(self.searches)}
        for place, op in enumerate(program.body.ops):
            if place not in numbers:
                regions.ops([op], env)
                continue
            number = numbers[place]
            size = I64(abi.FOUND.itemsize)
            found = builder.gep(records, [builder.mul(I64(number), size)], source_etype=I8)
            here, beyond = (function.append_basic_block(name) for name in ("here", "beyond"))
            builder.cbranch(builder.icmp_signed("==", which, I64(number)), here, beyond)
            builder.position_at_end(here)
            self.call(lanes, place, env, bounds, found, generators)
            builder.ret_void()
            builder.position_at_end(beyond)
            env.update(zip(op.results, self.result(lanes, place, found), strict=True))
        arguments.store_outputs(env, trial)
        for (index, state), value in zip(
            states, program.body.yields[len(program.outputs) :], strict=True
        ):
            for element, term in enumerate(env[value]):
                rows.store(term.llvm, index, trial, state.type, element)
        builder.ret_void()


def _number(builder: Any, found: Any) -> Any:
    """The address of the number in a record of abi.FOUND."""
    return builder.gep(found, [I64(NUMBER_AT)], source_etype=I8)


__all__ = ["CANDIDATES_MIN", "Parts", "constant_count", "drawing", "generators_at"]
