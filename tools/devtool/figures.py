"""Measurements of `k2k bench` for figures and tables of the thesis, as typed data and as text.

bench/command/figure.hpp defines a figure in JSON. A record is one line of bench/results.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap
from typing import Any, Self

from devtool.console import Refused

Record = dict[str, Any]

# The meaning of a record's keys, by benchmark; a record without `schema` has 1. Raise a number when
# a key changes its meaning: the report then refuses older records.
SCHEMAS = {
    "escapes": 2,  # Rounds with an interval, and without the laboratory's own wake-ups.
    "governor": 2,  # of_ideal: of what overhead leaves (decision 0026).
    "governor_trace": 2,
    "interference_auto": 3,
    "interference": 3,  # Of the laboratory itself (labs/interference/harm/records.hpp).
}

# A mean that differs from its median by more than this part is printed beside it: then the runs
# have two modes or outliers, and the median alone names a value that many runs did not take.
SKEWED = 0.25

NAMES_LETTERS_MAX = 80  # Letters in the names of a plot's bars, side by side.
NAMES_LINES_MAX = 4


@dataclass(frozen=True)
class Axis:
    name: str
    unit: str

    def __str__(self) -> str:
        return f"{self.name}, {'µs' if self.unit == 'us' else self.unit}"


@dataclass(frozen=True)
class Series:
    """One way of doing the work; a value for each place of the x axis."""

    median: list[float]
    mean: list[float]
    sd: list[float]


@dataclass(frozen=True)
class Figure:
    x: Axis
    y: Axis
    places: list[float]
    runs: int
    series: dict[str, Series]

    @classmethod
    def of(cls, value: Any) -> Self:
        """Expects the output of Figure::json(). Errors: ValueError with the mistake."""
        try:
            figure = cls(
                x=Axis(value["x"]["name"], value["x"]["unit"]),
                y=Axis(value["y"]["name"], value["y"]["unit"]),
                places=[float(place) for place in value["x"]["values"]],
                runs=int(value["runs"]),
                series={name: _series(one) for name, one in value["series"].items()},
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"no figure of k2k bench: {error!r}") from error
        for name, one in figure.series.items():
            for values in (one.median, one.mean, one.sd):
                if len(values) != len(figure.places):
                    raise ValueError(
                        f"series {name} has {len(values)} values for {len(figure.places)} places"
                    )
        return figure

    def cell(self, series: str, place: int) -> str:
        """The median and the standard deviation of the runs; the mean too if it is far away."""
        one = self.series[series]
        median, mean = one.median[place], one.mean[place]
        text = f"{median:g} ± {two_digits(one.sd[place])}"
        return f"{text} (mean {mean:g})" if abs(mean - median) > SKEWED * abs(median) else text

    def ratio(self, series: str, base: str, place: int) -> float:
        """The median of `series` divided by the median of `base`, at a place."""
        return self.series[series].median[place] / self.series[base].median[place]

    def markdown(self) -> str:
        """Medians, with the standard deviation of the runs behind them, and means far from them."""
        rows = [[str(self.x), *self.series]]
        for index, place in enumerate(self.places):
            cells = [self.cell(series, index) for series in self.series]
            rows.append([place_text(place), *cells])
        return markdown_table(rows)


def place_text(place: float) -> str:
    """A place of the x axis: 1,024, 8.33."""
    return f"{place:,.0f}" if place == int(place) else f"{place:.3g}"


def two_digits(value: float) -> str:
    """Two significant digits, without an exponent: 170, 0.031."""
    return f"{float(f'{value:.2g}'):,g}"


def _series(value: Any) -> Series:
    return Series(*([float(v) for v in value[key]] for key in ("median", "mean", "sd")))


def markdown_table(rows: list[list[str]]) -> str:
    """The first row is the heading; the first column is text, the others are numbers."""
    rule = ["---", *("---:" for _ in rows[0][1:])]
    return "\n".join("| " + " | ".join(row) + " |" for row in [rows[0], rule, *rows[1:]])


def newest(path: Path) -> Record | None:
    """The last record of a file of JSON lines, or None. Errors: Refused, naming the line."""
    if not path.exists():
        return None
    record: Record | None = None
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip():
            continue
        try:
            parsed = json.loads(line)
        except json.JSONDecodeError as error:
            raise Refused(f"{path.name}:{number} is no JSON: {error}") from error
        if not isinstance(parsed, dict):
            raise Refused(f"{path.name}:{number} is no object")
        record = parsed
    return record


def measured(bench: str, record: Record) -> str:
    """The commit and the machine of a record. Errors: Refused if the record lacks them."""
    try:
        about = f"commit {record['commit']}, {record['machine']}, {record['time']}"
        return f"`{record['command']}`, {about}\n"
    except KeyError as error:
        raise Refused(f"{bench}.jsonl: the newest record has no {error}") from error


def schema_of(bench: str) -> int:
    return SCHEMAS.get(bench, 1)


@dataclass(frozen=True)
class Recorded:
    """The newest record of a benchmark, or the sentence that stands in its place."""

    record: Record | None
    absence: str = ""


def recorded(results: Path, bench: str) -> Recorded:
    """Refuses a record of an older schema. Errors: Refused, for a file that cannot be read."""
    record = newest(results / f"{bench}.jsonl")
    again = f"`./dev bench --record {bench}`"
    if record is None:
        return Recorded(None, f"Not recorded yet: {again}.\n")
    has, needs = record.get("schema", 1), schema_of(bench)
    if has != needs:
        commit = record.get("commit", "?")
        return Recorded(
            None,
            f"The newest record (commit {commit}) has schema {has}, and its keys meant something "
            f"else; this report reads schema {needs}. Record again: {again}.\n",
        )
    return Recorded(record)


def broken_names(names: Sequence[str]) -> list[str] | None:
    """Breaks names at commas and spaces, so that they do not touch. None if a word is too long."""
    width = NAMES_LETTERS_MAX // len(names)
    lines = [
        [line for part in name.split(", ") for line in wrap(part, width, break_long_words=False)]
        for name in names
    ]
    fits = all(
        len(line) <= width and len(some) <= NAMES_LINES_MAX for some in lines for line in some
    )
    return ["\n".join(some) for some in lines] if fits else None
