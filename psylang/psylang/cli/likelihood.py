"""psylang likelihood: how likely data are under a model, and the parameters that fit them."""

from __future__ import annotations

import argparse
import csv
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from psylang.cli.main import UsageError
from psylang.cli.models import pairs, plan_of
from psylang.likelihood import Fit, SimulatedLikelihood, ddm_log_density, fit
from psylang.likelihood.data import observed

CLOSED = "ddm"  # In place of a MODEL: the density in closed form.


def main(options: argparse.Namespace) -> int:
    data = columns(Path(options.data))
    starts = {name: _number("--start", name, one) for name, one in _pairs(options, "start")}
    limits = {name: _limits(name, one) for name, one in _pairs(options, "limits")}
    found = (_closed if options.model == CLOSED else _of_model)(options, data, starts, limits)
    if isinstance(found, Fit):
        print(json.dumps(found.to_dict()) if options.json else found)
        return 0
    height, trials = found
    if options.json:
        name = options.model
        print(json.dumps({"model": name, "log_likelihood": height, "trials": trials}))
    else:
        print(f"{options.model}: {trials} trials, log-likelihood {height:.3f}")
    return 0


def columns(path: Path) -> dict[str, Any]:
    """The columns of a CSV file with a head. UsageError: no head, no rows, or a row too short."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        rows = list(csv.reader(file))
    if len(rows) < 2:
        raise UsageError(f"{path}: give a line of names, and a line for each trial")
    head = [name.strip() for name in rows[0]]
    for number, row in enumerate(rows[1:], 2):
        if len(row) != len(head):
            raise UsageError(
                f"{path}, line {number}: {len(row)} values; there are {len(head)} names"
            )
    made = {}
    for name, texts in zip(head, zip(*rows[1:], strict=True), strict=True):
        made[name] = _numbers(texts)
    return made


def _numbers(texts: tuple[str, ...]) -> Any:
    """Numbers, or texts if one is none; an empty value is NaN."""
    try:
        return np.array([float(text) if text.strip() else math.nan for text in texts])
    except ValueError:
        return np.array(texts)


def _closed(
    options: argparse.Namespace,
    data: dict[str, Any],
    starts: Mapping[str, float],
    limits: Mapping[str, Any],
) -> Any:
    """A Fit, or the log-likelihood and the number of trials."""
    if limits or options.set or options.fix or options.input:
        raise UsageError("--limits, --set, --fix and --input are for models, not for ddm alone")
    fixed = {name: _number("--param", name, one) for name, one in _pairs(options, "param")}
    if starts or options.fit or not {"v", "a"} <= set(fixed):
        chosen = [*options.fit, *(name for name in starts if name not in options.fit)]
        vary = chosen or [name for name in ("v", "a", "z", "t") if name not in fixed]
        return fit(data, vary=vary, fixed=fixed, start=starts)
    rt, choice = observed(data, (0, 1))
    given: Any = fixed
    return float(ddm_log_density(rt, choice, **given).sum()), len(rt)


def _of_model(
    options: argparse.Namespace,
    data: dict[str, Any],
    starts: Mapping[str, float],
    limits: Mapping[str, Any],
) -> Any:
    """As _closed()."""
    if options.fit:
        raise UsageError("--fit is for ddm alone; a model needs --start NAME=VALUE")
    params = pairs("--param", options.param)
    options.param = [*options.param, *(f"{name}=0" for name in starts if name not in params)]
    plan, method = plan_of(options), options.method
    given: dict[str, Any] = {
        "trials": options.trials,
        "seed": options.seed,
        "inputs": pairs("--input", options.input) or None,
    }
    if starts:
        return plan.fit(data, starts, limits=limits, params=params, method=method, **given)
    if limits:
        raise UsageError("--limits without --start: nothing is fitted")
    if method == "closed":
        raise UsageError("--method closed is for fits; give --start NAME=VALUE")
    likelihood = SimulatedLikelihood(plan, method=method or "kde", **given)
    return likelihood.log_likelihood(data, params), len(next(iter(data.values())))


def _pairs(options: argparse.Namespace, name: str) -> list[tuple[str, Any]]:
    return list(pairs(f"--{name}", getattr(options, name)).items())


def _number(option: str, name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UsageError(f"{option} {name}={value} is no number")
    return float(value)


def _limits(name: str, pair: Any) -> tuple[float, float]:
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise UsageError(f"--limits {name}={pair} is no pair; give LOW,HIGH")
    return _number("--limits", name, pair[0]), _number("--limits", name, pair[1])
