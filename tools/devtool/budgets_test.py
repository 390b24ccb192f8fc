"""A budget file has its documented meaning or gives one line with the remedy; floors are only
raised."""

from pathlib import Path

import pytest

from devtool import budgets, process
from devtool.budgets import Budgets, lowered_floors, parsed
from devtool.console import Refused
from devtool.git_fixture import git

ROW = """\
[pread]
says = "cached reads"
command = "k2k bench pread"
ratio = "device_gbps / direct_gbps"
better = "higher"
goal = 0.87
floor = 0.65
rounds = 3
set_by = { commit = "abc", machine = "two cores", date = "2026-11-23", figure = "0.73" }
"""


def with_floor(floor: float, more: str = "", better: str = "higher") -> Budgets:
    text = ROW.replace("floor = 0.65", f"floor = {floor}\n{more}")
    return parsed(text.replace('"higher"', f'"{better}"'), "f")


def test_a_row_is_read_as_it_stands() -> None:
    row = parsed(ROW, "f").rows["pread"]
    assert (row.goal, row.floor, row.rounds, row.better) == (0.87, 0.65, 3, "higher")
    assert row.set_by.figure == "0.73"


def test_the_file_of_the_tree_can_be_read_and_its_records_exist() -> None:
    for row in budgets.read().rows.values():
        assert not row.lowered or budgets._is_record(row.lowered)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("floor = 0.65", "flor = 0.65", r"f: \[pread\]: unknown key flor; did you mean floor\?"),
        ("floor = 0.65", "x = 0.65", r"f: \[pread\]: unknown key x; there are: says, command,"),
        ("floor = 0.65\n", "", r"f: \[pread\]: has no floor; add it"),
        ("floor = 0.65", 'floor = "0.65"', r"\[pread\]: floor is '0.65'; it must be a number"),
        ("floor = 0.65", "floor = true", r"\[pread\]: floor is True; it must be a number"),
        ("floor = 0.65", "floor = -1", r"\[pread\]: floor is -1; a ratio is above 0"),
        ("floor = 0.65", "floor = 0.9", r"the floor 0.9 is above the goal 0.87; raise the goal"),
        ('"higher"', '"more"', r'better is "more"; write "higher" or "lower"'),
        ("rounds = 3", "rounds = 1", r"rounds is 1; an interval needs 2 or more"),
        ('date = "2026-11-23", ', "", r"\[pread\]: set_by: has no date; add it"),
        ("[pread]", "[pread", r"f: no TOML: .*; mend that line"),
        ("[pread]\n", "pread = 1\n[x]\n", r"f: \[pread\]: is no table"),
        ("[pread]", "[removed]\npread = 1\n[pread]", r'\[removed\]: write `figure = "NNNN"`'),
    ],
)
def test_a_mistake_is_one_line_with_the_remedy(old: str, new: str, message: str) -> None:
    with pytest.raises(Refused, match=message) as refused:
        parsed(ROW.replace(old, new), "f")
    assert "\n" not in str(refused.value)


def no_record(_: str) -> bool:
    return False


def the_record(number: str) -> bool:
    return number == "0040"


def test_a_floor_may_be_raised_and_not_lowered() -> None:
    before = with_floor(0.65)
    assert lowered_floors(with_floor(0.7), before, "abc", no_record) == []
    assert lowered_floors(with_floor(0.65), before, "abc", no_record) == []
    (problem,) = lowered_floors(with_floor(0.6), before, "abc", no_record)
    assert problem.startswith("bench/budgets.toml: [pread]: the floor 0.6 is below the 0.65 of abc")
    assert 'lowered = "NNNN"' in problem


def test_of_a_figure_that_should_be_small_a_raised_number_is_a_lowered_floor() -> None:
    before = with_floor(2, better="lower")
    assert lowered_floors(with_floor(1.9, better="lower"), before, "abc", no_record) == []
    assert lowered_floors(with_floor(2.1, better="lower"), before, "abc", no_record)
    assert lowered_floors(with_floor(0.65), before, "abc", no_record)


def test_a_record_permits_it_once() -> None:
    lowered = with_floor(0.6, 'lowered = "0040"')
    assert lowered_floors(lowered, with_floor(0.65), "abc", the_record) == []
    assert lowered_floors(lowered, with_floor(0.65), "abc", no_record)
    assert lowered_floors(with_floor(0.5, 'lowered = "0040"'), lowered, "abc", the_record)


def test_a_figure_goes_only_with_a_record() -> None:
    before = with_floor(0.65)
    (problem,) = lowered_floors(Budgets({}, {}), before, "abc", the_record)
    assert "[pread] was there at abc" in problem
    assert lowered_floors(Budgets({}, {"pread": "0040"}), before, "abc", the_record) == []


def test_git_has_the_former_floor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def commit(text: str) -> None:
        (tmp_path / "bench/budgets.toml").write_text(text)
        git(tmp_path, "add", ".")
        git(tmp_path, "commit", "-qm", "one")

    monkeypatch.setattr(budgets, "run", lambda command: process.run(command, tmp_path))
    monkeypatch.setattr(budgets, "DECISIONS", tmp_path / "docs/decisions")
    (tmp_path / "bench").mkdir()
    (tmp_path / "docs/decisions").mkdir(parents=True)
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "commit", "-qm", "nothing yet", "--allow-empty")
    assert budgets.compared_with_history(parsed(ROW, "f")) == []
    commit(ROW)
    lower = ROW.replace("floor = 0.65", "floor = 0.6")
    # Before the commit, and after it.
    assert len(budgets.compared_with_history(parsed(lower, "f"))) == 1
    commit(lower)
    assert len(budgets.compared_with_history(parsed(lower, "f"))) == 1
    # A record permits it.
    told = lower + 'lowered = "0041"\n'
    (tmp_path / "docs/decisions/0041-why.md").write_text("")
    assert budgets.compared_with_history(parsed(told, "f")) == []
    # A branch is held against where it left main, however many commits ago.
    git(tmp_path, "checkout", "-qb", "branch", "HEAD~1")
    commit(lower)
    commit(lower + "\n")
    assert len(budgets.compared_with_history(parsed(lower, "f"))) == 1
