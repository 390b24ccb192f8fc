"""Maximum likelihood of the drift-diffusion model.

The search begins where the closed form of Wagenmakers, van der Maas & Grasman (2007, "EZ") puts
drift, boundary and non-decision time of the share of upper choices and of mean and variance of the
times.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from psylang.likelihood.data import Columns, Floats, observed
from psylang.likelihood.ddm import PARAMETERS, checked, log_densities
from psylang.likelihood.ddm_gradient import log_densities_and_slopes
from psylang.likelihood.errors import LikelihoodError
from psylang.likelihood.fitted import Fit
from psylang.likelihood.maximum import Range, maximise

# Of a quadrature's logarithms and slopes; a fit needs less than the density promises.
CHANGE, SLOPE_CHANGE = 1e-5, 1e-4
DEFAULTS: Mapping[str, float] = {"z": 0.5, "t": 0.0, "sv": 0.0, "sz": 0.0, "st": 0.0}


def fit(
    data: Columns,
    *,
    vary: Sequence[str] = ("v", "a", "z", "t"),
    fixed: Mapping[str, float] | None = None,
    start: Mapping[str, float] | None = None,
) -> Fit:
    """Parameters of the drift-diffusion model at the greatest likelihood of the data.

    data: columns `rt` (or `response_time`) and `choice` (or `response`; 1 upper, 0 lower): a
    dictionary, psylang.Results, or a data frame. vary: the parameters to estimate, of those of
    ddm_log_density(). fixed: values of others; by default z is 0.5, and t, sv, sz and st are 0.
    start: where the search begins, by name; the rest is found from the data.
    Needs scipy (psylang[fit]). LikelihoodError: data that have no likelihood, as of
    ddm_log_density(), too few of them, a name or a value that does not fit, or no scipy.
    """
    rt, choice = observed(data, (0, 1))
    fixed, start = dict(fixed or {}), dict(start or {})
    _names(vary, fixed, start)
    if len(rt) <= len(vary) or np.ptp(rt) == 0:
        raise LikelihoodError(
            f"data: {len(rt)} trials with {len(np.unique(rt))} different times; {len(vary)} "
            "parameters need more trials than parameters, and times that differ"
        )
    constant = {name: one for name, one in {**DEFAULTS, **fixed}.items() if name not in vary}
    ranges = _ranges(rt, choice, vary, constant, start)
    checked({**constant, **{name: one.start for name, one in ranges.items()}})
    likelihood = Likelihood(rt, choice == 1)

    def height(given: dict[str, float]) -> float:
        return likelihood.height({**constant, **given})

    def slopes(given: dict[str, float]) -> tuple[float, dict[str, float]]:
        top, by = likelihood.slopes({**constant, **given})
        return top, {name: by[name] for name in given}

    found = maximise(height, ranges, slopes=slopes)
    return found.as_fit("drift diffusion", constant, len(rt))


@dataclass(frozen=True)
class Likelihood:
    """Of all trials at one point of PARAMETERS; -inf where the point is beyond their limits."""

    rt: Floats
    upper: NDArray[np.bool_]

    def height(self, p: Mapping[str, float]) -> float:
        if not _possible(p):
            return -math.inf
        return float(log_densities(self.rt, self.upper, self._rows(p), CHANGE).sum())

    def slopes(self, p: Mapping[str, float]) -> tuple[float, dict[str, float]]:
        """The height, and its derivatives, which are NaN where the height is -inf."""
        if not _possible(p):
            return -math.inf, dict.fromkeys(PARAMETERS, math.nan)
        rows = self._rows(p)
        logs, by = log_densities_and_slopes(self.rt, self.upper, rows, CHANGE, SLOPE_CHANGE)
        top = float(logs.sum())
        total = by.sum(axis=1) if math.isfinite(top) else np.full(len(PARAMETERS), math.nan)
        return top, dict(zip(PARAMETERS, total.tolist(), strict=True))

    def _rows(self, p: Mapping[str, float]) -> dict[str, Floats]:
        return {name: np.full(len(self.rt), p[name]) for name in PARAMETERS}


def _names(vary: Sequence[str], fixed: Mapping[str, float], start: Mapping[str, float]) -> None:
    if isinstance(vary, str) or not vary:
        raise LikelihoodError(f"vary is {vary!r}; give names of {', '.join(PARAMETERS)}")
    for what, names in (("vary", vary), ("fixed", fixed), ("start", start)):
        for name in names:
            if name not in PARAMETERS:
                known = ", ".join(PARAMETERS)
                raise LikelihoodError(f"{what}: there is no `{name}`; there is {known}")
    both = [name for name in fixed if name in vary]
    if both:
        raise LikelihoodError(f"{', '.join(both)} is in vary and in fixed; leave it in one of them")
    lost = [name for name in start if name not in vary]
    if lost:
        raise LikelihoodError(f"start has {', '.join(lost)}, which vary has not")
    missing = [name for name in ("v", "a") if name not in vary and name not in fixed]
    if missing:
        raise LikelihoodError(f"{' and '.join(missing)} is neither in vary nor in fixed")


def _possible(p: Mapping[str, float]) -> bool:
    """Within the limits of the density."""
    widths = min(p["t"], p["sv"], p["sz"], p["st"]) >= 0 and p["st"] <= 2 * p["t"]
    inside = p["z"] - p["sz"] / 2 > 0 and p["z"] + p["sz"] / 2 < 1
    return widths and inside and p["a"] > 0


def _ranges(
    rt: Floats,
    choice: NDArray[np.int64],
    vary: Sequence[str],
    constant: Mapping[str, float],
    start: Mapping[str, float],
) -> dict[str, Range]:
    """Scales follow the unit of time: v is 1 / sqrt(time), a is sqrt(time)."""
    unit = math.sqrt(float(rt.mean()))
    first = float(rt.min())
    v, a, t = ez(rt, choice)
    spread = constant.get("st", start.get("st", 0.2 * t)) if t else 0.0
    # Without st no response is before t; with it, t - st/2 comes first.
    latest = float(rt.max()) if "st" in vary or spread else np.nextafter(first, 0)
    made = {
        "v": Range(v, 0.3 / unit, -50 / unit, 50 / unit),
        "a": Range(a, 0.2 * a, 1e-3 * unit, 50 * unit),
        "z": Range(0.5, 0.1, 1e-3, 1 - 1e-3),
        "t": Range(t, 0.1 * first, 0.0, latest),
        "sv": Range(0.3 / unit, 0.3 / unit, 0.0, 50 / unit),
        "sz": Range(0.2, 0.1, 0.0, 0.998),
        "st": Range(spread, 0.1 * first, 0.0, 2 * float(rt.max())),
    }
    return {
        name: Range(float(start.get(name, one.start)), one.scale, one.low, one.high)
        for name, one in made.items()
        if name in vary
    }


def ez(rt: Floats, choice: NDArray[np.int64]) -> tuple[float, float, float]:
    """v, a and t of an unbiased process with that share of upper choices, mean and variance."""
    count = len(rt)
    p = float(choice.mean())
    p = min(max(p, 1 / (2 * count)), 1 - 1 / (2 * count))
    if abs(p - 0.5) < 1 / (4 * count):  # The formula divides by it.
        p = 0.5 + 1 / (4 * count)
    logit = math.log(p / (1 - p))
    variance = float(rt.var())
    size = (logit * (p * p * logit - p * logit + p - 0.5) / variance) ** 0.25
    v = math.copysign(size, p - 0.5)
    a = logit / v
    y = math.exp(-v * a)
    decision = a / (2 * v) * (1 - y) / (1 + y)
    first = float(rt.min())
    return v, a, min(max(float(rt.mean()) - decision, 0.2 * first), 0.9 * first)
