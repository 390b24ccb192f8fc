"""PsyNeuLink's own examples are equal or refused, and those that the page has as equal are.

Only where PsyNeuLink 0.21 and its source package are (`./dev test --psylang-full`).
"""

from __future__ import annotations

import importlib.util
import re

import pytest

from psylang.pnl.examples_fixture import (
    PAGE,
    SOURCES,
    TRAINED,
    Compared,
    Example,
    Outcome,
    library,
    outcomes,
    sections,
    sources,
    statements_of,
    table,
)
from psylang.pnl.pnl_fixture import needs_psyneulink

COMPARED_LEAST = 30


@needs_psyneulink
def test_a_script_that_trains_is_not_begun_without_pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    (trained,) = TRAINED
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    # The file is not there: had it been begun, the reason would be another one.
    outcome = Compared().example(Example(trained, [], "/nowhere/trained.py"), {})
    assert outcome.compositions["–"].startswith("not run: `trained.py`: it trains an Autodiff")


@needs_psyneulink
@pytest.mark.slow
def test_the_examples_are_equal_or_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if not SOURCES.is_dir():
        pytest.skip("the source package is missing; `./dev test --psylang-full` unpacks it")
    monkeypatch.setenv("MPLBACKEND", "Agg")
    found = outcomes([*library(), *sources()])
    wrong = {one.name: one.compositions for one in found if one.kind == "wrong"}
    assert wrong == {}
    assert sum(one.kind in ("equal", "refused") for one in found) >= COMPARED_LEAST
    equal = {one.name for one in found if one.kind == "equal"}
    assert listed_as_equal() <= equal


def rows() -> list[tuple[str, str]]:
    """The examples of the page and what it says of each."""
    text = PAGE.read_text(encoding="utf-8").partition("| example | compositions |")[2]
    return re.findall(r"^\| ([^|-][^|]*) \| ([^|]*) \|$", text, re.MULTILINE)


def listed_as_equal() -> set[str]:
    return {name for name, said in rows() if re.fullmatch(r"\d+ equal", said)}


def test_the_counts_of_the_page_are_those_of_its_lines() -> None:
    said = [one for _, one in rows()]
    refused = sum("refused" in one for one in said)
    missing = sum(one.startswith("not run") for one in said)
    head = f"| examples ({len(said)}), by the worst of each | {len(listed_as_equal())} | "
    assert f"{head}{refused} | {missing} | 0 |" in PAGE.read_text(encoding="utf-8")
    assert len(said) - missing >= COMPARED_LEAST


def test_what_the_page_refuses_has_component_reason_and_nearest_form() -> None:
    parts = [part for _, one in rows() for part in re.split(r"(?:refused|not run): ", one)[1:]]
    assert len(parts) > 10
    for part in parts:
        for sentence in re.split(r"\. (?=`)", part.partition(". And ")[0].rstrip("; ")):
            assert re.fullmatch(r"`[^`]+`: \S+ \S.+; (nearest: )?\w[^;.]*\S.*", sentence), sentence


def test_sections_and_statements_of_a_page() -> None:
    first = "First\n=====\n    >>> a = (1,\n    ...      2)\n    (1, 2)\n    >>> b = a\n"
    page = f"intro\n\n{first}\nSecond\n------\ntext"
    parts = list(sections(page))
    assert [title for title, _ in parts] == ["", "First", "Second"]
    assert statements_of(parts[1][1]) == ["a = (1,\n     2)", "b = a"]


def test_the_table_counts_examples_by_their_worst_composition() -> None:
    found = [
        Outcome("a", {"x": "equal", "y": "equal"}),
        Outcome("b", {"x": "equal", "y": "refused: it | that"}),
        Outcome("c", {"x": "wrong: 1"}),
    ]
    lines = table(found).splitlines()
    assert lines[2] == "| examples (3), by the worst of each | 1 | 1 | 0 | 1 |"
    assert lines[3] == "| compositions of them (5) | 3 | 1 | 0 | 1 |"
    assert lines[7] == "| a | 2 equal |"
    assert lines[8] == "| b | 1 equal; refused: it / that |"
