"""Goal: each thing that may be wrong with a page has its line, and a good page has none."""

import json
from html import escape
from typing import Any

import pytest

from devtool.browser import SCREENS, what_was_seen, wrong_with

PHONE = SCREENS[1]


def good() -> dict[str, Any]:
    chart = {"name": "a", "width": 820, "height": 400, "drawn": 3, "marks": 3}
    return {
        "width": PHONE.width,
        "wide": PHONE.width,
        "text": 16,
        "requests": 0,
        "tables": 2,
        "said": [],
        "charts": [{**chart, "text": 12.0, "outside": 0}],
    }


def test_a_good_page_has_no_problem() -> None:
    assert wrong_with(good(), PHONE, ["a"]) == []


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"width": 500}, "the window is 500 pixels wide instead of 390"),
        ({"wide": 820}, "the page is 820 pixels wide: a reader must push it sideways"),
        ({"text": 8}, "its text has 8 pixels"),
        ({"requests": 1}, "it asks for 1 other files"),
        ({"tables": 0}, "it has no table"),
        ({"said": ["x is not defined"]}, "console: x is not defined"),
        ({"charts": []}, "there is no chart 'a', but []"),
    ],
)
def test_each_fault_of_a_page_has_its_line(change: dict[str, Any], line: str) -> None:
    assert line in wrong_with({**good(), **change}, PHONE, ["a"])


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"drawn": 2}, "a: 2 of 3 marks are drawn"),
        ({"drawn": 0, "marks": 0}, "a: 0 of 0 marks are drawn"),
        ({"text": 5.7}, "a: its text has 5.7 pixels, too few to read"),
        ({"outside": 4}, "a: 4 marks or texts are cut off"),
    ],
)
def test_each_fault_of_a_chart_has_its_line(change: dict[str, Any], line: str) -> None:
    seen = good()
    seen["charts"][0].update(change)
    assert wrong_with(seen, PHONE, ["a"]) == [line]


def test_the_printed_document_has_what_was_seen() -> None:
    text = escape(json.dumps({"charts": [{"name": "a & b"}]}), quote=False)
    output = f'noise of the browser\n<html><pre id="k2k-seen">{text}</pre></html>'
    assert what_was_seen(output) == {"charts": [{"name": "a & b"}]}
    assert what_was_seen("<html></html>") is None
