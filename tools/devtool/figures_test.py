"""Records become figures, tables and a page, or an error with the mistake."""

from pathlib import Path
from typing import Any

import pytest

from devtool.console import Refused
from devtool.figures import Axis, Figure, broken_names, markdown_table, newest, two_digits

FIGURE: dict[str, Any] = {
    "x": {"name": "file size", "unit": "MiB", "values": [4, 16]},
    "y": {"name": "read time", "unit": "ms"},
    "runs": 3,
    "series": {
        "kernel": {"median": [2, 8], "mean": [2.5, 8], "sd": [0.5, 0]},
        "work-item": {"median": [4, 4], "mean": [4, 4], "sd": [0, 0.25]},
    },
}


def test_a_figure_is_read_as_it_was_written() -> None:
    figure = Figure.of(FIGURE)
    assert str(figure.x) == "file size, MiB"
    assert figure.places == [4.0, 16.0]
    assert figure.runs == 3
    assert figure.series["kernel"].sd == [0.5, 0.0]


def test_a_ratio_is_the_ratio_of_medians() -> None:
    assert Figure.of(FIGURE).ratio("work-item", "kernel", 0) == 2
    assert Figure.of(FIGURE).ratio("work-item", "kernel", 1) == 0.5


def test_a_figure_as_markdown_has_a_line_a_place() -> None:
    assert Figure.of(FIGURE).markdown().splitlines() == [
        "| file size, MiB | kernel | work-item |",
        "| --- | ---: | ---: |",
        "| 4 | 2 ± 0.5 | 4 ± 0 |",
        "| 16 | 8 ± 0 | 4 ± 0.25 |",
    ]


def test_a_mean_far_from_its_median_stands_beside_it() -> None:
    two_modes = {"median": [4.4, 8], "mean": [36.5, 8.1], "sd": [34.1, 1]}
    lines = Figure.of({**FIGURE, "series": {"reader": two_modes}}).markdown().splitlines()
    assert lines[2:] == ["| 4 | 4.4 ± 34 (mean 36.5) |", "| 16 | 8 ± 1 |"]


@pytest.mark.parametrize("broken", [None, 7, {}, {**FIGURE, "series": {"a": {"median": [1, 2]}}}])
def test_a_line_that_is_no_figure_is_refused(broken: Any) -> None:
    with pytest.raises(ValueError, match="no figure of k2k bench"):
        Figure.of(broken)


def test_a_series_must_have_a_value_for_each_place() -> None:
    short = {"median": [1], "mean": [1, 2], "sd": [0, 0]}
    with pytest.raises(ValueError, match="series kernel has 1 values for 2 places"):
        Figure.of({**FIGURE, "series": {"kernel": short}})


def test_a_markdown_table_aligns_numbers_to_the_right() -> None:
    assert markdown_table([["", "a"], ["x", "1"]]) == "|  | a |\n| --- | ---: |\n| x | 1 |"


def test_the_newest_record_is_the_last_line(tmp_path: Path) -> None:
    path = tmp_path / "idle.jsonl"
    assert newest(path) is None
    path.write_text('{"commit": "a"}\n{"commit": "b"}\n\n')
    assert newest(path) == {"commit": "b"}


@pytest.mark.parametrize(
    ("text", "message"),
    [("{}\n{oops\n", "idle.jsonl:2 is no JSON"), ("[1]\n", "idle.jsonl:1 is no object")],
)
def test_a_record_that_cannot_be_read_is_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "idle.jsonl"
    path.write_text(text)
    with pytest.raises(Refused, match=message):
        newest(path)


def test_names_of_bars_are_broken_where_they_would_touch() -> None:
    assert broken_names(["8 MiB, 32 KiB, 25 %"] * 9) == ["8 MiB\n32 KiB\n25 %"] * 9
    assert broken_names(["all, at the machine's speed", *"abcd"]) == [
        "all\nat the machine's\nspeed",
        *"abcd",
    ]
    assert broken_names(["monolithic"] * 20) is None


def test_deviations_have_two_digits_and_no_exponent() -> None:
    assert [two_digits(v) for v in (0.0, 0.0312, 4.14, 12.4, 166.0, 12345.0)] == [
        *("0", "0.031", "4.1", "12", "170", "12,000"),
    ]


def test_an_axis_shows_microseconds_by_their_sign() -> None:
    assert str(Axis("latency", "us")) == "latency, µs"
    assert str(Axis("latency", "ms")) == "latency, ms"
