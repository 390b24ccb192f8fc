"""How long a model of many nodes compiles, without a cache: seconds of CPU time.

    ./dev python psylang/compile_nodes.py                      1,000 nodes, a line for each numerics
    ./dev python psylang/compile_nodes.py --nodes 250 --json   one object, as in bench/results

The model is that of runtime/scale_test.py: layers of ten nodes of two units, each of which receives
from two nodes of the layer before. The goal is 30 s for 1,000 nodes.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

from psylang.emit.compile import compile_object
from psylang.emit.targets import host_targets
from psylang.ir.graph import Numerics
from psylang.runtime.scale_test import layers

WIDTH = 10


def measured(nodes: int, numerics: Numerics) -> dict[str, Any]:
    """Seconds of the model, its lowering, and the machine code; its bytes."""
    begin = time.process_time()
    model = layers(nodes, WIDTH)
    made = time.process_time()
    program = model.program(numerics)
    lowered = time.process_time()
    best, *_ = host_targets()
    machine = len(compile_object(program, best))
    ended = time.process_time()
    return {
        "numerics": numerics,
        "target": best.name,
        "model_s": round(made - begin, 2),
        "lowering_s": round(lowered - made, 2),
        "machine_code_s": round(ended - lowered, 2),
        "sum_s": round(ended - begin, 2),
        "bytes": machine,
    }


def main() -> None:
    reader = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    reader.add_argument("--nodes", type=int, default=1000, help="how many (1000)")
    reader.add_argument("--json", action="store_true", help="print one object")
    given = reader.parse_args()
    rows = []
    for numerics in ("exact", "fast"):
        rows.append(measured(given.nodes, numerics))
        if not given.json:
            print(rows[-1], flush=True)
    if given.json:
        print(json.dumps({"nodes": given.nodes, "rows": rows}))


if __name__ == "__main__":
    main()
