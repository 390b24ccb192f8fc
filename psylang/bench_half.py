"""Computes a half of the grid of one trial: what the hardware gives two threads that share it.

A process of `psylang bench --full`, which starts two of them, one a half. Each line of standard
input, {"half": 0 or 1, "trials": n}, is answered by the seconds that it took. Python's lock,
threads and the distribution of candidates have no part in it, so two such processes are the ceiling
of two threads of one process on this machine.
"""

from __future__ import annotations

import ctypes
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import numpy as np

import psylang
from psylang import models
from psylang.emit.abi import FOUND
from psylang.runtime.library_fixture import GAME

LEVELS = 100


def halves() -> Callable[[int, int], float]:
    """The seconds of (half, trials)."""
    plan = psylang.compile(models.predator_prey(LEVELS))
    (variant,) = plan._variants.all()
    kernel, program = variant.kernel, variant.program
    (candidates,) = kernel.searches
    given: list[Any] = [np.asarray(one.default) for one in program.parameters]
    given += [np.asarray(GAME[one.name], float) for one in program.inputs]
    given += [np.empty(one.type.shape, one.type.dtype.numpy) for one in program.outputs]
    pointers = (ctypes.c_void_p * len(given))(*(one.ctypes.data for one in given))
    found = np.zeros(1, FOUND)

    def timed(half: int, trials: int) -> float:
        low, high = half * candidates // 2, (half + 1) * candidates // 2
        begin = time.perf_counter()
        for seed in range(trials):
            # Trial 0, whose rows the buffers have.
            kernel.part(0, 0, low, high, seed, pointers, found.ctypes.data)
        return time.perf_counter() - begin

    return timed


def main() -> int:
    timed = halves()
    for line in sys.stdin:
        request = json.loads(line)
        seconds = timed(int(request["half"]), int(request["trials"]))
        print(json.dumps({"seconds": seconds}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
