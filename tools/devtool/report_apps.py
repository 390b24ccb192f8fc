"""The thesis' applications of docs/results: figures 3.12, 3.13 b, 3.15, 4.8 and 4.9, and what each
program pays for K2K beside the same code with libc."""

from devtool.figures import Record
from devtool.report_labs import Bars, Laboratory
from devtool.verdict import Interval, Judgement, judge

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


def applications_bars(rows: list[Record]) -> list[Bars]:
    """`k2k bench applications`: the device's time / that of the same code with libc."""
    names = [str(row["program"]) for row in rows]
    table = [
        [
            name,
            f"{row['device_ms']:g}",
            f"{row['direct_ms']:g}",
            f"{row['demand_pages']:,}" if row["demand_pages"] else "–",
            str(_interval(row)),
            _target(row),
            str(judged(row)),
        ]
        for name, row in zip(names, rows, strict=True)
    ]
    heading = ["", "device, ms", "direct, ms", "pages on demand", *RATIO_HEADING[1:]]
    title = "Programs beside the same code with libc"
    return [
        Bars(
            *("ratio", title, heading, table, names),
            {"device / direct": [row["seen"] for row in rows]},
            *("program, mode of its input", "time of the device / direct"),
            errors={"device / direct": [(row["low"], row["high"]) for row in rows]},
        )
    ]


APPLICATIONS = (Laboratory("applications", applications_bars),)
