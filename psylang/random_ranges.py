"""No run of a random program leaves the ranges of its values: many programs, from a seed.

    ./dev python psylang/random_ranges.py --seed 1          a line a block, and the sum
    ./dev python psylang/random_ranges.py --seed 1 --json   one object, as in bench/results

Programs are those of ranges_test.py. A block of BLOCK programs has a seed of its own, which follows
from `--seed`: `--only K` runs block K again. Each program is run for two trials; every value of
every operation must lie in its range, loops must run as often as stated, and the program without
its decided operations must give the same bits. The exit status is 1 if one does not.
"""

from __future__ import annotations

import argparse
import json
import time
import traceback
from typing import Any

import hypothesis
from hypothesis import HealthCheck, Phase, given, settings

from psylang.analysis.ranges_test import check, runs

BLOCK = 250


def block(seed: int, programs: int) -> tuple[int, int, str]:
    """(programs, values compared, the traceback of its failure or "")."""
    ran, looked = 0, 0

    @hypothesis.seed(seed)
    @settings(
        max_examples=programs,
        deadline=None,
        database=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(runs())
    def run(one: Any) -> None:
        nonlocal ran, looked
        looked += check(one)
        ran += 1

    try:
        run()
    except Exception:
        return ran, looked, traceback.format_exc()
    return ran, looked, ""


def main() -> int:
    reader = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    reader.add_argument("--programs", type=int, default=10_000, help="how many (10000)")
    reader.add_argument("--seed", type=int, default=1, help="of the programs (1)")
    reader.add_argument("--only", type=int, default=None, help="this block alone, from 0 on")
    reader.add_argument("--json", action="store_true", help="print one object")
    given = reader.parse_args()
    begin, ran, looked, failed = time.perf_counter(), 0, 0, []
    blocks = range(-(-given.programs // BLOCK)) if given.only is None else [given.only]
    for number in blocks:
        size = min(BLOCK, given.programs - number * BLOCK)
        programs, values, failure = block(given.seed * 1_000_000 + number, size)
        ran, looked = ran + programs, looked + values
        if failure:
            failed.append(number)
            print(failure, flush=True)
        if not given.json:
            seconds = time.perf_counter() - begin
            print(f"block {number}: {ran} programs, {looked} values, {seconds:.0f} s", flush=True)
    found = {
        "programs": ran,
        "seed": given.seed,
        "values": looked,
        "failed_blocks": failed,
        "seconds": round(time.perf_counter() - begin, 1),
    }
    print(json.dumps(found) if given.json else f"{found}")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
