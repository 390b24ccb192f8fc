"""Tests that fail once are named, those that fail twice are problems."""

import sys
from pathlib import Path

import pytest

from devtool import unsteady
from devtool.python_tests import failed_tests, run_pytest

PYTEST = Path(sys.executable).with_name("pytest")

UNSTEADY = """
import pathlib
import pytest

@pytest.mark.parametrize("name", ["a b", "c"])
def test_second_time(name):
    mark = pathlib.Path(__file__).with_name(f"been-{name}")
    if name == "a b" and not mark.exists():
        mark.touch()
        raise AssertionError("too early - by far")

def test_steady():
    pass
"""


def written(folder: Path, text: str) -> str:
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "one_test.py").write_text(text)
    return str(folder / "one_test.py")


def test_one_that_passes_alone_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = tmp_path / "unsteady.toml"
    ended = run_pytest(PYTEST, written(tmp_path, UNSTEADY), "t", record=record)
    assert ended.problems == []
    assert ended.note.startswith("passed only when run again, alone: ")
    assert ended.note.endswith("test_second_time[a b]")
    assert "too early" in capsys.readouterr().err
    assert [one.preset for one in unsteady.read(record)] == ["python"]


def test_one_that_passed_only_alone_before_is_a_problem(tmp_path: Path) -> None:
    record = tmp_path / "unsteady.toml"
    run_pytest(PYTEST, written(tmp_path, UNSTEADY), "t", record=record)
    for mark in tmp_path.glob("been-*"):
        mark.unlink()
    ended = run_pytest(PYTEST, written(tmp_path, UNSTEADY), "t", record=record)
    (problem,) = ended.problems
    assert "test_second_time[a b] passed only when run again, alone, as it did at" in problem


def test_deterministic_tests_are_never_run_again(tmp_path: Path) -> None:
    ended = run_pytest(PYTEST, written(tmp_path, UNSTEADY), "t", once=True)
    (problem,) = ended.problems
    assert "too early" in problem
    assert ended.note == ""


def test_one_that_fails_twice_is_a_problem_with_its_words(tmp_path: Path) -> None:
    ended = run_pytest(PYTEST, written(tmp_path, "def test_it():\n    assert 1 == 2\n"), "t")
    (problem,) = ended.problems
    assert "assert 1 == 2" in problem
    assert ended.note == ""


def test_tests_that_pass_are_counted_and_not_named(tmp_path: Path) -> None:
    ended = run_pytest(PYTEST, written(tmp_path, "def test_it():\n    pass\n"), "t")
    assert (ended.problems, ended.note) == ([], "")
    assert ended.summary.startswith("t: 1 passed in ")


def test_a_test_that_cannot_be_collected_is_a_problem(tmp_path: Path) -> None:
    ended = run_pytest(PYTEST, written(tmp_path, "import no_such_thing\n"), "t")
    assert "no_such_thing" in ended.problems[0]


@pytest.mark.parametrize(
    ("status", "output", "names"),
    [
        (1, "FAILED a.py::b - x\n1 failed", ["a.py::b"]),
        (1, "FAILED a.py::b[c d]\nFAILED a.py::e - f - g", ["a.py::b[c d]", "a.py::e"]),
        (1, "FAILED a.py::b\nERROR a.py::c - x", []),
        (1, "AddressSanitizer: x\nFAILED a.py::b", []),
        (-11, "FAILED a.py::b", []),
        (2, "FAILED a.py::b", []),
        (1, "\n".join(f"FAILED a.py::b{k}" for k in range(5)), []),
    ],
)
def test_few_that_failed_by_themselves_are_run_again(
    status: int, output: str, names: list[str]
) -> None:
    assert failed_tests(status, output) == names
