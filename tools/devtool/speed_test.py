"""A figure that is twice below its floor fails, a figure that was disturbed once does not."""

import os
import random
from pathlib import Path
from typing import Any

import pytest

from devtool import budgets, speed, speed_measures
from devtool.budgets import Budget
from devtool.budgets_test import ROW
from devtool.checks import STEPS
from devtool.console import Refused
from devtool.speed import failure, measure_all, note, table, value
from devtool.speed_measures import Program, grep_command, timed_ms

# The output of `measure small_files` with the router at 9c83b11, and with the router off.
RECORDED_SLOW = [{"on_ms": on, "off_ms": off} for on, off in ((421, 98), (415, 101), (430, 99))]
RECORDED_FAST = [{"on_ms": on, "off_ms": off} for on, off in ((99, 98), (101, 101), (98, 99))]
SMALL = ROW.replace("device_gbps / direct_gbps", "off_ms / on_ms").replace("0.65", "0.85")


def row(text: str = ROW) -> Budget:
    return budgets.parsed(text, "f").rows["pread"]


def of(*rounds: Any) -> tuple[list[str], Any]:
    """Records the commands, and answers them, one round after the other."""
    asked: list[str] = []
    left = list(rounds)

    def measure(command: str) -> Any:
        asked.append(command)
        return left.pop(0)

    return asked, measure


def ratios(*values: float) -> list[dict[str, float]]:
    return [{"device_gbps": value * 10, "direct_gbps": 10} for value in values]


def test_it_is_a_step_of_every_check() -> None:
    (step,) = (step for step in STEPS if step.name == "speed")
    assert step.always


def test_the_regression_that_no_check_saw_fails_and_its_mend_passes() -> None:
    small = row(SMALL.replace("goal = 0.87", "goal = 0.97"))
    _, measure = of(*RECORDED_SLOW * 4)
    (found,), _ = measure_all([small], measure)
    assert not found.holds
    assert found.again
    assert "is below the floor 0.85, twice" in failure(found)
    assert "./dev bench --against abc" in failure(found)
    _, measure = of(*RECORDED_FAST)
    (found,), _ = measure_all([small], measure)
    assert found.holds


def test_a_figure_that_holds_is_measured_once() -> None:
    asked, measure = of(*ratios(0.7, 0.72, 0.71))
    (found,), skipped = measure_all([row()], measure)
    assert asked == ["k2k bench pread"] * 3
    assert (found.holds, found.again, skipped) == (True, False, [])
    assert found.judgement.verdict == "missed"  # Its goal; which fails nothing.


def test_a_miss_is_measured_again_longer_and_then_counts() -> None:
    asked, measure = of(*ratios(0.5, 0.5, 0.7), *ratios(*[0.7] * 9))
    (found,), _ = measure_all([row()], measure)
    assert len(asked) == 12
    assert (found.holds, found.again) == (True, True)
    _, measure = of(*ratios(*[0.6] * 12))
    (found,), _ = measure_all([row()], measure)
    assert not found.holds


def test_one_burst_of_a_neighbour_moves_no_median() -> None:
    _, measure = of(*ratios(0.7, 0.3, 0.72))
    (found,), _ = measure_all([row()], measure)
    assert (found.holds, found.again) == (True, False)


def test_rows_of_one_command_share_its_runs() -> None:
    rows = [row(), row(ROW.replace("rounds = 3", "rounds = 5"))]
    asked, measure = of(*ratios(*[0.7] * 5))
    found, _ = measure_all(rows, measure)
    assert len(asked) == 5
    assert [one.seen.rounds for one in found] == [5, 5]


def test_a_figure_that_a_machine_lacks_is_told_and_fails_nothing() -> None:
    _, measure = of({"other": 1}, {"other": 1}, {"other": 1})
    found, skipped = measure_all([row()], measure)
    assert found == []
    assert skipped == [
        "speed: pread is not measured: k2k bench pread has no device_gbps / direct_gbps"
    ]
    assert "1 not measured" in note(found, skipped, 1)


def test_a_table_has_goal_floor_and_verdict() -> None:
    _, measure = of(*ratios(*[0.6] * 12))
    found, _ = measure_all([row()], measure)
    line = table(found).splitlines()[1]
    assert line.split() == [
        *("pread", "0.6", "0.6", "to", "0.6", "≥", "0.87", "missed", "≥", "0.65"),
        *("FAILS,", "measured", "again"),
    ]
    assert note(found, [], 61).startswith("0 of 1 goals met; not, or not for sure: pread")


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("a / b.c", 2.0),
        ("rows.1.x", 7.0),
        ("a", 6.0),
        ("a / 1024", 6 / 1024),
        ("a / b.c * rows.1.x", 14.0),
    ],
)
def test_a_ratio_is_read_from_the_output_of_a_command(expression: str, expected: float) -> None:
    assert value(expression, {"a": 6, "b": {"c": 3}, "rows": [{}, {"x": 7}]}) == expected


@pytest.mark.parametrize("expression", ["a /", "a + a", "a / (a)", ""])
def test_output_without_a_ratio_is_refused(expression: str) -> None:
    _, measure = of(*[{"a": 1}] * 3)
    with pytest.raises(Refused, match=r"bench/budgets.toml: \[pread\]: ratio: "):
        measure_all([row(ROW.replace("device_gbps / direct_gbps", expression))], measure)


@pytest.mark.parametrize("expression", ["b", "rows.2", "rows.x", "a.b", "text"])
def test_a_key_that_is_absent_is_a_missing_key(expression: str) -> None:
    with pytest.raises(KeyError):
        value(expression, {"a": 6, "rows": [1, 2], "text": "1"})


def test_an_unknown_command_is_refused() -> None:
    machine = speed.Machine()
    with pytest.raises(Refused, match="begins with k2k, psylang or measure"):
        machine.run("rm -r")
    with pytest.raises(Refused, match="no measure nothing; there are: grep, small_files"):
        machine.run("measure nothing")


def test_a_benchmark_that_misses_a_goal_is_measured(tmp_path: Path) -> None:
    program = tmp_path / "k2k"
    program.write_text("#!/bin/sh\necho '{\"ratio\": 0.7}'\nexit 1\n")
    program.chmod(0o755)
    assert speed.Machine()._json("k2k bench pread", [program]) == {"ratio": 0.7}
    program.write_text("#!/bin/sh\necho no such disk >&2\nexit 1\n")
    with pytest.raises(Refused, match="speed: k2k bench pread ended with 1: no such disk"):
        speed.Machine()._json("k2k bench pread", [program])


def test_neighbours_are_processes_that_are_not_ours() -> None:
    neighbours = speed.Neighbours()
    sum(range(3_000_000))  # Ours.
    assert 0 <= neighbours.share() <= 1


def fake_k2k(release: Path, slow_s: float) -> Program:
    """A program that takes longer by `slow_s` where the router is on."""
    cli = release / "cli/k2k"
    cli.parent.mkdir(parents=True)
    cost = f"sleep {slow_s}" if slow_s else ":"
    cli.write_text(f'#!/bin/sh\n[ "$K2K_FILES_ROUTER" = false ] || {cost}\nexit 1\n')
    cli.chmod(0o755)
    return Program(release, {"PATH": os.environ["PATH"]})


@pytest.mark.parametrize(("slow_s", "holds"), [(0.1, False), (0, True)])
def test_a_program_that_is_slow_with_the_router_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slow_s: float, holds: bool
) -> None:
    monkeypatch.setattr(speed_measures, "FOLDER", tmp_path / "speed")
    monkeypatch.setattr(speed_measures, "HEADER_FILES", 10)
    program = fake_k2k(tmp_path, slow_s)
    source = random.Random(1)
    # The start of a shell takes a varying time: 0.3 is far from both.
    text = SMALL.replace("0.85", "0.3").replace("k2k bench pread", "measure small_files_cold")
    (found,), _ = measure_all(
        [row(text)], lambda _: speed_measures.small_files_cold(program, source)
    )
    assert found.holds == holds


def test_trees_have_the_files_they_should(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speed_measures, "FOLDER", tmp_path)
    folder = speed_measures.tree("some", [0, 20, 9000] * 100)
    found = sorted(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    assert found == sorted([0, 20, 9000] * 100)
    assert speed_measures.tree("some", [1]) == folder  # Kept.
    speed_measures.drop_pages(folder)


def test_a_program_that_is_missing_or_broken_is_named(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="speed: nothing is not there; install it, or run"):
        timed_ms([tmp_path / "nothing"], {})
    broken = tmp_path / "broken"
    broken.write_text("#!/bin/sh\necho no such words >&2\nexit 2\n")
    broken.chmod(0o755)
    with pytest.raises(Refused, match="speed: broken ended with 2: no such words"):
        timed_ms(grep_command(broken, tmp_path), {})


def test_misses_of_one_command_are_measured_again_together() -> None:
    other = ROW.replace("[pread]", "[other]").replace("floor = 0.65", "floor = 0.5")
    third = ROW.replace("[pread]", "[third]")
    rows = list(budgets.parsed(ROW + other + third, "f").rows.values())
    asked, measure = of(*ratios(*[0.6] * 12))
    found, _ = measure_all(rows, measure)
    assert len(asked) == 12
    assert [(one.budget.name, one.again) for one in found] == [
        *(("pread", True), ("other", False), ("third", True)),
    ]
