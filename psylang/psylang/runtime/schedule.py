"""Distributes trials over threads: chunks, threads, progress and Ctrl-C.

Units are trials, or the sequences of programs whose trials depend on one another. They are
distributed in order and in chunks of at most SLICE_S, after which Python can handle signals. A
unit's result depends on its number alone, so neither chunks nor threads change the results. The
calling thread works too; the others live as long as the run.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

from psylang.runtime.kernel import Kernel

SLICE_S = 0.05
# Below this a chunk is mostly the waiting for its last trial.
CHUNK_S_MIN = 0.004
# The first trials of a run: enough to fill vectors, few enough to end soon. Times of earlier runs
# do not help, because those had other parameters.
FIRST_TRIALS = 64
GROWTH_MAX = 16
# Less work than this is done by the caller alone: a thread takes 0.1 ms to start.
ALONE_S = 0.002
THREADS_MAX = 1024

# (first unit, last + 1, checkpoint): runs them and calls checkpoint(rows begun, rows ended) often.
RunUnits = Callable[[int, int, Callable[[int, int], None]], None]


class Stopped(BaseException):
    """Another thread failed or Ctrl-C came: leave at the next checkpoint."""


class Schedule:
    """One run of units first … count - 1; those before are done. `rows` of results belong to a
    unit."""

    def __init__(
        self,
        kernel: Kernel,
        count: int,
        rows: int,
        run: RunUnits,
        progress: Callable[[int, int], None] | None = None,
        units_max: int = 1 << 62,
        first: int = 0,
    ) -> None:
        self._kernel = kernel
        self._count = count
        self._rows = rows
        self._run = run
        self._progress = progress
        self._units_max = units_max
        self._lock = threading.Lock()
        self._next = first
        self._last_chunk = 0
        self._each_s = 0.0  # Of one unit, in the chunk that ended last.
        self._stop = False
        self._failure: BaseException | None = None
        self._done: list[tuple[int, int]] = [(0, first * rows)]
        self._done_rows = first * rows

    def go(self, threads: int) -> None:
        """To the end. What a chunk raised, or KeyboardInterrupt, comes out when all have left."""
        workers: list[threading.Thread] = []
        try:
            self._show()
            if threads > 1 and not self._kernel.seconds_per_trial and self._count > 1:
                self._chunk(1)
            estimate = (self._count - self._next) * self._rows * self._kernel.seconds_per_trial
            if estimate > ALONE_S:
                workers = [
                    threading.Thread(target=self._work, args=(threads,), daemon=True)
                    for _ in range(min(threads, self._count - self._next) - 1)
                ]
                for worker in workers:
                    worker.start()
            while self._chunk(threads):
                self._show()
            for worker in workers:
                while worker.is_alive():
                    worker.join(SLICE_S)
                    self._show()
        except Stopped:
            pass
        except BaseException:
            self._stop = True
            raise
        finally:
            self._leave(workers)
        if self._failure is not None:
            raise self._failure
        self._show()

    def rows_done(self) -> int:
        """How many rows from the first on are complete."""
        end = 0
        for begin, until in sorted(self._done):
            if begin > end:
                break
            end = max(end, until)
        return end

    def _leave(self, workers: list[threading.Thread]) -> None:
        """No thread writes to the buffers after this; another Ctrl-C only repeats the first."""
        while any(worker.is_alive() for worker in workers):
            try:
                for worker in workers:
                    worker.join()
            except KeyboardInterrupt:
                continue

    def _work(self, threads: int) -> None:
        try:
            while self._chunk(threads):
                pass
        except Stopped:
            pass
        except BaseException as error:  # Handed to the caller's thread.
            self._failure = self._failure or error
            self._stop = True

    def _chunk(self, threads: int) -> bool:
        """Runs the next chunk; False if there is none."""
        with self._lock:
            if self._stop or self._next >= self._count:
                return False
            begin = self._next
            size = self._chunk_units(self._count - begin, threads)
            self._next = end = begin + size
            self._last_chunk = size
        start = time.perf_counter()
        self._run(begin, end, self._checkpoint)
        self._each_s = (time.perf_counter() - start) / size
        note_time(self._kernel, self._each_s / self._rows)
        return True

    def _chunk_units(self, left: int, threads: int) -> int:
        """Divides the rest evenly, in chunks that are neither long nor tiny."""
        each = self._each_s
        if not each:
            return max(min(FIRST_TRIALS // self._rows, left, self._units_max), 1)
        share = left if threads == 1 else left // (2 * threads)
        most = min(int(SLICE_S / each), GROWTH_MAX * self._last_chunk)
        units = min(most, max(share, int(CHUNK_S_MIN / each)), self._units_max, left)
        return max(units, 1)

    def _checkpoint(self, begin: int, end: int) -> None:
        with self._lock:
            if self._done and self._done[-1][1] == begin:
                self._done[-1] = (self._done[-1][0], end)
            else:
                self._done.append((begin, end))
            self._done_rows += end - begin
        if self._stop:
            raise Stopped

    def _show(self) -> None:
        if self._progress is not None:
            self._progress(min(self._done_rows, self._count * self._rows), self._count * self._rows)


def note_time(kernel: Kernel, seconds: float) -> None:
    """Notes a trial's time. The estimate rises slowly, because a trial may wait for a core."""
    seen = kernel.seconds_per_trial
    kernel.seconds_per_trial = min(seconds, 1.25 * seen) if seen else seconds


def aligned_piece(begin: int, end: int, most: int) -> int:
    """How many of [begin, end) to run first: a power of two that divides `begin`.

    So a piece of a sequence can be run as a sequence of its own, number begin // size, and its
    trials have the right numbers.
    """
    size = 1 << (max(min(most, end - begin), 1).bit_length() - 1)
    return min(size, begin & -begin) if begin else size


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
