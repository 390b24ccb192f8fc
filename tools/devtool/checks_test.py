"""Each step checks the files that it should, and the table tells of each what came of it."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from devtool import checks, process
from devtool.checks import Outcome, Step, check, device_headers
from devtool.console import Refused
from devtool.tree import shown


def test_device_headers_are_headers_of_modules_below_the_device_and_no_fixture() -> None:
    options = {shown(path): flags for path, flags in device_headers()}
    assert "-ffreestanding" in options["src/protocol/slot.hpp"]
    assert options["src/device/k2k.hpp"] == []
    assert not [path for path in options if path.endswith("_fixture.hpp")]
    assert not [path for path in options if path.startswith("src/server/")]


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two steps: the first one runs otherwise by name, and is skipped in a run of all."""
    monkeypatch.setattr(checks, "need_packages", lambda _: None)
    first = Step(
        "one",
        "says",
        lambda: Outcome(note="no compiler", skipped=True),
        named=lambda: Outcome(["broken"], "whole"),
    )
    monkeypatch.setattr(checks, "STEPS", (first, Step("two", "says", Outcome)))


@pytest.mark.usefixtures("steps")
def test_a_step_that_cannot_run_is_counted_as_skipped(capsys: pytest.CaptureFixture[str]) -> None:
    assert check([])
    out = capsys.readouterr().out
    assert "one  skipped" in out
    assert "no compiler" in out
    assert "\n1 steps passed, 1 skipped in " in out


@pytest.mark.usefixtures("steps")
def test_a_step_may_do_more_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert not check(["one"])
    out = capsys.readouterr().out
    assert "one  FAILED" in out
    assert "whole" in out


def test_below_the_table_each_problem_ends_once_more(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = "\n".join(f"line {k}" for k in range(30))
    broken = Step("one", "says", lambda: Outcome([f"a job did not end:\n{lines}", "short"]))
    monkeypatch.setattr(checks, "need_packages", lambda _: None)
    monkeypatch.setattr(checks, "STEPS", (broken, Step("two", "says", Outcome)))
    assert not check([])
    below = capsys.readouterr().out.partition("two  ok")[2]
    assert "one: a job did not end:\n… 15 lines, see above\nline 15\n" in below
    assert "line 29\n\none: short\n\n1 of 2 steps failed" in below


@pytest.fixture
def order(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a run of five steps did, in order: one measures, one runs beside, one needs a build."""
    done: list[str] = []
    built = threading.Event()

    def note(name: str) -> Outcome:
        done.append(name)
        return Outcome(note=f"note of {name}")

    def build() -> None:
        time.sleep(0.2)  # A step that did not wait would be first.
        done.append("build")
        built.set()
        raise Refused("the build failed")

    def beside() -> Outcome:
        assert built.is_set(), "one thread, and builds first"
        return note("beside")

    monkeypatch.setattr(checks, "need_packages", lambda _: None)
    monkeypatch.setattr(
        checks,
        "STEPS",
        (
            Step("first", "says", lambda: note("first")),
            Step("beside", "says", beside, beside=True),
            Step("measures", "says", lambda: note("measures"), alone=True),
            Step("needs", "says", lambda: note("needs"), before=build),
            Step("by_name", "says", lambda: note("by_name"), always=False),
        ),
    )
    return done


def test_a_step_that_measures_is_first_and_a_build_comes_before_its_step(
    order: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert check([])
    assert order[:2] == ["measures", "first"]
    assert order.index("build") < order.index("needs")
    assert set(order) == {"measures", "first", "build", "needs", "beside"}
    out = capsys.readouterr().out
    places = [out.index(f"note of {name}") for name in ("first", "beside", "measures", "needs")]
    assert places == sorted(places), "the table keeps the order of the steps"


def test_a_step_begins_after_its_downloads_which_run_beside_builds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done: list[str] = []
    fetched = threading.Event()

    def fetch() -> None:
        time.sleep(0.2)  # A step that did not wait would be first.
        done.append("fetch")
        fetched.set()
        raise Refused("no network")

    def build() -> None:
        assert fetched.wait(60), "the builds' thread does not hold up downloads"

    def step(name: str) -> Callable[[], Outcome]:
        def run() -> Outcome:
            done.append(name)
            return Outcome()

        return run

    monkeypatch.setattr(checks, "need_packages", lambda _: None)
    steps = (
        Step("needs", "says", step("needs"), before=build),
        Step("fetches", "says", step("fetches"), fetch=fetch),
        Step("beside", "says", step("beside"), beside=True, fetch=fetch),
        Step("by name", "says", step("by name"), always=False, fetch=fetch),
    )
    monkeypatch.setattr(checks, "STEPS", steps)
    assert check([])
    assert done.count("fetch") == 2
    assert done[0] == "fetch"
    assert done.index("fetches") > done.index("fetch")
    assert done.index("beside") > done.index("fetch", done.index("fetch") + 1)


def test_a_step_by_name_waits_for_nothing(order: list[str]) -> None:
    assert check(["needs", "by_name"])
    assert order == ["needs", "by_name"]


def test_a_program_beside_others_runs_while_nothing_else_wants_a_core(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    policies: list[str] = []

    def policy() -> Outcome:
        show = [sys.executable, "-c", "import os; print(os.sched_getscheduler(0))"]
        policies.append(process.capture(show).strip())
        return Outcome()

    monkeypatch.setattr(checks, "need_packages", lambda _: None)
    steps = (Step("one", "says", policy), Step("two", "says", policy, beside=True))
    monkeypatch.setattr(checks, "STEPS", steps)
    assert check([])
    assert sorted(policies) == sorted([str(os.SCHED_OTHER), str(os.SCHED_IDLE)])


ENDLESS = """
import signal, sys, time
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from devtool import checks, process
signal.signal(signal.SIGINT, signal.default_int_handler)  # A shell's background job ignores it.
begun = Path(sys.argv[2])
checks.need_packages = lambda _: None
def endless():
    command = ["sh", "-c", "echo begun; exec sleep 1000"]
    process.run_logged(command, begun.with_suffix(".log"), lambda line: begun.touch())
checks.STEPS = (
    checks.Step("waits", "says", lambda: time.sleep(1000)),
    checks.Step("needs", "says", checks.Outcome, before=endless),
)
checks.check([])
"""


def test_ctrl_c_ends_the_programs_beside(tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    tools = Path(checks.__file__).parent.parent
    command = [sys.executable, "-c", ENDLESS, str(tools), str(begun)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        try:
            patience = time.monotonic() + 60
            while not begun.exists():
                assert time.monotonic() < patience
                assert child.poll() is None
                time.sleep(0.01)
            child.send_signal(signal.SIGINT)
            _, errors = child.communicate(timeout=60)
        finally:
            child.kill()
    assert errors.decode().rstrip().endswith("KeyboardInterrupt")
