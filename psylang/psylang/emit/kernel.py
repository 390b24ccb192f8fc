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
from psylang.emit.regions import Environment, Regions, Terms, only_loop, used
from psylang.emit.rows import Rows, addresses
from psylang.emit.twister import generator_functions
from psylang.ir.graph import Op, Program
from psylang.ir.types import DType, Type


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
        return Regions(self._lanes, draw, free, self._generator_row)

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
        ops = program.body.ops
        pre, loop, post = ops[:place], ops[place], ops[place + 1 :]
        (body,) = loop.regions
        regions = self._regions()
        numbers, wanted = self._lane_trials(self._begin)
        env = {
            **self._arguments.uniform(),
            **self._arguments.of_trial(self._within(numbers, wanted)),
        }
        regions.ops(pre, env)
        first = [env[operand] for operand in loop.operands]
        again_varies, carried = regions.kinds_of_loop(body, first, env)
        if not again_varies:
            # All lanes have the same number of rounds, so refilling is useless. The code emitted so
            # far is dead, without stores or loops that may not end.
            self._grouped()
            return
        kept = used(body, post, program.body.yields)
        kept = [value for value in kept if value in env and _varies(env[value])]
        start = dict.fromkeys([program.trial, *kept])
        next_trial = builder.add(self._begin, I64(self.width))
        begin_terms = {value: env[value] for value in start}
        begin_carried = [
            tuple(
                lanes.splat(term) if vary else term for term, vary in zip(terms, kinds, strict=True)
            )
            for terms, kinds in zip(first, carried, strict=True)
        ]
        before = builder.block
        round_block, refill, done = (
            builder.append_basic_block(name) for name in ("round", "refill", "done")
        )
        builder.branch(round_block)
        builder.position_at_end(round_block)

        def phi_of(term: Term) -> Term:
            phi = builder.phi(term.llvm.type)
            phi.add_incoming(term.llvm, before)
            return Term(phi, term.dtype, term.varies)

        active = builder.phi(wanted.type)
        active.add_incoming(wanted, before)
        coming = builder.phi(I64)
        coming.add_incoming(next_trial, before)
        held = {value: tuple(map(phi_of, terms)) for value, terms in begin_terms.items()}
        state = [tuple(map(phi_of, terms)) for terms in begin_carried]
        inner = {**env, **held}
        again, *values = regions.region(body, state, inner, active)
        values = [
            tuple(
                lanes.splat(new) if old.varies else new for new, old in zip(news, olds, strict=True)
            )
            for news, olds in zip(values, state, strict=True)
        ]
        goes_on = lanes.splat(again[0]).llvm
        finished = builder.and_(active, lanes.not_(goes_on))
        end_of_round = builder.block
        builder.cbranch(lanes.any(finished), refill, round_block)
        for terms, news in [
            *((held[value], held[value]) for value in held),
            *zip(state, values, strict=True),
        ]:
            for old, new in zip(terms, news, strict=True):
                old.llvm.add_incoming(new.llvm, end_of_round)
        active.add_incoming(active, end_of_round)
        coming.add_incoming(coming, end_of_round)

        # Refill: stores the finished trials, and gives their lanes the next trials.
        builder.position_at_end(refill)
        after = {**inner, **dict(zip(loop.results, values, strict=True))}
        regions.ops(post, after)
        spilled = self._spilled_outputs(after)
        trials = held[program.trial][0].llvm
        trial_place = self._spill(trials)
        builder.store(trials, trial_place, align=1)
        count_place = self._counter()
        builder.store(coming, count_place)

        def one(lane: Any) -> None:
            here = builder.gep(trial_place, [lane], source_etype=I64)
            self._store_lane(spilled, lane, builder.load(here, typ=I64))
            following = builder.load(count_place, typ=I64)
            builder.store(following, here)
            builder.store(builder.add(following, I64(1)), count_place)

        lanes.for_bits(lanes.bits(finished), one)
        numbers = builder.load(trial_place, typ=trials.type, align=1)
        wanted = builder.icmp_signed("<", numbers, lanes.splat_llvm(self._end))
        still = builder.and_(wanted, builder.or_(active, finished))
        fresh_env = {
            **{value: terms for value, terms in env.items() if not _varies(terms)},
            **self._arguments.of_trial(self._within(numbers, wanted)),
        }
        self._varying_ops(regions, pre, fresh_env)
        fresh_env[program.trial] = (Term(numbers, DType.I64, True),)
        for value, olds in held.items():
            for old, new in zip(olds, fresh_env[value], strict=True):
                chosen = builder.select(finished, lanes.splat(new).llvm, old.llvm)
                old.llvm.add_incoming(chosen, builder.block)
        for operand, news, olds in zip(loop.operands, values, state, strict=True):
            for begin, new, old in zip(fresh_env[operand], news, olds, strict=True):
                chosen = new.llvm
                if old.varies:
                    chosen = builder.select(finished, lanes.splat(begin).llvm, new.llvm)
                old.llvm.add_incoming(chosen, builder.block)
        active.add_incoming(still, builder.block)
        coming.add_incoming(builder.load(count_place, typ=I64), builder.block)
        builder.cbranch(lanes.any(still), round_block, done)
        builder.position_at_end(done)

    def _counter(self) -> Any:
        with self._builder.goto_block(self._entry):
            return self._builder.alloca(I64)

    @staticmethod
    def _varying_ops(regions: Regions, ops: Iterable[Op], env: Environment) -> None:
        """Emits the operations without a result in env; uniform operations already have one."""
        for op in ops:
            if not all(result in env for result in op.results):
                regions.ops([op], env)

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


def _varies(terms: Terms) -> bool:
    return any(term.varies for term in terms)


def _small_search(op: Op, program: Program) -> bool:
    """A search of a constant, small number of candidates."""
    count = constant_count(op, program)
    return count is not None and count < CANDIDATES_MIN
