"""docs/results: the experiments of the thesis, and the laboratories (report_labs.py), as tables, plots and a comparison of the shapes.

Every number in README.md comes from the newest record of bench/results/NAME.jsonl, so the page is a
generated file (devtool/generate.py): `./dev format` renews it. The plots are drawn by `./dev plot`.
What the thesis shows, and why the cpu backend differs, is written here, once; a claim about a shape
is computed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from devtool import report_files, report_labs
from devtool.console import Refused, say
from devtool.figures import Figure, Record, markdown_table, newest
from devtool.tree import ROOT, shown

RESULTS = ROOT / "bench/results"
FOLDER = ROOT / "docs/results"
PAGE = FOLDER / "README.md"
# A difference of medians below this is no difference on a shared machine.
NOISE = 0.05
THESIS_COMPARE_SWAP_NS = 1352

HEAD = """\
<!-- Generated from bench/results by tools/devtool/report.py: do not edit, run ./dev format. -->

# The thesis' experiments on the cpu backend

What `k2k bench` measured of the figures of *Integrating Accelerators*, chapters 3 and 4. `./dev bench --record NAME` measures again,
`./dev format` renews this page, `./dev plot` draws the plots. Cells are medians ± the standard deviation of the runs; plots show
means. The cpu backend runs device and host on the same cores: a "GPU" that waits costs the host a core, and a "bus" is a cache.
"""


@dataclass(frozen=True)
class Drawn:
    """A figure of a record: its key, what stands above the plot, whether y is logarithmic."""

    key: str
    title: str
    log_y: bool = False


@dataclass(frozen=True)
class Table:
    """A list of objects of a record. `name` makes the first column; bars show `bars`."""

    key: str
    title: str
    name: Callable[[Record], str]
    columns: dict[str, str]  # Key → heading.
    bars: dict[str, str]  # Key → legend.
    label: str
    log_y: bool = False


@dataclass(frozen=True)
class Experiment:
    bench: str
    title: str
    thesis: str
    compare: Callable[[Record], str]
    figures: tuple[Drawn, ...] = ()
    table: Table | None = None


def page(results: Path = RESULTS) -> str:
    """The text of docs/results/README.md. Errors: Refused, for a record that cannot be read."""
    parts = [HEAD]
    for experiment in EXPERIMENTS:
        record = newest(results / f"{experiment.bench}.jsonl")
        parts.append(_section(experiment, record) if record else _missing(experiment))
    files = report_labs.sections(results, report_files.HEAD, report_files.FILES)
    laboratories = report_labs.sections(results, report_labs.HEAD, report_labs.LABORATORIES)
    return "\n".join([*parts, files, laboratories])


def draw(results: Path, folder: Path) -> None:
    """Draws every figure and table there is a record of. Expects matplotlib."""
    from devtool import plots

    folder.mkdir(parents=True, exist_ok=True)
    for experiment in EXPERIMENTS:
        record = newest(results / f"{experiment.bench}.jsonl")
        if record is None:
            continue
        for drawn in experiment.figures:
            path = folder / _file(experiment, drawn.key)
            plots.draw_figure(
                _figure(experiment, record, drawn.key), drawn.title, path, drawn.log_y
            )
            say(f"drew {shown(path)}")
        if (table := experiment.table) is not None:
            rows = _rows(experiment, record, table)
            groups = {legend: [row[key] for row in rows] for key, legend in table.bars.items()}
            path = folder / _file(experiment, table.key)
            names = [table.name(row).replace(", ", "\n") for row in rows]
            plots.draw_bars(names, groups, table.label, table.title, path, table.log_y)
            say(f"drew {shown(path)}")
    report_labs.draw(results, folder, [*report_files.FILES, *report_labs.LABORATORIES])


def _section(experiment: Experiment, record: Record) -> str:
    figures = {drawn: _figure(experiment, record, drawn.key) for drawn in experiment.figures}
    rows = _rows(experiment, record, experiment.table) if experiment.table else []
    try:
        parts = [
            f"## {experiment.title}\n",
            f"*Thesis:* {experiment.thesis}\n",
            f"*Here:* {experiment.compare(record)}\n",
        ]
        about = f"commit {record['commit']}, {record['machine']}, {record['time']}"
        command = record["command"]
        runs = record["runs"] if rows else 0
    except KeyError as error:
        raise Refused(f"{experiment.bench}.jsonl: the newest record has no {error}") from error
    for drawn, figure in figures.items():
        parts.append(f"**{drawn.title}** ({figure.y}; {figure.runs} runs)\n")
        parts.append(figure.markdown() + "\n")
        parts.append(f"![{drawn.title}]({_file(experiment, drawn.key)})\n")
    if (table := experiment.table) is not None:
        cells = [[table.name(row), *(_cell(row[key]) for key in table.columns)] for row in rows]
        parts.append(f"**{table.title}** ({runs} runs)\n")
        parts.append(markdown_table([["", *table.columns.values()], *cells]) + "\n")
        parts.append(f"![{table.title}]({_file(experiment, table.key)})\n")
    parts.append(f"`{command}`, {about}\n")
    return "\n".join(parts)


def _missing(experiment: Experiment) -> str:
    return (
        f"## {experiment.title}\n\nNot recorded yet: `./dev bench --record {experiment.bench}`.\n"
    )


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
        if missing := [key for key in (*table.columns, *table.bars) if key not in row]:
            raise Refused(f"{experiment.bench}.jsonl, {table.key}: no {', '.join(missing)}")
    return rows


def _cell(value: Any) -> str:
    return "–" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _times(ratio: float) -> str:
    return f"{ratio:.2g} ×" if ratio < 10 else f"{ratio:.0f} ×"


def _percent(share: float) -> str:
    return f"{share * 100:.0f} %"


def _against(ratio: float, better: str, worse: str) -> str:
    """What a ratio of times says, given what smaller and larger mean; noise says nothing."""
    if abs(ratio - 1) < NOISE:
        return "no difference"
    return better if ratio < 1 else worse


def _granularity(record: Record) -> str:
    left, right = Figure.of(record["left"]), Figure.of(record["right"])
    alone = Figure.of(record["one_top_half"])
    last = len(left.places) - 1
    item = left.ratio("work-item", "work-group 64", last)
    kernel = left.ratio("kernel", "work-group 64", last)
    wide = right.ratio("work-group 1024", "work-group 64", last)
    best = min(right.series, key=lambda name: right.series[name].median[last])
    order = "the thesis' order" if item > 1 + NOISE and kernel > 1 + NOISE else "another order"
    return (
        f"with {record['top_halves']} top halves at {left.places[last]:g} MiB, work-items take "
        f"{_times(item)} and the kernel as one {_times(kernel)} the time of work-groups of 64: {order}, and "
        "for the thesis' reasons, many calls against one call that nobody can share. Groups of 1,024 take "
        f"{_times(wide)} the time of groups of 64 ({_against(wide, 'better', 'not better')}; best here: {best}). "
        "The thesis' gain from larger groups is missing because a call costs little here: the 256 KiB "
        "of a group of 64 hide it already. With one top half, "
        "the default, work-items take "
        f"{_times(alone.ratio('work-item', 'work-group 64', last))} the time of groups of 64 and groups of 1,024 "
        f"{_times(alone.ratio('work-group 1024', 'work-group 64', last))}: one thread makes all calls that end within "
        "`server.takeover_us`, and only longer ones are served beside others."
    )


def _ordering(record: Record) -> str:
    figure = Figure.of(record["figure"])
    few, many = 0, len(figure.places) - 1

    def saved(series: str, place: int) -> str:
        return _percent(1 - figure.ratio(series, "strong-block", place))

    def spared(series: str) -> str:
        medians = figure.series["strong-block"].median[few] - figure.series[series].median[few]
        return f"{medians * figure.places[few]:.0f}"

    best = min(figure.series, key=lambda name: figure.series[name].median[few])
    return (
        f"at {figure.places[few]:g} permutation non-blocking saves {saved('strong-non-block', few)} of the "
        f"time of strong-block, weak order {saved('weak-block', few)}, both together "
        f"{saved('weak-non-block', few)}; at {figure.places[many]:g} permutations "
        f"{saved('strong-non-block', many)}, {saved('weak-block', many)} and {saved('weak-non-block', many)}. The curves "
        f"meet as in the thesis, and {best} is best at {figure.places[few]:g}; but what is saved is another thing. A GPU's "
        "barrier is an instruction and its call a trip over the chip: non-blocking saves the trip. "
        "Here a barrier is a switch to each of 1,024 fibres whose stacks left the caches: weak order saves "
        f"one, {spared('weak-block')} µs a block; not to wait for the answer spares {spared('strong-non-block')} µs."
    )


def _waiting(record: Record) -> str:
    access, neighbour = Figure.of(record["cpu_access"]), Figure.of(record["neighbour"])
    last = len(access.places) - 1
    polling = [access.ratio("polling", "none", place) for place in range(len(access.places))]
    first, end = (neighbour.series["polling"].median[place] for place in (0, last))
    halted = neighbour.series["halting"].median[last]
    return (
        f"the CPU's accesses stay between {_percent(min(polling))} and {_percent(max(polling))} of those without "
        f"waiters, at {access.places[last]:,.0f} lines {_percent(polling[last])}: no trend beyond the noise of this "
        "machine. The cpu backend polls by one thread a unit that mostly looks at the oldest call "
        "alone (`src/backend/cpu/simt/pollers.hpp`), and on one socket of a CPU there is no second "
        "party at the memory controller. What polling costs shows on the device: "
        f"a neighbour's no-op takes {first:g} µs beside {neighbour.places[0]:g} work-items that poll and {end:g} µs beside "
        f"{neighbour.places[last]:,.0f}, beside as many that halt {halted:g} µs: {_times(end / halted)}. The thesis' advice "
        "holds for another reason: halt where thousands of work-items call."
    )


def _coalescing(record: Record) -> str:
    figure = Figure.of(record["figure"])
    last = len(figure.places) - 1

    def effect(manner: str, place: int) -> str:
        share = 1 - figure.ratio(f"{manner}, up to 8", f"{manner}, one", place)
        if abs(share) < NOISE:
            return "change nothing"
        return f"{'save' if share > 0 else 'cost'} {_percent(abs(share))}"

    woken = [figure.ratio("woken, one", "polled, one", place) for place in (0, last)]
    return (
        f"where each bundle wakes two threads, up to eight calls a bundle {effect('woken', 0)} at "
        f"{figure.places[0]:g} bytes a call and {effect('woken', last)} at {figure.places[last]:,.0f}: the "
        f"thesis' shape, larger, because a call that wakes takes {_times(woken[0])} as long as one that the "
        f"server polls for, and {_times(woken[1])} at the largest. Where the server polls, the default, they "
        f"{effect('polled', 0)} and {effect('polled', last)}: there is no wake to save. Coalescing is a "
        "setting for servers that are woken."
    )


def _grep(record: Record) -> str:
    programs = {program["program"]: program for program in record["programs"]}
    ours = ("work-group", "work-item polling", "work-item halting")
    openmp = programs.get("OpenMP grep")
    if openmp is None:
        return "the OpenMP grep was not built; without it there is nothing to compare with."
    warm = [programs[name]["warm_speed"] for name in ours]
    cold = [programs[name]["cold_speed"] for name in ours]
    gnu = [programs["GNU grep"]["warm_ms"] / programs[name]["warm_ms"] for name in ours]
    halting = programs["work-item polling"]["warm_ms"] / programs["work-item halting"]["warm_ms"]
    return (
        f"{record['files']:,} files, {record['bytes'] / 1e6:.0f} MB, {record['matches']} of them with one of the words; all "
        f"programs print the same names. Of OpenMP's speed the kernels reach {min(warm):.2f} to {max(warm):.2f} with a "
        f"warm page cache and {min(cold):.2f} to {max(cold):.2f} with a cold one ({_percent(record['resident_after_drop'])} of "
        f"the pages were left). They are {min(gnu):.1f} to {max(gnu):.1f} times as fast as GNU grep. The thesis' "
        "gain over OpenMP is that of a GPU beside the CPU's cores. Here the device *is* the cores, and "
        "our OpenMP grep searches with the same matcher: with a warm cache the ratio is what calling "
        "through slots costs. That it is lower with a cold one is not explained yet: a shorter "
        f"`server.takeover_us` does not mend it. Halting is {halting:.2f} × as fast as polling (thesis: 1.03 to "
        "1.04): 32 work-items a unit are too few to matter (see figure 3.9)."
    )


def _atomics(record: Record) -> str:
    rows = {(r["memory"], r["units"], r["contended"]): r for r in record["operations"]}
    free, contended = rows["device", 2, False], rows["device", 2, True]
    single, slot = rows["device", 1, False], rows["host-visible", 1, False]
    polled = rows["host-visible", 1, True]
    falls = contended["compare_swap_ns"] > contended["swap_ns"] > polled["atomic_load_ns"]
    order = "The thesis' order" if falls else "Another order than the thesis'"
    return (
        f"with locked instructions compare-swap takes {free['compare_swap_ns']:g} ns, {contended['compare_swap_ns']:g} where "
        f"another unit has the line; swap {free['swap_ns']:g} and {contended['swap_ns']:g}; an atomic load "
        f"{slot['atomic_load_ns']:g}, a plain one {slot['load_ns']:g}, and {polled['atomic_load_ns']:g} while the host writes "
        f"the line. {order}, at 1/{THESIS_COMPARE_SWAP_NS / free['compare_swap_ns']:.0f} of its compare-swap: a GPU's "
        "atomics travel to a second-level cache, a CPU's stay in the first. On x86 an acquire load is "
        "a load, so there is no step between the last two. A device of one unit claims a slot in "
        f"{single['compare_swap_ns']:g} ns, without a locked instruction (`src/protocol/words.hpp`). Host-visible words have no "
        "read-modify-write (decision 1): their column is empty by design."
    )


def _faults(record: Record) -> str:
    latency, throughput = Figure.of(record["latency_p50"]), Figure.of(record["throughput"])
    split = Figure.of(record["split_zeros"])
    last = len(latency.places) - 1

    def median(figure: Figure, series: str, place: int) -> float:
        return figure.series[series].median[place]

    def share(part: str, place: int) -> str:
        return _percent(
            median(split, part, place) / sum(median(split, each, place) for each in split.series)
        )

    largest = max(split.series, key=lambda part: median(split, part, last))
    return (
        f"a request takes {median(latency, 'zeros', 0):g} µs alone and {median(latency, 'zeros', last):g} with "
        f"{latency.places[last]:g} outstanding, {median(throughput, 'zeros', last):g} faults/ms: the thesis' shape. The kernel's "
        f"own fault takes {median(latency, 'native', 0):g} µs (thesis: 1.7). The reason is another one: scheduling is "
        f"{share('scheduling', 0)} of a lone fault and {share('scheduling', last)} of {latency.places[last]:g}, because the server "
        f"polls while kernels run; the largest part of many is {largest} ({share(largest, last)}), the wait of a page that "
        "is there for the one thread of the unit. A synchronous handler, the thesis' advice, takes "
        f"{median(latency, 'in place', 0):g} µs where the unit resolves the fault itself, and {median(latency, 'reader thread', 0):g} µs "
        f"where a thread reads it from userfaultfd. At {latency.places[last]:g} requests reach "
        f"{_times(throughput.ratio('zeros', 'in place', last))} the throughput of the first and "
        f"{_times(throughput.ratio('zeros', 'reader thread', last))} that of the second."
    )


def _operation_row(row: Record) -> str:
    units = "" if row["memory"] == "host-visible" else f", {row['units']} unit"
    units += "s" if units and row["units"] > 1 else ""
    return f"{row['memory']}{units}{', contended' if row['contended'] else ''}"


EXPERIMENTS = (
    Experiment(
        "granularity",
        "Who makes the call: figure 3.7",
        "work-items are worst, the kernel as one call loses at large files because nothing serves it in "
        "parallel, work-groups are best, and larger ones better. Read times of files in memory, 2 GiB at most.",
        _granularity,
        (
            Drawn("left", "Figure 3.7, left: granularity", log_y=True),
            Drawn("right", "Figure 3.7, right: work-group size", log_y=True),
            Drawn("one_top_half", "The same with one top half, the default", log_y=True),
        ),
    ),
    Experiment(
        "ordering",
        "Blocking and order: figure 3.8",
        "non-blocking calls save about 30 % at few permutations and little beyond 16; weak-block is like "
        "strong-non-block, weak-non-block best.",
        _ordering,
        (Drawn("figure", "Figure 3.8: blocking and ordering"),),
    ),
    Experiment(
        "waiting",
        "Polling or halting: figure 3.9",
        "the throughput of CPU accesses falls as the GPU polls more cache lines, most beyond the 4,096 that "
        "its cache holds; halt-resume is advised at that granularity.",
        _waiting,
        (
            Drawn("cpu_access", "Figure 3.9: accesses of a CPU while work-items wait"),
            Drawn("neighbour", "Beyond the thesis: a neighbour's call while they wait", log_y=True),
        ),
    ),
    Experiment(
        "coalescing",
        "Coalescing: figure 3.10",
        "up to eight calls at a time save 10 to 15 % of the time a byte where little is read, and nothing "
        "where much is.",
        _coalescing,
        (Drawn("figure", "Figure 3.10: coalescing", log_y=True),),
    ),
    Experiment(
        "grep",
        "grep: figure 3.13 a",
        "2.0 to 2.3 times as fast as an OpenMP grep; work-items that halt are 3 to 4 % faster than work-items "
        "that poll and than work-groups.",
        _grep,
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
            "time, ms",
        ),
    ),
    Experiment(
        "faults",
        "Page faults: figure 4.6",
        "latency grows from 5 to 140 µs with the number of concurrent faults, throughput stays at 260 faults/ms beyond "
        "32; scheduling is most of it, so faults should be handled synchronously. On the CPU a fault takes 1.7 µs.",
        _faults,
        (
            Drawn("latency_p50", "Figure 4.6: latency of a page fault", log_y=True),
            Drawn("throughput", "Figure 4.6: throughput of page faults"),
            Drawn("split_zeros", "Figure 4.6: where the latency goes"),
        ),
    ),
    Experiment(
        "atomics",
        "Atomic operations: table 3.4",
        "compare-swap 1.352 µs, swap 0.782, atomic load 0.360, load 0.243 (AMD FX-9800P, integrated GPU).",
        _atomics,
        table=Table(
            "operations",
            "Table 3.4: operations on shared words, ns",
            _operation_row,
            {
                "compare_swap_ns": "compare-swap",
                "swap_ns": "swap",
                "add_ns": "add",
                "store_ns": "store",
                "atomic_load_ns": "atomic load",
                "load_ns": "load",
            },
            {
                "compare_swap_ns": "compare-swap",
                "swap_ns": "swap",
                "atomic_load_ns": "atomic load",
                "load_ns": "load",
            },
            "time, ns",
            log_y=True,
        ),
    ),
)
