"""The gradient of the drift-diffusion model's log-density by its seven parameters.

It is analytic: the derivatives of both series, term by term, and of the closed form for sv. Over
ranges of z and t the same quadrature as the density's averages them, each node weighted by its
share of the density; nodes are doubled until the logarithm changes by less than CHANGE and every
derivative by less than SLOPE_CHANGE of the greater of itself and 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psylang.likelihood.data import Floats
from psylang.likelihood.ddm import (
    CHANGE,
    PARAMETERS,
    Moves,
    averaged,
    cells,
    lower_rows,
)
from psylang.likelihood.first_passage import LEAST, passage_slopes

SLOPE_CHANGE = 1e-6
# Rows of a result: the logarithm, then its derivatives by ddm.ROWS.
TAU, V, A, W, SV, SZ, ST = range(1, 8)
GREATEST = 1e150  # Beyond it a slope's square is infinite, which no sampler can use.


def log_densities_and_slopes(
    rt: Floats,
    upper: Any,
    p: Mapping[str, Floats],
    change: float = CHANGE,
    slope_change: float = SLOPE_CHANGE,
) -> tuple[Floats, Floats]:
    """Logarithms of the densities, and their derivatives: (PARAMETERS, rows).

    Of checked rows, as ddm.log_densities(). Where the density is 0, derivatives are 0.
    change, slope_change: see CHANGE, SLOPE_CHANGE.
    """
    rows = lower_rows(rt, upper, p)
    possible = rows["tau"] + rows["st"] / 2 > 0
    spread = possible & ((rows["sz"] > 0) | (rows["st"] > 0))
    plain = possible & ~spread
    made = np.zeros((1 + len(PARAMETERS), *rt.shape))
    made[0] = -np.inf
    made[: SV + 1, plain] = _at(*(rows[name][plain] for name in ("tau", "v", "a", "w", "sv")))
    if spread.any():
        some = {name: one[spread] for name, one in rows.items()}
        made[:, spread] = averaged(some, _block, _moves(change, slope_change))
    mirrored = np.where(upper, -1.0, 1.0)
    slopes = np.stack(
        [mirrored * made[V], made[A], mirrored * made[W], -made[TAU], *made[SV : ST + 1]]
    )
    return made[0], np.clip(np.where(np.isneginf(made[0]), 0.0, slopes), -GREATEST, GREATEST)


def _at(tau: Floats, v: Floats, a: Floats, w: Floats, sv: Floats) -> Floats:
    """At the lower boundary, at decision times tau > 0: the rows up to SV."""
    variance = sv * sv
    wide = 1 + variance * tau
    start = a * w
    top = variance * start * start - 2 * v * start - v * v * tau
    passage, by_u, by_w = passage_slopes(np.maximum(tau / (a * a), LEAST), w)
    logs = top / (2 * wide) - 0.5 * np.log(wide) - 2 * np.log(a) + passage
    pull = (variance * start - v) / wide  # By the start.
    falls = (top / wide + 1) / (2 * wide)  # Minus the derivative by `wide`.
    with np.errstate(over="ignore"):
        by_tau = -v * v / (2 * wide) - variance * falls + by_u / (a * a)
        by_a = w * pull - 2 / a - 2 * tau / (a * a * a) * by_u
    by_sv = sv * start * start / wide - 2 * sv * tau * falls
    return np.stack([logs, by_tau, -(start + v * tau) / wide, by_a, a * pull + by_w, by_sv])


def _block(rows: Mapping[str, Floats], starts: int, moments: int) -> Floats:
    cell = cells(rows, starts, moments)
    shape = np.broadcast_shapes(cell["at"].shape, cell["places"].shape)
    names = ("at", "v", "a", "places", "sv")
    flat = [np.broadcast_to(cell[name], shape).reshape(-1) for name in names]
    each = _at(*flat).reshape(-1, *shape)
    logs = each[0] + cell["log_weights"]
    most = logs.max(axis=(1, 2), keepdims=True)
    finite = np.where(np.isfinite(most), most, 0.0)
    with np.errstate(divide="ignore", under="ignore"):
        parts = np.exp(logs - finite)
        total = parts.sum(axis=(1, 2))
        made = np.empty((1 + len(PARAMETERS), len(total)))
        made[0] = finite[:, 0, 0] + np.log(total)
        parts = parts / np.where(total > 0, total, 1.0)[:, None, None]
    by_tau, by_st = _moment_slopes(cell, each[TAU])
    slopes = {TAU: by_tau, ST: by_st, SZ: each[W] * (cell["x"] - 0.5)}
    for row in (V, A, W, SV):
        slopes[row] = each[row]
    for row, one in slopes.items():
        # A node without density may have an infinite slope.
        made[row] = np.where(parts > 0, parts * one, 0.0).sum(axis=(1, 2))
    return made


def _moment_slopes(cell: Mapping[str, Floats], by_at: Floats) -> tuple[Floats, Floats]:
    """By tau and by st; a range that is cut at 0 becomes longer with tau."""
    y, cut, st = cell["y"], cell["cut"], cell["st"]
    longer = np.where(cut, 1 / np.where(cut, cell["length"], 1.0), 0.0)
    by_tau = np.where(cut, y * by_at + longer, by_at)
    shorter = np.where(cut, 1 / np.where(cut, st, 1.0), 0.0)
    by_st = np.where(cut, y * by_at / 2 + longer / 2 - shorter, (y - 0.5) * by_at)
    return by_tau, by_st


def _moves(change: float, slope_change: float) -> Moves:
    def moves(one: Floats, better: Floats) -> NDArray[np.bool_]:
        with np.errstate(invalid="ignore"):  # Of -inf twice.
            near = np.abs(better - one) < slope_change * np.maximum(np.abs(better), 1.0)
            near[0] = np.abs(better[0] - one[0]) < change
            return np.asarray(~(near | (better == one)).all(axis=0))

    return moves
