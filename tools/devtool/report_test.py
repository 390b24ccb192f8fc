"""The tables have the numbers of the newest records, and the sentences below name their commit."""

import re
from pathlib import Path
from typing import Any

import pytest

from devtool import report
from devtool.console import Refused
from devtool.marks import MARKED
from devtool.report_fixture import write

# Not recorded yet: they need a quiet machine (`./dev bench --record apps fault_scale`).
AWAITED: set[str] = set()

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
    text = report.blocks(tmp_path)["ordering"]
    assert "commit abc123, two cores" in text
    assert "| 1 | 10 ± 0 | 7 ± 0 | 8 ± 0 | 5 ± 0 |" in text


def test_a_missing_record_is_reported_with_its_command(tmp_path: Path) -> None:
    text = report.blocks(tmp_path)["grep"]
    assert "`./dev bench --record grep`" in text


def test_a_record_without_its_figure_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "ordering", ABOUT)
    with pytest.raises(Refused, match=r"ordering\.jsonl, figure: no figure of k2k bench"):
        report.blocks(tmp_path)


def test_a_record_of_another_version_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "ordering", {"figure": ORDERING["figure"], "commit": "abc123"})
    with pytest.raises(Refused, match=r"ordering\.jsonl: the newest record has no 'machine'"):
        report.blocks(tmp_path)


def test_a_table_without_a_column_is_refused(tmp_path: Path) -> None:
    programs = [{"program": "OpenMP grep", "warm_ms": 1.0}]
    table = next(e.table for e in report.EXPERIMENTS if e.bench == "grep")
    experiment = next(e for e in report.EXPERIMENTS if e.bench == "grep")
    assert table is not None
    with pytest.raises(Refused, match=r"grep\.jsonl, programs: no warm_sd_ms"):
        report._rows(experiment, {"programs": programs}, table)


def test_only_the_text_between_the_marks_is_renewed(tmp_path: Path) -> None:
    write(tmp_path, "ordering", ORDERING)
    names = list(report.blocks(tmp_path))
    page = tmp_path / "README.md"
    page.write_text("".join(f"before {n}\n<!-- {n} -->\nold\n<!-- /{n} -->\n" for n in names))
    text = report.page(tmp_path, page)
    assert "old" not in text
    assert re.findall(r"^before (\w+)$", text, re.MULTILINE) == names
    assert "| 1 | 10 ± 0 | 7 ± 0 | 8 ± 0 | 5 ± 0 |" in text
    page.write_text(text)
    assert report.page(tmp_path, page) == text, "renewing twice changes nothing"


def test_marks_that_are_missing_or_of_no_benchmark_are_named(tmp_path: Path) -> None:
    page = tmp_path / "README.md"
    page.write_text("<!-- nonsense -->\n<!-- /nonsense -->\n")
    with pytest.raises(Refused, match=r"the marks .* differ in .*'nonsense', 'ordering'"):
        report.page(tmp_path, page)


def test_a_record_of_another_machine_is_separated_from_the_part_it_stands_in(
    tmp_path: Path,
) -> None:
    first = ABOUT | {"machine": "AMD, 2 cores, Linux 6.1", "figure": ORDERING["figure"]}
    other = ABOUT | {
        "machine": "Intel, 2 cores, Linux 6.1",
        "figure": figure(zeros=[1, 2]),
        "latency_p50": figure(zeros=[1, 2]),
        "throughput": figure(zeros=[1, 2]),
        "split_zeros": figure(zeros=[1, 2]),
    }
    note = "**Measured on Intel, 2 cores; the first table of this part on AMD, 2 cores.**"
    page = tmp_path / "README.md"

    def text(between: str, faults: dict[str, Any]) -> str:
        write(tmp_path, "ordering", first)
        write(tmp_path, "faults", faults)
        names = ["ordering", "faults"]
        names += [name for name in report.blocks(tmp_path) if name not in names]
        marks = [f"<!-- {name} -->\n<!-- /{name} -->\n" for name in names]
        page.write_text("# one\n" + marks[0] + between + "".join(marks[1:]))
        return report.page(tmp_path, page)

    separated = text("", other)
    assert separated.index("<!-- faults -->") < separated.index(note)
    assert separated.count("Measured on") == 1
    assert note not in text("# another part\n", other)
    assert note not in text("", other | {"machine": "AMD, 2 cores, Linux 6.2"})


def test_every_table_of_the_tree_names_its_machine_and_commit() -> None:
    for match in MARKED.finditer(report.PAGE.read_text()):
        if match["name"] in AWAITED:
            continue
        *_, last = match[0].split("\n\n")[:-1]
        assert re.fullmatch(r"`k2k .*`, commit [0-9a-f]{12}, .*, \d+ cores, Linux .*, \S+", last)


def test_the_text_below_a_table_is_about_the_tables_commit() -> None:
    page = report.PAGE.read_text()
    remarks = re.findall(r"<!-- /(\w+) -->\n\n\*Here, commit (\w+):\*", page)
    assert dict(remarks) == {
        match["name"]: re.findall(r", commit (\w+),", match[0])[-1]
        for match in MARKED.finditer(page)
        if match["name"] not in AWAITED
    }, "read what is written below the table again, and name the new commit"


def test_the_page_of_the_tree_has_every_plot_it_shows() -> None:
    shown = re.findall(r"!\[.*?\]\((.+?)\)", report.PAGE.read_text())
    assert shown
    assert [name for name in shown if not (report.FOLDER / name).exists()] == []


def test_every_experiment_of_the_tree_is_recorded_or_awaited() -> None:
    blocks = report.blocks(report.RESULTS)
    absences = ("Not recorded yet", "Record again")
    missing = {name for name, block in blocks.items() if any(one in block for one in absences)}
    assert missing == AWAITED, "remove a benchmark from AWAITED once it is recorded"
