"""Times ssm-simulators on the drift-diffusion model: a peer of psylang/bench_full.py, which starts
it with a Python that has the package (0.14 needs Python 3.12).

    echo '{"trials": 20000, "threads": 1}' | python timed_ssms.py
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

# As bench_full.py's own model: drift 0.5, noise 1, thresholds at ±1, steps of 1 ms.
THETA = {"v": 0.5, "a": 1.0, "z": 0.5, "t": 0.0}
LONGEST = 100.0


def answer(request: dict[str, Any]) -> dict[str, Any]:
    from ssms.basic_simulators.simulator import simulator

    begin = time.perf_counter()
    simulator(
        theta=THETA,
        model="ddm",
        n_samples=int(request["trials"]),
        delta_t=0.001,
        max_t=LONGEST,
        n_threads=int(request["threads"]),
    )
    return {"seconds": time.perf_counter() - begin}


def main() -> int:
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    for line in sys.stdin:
        try:
            made = answer(json.loads(line))
        except Exception as error:  # The package's own, or that it is missing.
            made = {"refused": " ".join(str(error).split()) or type(error).__name__}
        answers.write(json.dumps(made) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
