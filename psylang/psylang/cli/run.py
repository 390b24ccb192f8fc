"""psylang run: simulates trials, prints or writes the results."""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psylang.cli.main import UsageError
from psylang.cli.models import Scripted, model_of, pairs, plan_of


def main(options: argparse.Namespace) -> int:
    histogram = {name: _bins(name, value) for name, value in _histograms(options.histogram)}
    if options.output is not None and not options.output.endswith(".npz"):
        raise UsageError(f"--output {options.output}: the name must end with .npz")
    found = model_of(options.model, pairs("--set", options.set), options.live)
    plan = plan_of(options, found)
    inputs, trials = pairs("--input", options.input), options.trials
    if isinstance(found, Scripted):
        inputs, trials = _as_run(found, inputs, trials)
    begin = time.perf_counter()
    results = plan.run(
        inputs,
        pairs("--param", options.param),
        trials=trials,
        sequences=options.sequences,
        seed=options.seed,
        threads=options.threads,
        record=options.record,
        histogram=histogram or None,
        isa=options.isa,
        device=options.device,
        progress=options.progress,
        allow_nan=options.allow_nan,
    )
    seconds = time.perf_counter() - begin
    if options.output is not None:
        with Path(options.output).open("wb") as file:
            arrays: dict[str, Any] = dict(results)
            np.savez(file, **arrays)
    summary = {
        **results.run,
        "seconds": seconds,
        "nan": results.nan,
        "outputs": {name: _numbers(array) for name, array in results.items()},
        "histograms": {
            name: {
                "edges": one.edges.tolist(),
                "counts": one.counts.tolist(),
                "below": one.below,
                "above": one.above,
                "nan": one.nan,
            }
            for name, one in results.histograms.items()
        },
    }
    if isinstance(found, Scripted) and options.json and set(found.model.results) <= set(results):
        summary["results"] = _laid_out(found, results)
    print(json.dumps(summary) if options.json else _text(summary))
    return 0


def _as_run(found: Scripted, inputs: dict[str, Any], trials: int | None) -> tuple[Any, int]:
    """Inputs as PsyNeuLink's run() takes them, by node; the script's inputs if none are given."""
    from psylang.pnl import run_arguments

    nodes = {one.name: one for one in found.composition.nodes}
    unknown = [name for name in inputs if name not in nodes]
    if unknown:
        raise UsageError(f"--input {unknown[0]}: the nodes are {', '.join(nodes)}")
    given = {nodes[name]: value for name, value in inputs.items()}
    count = found.arguments.get("num_trials") if trials is None else trials
    return run_arguments(
        found.composition, found.model, given or found.arguments.get("inputs"), count
    )


def _laid_out(found: Scripted, results: Any) -> list[Any]:
    """As PsyNeuLink's `results`: trials, output ports, elements."""
    from psylang.pnl import results_of

    return [[port.tolist() for port in trial] for trial in results_of(found.model, results)]


def _histograms(given: list[str]) -> list[tuple[str, str]]:
    made = [text.partition("=")[::2] for text in given]
    if len({name for name, _ in made}) < len(made):
        raise UsageError("--histogram: an output is given twice")
    return made


def _bins(name: str, text: str) -> tuple[int, float, float]:
    try:
        bins, low, high = text.split(",")
        return int(bins), float(low), float(high)
    except ValueError:
        raise UsageError(f"--histogram {name}={text} is no NAME=BINS,LOW,HIGH") from None


def _numbers(array: NDArray[Any]) -> dict[str, Any]:
    """Statistics over all trials; standard deviation of the sample. null: not finite."""
    flat = array.astype(np.float64)
    with np.errstate(all="ignore"):
        numbers = {
            "mean": flat.mean(),
            "std": flat.std(ddof=1) if flat.size > 1 else 0.0,
            "min": flat.min(),
            "max": flat.max(),
        }
    finite = {key: float(one) if np.isfinite(one) else None for key, one in numbers.items()}
    return {"dtype": str(array.dtype), "shape": list(array.shape), **finite}


def _text(summary: dict[str, Any]) -> str:
    count = summary["sequences"] * summary["trials"]
    each = summary["seconds"] / count * 1e6
    lines = [
        f"{summary['model']}: {count} trials in {summary['seconds']:.3g} s, {each:.3g} µs each "
        f"({summary['numerics']}, {summary['precision']}, {summary['isa']}, seed {summary['seed']})"
    ]
    keys = ("mean", "std", "min", "max")
    width = max([len(name) for name in summary["outputs"]] + [6])
    if summary["outputs"]:
        lines.append(f"{'output':<{width}}" + "".join(f"{key:>13}" for key in keys))
    for name, numbers in summary["outputs"].items():
        shown = (numbers[key] for key in keys)
        cells = "".join(f"{'not finite' if one is None else f'{one:.6g}':>13}" for one in shown)
        lines.append(f"{name:<{width}}{cells}")
    for name, count in summary["nan"].items():
        lines.append(
            f"{name} is NaN in {count} of {summary['sequences'] * summary['trials']} trials"
        )
    for name, one in summary["histograms"].items():
        lines.append(f"{name}: {one['below']} below, {one['above']} above, {one['nan']} NaN")
        lines += _bars(one["edges"], one["counts"])
    return "\n".join(lines)


def _bars(edges: list[float], counts: list[int]) -> list[str]:
    most = max([*counts, 1])
    return [
        f"  {low:>10.4g} {count:>10} {'#' * round(50 * count / most)}"
        for low, count in zip(edges, counts, strict=False)
    ]
