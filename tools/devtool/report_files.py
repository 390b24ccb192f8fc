"""File data into device memory: `k2k bench reads` and `k2k bench model` as tables and bars."""

from devtool.figures import Record
from devtool.report_labs import Bars, Laboratory, span_of
from devtool.verdict import Interval, Judgement, judge

KIB_A_MIB = 1024
ROUNDS_BEFORE = 12  # The rounds of a full run, for records without that number.
READS_HEADING = [
    *("block", "cached", "extents", "threads"),
    *(
        "page cache, GB/s",
        "O_DIRECT, GB/s",
        "router, GB/s",
        "against",
        "ratio",
        "95 % interval",
        "target",
        "verdict",
    ),
]


def _size(kib: float) -> str:
    return f"{kib:g} KiB" if kib < KIB_A_MIB else f"{kib / KIB_A_MIB:g} MiB"


def _short_size(kib: float) -> str:
    """For the names of many bars: "512K", "8M"."""
    return _size(kib).replace(" ", "").removesuffix("iB")


def _gbs(row: Record, key: str) -> str:
    return f"{row[key]:.3g}" if key in row else "–"


def _judged(row: Record) -> Judgement:
    """The verdict by the present rule: older records contain verdicts by another rule."""
    rounds = int(row.get("rounds", ROUNDS_BEFORE))
    return judge(Interval(row["low"], row["ratio"], row["high"], rounds), row["target"], "higher")


def _cells(row: Record) -> list[str]:
    return [
        _block(row),
        f"{row['residency']} %",
        _size(row["extent_kib"]),
        str(row["threads"]),
        _gbs(row, "buffered_gbs"),
        _gbs(row, "direct_gbs"),
        _gbs(row, "ours_gbs"),
        "O_DIRECT" if row["against"] == "direct" else "page cache",
        f"{row['ratio']:.3g}",
        f"{row['low']:.3g} to {row['high']:.3g}",
        f"{row['target']:g}" if row["target"] else "–",
        str(_judged(row)) if row["target"] else "–",
    ]


def _block(row: Record) -> str:
    """The request size, and the bound on read-ahead if there is one: "64 KiB, 512 pages ahead"."""
    return ", ".join([_size(row["block_kib"]), *row["what"].split(", ")[1:]])


def _name(row: Record) -> str:
    if row["what"].startswith("sequential"):
        return _block(row)
    size = row["extent_kib"] if row["what"] == "mixed" else row["block_kib"]
    return f"{_short_size(size)}, {row['residency']}%"


def _bars_of(key: str, title: str, x_label: str, rows: list[Record]) -> Bars:
    groups: dict[str, list[float | None]] = {
        legend: [row.get(column) for row in rows]
        for column, legend in (
            ("buffered_gbs", "page cache"),
            ("direct_gbs", "O_DIRECT"),
            ("ours_gbs", "router"),
        )
    }
    cells = [_cells(row) for row in rows]
    names = [_name(row) for row in rows]
    return Bars(
        *(key, title, READS_HEADING, cells, names, groups, x_label, "GB/s"),
        errors={"router": [span_of(row["ours_gbs"], row) for row in rows]},
    )


def reads_bars(rows: list[Record]) -> list[Bars]:
    def random(threads: int) -> list[Record]:
        return [row for row in rows if row["what"] == "random" and row["threads"] == threads]

    by_block = "bytes a read, cached part of the file"
    mixed = [row for row in rows if row["what"] == "mixed"]
    streams = [row for row in rows if row["what"].startswith("sequential")]
    return [
        _bars_of(
            *("mixed", "Reads of 8 MiB, by the extents that are cached"),
            *("size of a cached extent, cached part of the file", mixed),
        ),
        _bars_of("random", "Reads in random order, one thread", by_block, random(1)),
        _bars_of("random-4", "Reads in random order, four threads", by_block, random(4)),
        _bars_of(
            *("sequential", "Reads front to back, by the bound on read-ahead"),
            *("bytes a read, bound on read-ahead", streams),
        ),
    ]


def model_bars(rows: list[Record]) -> list[Bars]:
    columns = {
        "mean_error_percent": "mean",
        "median_error_percent": "median",
        "p95_error_percent": "95th percentile",
        "bias_percent": "median with its sign",
    }
    table = [
        [row["requests_are"], str(row["requests"]), *(f"{row[key]:.3g} %" for key in columns)]
        for row in rows
    ]
    groups: dict[str, list[float | None]] = {
        columns[key]: [row[key] for row in rows]
        for key in ("mean_error_percent", "median_error_percent")
    }
    names = [str(row["requests_are"]) for row in rows]
    heading = ["requests", "how many", *columns.values()]
    title = "Error of the model"
    return [Bars("error", title, heading, table, names, groups, heading[0], "error of the time, %")]


FILES = (Laboratory("reads", reads_bars), Laboratory("model", model_bars))
