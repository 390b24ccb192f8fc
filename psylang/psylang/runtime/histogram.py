"""Histograms that are counted while trials run: no trial is stored.

Bins are [edge, next edge), the last one closed, as in numpy.histogram. Values below, above and NaN
are counted separately, so the counts of a histogram sum up to the trials.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psylang.ir.graph import Output
from psylang.runtime.errors import ArgumentError, ArgumentTypeError
from psylang.runtime.values import known

BINS_MAX = 10_000_000
GROUPS_MAX = 256


@dataclass
class Counts:
    """edges: of shape (bins + 1,). counts: of shape (bins,), int64. below, above, nan: outside.

    by: the same counts for each value of the requested output `by` (the counts above are then
    sums).
    """

    edges: NDArray[np.float64]
    counts: NDArray[np.int64]
    below: int = 0
    above: int = 0
    nan: int = 0
    by: dict[float, Counts] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """The number of all elements, including those outside."""
        return int(self.counts.sum()) + self.below + self.above + self.nan

    @property
    def density(self) -> NDArray[np.float64]:
        """The density of all elements; its integral is (total - outside) / total. NaN without
        elements."""
        with np.errstate(invalid="ignore"):
            return np.asarray(self.counts / np.diff(self.edges) / self.total)

    def add(self, values: NDArray[Any]) -> None:
        flat = np.asarray(values, np.float64).ravel()
        self.nan += int(np.isnan(flat).sum())
        self.below += int((flat < self.edges[0]).sum())
        self.above += int((flat > self.edges[-1]).sum())
        self.counts += np.histogram(flat, self.edges)[0] if flat.size else 0

    def __str__(self) -> str:
        ends = f"{self.edges[0]:.6g} … {self.edges[-1]:.6g}"
        outside = f", {self.below} below, {self.above} above, {self.nan} NaN"
        return f"{len(self.counts)} bins over {ends}, {int(self.counts.sum())} counted{outside}"


@dataclass(frozen=True)
class Histogram:
    """A specification: `bins` equal bins over low … high, for each value of output `by` if given.

    ArgumentError: no bins, or an empty or unbounded interval.
    """

    bins: int
    low: float
    high: float
    by: str | None = None

    def edges(self) -> NDArray[np.float64]:
        if not 1 <= self.bins <= BINS_MAX:
            raise ArgumentError(f"histogram: {self.bins} bins; give 1 … {BINS_MAX}")
        if not (np.isfinite([self.low, self.high]).all() and self.low < self.high):
            raise ArgumentError(f"histogram: no interval from {self.low} to {self.high}")
        return np.linspace(self.low, self.high, self.bins + 1)


@dataclass
class Counter:
    """Counts one output's histogram."""

    output: str
    total: Counts
    by: str | None

    def add(self, outputs: Mapping[str, NDArray[Any]]) -> None:
        """Adds a chunk of rows. ArgumentError: `by` has too many values."""
        values = outputs[self.output]
        self.total.add(values)
        if self.by is None:
            return
        groups = outputs[self.by]
        for value in np.unique(groups).tolist():
            if value not in self.total.by:
                if len(self.total.by) == GROUPS_MAX:
                    raise ArgumentError(
                        f"histogram of {self.output}: {self.by} has more than {GROUPS_MAX} values; "
                        "choose an output that tells few cases apart"
                    )
                self.total.by[value] = _empty(self.total.edges)
            self.total.by[value].add(values[groups == value])


def counters(asked: Mapping[str, Any], outputs: tuple[Output, ...]) -> list[Counter]:
    """For each output a Histogram, (bins, low, high), or an array of edges.

    ArgumentError: no such output, or no bins. ArgumentTypeError: another type.
    """
    names = {output.name: output for output in outputs}
    known("histogram", asked, names)
    made = []
    for name, what in asked.items():
        by = None
        if isinstance(what, Histogram):
            edges, by = what.edges(), what.by
        elif isinstance(what, tuple) and len(what) == 3:
            edges = Histogram(*what).edges()
        else:
            edges = _edges(name, what)
        if by is not None:
            known("histogram by", {by: 0}, names)
            if names[by].type.shape or names[name].type.shape:
                raise ArgumentError(
                    f"histogram of {name} by {by}: both must be scalars; they have shapes "
                    f"{names[name].type.shape} and {names[by].type.shape}"
                )
        made.append(Counter(name, _empty(edges), by))
    return made


def _edges(name: str, what: Any) -> NDArray[np.float64]:
    edges = np.asarray(what)
    if edges.dtype.kind not in "fiu" or edges.ndim != 1:
        raise ArgumentTypeError(
            f"histogram[{name!r}] is {what!r}; give (bins, low, high), an array of edges or a "
            "psylang.Histogram"
        )
    edges = edges.astype(np.float64)
    if len(edges) < 2 or not np.isfinite(edges).all() or (np.diff(edges) <= 0).any():
        raise ArgumentError(f"histogram[{name!r}]: edges must be finite and rise, at least two")
    return edges


def _empty(edges: NDArray[np.float64]) -> Counts:
    return Counts(edges, np.zeros(len(edges) - 1, np.int64))


def needed(asked: list[Counter]) -> list[str]:
    """Outputs that the counters read."""
    return list(dict.fromkeys(name for one in asked for name in (one.output, one.by) if name))


__all__ = ["Counter", "Counts", "Histogram", "counters", "needed"]
