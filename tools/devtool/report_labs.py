"""The laboratories of docs/results: measurements of `k2k lab`, as tables and bars.

Each takes the newest record of bench/results/NAME.jsonl. A laboratory gives one or more tables
whose numbers are also drawn.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from devtool.console import Refused, say
from devtool.figures import Record, markdown_table, measured, recorded
from devtool.tree import shown
from devtool.verdict import MISSED, Interval, Judgement, judge

# The permitted cost of adaptive coalescing beside the best fixed setting (labs/.../compare.hpp).
COALESCING_TARGET = 1.05


@dataclass(frozen=True)
class Bars:
    """A table, and a plot with a cluster of bars a name; without groups there is no plot."""

    key: str
    title: str
    heading: Sequence[str]
    rows: Sequence[Sequence[str]]
    names: Sequence[str]
    groups: dict[str, list[float | None]]
    x_label: str
    y_label: str
    log_y: bool = False
    errors: dict[str, list[tuple[float, float] | None]] = field(default_factory=dict)


def rows_of(record: Record) -> list[Record]:
    """The rows, each with the record's rounds unless the row has its own."""
    rounds = {"rounds": record["rounds"]} if "rounds" in record else {}
    return [rounds | row for row in record["rows"]]


@dataclass(frozen=True)
class Laboratory:
    bench: str
    bars: Callable[[list[Record]], list[Bars]]
    rows: Callable[[Record], list[Record]] = rows_of


def blocks(results: Path, laboratories: Sequence[Laboratory]) -> dict[str, str]:
    """By benchmark, as markdown. Errors: Refused, for a record that cannot be read."""
    return {one.bench: _block(one, results) for one in laboratories}


def draw(results: Path, folder: Path, laboratories: Sequence[Laboratory]) -> None:
    """Draws every laboratory with a record. Expects matplotlib."""
    from devtool import plots

    for one in laboratories:
        record = recorded(results, one.bench).record
        if record is None:
            continue
        for bars in _bars(one, record):
            if not bars.groups:
                continue
            path = folder / _file(one, bars)
            labels = (bars.x_label, bars.y_label, bars.title)
            plots.draw_bars(bars.names, bars.groups, *labels, path, bars.log_y, bars.errors)
            say(f"drew {shown(path)}")


def _block(one: Laboratory, results: Path) -> str:
    found = recorded(results, one.bench)
    if found.record is None:
        return found.absence
    parts = []
    for bars in _bars(one, found.record):
        parts.append(f"**{bars.title}**\n")
        parts.append(markdown_table([list(bars.heading), *map(list, bars.rows)]) + "\n")
        if bars.groups:
            parts.append(f"![{bars.title}]({_file(one, bars)})\n")
    return "\n".join([*parts, measured(one.bench, found.record)])


def _bars(one: Laboratory, record: Record) -> list[Bars]:
    try:
        return one.bars(one.rows(record))
    except (KeyError, TypeError, StopIteration) as error:
        raise Refused(f"{one.bench}.jsonl: the newest record has no {error}") from error


def _file(one: Laboratory, bars: Bars) -> str:
    return f"lab-{one.bench.replace('_', '-')}-{bars.key}.svg"


def span_of(value: float, row: Record) -> tuple[float, float] | None:
    """`value`, of which the row has a ratio to another, at the ends of the ratio's interval."""
    if row["ratio"] == 0:
        return None
    return value * min(1, row["low"] / row["ratio"]), value * max(1, row["high"] / row["ratio"])


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share * 100:.3g} %"


def _governed(rows: list[Record], policy: str, cap: float) -> Record | None:
    return next((row for row in rows if row["policy"] == policy and row["cap"] == cap), None)


def _capped(rows: list[Record]) -> tuple[list[str], list[float]]:
    capped = [row for row in rows if row["policy"] != "none"]
    policies = list(dict.fromkeys(str(row["policy"]) for row in capped))
    return policies, sorted({float(row["cap"]) for row in capped})


def _by_cap(
    rows: list[Record],
    key: str,
    title: str,
    label: str,
    text: Callable[[float], str],
    scale: float,
    heading: str = "cap",
    log_y: bool = True,
) -> Bars:
    """A value of each policy under each cap: `text` in the table, times `scale` in the plot."""
    policies, caps = _capped(rows)
    names = [_percent(cap) for cap in caps]
    cells: dict[str, list[float | None]] = {
        policy: [
            row[key] if (row := _governed(rows, policy, cap)) is not None else None for cap in caps
        ]
        for policy in policies
    }
    table = [
        [name, *("–" if one is None else text(one) for one in line)]
        for name, line in zip(names, zip(*cells.values(), strict=True), strict=True)
    ]
    groups: dict[str, list[float | None]] = {
        policy: [None if value is None else value * scale for value in values]
        for policy, values in cells.items()
    }
    return Bars(
        *(key.replace("_", "-"), title, [heading, *policies], table, names, groups, heading),
        label,
        log_y,
    )


def _governor_bars(rows: list[Record]) -> list[Bars]:
    caps: list[float | None] = [cap * 100 for cap in _capped(rows)[1]]

    def shares_of(key: str, title: str) -> Bars:
        bars = _by_cap(rows, key, title, "share, %", _percent, 100)
        return replace(bars, groups={"the cap": caps, **bars.groups})

    shares = [shares_of("share", "Share of all cores' CPU time under a cap")]
    if all("ledger_share" in row for row in rows):
        # The published ticker of `backoff` is a thread of its own, which sleeps in short steps: its
        # cost is the machine's, and no part of what requests cost.
        title = "The same by the server's ledger, the ticker of backoff left out"
        shares.append(shares_of("ledger_share", title))
    title = "Throughput of what the cap could pay for"
    label = "of that throughput, %"
    return [*shares, _by_cap(rows, "of_ideal", title, label, _percent, 100, log_y=False)]


def _beside_bars(rows: list[Record]) -> list[Bars]:
    """Policies that look at other programs: requests served, and what those programs lost."""

    def bars(key: str, title: str, label: str, text: Callable[[float], str], scale: float) -> Bars:
        return _by_cap(rows, key, title, label, text, scale, "cap, or permitted loss")

    all_bars = [
        bars("throughput", "Requests a second", "requests/s", lambda value: f"{value:,.0f}", 1),
        bars("share", "Share of all cores' CPU time", "share, %", _percent, 100),
    ]
    if any(row["busy"] for row in rows):
        title = "Loss of CPU programs that want every core"
        all_bars.append(_with_spans(bars("cpu_loss", title, "loss, %", _percent, 100), rows))
    return all_bars


def _with_spans(bars: Bars, rows: list[Record]) -> Bars:
    """The loss with its interval, on an axis that may go below zero."""
    policies, caps = _capped(rows)

    def span(cap: float, policy: str) -> tuple[float, float] | None:
        row = _governed(rows, policy, cap)
        if row is None or row.get("cpu_loss_low") is None:
            return None
        return row["cpu_loss_low"] * 100, row["cpu_loss_high"] * 100

    def cell(text: str, ends: tuple[float, float] | None) -> str:
        return text if ends is None else f"{text} [{ends[0]:.3g}, {ends[1]:.3g}]"

    table = [
        [
            name,
            *(cell(text, span(cap, policy)) for text, policy in zip(cells, policies, strict=True)),
        ]
        for cap, (name, *cells) in zip(caps, bars.rows, strict=True)
    ]
    errors = {policy: [span(cap, policy) for cap in caps] for policy in policies}
    return replace(bars, rows=table, errors=errors, log_y=False)


def _study(rows: list[Record]) -> list[Record]:
    return [row for row in rows if row["load"] == "study"]


def _generators_bars(rows: list[Record]) -> list[Bars]:
    asked = [row for row in rows if row["faults"] + row["calls"] > 0]
    names = [str(row["generator"]) for row in asked]
    requests = [row["faults"] + row["calls"] for row in asked]
    costs = [row["service_cpu_s"] * 1e6 / n for row, n in zip(asked, requests, strict=True)]
    rates = [n / row["elapsed_s"] for row, n in zip(asked, requests, strict=True)]
    table = [
        [
            name,
            f"{row['pages']:,}" if "pages" in row else "–",
            f"{row['faults']:,}",
            f"{row['calls']:,}",
            f"{rate:,.0f}",
            f"{cost:.2g} µs",
        ]
        for name, row, rate, cost in zip(names, asked, rates, costs, strict=True)
    ]
    heading = ["generator", "pages", "faults", "calls", "requests/s", "service CPU a request"]
    title = "Service CPU time a request, by generator"
    return [
        Bars(
            *("cost", title, heading, table, names, {"cost": [*costs]}, "generator"),
            "CPU time a request, µs",
            log_y=True,
        )
    ]


def _combination(row: Record) -> str:
    on = "on" if row["coalescing"] == "on" else "off"
    return f"{row['steering']}, {on}, {row['bottom_half']}"


def _orthogonal_bars(rows: list[Record]) -> list[Bars]:
    names = list(dict.fromkeys(_combination(row) for row in rows))
    caps = sorted({float(row["cap"]) for row in rows})
    found = {(_combination(row), float(row["cap"])): row for row in rows}

    def bars(key: str, title: str, label: str, text: Callable[[float], str], scale: float) -> Bars:
        table = [[name, *(text(found[name, cap][key]) for cap in caps)] for name in names]
        groups: dict[str, list[float | None]] = {
            f"cap {_percent(cap)}": [found[name, cap][key] * scale for name in names]
            for cap in caps
        }
        heading = ["steering, coalescing, bottom half", *(_percent(cap) for cap in caps)]
        return Bars(
            key.replace("_", "-"), title, heading, table, names, groups, heading[0], label, True
        )

    return [
        bars("share", "Share under each combination of mitigations", "share, %", _percent, 100),
        bars(
            "per_cpu_s", "Requests a CPU-second", "requests a CPU-second", lambda n: f"{n:,.0f}", 1
        ),
    ]


def _coalescing_judged(row: Record) -> Judgement:
    """The bound on the mean delay is a promise of its own: breaking it misses the goal."""
    if row.get("bound_broken") and row["verdict"] == MISSED:
        return Judgement(MISSED)
    seen = Interval(row["low"], row["ratio"], row["high"], int(row.get("rounds", 0)))
    return judge(seen, COALESCING_TARGET, "lower")


def _coalescing_bars(rows: list[Record]) -> list[Bars]:
    table = [
        [
            row["shape"],
            f"{row['none_us']:.3g} µs",
            "none"
            if row["best_window_us"] == 0
            else f"{row['best_window_us']} µs, {row['best_max']}",
            f"{row['best_us']:.3g} µs",
            f"{row['best_delay_us']:.0f} µs",
            f"{row['adaptive_us']:.3g} µs",
            f"{row['adaptive_delay_us']:.0f} µs",
            f"{row['ratio']:.3f}",
            f"{row['low']:.3f} to {row['high']:.3f}",
            str(_coalescing_judged(row)),
        ]
        for row in rows
    ]
    heading = [
        *("load shape", "none", "best fixed", "costs", "delay", "adaptive", "delay"),
        *("adaptive / best", "95 % interval", "verdict"),
    ]
    groups = {
        legend: [row[key] / row["none_us"] for row in rows]
        for key, legend in (
            ("none_us", "none"),
            ("best_us", "best fixed"),
            ("adaptive_us", "adaptive"),
        )
    }
    title = "CPU time a request, by coalescing"
    names = [str(row["shape"]) for row in rows]
    label = "CPU time, none = 1"
    return [
        Bars(
            *("cost", title, heading, table, names, {**groups}, "load shape", label),
            errors={
                "adaptive": [span_of(row["adaptive_us"] / row["none_us"], row) for row in rows]
            },
        )
    ]


def _of_table(rows: list[Record], table: str) -> list[Record]:
    return [row for row in rows if row["table"] == table]


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,.0f}" if value >= 1_000 else f"{value:.4g}"


def _program_bars(rows: list[Record]) -> Bars:
    programs = _of_table(rows, "programs")
    names = list(dict.fromkeys(f"{row['program']}, {row['keys']}" for row in programs))
    settings = list(dict.fromkeys((str(row["pages"]), int(row["prefetch"])) for row in programs))
    found = {
        (f"{row['program']}, {row['keys']}", row["pages"], row["prefetch"]): row for row in programs
    }
    labels = [f"{pages}, prefetch {prefetch}" for pages, prefetch in settings]
    table = [
        [name, *(_number(found[name, *setting]["misses_per_1000"]) for setting in settings)]
        for name in names
    ]
    groups: dict[str, list[float | None]] = {
        label: [float(found[name, *setting]["misses_per_1000"]) for name in names]
        for label, setting in zip(labels, settings, strict=True)
    }
    title = "Simulated: TLB misses a thousand instructions of the thesis' GPU"
    return Bars(
        *("programs", title, ["program, keys", *labels], table, names, groups, "program"),
        "misses a thousand instructions",
        log_y=True,
    )


def _source(row: Record) -> str:
    """Records of before the accesses of programs could be recorded do not name them."""
    accesses = row.get("accesses")
    return str(row["source"]) if accesses is None else f"{row['source']}, {accesses}"


def _verdict_bars(rows: list[Record]) -> Bars:
    statements = _of_table(rows, "statements")
    table = []
    for row in statements:
        ours = row["ours"]
        seen = "–"
        if ours is not None:
            low, high = ours["low"], ours["high"]
            seen = _number(ours["mean"])
            seen += "" if low == high else f" [{_number(low)}, {_number(high)}]"
        table.append(
            [row["section"], row["says"], row["thesis"], seen, _source(row), row["verdict"]]
        )
    sources = list(dict.fromkeys(_source(row) for row in statements))
    verdicts = list(dict.fromkeys(str(row["verdict"]) for row in statements))
    counts: dict[str, list[float | None]] = {
        verdict: [
            float(sum(_source(row) == source and row["verdict"] == verdict for row in statements))
            for source in sources
        ]
        for verdict in verdicts
    }
    heading = ["section", "the thesis says", "thesis", "ours", "source", "verdict"]
    return Bars(
        *("verdicts", "The thesis' statements", heading, table, sources, counts),
        *("source of our figure", "statements"),
    )


def _translation_bars(rows: list[Record]) -> list[Bars]:
    return [_verdict_bars(rows), _program_bars(rows)]


def _escapes_bars(rows: list[Record]) -> list[Bars]:
    names = [str(row["attempt"]) for row in rows]
    table = [
        [
            row["attempt"],
            _percent(row["machine"]),
            f"{_percent(row['low'])} to {_percent(row['high'])}",
            *(_percent(row[part]) for part in ("of_processes", "of_threads", "of_interrupts")),
            _percent(row["charged"]),
            row["verdict"],
        ]
        for row in rows
    ]
    cap = _percent(rows[0]["cap"])
    title = f"Attempts to use more than the cap, which is {cap} a process"
    heading = [
        *("attempt", "of all cores", "95 % interval", "in the processes"),
        *("in Linux' threads", "in interrupts", "charged", "verdict"),
    ]
    groups: dict[str, list[float | None]] = {
        "of all cores": [float(row["machine"]) * 100 for row in rows],
        "charged": [float(row["charged"]) * 100 for row in rows],
    }
    spans: list[tuple[float, float] | None] = [
        (float(row["low"]) * 100, float(row["high"]) * 100) for row in rows
    ]
    return [
        Bars(
            *("machine", title, heading, table, names, groups, "attempt"),
            "percent of all cores' CPU time",
            errors={"of all cores": spans},
        )
    ]


LABORATORIES = (
    Laboratory("governor", _governor_bars),
    Laboratory("governor_trace", _governor_bars),
    Laboratory("governor_displaced", _beside_bars),
    Laboratory("governor_busy", _beside_bars),
    Laboratory("governor_simulated", lambda rows: _governor_bars(_study(rows))),
    Laboratory("orthogonal", _orthogonal_bars),
    Laboratory("adaptive_coalescing", _coalescing_bars),
    Laboratory("escapes", _escapes_bars),
    Laboratory("generators", _generators_bars),
    Laboratory("translation_simulated", _translation_bars),
)
