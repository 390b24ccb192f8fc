"""docs/results/interference.md: a whole study of `k2k lab interference`, as tables and plots.

Every number comes from the newest record of bench/results/interference.jsonl, of
interference_auto.jsonl, or of apu.jsonl, the simulation of the paper's machine. `./dev format`
renews the tables, `./dev plot` the plots; the sentences of the page are written by hand.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from devtool.console import Refused, say
from devtool.figures import Record, markdown_table, measured, recorded
from devtool.marks import renewed
from devtool.tree import ROOT, shown

BENCH = "interference"
AUTOMATIC = "interference_auto"
SIMULATED = "apu"
RESULTS = ROOT / "bench/results"
PAGE = ROOT / "docs/results/interference.md"
SOURCE = "ubench"  # The paper's microbenchmark, under every setting.
DEFAULT = "staged"  # The paper's path of a request.
# Of the table and the plot of all victims: settings, with their names there.
COMPARED = {
    DEFAULT: "staged (the paper's default)",
    "monolithic": "monolithic",
    "default+cap=5%": "budget, 5 %",
    "default+cap=1%": "budget, 1 %",
}
# Of figure 12: policies, with the settings that have them, of a cap or a permitted loss.
POLICIES = {
    "backoff (the paper's)": "staged+cap={}+governor=backoff",
    "budget": "default+cap={}",
    "displaced": "default+cap={}+governor=displaced",
    "auto": "default+loss={}",
}
CAPS = ("1%", "5%", "25%")


def page(results: Path = RESULTS, file: Path = PAGE) -> str:
    """The text of the page, its tables renewed. Errors: Refused, as of renewed(), and for a record
    that cannot be read."""
    return renewed(file, blocks(results))


def blocks(results: Path) -> dict[str, str]:
    """By mark: the tables. Errors: Refused, for a record that cannot be read."""
    texts: dict[str, str] = {}
    for bench, tables in BENCHES.items():
        texts |= _blocks_of(results, bench, tables)
    return texts


def _blocks_of(
    results: Path, bench: str, tables: Mapping[str, Callable[[Record], str]]
) -> dict[str, str]:
    found = recorded(results, bench)
    if found.record is None:
        return dict.fromkeys(tables, found.absence)
    try:
        return {name: table(found.record) for name, table in tables.items()}
    except (KeyError, TypeError, StopIteration) as error:
        raise Refused(f"{bench}.jsonl: the newest record has no {error}") from error


def draw(results: Path, folder: Path) -> None:
    """Draws the plots of the newest record, if there is one. Expects matplotlib."""
    from devtool import plots

    record = recorded(results, BENCH).record
    if record is None:
        return
    points = [
        plots.Point(one["setting"], _loss_spans(one["wall"]), _spans(one["rate_to_base"]))
        for one in _settings(record)
        if "front" in one and one["rate_to_base"] is not None
    ]
    title = "Figure 7: combinations of the mitigations, under the microbenchmark"
    labels = ("victims lose, %", "requests a second, of staged's")
    path = folder / "interference-pareto.svg"
    plots.draw_points(points, *labels, title, path)
    say(f"drew {shown(path)}")

    names = _victims(record)
    walls = {
        name: [_wall(record, victim, key) for victim in names] for key, name in COMPARED.items()
    }
    _draw_bars(folder, "victims", names, walls, "victim", "victims lose, %", "Loss of each victim")
    losses = {
        policy: [_loss_of_setting(record, words.format(cap)) for cap in CAPS]
        for policy, words in POLICIES.items()
    }
    label = "cap, or permitted loss"
    title = "Figure 12a: what victims lose under a governor"
    _draw_bars(folder, "governors-loss", CAPS, losses, label, "victims lose, %", title)
    rates = {
        policy: [_rate_of_setting(record, words.format(cap)) for cap in CAPS]
        for policy, words in POLICIES.items()
    }
    title = "Figure 12b: what a governor leaves to the accelerator"
    _draw_bars(folder, "governors-rate", CAPS, rates, label, "requests a second, of no cap", title)


def _draw_bars(
    folder: Path,
    key: str,
    names: Sequence[str],
    groups: Mapping[str, Sequence[tuple[float, float, float] | None]],
    x_label: str,
    y_label: str,
    title: str,
) -> None:
    from devtool import plots

    means = {name: [one and one[1] for one in some] for name, some in groups.items()}
    spans = {name: [one and (one[0], one[2]) for one in some] for name, some in groups.items()}
    path = folder / f"interference-{key}.svg"
    plots.draw_bars(names, means, x_label, y_label, title, path, False, spans)
    say(f"drew {shown(path)}")


# --- What a record has.


def _settings(record: Record, source: str = SOURCE) -> list[Record]:
    return [one for one in record["settings"] if one["source"] == source]


def _setting(record: Record, name: str) -> Record | None:
    return next((one for one in _settings(record) if one["setting"] == name), None)


def _compared(record: Record, kind: str, setting: str, source: str = SOURCE) -> dict[str, Record]:
    """The comparisons that have figures, by victim."""
    return {
        one["victim"]: one
        for one in record["comparisons"]
        if (one["comparison"], one["setting"], one["source"]) == (kind, setting, source)
        and one["problem"] is None
    }


def _victims(record: Record) -> list[str]:
    return list(_compared(record, "service", DEFAULT))


def _wall(record: Record, victim: str, setting: str) -> tuple[float, float, float] | None:
    return _wall_of(_compared(record, "service", setting).get(victim))


def _wall_of(compared: Record | None) -> tuple[float, float, float] | None:
    return None if compared is None else _loss_of_logarithm(compared["wall"])


def _loss_of_setting(record: Record, name: str) -> tuple[float, float, float] | None:
    one = _setting(record, name)
    return None if one is None else _loss_spans(one["wall"])


def _rate_of_setting(record: Record, name: str) -> tuple[float, float, float] | None:
    one = _setting(record, name)
    return None if one is None or one["rate_to_base"] is None else _spans(one["rate_to_base"])


def _spans(interval: Record) -> tuple[float, float, float]:
    return interval["low"], interval["mean"], interval["high"]


def _loss_spans(ratio: Record) -> tuple[float, float, float]:
    """A ratio of wall times as a loss in percent."""
    low, mean, high = _spans(ratio)
    return 100 * (low - 1), 100 * (mean - 1), 100 * (high - 1)


def _loss_of_logarithm(logarithm: Record) -> tuple[float, float, float]:
    low, mean, high = (100 * math.expm1(one) for one in _spans(logarithm))
    return low, mean, high


# --- Cells.


def _loss(spans: tuple[float, float, float] | None) -> str:
    if spans is None:
        return "–"
    low, mean, high = spans
    return f"{mean:+.1f} % [{low:+.1f}, {high:+.1f}]"


def _part(interval: Record) -> str:
    """A part of something, as a loss in percent."""
    low, mean, high = (100 * one for one in _spans(interval))
    return _loss((low, mean, high))


def _ratio(interval: Record | None) -> str:
    if interval is None:
        return "–"
    low, mean, high = _spans(interval)
    return f"{mean:.3g} [{low:.3g}, {high:.3g}]"


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"


def _table(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return markdown_table([list(heading), *map(list, rows)]) + "\n"


# --- The tables, by mark.


def _study(record: Record) -> str:
    equal, verdicts = record["a_a"], record["verdicts"]
    measured_ones = [one for one in record["comparisons"] if one["problem"] is None]
    discarded = sum(one["discarded"] for one in measured_ones)
    pairs = sum(one["pairs"] for one in measured_ones)
    ends = ", ".join(
        f"{sum(one['end'] == end for one in measured_ones)} {end}"
        for end in ("precise", "exhausted", "cut")
    )
    rows = [
        ["comparisons; how they ended", f"{len(measured_ones)}; {ends}"],
        ["pairs; discarded, because the hypervisor took time", f"{pairs:,}; {discarded:,}"],
        [
            "intervals of equal arms; those that exclude 0; as many may by chance",
            f"{equal['intervals']}; {equal['beside_0']}; {equal['by_chance']}",
        ],
        ["the method is sound on this machine", "yes" if equal["sound"] else "**no**"],
        [
            "claims of the paper",
            ", ".join(f"{n} {name}" for name, n in verdicts.items() if n),
        ],
    ]
    return _table(["", ""], rows) + "\n" + measured(BENCH, record)


def _claims(record: Record) -> str:
    rows = []
    for one in record["claims"]:
        ours = one["ours"]
        interval = "–" if ours is None else _ratio({**ours, "mean": ours["ratio"]})
        target = "–" if one["target"] is None else f"{one['target']:g}"
        rows.append(
            [
                *(one["says"], one["section"], one["paper"], target, interval),
                *(f"**{one['verdict']}**", one["note"] or "–"),
            ]
        )
    heading = ["claim", "section", "the paper", "as a ratio", "ours", "verdict", "of what"]
    return _table(heading, rows)


def _settings_table(record: Record) -> str:
    rows = []
    for one in _settings(record):
        if "devices" in one:
            continue
        remark = "Pareto optimal" if one.get("front") else ""
        if one.get("dominates"):
            remark = f"dominates {one['base']}"
        cells = [_loss(_loss_spans(one["wall"])), _ratio(one["rate_to_base"]), one["base"]]
        shares = [_percent(one["share"]), _percent(one["governor_share"])]
        rows.append([f"`{one['setting']}`", *cells, *shares, remark or "–"])
    heading = ["setting", "victims lose", "requests a second, of the base's", "base"]
    return _table([*heading, "service threads", "governor's own thread", ""], rows)


def _victims_table(record: Record) -> str:
    rows = [
        [victim, *(_loss(_wall(record, victim, setting)) for setting in COMPARED)]
        for victim in _victims(record)
    ]
    return _table(["victim", *COMPARED.values()], rows)


def _programs_table(record: Record) -> str:
    """Of the paper's GPU programs: sources with figures under the default, but the first."""
    sources = list(dict.fromkeys(one["source"] for one in record["settings"]))
    programs = [one for one in sources if one != SOURCE]
    by_source = {one: _compared(record, "service", DEFAULT, one) for one in programs}
    names = list(dict.fromkeys(name for some in by_source.values() for name in some))
    rows = []
    for victim in names:
        found = [by_source[source].get(victim) for source in programs]
        cells = [_loss(_wall_of(one)) for one in found]
        rows.append([victim, *cells])
    total = [
        _loss(_loss_spans(one["wall"])) + f", {_percent(one['share'])} of the cores"
        for source in programs
        for one in _settings(record, source)
    ]
    return _table(["victim", *programs], [*rows, ["all", *total]])


def _parts_table(record: Record) -> str:
    rows = []
    for victim, one in _compared(record, "service", DEFAULT).items():
        parts = one["decomposed"]
        fits = "yes" if parts["sum_in_interval"] else "no"
        sums = f"{100 * parts['sum']:+.1f} %"
        cells = [_part(parts["stolen"]), _part(parts["polluted"]), sums, _part(parts["loss"]), fits]
        rows.append([victim, *cells])
    heading = ["victim", "stolen time", "pollution", "sum", "loss", "the sum lies in the interval"]
    return _table(heading, rows)


def _arms_table(record: Record) -> str:
    arms = {
        "presence": "a runtime without requests",
        "no_op": "as many no-ops",
        "service": "the service",
    }
    found = {arm: _compared(record, arm, DEFAULT) for arm in arms}
    reverse = _compared(record, "reverse", DEFAULT)
    rows = []
    for victim in _victims(record):
        cells = [found[arm].get(victim) for arm in arms]
        rate = reverse.get(victim)
        rows.append(
            [
                victim,
                *(_loss(_wall_of(one)) for one in cells),
                "–" if rate is None else _ratio(_ratio_of(rate["rate_ratio"])),
            ]
        )
    heading = ["victim", *arms.values(), "requests a second beside it, of those of idle cores"]
    return _table(heading, rows)


def _ratio_of(logarithm: Record) -> Record:
    return {key: math.exp(logarithm[key]) for key in ("low", "mean", "high")}


def _devices_table(record: Record) -> str:
    rows = [
        [
            *(str(one["devices"]), f"{100 * one['limit']:g} %", _ratio(one["of_limit"])),
            *("yes" if one["kept"] else "**no**", _loss(_loss_spans(one["wall"]))),
        ]
        for one in _settings(record)
        if "devices" in one
    ]
    heading = ["devices", "limit", "share of their service threads, of the limit"]
    return _table([*heading, "at most 1.1", "victims lose"], rows)


def _auto_table(record: Record) -> str:
    rows = []
    for one in record["auto"]:
        counts = (one["kept"], one["exceeded"], one["needless"])
        point = _setting(record, one["setting"])
        lost = "–" if point is None else _loss(_loss_spans(point["wall"]))
        rate = "–" if point is None else _ratio(point["rate_to_base"])
        verdict = f"**{one['verdict']}**"
        cells = [lost, rate, *map(str, counts), str(one["of"]), verdict]
        rows.append([f"{100 * one['loss_max']:g} %", *cells])
    heading = ["permitted loss", "victims lose", "requests a second, of no cap", "kept", "exceeded"]
    table = _table([*heading, "needless", "victims", "8 of 10 keep it"], rows)
    return table + "\n" + measured(AUTOMATIC, record)


def _auto_victims_table(record: Record) -> str:
    by_victim: dict[str, list[str]] = {}
    for point in record["auto"]:
        for one in point["victims"]:
            word = "kept" if one["kept"] else "exceeded" if one["exceeded"] else "cannot tell"
            needless = ", needless" if one["needless"] else ""
            cell = f"{_part(one['loss'])}, {word}{needless}"
            by_victim.setdefault(one["victim"], []).append(cell)
    rows = [[victim, *cells] for victim, cells in by_victim.items()]
    permitted = (f"{100 * point['loss_max']:g} % permitted" for point in record["auto"])
    return _table(["victim", *permitted], rows)


def _tails_table(record: Record) -> str:
    rows = [
        [
            *(one["victim"], f"{one['comparison']} of {one['source']}, `{one['setting']}`"),
            *(_loss(_loss_of_logarithm(one[key])) for key in ("tail", "wall")),
        ]
        for one in record["comparisons"]
        if one["problem"] is None and "tail" in one and one["comparison"] != "a_a"
    ]
    return _table(["victim", "comparison", "99th percentile of latency", "wall time"], rows)


BLOCKS: dict[str, Callable[[Record], str]] = {
    "study": _study,
    "claims": _claims,
    "settings": _settings_table,
    "victims": _victims_table,
    "programs": _programs_table,
    "parts": _parts_table,
    "arms": _arms_table,
    "devices": _devices_table,
    "tails": _tails_table,
}
AUTOMATIC_BLOCKS: dict[str, Callable[[Record], str]] = {
    "automatic": _auto_table,
    "automatic_victims": _auto_victims_table,
}


# --- The paper's machine, simulated.


def _apu_statements(record: Record) -> str:
    rows = [
        [
            *(one["says"], one["section"], f"{one['paper']:g}"),
            f"{one['ours']:.2f} [{one['low']:.2f}, {one['high']:.2f}]",
            f"**{one['verdict']}**",
        ]
        for one in record["statements"]
    ]
    heading = ["statement", "section", "the paper", "simulated, over what is assumed", "verdict"]
    return _table(heading, rows)


def _apu_settings(record: Record) -> str:
    rows = [
        [
            *(f"`{one['setting']}`", _percent(one["asleep"]), _percent(one["asleep_in_a_run"])),
            *(f"{one['faults_per_ms']:.0f}", f"{one['latency_us']:.0f} µs"),
            *(f"{one['interrupts']:.2f}", f"{one['between_cores']:.2f}"),
            *(f"{one['host_us']:.2f} µs", _percent(one["share"])),
        ]
        for one in record["rows"]
    ]
    heading = ["setting", "asleep while faults come", "asleep in a run", "faults a ms", "latency"]
    more = ["interrupts a fault", "wake-ups of another core", "CPU time a fault", "of all cores"]
    return _table([*heading, *more], rows) + "\n" + measured(SIMULATED, record)


SIMULATED_BLOCKS: dict[str, Callable[[Record], str]] = {
    "apu_statements": _apu_statements,
    "apu_settings": _apu_settings,
}
# By the benchmark whose record has the tables.
BENCHES: dict[str, Mapping[str, Callable[[Record], str]]] = {
    BENCH: BLOCKS,
    AUTOMATIC: AUTOMATIC_BLOCKS,
    SIMULATED: SIMULATED_BLOCKS,
}
