"""Page faults at the thesis' scale: the tables and plots of `k2k bench fault_scale`, figure 4.6."""

from devtool.figures import Record, two_digits
from devtool.report_labs import Bars, Laboratory

# Parts of a fault's time, in their order (bench/command/fault_scale.hpp).
PARTS = ("signal", "initialise", "before", "handler", "batch", "after")
GROWTH_PARTS = ("signal", "before", "handler", "batch", "after")
SMALL_PAGE_KIB = 4


def rows_of(record: Record) -> list[Record]:
    """The cells, the growth by queueing and the lanes of a wave, each with the name of its table.

    Errors: KeyError, for a record without one of them.
    """
    cells = [{"table": "cells"} | row for row in record["cells"]]
    growth = [{"table": "growth"} | row for row in record["queueing"]]
    return [*cells, *growth, {"table": "together"} | record["lanes_together"]]


def _of(rows: list[Record], table: str) -> list[Record]:
    return [row for row in rows if row["table"] == table]


def _units(row: Record) -> str:
    """The number of units; with a dagger where they share cores with each other or the server."""
    return f"{row['units']}{'†' if row.get('shares_cores') else ''}"


def _size(row: Record) -> str:
    return f"{row['page_kib']} KiB" if row["page_kib"] < 1024 else f"{row['page_kib'] // 1024} MiB"


def _name(row: Record) -> str:
    return f"{_units(row)}, {row['at_a_time']}, {_size(row)}"


def _way(row: Record) -> str:
    return f"{_size(row)}, {'one' if row['at_a_time'] == 1 else 'many'}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:g}"


def _rates(cells: list[Record]) -> Bars:
    """Faults a second by units. The number of all faults is that of the cells of small pages."""
    table = [
        [
            _name(row),
            _number(row["faults"]),
            _number(row["faults_per_ms"]),
            _number(row["mib_per_s"]),
            _number(row["latency_us"]),
            _number(row["p50_us"]),
            _number(row["p99_us"]),
            _number(row["queue_us"]),
            two_digits(row["host_busy"]),
        ]
        for row in cells
    ]
    heading = [
        *(
            "units (†: more than free cores), faults at a time, page",
            "faults",
            "faults/ms",
            "MiB/s",
            "mean, µs",
        ),
        *("p50, µs", "p99, µs", "unit served others, µs", "host busy, cores"),
    ]
    units = list(dict.fromkeys(_units(row) for row in cells))
    ways = list(dict.fromkeys(_way(row) for row in cells))
    found = {(_units(row), _way(row)): float(row["mib_per_s"]) for row in cells}
    groups = {way: [found.get((unit, way)) for unit in units] for way in ways}
    title = "Figure 4.6 at the thesis' scale: page faults by units"
    return Bars(
        *("rates", title, heading, table, units, groups),
        *("units (†: more than free cores)", "filled memory, MiB/s"),
        log_y=True,
    )


def _parts(cells: list[Record]) -> Bars:
    """Where the time of a fault goes, of small pages, with many at a time."""
    table = [
        [_name(row), *(_number(row[f"{part}_us"]) for part in PARTS), _number(row["latency_us"])]
        for row in cells
    ]
    heading = ["units, faults at a time, page", *(f"{part}, µs" for part in PARTS), "all, µs"]
    shown = [row for row in cells if row["at_a_time"] > 1 and row["page_kib"] == SMALL_PAGE_KIB]
    groups: dict[str, list[float | None]] = {
        part: [float(row[f"{part}_us"]) for row in shown] for part in PARTS
    }
    return Bars(
        *("parts", "Figure 4.6 at the thesis' scale: where the time goes", heading, table),
        *([_name(row) for row in shown], groups),
        *("units, faults at a time, page", "part of the mean latency, µs"),
    )


def _growth(growth: list[Record]) -> Bars:
    """Shares of what a fault takes longer if many wait."""
    names = [f"{row['units']}, {_size(row)}" for row in growth]
    table = [
        [
            name,
            _number(row["grown_us"]),
            *(f"{row[part] * 100:.3g} %" for part in GROWTH_PARTS),
        ]
        for name, row in zip(names, growth, strict=True)
    ]
    groups: dict[str, list[float | None]] = {
        part: [float(row[part]) * 100 for row in growth] for part in GROWTH_PARTS
    }
    title = "What makes a fault longer when many wait"
    heading = ["units, page", "longer by, µs", *GROWTH_PARTS]
    return Bars(
        *("growth", title, heading, table, names, groups, "units, page"),
        "share of the growth, %",
    )


def _together(row: Record) -> Bars:
    """Lanes of a wave that touch the same missing page."""
    table = [
        [
            str(row["lanes"]),
            _number(row["pages"]),
            _number(row["touches"]),
            _number(row["requests"]),
            f"{row['requests'] / row['pages']:.3g}",
        ]
    ]
    heading = ["lanes of the wave", "pages", "touches", "requests", "requests a page"]
    return Bars("together", "Lanes that touch the same pages", heading, table, [], {}, "", "")


def fault_scale_bars(rows: list[Record]) -> list[Bars]:
    """Errors: KeyError, for a row without a column."""
    cells = _of(rows, "cells")
    return [
        _rates(cells),
        _parts(cells),
        _growth(_of(rows, "growth")),
        _together(_of(rows, "together")[0]),
    ]


FAULTS = (Laboratory("fault_scale", fault_scale_bars, rows_of),)
