"""Threads that share the candidates of one trial give the bits of one thread, and end cleanly."""

from __future__ import annotations

import _thread
import itertools
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import psylang
from psylang.ir.builder import ProgramBuilder
from psylang.ir.graph import Numerics, Program, Value
from psylang.ir.types import I32, DType
from psylang.models import predator_prey
from psylang.runtime import execute, sharing
from psylang.runtime.kernel import Kernel
from psylang.runtime.plan_fixture import compiled, session_cache
from psylang.runtime.sharing_fixture import EVERY, GAME

__all__ = ["compiled", "session_cache"]
pytestmark = pytest.mark.usefixtures("compiled")
CASES = [(name, numerics) for name, (_, _, kinds) in EVERY.items() for numerics in kinds]
PATIENCE_S = 100


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every trial's searches are shared, in short ranges of odd sizes."""
    for module, name, value in (
        (sharing, "SHARE_S", 0.0),
        (execute, "SHARE_S", 0.0),
        (sharing, "RANGE_S_MIN", 1e-6),
        (sharing, "RANGE_MULTIPLE", 7),
        (sharing, "FIRST_CANDIDATES", 5),
    ):
        monkeypatch.setattr(module, name, value)


class Parts:
    """Stands for a kernel's psylang_part: notes calls, and lets `before` do something first."""

    def __init__(self, kernel: Kernel, before: Callable[[], None] = lambda: None) -> None:
        self.calls: list[tuple[int, int, int]] = []  # Of searches: (which, low, high).
        self._real, self._searches, self._before = kernel.part, len(kernel.searches), before

    def __call__(self, which: int, trial: int, low: int, high: int, *others: Any) -> None:
        if which < self._searches:
            self._before()
            self.calls.append((which, low, high))
        self._real(which, trial, low, high, *others)


def kernel_of(plan: psylang.Plan) -> Kernel:
    (variant,) = plan._variants.all()
    return variant.kernel


def alone(plan: psylang.Plan, **arguments: Any) -> Any:
    """The results of psylang_run, which makes whole trials."""
    kernel = kernel_of(plan)
    searches, kernel.searches = kernel.searches, ()
    try:
        return plan.run(threads=1, **arguments)
    finally:
        kernel.searches = searches


def assert_same_bits(found: Any, wanted: Any) -> None:
    assert set(found) == set(wanted)
    for name in wanted:
        assert found[name].tobytes() == wanted[name].tobytes(), name


@pytest.mark.parametrize(("name", "numerics"), CASES)
@pytest.mark.usefixtures("eager")
def test_threads_that_share_a_search_give_the_bits_of_one(name: str, numerics: Numerics) -> None:
    make, inputs, _ = EVERY[name]
    plan = psylang.compile(make(), numerics=numerics)
    kernel = kernel_of(plan)
    assert len(kernel.searches) == (2 if name == "two" else 1)
    kernel.part = parts = Parts(kernel)
    for trials, sequences in ((1, 1), (3, 1), (2, 3)):
        given: dict[str, Any] = {
            "inputs": inputs,
            "trials": trials,
            "sequences": sequences,
            "seed": 5,
        }
        wanted = alone(plan, **given)
        for threads in (1, 2, 3):
            parts.calls.clear()
            assert_same_bits(plan.run(threads=threads, **given), wanted)
            if threads > 1 and trials * sequences == 1:
                for which, count in enumerate(kernel.searches):
                    own = sorted(one[1:] for one in parts.calls if one[0] == which)
                    assert len(own) > 2
                    assert [low for low, _ in own] == [0, *(high for _, high in own[:-1])]
                    assert own[-1][1] == count


@pytest.mark.usefixtures("eager")
def test_f32_is_shared_with_the_same_bits() -> None:
    plan = psylang.compile(predator_prey(12), precision="f32")
    wanted = alone(plan, inputs=GAME, trials=1, seed=3)
    assert_same_bits(plan.run(GAME, trials=1, seed=3, threads=3), wanted)


@pytest.mark.usefixtures("eager")
def test_all_threads_compute_ranges_of_one_trial() -> None:
    plan = psylang.compile(predator_prey(20))
    wanted = plan.run(GAME, trials=1, seed=1, threads=1)
    seen: set[int] = set()
    meeting = threading.Barrier(3)

    def meet() -> None:
        if threading.get_ident() not in seen:
            seen.add(threading.get_ident())
            meeting.wait(PATIENCE_S)

    kernel = kernel_of(plan)
    kernel.part = Parts(kernel, meet)
    assert_same_bits(plan.run(GAME, trials=1, seed=1, threads=3), wanted)
    assert len(seen) == 3


def searching(cost: Callable[[ProgramBuilder, Value], Value], count: int = 1 << 14) -> Program:
    """A program that gives the candidate with the least cost, and the cost."""
    build = ProgramBuilder("searching")
    shift = build.input("shift", default=0.0)

    def of(candidate: Value) -> Value:
        # Enough operations to be worth sharing.
        number = build.convert(candidate, DType.F64)
        idle = build.op("sin", build.mul(number, shift))
        return build.add(cost(build, candidate), build.mul(idle, 0.0))

    number, least = build.argmin(build.constant(count, I32), of)
    build.output("number", number)
    build.output("least", least)
    return build.build()


def of_residue(modulus: int, wanted: float, other: float) -> Callable[[Any, Value], Value]:
    """One cost for candidates -1 modulo `modulus`, another for all others."""

    def cost(build: ProgramBuilder, candidate: Value) -> Value:
        rest = build.op("urem", candidate, modulus)
        return build.select(build.op("eq", rest, modulus - 1), wanted, other)

    return cost


@pytest.mark.parametrize(
    ("cost", "number"),
    [
        (of_residue(3001, 1.0, 2.0), 3000),  # Of equal ones the first.
        (of_residue(3001, 1.0, np.nan), 3000),  # NaN wins against nothing.
        (of_residue(3001, np.inf, np.nan), 3000),  # Infinite costs count.
        (of_residue(3001, -np.inf, np.inf), 3000),
        (of_residue(3001, -0.0, 0.0), 0),  # Equal, though the bits differ.
        (of_residue(3001, np.nan, np.nan), -1),
    ],
    ids=["ties", "nan", "infinite", "least", "zeros", "all_nan"],
)
@pytest.mark.usefixtures("eager")
def test_ties_and_nan_are_those_of_one_thread(cost: Any, number: int) -> None:
    plan = psylang.compile(searching(cost))
    assert kernel_of(plan).searches == (1 << 14,)
    wanted = alone(plan, inputs={"shift": 0.5}, trials=1)
    assert wanted["number"].tolist() == [number]
    for threads in (1, 2, 3):
        assert_same_bits(plan.run({"shift": 0.5}, trials=1, threads=threads), wanted)


def test_a_small_search_is_one_call_and_starts_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of no library model with few levels, and not of any trial that takes little time."""
    assert kernel_of(psylang.compile(predator_prey(6))).searches == ()
    plan = psylang.compile(predator_prey(12))
    plan.run(GAME, trials=1)
    kernel = kernel_of(plan)
    kernel.seconds_per_trial = sharing.SHARE_S / 2  # Whatever this machine took.
    monkeypatch.setattr(sharing.Helpers, "_start", lambda _: pytest.fail("a thread was started"))
    kernel.part = parts = Parts(kernel)
    plan.run(GAME, trials=1, threads=2)
    assert parts.calls == []


def test_threads_share_trials_where_there_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharing, "note_time", lambda *_: None)
    plan = psylang.compile(predator_prey(12))
    plan.run(GAME, trials=1)
    kernel = kernel_of(plan)
    kernel.part = parts = Parts(kernel)
    trials: dict[int, int] = {}
    for count in (2, 3, 4, 31, 32, 33):
        parts.calls.clear()
        kernel.seconds_per_trial = 2 * sharing.SHARE_S
        kernel.seconds_per_candidate = [2 * sharing.SHARE_S / 12**3]
        plan.run(GAME, trials=count, threads=4)
        trials[count] = sum(low == 0 for _, low, _ in parts.calls)
    assert trials == {2: 2, 3: 3, 4: 0, 31: 3, 32: 0, 33: 0}


@pytest.mark.usefixtures("eager")
def test_an_error_of_any_thread_comes_out_and_all_threads_leave() -> None:
    plan = psylang.compile(predator_prey(20))
    plan.run(GAME, trials=1)
    caller, before = threading.get_ident(), _thread._count()
    kernel, real = kernel_of(plan), kernel_of(plan).part
    for fails_in_caller in (False, True):
        came = threading.Event()

        def fail(inside: bool = fails_in_caller, came: threading.Event = came) -> None:
            if (threading.get_ident() == caller) is inside:
                came.set()
                raise MemoryError("no memory for a copy")
            came.wait(PATIENCE_S)

        kernel.part = real
        kernel.part = Parts(kernel, fail)
        with pytest.raises(MemoryError, match="no memory for a copy"):
            plan.run(GAME, trials=1, threads=2)
    kernel.part = real
    wait_for_threads(before)
    assert_same_bits(plan.run(GAME, trials=1, threads=2), alone(plan, inputs=GAME, trials=1))


def wait_for_threads(before: int) -> None:
    """Until all helpers have ended; they have nothing to do any more."""
    pause = threading.Event()
    for _ in itertools.repeat(None, PATIENCE_S * 100):
        if _thread._count() <= before:
            return
        pause.wait(0.01)
    pytest.fail(f"{_thread._count()} threads go on")


# A shell's background job and its children ignore SIGINT.
INTERRUPTED = """
import _thread, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
import psylang
from psylang.models import predator_prey
GAME = {"player": [0.0, 0.0], "predator": [1.5, -1.0], "prey": [-1.0, 2.0]}
plan = psylang.compile(predator_prey(1000))  # A trial takes seconds.
(variant,) = plan._variants.all()
real, said = variant.kernel.part, []
def part(*arguments):
    if not said:
        said.append(True)
        print("under way", flush=True)
    real(*arguments)
variant.kernel.part = part
try:
    plan.run(GAME, trials=1000, threads=int(sys.argv[1]))
except psylang.InterruptedRunError as error:
    print(error.done, error.total, error.partial)
    while _thread._count() > 0:
        pass
    print("alone")
"""


@pytest.mark.parametrize("threads", ["1", "2"])
def test_ctrl_c_ends_a_long_search_soon(threads: str, tmp_path: Path) -> None:
    root = Path(sharing.__file__).parents[2]
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, threads],
        stdout=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": str(root), "PSYLANG_CACHE_DIR": str(tmp_path / "cache")},
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "under way\n"
        child.send_signal(signal.SIGINT)
        out, _ = child.communicate(timeout=PATIENCE_S)  # The whole run would take longer.
    assert out == "0 1000 None\nalone\n"
