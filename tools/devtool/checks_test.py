"""Each step checks the files that it should, and the table tells of each what came of it."""

import pytest

from devtool import checks
from devtool.checks import Outcome, Step, check, device_headers
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
