"""One run of machine code: its buffers, its chunks, and the recorded outputs.

Rows of results and of inputs are whole arrays, or, if all rows are equal or are counted and
dropped, blocks of a chunk's size: the ABI lets a caller with a part of a buffer move the pointer
back.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psylang.runtime.generators import Generators
from psylang.runtime.histogram import Counter
from psylang.runtime.left import Left
from psylang.runtime.schedule import (
    ALONE_S,
    FIRST_TRIALS,
    GROWTH_MAX,
    SLICE_S,
    Schedule,
    aligned_piece,
    note_time,
)
from psylang.runtime.sharing import SHARE_S, Helpers, Trial
from psylang.runtime.variants import Variant

# Size of blocks for one chunk: a few hundred KiB, so they stay in the core's cache.
BLOCK_ROWS = 1 << 15
GENERATOR_BYTES_MAX = 16 << 20
# From so many units a thread on, threads share units only: at most one in so many waits.
UNITS_PER_THREAD = 8

Checkpoint = Callable[[int, int], None]


@dataclass
class Given:
    """The inputs of a run. Arrays are in C order, of the program's types.

    first: number of the first sequence; rows of all arrays begin there. after: what an earlier run
    left, which this one continues, of one sequence. parameters: one value, or
    one row per trial if varying. inputs: one row per trial, or one value for all (`repeated`).
    generators: of `exact` with streams, else None.
    """

    sequences: int
    trials: int
    seed: int
    parameters: list[NDArray[Any]]
    inputs: list[NDArray[Any]]
    repeated: list[bool]
    generators: Generators | None
    first: int = 0
    after: Left | None = None

    @property
    def row(self) -> int:
        """The number of the first trial."""
        return self.first * self.trials + (self.after.trials if self.after is not None else 0)


@dataclass(frozen=True, slots=True)
class _Part:
    """Consecutive rows for the buffer `index`."""

    index: int
    array: NDArray[Any]

    def moved(self, first: int) -> int:
        """The address of row 0 if the array's first row had that number."""
        stride = self.array.strides[0] if self.array.shape[0] > 1 else self.array.nbytes
        return address(self.array) - first * stride


def address(array: NDArray[Any]) -> int:
    """The address of the first element; writeable arrays have a quicker way."""
    if array.flags.writeable and array.nbytes:
        buffer: Any = array
        return ctypes.addressof(ctypes.c_char.from_buffer(buffer))
    where: int = array.__array_interface__["data"][0]
    return where


@dataclass(frozen=True, slots=True)
class _Shared:
    """A trial to be computed by its parts. helpers: threads that share its searches, None: none.
    generators: of `exact`, its own."""

    helpers: Helpers | None
    generators: _Part | None = None


@dataclass
class Execution:
    """A run in progress. outputs: arrays with a row per trial; None for outputs not stored."""

    variant: Variant
    given: Given
    outputs: list[NDArray[Any] | None]
    counters: list[Counter] = field(default_factory=list)
    rows_done: int = 0

    def __post_init__(self) -> None:
        given, program = self.given, self.variant.program
        self._lock = threading.Lock()
        self._independent = program.is_independent()
        row = given.row
        self._parts: list[_Part] = []  # Of the last sequence.
        self._repeated: list[_Part] = []
        self._blocks: list[int] = []
        at = [
            _Part(0, array).moved(row)
            if parameter.name in self.variant.varying and row
            else address(array)
            for parameter, array in zip(program.parameters, given.parameters, strict=True)
        ]
        for array, repeated in zip(given.inputs, given.repeated, strict=True):
            if repeated:
                rows = min(BLOCK_ROWS, given.sequences * given.trials)
                block = np.ascontiguousarray(np.broadcast_to(array, (rows, *array.shape)))
                self._repeated.append(_Part(len(at), block))
                array = block
            at.append(_Part(0, array).moved(row) if row else address(array))
        self._first_state = len(at)
        at += [0] * len(program.states)
        self._first_output = len(at)
        for number, output in enumerate(self.outputs):
            if output is None:
                self._blocks.append(number)
                at.append(0)
            else:
                at.append(_Part(0, output).moved(row) if row else address(output))
        if given.generators is not None:
            at.append(0)
        self._at = at
        self._pointers = ctypes.c_void_p * len(at)

    def go(self, threads: int, progress: Callable[[int, int], None] | None = None) -> None:
        """Executes the whole run. KeyboardInterrupt: the first `rows_done` rows are complete."""
        given, kernel = self.given, self.variant.kernel
        rows = given.sequences * given.trials
        each = kernel.seconds_per_trial
        bounded = bool(self._repeated or self._blocks)
        least = SHARE_S if kernel.searches and threads > 1 else ALONE_S
        short = rows * each < least if each else rows == 1 and not kernel.searches
        generators = 0 if given.generators is None else given.generators.nbytes
        in_place = not self._blocks and not (bounded and rows > BLOCK_ROWS)
        if (
            short
            and in_place
            and progress is None
            and generators * given.sequences <= GENERATOR_BYTES_MAX
        ):
            self._at_once(rows)
            self.rows_done = rows
            return
        units, per_unit = (rows, 1) if self._independent else (given.sequences, given.trials)
        most = max(BLOCK_ROWS // per_unit, 1) if bounded else units
        if generators:
            most = min(most, max(GENERATOR_BYTES_MAX // generators, 1))
        run = self._run_trials if self._independent else self._run_sequences
        first = 0
        if kernel.searches:
            first = self._together(units, per_unit, threads, progress)
        if first == units:
            return
        schedule = Schedule(kernel, units, per_unit, run, progress, most, first)
        try:
            schedule.go(threads)
        finally:
            self.rows_done = schedule.rows_done()

    def _together(
        self, units: int, rows: int, threads: int, progress: Callable[[int, int], None] | None
    ) -> int:
        """Computes units in which all threads share the searches of a trial; returns how many."""
        done, show = 0, progress or (lambda *_: None)
        run = self._run_trials if self._independent else self._run_sequences
        helpers = Helpers(threads - 1) if threads > 1 else None

        def checkpoint(_: int, end: int) -> None:
            self.rows_done = end
            show(end, units * rows)

        try:
            show(0, units * rows)
            if (
                helpers
                and self.variant.kernel.seconds_per_trial
                and self._shared_units(units, threads)
            ):
                helpers.start()
            while (count := self._shared_units(units - done, threads)) > 0:
                for _ in range(count):
                    run(done, done + 1, checkpoint, helpers)
                    done += 1
        finally:
            if helpers is not None:
                helpers.close()
        return done

    def _shared_units(self, units: int, threads: int) -> int:
        """Of how many of the next units threads should share the searches: of those that leave no
        unit for some thread, and of the first one, whose time nobody knows."""
        each = self.variant.kernel.seconds_per_trial
        if not each:
            return min(units, 1)
        if threads == 1 or each < SHARE_S or units >= UNITS_PER_THREAD * threads:
            return 0
        return units % threads

    def _at_once(self, rows: int) -> None:
        """All of a short run in one call of the machine code."""
        given, kernel = self.given, self.variant.kernel
        begin = time.perf_counter()
        if self._independent and not self.counters:
            row = given.row
            kernel.call(row, row + rows, 1, given.seed, self._pointers(*self._at))
        else:
            run = self._run_trials if self._independent else self._run_sequences
            run(0, rows if self._independent else given.sequences, lambda *_: None)
        note_time(kernel, (time.perf_counter() - begin) / rows)

    def _run_trials(
        self, begin: int, end: int, checkpoint: Checkpoint, helpers: Helpers | None = None
    ) -> None:
        first = self.given.row
        if not self._in_parts(helpers):
            self._call(begin + first, end + first, 1, (begin, end), [], checkpoint)
            return
        for trial in range(begin, end):
            rows, number = (trial, trial + 1), trial + first
            self._call(number, number + 1, 1, rows, [], checkpoint, _Shared(helpers))

    def _in_parts(self, helpers: Helpers | None) -> bool:
        """Whether to compute the next trial by its parts: other threads help, or it takes so long
        that Python could not handle signals."""
        kernel = self.variant.kernel
        each = kernel.seconds_per_trial
        if not kernel.searches:
            return False
        return not each or each > (SLICE_S if helpers is None else SHARE_S)

    def _run_sequences(
        self, begin: int, end: int, checkpoint: Checkpoint, helpers: Helpers | None = None
    ) -> None:
        """Runs whole sequences, or pieces of a long one, which continue from the stored state."""
        trials, kernel, first = self.given.trials, self.variant.kernel, self.given.first
        each = kernel.seconds_per_trial
        parts = self._per_sequence(begin + first, end + first)
        alone = end - begin == 1 and self._in_parts(helpers)
        fits = not self._blocks and not (self._repeated and trials > BLOCK_ROWS)
        whole = end - begin > 1 or trials == 1 or (0 < each * trials < ALONE_S and fits)
        if whole and not alone and self.given.after is None:
            moved = [(part.index, part.moved(begin + first)) for part in parts]
            rows = (begin * trials, end * trials)
            self._call(begin + first, end + first, trials, rows, moved, checkpoint)
            return
        offset = self.given.row
        at, last, most = begin * trials + offset, end * trials + offset, FIRST_TRIALS
        generators = parts[-1] if self.given.generators is not None else None
        while at < last:
            shared = _Shared(helpers, generators) if self._in_parts(helpers) else None
            size = 1 if shared else aligned_piece(at, last, min(most, BLOCK_ROWS))
            number = at // size
            moved = [(part.index, part.moved(number)) for part in parts]
            start = time.perf_counter()
            rows = (at - offset, at - offset + size)
            self._call(number, number + 1, size, rows, moved, checkpoint, shared)
            if shared is None:
                took = max(time.perf_counter() - start, 1e-9) / size
                note_time(kernel, took)
                most = max(min(int(SLICE_S / took), GROWTH_MAX * size), 1)
            at += size

    def _per_sequence(self, begin: int, end: int) -> list[_Part]:
        """Buffers with one row per sequence, as before its first trial."""
        parts, after = [], self.given.after
        for number, state in enumerate(self.variant.program.states):
            row = state.initial if after is None else after.states[state.name]
            array = np.empty((end - begin, *row.shape), row.dtype)
            array[...] = row
            parts.append(_Part(self._first_state + number, array))
        if self.given.generators is not None:
            rows = self.given.generators.rows(begin, end)
            if after is not None and after.generators is not None:
                rows[...] = after.generators
            parts.append(_Part(len(self._at) - 1, rows))
        self._parts = parts
        return parts

    def left(self) -> Left | None:
        """What the run left, after it ended; None if it has several sequences."""
        given, states = self.given, self.variant.program.states
        if given.sequences > 1 or given.first:
            return None
        arrays = [part.array[0] for part in self._parts]
        kept = {one.name: array for one, array in zip(states, arrays, strict=False)}
        generators = arrays[-1] if given.generators is not None and arrays else None
        outputs = frozenset(one.name for one in self.variant.program.outputs)
        return Left(given.row + given.trials, outputs, kept, generators)

    def _call(
        self,
        begin: int,
        end: int,
        trials: int,
        rows: tuple[int, int],
        moved: list[tuple[int, int]],
        checkpoint: Checkpoint,
        shared: _Shared | None = None,
    ) -> None:
        """Runs units begin … end - 1, as the code counts them, which are the `rows` of our
        arrays. shared: of one trial, which is computed by its parts."""
        row = rows[0] + self.given.row
        at = self._at.copy()
        for index, where in moved:
            at[index] = where
        for part in self._repeated:
            at[part.index] = part.moved(row)
        blocks = {}
        for number in self._blocks:
            kind = self.variant.program.outputs[number].type
            block = np.empty((rows[1] - rows[0], *kind.shape), kind.dtype.numpy)
            at[self._first_output + number] = _Part(0, block).moved(row)
            blocks[number] = block
        if shared is None:
            self.variant.kernel.call(begin, end, trials, self.given.seed, self._pointers(*at))
        else:
            self._by_parts(begin, at, shared, lambda: checkpoint(rows[0], rows[0]))
        if self.counters:
            chunk = {}
            for number, output in enumerate(self.variant.program.outputs):
                stored = self.outputs[number]
                chunk[output.name] = blocks[number] if stored is None else stored[slice(*rows)]
            with self._lock:
                for counter in self.counters:
                    counter.add(chunk)
        checkpoint(*rows)

    def _by_parts(
        self, number: int, at: list[int], shared: _Shared, alive: Callable[[], None]
    ) -> None:
        """Computes a trial by its parts. at: the addresses of its buffers."""
        own, generators = self._pointers(*at), shared.generators

        def buffers() -> Any:
            if generators is None:
                return own
            copy = _Part(generators.index, generators.array.copy())
            made: Any = self._pointers(*at[:-1], copy.moved(number))
            made.kept = copy  # Alive as long as its address.
            return made

        kernel, seed = self.variant.kernel, self.given.seed
        Trial(kernel, number, seed, buffers, alive, shared.helpers).run(own)
