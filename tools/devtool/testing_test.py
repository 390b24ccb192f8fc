"""The meaning of passed: a disturbed test that passes alone, never a crash or a sanitizer's
report."""

from pathlib import Path

import pytest

from devtool import testing
from devtool.testing import Tally

JUNIT = """<?xml version="1.0"?><testsuite>
  <testcase name="m/steady" status="run"/>
  <testcase name="m/late  # GetParam() = 3" status="fail">
    <failure message=""/><system-out>Expected: soon

 1 FAILED TEST</system-out></testcase>
  {more}
</testsuite>"""


def read(folder: Path, more: str = "") -> Tally:
    path = folder / "tests.xml"
    path.write_text(JUNIT.format(more=more))
    return testing._read_junit(path)


def test_a_failed_assertion_is_worth_another_run(tmp_path: Path) -> None:
    tally = read(tmp_path)
    assert tally.failed == ["m/late"]
    assert tally.worth_another_run() == ["m/late"]


@pytest.mark.parametrize(
    "output",
    [
        "[ RUN      ] m.broken",  # A crash, or out of time.
        "WARNING: ThreadSanitizer: data race (pid=1)\n 1 FAILED TEST",
        "SUMMARY: AddressSanitizer: heap-use-after-free\n 1 FAILED TEST",
        "a.cpp:3:5: runtime error: signed integer overflow\n 1 FAILED TEST",
    ],
)
def test_no_crash_and_no_report_of_a_sanitizer_is(tmp_path: Path, output: str) -> None:
    more = (
        '<testcase name="m/broken" status="fail"><failure message=""/>'
        f"<system-out>{output}</system-out></testcase>"
    )
    tally = read(tmp_path, more)
    assert tally.failed == ["m/late", "m/broken"]
    assert tally.worth_another_run() == []


def test_many_failures_are_no_disturbance() -> None:
    names = [f"m/{index}" for index in range(testing.AGAIN_MAX + 1)]
    assert Tally(failed=names, by_assertion=set(names)).worth_another_run() == []


def test_who_passes_alone_counts_as_passed_and_is_named() -> None:
    names = ["m/late", "m/wrong"]
    tally = Tally(passed=7, failed=list(names), by_assertion=set(names))
    tally.passed_alone(Tally(passed=1, failed=["m/wrong"]), names)
    assert tally.failed == ["m/wrong"]
    assert tally.unsteady == ["m/late"]
    assert str(tally) == (
        "8 passed, 1 failed, 0 skipped; passed only when run again, alone: m/late"
    )


def test_a_second_run_that_did_not_run_them_changes_nothing() -> None:
    tally = Tally(failed=["m/late"], by_assertion={"m/late"})
    tally.passed_alone(Tally(), ["m/late"])
    assert tally.failed == ["m/late"]
