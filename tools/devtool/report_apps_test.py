"""The tables of the thesis' applications have the numbers and verdicts of the newest records."""

from pathlib import Path
from typing import Any

import pytest

from devtool import report
from devtool.console import Refused
from devtool.report_apps import applications_bars, explained, judged, ratio_rows
from devtool.report_fixture import write

ABOUT = {
    "time": "2026-12-01T00:00:00+00:00",
    "commit": "abc123",
    "machine": "two cores",
    "command": "k2k bench",
}


def ratio(seen: float, low: float, high: float, **more: Any) -> dict[str, Any]:
    return {"seen": seen, "low": low, "high": high, "rounds": 20, **more}


def program(name: str, **more: Any) -> dict[str, Any]:
    times = {"device_ms": 12.5, "device_sd_ms": 1.0, "direct_ms": 11.0, "direct_sd_ms": 0.5}
    return {"program": name, **times, "demand_pages": 0, "goal": name, "at_most": 1.15, **more}


def test_a_goal_is_judged_by_the_rule_of_today_and_a_ratio_is_not(tmp_path: Path) -> None:
    goal = ratio(1.27, 1.19, 1.36, goal="threads / kernel", at_most=1.15, verdict="met")
    assert str(judged(goal)) == "missed"
    assert judged(ratio(1.1, 1, 1.2, ratio="one / other")) is None
    rows = ratio_rows([goal, ratio(1.1, 1, 1.2, ratio="one / other")])
    assert rows[1] == ["threads / kernel", "1.27 [1.19, 1.36]", "≤ 1.15", "missed"]
    assert rows[2] == ["one / other", "1.1 [1, 1.2]", "–", "–"]
    assert ratio_rows([ratio(2, 1.5, 3, goal="kernel / relaunch", at_least=1.3)])[1][2:] == [
        "≥ 1.3",
        "met",
    ]


WITHOUT = {"pinned": 1.02, "pinned_low": 1.01, "pinned_high": 1.04}
SHARE = {"share": 0.985, "share_low": 0.97, "share_high": 1.0}
PAGES = {"demand_pages": 1234, "page_us": 2.5, "direct_page_us": 0.3}


def test_programs_beside_libc_are_told_with_target_and_verdict(tmp_path: Path) -> None:
    rows = [
        program("bpt, pinned", **ratio(1.02, 1.01, 1.04), pinned=None, share=None),
        program("bpt, demand", **ratio(4, 3, 5), **WITHOUT, **SHARE, **PAGES),
    ]
    write(tmp_path, "applications", ABOUT | {"rounds": 20, "rows": rows})
    text = report.blocks(tmp_path)["applications"]
    assert "| bpt, pinned | 12.5 | 11 | 1.02 [1.01, 1.04] | – | – | ≤ 1.15 | met |" in text
    demand = "| bpt, demand | 12.5 | 11 | 4 [3, 5] | 1.02 [1.01, 1.04] | 98.5 [97, 100] | ≤ 1.15 "
    assert f"{demand}| explained |" in text
    assert "| bpt, demand | 1,234 | 2.5 | 0.3 |" in text
    bars = applications_bars(rows)
    assert bars[0].errors["device / direct"] == [(1.01, 1.04), (3, 5)]
    assert bars[0].groups["without faults"] == [None, 1.02]
    assert bars[0].errors["without faults"] == [None, (1.01, 1.04)]
    assert bars[1].groups == {"by a request": [2.5], "by Linux": [0.3]}


def test_faults_explain_only_what_meets_its_goal_without_them() -> None:
    missed = program("bpt, demand", **ratio(4, 3, 5), **WITHOUT)
    assert explained(missed) == "explained"
    assert explained(missed | {"pinned_high": 1.2}) == "missed"
    assert explained(missed | {"low": 1, "seen": 1.2}) == "explained"
    assert explained(missed | {"low": 1, "seen": 1.05, "high": 1.1}) == "met"
    assert explained(missed | {"pinned": None}) == "missed"
    assert explained(program("bpt, pinned", **ratio(4, 3, 5))) == "missed", "an older record"


def test_programs_without_pages_on_demand_have_one_table(tmp_path: Path) -> None:
    rows = [program("wordcount", **ratio(1.02, 1.01, 1.04))]
    write(tmp_path, "applications", ABOUT | {"rounds": 20, "rows": rows})
    text = report.blocks(tmp_path)["applications"]
    assert "What a page on demand adds" not in text
    assert list(applications_bars(rows)[0].groups) == ["device / direct"]


def test_wordcount_has_its_ways_and_its_goals(tmp_path: Path) -> None:
    way = {"by": "kernel", "warm_ms": 40.0, "warm_sd_ms": 2.0, "cold_ms": 300.0, "cold_sd_ms": 9.0}
    goals = [ratio(3, 2, 4, goal="relaunch / kernel, warm", at_least=1)]
    write(tmp_path, "wordcount", ABOUT | {"runs": 30, "ways": [way], "goals": goals})
    text = report.blocks(tmp_path)["wordcount"]
    assert "| kernel | 40 ± 2 | 300 ± 9 |" in text
    assert "| relaunch / kernel, warm | 3 [2, 4] | ≥ 1 | met |" in text


def test_memcacheds_steps_are_told_and_an_older_record_has_none(tmp_path: Path) -> None:
    server = {"server": "kernel", "requests_per_s": 75_400.0, "sd": 9_920.0}
    server |= {"p50_us": 50.0, "p50_sd": 10.0, "p99_us": 116.0, "p99_sd": 20.0}
    older = ABOUT | {"runs": 20, "servers": [server], "goals": []}
    write(tmp_path, "memcached", older)
    text = report.blocks(tmp_path)["memcached"]
    assert "| kernel | 75,400 ± 9,900 | 50 ± 10 | 116 ± 20 |" in text
    assert "a step at a time" not in text
    chain = [ratio(1.1, 1, 1.2, ratio="direct / kernel: calls by K2K")]
    write(tmp_path, "memcached", older | {"chain": chain})
    assert (
        "| direct / kernel: calls by K2K | 1.1 [1, 1.2] | – | – |"
        in (report.blocks(tmp_path)["memcached"])
    )


def demand_record() -> dict[str, Any]:
    row = {"program": "BPT", **ratio(0.2, 0.1, 0.3), "ratio": "demand / pinned"}
    for mode in ("demand", "pinned"):
        row |= {f"{mode}_ms": 10.0, f"{mode}_sd_ms": 1.0, f"{mode}_mib": 5.0}
        row |= {f"{mode}_cache_mib": 7.0}
        for part in ("device", "host"):
            row |= {f"{mode}_{part}": 0.5, f"{mode}_{part}_sd": 0.1}
    places = {"name": "time", "unit": "ms", "values": [0.0, 8.33, 1000.0]}
    series = {"median": [0.0, 1.0, 2.0], "mean": [0.0, 1.0, 2.0], "sd": [0.0, 0.1, 0.1]}
    curve = {"x": places, "y": {"name": "memory", "unit": "MiB"}, "runs": 7}
    curve["series"] = {"demand, process": series}
    figures = {f"memory_{name}": curve for name in ("bpt", "xsbench", "graph500", "comd")}
    return ABOUT | {"runs": 7, "programs": [row]} | figures


def test_memory_over_time_and_the_parts_of_the_time_are_told(tmp_path: Path) -> None:
    write(tmp_path, "demand", demand_record())
    text = report.blocks(tmp_path)["demand"]
    assert "| 8.33 | 1 ± 0.1 |" in text
    assert "| 1,000 | 2 ± 0.1 |" in text
    assert "| BPT | 10 ± 1 | 10 ± 1 | 0.5 ± 0.1 |" in text
    assert "| BPT | 0.2 [0.1, 0.3] | – | – |" in text
    assert "![Figure 4.8: BPT, memory over time](demand-memory-bpt.svg)" in text


def test_ratios_that_are_none_are_refused(tmp_path: Path) -> None:
    record = demand_record()
    del record["programs"][0]["low"]
    write(tmp_path, "demand", record)
    with pytest.raises(Refused, match=r"demand\.jsonl, programs: no ratios"):
        report.blocks(tmp_path)
