"""What a trial of each library model takes, and the drift diffusion model beside its peers.

    ./dev python psylang/bench_models.py            a table
    ./dev python psylang/bench_models.py --json     one object, as in bench/results

Models, parameters and inputs are those of references/values. One thread; microseconds a trial, the
median of `ROUNDS` runs after the first; `first_s` is compilation without a cache and the first run.
Peers take turns with ours in each round: a Numba loop with np.random.normal, one with NumPy's
Generator (Ziggurat), and ssm-simulators, where they are installed.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

import psylang
from psylang import models
from psylang.models.references_fixture import columns, lca_of, multitasking_of, stored

ROUNDS = 7
PEER_TRIALS = 20_000
Row = dict[str, Any]


def stroop_inputs(trials: int) -> dict[str, Any]:
    """Incongruent, after 500 trials without a stimulus."""
    colour, word = np.zeros((trials, 3)), np.zeros((trials, 3))
    colour[500:, 0] = word[500:, 1] = 1.0
    task = np.tile([1.0, 0.0], (trials, 1))
    return {"colour_input": colour, "word_input": word, "task_input": task}


def cases() -> list[tuple[str, Callable[[], Any], Mapping[str, Any], int]]:
    """(name, model, inputs, trials)."""
    found: list[tuple[str, Callable[[], Any], Mapping[str, Any], int]] = [
        ("ddm", models.ddm, {}, 20_000),
        ("botvinick_stroop", models.botvinick_stroop, stroop_inputs(4500), 4500),
    ]
    for name in ("necker_3", "necker_8", "necker_vectorised"):
        make = getattr(models, name)
        found.append((name, make, {"stimulus": stored(name)[1]["input"]}, 2000))
    for levels in (2, 4, 6):
        name = f"predator_prey_{levels}"
        inputs = columns(stored(name)[1], "player", "predator", "prey")
        found.append((name, partial(models.predator_prey, levels), inputs, 500))
    p, trials = stored("multitasking")
    stimuli = columns(trials, "stimulus", "task")
    found.append(("multitasking", partial(multitasking_of, p), stimuli, 1000))
    p, trials = stored("lca")
    found.append(("lca", partial(lca_of, p), {"stimulus": trials["input"]}, 5000))
    return found


def rows_of(inputs: Mapping[str, Any], trials: int) -> dict[str, Any]:
    """A row of inputs a trial: the given ones, again from the first."""
    return {
        name: np.resize(np.asarray(values, float), (trials, *np.shape(values)[1:]))
        for name, values in inputs.items()
    }


def measured(
    make: Callable[[], Any], inputs: Mapping[str, Any], trials: int, sequences: int, numerics: Any
) -> tuple[float, float]:
    """(microseconds a trial, seconds of the first run with its compilation)."""
    rows = rows_of(inputs, trials)
    begin = time.perf_counter()
    plan = psylang.compile(make(), numerics=numerics)

    def run() -> None:
        plan.run(inputs=rows, trials=trials, sequences=sequences, seed=1, threads=1)

    run()
    first = time.perf_counter() - begin
    return timed(run) / trials / sequences * 1e6, first


def timed(run: Callable[[], object]) -> float:
    """Seconds, the median."""
    times = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        run()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def model_rows() -> list[Row]:
    rows = []
    for name, make, inputs, trials in cases():
        row: Row = {"model": name}
        for numerics in ("fast", "exact"):
            row[f"{numerics}_us"], row[f"{numerics}_first_s"] = measured(
                make, inputs, trials, 1, numerics
            )
        if make().program("fast").states:
            row["fast_64_sequences_us"], _ = measured(make, inputs, 100, 64, "fast")
        rows.append({key: rounded(value) for key, value in row.items()})
    return rows


def rounded(value: Any) -> Any:
    return float(f"{value:.3g}") if isinstance(value, float) else value


def numba_loop(generator: bool) -> Callable[[], object] | None:
    """A loop as modellers write it; None without Numba."""
    try:
        import numba
    except ImportError:
        return None

    def trials(draw: Any, drift: float, count: int, times: Any, choices: Any) -> None:
        step = math.sqrt(0.001)
        for trial in range(count):
            x, n = 0.0, 0
            while abs(x) < 1.0:
                x += drift * 0.001 + step * draw.normal(0.0, 1.0)
                n += 1
            times[trial], choices[trial] = n * 0.001, x

    def legacy(drift: float, count: int, times: Any, choices: Any) -> None:
        step = math.sqrt(0.001)
        for trial in range(count):
            x, n = 0.0, 0
            while abs(x) < 1.0:
                x += drift * 0.001 + step * np.random.normal(0.0, 1.0)
                n += 1
            times[trial], choices[trial] = n * 0.001, x

    times, choices = np.zeros(PEER_TRIALS), np.zeros(PEER_TRIALS)
    if generator:
        compiled, draw = numba.njit(trials), np.random.default_rng(1)
        compiled(draw, 0.5, 1, times, choices)
        return lambda: compiled(draw, 0.5, PEER_TRIALS, times, choices)
    other = numba.njit(legacy)
    other(0.5, 1, times, choices)
    return lambda: other(0.5, PEER_TRIALS, times, choices)


def ssm_simulators() -> Callable[[], object] | None:
    try:
        from ssms.basic_simulators.simulator import simulator
    except ImportError:
        return None
    theta = {"v": 0.5, "a": 1.0, "z": 0.5, "t": 0.0}
    return lambda: simulator(
        theta=theta, model="ddm", n_samples=PEER_TRIALS, delta_t=0.001, max_t=100.0, n_threads=1
    )


def peer_row() -> Row:
    """Microseconds a trial of dt 1 ms, drift 0.5, thresholds at 1: some 950 steps."""
    contenders: dict[str, Callable[[], object] | None] = {
        "numba_us": numba_loop(False),
        "numba_generator_us": numba_loop(True),
        "ssm_simulators_us": ssm_simulators(),
    }
    plan = psylang.compile(models.ddm(drift=0.5))
    for isa in ("avx512", "avx2", "sse2", "scalar", "neon"):
        try:
            plan.run(trials=1, isa=isa)
        except psylang.PsylangError:
            continue
        contenders[f"{isa}_us"] = partial(plan.run, trials=PEER_TRIALS, isa=isa, threads=1)
    times: dict[str, list[float]] = {name: [] for name, run in contenders.items() if run}
    for _ in range(ROUNDS):
        for name, of in times.items():
            run = contenders[name]
            assert run is not None
            begin = time.perf_counter()
            run()
            of.append((time.perf_counter() - begin) / PEER_TRIALS * 1e6)
    return {name: rounded(statistics.median(of)) for name, of in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one object")
    wants_json = parser.parse_args().json
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PSYLANG_CACHE_DIR"] = folder
        rows, peers = model_rows(), peer_row()
    if wants_json:
        print(json.dumps({"rows": rows, "ddm": peers}))
        return
    for row in [*rows, {"model": "ddm, dt 1 ms, beside its peers", **peers}]:
        print("  ".join(f"{key} {value}" for key, value in row.items()))


if __name__ == "__main__":
    main()
