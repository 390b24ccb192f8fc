"""One run on a GPU: batches of sequences, each copied there, computed in launches, and copied back.

A launch takes a quarter of a second, so Ctrl-C is heard. Sequences that do not fit into one launch
are continued from their states, which stay on the GPU. Programs of independent trials are sequences
of one trial. If the GPU has too little memory for a batch, the batch is halved.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psylang.emit.gpu import BLOCK_THREADS
from psylang.ir.graph import Program
from psylang.ir.types import Type
from psylang.runtime.cuda.kernel import SPARE_BYTES_MAX, GpuKernel, OutOfMemoryError
from psylang.runtime.errors import GpuError
from psylang.runtime.execute import Given, address
from psylang.runtime.histogram import Counter

MEMORY_SHARE = 0.8  # Of the free memory.
BLOCK_ROWS_MAX = 1 << 22  # Of outputs that are counted and dropped.
# Sequences that run at once if their trials do not fit into one launch.
TOGETHER_MIN = 4096
# A search is divided among threads if there are few trials, or many candidates.
SPLIT_TRIALS_MAX = 1 << 14
SPLIT_CANDIDATES_MIN = 1 << 14
SPLIT_BLOCKS = 16  # For each multiprocessor.


@dataclass
class GpuExecution:
    """A run in progress, like execute.Execution."""

    program: Program
    varying: frozenset[str]
    kernel: GpuKernel
    given: Given
    outputs: list[NDArray[Any] | None]
    counters: list[Counter] = field(default_factory=list)
    rows_done: int = 0

    def __post_init__(self) -> None:
        given = self.given
        self._device = self.kernel.device
        independent = self.program.is_independent()
        rows = given.sequences * given.trials
        self._sequences, self._trials = (
            (rows, 1) if independent else (given.sequences, given.trials)
        )
        self._first = given.first * given.trials if independent else given.first
        candidates = self.kernel.properties.candidates
        together = self._sequences <= SPLIT_TRIALS_MAX or candidates >= SPLIT_CANDIDATES_MIN
        self._search = candidates if candidates and together else 0

    def go(self, threads: int, progress: Callable[[int, int], None] | None = None) -> None:
        """Executes the whole run. KeyboardInterrupt: the first `rows_done` rows are complete."""
        total = self._sequences * self._trials
        show = progress or (lambda *_: None)
        show(0, total)
        with self._device.current(), self._device.stream() as stream:
            batch = _Batch(self, stream)
            try:
                self._batches(batch, show)
            except OutOfMemoryError as error:
                raise self._no_memory(error) from None
            finally:
                batch.free()

    def _batches(self, batch: _Batch, show: Callable[[int, int], None]) -> None:
        done, most = 0, self._sequences_max()
        while done < self._sequences:
            count = min(batch.wanted(), most, self._sequences - done)
            try:
                batch.reserve(count)
            except OutOfMemoryError:
                if not batch.shrink(count):
                    raise
                most = max(count // 2, 1)
                continue
            batch.run(done, count, show)
            done += count
            self.rows_done = done * self._trials
            show(self.rows_done, self._sequences * self._trials)

    def _sequences_max(self) -> int:
        """How many fit into the memory that is free now, about which little needs no question."""
        each = self._row_bytes() * self._trials
        each += sum(_bytes_of(one.type) for one in self.program.states)
        most = self._sequences
        if each * most > SPARE_BYTES_MAX:
            most = int(MEMORY_SHARE * self._device.free_bytes()) // each
        if any(one is None for one in self.outputs):
            most = min(most, BLOCK_ROWS_MAX // self._trials)
        return max(most, 1)

    def _row_bytes(self) -> int:
        program = self.program
        varying = [one.type for one in program.parameters if one.name in self.varying]
        inputs = [
            one.type
            for one, repeated in zip(program.inputs, self.given.repeated, strict=True)
            if not repeated
        ]
        return sum(map(_bytes_of, [*varying, *inputs, *(one.type for one in program.outputs)]))

    def _no_memory(self, error: OutOfMemoryError) -> GpuError:
        free = self._device.free_bytes()
        return GpuError(
            f"GPU: {self._device.name} has no {error.size} bytes for one trial of "
            f"`{self.program.name}` ({free / 2**20:.0f} MiB are free); end other programs on it, "
            "choose another GPU with device='cuda:1', or leave device out"
        )


class _Batch:
    """Consecutive sequences, in the memory of the GPU."""

    def __init__(self, run: GpuExecution, stream: Any) -> None:
        self._run = run
        self._stream = stream
        self._device = run._device
        self._memory = run.kernel.memory()
        program = run.program
        self._first_input = len(program.parameters)
        self._first_state = self._first_input + len(program.inputs)
        self._first_output = self._first_state + len(program.states)
        self._at: list[int] = []  # The addresses of buffers, as kernels take them.
        self._counter = 0
        self._parts: list[int] = []
        self._sending: list[NDArray[Any]] = []  # Until the stream has copied them.
        self._strided = sum(
            1 << number for number, repeated in enumerate(run.given.repeated) if not repeated
        )
        self._search = run._search
        self._pace = run.kernel.search_pace if self._search else run.kernel.pace
        self._items = self._pace.begin()  # Of the next launch.
        self._steps_max = run._trials

    def free(self) -> None:
        # After an exception a kernel may still write there.
        self._device.driver.code("cuStreamSynchronize", self._stream)
        self._run.kernel.keep(self._memory)

    def shrink(self, count: int) -> bool:
        """After the GPU had no memory for `count` sequences: prepares for fewer, or for shorter
        pieces of one. False: there is nothing less."""
        if count == 1:
            if self._steps_max == 1:
                return False
            self._steps_max //= 2
        return True

    def reserve(self, count: int) -> None:
        """Memory for all that a batch of `count` sequences needs. OutOfMemoryError: it is not
        there."""
        run = self._run
        rows = count * self._steps_max
        program, given = run.program, run.given
        sizes = [
            _bytes_of(one.type) * (rows if one.name in run.varying else 1)
            for one in program.parameters
        ]
        for one, repeated in zip(program.inputs, given.repeated, strict=True):
            sizes.append(_bytes_of(one.type) * (1 if repeated else rows))
        sizes += [_bytes_of(one.type) * count for one in program.states]
        sizes += [_bytes_of(one.type) * rows for one in program.outputs]
        parts = count * self._blocks(count) * 8 if self._search else 0
        *self._at, self._counter, cost, number = self._memory.divided([*sizes, 8, parts, parts])
        self._parts = [cost, number]
        self._constants()

    def wanted(self) -> int:
        """How many sequences the next batch should have."""
        items = self._items // (self._search or 1)
        count = items // self._run._trials
        return max(count, min(items, TOGETHER_MIN), 1)

    def _constants(self) -> None:
        """Copies the arguments with one row for all trials."""
        given, program = self._run.given, self._run.program
        for index, parameter in enumerate(program.parameters):
            if parameter.name not in self._run.varying:
                self._put(self._at[index], given.parameters[index])
        for number, array in enumerate(given.inputs):
            if given.repeated[number]:
                self._put(self._at[self._first_input + number], array)

    def run(self, begin: int, count: int, show: Callable[[int, int], None]) -> None:
        """Computes sequences begin … begin + count - 1 of the run."""
        run, trials = self._run, self._run._trials
        for number, state in enumerate(run.program.states):
            rows = np.empty((count, *state.initial.shape), state.initial.dtype)
            rows[...] = state.initial
            self._put(self._at[self._first_state + number], rows)
        at = 0
        while at < trials:
            steps = max(min(trials - at, self._items // count, self._steps_max), 1)
            self._arguments(begin, count, at, steps)
            start = time.perf_counter()
            items = self._launch(begin, count, at, steps)
            self._items = self._pace.following(items, time.perf_counter() - start)
            self._copy_back(begin, count, at, steps)
            at += steps
            if count == 1 and at < trials:
                run.rows_done = begin * trials + at
                show(run.rows_done, run._sequences * trials)

    # Memory.

    def _put(self, place: int, array: NDArray[Any]) -> None:
        array = np.ascontiguousarray(array)
        if array.nbytes:
            self._sending.append(array)
            self._device.driver.call(
                "cuMemcpyHtoDAsync_v2", place, address(array), array.nbytes, self._stream
            )

    def _wait(self) -> None:
        """Until the stream has done everything."""
        self._device.driver.call("cuStreamSynchronize", self._stream)
        self._sending.clear()

    def _arguments(self, begin: int, count: int, at: int, steps: int) -> None:
        """Copies the rows of a piece."""
        given, program = self._run.given, self._run.program
        for index, parameter in enumerate(program.parameters):
            if parameter.name in self._run.varying:
                self._put(
                    self._at[index], self._piece(given.parameters[index], begin, count, at, steps)
                )
        for number, array in enumerate(given.inputs):
            if not given.repeated[number]:
                rows = self._piece(array, begin, count, at, steps)
                self._put(self._at[self._first_input + number], rows)

    def _piece(
        self, array: NDArray[Any], begin: int, count: int, at: int, steps: int
    ) -> NDArray[Any]:
        """A view of rows of an array with a row per trial."""
        run = self._run
        shaped = array.reshape(run._sequences, run._trials, *array.shape[1:])
        return shaped[begin : begin + count, at : at + steps]

    def _copy_back(self, begin: int, count: int, at: int, steps: int) -> None:
        run = self._run
        chunk: dict[str, NDArray[Any]] = {}
        scattered: list[tuple[NDArray[Any], NDArray[Any]]] = []
        for number, output in enumerate(run.program.outputs):
            stored, kind = run.outputs[number], output.type
            piece = None if stored is None else self._piece(stored, begin, count, at, steps)
            rows = piece
            if rows is None or not rows.flags.c_contiguous:
                rows = np.empty((count, steps, *kind.shape), kind.dtype.numpy)
                if piece is not None:
                    scattered.append((piece, rows))
            if rows.nbytes:
                place = self._at[self._first_output + number]
                self._device.driver.call(
                    "cuMemcpyDtoHAsync_v2", address(rows), place, rows.nbytes, self._stream
                )
            chunk[output.name] = rows.reshape(count * steps, *kind.shape)
        self._wait()
        for piece, rows in scattered:
            piece[...] = rows
        for counter in run.counters:
            counter.add(chunk)

    # Launches.

    def _launch(self, begin: int, count: int, at: int, steps: int) -> int:
        """Computes a piece, and returns its items: trials, or candidates."""
        run, kernel = self._run, self._run.kernel
        scalars = [run._first + begin, count, run._trials, at, steps, steps, 0]
        fixed = [self._strided, run.given.seed]
        if self._search:
            for step in range(steps):
                one = [*scalars[:3], at + step, 1, steps, step, *fixed]
                self._search_together(one, count, self._search)
            return count * steps * self._search
        if kernel.properties.refilled:
            self._put(self._counter, np.zeros(1, np.int64))
        buffers = [*self._at, self._counter]
        kernel.launch(kernel.trials, kernel.shape(count), [*scalars, *fixed], buffers, self._stream)
        self._wait()
        return count * steps

    def _blocks(self, count: int) -> int:
        """The blocks that share the candidates of a trial."""
        blocks = max(SPLIT_BLOCKS * self._device.units // count, 1)
        return min(blocks, -(-self._search // BLOCK_THREADS))

    def _search_together(self, scalars: Sequence[int], count: int, candidates: int) -> None:
        """One trial of each sequence; threads share its candidates."""
        kernel = self._run.kernel
        blocks = self._blocks(count)
        buffers = [*self._at, *self._parts]
        low, size = 0, max(self._items // count, BLOCK_THREADS)
        while low < candidates:
            high = min(low + size, candidates)
            start = time.perf_counter()
            grid = (count * blocks, BLOCK_THREADS)
            part = [*scalars, low, high, blocks]
            kernel.launch(kernel.candidates, grid, part, buffers, self._stream)
            if high == candidates:
                grid = (count, BLOCK_THREADS)
                kernel.launch(kernel.choose, grid, part, buffers, self._stream)
            self._wait()
            took = time.perf_counter() - start
            size = max(self._pace.following(count * (high - low), took) // count, BLOCK_THREADS)
            low = high


def _bytes_of(type: Type) -> int:
    return int(type.size * type.dtype.numpy.itemsize)


__all__ = ["GpuExecution"]
