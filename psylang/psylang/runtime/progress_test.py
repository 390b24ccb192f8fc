"""progress=True in a notebook: what is asked of IPython and of tqdm, by their protocols."""

from __future__ import annotations

import builtins
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import psylang
from psylang.ir.builder import ProgramBuilder
from psylang.runtime import progress, search
from psylang.runtime.execute import Execution
from psylang.runtime.progress import NotebookLine, ProgressBar, ProgressLine, indicator


class Bar:
    """The part of tqdm's protocol that is used; `made` has all bars."""

    made: list[Bar]

    def __init__(self, **how: Any) -> None:
        self.how, self.n, self.closed = how, 0, 0
        Bar.made.append(self)

    def update(self, more: int) -> None:
        assert more >= 0
        assert not self.closed
        self.n += more

    def close(self) -> None:
        self.closed += 1


class Cell:
    """The output of a cell: IPython's display() with a handle that rewrites it."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def display(self, data: dict[str, str], *, raw: bool, display_id: bool) -> Cell:
        assert raw
        assert display_id
        self.texts.append(data["text/plain"])
        return self

    def update(self, data: dict[str, str], *, raw: bool) -> None:
        assert raw
        self.texts[-1] = data["text/plain"]


@pytest.fixture
def cell(monkeypatch: pytest.MonkeyPatch) -> Cell:
    """A notebook without tqdm."""
    made = Cell()
    shell = SimpleNamespace(kernel=object())
    module, display = ModuleType("IPython"), ModuleType("IPython.display")
    vars(module)["get_ipython"] = lambda: shell
    vars(display)["display"] = made.display
    monkeypatch.setitem(sys.modules, "IPython", module)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    return made


@pytest.fixture
def bars(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> list[Bar]:
    """A notebook with tqdm."""
    Bar.made = []
    module = ModuleType("tqdm.auto")
    vars(module)["tqdm"] = Bar
    monkeypatch.setitem(sys.modules, "tqdm", ModuleType("tqdm"))
    monkeypatch.setitem(sys.modules, "tqdm.auto", module)
    return Bar.made


def plan() -> psylang.Plan:
    build = ProgramBuilder("noise")
    build.output("y", build.normal(build.stream("noise")))
    return psylang.compile(build.build())


def searched() -> psylang.Plan:
    build = ProgramBuilder("searched")
    build.output("y", build.mul(build.parameter("x", 1.0), 2.0))
    return psylang.compile(build.build())


def test_a_run_fills_a_bar_and_closes_it(bars: list[Bar]) -> None:
    plan().run(trials=300_000, progress=True)
    (bar,) = bars
    assert bar.how == {"total": 300_000, "desc": "noise", "unit": "trial", "unit_scale": True}
    assert (bar.n, bar.closed) == (300_000, 1)


def test_a_run_that_says_twice_that_it_is_done(bars: list[Bar]) -> None:
    bar = indicator("model")
    for done in (0, 10, 10):
        bar(done, 10)
    bar.leave()
    assert [(one.n, one.closed) for one in bars] == [(10, 2)]


def test_an_interrupted_run_closes_its_bar(
    bars: list[Bar], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(self: Bar, more: int) -> None:
        raise KeyboardInterrupt

    made = plan()
    monkeypatch.setattr(Bar, "update", interrupted)
    with pytest.raises(psylang.InterruptedRunError):
        made.run(trials=300_000, progress=True)
    assert [bar.closed for bar in bars] == [1]


def test_a_search_has_one_bar(bars: list[Bar]) -> None:
    searched().search({"x": [1.0, 2.0]}, trials=5, progress=True)
    assert [(bar.n, bar.closed) for bar in bars] == [(10, 1)]


def test_an_interrupted_search_closes_its_bar(
    bars: list[Bar], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "BLOCK_TRIALS", 10)
    real = Bar.update

    def interrupted(self: Bar, more: int) -> None:
        real(self, more)
        if self.n >= 20:
            raise KeyboardInterrupt

    monkeypatch.setattr(Bar, "update", interrupted)
    with pytest.raises(psylang.InterruptedRunError, match="after 20 of 40 trials") as caught:
        searched().search({"x": [1.0, 2.0, 3.0, 4.0]}, trials=10, progress=True)
    assert (caught.value.done, caught.value.total, caught.value.partial) == (20, 40, None)
    assert [bar.closed for bar in bars] == [1]


@pytest.mark.parametrize("error", [KeyboardInterrupt, psylang.ArgumentError("none fits")])
def test_a_search_that_ends_early_ends_its_line(
    error: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "INTERVAL_S", 0.0)
    monkeypatch.setattr(search, "BLOCK_TRIALS", 5)

    def refuse(_: Any) -> Any:
        raise error

    with pytest.raises((KeyboardInterrupt, psylang.ArgumentError)):
        searched().search({"x": [1.0, 2.0]}, trials=5, reduce=refuse, progress=True)
    shown = capsys.readouterr().err
    assert shown.startswith("\rsearched: 0 of 10 trials")
    assert shown.endswith("\n")


def test_a_run_that_fails_ends_its_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "INTERVAL_S", 0.0)

    def go(_: Any, threads: int, show: Any) -> None:
        show(1, 10)
        raise MemoryError

    monkeypatch.setattr(Execution, "go", go)
    with pytest.raises(MemoryError):
        plan().run(trials=10, progress=True)
    shown = capsys.readouterr().err
    assert shown.startswith("\rnoise: 1 of 10 trials")
    assert shown.endswith("\n")


def test_a_line_has_one_end(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "INTERVAL_S", 0.0)
    line = ProgressLine("model")
    for done in (5, 10, 10):
        line(done, 10)
    line.leave()
    assert capsys.readouterr().err.count("\n") == 1


def test_without_tqdm_the_line_is_in_the_cell(
    cell: Cell, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    line = indicator("model")
    assert isinstance(line, NotebookLine)
    for now, done in ((0.05, 1), (1.0, 25)):  # noqa: B007
        line(done, 100)
    assert cell.texts == ["model: 25 of 100 trials, 3 s left"]
    line.leave()
    now = 4.0
    line(100, 100)
    assert cell.texts == ["model: 100 of 100 trials"]
    assert capsys.readouterr().err == ""


def test_a_terminal_has_a_line(bars: list[Bar], monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(indicator("model"), ProgressBar)
    for shell in (None, SimpleNamespace()):  # No IPython runs, or one in a terminal.
        vars(sys.modules["IPython"])["get_ipython"] = lambda shell=shell: shell
        assert type(indicator("model")) is ProgressLine
    monkeypatch.delitem(sys.modules, "IPython")
    real = builtins.__import__

    def guarded(name: str, *rest: Any) -> Any:
        assert not name.startswith(("IPython", "tqdm")), "imported without a notebook"
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", guarded)
    assert type(indicator("model")) is ProgressLine
