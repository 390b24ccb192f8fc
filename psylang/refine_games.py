"""What `search(method="refine")` needs for the games of figure 2.7, beside the whole grid.

    ./dev python psylang/refine_games.py --games 200          a line a game, and the sum
    ./dev python psylang/refine_games.py --games 200 --json   one object, as in bench/results

A game has random positions; 100 levels of attention to each of three avatars are 10**6 allocations.
The best one must be that of predator_prey(100), which tries all. The exit status is 1 if it is not.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time

import numpy as np

import psylang
from psylang.models.predator_prey import AVATARS, LEAST_SURE, predator_prey
from psylang.runtime.refine_test import attention, positions

LEVELS = 100
SEED = 7


def main() -> int:
    reader = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    reader.add_argument("--games", type=int, default=200, help="how many (200)")
    reader.add_argument("--json", action="store_true", help="print one object")
    given = reader.parse_args()
    levels = np.linspace(0, LEAST_SURE, LEVELS)
    every = psylang.compile(predator_prey(LEVELS))
    plan = psylang.compile(attention(), vary=[f"{name}_level" for name in AVATARS])
    shares, seconds, wrong = [], [], []
    for game in range(given.games):
        whole = every.run(inputs=positions(game), seed=SEED)["allocation"][0].tolist()
        begin = time.process_time()
        found = plan.search(
            {f"{name}_level": levels for name in AVATARS},
            method="refine",
            objective="net",
            maximize=True,
            inputs=positions(game),
            seed=SEED,
        )
        seconds.append(time.process_time() - begin)
        shares.append(100 * found.evaluations / found.points)
        if [found.best[f"{name}_level"] for name in AVATARS] != whole:
            wrong.append(game)
        if not given.json:
            print(f"game {game}: {shares[-1]:.2f} % of the evaluations", flush=True)
    result = {
        "games": given.games,
        "wrong": wrong,
        "median_percent": round(statistics.median(shares), 3),
        "most_percent": round(max(shares), 3),
        "hardest": int(np.argmax(shares)),
        "median_cpu_s": round(statistics.median(seconds), 2),
    }
    print(json.dumps(result) if given.json else f"{result}")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
