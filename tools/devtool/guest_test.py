import os
from pathlib import Path

import pytest

from devtool import guest, unsteady
from devtool.console import Refused
from devtool.guest import (
    Guest,
    Job,
    Outcome,
    Run,
    problems_of,
    read_console,
    run_in_guest,
    to_run_again,
    with_libraries,
)
from devtool.guest_checks import KERNEL_6_1

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


def failed(*tests: str, end: str = "") -> Outcome:
    lines = [f"[  FAILED  ] {test}, where GetParam() = 3 (5 ms)" for test in tests]
    return Outcome([*lines, end or f" {len(tests)} FAILED TESTS"], 1)


ENDED = Outcome(["[  PASSED  ] 3 tests."], 0)
JOBS = [
    Job("kernel", "uname"),
    Job("io_test", "", frozenset()),
    Job("server_test", "", frozenset()),
]


@pytest.mark.parametrize(
    ("outcomes", "again"),
    [
        ({"io_test": ENDED, "server_test": ENDED}, []),
        ({"io_test": failed("A/B.c/0"), "server_test": ENDED}, ["io_test"]),
        # The machine ended.
        ({"io_test": Outcome(["[ RUN      ] A.b"])}, ["io_test", "server_test"]),
        ({"io_test": failed("A.b")}, ["io_test", "server_test"]),
        ({"io_test": failed("A.b", "A.c", "A.d", "A.e", "A.f"), "server_test": ENDED}, []),
        # It crashed, or a sanitizer or the limit ended it; it skipped a test that should run.
        ({"io_test": failed("A.b", end="Segmentation fault"), "server_test": ENDED}, []),
        ({"io_test": Outcome([], 124), "server_test": ENDED}, []),
        ({"io_test": Outcome([*ENDED.lines, "[  SKIPPED ] A.b (1 ms)"], 0)}, []),
    ],
)
def test_few_assertions_and_a_machine_that_ended_are_worth_a_second_one(
    outcomes: dict[str, Outcome], again: list[str]
) -> None:
    run = Run([], {"kernel": Outcome(["6.1"], 0), **outcomes})
    assert [job.name for job in to_run_again(JOBS, run)] == again
    assert to_run_again(JOBS, Run([], run.outcomes, limit_reached=True)) == []


def test_what_a_second_machine_passes_is_recorded_and_forgiven_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    began: list[tuple[str, list[str]]] = []
    runs: list[Run] = []

    def run_once(which: Guest, jobs: list[Job]) -> Run:
        began.append((which.name, [job.name for job in jobs]))
        return runs.pop(0)

    monkeypatch.setattr(guest, "need_packages", lambda _: None)
    monkeypatch.setattr(guest, "need_kernel", lambda _: None)
    monkeypatch.setattr(guest, "_run_once", run_once)
    record = tmp_path / "unsteady.toml"
    machine = Guest("kernel-6.1", KERNEL_6_1, "max", [])
    kernel = Outcome(["6.1"], 0)
    died = Run(["A.b failed"], {"kernel": kernel, "io_test": failed("A.b")})
    passed = Run([], {"io_test": ENDED, "server_test": ENDED})

    runs += [died, passed]
    problems, outcomes = run_in_guest(machine, JOBS, record)
    assert problems == []
    assert outcomes == {"kernel": kernel, "io_test": ENDED, "server_test": ENDED}
    assert began == [
        ("kernel-6.1", ["kernel", "io_test", "server_test"]),
        ("kernel-6.1-again", ["io_test", "server_test"]),
    ]
    names = [one.name for one in unsteady.read(record)]
    assert names == ["kernel-6.1/io_test/A.b", "kernel-6.1/virtual machine"]

    runs += [died, passed]
    problems, _ = run_in_guest(machine, JOBS, record)
    assert len(problems) == 2
    assert problems[0].startswith("kernel-6.1/io_test/A.b passed only when run again")

    runs += [died, Run(["A.b failed again"], {})]
    assert run_in_guest(machine, JOBS, record)[0] == ["A.b failed", "A.b failed again"]


def test_the_emulator_has_one_core_so_that_no_write_of_its_threads_is_seen_late() -> None:
    words = guest._machine(Guest("here", KERNEL_6_1, "max", []), Path("here.img"))
    core = words.index("--cpu-list") + 1
    assert int(words[core]) in os.sched_getaffinity(0)
    assert words[core + 1] == "qemu-system-x86_64"


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
