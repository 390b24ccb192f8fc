"""psylang bench: measurements of this machine, each a median; compared programs alternate.

The drift-diffusion model has drift 0.5, noise 1, thresholds at ±1 and steps of 1 ms: 956 steps a
trial on average. Imports, warm starts and memory are measured in processes of their own.
"""

from __future__ import annotations

import argparse
import atexit
import functools
import importlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import psylang
from psylang.cli.baseline import numba_ddm
from psylang.cli.main import UsageError
from psylang.runtime.errors import PsylangError
from psylang.runtime.schedule import cores

TRIALS = 100_000
DRIFT, NOISE, THRESHOLD, DT = 0.5, 1.0, 1.0, 1e-3
ROUNDS, QUICK_ROUNDS = 9, 3
PROCESSES, QUICK_PROCESSES = 9, 5
FIXED_RUNS = 500
ROUNDS_MAX = 10_000

IMPORT = """
import time
begin = time.perf_counter()
import psylang
print((time.perf_counter() - begin) * 1e3)
"""
WARM = """
import time
import psylang
from psylang.models import ddm
begin = time.perf_counter()
psylang.compile(ddm()).run(trials=1)
print((time.perf_counter() - begin) * 1e3)
"""
PREDATOR_PREY = """
import statistics, sys, time
import psylang

def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))

before = peak()
from psylang.models import predator_prey
plan = psylang.compile(predator_prey(levels=100))
inputs = {"player": [0.0, 0.0], "predator": [1.5, -1.0], "prey": [-1.0, 2.0]}
times = []
for seed in range(int(sys.argv[1])):
    begin = time.perf_counter()
    plan.run(inputs, trials=1, threads=1, seed=seed)
    times.append(time.perf_counter() - begin)
print(statistics.median(times), peak() - before)
"""


FULL = Path(psylang.__file__).parents[1] / "bench_full.py"  # Of the repository alone.
ONLY_FULL = ("only", "record", "resume", "rounds", "ssms")


def main(options: argparse.Namespace) -> int:
    return _full(options) if options.full else _medians(options)


def _full(options: argparse.Namespace) -> int:
    if not FULL.exists():
        raise PsylangError(
            "--full compares with PsyNeuLink by scripts of the repository, which are not "
            "installed; clone it, and run ./dev psylang bench --full there"
        )
    if options.rounds is not None and not 2 <= options.rounds <= ROUNDS_MAX:
        raise UsageError(f"--rounds is {options.rounds}; it must be 2 … {ROUNDS_MAX}")
    sys.path.insert(0, str(FULL.parent))
    return int(importlib.import_module(FULL.stem).main(options))


def _medians(options: argparse.Namespace) -> int:
    wrong = [f"--{name}" for name in ONLY_FULL if getattr(options, name)]
    if wrong:
        raise UsageError(f"{' and '.join(wrong)} goes with --full; add it")
    rounds = QUICK_ROUNDS if options.quick else ROUNDS
    processes = QUICK_PROCESSES if options.quick else PROCESSES
    from psylang.models import ddm

    plan = psylang.compile(ddm(drift=DRIFT, noise=NOISE, threshold=THRESHOLD, dt=DT))
    figures: dict[str, Any] = {"isa": plan.run(trials=1).isa, **_ddm(plan, rounds)}
    seconds, megabytes = _process(PREDATOR_PREY, str(2 * rounds + 1))
    figures |= {"pp100_s": seconds, "pp100_peak_mb": megabytes}
    _process(WARM)  # Fills the cache, and the bytecode cache.
    figures["warm_start_ms"] = statistics.median(_process(WARM)[0] for _ in range(processes))
    figures["run_fixed_us"] = _fixed(plan)
    figures["import_ms"] = statistics.median(_process(IMPORT)[0] for _ in range(processes))
    if not options.json:
        print(_text(figures))
    print(json.dumps({key: _rounded(value) for key, value in figures.items()}))
    return 0


def _ddm(plan: psylang.Plan, rounds: int) -> dict[str, float | None]:
    """Microseconds per trial: ours, Numba's, ours on two threads; measured in turns."""
    simulate = numba_ddm()
    times, choices = np.empty(TRIALS), np.empty(TRIALS)

    def ours(threads: int) -> Callable[[int], object]:
        return lambda seed: plan.run(trials=TRIALS, seed=seed, threads=threads)

    def numba(_: int) -> None:
        assert simulate is not None
        simulate(DRIFT, NOISE, THRESHOLD, DT, times, choices)

    measured: dict[str, Callable[[int], object] | None] = {
        "ddm_us": ours(1),
        "numba_ddm_us": numba if simulate else None,
        "ddm_2threads_us": ours(2) if cores() > 1 else None,
    }
    taken: dict[str, list[float]] = {name: [] for name in measured}
    plan.run(trials=TRIALS // 10, threads=1)
    for seed in range(rounds):
        for name, run in measured.items():
            if run is not None:
                begin = time.perf_counter()
                run(seed)
                taken[name].append((time.perf_counter() - begin) / TRIALS * 1e6)
    return {name: statistics.median(one) if one else None for name, one in taken.items()}


def _fixed(plan: psylang.Plan) -> float:
    """Microseconds of a run of one trial, including all overhead."""
    taken = []
    for seed in range(FIXED_RUNS):
        begin = time.perf_counter()
        plan.run(trials=1, seed=seed)
        taken.append((time.perf_counter() - begin) * 1e6)
    return statistics.median(taken)


def _process(script: str, *arguments: str) -> list[float]:
    """The numbers that a fresh Python prints. Its bytecode is kept, as an installation has it."""
    root = str(Path(psylang.__file__).parents[1])
    paths = [root, *filter(None, [os.environ.get("PYTHONPATH", "")])]
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        capture_output=True,
        text=True,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(paths),
            "PYTHONDONTWRITEBYTECODE": "",
            "PYTHONPYCACHEPREFIX": str(_bytecode()),
        },
        check=False,
    )
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"it ended with {done.returncode}"]
        raise PsylangError(f"a measuring process failed: {lines[-1]}")
    return [float(word) for word in done.stdout.split()]


@functools.cache
def _bytecode() -> Path:
    folder = tempfile.mkdtemp(prefix="psylang-bench-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def _rounded(value: Any) -> Any:
    return float(f"{value:.5g}") if isinstance(value, float) else value


DESCRIPTIONS = {
    "isa": "instruction set",
    "ddm_us": f"DDM, µs a trial ({TRIALS} trials, one core, f64)",
    "numba_ddm_us": "the same with Numba, np.random.normal() a step",
    "ddm_2threads_us": "DDM on two threads, µs a trial",
    "pp100_s": "predator-prey, 100 levels, 10^6 evaluations, s",
    "pp100_peak_mb": "its memory over import, MiB",
    "warm_start_ms": "from a model to its first result, from the cache, ms",
    "run_fixed_us": "a run of one trial, µs",
    "import_ms": "import psylang, ms",
}


def _text(figures: dict[str, Any]) -> str:
    width = max(map(len, DESCRIPTIONS.values()))
    lines = []
    for key, description in DESCRIPTIONS.items():
        value = figures[key]
        shown = f"{value:.4g}" if isinstance(value, float) else value or "not measured here"
        lines.append(f"{description:<{width}}  {shown}")
    if figures["numba_ddm_us"]:
        ratio = figures["numba_ddm_us"] / figures["ddm_us"]
        lines.append(f"{'times faster than Numba on one core':<{width}}  {ratio:.3g}")
    return "\n".join(lines)
