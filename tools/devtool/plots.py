"""Draws figures as SVG. Runs in .venv, where matplotlib is: `./dev plot` starts it there.

The same records make the same bytes: no date, no random names.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot

from devtool.figures import Figure, broken_names

# Okabe and Ito's colours, which people with any colour vision can tell apart.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = "osD^vPX"
WIDTH_IN, HEIGHT_IN = 6.0, 3.6
LEGEND_COLUMNS_MAX = 4


def draw_figure(figure: Figure, title: str, path: Path, log_y: bool) -> None:
    """Means with standard deviations against the places, which double or quadruple."""
    canvas, axes = _canvas(title)
    for index, (name, series) in enumerate(figure.series.items()):
        axes.errorbar(
            figure.places,
            series.mean,
            yerr=series.sd,
            label=name,
            color=COLOURS[index % len(COLOURS)],
            marker=MARKERS[index % len(MARKERS)],
            markersize=4,
            linewidth=1.4,
            capsize=2,
        )
    axes.set_xscale("log", base=2)
    axes.set_xticks(figure.places, [f"{place:,.0f}" for place in figure.places])
    axes.minorticks_off()
    if log_y:
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
    axes.set_xlabel(str(figure.x))
    axes.set_ylabel(str(figure.y))
    axes.grid(True, alpha=0.3)
    _legend(canvas, len(figure.series))
    _save(canvas, path)


def draw_bars(
    names: Sequence[str],
    groups: Mapping[str, Sequence[float | None]],
    label: str,
    title: str,
    path: Path,
    log_y: bool = False,
) -> None:
    """A cluster of bars a name, one bar a group; None leaves a gap."""
    canvas, axes = _canvas(title)
    width = 0.8 / len(groups)
    for index, (group, values) in enumerate(groups.items()):
        shift = (index - (len(groups) - 1) / 2) * width
        shown = [(at + shift, value) for at, value in enumerate(values) if value is not None]
        axes.bar(
            [at for at, _ in shown],
            [value for _, value in shown],
            width,
            label=group,
            color=COLOURS[index % len(COLOURS)],
        )
    broken = broken_names(names)
    axes.set_xticks(range(len(names)), broken or names, fontsize=7)
    if broken is None:
        axes.tick_params(axis="x", rotation=90)
    if log_y:
        axes.set_yscale("log")
    axes.set_ylabel(label)
    axes.grid(True, axis="y", alpha=0.3)
    _legend(canvas, len(groups))
    _save(canvas, path)


def _canvas(title: str) -> tuple[Any, Any]:
    matplotlib.rcParams["svg.hashsalt"] = "k2k"
    canvas, axes = pyplot.subplots(figsize=(WIDTH_IN, HEIGHT_IN), layout="constrained")
    axes.set_title(title, fontsize=10)
    return canvas, axes


def _legend(canvas: Any, count: int) -> None:
    """Puts the legend below the axes, where it hides nothing."""
    columns = min(count, LEGEND_COLUMNS_MAX)
    canvas.legend(loc="outside lower center", ncols=columns, fontsize=8, frameon=False)


def _save(canvas: Any, path: Path) -> None:
    nothing_else = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    canvas.savefig(path, format="svg", facecolor="white", metadata=nothing_else)
    pyplot.close(canvas)
