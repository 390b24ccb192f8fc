"""docs/results: the experiments of the thesis and the laboratories, as tables and plots.

Every number of a table comes from the newest record of bench/results/NAME.jsonl and is put between
the marks of that name in README.md (devtool/generate.py): `./dev format` renews them. The plots are
drawn by `./dev plot`. The sentences about the tables in README.md are written by hand.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from devtool import report_apps, report_faults, report_files, report_harm, report_labs
from devtool.console import Refused, say
from devtool.figures import Figure, Record, markdown_table, measured, recorded, two_digits
from devtool.marks import names_in, renewed
from devtool.tree import ROOT, shown

RESULTS = ROOT / "bench/results"
FOLDER = ROOT / "docs/results"
PAGE = FOLDER / "README.md"
# A heading of a part of the page.
PART = re.compile(r"^# ", re.MULTILINE)


@dataclass(frozen=True)
class Drawn:
    """A figure of a record: its key, its title, whether y is logarithmic, and x is not."""

    key: str
    title: str
    log_y: bool = False
    linear_x: bool = False


@dataclass(frozen=True)
class Table:
    """A list of objects of a record. `name` makes the first column; bars show `bars`."""

    key: str
    title: str
    name: Callable[[Record], str]
    columns: dict[str, str]  # Key → heading.
    bars: dict[str, str]  # Key → legend.
    x_label: str
    y_label: str
    log_y: bool = False
    # Key → the key of its standard deviation: in a column of its own, or else behind the median.
    deviations: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Experiment:
    bench: str
    figures: tuple[Drawn, ...] = ()
    table: Table | None = None
    # Key → title: lists of ratios with their intervals. A record from before a ratio was measured
    # has no such list.
    ratios: dict[str, str] = field(default_factory=dict)
    # Likewise.
    later: tuple[Table, ...] = ()

    def tables(self, record: Record) -> list[Table]:
        """Those that the record must have, and those that it has."""
        first = [] if self.table is None else [self.table]
        return first + [table for table in self.later if table.key in record]


def page(results: Path = RESULTS, file: Path = PAGE) -> str:
    """The text of docs/results/README.md, its tables renewed.

    Errors: Refused, for a record that cannot be read, and for marks of no record or none of one.
    """
    apart = _apart(file.read_text(), results)
    return renewed(file, {name: apart.get(name, "") + one for name, one in blocks(results).items()})


def _apart(text: str, results: Path) -> dict[str, str]:
    """The notes that separate records of different machines, by benchmark.

    The first record of a part of the page gives the part's machine. Records of another machine get
    a note. Errors: Refused, for a record that cannot be read.
    """
    notes = {}
    for part in PART.split(text):
        machine = ""
        for name in names_in(part):
            record = recorded(results, name).record
            if record is None:
                continue
            # Linux changes on a machine; its processor and cores do not.
            this = str(record.get("machine", "")).partition(", Linux")[0]
            machine = machine or this
            if this != machine:
                notes[name] = (
                    f"**Measured on {this}; the first table of this part on {machine}.** Compare "
                    "no figure of one with a figure of the other.\n\n"
                )
    return notes


def blocks(results: Path) -> dict[str, str]:
    """By benchmark: tables, plots, and the commit and machine that measured them."""
    made = {}
    for experiment in EXPERIMENTS:
        found = recorded(results, experiment.bench)
        made[experiment.bench] = _block(experiment, found.record) if found.record else found.absence
    return made | report_labs.blocks(results, LABORATORIES)


def draw(results: Path, folder: Path) -> None:
    """Draws every figure and table with a record. Expects matplotlib."""
    from devtool import plots

    folder.mkdir(parents=True, exist_ok=True)
    for experiment in EXPERIMENTS:
        record = recorded(results, experiment.bench).record
        if record is None:
            continue
        for drawn in experiment.figures:
            path = folder / _file(experiment, drawn.key)
            plots.draw_figure(
                _figure(experiment, record, drawn.key),
                drawn.title,
                path,
                drawn.log_y,
                drawn.linear_x,
            )
            say(f"drew {shown(path)}")
        for table in experiment.tables(record):
            rows = _rows(experiment, record, table)
            groups = {
                legend: [_bar(row[key], table.log_y) for row in rows]
                for key, legend in table.bars.items()
            }
            path = folder / _file(experiment, table.key)
            names = [table.name(row) for row in rows]
            errors = {
                table.bars[key]: [_span(row[key], row[sd]) for row in rows]
                for key, sd in table.deviations.items()
                if key in table.bars
            }
            labels = (table.x_label, table.y_label, table.title)
            plots.draw_bars(names, groups, *labels, path, table.log_y, errors)
            say(f"drew {shown(path)}")
    report_labs.draw(results, folder, LABORATORIES)
    report_harm.draw(results, folder)


def _block(experiment: Experiment, record: Record) -> str:
    parts = []
    for drawn in experiment.figures:
        figure = _figure(experiment, record, drawn.key)
        parts.append(f"**{drawn.title}** ({figure.y}; {figure.runs} runs)\n")
        parts.append(figure.markdown() + "\n")
        parts.append(f"![{drawn.title}]({_file(experiment, drawn.key)})\n")
    for table in experiment.tables(record):
        rows = _rows(experiment, record, table)
        cells = [
            [table.name(row), *(_cell(row, key, table) for key in table.columns)] for row in rows
        ]
        runs = f" ({record['runs']} runs)" if "runs" in record else ""
        parts.append(f"**{table.title}**{runs}\n")
        parts.append(markdown_table([["", *table.columns.values()], *cells]) + "\n")
        parts.append(f"![{table.title}]({_file(experiment, table.key)})\n")
    for key, title in experiment.ratios.items():
        if key in record:
            parts.append(f"**{title}**\n")
            parts.append(_ratios(experiment, record, key) + "\n")
    return "\n".join([*parts, measured(experiment.bench, record)])


def _ratios(experiment: Experiment, record: Record, key: str) -> str:
    try:
        return markdown_table(report_apps.ratio_rows(record[key]))
    except (KeyError, TypeError, StopIteration) as error:
        raise Refused(f"{experiment.bench}.jsonl, {key}: no ratios: {error!r}") from error


def _file(experiment: Experiment, key: str) -> str:
    return f"{experiment.bench}-{key.replace('_', '-')}.svg"


def _figure(experiment: Experiment, record: Record, key: str) -> Figure:
    try:
        return Figure.of(record.get(key))
    except ValueError as error:
        raise Refused(f"{experiment.bench}.jsonl, {key}: {error}") from error


def _rows(experiment: Experiment, record: Record, table: Table) -> list[Record]:
    rows = record.get(table.key)
    if not isinstance(rows, list) or not rows:
        raise Refused(f"{experiment.bench}.jsonl: {table.key} is no table")
    for row in rows:
        needed = (*table.columns, *table.bars, *table.deviations.values())
        if missing := [key for key in needed if key not in row]:
            raise Refused(f"{experiment.bench}.jsonl, {table.key}: no {', '.join(missing)}")
    return rows


def _cell(row: Record, key: str, table: Table) -> str:
    value = row[key]
    if value is None:
        return "–"
    text = f"{value:,g}" if isinstance(value, float) else str(value)
    sd = table.deviations.get(key)
    return text if sd is None or sd in table.columns else f"{text} ± {two_digits(row[sd])}"


def _bar(value: float | None, log_y: bool) -> float | None:
    """A logarithmic axis has no place for a part of no time."""
    return None if value is None or (log_y and value <= 0) else value


def _span(median: float | None, sd: float | None) -> tuple[float, float] | None:
    return None if median is None or sd is None else (median - sd, median + sd)


def _discard_row(row: Record) -> str:
    cores, pages = row["cores"], row["pages"]
    return f"{cores} core{'s' * (cores > 1)}, {pages} page{'s' * (pages > 1)}"


def _operation_row(row: Record) -> str:
    units = "" if row["memory"] == "host-visible" else f", {row['units']} unit"
    units += "s" if units and row["units"] > 1 else ""
    return f"{row['memory']}{units}{', contended' if row['contended'] else ''}"


LABORATORIES = (
    *report_apps.APPLICATIONS,
    *report_faults.FAULTS,
    *report_files.FILES,
    *report_labs.LABORATORIES,
)
OPERATIONS = {
    "compare_swap": "compare-swap",
    "swap": "swap",
    "add": "add",
    "store": "store",
    "atomic_load": "atomic load",
    "load": "load",
}
EXPERIMENTS = (
    Experiment(
        "granularity",
        (
            Drawn("left", "Figure 3.7, left: granularity", log_y=True),
            Drawn("right", "Figure 3.7, right: work-group size", log_y=True),
            Drawn("one_top_half", "Figure 3.7 with one top half, the default", log_y=True),
        ),
    ),
    Experiment(
        "ordering",
        (Drawn("figure", "Figure 3.8: blocking and ordering"),),
    ),
    Experiment(
        "waiting",
        (
            Drawn("cpu_access", "Figure 3.9: accesses of a CPU while work-items wait"),
            Drawn(
                "neighbour", "Beyond the thesis: a neighbour's call while others wait", log_y=True
            ),
        ),
    ),
    Experiment(
        "coalescing",
        (Drawn("figure", "Figure 3.10: coalescing", log_y=True),),
    ),
    Experiment(
        "grep",
        table=Table(
            "programs",
            "Figure 3.13 a: grep",
            lambda row: str(row["program"]),
            {
                "warm_ms": "warm, ms",
                "warm_sd_ms": "±",
                "warm_speed": "of OpenMP's speed",
                "cold_ms": "cold, ms",
                "cold_sd_ms": "±",
                "cold_speed": "of OpenMP's speed",
            },
            {"warm_ms": "warm page cache", "cold_ms": "cold page cache"},
            "program",
            "time, ms",
            deviations={"warm_ms": "warm_sd_ms", "cold_ms": "cold_sd_ms"},
        ),
    ),
    Experiment(
        "wordcount",
        table=Table(
            "ways",
            "Figure 3.13 b: wordcount",
            lambda row: str(row["by"]),
            {"warm_ms": "warm, ms", "cold_ms": "cold, ms"},
            {"warm_ms": "warm page cache", "cold_ms": "cold page cache"},
            "who makes the system calls",
            "time, ms",
            deviations={"warm_ms": "warm_sd_ms", "cold_ms": "cold_sd_ms"},
        ),
        ratios={"goals": "The goals of wordcount"},
    ),
    Experiment(
        "signal_search",
        table=Table(
            "ways",
            "Figure 3.12: signal-search",
            lambda row: str(row["by"]),
            {"ms": "time, ms"},
            {"ms": "time"},
            "who tells the hashing threads",
            "time, ms",
            deviations={"ms": "sd_ms"},
        ),
        ratios={
            "gain": "One launch beside signals",
            "goals": "The goal of signal-search",
        },
    ),
    Experiment(
        "memcached",
        table=Table(
            "servers",
            "Figure 3.15: memcached",
            lambda row: str(row["server"]),
            {"requests_per_s": "requests/s", "p50_us": "p50, µs", "p99_us": "p99, µs"},
            {"requests_per_s": "requests a second"},
            "server",
            "requests a second",
            deviations={"requests_per_s": "sd", "p50_us": "p50_sd", "p99_us": "p99_sd"},
        ),
        ratios={
            "chain": "From threads to the kernel, a step at a time (requests a second)",
            "goals": "The goals of memcached",
        },
    ),
    Experiment(
        "demand",
        (
            Drawn("memory_bpt", "Figure 4.8: BPT, memory over time", linear_x=True),
            Drawn("memory_xsbench", "Figure 4.8: XSBench, memory over time", linear_x=True),
            Drawn("memory_graph500", "Figure 4.8: graph500, memory over time", linear_x=True),
            Drawn("memory_comd", "Figure 4.8: CoMD, memory over time", linear_x=True),
        ),
        table=Table(
            "programs",
            "Figure 4.9: time with pages on demand and with pinned pages, pinned = 1",
            lambda row: str(row["program"]),
            {
                "demand_ms": "demand, ms",
                "pinned_ms": "pinned, ms",
                "demand_device": "demand: device",
                "demand_host": "demand: host",
                "pinned_device": "pinned: device",
                "pinned_host": "pinned: host",
                "demand_mib": "demand, MiB",
                "demand_cache_mib": "its page cache",
                "pinned_mib": "pinned, MiB",
                "pinned_cache_mib": "its page cache",
            },
            {
                "demand_device": "demand, device",
                "demand_host": "demand, host",
                "pinned_device": "pinned, device",
                "pinned_host": "pinned, host",
            },
            "program",
            "part of the time with pinned pages",
            deviations={
                "demand_ms": "demand_sd_ms",
                "pinned_ms": "pinned_sd_ms",
                "demand_device": "demand_device_sd",
                "demand_host": "demand_host_sd",
                "pinned_device": "pinned_device_sd",
                "pinned_host": "pinned_host_sd",
            },
        ),
        ratios={"programs": "Figure 4.9: time of demand / time of pinned"},
    ),
    Experiment(
        "faults",
        (
            Drawn("latency_p50", "Figure 4.6: latency of a page fault", log_y=True),
            Drawn("throughput", "Figure 4.6: throughput of page faults"),
            Drawn("split_zeros", "Figure 4.6: where the latency goes"),
        ),
        later=(
            Table(
                "discards",
                "Table 4.4: pages that are given back (medians)",
                _discard_row,
                {
                    "discards": "discards",
                    "initialise_ns": "initialise, ns",
                    "unmap_ns": "unmap, ns",
                    "remote_ns": "remote, ns",
                    "finalise_ns": "finalise, ns",
                    "total_ns": "all, ns",
                    "sum_to_total": "sum of the parts / all",
                    "sum_low": "95 % interval, from",
                    "sum_high": "to",
                    "within_5_percent": "within 5 %",
                },
                {
                    "initialise_ns": "initialise",
                    "unmap_ns": "unmap",
                    "remote_ns": "remote",
                    "finalise_ns": "finalise",
                    "total_ns": "all",
                },
                "cores that run threads of the process, pages",
                "time, ns",
                log_y=True,
            ),
        ),
    ),
    Experiment(
        "atomics",
        table=Table(
            "operations",
            "Table 3.4: operations on shared words, ns, medians",
            _operation_row,
            {f"{name}_ns": heading for name, heading in OPERATIONS.items()},
            {
                f"{name}_ns": OPERATIONS[name]
                for name in ("compare_swap", "swap", "atomic_load", "load")
            },
            "memory, units of the device",
            "time, ns",
            log_y=True,
            deviations={f"{name}_ns": f"{name}_sd_ns" for name in OPERATIONS},
        ),
    ),
)
