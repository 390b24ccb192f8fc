"""Shares the candidates of one trial's searches among threads.

A search is divided into ranges, which threads take from a counter. Each thread keeps the best
candidate of its ranges, and the least cost wins; of equal ones the lowest number. So neither ranges
nor threads change the result. A range takes at most SLICE_S, after which Python can handle signals.
"""

from __future__ import annotations

import _thread
import contextlib
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psylang.emit.abi import FOUND
from psylang.runtime.kernel import Kernel
from psylang.runtime.schedule import GROWTH_MAX, SLICE_S, note_time

# A search, or the rest of it, that takes less is left to one thread: another one begins after some
# 0.1 ms.
SHARE_S = 5e-4
# Below this a range is mostly what precedes the search, and the way through Python.
RANGE_S_MIN = 2e-4
# The first range of a search whose candidates were never timed.
FIRST_CANDIDATES = 64
RANGE_MULTIPLE = 64  # Of the candidates in the lanes.
WAKE_S = 0.05


class Helpers:
    """Threads beside the calling one, started at the first use; close() ends them."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._waiting: list[queue.SimpleQueue[Callable[[], None] | None]] = []
        self._given = 0  # Pieces of work so far.
        self._ended: list[int] = []  # By thread, how many of them.
        self._wake: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._failure: BaseException | None = None

    def share(self, work: Callable[[], None], stop: Callable[[], None]) -> None:
        """All threads, the calling one too, call `work`; returns when all have returned. What one
        of them raised, or KeyboardInterrupt, comes out then. stop: lets `work` return soon."""
        self.start()
        self._given += 1
        for waiting in self._waiting:
            waiting.put(work)
        interrupted: BaseException | None = None
        try:
            work()
        except BaseException as error:
            stop()
            interrupted = error
        while True:
            try:
                while any(ended != self._given for ended in self._ended):
                    with contextlib.suppress(queue.Empty):
                        self._wake.get(timeout=WAKE_S)
                break
            except KeyboardInterrupt as error:
                stop()
                interrupted = interrupted or error
        failure, self._failure = self._failure, None
        if interrupted or failure:
            raise interrupted or failure  # type: ignore[misc]

    def start(self) -> None:
        """Starts the threads, so that they are ready when share() is called."""
        while len(self._waiting) < self.count:
            self._start()

    def close(self) -> None:
        """Ends the threads, which have nothing to do."""
        for waiting in self._waiting:
            waiting.put(None)

    def _start(self) -> None:
        number = len(self._waiting)
        self._waiting.append(queue.SimpleQueue())
        self._ended.append(self._given)
        # threading.Thread waits until the thread runs, for as long as a small search takes.
        _thread.start_new_thread(self._serve, (number,))

    def _serve(self, number: int) -> None:
        while (work := self._waiting[number].get()) is not None:
            try:
                work()
            except BaseException as error:  # Handed to the caller's thread.
                self._failure = self._failure or error
            self._ended[number] += 1
            self._wake.put(None)


@dataclass
class Trial:
    """A trial that is computed by parts. buffers: gives the table of its buffers, in which the
    generators, if it has some, are a copy. alive: raises if the run has been stopped."""

    kernel: Kernel
    number: int
    seed: int
    buffers: Callable[[], Any]
    alive: Callable[[], None]
    helpers: Helpers | None
    spent_s: float = field(default=0.0, init=False)  # Of all threads, in ranges.

    def run(self, own: Any) -> None:
        """own: the table with the trial's own generators; all of its buffers are written."""
        found = np.zeros(len(self.kernel.searches), FOUND)
        for which in range(len(found)):
            _Search(self, which, found).run()
        begin = time.perf_counter()
        place = found.ctypes.data
        self.kernel.part(len(found), self.number, 0, 0, self.seed, own, place)
        note_time(self.kernel, max(self.spent_s + time.perf_counter() - begin, 1e-9))


class _Search:
    """One search of a trial. found: the records of all of its searches, and of this one at its
    end."""

    def __init__(self, trial: Trial, which: int, found: NDArray[Any]) -> None:
        self._trial, self._which, self._found = trial, which, found
        self._left = self._count = trial.kernel.searches[which]
        self._lock = threading.Lock()
        self._last_size = 0
        self._best = (np.inf, -1)
        self._threads = 1

    def run(self) -> None:
        """To the end; what candidates take decides whether other threads help."""
        kernel, helpers = self._trial.kernel, self._trial.helpers
        if not kernel.seconds_per_candidate[self._which]:
            self._ranges(1)
        if helpers is None or self._left * kernel.seconds_per_candidate[self._which] < SHARE_S:
            self._ranges()
        else:
            self._threads += helpers.count
            helpers.share(self._ranges, self._stop)
        self._found[self._which] = self._best

    def _stop(self) -> None:
        with self._lock:
            self._left = 0

    def _ranges(self, most: int = 1 << 62) -> None:
        """Computes ranges until there is none, or `most` of them."""
        trial, which, kernel = self._trial, self._which, self._trial.kernel
        found = self._found.copy()
        place = found.ctypes.data
        while most and (part := self._next()) is not None:
            low, high = part
            buffers = trial.buffers()
            begin = time.perf_counter()
            kernel.part(which, trial.number, low, high, trial.seed, buffers, place)
            took = max(time.perf_counter() - begin, 1e-9)
            one = (float(found["cost"][which]), int(found["number"][which]))
            with self._lock:
                self._best = min(self._best, one, key=_order)
                trial.spent_s += took
                _note(kernel, which, took / (high - low))
            trial.alive()
            most -= 1

    def _next(self) -> tuple[int, int] | None:
        """The next range; None if there is none."""
        with self._lock:
            size = self._size()
            low = self._count - self._left
            self._left -= size
            self._last_size = size
        return (low, low + size) if size else None

    def _size(self) -> int:
        """How many candidates the next range has: ranges become short towards the end."""
        each = self._trial.kernel.seconds_per_candidate[self._which]
        if not each:
            return min(FIRST_CANDIDATES, self._left)
        most = int(SLICE_S / each)
        if self._last_size:
            most = min(most, GROWTH_MAX * self._last_size)
        share = self._left if self._threads == 1 else self._left // (self._threads + 1)
        size = min(max(share, int(RANGE_S_MIN / each)), most)
        return min(-(-max(size, 1) // RANGE_MULTIPLE) * RANGE_MULTIPLE, self._left)


def _order(one: tuple[float, int]) -> tuple[float, int]:
    """The least cost wins, of equal ones the lowest number; -1, of none, is the greatest."""
    return one[0], one[1] & 0xFFFFFFFF


def _note(kernel: Kernel, which: int, seconds: float) -> None:
    """As note_time(), of a candidate."""
    seen = kernel.seconds_per_candidate[which]
    kernel.seconds_per_candidate[which] = min(seconds, 1.25 * seen) if seen else seconds


__all__ = ["SHARE_S", "Helpers", "Trial"]
