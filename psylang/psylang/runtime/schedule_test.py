"""Units are run once each, in order, by any number of threads; stopping leaves a prefix."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from psylang.runtime import schedule as module
from psylang.runtime.schedule import Schedule, aligned_piece

Checkpoint = Callable[[int, int], None]


def kernel(seconds: float = 0.0) -> Any:
    return SimpleNamespace(seconds_per_trial=seconds)


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("seconds", [0.0, 1e-5, 1e-9])
def test_every_unit_is_run_once(threads: int, seconds: float) -> None:
    runs: list[tuple[int, int]] = []

    def run(begin: int, end: int, checkpoint: Checkpoint) -> None:
        time.sleep((end - begin) * 1e-6)
        runs.append((begin, end))
        checkpoint(begin * 3, end * 3)

    seen: list[int] = []
    schedule = Schedule(kernel(seconds), 10_000, 3, run, lambda done, total: seen.append(done))
    schedule.go(threads)
    ordered = sorted(runs)
    assert ordered[0][0] == 0
    assert [end for _, end in ordered] == [begin for begin, _ in ordered[1:]] + [10_000]
    assert schedule.rows_done() == 30_000
    assert seen == sorted(seen)
    assert seen[-1] == 30_000


def test_chunks_take_about_a_slice_and_respect_the_bound() -> None:
    sizes: list[int] = []

    def run(begin: int, end: int, checkpoint: Checkpoint) -> None:
        sizes.append(end - begin)
        time.sleep((end - begin) * 1e-4)
        checkpoint(begin, end)

    Schedule(kernel(1e-4), 2000, 1, run).go(1)
    assert max(sizes) <= module.SLICE_S / 1e-4
    assert sizes[0] == module.FIRST_TRIALS
    sizes.clear()
    Schedule(kernel(1e-6), 100, 1, run, units_max=7).go(1)
    assert max(sizes) == 7


def test_the_times_of_earlier_trials_do_not_make_the_first_chunk_long() -> None:
    sizes: list[int] = []

    def run(begin: int, end: int, checkpoint: Checkpoint) -> None:
        sizes.append(end - begin)
        time.sleep((end - begin) * 1e-3)
        checkpoint(begin, end)

    Schedule(kernel(1e-9), 200, 1, run).go(1)
    assert max(sizes) <= module.FIRST_TRIALS
    sizes.clear()
    Schedule(kernel(1e-9), 3, 1000, run).go(1)
    assert sizes[0] == 1


@pytest.mark.parametrize("threads", [1, 3])
def test_an_error_of_a_chunk_is_raised_after_all_threads_have_left(threads: int) -> None:
    before = threading.active_count()

    def run(begin: int, end: int, checkpoint: Checkpoint) -> None:
        time.sleep(0.001)
        if end > 300:
            raise OverflowError("too much")
        checkpoint(begin, end)

    schedule = Schedule(kernel(1e-3), 1000, 1, run)
    with pytest.raises(OverflowError, match="too much"):
        schedule.go(threads)
    assert schedule.rows_done() <= 300
    assert threading.active_count() == before


def test_rows_done_are_the_rows_before_the_first_gap() -> None:
    schedule = Schedule(kernel(), 10, 1, lambda *_: None)
    for part in [(6, 8), (0, 2), (2, 4)]:
        schedule._checkpoint(*part)
    assert schedule.rows_done() == 4
    schedule._checkpoint(4, 6)
    assert schedule.rows_done() == 8


@pytest.mark.parametrize(("begin", "end"), [(0, 1), (0, 1000), (77, 154), (2**40 + 3, 2**40 + 99)])
@pytest.mark.parametrize("most", [1, 7, 64])
def test_pieces_of_a_sequence_begin_at_multiples_of_their_size(
    begin: int, end: int, most: int
) -> None:
    at, pieces = begin, 0
    while at < end:
        size = aligned_piece(at, end, most)
        assert 1 <= size <= min(most, end - at)
        assert at % size == 0
        at += size
        pieces += 1
    assert at == end
    assert pieces <= (end - begin) / (most + 1) * 2 + 2 * most.bit_length() + 1


# A shell's background job and its children ignore SIGINT.
INTERRUPTED = """
import signal, sys, threading
signal.signal(signal.SIGINT, signal.default_int_handler)
import numpy as np
import psylang
from psylang.runtime.whole_test import race
plan = psylang.compile(race())
plan.run(trials=1000)
def say(done, total):
    if done and not said:
        said.append(True)
        print("under way", flush=True)
said = []
try:
    plan.run(trials=30_000_000, threads=int(sys.argv[1]), progress=say)
except psylang.InterruptedRunError as error:
    partial = error.partial
    print(error.done == len(partial.x), 0 < error.done < error.total)
    whole = plan.run(trials=error.done)
    print(bool((partial.x == whole.x).all()), isinstance(error, KeyboardInterrupt))
    print(threading.active_count())
"""


@pytest.mark.parametrize("threads", ["1", "2"])
def test_ctrl_c_ends_a_run_soon_and_gives_the_first_trials(threads: str, tmp_path: Path) -> None:
    root = Path(module.__file__).parents[2]
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, threads],
        stdout=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": str(root), "PSYLANG_CACHE_DIR": str(tmp_path / "cache")},
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "under way\n"
        child.send_signal(signal.SIGINT)
        out, _ = child.communicate(timeout=100)  # The whole run would take longer.
    assert out == "True True\nTrue True\n1\n"
