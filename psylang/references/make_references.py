"""Makes values/*.json anew: ``python make_references.py [MODEL ...]``, all models without
arguments; ``--check`` only replays.

Needs the packages of requirements.txt (``--check`` NumPy alone). Each model is run in PsyNeuLink
and replayed from its definition; the two must agree
within the model's TOLERANCE, 0 meaning bitwise, and the replay adds what PsyNeuLink does not
report: margins and draw counts.
One process, one thread.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import time
import warnings
from typing import Any

import common

MODELS = (
    "ddm",
    "ddm_analytical",
    "lca",
    "stroop",
    "stroop_ddm",
    "stroop_lca",
    "necker_3",
    "necker_8",
    "necker_vectorised",
    "predator_prey_2",
    "predator_prey_4",
    "predator_prey_6",
    "multitasking",
)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="*", metavar="MODEL", help="of: " + " ".join(MODELS))
    parser.add_argument(
        "--check",
        action="store_true",
        help="replay and compare with the stored values, write nothing",
    )
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.models) - set(MODELS))
    if unknown:
        parser.error(f"no such model: {' '.join(unknown)}; there are: {' '.join(MODELS)}")
    settle_environment()
    warnings.filterwarnings("ignore")
    failed = [
        name
        for name in arguments.models or MODELS
        if not (check(name) if arguments.check else make(name))
    ]
    if failed:
        print(f"not reproduced: {' '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def settle_environment() -> None:
    """NumPy reads its settings when it is imported, so the program starts over with them."""
    if all(os.environ.get(name) == value for name, value in common.ENVIRONMENT.items()):
        return
    os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **common.ENVIRONMENT})


def make(name: str) -> bool:
    model = importlib.import_module(f"models.{name}")
    begin = time.monotonic()
    columns: common.Columns = model.simulate()
    seconds = time.monotonic() - begin
    replayed: common.Columns = model.replay()
    agrees = compare(name, model, columns, replayed)
    added = {key: column for key, column in replayed.items() if key not in columns}
    head = {
        "notes": " ".join((model.__doc__ or "").split()),
        "parameters": model.PARAMETERS,
        "added_by_replay": list(added),
        "summary": model.summary() if hasattr(model, "summary") else {},
    }
    path = common.write(name, head, {**columns, **added})
    print(
        f"{name}: {len(columns['input'])} trials in {seconds:.0f} s, {path.stat().st_size} bytes",
        flush=True,
    )
    return agrees


def check(name: str) -> bool:
    model = importlib.import_module(f"models.{name}")
    try:
        values = common.read(name)["trials"]
    except FileNotFoundError:
        print(f"{name}: no values yet; make them: python make_references.py {name}", flush=True)
        return False
    return compare(name, model, values, model.replay())


def compare(name: str, model: Any, columns: common.Columns, replayed: common.Columns) -> bool:
    """Whether the replay agrees with the values in all columns that both have; reports the worst
    entry of each column.
    """
    worst: dict[str, tuple[float, int]] = {}
    differing: dict[str, int] = {}
    for key in columns.keys() & replayed.keys():
        distances = [
            common.furthest(a, b) for a, b in zip(columns[key], replayed[key], strict=True)
        ]
        worst[key] = max((distance, trial) for trial, distance in enumerate(distances))
        bad = sum(distance > allowed(model, key, trial) for trial, distance in enumerate(distances))
        if bad:
            differing[key] = bad
    largest = max(distance for distance, _ in worst.values())
    print(
        f"{name}: replay {'DIFFERS' if differing else 'agrees'}, worst {largest:.3g} relative",
        flush=True,
    )
    for key, count in differing.items():
        distance, trial = worst[key]
        print(f"  {key}: {count} trials, worst {distance:.3g} in trial {trial}", flush=True)
    return not differing


def allowed(model: Any, column: str, trial: int) -> float:
    """The relative difference that a model grants; 0 means bitwise."""
    tolerance: float = (
        model.allowed(column, trial) if hasattr(model, "allowed") else model.TOLERANCE
    )
    return tolerance


if __name__ == "__main__":
    sys.exit(main())
