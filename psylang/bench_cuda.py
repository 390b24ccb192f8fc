"""What models take on an NVIDIA GPU and on this machine's CPU, and whether the bits are equal.

    PYTHONPATH=psylang python3 psylang/bench_cuda.py            CPU and GPU in turns
    PYTHONPATH=psylang python3 psylang/bench_cuda.py --check    every model of the library, bitwise

JSON lines: the machine first. Times are seconds of a whole run() with its copies: median, least and
greatest of the rounds; the CPU has all its threads. compile_s (CPU), ptx_s and driver_s (GPU) are
the compilations before. `ratio` is CPU ÷ GPU of the medians. `equal`: the outputs of one run have
the same bits. The thesis has 3.3 for its predator-prey search.

Needs numpy and llvmlite (0.44 or later). Ends within a minute: what found no time is named in the
last line. Exit: 0 all bits are equal, 1 some differ, 77 no GPU can be used (standard error has the
reason).
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

# llvmlite 0.44 has opaque pointers on request alone; later ones always.
os.environ.setdefault("LLVMLITE_ENABLE_OPAQUE_POINTERS", "1")

import llvmlite
import numpy as np

import psylang
from psylang import models
from psylang.runtime.cuda.driver import driver
from psylang.runtime.library_fixture import CASES, GAME, STROOP
from psylang.runtime.schedule import cores

LIMIT_S = 55.0
ROUNDS_MIN, ROUNDS_MAX = 3, 9
CASE_S = 2.5  # After which no round of a case begins.
CHECKED_TRIALS = 1000
WORKERS_MAX = 8
SKIPPED = 77
Arrays = Mapping[str, Any]


@dataclass(frozen=True)
class Case:
    """A model and its runs: `sequences` of `trials` trials."""

    name: str
    make: Callable[[], Any]
    inputs: Mapping[str, Any]
    sequences: int
    trials: int = 1

    def scaled(self, factor: float) -> Case:
        count = max(int(self.sequences * factor), 1)
        return Case(self.name, self.make, self.inputs, count, self.trials)


NECKER = {"stimulus": [0.5] * 16}
MEASURED = (
    Case("predator_prey_100", partial(models.predator_prey, 100), GAME, 1),
    Case("predator_prey_100_by_16", partial(models.predator_prey, 100), GAME, 16),
    Case("predator_prey_6", partial(models.predator_prey, 6), GAME, 200_000),
    Case("predator_prey_4", partial(models.predator_prey, 4), GAME, 400_000),
    Case("predator_prey_2", partial(models.predator_prey, 2), GAME, 1_000_000),
    Case("ddm", partial(models.ddm, drift=0.5, noise=1.0, threshold=1.0), {}, 1_000_000),
    Case("botvinick_stroop", models.botvinick_stroop, STROOP, 50_000, 25),
    Case("necker_3", models.necker_3, {"stimulus": [0.5] * 6}, 50_000),
    Case("necker_8", models.necker_8, NECKER, 20_000),
    Case("necker_vectorised", models.necker_vectorised, NECKER, 50_000),
)


def main() -> int:
    begin = time.monotonic()
    options = _options()
    # The compiler's time is measured, and nothing is left behind.
    with tempfile.TemporaryDirectory() as cache:
        os.environ["PSYLANG_CACHE_DIR"] = cache
        try:
            device = driver().device(0)
        except psylang.GpuError as error:
            print(f"bench_cuda: {error}", file=sys.stderr)
            return SKIPPED
        _print(
            {
                "gpu": device.name,
                "multiprocessors": device.units,
                "threads": cores(),
                "machine": platform.machine(),
                "python": platform.python_version(),
                "llvmlite": llvmlite.__version__,
                "numpy": np.__version__,
                "isa": psylang.compile(models.ddm()).run().run["isa"],
            }
        )
        end = begin + options.limit_s
        rows = _in_processes(options, end) if options.check else _in_turn(options, end)
        unequal, late, count = [], [], 0
        for name, found in rows:
            if found is None:
                late.append(name)
                continue
            _print(found)
            count += 1
            if not found["equal"]:
                unequal.append(name)
        _print({"cases": count, "unequal": unequal, "no_time_for": late})
        return 1 if unequal or not count else 0


Row = dict[str, Any]
Jobs = Iterator[tuple[str, Callable[[], Row]]]


def _in_turn(options: argparse.Namespace, end: float) -> Iterator[tuple[str, Row | None]]:
    """(name, result) of each case; None: the time was up."""
    for name, job in _measured(options):
        yield name, job() if time.monotonic() < end else None


def _in_processes(options: argparse.Namespace, end: float) -> Iterator[tuple[str, Row | None]]:
    """The same of the checks, many at a time: compiling takes most of their time."""
    workers = min(cores(), WORKERS_MAX)
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"))
    try:
        running = [(name, pool.submit(job)) for name, job in _checked(options)]
        for name, one in running:
            try:
                yield name, one.result(max(end - time.monotonic(), 0.0))
            except TimeoutError:
                yield name, None
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="compare the library's models alone")
    parser.add_argument(
        "--trials", type=int, default=CHECKED_TRIALS, help="of each model, with --check"
    )
    parser.add_argument(
        "--scale", type=float, default=1.0, help="of the measured numbers of trials; default: 1"
    )
    parser.add_argument("--model", action="append", help="this one only; may be repeated")
    parser.add_argument("--limit-s", type=float, default=LIMIT_S, help="no case begins after this")
    return parser.parse_args()


def _checked(options: argparse.Namespace) -> Jobs:
    for name, (make, inputs, trials) in CASES.items():
        if options.model is None or name in options.model:
            count = max(options.trials // trials, 1)
            for precision in ("f64", "f32"):
                case = Case(name, make, inputs, count, trials)
                yield f"{name} {precision}", partial(_compared, case, precision)
    if options.model is None:
        # Threads that share a search; and few registers, so that values are spilled.
        few = max(options.trials // 100, 1)
        search = Case("predator_prey_20", partial(models.predator_prey, 20), GAME, few)
        yield search.name, partial(_compared, search, "f64")
        yield f"{search.name}, 32 registers", partial(_compared, search, "f64", 32)
        yield "a search over a grid", _compared_grid


def _compared(case: Case, precision: Any, registers: int | None = None) -> Row:
    plan = psylang.compile(case.make(), precision=precision)
    run = partial(plan.run, case.inputs, trials=case.trials, sequences=case.sequences, seed=7)
    begin = time.perf_counter()
    on_gpu = run(device=psylang.Cuda(registers=registers))
    gpu_s = time.perf_counter() - begin
    on_cpu = run()
    return {
        "checked": case.name,
        "precision": precision,
        "registers": registers,
        "trials": case.sequences * case.trials,
        "first_gpu_run_s": gpu_s,
        "equal": _equal(on_cpu, on_gpu),
    }


def _compared_grid() -> Row:
    plan = psylang.compile(models.ddm(dt=0.01), vary=["drift", "threshold"])
    grid = {"drift": np.linspace(0.1, 1.0, 5), "threshold": np.linspace(0.5, 1.0, 3)}
    found = [
        plan.search(grid, objective="response_time", trials=50, seed=3, device=device)
        for device in ("cpu", "cuda")
    ]
    return {"checked": "search", "equal": _equal(found[0].table, found[1].table)}


def _measured(options: argparse.Namespace) -> Jobs:
    for case in MEASURED:
        if options.model is None or case.name in options.model:
            for precision in ("f64", "f32"):
                yield (
                    f"{case.name} {precision}",
                    partial(_compete, case.scaled(options.scale), precision),
                )


def _compete(case: Case, precision: Any) -> Row:
    begin = time.perf_counter()
    plan = psylang.compile(case.make(), precision=precision)
    compile_s = time.perf_counter() - begin

    def run(device: str, seed: int, sequences: int = case.sequences) -> psylang.Results:
        return plan.run(
            case.inputs, trials=case.trials, sequences=sequences, seed=seed, device=device
        )

    begin = time.perf_counter()
    run("cuda", 0, 1)
    gpu_first_s = time.perf_counter() - begin
    (variant,) = plan.gpu_variants()
    equal = _equal(run("cpu", 0), run("cuda", 0))
    taken: dict[str, list[float]] = {"cpu": [], "cuda": []}
    start = time.monotonic()
    for seed in range(1, ROUNDS_MAX + 1):
        for device, times in taken.items():
            begin = time.perf_counter()
            run(device, seed)
            times.append(time.perf_counter() - begin)
        if seed >= ROUNDS_MIN and time.monotonic() - start > CASE_S:
            break
    cpu, gpu = (statistics.median(times) for times in taken.values())
    return {
        "model": case.name,
        "precision": precision,
        "sequences": case.sequences,
        "trials": case.trials,
        "rounds": len(taken["cpu"]),
        "cpu_s": _spread(taken["cpu"]),
        "gpu_s": _spread(taken["cuda"]),
        "ratio": cpu / gpu,
        "equal": equal,
        "compile_s": compile_s,
        "ptx_s": variant.seconds - variant.loaded_s,
        "driver_s": variant.loaded_s,
        "gpu_first_s": gpu_first_s,
        "registers_and_local_bytes": variant.kernel.used(),
    }


def _spread(times: list[float]) -> list[float]:
    return [statistics.median(times), min(times), max(times)]


def _equal(one: Arrays, other: Arrays) -> bool:
    """The same bits; NaN is equal to NaN, because a GPU's has other bits than a CPU's."""
    return list(one) == list(other) and all(_same(one[name], other[name]) for name in one)


def _same(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> bool:
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    if one.dtype.kind == "f":
        missing = np.isnan(one)
        if not np.array_equal(missing, np.isnan(other)):
            return False
        one, other = one[~missing], other[~missing]
    return one.tobytes() == other.tobytes()


def _print(row: Row) -> None:
    print(json.dumps(row, default=_rounded), flush=True)


def _rounded(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else str(value)


if __name__ == "__main__":
    sys.exit(main())
