"""Emits regions of the IR: operations, and the structured control around them.

Conditions that are equal in all lanes become branches. Conditions that differ become masks: both
sides of an `if` are computed, and a select takes one; a `loop` runs until its last lane is done,
and lanes that are done keep their values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

import llvmlite.ir as ll

from psylang.emit.lanes import I32, Lanes, Term
from psylang.emit.operations import RULES, select
from psylang.emit.twister import Kept
from psylang.ir.builder import ProgramBuilder
from psylang.ir.graph import Op, Program, Region, Value
from psylang.ir.ops import DRAWS
from psylang.ir.types import DType, Type
from psylang.numerics import expansions
from psylang.passes.expand import CALLABLE
from psylang.passes.pipeline import Settings, optimise

# A value of any shape: its elements in C order.
Terms = tuple[Term, ...]
Environment = dict[Value, Terms]


class Regions:
    """Emits at the builder's position, which may be in another block afterwards.

    Operations are scalar, as passes leave them; only the ends of the body have shapes.

    draw: emits a draw of `exact` with its operands; draws of `fast` have been expanded.
    free: the lanes hold no trials, so a search may use them for its candidates.
    calls: mathematics are calls of functions in the module, as `fast` defines them; else of libm's.
    generators: for `exact`, the address of stream 0's generator; the others follow.
    """

    def __init__(
        self,
        lanes: Lanes,
        draw: Callable[[Op, list[Terms]], Term],
        free: bool = False,
        generators: Any = None,
        calls: bool = False,
    ) -> None:
        self.lanes = lanes
        self._draw = draw
        self._generators = generators
        self._free = free
        self._calls = calls
        self._mask: Any = None  # Mask of the active lanes; None: all.

    def region(
        self, region: Region, arguments: Iterable[Terms], env: Environment, mask: Any = None
    ) -> list[Terms]:
        """Emits a region and returns its yields. env: the enclosing values; not changed. mask: the
        active lanes."""
        outer = self._mask
        self._mask = outer if mask is None else mask
        inner = {**env, **dict(zip(region.arguments, arguments, strict=True))}
        self.ops(region.ops, inner)
        self._mask = outer
        return [inner[value] for value in region.yields]

    def ops(self, ops: Iterable[Op], env: Environment) -> None:
        """Emits operations; their results go into env."""
        for op in ops:
            operands = [env[operand] for operand in op.operands]
            env.update(zip(op.results, self._op(op, operands, env), strict=True))

    def _op(self, op: Op, operands: list[Terms], env: Environment) -> Sequence[Terms]:
        match op.name:
            case "loop":
                return self._loop(op, operands, env)
            case "if":
                return self._if(op, operands[0][0], env)
            case "argmin":
                return self.search(op, I32(0), operands[0][0], env)
            case "constant":
                return [self._constant(op)]
            case "stack":
                return [tuple(term for terms in operands for term in terms)]
            case "extract":
                return [(self._element(op, operands[0]),)]
        if op.name in DRAWS:
            return [(self._draw(op, operands),)]
        if self._calls and op.name in CALLABLE:
            return [(self._call(op, operands[0][0]),)]
        return [(RULES[op.name](self.lanes, op, [term for (term,) in operands]),)]

    def _call(self, op: Op, given: Term) -> Term:
        """A call of the function that computes the operation: one for a type, for lanes and for one
        value."""
        lanes = self.lanes
        kind = lanes.llvm_type(given.dtype, given.varies)
        name = f"psylang_{op.name}_{given.dtype.value}{'_lanes' if given.varies else ''}"
        function = lanes.module.globals.get(name)
        if function is None:
            function = ll.Function(lanes.module, ll.FunctionType(kind, [kind]), name)
            function.linkage = "internal"
            function.attributes.add("noinline")
            builder = ll.IRBuilder(function.append_basic_block("entry"))
            inside = Regions(Lanes(lanes.module, builder, lanes.width), self._draw)
            body = _expanded(op.name, op.operands[0].type).body
            argument = Term(function.args[0], given.dtype, given.varies)
            (result,) = inside.region(body, [(argument,), (), ()], {})[0]
            builder.ret(result.llvm)
        return Term(lanes.builder.call(function, [given.llvm]), given.dtype, given.varies)

    # Elements and shapes.

    def _constant(self, op: Op) -> Terms:
        type = op.result.type
        return tuple(
            self.lanes.constant(value, type.dtype) for value in _flat(op.attributes["value"])
        )

    @staticmethod
    def _element(op: Op, terms: Terms) -> Term:
        index = 0
        for place, extent in zip(op.attributes["index"], op.operands[0].type.shape, strict=True):
            index = index * extent + place
        return terms[index]

    # Control.

    def _if(self, op: Op, condition: Term, env: Environment) -> Sequence[Terms]:
        if condition.varies:
            yes, no = (self.region(region, [], env) for region in op.regions)
            return [
                tuple(
                    select(self.lanes, op, [condition, a, b])
                    for a, b in zip(one, other, strict=True)
                )
                for one, other in zip(yes, no, strict=True)
            ]
        builder = self.lanes.builder
        blocks = [builder.append_basic_block(name) for name in ("then", "else")]
        after = builder.append_basic_block("endif")
        builder.cbranch(condition.llvm, *blocks)
        results = []
        ends = []
        for block, region in zip(blocks, op.regions, strict=True):
            builder.position_at_end(block)
            results.append(self.region(region, [], env))
            ends.append(builder.block)
        # Splats are emitted at the end of a side.
        joined: list[list[tuple[Any, Any, DType, bool]]] = [[] for _ in op.results]
        for place, (yes_terms, no_terms) in enumerate(zip(*results, strict=True)):
            for a, b in zip(yes_terms, no_terms, strict=True):
                varies = a.varies or b.varies
                pair = []
                for term, end in ((a, ends[0]), (b, ends[1])):
                    builder.position_at_end(end)
                    pair.append((self.lanes.splat(term) if varies else term).llvm)
                joined[place].append((pair[0], pair[1], a.dtype, varies))
        for end in ends:
            builder.position_at_end(end)
            builder.branch(after)
        builder.position_at_end(after)
        return [tuple(self._phi(ends, one) for one in terms) for terms in joined]

    def _phi(self, ends: Sequence[Any], one: tuple[Any, Any, DType, bool]) -> Term:
        yes, no, dtype, varies = one
        phi = self.lanes.builder.phi(yes.type)
        phi.add_incoming(yes, ends[0])
        phi.add_incoming(no, ends[1])
        return Term(phi, dtype, varies)

    def _loop(self, op: Op, first: list[Terms], env: Environment) -> Sequence[Terms]:
        (body,) = op.regions
        again_varies, carried_vary = self.kinds_of_loop(body, first, env)
        lanes, builder = self.lanes, self.lanes.builder
        begin = [
            tuple(
                lanes.splat(term) if vary else term for term, vary in zip(terms, kinds, strict=True)
            )
            for terms, kinds in zip(first, carried_vary, strict=True)
        ]
        outer = self._mask
        mask = self._all_lanes() if again_varies and outer is None else outer
        before, block = builder.block, builder.append_basic_block("loop")
        builder.branch(block)
        builder.position_at_end(block)
        phis = [
            tuple(Term(builder.phi(term.llvm.type), term.dtype, term.varies) for term in terms)
            for terms in begin
        ]
        running = None
        if again_varies:
            running = builder.phi(mask.type)
            running.add_incoming(mask, before)
        again, *values = self.region(body, phis, env, running)
        kept = [
            tuple(self._next(running, new, old) for new, old in zip(news, olds, strict=True))
            for news, olds in zip(values, phis, strict=True)
        ]
        if running is None:
            goes_on = again[0].llvm
        else:
            still = builder.and_(running, lanes.splat(again[0]).llvm)
            running.add_incoming(still, builder.block)
            goes_on = lanes.any(still)
        for terms, olds, news in zip(begin, phis, kept, strict=True):
            for term, old, new in zip(terms, olds, news, strict=True):
                old.llvm.add_incoming(term.llvm, before)
                old.llvm.add_incoming(new.llvm, builder.block)
        after = builder.append_basic_block("endloop")
        builder.cbranch(goes_on, block, after)
        builder.position_at_end(after)
        return kept

    def _next(self, running: Any, new: Term, old: Term) -> Term:
        if not old.varies:
            return new
        new = self.lanes.splat(new)
        if running is None:
            return new
        value = self.lanes.builder.select(running, new.llvm, old.llvm)
        return Term(value, new.dtype, True)

    def _all_lanes(self) -> Any:
        return self.lanes.splat(self.lanes.constant(1, DType.BOOL)).llvm

    def search(self, op: Op, low: Any, high: Term, env: Environment) -> Sequence[Terms]:
        """Emits a loop over candidates low … high - 1, one per lane if the lanes are free."""
        lanes, builder = self.lanes, self.lanes.builder
        (body,) = op.regions
        cost_type = op.results[1].type.dtype
        in_lanes = self._free and lanes.width > 1
        width = lanes.width if in_lanes else 1
        wide = in_lanes or self._varies_inside(body, env) or high.varies
        # The lanes' own counts end their searches; the longest ends the loop.
        most = self._longest(high) if high.varies else high.llvm
        none = lanes.constant(-1, DType.I32)
        infinity = lanes.constant(float("inf"), cost_type)
        first = [lanes.splat(one) if wide else one for one in (none, infinity)]
        keep = Kept(builder, self._generators, streams_of(body))
        before = builder.block
        head, block, after = (
            builder.append_basic_block(name) for name in ("search", "candidates", "found")
        )
        builder.branch(head)
        builder.position_at_end(head)
        base = builder.phi(I32)
        best, least = (builder.phi(one.llvm.type) for one in first)
        for phi, value in ((base, low), (best, first[0].llvm), (least, first[1].llvm)):
            phi.add_incoming(value, before)
        builder.cbranch(builder.icmp_signed("<", base, most), block, after)
        builder.position_at_end(block)
        keep.restore()
        candidate = Term(base, DType.I32, False)
        if in_lanes:
            numbers = builder.add(lanes.splat_llvm(base), lanes.lane_numbers(DType.I32))
            candidate = Term(numbers, DType.I32, True)
        free, self._free = self._free, False
        ((cost,),) = self.region(body, [(candidate,)], env)
        self._free = free
        number, value = (lanes.splat(one).llvm if wide else one.llvm for one in (candidate, cost))
        better = improves(lanes, (value, number), (least, best), wide)
        if in_lanes or high.varies:
            limit = lanes.splat(high).llvm
            better = builder.and_(better, builder.icmp_signed("<", number, limit))
        best.add_incoming(builder.select(better, number, best), builder.block)
        least.add_incoming(builder.select(better, value, least), builder.block)
        base.add_incoming(builder.add(base, I32(width)), builder.block)
        builder.branch(head)
        builder.position_at_end(after)
        keep.restore()
        if in_lanes:
            best, least = self._least_of_lanes(best, least)
        return [
            (Term(best, DType.I32, wide and not in_lanes),),
            (Term(least, cost_type, wide and not in_lanes),),
        ]

    def _longest(self, count: Term) -> Any:
        builder = self.lanes.builder
        most = builder.extract_element(count.llvm, I32(0))
        for lane in range(1, self.lanes.width):
            one = builder.extract_element(count.llvm, I32(lane))
            most = builder.select(builder.icmp_signed(">", one, most), one, most)
        return most

    def _least_of_lanes(self, numbers: Any, costs: Any) -> tuple[Any, Any]:
        builder = self.lanes.builder
        best = builder.extract_element(numbers, I32(0))
        least = builder.extract_element(costs, I32(0))
        for lane in range(1, self.lanes.width):
            number = builder.extract_element(numbers, I32(lane))
            cost = builder.extract_element(costs, I32(lane))
            better = precedes(builder, (cost, number), (least, best))
            best = builder.select(better, number, best)
            least = builder.select(better, cost, least)
        return best, least

    # Finds the values that vary, without emitting code.

    def kinds_of_loop(
        self, body: Region, first: Sequence[Terms], env: Environment
    ) -> tuple[bool, list[list[bool]]]:
        """Whether its condition varies, and each element that it carries."""
        carried = [[term.varies for term in terms] for terms in first]
        around = {value: [term.varies for term in terms] for value, terms in env.items()}
        return _loop_kinds(body, carried, around)

    def _varies_inside(self, body: Region, env: Environment) -> bool:
        around = {value: [term.varies for term in terms] for value, terms in env.items()}
        (cost,) = _kinds(body, [[False]], around)
        return any(cost)


@cache
def _expanded(name: str, type: Type) -> Program:
    """A function of one operand as a program, its operations those of `fast`."""
    build = ProgramBuilder(name)
    build.output("y", build.op(name, build.input("x", type)))
    return optimise(build.build(), expansions(), Settings(keep_signature=True))


# A candidate of a search, or candidates: (costs, numbers).
Candidate = tuple[Any, Any]


def improves(lanes: Lanes, new: Candidate, best: Candidate, wide: bool) -> Any:
    """Whether a later candidate is better than the best so far, whose number is -1 if there is
    none. Infinite costs count if nothing else does."""
    builder = lanes.builder
    zero = lanes.constant(0, DType.I32)
    unset = builder.icmp_signed("<", best[1], (lanes.splat(zero) if wide else zero).llvm)
    equal = builder.fcmp_ordered("==", new[0], best[0])
    return builder.or_(builder.fcmp_ordered("<", new[0], best[0]), builder.and_(unset, equal))


def precedes(builder: Any, one: Candidate, other: Candidate) -> Any:
    """Whether `one` of two results of searches is better, or as good and has the lower number."""
    # -1 is the greatest unsigned number, so every candidate wins against it.
    earlier = builder.icmp_unsigned("<", one[1], other[1])
    same = builder.and_(builder.fcmp_ordered("==", one[0], other[0]), earlier)
    return builder.or_(builder.fcmp_ordered("<", one[0], other[0]), same)


Kinds = dict[Value, list[bool]]


def _loop_kinds(
    body: Region, carried: list[list[bool]], around: Kinds
) -> tuple[bool, list[list[bool]]]:
    while True:
        again, *values = _kinds(body, carried, around)
        if again[0]:
            values = [[True] * len(kinds) for kinds in values]
        joined = [
            [a or b for a, b in zip(one, other, strict=True)]
            for one, other in zip(carried, values, strict=True)
        ]
        if joined == carried:
            return again[0], carried
        carried = joined


def _kinds(region: Region, arguments: list[list[bool]], around: Kinds) -> list[list[bool]]:
    env = {**around, **dict(zip(region.arguments, arguments, strict=True))}
    for op in region.ops:
        operands = [env[operand] for operand in op.operands]
        env.update(zip(op.results, _kinds_of_op(op, operands, env), strict=True))
    return [env[value] for value in region.yields]


def _kinds_of_op(op: Op, operands: list[list[bool]], env: Kinds) -> list[list[bool]]:
    if op.name == "loop":
        return _loop_kinds(op.regions[0], operands, env)[1]
    if op.name == "if":
        yes, no = (_kinds(region, [], env) for region in op.regions)
        return [
            [operands[0][0] or a or b for a, b in zip(one, other, strict=True)]
            for one, other in zip(yes, no, strict=True)
        ]
    if op.name == "argmin":
        (cost,) = _kinds(op.regions[0], [[False]], env)
        return [[operands[0][0] or cost[0]]] * 2
    if op.name == "stack":
        return [[one[0] for one in operands]]
    if op.name == "extract":
        index = 0
        for place, extent in zip(op.attributes["index"], op.operands[0].type.shape, strict=True):
            index = index * extent + place
        return [[operands[0][index]]]
    return [[any(True in kinds for kinds in operands)]]


def streams_of(region: Region) -> list[int]:
    """The streams from which the region draws."""
    drawn = (op.attributes["stream"] for op in region.walk() if op.name in DRAWS)
    return sorted(set(drawn))


def _flat(value: Any) -> list[Any]:
    return [one for part in value for one in _flat(part)] if isinstance(value, tuple) else [value]


__all__ = ["Environment", "Regions", "Terms"]


def only_loop(program: Program) -> int | None:
    """The place of the loop in the body, if there is exactly one at the top."""
    places = [place for place, op in enumerate(program.body.ops) if op.name == "loop"]
    return places[0] if len(places) == 1 else None


def varying_values(program: Program, varying: frozenset[str]) -> set[Value]:
    """The values at the top of the body that may differ between trials. varying: parameters with
    one row per trial."""
    arguments = program.body.arguments
    same = {
        argument
        for argument, parameter in zip(arguments, program.parameters, strict=False)
        if parameter.name not in varying
    }
    same.add(program.seed)
    env: Kinds = {one: [one not in same] * one.type.size for one in arguments}
    for op in program.body.ops:
        operands = [env[operand] for operand in op.operands]
        env.update(zip(op.results, _kinds_of_op(op, operands, env), strict=True))
    return {value for value, kinds in env.items() if any(kinds)}


def rounds_vary(program: Program, place: int, varying: set[Value]) -> bool:
    """Whether trials may have different numbers of rounds of the loop at this place. varying: as
    varying_values() found them."""
    op = program.body.ops[place]
    before = _values_before(program, place)
    around = {value: [value in varying] * value.type.size for value in before}
    return _loop_kinds(op.regions[0], [around[one] for one in op.operands], around)[0]


def _values_before(program: Program, place: int) -> list[Value]:
    results = [result for op in program.body.ops[:place] for result in op.results]
    return [*program.body.arguments, *results]


def used(body: Region, post: Iterable[Op], yields: Iterable[Value]) -> list[Value]:
    """Values that are read in the loop or after it, each once."""
    found: dict[Value, None] = {}

    def of(ops: Iterable[Op]) -> None:
        for op in ops:
            found.update(dict.fromkeys(op.operands))
            for region in op.regions:
                of(region.ops)
                found.update(dict.fromkeys(region.yields))

    of(body.ops)
    found.update(dict.fromkeys(body.yields))
    of(post)
    found.update(dict.fromkeys(yields))
    return list(found)
