"""psylang analyse: the properties of a model that need no run."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import psylang
from psylang.cli.main import UsageError
from psylang.cli.models import model_of, pairs, plan_of
from psylang.runtime.errors import listed


def main(options: argparse.Namespace) -> int:
    ranges = pairs("--range", options.range)
    for name, pair in ranges.items():
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise UsageError(f"--range {name}={pair} is no pair; give LOW,HIGH")
    found = model_of(options.model, pairs("--set", options.set))
    parameters = getattr(found, "parameters", ())
    if not isinstance(parameters, tuple):  # For a model: parameters with a range are varied.
        varied = [name for name in ranges if name in parameters]
        free = pairs("--param", options.param)
        options.param = [*options.param, *(f"{name}=0" for name in varied if name not in free)]
    plan = plan_of(options, found)
    both = {**plan.inputs, **plan.parameters}
    unknown = [name for name in ranges if name not in both]
    if unknown:
        raise UsageError(f"--range: there is no {listed(unknown)}; there is {listed(both)}")
    given: dict[str, Any] = {
        "inputs": {name: pair for name, pair in ranges.items() if name in plan.inputs},
        "params": {name: pair for name, pair in ranges.items() if name in plan.parameters},
    }
    other = None if options.against is None else _other(options)
    report = plan.analyse(**given, trials=options.trial, against=other)
    if options.svg:
        Path(options.svg).write_text(report.svg(), encoding="utf-8")
    print(json.dumps(report.data()) if options.json else report)
    return 0


def _other(options: argparse.Namespace) -> psylang.Plan:
    """The plan of --against, with the options for parameters that its model has."""
    found = model_of(options.against, {})
    known = getattr(found, "parameters", ())
    names = [one.name for one in known] if isinstance(known, tuple) else list(known)
    varied = argparse.Namespace(**vars(options))
    varied.param, varied.fix = (
        [text for text in given if text.partition("=")[0] in names]
        for given in (options.param, options.fix)
    )
    return plan_of(varied, found)
