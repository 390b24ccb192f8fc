"""The thesis' applications of docs/results: figures 3.12, 3.13 b, 3.15, 4.8 and 4.9, and what each
program pays for K2K beside the same code with libc."""

from devtool.figures import Record
from devtool.report_labs import Bars, Laboratory
from devtool.verdict import MET, Interval, Judgement, judge

RATIO_HEADING = ["", "ratio [95 % interval]", "target", "verdict"]


def _interval(row: Record) -> Interval:
    return Interval(row["low"], row["seen"], row["high"], int(row["rounds"]))


def judged(row: Record) -> Judgement | None:
    """The verdict by the present rule; None for a ratio that is told and not judged."""
    if "at_least" in row:
        return judge(_interval(row), row["at_least"], "higher")
    if "at_most" in row:
        return judge(_interval(row), row["at_most"], "lower")
    return None


def _target(row: Record) -> str:
    if "at_least" in row:
        return f"≥ {row['at_least']:g}"
    return f"≤ {row['at_most']:g}" if "at_most" in row else "–"


def ratio_rows(rows: list[Record]) -> list[list[str]]:
    """The table of the rows of bench/command/goal.hpp: goals, and ratios without one."""
    table = [RATIO_HEADING]
    for row in rows:
        verdict = judged(row)
        name = str(next(row[key] for key in ("program", "goal", "ratio") if key in row))
        shown = "–" if verdict is None else str(verdict)
        table.append([name, str(_interval(row)), _target(row), shown])
    return table


def explained(row: Record) -> str:
    """The verdict of a row of `k2k bench applications`: faults explain a difference if the program
    meets its goal without them (bench/command/fault_share.hpp)."""
    verdict = judged(row)
    if row.get("pinned") is None or verdict is None or verdict.verdict == MET:
        return str(verdict)
    without = Interval(row["pinned_low"], row["pinned"], row["pinned_high"], int(row["rounds"]))
    if judge(without, row["at_most"], "lower").verdict == MET:
        return "explained"
    return str(verdict)


def _spread(row: Record, key: str, scale: float = 1) -> str:
    if row.get(key) is None:
        return "–"
    mean, low, high = (row[one] * scale for one in (key, f"{key}_low", f"{key}_high"))
    return f"{mean:.3g} [{low:.3g}, {high:.3g}]"


def _page(row: Record, key: str) -> str:
    return "–" if row.get(key) is None else f"{row[key]:g}"


def applications_bars(rows: list[Record]) -> list[Bars]:
    """`k2k bench applications`: the device's time / that of the same code with libc."""
    names = [str(row["program"]) for row in rows]
    table = [
        [
            name,
            f"{row['device_ms']:g}",
            f"{row['direct_ms']:g}",
            str(_interval(row)),
            _spread(row, "pinned"),
            _spread(row, "share", 100),
            _target(row),
            explained(row),
        ]
        for name, row in zip(names, rows, strict=True)
    ]
    heading = [
        *("", "device, ms", "direct, ms", RATIO_HEADING[1]),
        *("without faults", "of the difference by faults, %", "target", "verdict"),
    ]
    title = "Programs beside the same code with libc"
    ratios: dict[str, list[float | None]] = {"device / direct": [row["seen"] for row in rows]}
    errors: dict[str, list[tuple[float, float] | None]] = {
        "device / direct": [(row["low"], row["high"]) for row in rows]
    }
    faulted = [row for row in rows if row.get("pinned") is not None]
    if faulted:
        ratios["without faults"] = [row.get("pinned") for row in rows]
        errors["without faults"] = [
            None if row.get("pinned") is None else (row["pinned_low"], row["pinned_high"])
            for row in rows
        ]
    labels = ("program, mode of its input", "time of the device / direct")
    bars = [Bars(*("ratio", title, heading, table, names), ratios, *labels, errors=errors)]
    if faulted:
        bars.append(_page_bars(faulted))
    return bars


def _page_bars(rows: list[Record]) -> Bars:
    """What a page on demand adds to the time of a program, and to that of threads by Linux."""
    names = [str(row["program"]) for row in rows]
    ways = {"page_us": "by a request", "direct_page_us": "by Linux"}
    table = [
        [name, f"{row['demand_pages']:,}", *(_page(row, key) for key in ways)]
        for name, row in zip(names, rows, strict=True)
    ]
    heading = ["", "pages on demand", *(f"{way}, µs a page" for way in ways.values())]
    title = "What a page on demand adds to the time"
    groups: dict[str, list[float | None]] = {
        way: [row[key] for row in rows] for key, way in ways.items()
    }
    return Bars(*("pages", title, heading, table, names, groups, "program"), "time a page, µs")


APPLICATIONS = (Laboratory("applications", applications_bars),)
