"""The tables of k2k bench fault_scale have the numbers of the newest record."""

from pathlib import Path
from typing import Any

import pytest

from devtool import report
from devtool.console import Refused
from devtool.report_faults import fault_scale_bars, rows_of
from devtool.report_fixture import write

ABOUT = {
    "time": "2026-12-01T00:00:00+00:00",
    "commit": "abc123",
    "machine": "two cores",
    "command": "k2k bench fault_scale --json",
}


def cell(
    units: int, at_a_time: int, page_kib: int, mib_per_s: float, **more: Any
) -> dict[str, Any]:
    """A row of `cells`, whose parts are those of a crowded unit."""
    row: dict[str, Any] = {"units": units}
    row |= {"shares_cores": units > 1, "at_a_time": at_a_time, "page_kib": page_kib}
    row |= {"faults": 512_000, "requests": 512_000, "faults_per_ms": 291.0, "mib_per_s": mib_per_s}
    row |= {"latency_us": 211.0, "p50_us": 205.0, "p99_us": 1_450.0, "signal_us": 3.2}
    row |= {"initialise_us": 0.03, "before_us": 0.65, "handler_us": 1.5, "batch_us": -0.01}
    row |= {"after_us": 205.0, "passed": 62.5, "unit_us": 3.4, "queue_us": 212.0}
    return row | {"host_busy": 0.512} | more


def record() -> dict[str, Any]:
    growth: dict[str, Any] = {
        "units": 1,
        "page_kib": 4,
        "grown_us": 206.0,
        "signal": 0.01,
        "before": 0.02,
    }
    growth |= {"handler": 0.0, "batch": -0.005, "after": 0.975}
    cells = [
        cell(1, 1, 4, 700.0),
        cell(1, 64, 4, 1_140.0),
        cell(1, 64, 2048, 2_500.0, faults=1_000),
        cell(2, 1, 4, 900.0),
        cell(2, 64, 4, 1_200.0),
    ]
    together: dict[str, Any] = {"lanes": 64, "pages": 1_000, "touches": 64_000, "requests": 1_000}
    together |= {"requests_to_touches": 0.0156}
    return ABOUT | {"cores": 2, "cells": cells, "queueing": [growth], "lanes_together": together}


def test_rates_parts_growth_and_lanes_are_told(tmp_path: Path) -> None:
    write(tmp_path, "fault_scale", record())
    text = report.blocks(tmp_path)["fault_scale"]
    rate = "| 1, 64, 4 KiB | 512,000 | 291 | 1,140 | 211 | 205 | 1,450 | 212 | 0.51 |"
    assert rate in text
    assert "| 1, 64, 2 MiB | 1,000 | 291 | 2,500 |" in text
    assert "| 2†, 64, 4 KiB | 512,000 |" in text, "its units share cores"
    assert "| 1, 64, 4 KiB | 3.2 | 0.03 | 0.65 | 1.5 | -0.01 | 205 | 211 |" in text
    assert "| 1, 4 KiB | 206 | 1 % | 2 % | 0 % | -0.5 % | 97.5 % |" in text
    assert "| 64 | 1,000 | 64,000 | 1,000 | 1 |" in text
    assert "commit abc123, two cores" in text


def test_plots_have_the_units_side_by_side_and_lanes_have_none(tmp_path: Path) -> None:
    rates, parts, growth, together = fault_scale_bars(rows_of(record()))
    assert list(rates.names) == ["1", "2†"]
    assert rates.groups["4 KiB, many"] == [1_140.0, 1_200.0]
    assert rates.groups["2 MiB, many"] == [2_500.0, None]
    assert list(parts.names) == ["1, 64, 4 KiB", "2†, 64, 4 KiB"]
    assert parts.groups["after"] == [205.0, 205.0]
    assert growth.groups["after"] == [97.5]
    assert together.groups == {}
    write(tmp_path, "fault_scale", record())
    text = report.blocks(tmp_path)["fault_scale"]
    for key in ("rates", "parts", "growth"):
        assert f"(lab-fault-scale-{key}.svg)" in text
    assert "lab-fault-scale-together.svg" not in text


def test_a_record_without_a_table_or_a_column_is_refused(tmp_path: Path) -> None:
    for key in ("cells", "queueing", "lanes_together"):
        whole = record()
        del whole[key]
        write(tmp_path, "fault_scale", whole)
        with pytest.raises(Refused, match=rf"fault_scale\.jsonl: the newest record has no '{key}'"):
            report.blocks(tmp_path)
    cut = record()
    del cut["cells"][0]["queue_us"]
    write(tmp_path, "fault_scale", cut)
    with pytest.raises(Refused, match=r"fault_scale\.jsonl: the newest record has no 'queue_us'"):
        report.blocks(tmp_path)


def test_a_record_that_is_missing_names_its_command(tmp_path: Path) -> None:
    assert "`./dev bench --record fault_scale`" in report.blocks(tmp_path)["fault_scale"]


def faults_record(**more: Any) -> dict[str, Any]:
    places = {"name": "faults", "unit": "items", "values": [1]}
    series = {"zeros": {"median": [1.0], "mean": [1.0], "sd": [0.0]}}
    figure = {"x": places, "y": {"name": "latency", "unit": "us"}, "runs": 5, "series": series}
    return ABOUT | {"latency_p50": figure, "throughput": figure, "split_zeros": figure} | more


def test_discards_are_told_where_the_record_of_faults_has_them(tmp_path: Path) -> None:
    row: dict[str, Any] = {
        "cores": 1,
        "pages": 16,
        "discards": 4_000,
        "initialise_ns": 220.0,
        "unmap_ns": 4_500.0,
    }
    row |= {"remote_ns": 0.0, "finalise_ns": 10.0, "total_ns": 4_830.0, "sum_to_total": 0.979}
    row |= {"sum_low": 0.975, "sum_high": 0.983, "within_5_percent": "yes"}
    write(tmp_path, "faults", faults_record(discards=[row]))
    text = report.blocks(tmp_path)["faults"]
    assert "**Table 4.4: pages that are given back" in text
    line = (
        "| 1 core, 16 pages | 4000 | 220 | 4,500 | 0 | 10 | 4,830 | 0.979 | 0.975 | 0.983 | yes |"
    )
    assert line in text
    assert "(faults-discards.svg)" in text
    write(tmp_path, "faults", faults_record())
    assert "Table 4.4" not in report.blocks(tmp_path)["faults"], "an older record"


def test_a_logarithmic_axis_has_no_bar_of_no_time() -> None:
    assert report._bar(0.0, True) is None
    assert report._bar(-3.0, True) is None
    assert report._bar(0.0, False) == 0.0
    assert report._bar(None, True) is None
