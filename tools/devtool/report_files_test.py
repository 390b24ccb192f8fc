"""The tables of reads and of the model have the numbers of the newest records."""

from pathlib import Path
from typing import Any

import pytest

from devtool import report
from devtool.report_files import reads_bars
from devtool.report_fixture import write

ABOUT = {
    "time": "2026-11-22T00:00:00+00:00",
    "commit": "abc123",
    "machine": "two cores",
    "command": "k2k bench",
}


def cell(what: str, block_kib: float, threads: int, verdict: str, **more: Any) -> dict[str, Any]:
    return {
        **{"what": what, "block_kib": block_kib, "residency": 25, "extent_kib": 32},
        **{"threads": threads, "buffered_gbs": 1.5, "direct_gbs": 2.5, "ours_gbs": 3.0},
        **{"against": "direct", "ratio": 1.17, "low": 1.1, "high": 1.19, "target": 1.2},
        **{"verdict": verdict},
        **more,
    }


def test_reads_are_reported_with_their_missed_goals(tmp_path: Path) -> None:
    short = cell("random", 2, 4, "met", against="buffered", target=1.0)
    del short["direct_gbs"]
    missed = cell("mixed", 8192, 1, "met", out_of_reach=True)
    bounded = cell("sequential, 512 pages ahead", 64, 1, "met", target=0)
    write(tmp_path, "reads", ABOUT | {"rows": [short, missed, bounded]})
    text = report.blocks(tmp_path)["reads"]
    assert "| 1.1 to 1.19 | 1 | met |" in text
    assert "| 1.1 to 1.19 | 1.2 | missed |" in text
    assert "| 2 KiB | 25 % | 32 KiB | 4 | 1.5 | – | 3 | page cache | 1.17 | 1.1 to 1.19 |" in text
    assert (
        "| 64 KiB, 512 pages ahead | 25 % | 32 KiB | 1 | 1.5 | 2.5 | 3 | O_DIRECT | 1.17 "
        "| 1.1 to 1.19 | – | – |" in text
    )


def test_a_plot_of_reads_has_short_names_and_the_interval_of_the_ratio() -> None:
    low, high = 1.1 / 1.17 * 3, 1.19 / 1.17 * 3
    rows = [cell("mixed", 8192, 1, "met"), cell("random", 512, 1, "met")]
    mixed, random, *_ = reads_bars(rows)
    assert (mixed.names, random.names) == (["32K, 25%"], ["512K, 25%"])
    assert mixed.errors["router"] == [pytest.approx((low, high))]
    unmeasured = reads_bars([cell("mixed", 8192, 1, "met", ratio=0)])[0]
    assert unmeasured.errors["router"] == [None]


def test_a_wide_interval_about_the_target_is_not_met_whatever_the_record_says(
    tmp_path: Path,
) -> None:
    wide = {"ratio": 0.823, "low": 0.558, "high": 1.21, "target": 0.95}
    write(tmp_path, "reads", ABOUT | {"rows": [cell("sequential", 4, 1, "met", **wide)]})
    text = report.blocks(tmp_path)["reads"]
    assert "| 0.558 to 1.21 | 0.95 | cannot tell (74 rounds more) |" in text


def test_the_model_is_told_with_its_error(tmp_path: Path) -> None:
    error = {"mean_error_percent": 25.0, "median_error_percent": 16.0}
    row = {"requests": 5000, **error, "p95_error_percent": 75.0, "bias_percent": -10.0}
    rows = [{"requests_are": "all", **row}, {"requests_are": "at speed", **row}]
    write(tmp_path, "model", ABOUT | {"rows": rows})
    text = report.blocks(tmp_path)["model"]
    assert "| all | 5000 | 25 % | 16 % | 75 % | -10 % |" in text
