"""Draws figures as SVG. Runs in .venv, where matplotlib is: `./dev plot` starts it there.

The same records make the same bytes: no date, no random names.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot, ticker

from devtool.figures import Figure, broken_names

# Okabe and Ito's colours, which people with any colour vision can tell apart.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = "osD^vPX"
WIDTH_IN, HEIGHT_IN = 6.0, 3.6
UPRIGHT_NAMES_IN = 1.2  # For names that stand upright below the bars.
LEGEND_COLUMNS_MAX = 4
POINT_COLUMNS_MAX = 3  # The names of points are longer.
LEGEND_LETTERS_MAX = 60  # Of the names in a row of a figure's legend: more are cut at its edges.
LOGARITHMIC = " (log scale)"

Span = tuple[float, float]  # The ends of an error bar.


@dataclass(frozen=True)
class Point:
    """x, y: low, middle, high."""

    name: str
    x: tuple[float, float, float]
    y: tuple[float, float, float]


def draw_figure(
    figure: Figure, title: str, path: Path, log_y: bool, linear_x: bool = False
) -> None:
    """Medians with standard deviations against the places, which double or quadruple.

    linear_x: places at equal distances, as of a time, from 0 on.
    """
    canvas, axes = _canvas(title)
    for index, (name, series) in enumerate(figure.series.items()):
        axes.errorbar(
            figure.places,
            series.median,
            yerr=series.sd,
            label=name,
            color=COLOURS[index % len(COLOURS)],
            marker=MARKERS[index % len(MARKERS)],
            markersize=4,
            linewidth=1.4,
            capsize=2,
        )
    if linear_x:
        axes.set_xlim(left=0)
    else:
        axes.set_xscale("log", base=2)
        axes.set_xticks(figure.places, [f"{place:,.0f}" for place in figure.places])
        axes.minorticks_off()
    if log_y:
        _scale_by_decades(axes, [least for one in figure.series.values() for least in one.median])
    else:
        axes.set_ylim(bottom=0)
    axes.set_xlabel(f"{figure.x}{'' if linear_x else LOGARITHMIC}")
    axes.set_ylabel(f"{figure.y}{LOGARITHMIC if log_y else ''}")
    axes.grid(True, alpha=0.3)
    letters = sum(map(len, figure.series)) / len(figure.series)
    most = min(LEGEND_COLUMNS_MAX, math.floor(LEGEND_LETTERS_MAX / letters))
    _legend(canvas, len(figure.series), max(1, most))
    _save(canvas, path)


def draw_bars(
    names: Sequence[str],
    groups: Mapping[str, Sequence[float | None]],
    x_label: str,
    y_label: str,
    title: str,
    path: Path,
    log_y: bool = False,
    errors: Mapping[str, Sequence[Span | None]] | None = None,
) -> None:
    """A cluster of bars a name, one bar a group; None leaves a gap.

    errors: the error bars of some groups.
    """
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
        _add_errors(axes, shift, values, (errors or {}).get(group, ()))
    broken = broken_names(names)
    axes.set_xticks(range(len(names)), broken or names, fontsize=7)
    if broken is None:
        axes.tick_params(axis="x", rotation=90)
        canvas.set_figheight(HEIGHT_IN + UPRIGHT_NAMES_IN)
    if log_y:
        _scale_by_decades(axes, [v for some in groups.values() for v in some if v is not None])
    axes.set_xlabel(x_label)
    axes.set_ylabel(f"{y_label}{LOGARITHMIC if log_y else ''}")
    axes.grid(True, axis="y", alpha=0.3)
    _legend(canvas, len(groups))
    _save(canvas, path)


def draw_points(
    points: Sequence[Point], x_label: str, y_label: str, title: str, path: Path
) -> None:
    """Points with error bars in both directions; the legend has their names."""
    canvas, axes = _canvas(title)
    for index, point in enumerate(points):
        (x_low, x, x_high), (y_low, y, y_high) = point.x, point.y
        axes.errorbar(
            x,
            y,
            xerr=[[x - x_low], [x_high - x]],
            yerr=[[y - y_low], [y_high - y]],
            label=point.name,
            color=COLOURS[index % len(COLOURS)],
            marker=MARKERS[(index // len(COLOURS) + index) % len(MARKERS)],
            markersize=6,
            linewidth=1,
            capsize=2,
        )
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    axes.grid(True, alpha=0.3)
    _legend(canvas, len(points), POINT_COLUMNS_MAX)
    _save(canvas, path)


def _add_errors(
    axes: Any, shift: float, values: Sequence[float | None], spans: Sequence[Span | None]
) -> None:
    """Error bars in the middle of a group's bars."""
    for at, (value, span) in enumerate(zip(values, spans, strict=False)):
        if value is not None and span is not None:
            low, high = span
            axes.errorbar(
                at + shift,
                value,
                yerr=[[value - low], [high - value]],
                color="black",
                linewidth=1,
                capsize=2,
            )


def _scale_by_decades(axes: Any, values: Sequence[float]) -> None:
    """A logarithmic y axis that begins at a power of ten, with plain numbers."""
    bottom = 10 ** math.floor(math.log10(min(values)))
    plain = ticker.FuncFormatter(lambda value, _: f"{value:,g}")
    axes.set_yscale("log")
    axes.set_ylim(bottom=bottom)
    axes.yaxis.set_major_formatter(plain)
    axes.yaxis.set_minor_formatter(ticker.NullFormatter())
    if max(values) < 10 * bottom:  # Within one decade, its first number alone tells nothing.
        axes.yaxis.set_minor_locator(ticker.LogLocator(subs=(2, 5)))
        axes.yaxis.set_minor_formatter(plain)


def _canvas(title: str) -> tuple[Any, Any]:
    matplotlib.rcParams["svg.hashsalt"] = "k2k"
    canvas, axes = pyplot.subplots(figsize=(WIDTH_IN, HEIGHT_IN), layout="constrained")
    axes.set_title(title, fontsize=10)
    return canvas, axes


def _legend(canvas: Any, count: int, most: int = LEGEND_COLUMNS_MAX) -> None:
    """Puts the legend below the axes, where it hides nothing."""
    if count == 1:  # The y axis names it.
        return
    columns = math.ceil(count / math.ceil(count / most))
    canvas.legend(loc="outside lower center", ncols=columns, fontsize=8, frameon=False)


def _save(canvas: Any, path: Path) -> None:
    nothing_else = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    canvas.savefig(path, format="svg", facecolor="white", metadata=nothing_else)
    pyplot.close(canvas)
