"""The laboratories' part of the page has the numbers of the newest records."""

from pathlib import Path
from typing import Any

import pytest

from devtool import report, report_labs
from devtool.console import Refused
from devtool.report_fixture import write

ABOUT = {
    "time": "2026-11-22T00:00:00+00:00",
    "commit": "abc123",
    "machine": "two cores",
    "command": "k2k lab",
}


def governed(policy: str, cap: float, share: float, of_ideal: float | None) -> dict[str, Any]:
    return {"policy": policy, "load": "study", "cap": cap, "share": share, "of_ideal": of_ideal}


GOVERNED = [
    governed("none", 1, 0.5, None),
    governed("budget", 0.01, 0.0102, 0.8),
    governed("budget", 0.25, 0.25, 0.95),
    governed("backoff", 0.01, 0.05, 0.6),
    governed("backoff", 0.25, 0.5, 0.7),
]
GOVERNOR = ABOUT | {"schema": 2, "rows": GOVERNED}
COALESCING = ABOUT | {
    "rounds": 2,
    "rows": [
        {
            **{"shape": "dense", "none_us": 10.0, "best_us": 2.5, "adaptive_us": 2.6},
            **{"best_window_us": 80, "best_max": 16, "best_delay_us": 70, "adaptive_delay_us": 60},
            **{"ratio": 1.04, "low": 1.03, "high": 1.049, "verdict": "met"},
        },
        {
            **{"shape": "sparse", "none_us": 90.0, "best_us": 90.0, "adaptive_us": 99.0},
            **{"best_window_us": 0, "best_max": 64, "best_delay_us": 30, "adaptive_delay_us": 31},
            **{"ratio": 1.1, "low": 1.06, "high": 1.14, "verdict": "missed"},
        },
        {
            **{"shape": "bursts", "none_us": 20.0, "best_us": 9.0, "adaptive_us": 9.5},
            **{"best_window_us": 80, "best_max": 16, "best_delay_us": 70, "adaptive_delay_us": 60},
            **{"ratio": 1.04, "low": 0.98, "high": 1.1, "verdict": "not resolvable"},
        },
    ],
}


def test_the_governor_is_told_by_cap_and_policy(tmp_path: Path) -> None:
    write(tmp_path, "governor", GOVERNOR)
    text = report.blocks(tmp_path)["governor"]
    assert "| 1 % | 1.02 % | 5 % |" in text
    assert "| 25 % | 95 % | 70 % |" in text
    assert "commit abc123, two cores" in text


def beside(policy: str, cap: float, served: float, loss: float | None) -> dict[str, Any]:
    more = {"throughput": served, "cpu_loss": loss, "busy": 0 if loss is None else 1}
    return governed(policy, cap, cap, None) | more


def test_policies_that_look_at_other_programs_show_what_those_lost(tmp_path: Path) -> None:
    rows = [
        beside("none", 1, 50_000, 0.4),
        *(beside("budget", cap, 1000 * cap, 0.016) for cap in (0.01, 0.05)),
        *(beside("auto", cap, 900 * cap, 0.0158) for cap in (0.01, 0.05)),
    ]
    write(tmp_path, "governor_busy", ABOUT | {"rows": rows})
    text = report.blocks(tmp_path)["governor_busy"]
    assert "| cap, or permitted loss | budget | auto |" in text
    assert "| 5 % | 50 | 45 |" in text
    assert "**Loss of CPU programs that want every core**" in text
    assert "| 1 % | 1.6 % | 1.58 % |" in text


def test_a_loss_in_pairs_has_its_interval(tmp_path: Path) -> None:
    pairs = {"cpu_loss_low": -0.004, "cpu_loss_high": 0.0312, "cpu_loss_pairs": 16}
    rows = [
        beside("none", 1, 50_000, 0.4),
        beside("budget", 0.01, 10, 0.0136) | pairs,
        beside("auto", 0.01, 9, 0.0158),
    ]
    write(tmp_path, "governor_busy", ABOUT | {"rows": rows})
    assert "| 1 % | 1.36 % [-0.4, 3.12] | 1.58 % |" in report.blocks(tmp_path)["governor_busy"]


def test_generators_tell_pages_from_the_requests_for_them(tmp_path: Path) -> None:
    older = {"generator": "spmv", "faults": 11_964, "calls": 0, "elapsed_s": 1, "service_cpu_s": 1}
    newer = older | {"generator": "sssp", "pages": 913, "faults": 12_184}
    write(tmp_path, "generators", ABOUT | {"rows": [older, newer]})
    text = report.blocks(tmp_path)["generators"]
    assert "| spmv | – | 11,964 | 0 |" in text
    assert "| sssp | 913 | 12,184 | 0 |" in text


def test_without_cpu_programs_there_is_no_loss(tmp_path: Path) -> None:
    rows = [beside("budget", 0.01, 700, None), beside("displaced", 0.01, 27_000, None)]
    write(tmp_path, "governor_displaced", ABOUT | {"rows": rows})
    text = report.blocks(tmp_path)["governor_displaced"]
    assert "| 1 % | 700 | 27,000 |" in text
    assert "Loss" not in text


def test_the_ledgers_share_leaves_the_ticker_of_backoff_out(tmp_path: Path) -> None:
    rows = [row | {"ledger_share": row["share"] / 10} for row in GOVERNED]
    write(tmp_path, "governor", GOVERNOR | {"rows": rows})
    text = report.blocks(tmp_path)["governor"]
    assert "**The same by the server's ledger, the ticker of backoff left out**" in text
    assert "| 1 % | 0.102 % | 0.5 % |" in text


def test_a_record_of_an_older_schema_is_refused_with_the_command(tmp_path: Path) -> None:
    write(tmp_path, "governor", GOVERNOR | {"schema": 1})
    text = report.blocks(tmp_path)["governor"]
    assert "The newest record (commit abc123) has schema 1" in text
    assert "`./dev bench --record governor`" in text
    assert "|" not in text


def test_coalescing_says_each_verdict(tmp_path: Path) -> None:
    write(tmp_path, "adaptive_coalescing", COALESCING)
    text = report.blocks(tmp_path)["adaptive_coalescing"]
    assert "| 1.030 to 1.049 | met |" in text
    assert "| 1.060 to 1.140 | missed |" in text
    assert "| dense | 10 µs | 80 µs, 16 | 2.5 µs |" in text
    assert "| sparse | 90 µs | none | 90 µs |" in text
    assert "| 0.980 to 1.100 | cannot tell (51 rounds more) |" in text
    assert "not resolvable" not in text


def test_simulated_rows_are_the_rows_of_the_study(tmp_path: Path) -> None:
    other = governed("budget", 0.01, 0.9, 9.0) | {"load": "one core"}
    rows = [other, *GOVERNED]
    write(tmp_path, "governor_simulated", GOVERNOR | {"schema": 1, "rows": rows})
    text = report.blocks(tmp_path)["governor_simulated"]
    assert "| 1 % | 1.02 % | 5 % |" in text
    assert "90 %" not in text


def test_a_record_without_the_plotted_rows_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "orthogonal", ABOUT | {"rows": [{"steering": "spread"}]})
    with pytest.raises(Refused, match=r"orthogonal\.jsonl: the newest record has no 'coalescing'"):
        report.blocks(tmp_path)
    write(tmp_path, "orthogonal", ABOUT)
    with pytest.raises(Refused, match=r"orthogonal\.jsonl: the newest record has no 'rows'"):
        report.blocks(tmp_path)


def test_a_missing_record_is_reported_with_its_command(tmp_path: Path) -> None:
    for name, text in report_labs.blocks(tmp_path, report_labs.LABORATORIES).items():
        assert f"`./dev bench --record {name}`" in text


TRANSLATION: dict[str, Any] = ABOUT | {
    "rows": [
        {"table": "programs", "program": "bpt", "keys": "sorted", "pages": "4 KiB", "prefetch": 8}
        | {"misses_per_1000": 1.5},
        {"table": "statements", "section": "4.6", "says": "The parts sum", "thesis": "4,409 ns"}
        | {"ours": {"low": 4508.0, "mean": 4508.0, "high": 4508.0}, "source": "arithmetic"}
        | {"verdict": "not reproduced"},
        {"table": "statements", "section": "4.4.3", "says": "25 % longer", "thesis": "1.25"}
        | {"ours": {"low": 1.1, "mean": 1.2, "high": 1.3}, "source": "simulated"}
        | {"verdict": "reproduced"},
        {"table": "statements", "section": "4.5", "says": "Latency", "thesis": "-"}
        | {"ours": None, "source": "measured", "verdict": "not measurable here"},
    ],
}


def test_translation_shows_verdicts_and_names_what_is_simulated(tmp_path: Path) -> None:
    write(tmp_path, "translation_simulated", TRANSLATION)
    text = report.blocks(tmp_path)["translation_simulated"]
    assert "| 4.6 | The parts sum | 4,409 ns | 4,508 | arithmetic | not reproduced |" in text
    assert "| 1.25 | 1.2 [1.1, 1.3] | simulated | reproduced |" in text
    assert "| - | – | measured | not measurable here |" in text
    assert "**Simulated: TLB misses a thousand instructions of the thesis' GPU**" in text
    assert "![The thesis' statements](lab-translation-simulated-verdicts.svg)" in text


ESCAPE = {
    **{"attempt": "direct reads", "cap": 0.05, "machine": 0.0655, "low": 0.064, "high": 0.067},
    **{"of_processes": 0.05, "of_threads": 0.0055, "of_interrupts": 0.01, "charged": 0.0494},
    "verdict": "escaped",
}


def test_attempts_against_a_cap_show_what_the_machine_did_and_where(tmp_path: Path) -> None:
    rows = [ESCAPE, ESCAPE | {"attempt": "fork", "verdict": "refused"}]
    write(tmp_path, "escapes", ABOUT | {"schema": 2, "rows": rows})
    text = report.blocks(tmp_path)["escapes"]
    assert "**Attempts to use more than the cap, which is 5 % a process**" in text
    assert (
        "| direct reads | 6.55 % | 6.4 % to 6.7 % | 5 % | 0.55 % | 1 % | 4.94 % | escaped |" in text
    )
    assert "| fork |" in text


def test_attempts_of_one_run_without_an_interval_are_refused(tmp_path: Path) -> None:
    write(tmp_path, "escapes", ABOUT | {"schema": 1, "rows": [ESCAPE]})
    assert "Record again: `./dev bench --record escapes`" in report.blocks(tmp_path)["escapes"]
