"""The drift-diffusion model: the density of a choice and its time.

Evidence begins at z * a, drifts by v per unit of time with noise 1, and ends at a (choice 1) or at
0 (choice 0); the time of the decision and the non-decision time t are the response time. Between
trials v is normal with deviation sv (in closed form: Tuerlinckx 2004), z uniform of width sz and t
uniform of width st (by Gauss-Legendre quadrature of 4, 8, … nodes, until a doubling changes the
logarithm by less than CHANGE).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psylang.likelihood.data import Floats, choices, numbers, times
from psylang.likelihood.errors import LikelihoodError
from psylang.likelihood.first_passage import LEAST, log_first_passage

PARAMETERS = ("v", "a", "z", "t", "sv", "sz", "st")
# What the doubled rule is off by is far smaller: the rules converge geometrically.
CHANGE = 1e-7
NODES_MIN, NODES_MAX = 4, 256
BLOCK = 1 << 20  # Densities that are computed at once.
ROWS = ("tau", "v", "a", "w", "sv", "sz", "st")

# Rows, with the numbers of nodes over starts and over moments.
Block = Callable[[Mapping[str, Floats], int, int], Floats]
# Of two results that doubled nodes gave: whether a row still moves.
Moves = Callable[[Floats, Floats], NDArray[np.bool_]]


def ddm_log_density(
    rt: Any,
    choice: Any,
    *,
    v: Any,
    a: Any,
    z: Any = 0.5,
    t: Any = 0.0,
    sv: Any = 0.0,
    sz: Any = 0.0,
    st: Any = 0.0,
) -> Floats:
    """The logarithm of the joint density of choices and response times, right to 1e-8.

    rt, choice (1 upper, 0 lower) and all parameters are numbers or arrays, which are broadcast.
    v: drift. a: distance of the boundaries. z: start as a share of a. t: non-decision time, in the
    middle of its range. sv: standard deviation of v between trials. sz, st: widths of the ranges of
    z and t. The noise is 1. -inf: no decision can be so early. LikelihoodError: NaN, a negative
    time, another choice (with the row), or a parameter beyond its limits (with the limits).
    """
    rt, choice = times("rt", rt), choices("choice", choice, (0, 1))
    given = checked({"v": v, "a": a, "z": z, "t": t, "sv": sv, "sz": sz, "st": st})
    try:
        rows = np.broadcast_arrays(rt, choice, *given.values())
    except ValueError:
        shapes = {"rt": rt.shape, "choice": choice.shape, **{n: p.shape for n, p in given.items()}}
        shown = ", ".join(f"{name} {shape}" for name, shape in shapes.items() if shape)
        raise LikelihoodError(f"shapes that cannot be broadcast: {shown}") from None
    flat = [np.asarray(one).reshape(-1) for one in rows]
    made = log_densities(flat[0], flat[1] == 1, dict(zip(PARAMETERS, flat[2:], strict=True)))
    return made.reshape(rows[0].shape)


def ddm_density(rt: Any, choice: Any, **parameters: Any) -> Floats:
    """The density itself; arguments and errors as of ddm_log_density()."""
    return np.asarray(np.exp(ddm_log_density(rt, choice, **parameters)))


def checked(given: Mapping[str, Any]) -> dict[str, Floats]:
    """All parameters as arrays. LikelihoodError: one is beyond its limits."""
    p = {name: numbers(name, given[name]) for name in PARAMETERS}
    _hold("v", p["v"], np.isfinite(p["v"]), "be finite")
    _hold("a", p["a"], (p["a"] > 0) & np.isfinite(p["a"]), "be above 0 and finite")
    _hold("z", p["z"], (p["z"] > 0) & (p["z"] < 1), "be above 0 and below 1, a share of a")
    for name in ("t", "sv", "st"):
        _hold(name, p[name], (p[name] >= 0) & np.isfinite(p[name]), "be 0 or more and finite")
    _hold("sz", p["sz"], (p["sz"] >= 0) & (p["sz"] < 1), "be 0 or more and below 1")
    if p["sz"].any():
        z, sz = _together(p, "z", "sz")
        fits = (z - sz / 2 > 0) & (z + sz / 2 < 1)
        _hold("sz", sz, fits, "keep z - sz/2 above 0 and z + sz/2 below 1")
    if p["st"].any():
        t, st = _together(p, "t", "st")
        _hold("st", st, st <= 2 * t, "keep t - st/2 at 0 or above")
    return p


def _together(p: Mapping[str, Floats], one: str, other: str) -> tuple[Floats, Floats]:
    try:
        both = np.broadcast_arrays(p[one], p[other])
    except ValueError:
        shapes = f"{one} {p[one].shape}, {other} {p[other].shape}"
        raise LikelihoodError(f"shapes that cannot be broadcast: {shapes}") from None
    return both[0], both[1]


def _hold(name: str, array: Floats, right: Any, limits: str) -> None:
    if not np.all(right):
        worst = np.asarray(array)[~np.asarray(right)].flat[0]
        raise LikelihoodError(f"{name} is {worst:g}; it must {limits}")


def log_densities(
    rt: Floats, upper: Any, p: Mapping[str, Floats], change: float = CHANGE
) -> Floats:
    """Of checked rows; all arrays have one dimension and one length. change: see CHANGE."""
    rows = lower_rows(rt, upper, p)
    made = np.full(rt.shape, -np.inf)
    possible = rows["tau"] + rows["st"] / 2 > 0
    spread = (rows["sz"] > 0) | (rows["st"] > 0)
    plain = possible & ~spread
    made[plain] = _log_at(*(rows[name][plain] for name in ("tau", "v", "a", "w", "sv")))
    spread &= possible
    if spread.any():

        def moves(one: Floats, better: Floats) -> NDArray[np.bool_]:
            with np.errstate(invalid="ignore"):  # Of -inf twice.
                return np.asarray(~(np.abs(better - one) < change) & (better != one))

        made[spread] = averaged({name: one[spread] for name, one in rows.items()}, _block, moves)
    return made


def lower_rows(rt: Floats, upper: Any, p: Mapping[str, Floats]) -> dict[str, Floats]:
    """ROWS at the lower boundary: reaching the upper one is reaching the lower one in a mirror."""
    v = np.where(upper, -p["v"], p["v"])
    w = np.where(upper, 1 - p["z"], p["z"])
    rows = {"tau": rt - p["t"], "v": v, "a": p["a"], "w": w}
    return rows | {name: p[name] for name in ("sv", "sz", "st")}


def _log_at(tau: Floats, v: Floats, a: Floats, w: Floats, sv: Floats) -> Floats:
    """At the lower boundary, at decision times tau > 0."""
    variance = sv * sv
    wide = 1 + variance * tau
    start = a * w
    exponent = (variance * start * start - 2 * v * start - v * v * tau) / (2 * wide)
    passage = log_first_passage(np.maximum(tau / (a * a), LEAST), w)
    return np.asarray(exponent - 0.5 * np.log(wide) - 2 * np.log(a) + passage)


def averaged(rows: Mapping[str, Floats], block: Block, moves: Moves) -> Floats:
    """`block` over the ranges of z and t; its last axis is the row. Nodes double while it moves."""
    made = _with_nodes(rows, NODES_MIN, block)
    left = np.arange(made.shape[-1])
    nodes = 2 * NODES_MIN
    while left.size and nodes <= NODES_MAX:
        better = _with_nodes({name: one[left] for name, one in rows.items()}, nodes, block)
        moved = moves(made[..., left], better)
        made[..., left] = better
        left = left[moved]
        nodes *= 2
    return made


def _with_nodes(rows: Mapping[str, Floats], nodes: int, block: Block) -> Floats:
    starts = nodes if rows["sz"].any() else 1
    moments = nodes if rows["st"].any() else 1
    each = max(BLOCK // (starts * moments), 1)
    count = len(rows["tau"])
    blocks = [
        block({name: one[first : first + each] for name, one in rows.items()}, starts, moments)
        for first in range(0, count, each)
    ]
    return np.concatenate(blocks, axis=-1)


def cells(rows: Mapping[str, Floats], starts: int, moments: int) -> dict[str, Floats]:
    """ROWS with axes: the row, the moment at which the decision begins, the start.

    at: times of the decision. places: starts. x, y: the nodes in [0, 1] of starts and of moments.
    cut: whether the range of times is cut at 0, as no decision ends before it begins. length: of
    what is left. log_weights: of each cell.
    """
    cell = {name: rows[name][:, None, None] for name in ROWS}
    (x, weight_x), (y, weight_y) = rule(starts), rule(moments)
    tau, sz, st = cell["tau"], cell["sz"], cell["st"]
    low = np.maximum(tau - st / 2, 0.0)
    length = tau + st / 2 - low
    share = np.where(st > 0, length / np.where(st > 0, st, 1.0), 1.0)
    with np.errstate(divide="ignore"):
        log_weights = np.log(weight_x * weight_y[:, None] * share)
    return cell | {
        "at": np.where(st > 0, low + length * y[:, None], tau),
        "places": cell["w"] + sz * (x - 0.5),
        "x": x,
        "y": y[:, None],
        "cut": (st > 0) & (tau < st / 2),
        "length": length,
        "log_weights": log_weights,
    }


def _block(rows: Mapping[str, Floats], starts: int, moments: int) -> Floats:
    cell = cells(rows, starts, moments)
    shape = np.broadcast_shapes(cell["at"].shape, cell["places"].shape)
    names = ("at", "v", "a", "places", "sv")
    flat = [np.broadcast_to(cell[name], shape).reshape(-1) for name in names]
    logs = _log_at(*flat).reshape(shape) + cell["log_weights"]
    most = logs.max(axis=(1, 2))
    finite = np.where(np.isfinite(most), most, 0.0)
    with np.errstate(divide="ignore", under="ignore"):
        total = np.exp(logs - finite[:, None, None]).sum(axis=(1, 2))
        return np.asarray(finite + np.log(total))


@functools.cache
def rule(nodes: int) -> tuple[Floats, Floats]:
    """Gauss and Legendre's places in [0, 1], and their weights."""
    x, weight = np.polynomial.legendre.leggauss(nodes)
    return (x + 1) / 2, weight / 2
