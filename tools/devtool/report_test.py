"""The page says what the newest records say, and the committed one is up to date."""

import re
from pathlib import Path
from typing import Any

import pytest

from devtool import report
from devtool.console import Refused
from devtool.report_fixture import section, write

ABOUT = {
    "time": "2026-11-21T19:00:00+00:00",
    "commit": "abc123",
    "machine": "two cores",
    "command": "k2k bench ordering --json",
}


def figure(**medians: list[float]) -> dict[str, Any]:
    count = len(next(iter(medians.values())))
    return {
        "x": {"name": "permutations", "unit": "times", "values": [2**i for i in range(count)]},
        "y": {"name": "time", "unit": "us"},
        "runs": 5,
        "series": {
            name.replace("_", "-"): {"median": values, "mean": values, "sd": [0.0] * count}
            for name, values in medians.items()
        },
    }


ORDERING = ABOUT | {
    "figure": figure(
        strong_block=[10, 10], strong_non_block=[7, 10], weak_block=[8, 9], weak_non_block=[5, 9]
    )
}


def test_numbers_come_from_the_newest_record_and_name_its_commit(tmp_path: Path) -> None:
    write(tmp_path, "ordering", {"commit": "old"}, ORDERING)
    text = section(report.page(tmp_path), "Blocking and order: figure 3.8")
    assert "at 1 permutation non-blocking saves 30 %" in text
    assert "weak order 20 %, both together 50 %" in text
    assert "at 2 permutations 0 %, 10 % and 10 %" in text
    assert "commit abc123, two cores" in text
    assert "| 1 | 10 ± 0 | 7 ± 0 | 8 ± 0 | 5 ± 0 |" in text


def test_what_was_not_recorded_says_how_to(tmp_path: Path) -> None:
    text = section(report.page(tmp_path), "grep: figure 3.13 a")
    assert "`./dev bench --record grep`" in text


def test_a_record_without_its_figure_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "ordering", ABOUT)
    with pytest.raises(Refused, match=r"ordering\.jsonl, figure: no figure of k2k bench"):
        report.page(tmp_path)


def test_a_record_of_another_version_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "ordering", {"figure": ORDERING["figure"], "commit": "abc123"})
    with pytest.raises(Refused, match=r"ordering\.jsonl: the newest record has no 'machine'"):
        report.page(tmp_path)


def test_a_table_without_a_column_is_refused(tmp_path: Path) -> None:
    programs = [{"program": "OpenMP grep", "warm_ms": 1.0}]
    table = next(e.table for e in report.EXPERIMENTS if e.bench == "grep")
    experiment = next(e for e in report.EXPERIMENTS if e.bench == "grep")
    assert table is not None
    with pytest.raises(Refused, match=r"grep\.jsonl, programs: no warm_sd_ms"):
        report._rows(experiment, {"programs": programs}, table)


def test_the_page_of_the_tree_has_every_plot_it_shows() -> None:
    shown = re.findall(r"!\[.*?\]\((.+?)\)", report.PAGE.read_text())
    assert shown
    assert [name for name in shown if not (report.FOLDER / name).exists()] == []


def test_every_experiment_of_the_tree_is_recorded() -> None:
    assert "Not recorded yet" not in report.page()
