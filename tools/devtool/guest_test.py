from pathlib import Path

import pytest

from devtool.console import Refused
from devtool.guest import Job, Outcome, problems_of, read_console, with_libraries

CONSOLE = """\x1bc\x1b[?7lSeaBIOS\r
@begin kernel\r
6.1.0-50\r
@end kernel 0\r
@begin io_test\r
[  SKIPPED ] Probe.by_cachestat (3 ms)\r
[  PASSED  ] 7 tests.\r
[  SKIPPED ] 1 test, listed below:\r
without a last newline@end io_test 0\r
@begin router_test\r
[ RUN      ] FileReader.reads\r
[  100.0] Kernel panic\r
"""
TESTS = Job("io_test", "io_test", frozenset({"Probe.by_cachestat"}))


def test_the_output_of_each_job_is_found_in_the_console() -> None:
    outcomes = read_console(CONSOLE)
    assert outcomes["kernel"] == Outcome(["6.1.0-50"], 0)
    assert (outcomes["io_test"].passed, outcomes["io_test"].status) == (7, 0)
    assert outcomes["io_test"].skipped == {"Probe.by_cachestat"}
    assert outcomes["router_test"].status is None


def test_a_job_that_did_all_it_should_is_no_problem() -> None:
    assert problems_of([Job("kernel", "uname"), TESTS], read_console(CONSOLE)) == []


@pytest.mark.parametrize(
    ("job", "problem"),
    [
        (Job("shim_test", ""), "shim_test was not begun"),
        (Job("router_test", ""), "router_test did not end:\n[ RUN      ] FileReader.reads\n"),
        (Job("io_test", "", frozenset()), "io_test: skipped, and should run there: Probe.by_cach"),
        (
            Job("io_test", "", frozenset({"Probe.by_cachestat", "A.b"})),
            "io_test: not skipped, and cannot run there: A.b",
        ),
        (Job("kernel", "", frozenset()), "kernel: no test ran"),
    ],
)
def test_a_job_that_did_not_is_one(job: Job, problem: str) -> None:
    found = problems_of([job], read_console(CONSOLE))
    assert len(found) == 1
    assert found[0].startswith(problem)


def test_a_failed_job_is_shown_with_its_output() -> None:
    outcomes = {"io_test": Outcome(["Expected: 1"], 1)}
    assert problems_of([TESTS], outcomes) == ["io_test ended with 1:\nExpected: 1"]


def test_a_failed_test_is_shown_and_not_those_after_it() -> None:
    failed = ["[ RUN      ] A.b", "Expected: 1", "[  FAILED  ] A.b (3 ms)"]
    passed = ["[ RUN      ] A.c", "said by A.c", "[       OK ] A.c (3 ms)"]
    end = ["[  FAILED  ] 1 test, listed below:", "[  FAILED  ] A.b"]
    outcomes = {"io_test": Outcome([*passed, *failed, *passed, *end], 1)}
    assert problems_of([TESTS], outcomes) == ["io_test ended with 1:\n" + "\n".join(failed)]


def test_programs_come_with_their_libraries() -> None:
    found = with_libraries([Path("/bin/sh"), Path("/bin/sh")])
    assert found.count(Path("/bin/sh")) == 1
    assert any(path.name.startswith("libc.so") for path in found)
    assert all(path.exists() for path in found)


def test_a_program_without_its_library_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ldd = tmp_path / "ldd"
    ldd.write_text("#!/bin/sh\necho '\tlibgone.so.1 => not found'\n")
    ldd.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    with pytest.raises(Refused, match=r"needs libgone\.so\.1, which is not here"):
        with_libraries([Path("/bin/sh")])
