"""The time that ranges gain: programs in turns, without ranges, without the decided operations,
and with LLVM's flags as well.

    ./dev python psylang/bench_ranges.py             a line a model
    ./dev python psylang/bench_ranges.py --json      one object, as in bench/results

A row has two ratios with their 95 % intervals, on one thread: the time of the plain program over
that of the program without decided operations, and the time of that one over the time of the same
program with the flags nnan and ninf. The bits of all three are compared.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import psylang
from psylang.analysis.decided import flagged, narrowed
from psylang.analysis.ranges import Ranges
from psylang.ir.builder import ProgramBuilder
from psylang.ir.graph import Program
from psylang.passes.scalarise import Scalarise
from psylang.runtime.specialise import specialised


def polynomial() -> Program:
    """32 steps of Horner's rule, each kept within bounds that never act."""
    build = ProgramBuilder("polynomial")
    x = build.parameter("x", 0.5, (0.0, 1.0))
    y = x
    for number in range(32):
        y = build.add(build.mul(y, x), 1.0 / (number + 2))
        y = build.op("max", build.op("min", y, 50.0), -50.0)
    build.output("y", y)
    return build.build()


def programs() -> Iterator[tuple[Program, dict[str, Any], int]]:
    """Programs, parameters and trials."""
    rng = np.random.default_rng(1)
    yield polynomial(), {"x": rng.uniform(0, 1, 400_000)}, 400_000
    models = psylang.models
    drift = {"drift": (0.0, 1.0)}
    for model, ranges, trials in (
        (models.ddm(), drift, 20_000),
        (models.ddm_analytical(), {"drift": (0.1, 1.0), "threshold": (0.5, 2.0)}, 200_000),
        (models.lca(), {}, 4_000),
    ):
        program = model.program(numerics="fast", fix={}, vary=list(ranges), ranges=ranges)
        params = {name: rng.uniform(*pair, trials) for name, pair in ranges.items()}
        yield specialised(program, {}, list(ranges), ranges), params, trials


def ratio(before: Sequence[float], after: Sequence[float]) -> list[float]:
    """(ratio, low, high): before over after, of rounds in turns."""
    logs = np.log(np.array(before) / np.array(after))
    half = 1.96 * logs.std(ddof=1) / np.sqrt(len(logs))
    return [round(float(np.exp(logs.mean() + one)), 4) for one in (0.0, -half, half)]


def measured(program: Program, params: dict[str, Any], trials: int, rounds: int) -> dict[str, Any]:
    scalars = Scalarise()(program)
    smaller, decisions = narrowed(scalars, Ranges(scalars))
    flags, with_flags = flagged(smaller)
    plans = [psylang.compile(one) for one in (program, smaller, flags)]
    inputs = {one.name: np.ones(one.type.shape) for one in program.inputs}
    how: dict[str, Any] = {
        "inputs": inputs,
        "params": params,
        "trials": trials,
        "seed": 1,
        "threads": 1,
    }
    results = [plan.run(**how) for plan in plans]
    for name, values in results[0].items():
        if any(values.tobytes() != one[name].tobytes() for one in results[1:]):
            raise SystemExit(f"{program.name}: {name} has other bits with ranges")
    seconds: list[list[float]] = [[], [], []]
    for number in range(rounds):
        for which in np.roll([0, 1, 2], number):
            begin = time.perf_counter()
            plans[which].run(**how)
            seconds[which].append(time.perf_counter() - begin)
    return {
        "program": program.name,
        "decided": len(decisions),
        "flags": len(with_flags),
        "decided_gain": ratio(seconds[0], seconds[1]),
        "flags_gain": ratio(seconds[1], seconds[2]),
    }


def main() -> None:
    reader = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    reader.add_argument("--rounds", type=int, default=60, help="of the three programs (60)")
    reader.add_argument("--json", action="store_true", help="print one object")
    given = reader.parse_args()
    rows = []
    for program, params, trials in programs():
        rows.append(measured(program, params, trials, given.rounds))
        if not given.json:
            print(rows[-1], flush=True)
    if given.json:
        print(json.dumps({"rounds": given.rounds, "rows": rows}))


if __name__ == "__main__":
    main()
