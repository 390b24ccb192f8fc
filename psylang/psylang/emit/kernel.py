"""The function psylang_run (abi.py): assigns trials to lanes.

refilled    independent trials around one loop of varying length: a lane that is done takes the
            next trial while the others continue
grouped     other independent trials: as many at a time as there are lanes
sequences   trials that need the state of the previous trial: one sequence per lane
single      one trial after the other; a search in it has its candidates in the lanes
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import llvmlite.ir as ll

from psylang.emit import abi
from psylang.emit.arguments import Arguments
from psylang.emit.lanes import I8, I32, I64, POINTER, Lanes, Term
from psylang.emit.parts import CANDIDATES_MIN, Parts, constant_count, drawing, generators_at
from psylang.emit.regions import (
    Environment,
    Regions,
    Terms,
    only_loop,
    rounds_vary,
    used,
    varying_values,
)
from psylang.emit.rows import Rows, addresses
from psylang.emit.twister import generator_functions
from psylang.ir.graph import Op, Program, Value
from psylang.ir.types import DType, Type

# Operations before a loop that are emitted twice, for the first trials of the lanes and for the
# next ones. More would take the compiler twice as long; few are faster so (the LCA, 1.1 times).
TWICE_OPS_MAX = 500


@dataclass
class Kernel:
    """Emits `program` for `width` lanes into `module`. varying: parameters with one row per
    trial."""

    module: Any
    program: Program
    width: int
    varying: frozenset[str] = frozenset()
    _seed: Any = field(init=False)

    def __post_init__(self) -> None:
        program = self.program
        signature = ll.FunctionType(ll.VoidType(), [I64, I64, I64, I64, POINTER])
        self._function = ll.Function(self.module, signature, abi.SYMBOL)
        self._begin, self._end, self._trials, self._seed, buffers = self._function.args
        self._entry = self._function.append_basic_block("entry")
        self._builder = ll.IRBuilder(self._entry)
        self._lanes = Lanes(self.module, self._builder, self.width)
        exact = program.numerics == "exact"
        self._generators = generator_functions(self.module) if exact and program.streams else {}
        table = abi.buffers_of(program)
        self._table = table
        self._rows = Rows(self._lanes, addresses(self._builder, buffers, table.count))
        self._arguments = Arguments(self._lanes, self._rows, program, self.varying, self._seed)
        self._generator_row: Any = None
        self._parts = Parts(self.module, program, self.width, self.varying, self._generators)

    def emit(self) -> None:
        """The whole function."""
        program = self.program
        some = self._builder.icmp_signed("<", self._begin, self._end)
        body, nothing = (self._function.append_basic_block(name) for name in ("body", "nothing"))
        self._builder.cbranch(some, body, nothing)
        self._builder.position_at_end(nothing)
        self._builder.ret_void()
        self._builder.position_at_end(body)
        searches = any(
            op.name == "argmin" and not _small_search(op, program) for op in program.body.walk()
        )
        if program.is_independent():
            if self.width == 1 or searches:
                self._single()
            elif (loop := only_loop(self.program)) is not None:
                self._refilled(loop)
            else:
                self._grouped()
        elif self.width == 1 or searches or self._generators:
            self._sequences(1, free=searches)
        else:
            self._sequences(self.width)
            self._sequences(1)
        self._builder.ret_void()
        self._parts.emit()

    # Arguments and results.

    def _regions(self, free: bool = False) -> Regions:
        draw = drawing(self._builder, self._generators, self._generator_row)
        calls = self.program.numerics == "fast"
        return Regions(self._lanes, draw, free, self._generator_row, calls)

    def _body(self, regions: Regions, env: Environment) -> None:
        """Emits the body's operations; shared searches are called."""
        for place, op in enumerate(self.program.body.ops):
            if place not in self._parts.searches:
                regions.ops([op], env)
                continue
            with self._builder.goto_entry_block():
                found = self._builder.alloca(I8, size=abi.FOUND.itemsize)
            found.align, found.type = 8, POINTER
            bounds = I32(0), I32(self._parts.searches[place])
            self._parts.call(self._lanes, place, env, bounds, found, self._generator_row)
            results = self._parts.result(self._lanes, place, found)
            env.update(zip(op.results, results, strict=True))

    def _spill(self, vector: Any) -> Any:
        """Memory with one element per lane."""
        with self._builder.goto_block(self._entry):
            place = self._builder.alloca(vector.type.element, size=self.width)
        place.align = 64
        place.type = POINTER  # Whole vectors are stored there, too.
        return place

    def _spilled_outputs(self, env: Environment) -> list[tuple[Any, Any, int, Type, int]]:
        """The outputs of all lanes, in memory: (place, element type, buffer, type, index)."""
        spilled = []
        for buffer, type, terms in self._arguments.outputs(env):
            for index, term in enumerate(terms):
                vector = self._lanes.splat(term).llvm
                if type.dtype is DType.BOOL:
                    vector = self._builder.zext(vector, ll.VectorType(I8, self.width))
                place = self._spill(vector)
                self._builder.store(vector, place, align=1)
                spilled.append((place, vector.type.element, buffer, type, index))
        return spilled

    def _store_lane(
        self, spilled: Iterable[tuple[Any, Any, int, Type, int]], lane: Any, trial: Any
    ) -> None:
        for place, element, buffer, type, index in spilled:
            from_place = self._builder.gep(place, [lane], source_etype=element)
            value = self._builder.load(from_place, typ=element)
            self._builder.store(value, self._rows.place(buffer, trial, type, index))

    # Single trials, one after another.

    def _single(self) -> None:
        uniform = self._arguments.uniform()
        builder = self._builder
        before, block = builder.block, builder.append_basic_block("trial")
        builder.branch(block)
        builder.position_at_end(block)
        trial = builder.phi(I64)
        trial.add_incoming(self._begin, before)
        env = {**uniform, **self._arguments.of_trial(trial)}
        self._body(self._regions(free=True), env)
        self._arguments.store_outputs(env, trial)
        following = builder.add(trial, I64(1))
        trial.add_incoming(following, builder.block)
        done = builder.append_basic_block("done")
        builder.cbranch(builder.icmp_signed("<", following, self._end), block, done)
        builder.position_at_end(done)

    # Groups: as many trials as lanes.

    def _lane_trials(self, base: Any) -> tuple[Any, Any]:
        """(trial number of each lane, lanes with a number below the end)."""
        lanes, builder = self._lanes, self._builder
        numbers = builder.add(lanes.splat_llvm(base), lanes.lane_numbers(DType.I64))
        wanted = builder.icmp_signed("<", numbers, lanes.splat_llvm(self._end))
        return numbers, wanted

    def _within(self, numbers: Any, wanted: Any) -> Any:
        """Lanes without a trial repeat the last trial, so they have no new behaviour."""
        last = self._builder.sub(self._end, I64(1))
        return self._builder.select(wanted, numbers, self._lanes.splat_llvm(last))

    def _grouped(self) -> None:
        uniform = self._arguments.uniform()
        builder, lanes = self._builder, self._lanes
        before, block = builder.block, builder.append_basic_block("group")
        builder.branch(block)
        builder.position_at_end(block)
        base = builder.phi(I64)
        base.add_incoming(self._begin, before)
        numbers, wanted = self._lane_trials(base)
        env = {**uniform, **self._arguments.of_trial(self._within(numbers, wanted))}
        self._regions().ops(self.program.body.ops, env)
        spilled = self._spilled_outputs(env)
        lanes.for_bits(
            lanes.bits(wanted),
            lambda lane: self._store_lane(spilled, lane, builder.add(base, lane)),
        )
        following = builder.add(base, I64(self.width))
        base.add_incoming(following, builder.block)
        done = builder.append_basic_block("done")
        builder.cbranch(builder.icmp_signed("<", following, self._end), block, done)
        builder.position_at_end(done)

    # A lane that is done takes the next trial.

    def _refilled(self, place: int) -> None:
        program, lanes, builder = self.program, self._lanes, self._builder
        varying = varying_values(program, self.varying)
        if not rounds_vary(program, place, varying):
            self._grouped()  # All lanes have the same number of rounds: refilling is useless.
            return
        loop, post = program.body.ops[place], program.body.ops[place + 1 :]
        (body,) = loop.regions
        regions = self._regions()
        uniform = dict(self._arguments.uniform())
        pre = program.body.ops[:place]
        same, of_trial = _by_variance(pre, varying)
        once = len(of_trial) > TWICE_OPS_MAX
        if once:
            regions.ops(same, uniform)
        read_later = used(body, post, program.body.yields)

        def begun(numbers: Any) -> tuple[Any, Environment, list[Value], list[Term]]:
            """The trials of these numbers before their loop: the lanes that have one, all values,
            those that the loop or `post` reads, and their terms, then what the loop carries."""
            wanted = builder.icmp_signed("<", numbers, lanes.splat_llvm(self._end))
            env = {**uniform, **self._arguments.of_trial(self._within(numbers, wanted))}
            regions.ops([op for op in pre if not all(one in env for one in op.results)], env)
            env[program.trial] = (Term(numbers, DType.I64, True),)
            held = [
                one
                for one in read_later
                if one is not program.trial and one in env and _varies(env[one])
            ]
            terms = [term for one in (*held, *loop.operands) for term in env[one]]
            return wanted, env, held, list(map(lanes.splat, terms))

        def refilled(free: Any, news: list[Term], olds: list[Any]) -> list[Any]:
            """Lanes that are free begin; the others go on."""
            pairs = zip(news, olds, strict=True)
            return [builder.select(free, new.llvm, old) for new, old in pairs]

        numbers, _ = self._lane_trials(self._begin)
        coming = builder.add(self._begin, I64(self.width))
        fill, round_block, finish, done = (
            builder.append_basic_block(name) for name in ("fill", "round", "finish", "done")
        )
        before = builder.block
        builder.branch(fill)
        builder.position_at_end(fill)
        filled: list[Any] = []
        if once:
            free = going = lanes.splat(lanes.constant(1, DType.BOOL)).llvm
            filled = [_phi(builder, before, one) for one in (numbers, coming, free, going)]
            numbers, coming, free, going = filled
        wanted, env, held, terms = begun(numbers)
        values = [term.llvm for term in terms]
        end_of_fill = builder.block
        if once:
            builder.position_at_start(fill)
            olds = [_phi(builder, before, ll.Constant(one.type, None)) for one in values]
            filled += olds
            builder.position_at_end(end_of_fill)
            values = refilled(free, terms, olds)
            going = builder.and_(wanted, going)
            builder.cbranch(lanes.any(going), round_block, done)
        else:
            uniform |= {one: env[one] for op in same for one in op.results}
            going = wanted
            builder.branch(round_block)

        builder.position_at_end(round_block)
        phis = [_phi(builder, end_of_fill, one) for one in (numbers, coming, going, *values)]
        numbers, coming, going, *values = phis
        mine = [Term(one, old.dtype, True) for one, old in zip(values, terms, strict=True)]
        inner = {**env, program.trial: (Term(numbers, DType.I64, True),)}
        rest = iter(mine)
        inner.update({one: tuple(next(rest) for _ in env[one]) for one in held})
        kept = values[: sum(len(env[one]) for one in held)]
        state = [tuple(next(rest) for _ in env[one]) for one in loop.operands]
        again, *results = regions.region(body, state, inner, going)
        results = [tuple(map(lanes.splat, several)) for several in results]
        finished = builder.and_(going, lanes.not_(lanes.splat(again[0]).llvm))
        builder.cbranch(lanes.any(finished), finish, round_block)
        now = [*kept, *(term.llvm for several in results for term in several)]
        for phi, new in zip(phis, (numbers, coming, going, *now), strict=True):
            phi.add_incoming(new, builder.block)

        # Stores the finished trials; their lanes take the next ones.
        builder.position_at_end(finish)
        after = {**inner, **dict(zip(loop.results, results, strict=True))}
        regions.ops(post, after)
        numbers, coming = self._store_finished(finished, after, numbers, coming)
        if once:
            for phi, new in zip(filled, (numbers, coming, finished, going, *now), strict=True):
                phi.add_incoming(new, builder.block)
            builder.branch(fill)
        else:
            wanted, _, _, terms = begun(numbers)
            going = builder.and_(wanted, going)
            values = refilled(finished, terms, now)
            for phi, new in zip(phis, (numbers, coming, going, *values), strict=True):
                phi.add_incoming(new, builder.block)
            builder.cbranch(lanes.any(going), round_block, done)
        builder.position_at_end(done)

    def _store_finished(
        self, finished: Any, after: Environment, numbers: Any, coming: Any
    ) -> tuple[Any, Any]:
        """Stores the trials of the finished lanes. The lanes' next numbers, and the one after."""
        lanes, builder = self._lanes, self._builder
        spilled = self._spilled_outputs(after)
        trial_place = self._spill(numbers)
        builder.store(numbers, trial_place, align=1)
        count_place = self._counter()
        builder.store(coming, count_place)

        def stored(lane: Any) -> None:
            here = builder.gep(trial_place, [lane], source_etype=I64)
            self._store_lane(spilled, lane, builder.load(here, typ=I64))
            following = builder.load(count_place, typ=I64)
            builder.store(following, here)
            builder.store(builder.add(following, I64(1)), count_place)

        lanes.for_bits(lanes.bits(finished), stored)
        numbers = builder.load(trial_place, typ=numbers.type, align=1)
        return numbers, builder.load(count_place, typ=I64)

    def _counter(self) -> Any:
        with self._builder.goto_block(self._entry):
            return self._builder.alloca(I64)

    # Sequences.

    def _sequences(self, width: int, free: bool = False) -> None:
        """Runs sequences from self._begin on while `width` sequences are left; then self._begin is
        the first that remains."""
        builder, lanes = self._builder, self._lanes
        vector = width > 1
        uniform = self._arguments.uniform()
        before = builder.block
        head, body, done = (
            builder.append_basic_block(name) for name in ("sequences", "sequence", "rest")
        )
        builder.branch(head)
        builder.position_at_end(head)
        base = builder.phi(I64)
        base.add_incoming(self._begin, before)
        beyond = builder.add(base, I64(width))
        builder.cbranch(builder.icmp_signed("<=", beyond, self._end), body, done)
        builder.position_at_end(body)
        sequence = base
        trials = self._trials
        if vector:
            sequence = builder.add(lanes.splat_llvm(base), lanes.lane_numbers(DType.I64))
            trials = lanes.splat_llvm(trials)
        if self._generators:
            first = self._rows.buffer(self._table.generators)
            self._generator_row = generators_at(builder, self.program, first, base)
        first_trial = builder.mul(sequence, trials)
        states = list(enumerate(self.program.states, self._table.states))
        begin = [self._rows.load(index, sequence, state.type) for index, state in states]
        before_trials = builder.block
        test, trial_block, end = (
            builder.append_basic_block(name) for name in ("trials", "trial", "ended")
        )
        builder.branch(test)
        builder.position_at_end(test)
        number = builder.phi(I64)
        number.add_incoming(I64(0), before_trials)
        held = [
            tuple(Term(builder.phi(term.llvm.type), term.dtype, term.varies) for term in terms)
            for terms in begin
        ]
        for olds, terms in zip(held, begin, strict=True):
            for old, term in zip(olds, terms, strict=True):
                old.llvm.add_incoming(term.llvm, before_trials)
        more = builder.icmp_signed("<", number, self._trials)
        builder.cbranch(more, trial_block, end)
        builder.position_at_end(trial_block)
        step = lanes.splat_llvm(number) if vector else number
        trial = builder.add(first_trial, step)
        arguments = self.program.body.arguments
        env = {
            **uniform,
            **self._arguments.of_trial(trial),
            **{arguments[index]: terms for (index, _), terms in zip(states, held, strict=True)},
        }
        self._body(self._regions(free), env)
        self._store_trials(env, trial, vector)
        outputs = len(self.program.outputs)
        for olds, value in zip(held, self.program.body.yields[outputs:], strict=True):
            for old, new in zip(olds, env[value], strict=True):
                term = lanes.splat(new) if old.varies else new
                old.llvm.add_incoming(term.llvm, builder.block)
        number.add_incoming(builder.add(number, I64(1)), builder.block)
        builder.branch(test)
        builder.position_at_end(end)
        self._store_states(states, held, sequence, vector)
        base.add_incoming(beyond, builder.block)
        builder.branch(head)
        builder.position_at_end(done)
        self._begin = base

    def _store_trials(self, env: Environment, trial: Any, vector: bool) -> None:
        if not vector:
            self._arguments.store_outputs(env, trial)
            return
        for buffer, type, terms in self._arguments.outputs(env):
            for index, term in enumerate(terms):
                value = self._lanes.splat(term).llvm
                self._rows.store_vector(value, buffer, trial, type, index)

    def _store_states(
        self, states: Any, held: Iterable[Terms], sequence: Any, vector: bool
    ) -> None:
        for (buffer, state), terms in zip(states, held, strict=True):
            for index, term in enumerate(terms):
                if vector:
                    self._rows.store_vector(term.llvm, buffer, sequence, state.type, index)
                else:
                    self._rows.store(term.llvm, buffer, sequence, state.type, index)


def _phi(builder: Any, before: Any, value: Any) -> Any:
    """A phi with its first value."""
    phi = builder.phi(value.type)
    phi.add_incoming(value, before)
    return phi


def _by_variance(ops: Iterable[Op], varying: set[Value]) -> tuple[list[Op], list[Op]]:
    """The operations that read nothing which differs between trials, and the others."""
    same: list[Op] = []
    of_trial: list[Op] = []
    late = set(varying)  # And what reads it.
    for op in ops:
        reads = set(op.operands)
        for region in op.regions:
            reads.update(used(region, (), ()))
        if late.isdisjoint(reads):
            same.append(op)
        else:
            of_trial.append(op)
            late.update(op.results)
    return same, of_trial


def _varies(terms: Terms) -> bool:
    return any(term.varies for term in terms)


def _small_search(op: Op, program: Program) -> bool:
    """A search of a constant, small number of candidates."""
    count = constant_count(op, program)
    return count is not None and count < CANDIDATES_MIN
