"""CUDA kernels of a program in `fast` numerics: one trial, or one candidate of a search, a thread.

    psylang_trials       each thread runs units: a trial, or a sequence of trials that need the
                         state of the previous trial; a search in it is a loop of the thread.
                         Trials around one loop of varying length: a thread that is done takes the
                         next trial while its warp goes on (refilled)
    psylang_candidates   only of programs with one large search outside of loops: the threads of
                         `blocks` blocks share the candidates of a unit's next trial
    psylang_choose       after psylang_candidates: the best candidate, and the rest of that trial

Arguments: SCALARS, then PARTS in the last two kernels, the buffers of abi.py, in psylang_trials
`counter`, and in the last two kernels the best candidate of each block: costs and numbers.

Unit u of `count` is sequence `first` + u. Its trials `begin` … begin + steps - 1 of `trials` have
the rows u * rows + at … of inputs, varying parameters and outputs; states have row u. Input i has
one row for all trials if bit i of `strided` is 0. Threads take every n-th unit, n being the number
of threads; refilled ones take units from `counter`, which is 0 before a launch. The code computes
the bits of the CPU's code: explicit fma, IEEE division and square root, denormals of f32, nothing
contracted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import llvmlite.ir as ll

from psylang.emit import abi
from psylang.emit.arguments import Arguments
from psylang.emit.lanes import ELEMENTS, I32, I64, POINTER, Lanes, Term
from psylang.emit.parts import CANDIDATES_MIN
from psylang.emit.regions import (
    Candidate,
    Environment,
    Regions,
    Terms,
    improves,
    only_loop,
    precedes,
    rounds_vary,
    used,
    varying_values,
)
from psylang.emit.rows import Rows
from psylang.errors import ProgramError
from psylang.ir.graph import Op, Program
from psylang.ir.types import DType

TRIALS, CANDIDATES, CHOOSE = "psylang_trials", "psylang_candidates", "psylang_choose"
SCALARS = ("first", "count", "trials", "begin", "steps", "rows", "at", "strided", "seed")
PARTS = ("low", "high", "blocks")
BLOCK_THREADS = 128
INPUTS_MAX = 63  # Bits of `strided`.
BUFFERS_MAX = 480  # A kernel has 4 KiB of arguments.
REFILLED_OPS_MAX = 2000  # Before the loop, constants included.
_HEADING = "// psylang candidates, refilled: "
SHARED = 3  # The address space of shared memory.


def split_search(program: Program) -> tuple[int, int] | None:
    """(place in the body, number of candidates) of the search that threads can share: the only one
    of the program, outside of loops, of a constant number of at least CANDIDATES_MIN candidates."""
    searches = [op for op in program.body.walk() if op.name == "argmin"]
    places = [place for place, op in enumerate(program.body.ops) if op.name == "argmin"]
    if len(searches) != 1 or len(places) != 1:
        return None
    (count,) = searches[0].operands
    for op in program.body.ops:
        if count in op.results and op.name == "constant":
            number = int(op.attributes["value"])
            return (places[0], number) if number >= CANDIDATES_MIN else None
    return None


@dataclass(frozen=True)
class Properties:
    """What launches depend on. candidates: that threads can share, 0: none. refilled: threads take
    trials from the counter."""

    candidates: int = 0
    refilled: bool = False

    def heading(self) -> str:
        """A comment in front of PTX."""
        return f"{_HEADING}{self.candidates} {int(self.refilled)}\n"

    @staticmethod
    def of(program: Program, varying: frozenset[str]) -> Properties:
        search = split_search(program)
        refilled = _refilled_loop(program, varying) is not None
        return Properties(search[1] if search else 0, refilled)

    @staticmethod
    def read(ptx: bytes) -> Properties | None:
        """None: the PTX has no heading."""
        first = ptx.partition(b"\n")[0].decode("ascii", "replace")
        words = first.removeprefix(_HEADING).split()
        if not first.startswith(_HEADING) or len(words) != 2 or not all(map(str.isdecimal, words)):
            return None
        return Properties(int(words[0]), words[1] != "0")


def _refilled_loop(program: Program, varying: frozenset[str]) -> int | None:
    """The place of the only loop, if the numbers of its rounds vary between independent trials.
    Operations before it will be in the code twice."""
    place = only_loop(program) if program.is_independent() else None
    if place is None or place > REFILLED_OPS_MAX:
        return None
    return place if rounds_vary(program, place, varying_values(program, varying)) else None


@dataclass
class GpuKernels:
    """Emits the kernels into `module`. registers: the most of a thread; None: no limit."""

    module: Any
    program: Program
    varying: frozenset[str] = frozenset()
    registers: int | None = None

    def emit(self) -> None:
        """ProgramError: the program is `exact`, or has too many inputs or buffers."""
        program = self.program
        if program.numerics != "fast":
            raise ProgramError(
                f"`{program.name}` is exact; a GPU has no libm and no Mersenne Twister: compile it "
                "with numerics='fast'"
            )
        inputs, buffers = len(program.inputs), abi.buffers_of(program).count
        if inputs > INPUTS_MAX or buffers > BUFFERS_MAX:
            raise ProgramError(
                f"`{program.name}` has {inputs} inputs and {buffers} inputs, parameters, states "
                f"and outputs; a kernel takes {INPUTS_MAX} and {BUFFERS_MAX}: record fewer "
                "outputs, or fix parameters"
            )
        _Function(self, TRIALS, ()).trials()
        search = split_search(program)
        if search is not None:
            _Function(self, CANDIDATES, PARTS).candidates(search[0])
            _Function(self, CHOOSE, PARTS).choose(search[0])

    def note(self, function: Any, name: str, value: int) -> None:
        """An annotation for LLVM's NVPTX code generator."""
        entry = self.module.add_metadata([function, name, I32(value)])
        self.module.add_named_metadata("nvvm.annotations", entry)


class _Function:
    """One kernel."""

    def __init__(self, kernels: GpuKernels, name: str, parts: Sequence[str]) -> None:
        program, module = kernels.program, kernels.module
        self.program = program
        self.table = abi.buffers_of(program)
        names = [*SCALARS, *parts]
        pointers = self.table.count + (2 if parts else 1)
        kind = ll.FunctionType(ll.VoidType(), [I64] * len(names) + [POINTER] * pointers)
        self.function = ll.Function(module, kind, name)
        self.function.calling_convention = "ptx_kernel"
        kernels.note(self.function, "maxntidx", BLOCK_THREADS)
        if kernels.registers is not None:
            kernels.note(self.function, "maxnreg", kernels.registers)
        arguments = self.function.args
        self.scalar = dict(zip(names, arguments, strict=False))
        buffers = arguments[len(names) :]
        for buffer in buffers:
            buffer.add_attribute("noalias")
        self.builder = ll.IRBuilder(self.function.append_basic_block("entry"))
        self.lanes = Lanes(module, self.builder, 1)
        self.rows = Rows(self.lanes, buffers)
        self.varying = kernels.varying
        self.arguments = Arguments(
            self.lanes, self.rows, program, kernels.varying, self.scalar["seed"]
        )
        self.regions = Regions(self.lanes, _no_draw)
        self.thread = self._register("tid.x")
        self.block = self._register("ctaid.x")

    # The kernels.

    def trials(self) -> None:
        builder, scalar = self.builder, self.scalar
        place = _refilled_loop(self.program, self.varying)
        if place is not None:
            self._refilled(place)
            builder.ret_void()
            return
        uniform = self.arguments.uniform()
        # Blocks have BLOCK_THREADS threads at most.
        blocks, threads = self._register("nctaid.x"), self._register("ntid.x")
        first = builder.add(builder.mul(self.block, threads), self.thread)

        def unit(number: Any) -> None:
            held = self._states(number)
            if self.program.states:
                held = self._steps(uniform, number, held)
                self._store_states(number, held)
            else:
                env = self._environment(uniform, number, I64(0), held)
                self.regions.ops(self.program.body.ops, env)
                self.arguments.store_outputs(env, self._row(number, I64(0)))

        self._loop(first, scalar["count"], builder.mul(blocks, threads), unit)
        builder.ret_void()

    def _refilled(self, place: int) -> None:
        builder, program = self.builder, self.program
        ops = program.body.ops
        loop, post = ops[place], ops[place + 1 :]
        (body,) = loop.regions
        differs = varying_values(program, self.varying)
        uniform = self.arguments.uniform()
        for op in ops[:place]:
            if not any(result in differs for result in op.results):
                self.regions.ops([op], uniform)
        own = [op for op in ops[:place] if any(result in differs for result in op.results)]
        kept = [one for one in used(body, post, program.body.yields) if one in differs]

        def fetched(unit: Any) -> Environment:
            env = self._environment(uniform, unit, I64(0), [])
            self.regions.ops(own, env)
            return env

        def values_of(unit: Any, env: Environment, carried: Sequence[Terms]) -> list[Any]:
            terms = [*(env[one] for one in held), *carried]
            return [unit, *(term.llvm for several in terms for term in several)]

        blocks = ("fetch", "round", "refill", "next", "latch", "done")
        fetch, round_, refill, next_, latch, done = map(builder.append_basic_block, blocks)
        unit = self._take()
        builder.cbranch(self._is_unit(unit), fetch, done)
        builder.position_at_end(fetch)
        env = fetched(unit)
        held = [one for one in kept if one in env]
        begin = [env[operand] for operand in loop.operands]
        first, before = values_of(unit, env, begin), builder.block
        builder.branch(round_)
        builder.position_at_end(round_)
        phis = [builder.phi(one.type) for one in first]
        unit, rest = phis[0], iter(phis[1:])

        def renamed(terms: Terms) -> Terms:
            return tuple(Term(next(rest), term.dtype, False) for term in terms)

        inner = {**env, **{one: renamed(env[one]) for one in held}}
        state = [renamed(terms) for terms in begin]
        again, *values = self.regions.region(body, state, inner)
        goes_on, end_of_round = values_of(unit, inner, values), builder.block
        builder.cbranch(again[0].llvm, latch, refill)
        builder.position_at_end(refill)
        after = {**inner, **dict(zip(loop.results, values, strict=True))}
        self.regions.ops(post, after)
        self.arguments.store_outputs(after, self._row(unit, I64(0)))
        following = self._take()
        ended, end_of_refill = [following, *goes_on[1:]], builder.block
        builder.cbranch(self._is_unit(following), next_, latch)
        builder.position_at_end(next_)
        env = fetched(following)
        fresh = values_of(following, env, [env[operand] for operand in loop.operands])
        end_of_next = builder.block
        builder.branch(latch)
        # All lanes of a warp meet here. Whether one goes on is no constant of its way here, so that
        # LLVM leaves the meeting place alone.
        builder.position_at_end(latch)
        joined = [builder.phi(one.type) for one in first]
        for phi, *ways in zip(joined, goes_on, ended, fresh, strict=True):
            for value, block in zip(ways, (end_of_round, end_of_refill, end_of_next), strict=True):
                phi.add_incoming(value, block)
        builder.cbranch(self._is_unit(joined[0]), round_, done)
        for phi, one, other in zip(phis, first, joined, strict=True):
            phi.add_incoming(one, before)
            phi.add_incoming(other, latch)
        builder.position_at_end(done)

    def _take(self) -> Any:
        """The next unit, which no other thread takes."""
        counter = self.rows.buffer(self.table.count)
        return self.builder.atomic_rmw("add", counter, I64(1), "monotonic")

    def _is_unit(self, number: Any) -> Any:
        return self.builder.icmp_signed("<", number, self.scalar["count"])

    def candidates(self, place: int) -> None:
        builder, scalar = self.builder, self.scalar
        op = self.program.body.ops[place]
        blocks = scalar["blocks"]
        unit = builder.sdiv(self.block, blocks)
        block = builder.srem(self.block, blocks)
        env = self._environment(self.arguments.uniform(), unit, I64(0), self._states(unit))
        self.regions.ops(self.program.body.ops[:place], env)
        threads = I64(BLOCK_THREADS)
        first = builder.add(builder.mul(block, threads), self.thread)
        first = builder.add(first, scalar["low"])

        def better(number: Any, best: Candidate) -> Candidate:
            candidate = builder.trunc(number, I32)
            term = Term(candidate, DType.I32, False)
            (((cost,)),) = self.regions.region(op.regions[0], [(term,)], env)
            is_better = improves(self.lanes, (cost.llvm, candidate), best, False)
            return self._chosen(is_better, (cost.llvm, candidate), best)

        stride = builder.mul(blocks, threads)
        best = self._fold(op, first, scalar["high"], stride, better)
        best = self._least_of_block(op, best)
        with builder.if_then(builder.icmp_signed("==", self.thread, I64(0))):
            self._store_part(op, self.block, best)
        builder.ret_void()

    def choose(self, place: int) -> None:
        builder = self.builder
        op = self.program.body.ops[place]
        blocks = self.scalar["blocks"]
        first = builder.mul(self.block, blocks)

        def better(number: Any, best: Candidate) -> Candidate:
            part = self._part(op, builder.add(first, number))
            return self._chosen(precedes(builder, part, best), part, best)

        best = self._fold(op, self.thread, blocks, I64(BLOCK_THREADS), better)
        best = self._least_of_block(op, best)
        with builder.if_then(builder.icmp_signed("==", self.thread, I64(0))):
            states = self._states(self.block)
            env = self._environment(self.arguments.uniform(), self.block, I64(0), states)
            ops = self.program.body.ops
            self.regions.ops(ops[:place], env)
            cost, number = best
            kind = op.results[1].type.dtype
            env[op.results[0]] = (Term(number, DType.I32, False),)
            env[op.results[1]] = (Term(cost, kind, False),)
            self.regions.ops(ops[place + 1 :], env)
            self.arguments.store_outputs(env, self._row(self.block, I64(0)))
            self._store_states(self.block, self._next_states(env))
        builder.ret_void()

    # Units and their trials.

    def _row(self, unit: Any, step: Any) -> Any:
        builder = self.builder
        first = builder.add(builder.mul(unit, self.scalar["rows"]), self.scalar["at"])
        return builder.add(first, step)

    def _environment(
        self, uniform: Environment, unit: Any, step: Any, held: Sequence[Terms]
    ) -> Environment:
        """All arguments of a trial."""
        builder, scalar = self.builder, self.scalar
        sequence = builder.add(scalar["first"], unit)
        before = builder.add(builder.mul(sequence, scalar["trials"]), scalar["begin"])
        trial = builder.add(before, step)
        row = self._row(unit, step)
        inputs = range(len(self.program.inputs))
        states = self.program.body.arguments[self.table.states : self.table.outputs]
        return {
            **uniform,
            **self.arguments.of_trial(trial, row, [self._of_input(i, row) for i in inputs]),
            **dict(zip(states, held, strict=True)),
        }

    def _of_input(self, index: int, row: Any) -> Any:
        builder = self.builder
        bit = builder.and_(builder.lshr(self.scalar["strided"], I64(index)), I64(1))
        return builder.mul(row, bit)

    def _states(self, unit: Any) -> list[Terms]:
        states = enumerate(self.program.states, self.table.states)
        return [self.rows.load(index, unit, state.type) for index, state in states]

    def _next_states(self, env: Environment) -> list[Terms]:
        return [env[value] for value in self.program.body.yields[len(self.program.outputs) :]]

    def _store_states(self, unit: Any, held: Sequence[Terms]) -> None:
        states = enumerate(self.program.states, self.table.states)
        for (buffer, state), terms in zip(states, held, strict=True):
            for index, term in enumerate(terms):
                self.rows.store(term.llvm, buffer, unit, state.type, index)

    def _steps(self, uniform: Environment, unit: Any, first: Sequence[Terms]) -> list[Terms]:
        """The trials of a sequence in order; the states after the last one."""
        builder = self.builder
        before = builder.block
        head, body, done = (builder.append_basic_block(name) for name in ("steps", "step", "ended"))
        builder.branch(head)
        builder.position_at_end(head)
        step = builder.phi(I64)
        step.add_incoming(I64(0), before)
        held = [
            tuple(Term(builder.phi(term.llvm.type), term.dtype, False) for term in terms)
            for terms in first
        ]
        _feed(held, first, before)
        builder.cbranch(builder.icmp_signed("<", step, self.scalar["steps"]), body, done)
        builder.position_at_end(body)
        env = self._environment(uniform, unit, step, held)
        self.regions.ops(self.program.body.ops, env)
        self.arguments.store_outputs(env, self._row(unit, step))
        _feed(held, self._next_states(env), builder.block)
        step.add_incoming(builder.add(step, I64(1)), builder.block)
        builder.branch(head)
        builder.position_at_end(done)
        return held

    # Candidates.

    def _fold(
        self,
        op: Op,
        first: Any,
        end: Any,
        stride: Any,
        better: Callable[[Any, Candidate], Candidate],
    ) -> Candidate:
        """The best candidate of one thread; better(number, best so far)."""
        builder = self.builder
        kind = ELEMENTS[op.results[1].type.dtype]
        before = builder.block
        head, body, done = (
            builder.append_basic_block(name) for name in ("search", "candidate", "found")
        )
        builder.branch(head)
        builder.position_at_end(head)
        number, least, best = (builder.phi(one) for one in (I64, kind, I32))
        number.add_incoming(first, before)
        least.add_incoming(ll.Constant(kind, float("inf")), before)
        best.add_incoming(I32(-1), before)
        builder.cbranch(builder.icmp_signed("<", number, end), body, done)
        builder.position_at_end(body)
        chosen = better(number, (least, best))
        number.add_incoming(builder.add(number, stride), builder.block)
        for phi, value in zip((least, best), chosen, strict=True):
            phi.add_incoming(value, builder.block)
        builder.branch(head)
        builder.position_at_end(done)
        return least, best

    def _least_of_block(self, op: Op, best: Candidate) -> Candidate:
        """The best candidate of the threads of a block; valid in thread 0."""
        builder = self.builder
        kinds = (ELEMENTS[op.results[1].type.dtype], I32)
        shared = [self._shared(kind) for kind in kinds]
        half = BLOCK_THREADS
        while half > 1:
            half //= 2
            for array, kind, value in zip(shared, kinds, best, strict=True):
                builder.store(value, self._at(array, kind, self.thread))
            self._barrier()
            # Threads of the upper half compare too; nobody reads their results.
            other = builder.xor(self.thread, I64(half))
            pair = tuple(
                builder.load(self._at(array, kind, other), typ=kind)
                for array, kind in zip(shared, kinds, strict=True)
            )
            found = (pair[0], pair[1])
            best = self._chosen(precedes(builder, found, best), found, best)
            self._barrier()
        return best

    def _chosen(self, first: Any, one: Candidate, other: Candidate) -> Candidate:
        select = self.builder.select
        return select(first, one[0], other[0]), select(first, one[1], other[1])

    def _parts(self, op: Op, index: Any) -> list[tuple[Any, Any]]:
        """(place, type) of the cost and of the number of a block."""
        kinds = (ELEMENTS[op.results[1].type.dtype], I32)
        return [
            (self._at(self.rows.buffer(self.table.count + which), kind, index), kind)
            for which, kind in enumerate(kinds)
        ]

    def _part(self, op: Op, index: Any) -> Candidate:
        cost, number = (
            self.builder.load(place, typ=kind) for place, kind in self._parts(op, index)
        )
        return cost, number

    def _store_part(self, op: Op, index: Any, best: Candidate) -> None:
        """Candidates before `low` were searched by an earlier launch."""
        builder = self.builder
        places = self._parts(op, index)
        earlier = builder.icmp_signed(">", self.scalar["low"], I64(0))
        with builder.if_else(earlier) as (then, otherwise):
            with then:
                old = self._part(op, index)
                chosen = self._chosen(precedes(builder, old, best), old, best)
                for (place, _), value in zip(places, chosen, strict=True):
                    builder.store(value, place)
            with otherwise:
                for (place, _), value in zip(places, best, strict=True):
                    builder.store(value, place)

    # Instructions.

    def _register(self, name: str) -> Any:
        """A special register of PTX, as an i64."""
        read = self.lanes.function(f"llvm.nvvm.read.ptx.sreg.{name}", I32, [])
        return self.builder.zext(self.builder.call(read, []), I64)

    def _barrier(self) -> None:
        wait = self.lanes.function("llvm.nvvm.barrier0", ll.VoidType(), [])
        self.builder.call(wait, [])

    def _shared(self, kind: Any) -> Any:
        array = ll.ArrayType(kind, BLOCK_THREADS)
        name = self.lanes.module.get_unique_name(f"{self.function.name}_shared")
        place = ll.GlobalVariable(self.lanes.module, array, name, addrspace=SHARED)
        place.linkage = "internal"
        place.initializer = ll.Constant(array, ll.Undefined)
        return self.builder.addrspacecast(place, kind.as_pointer())

    def _at(self, base: Any, kind: Any, index: Any) -> Any:
        return self.builder.gep(base, [index], source_etype=kind)

    def _loop(self, first: Any, end: Any, stride: Any, inside: Callable[[Any], None]) -> None:
        builder = self.builder
        before = builder.block
        head, body, done = (builder.append_basic_block(name) for name in ("units", "unit", "done"))
        builder.branch(head)
        builder.position_at_end(head)
        number = builder.phi(I64)
        number.add_incoming(first, before)
        builder.cbranch(builder.icmp_signed("<", number, end), body, done)
        builder.position_at_end(body)
        inside(number)
        number.add_incoming(builder.add(number, stride), builder.block)
        builder.branch(head)
        builder.position_at_end(done)


def _feed(phis: Sequence[Terms], values: Sequence[Terms], block: Any) -> None:
    for olds, news in zip(phis, values, strict=True):
        for old, new in zip(olds, news, strict=True):
            old.llvm.add_incoming(new.llvm, block)


def _no_draw(op: Op, operands: list[Terms]) -> Term:
    """Draws of `fast` have been expanded."""
    raise ProgramError(f"{op.name} remains after the passes")
