"""Runs pytest. If few tests failed, runs them again, alone, and names those that pass, as for
ctest.

Deterministic tests (psylang) are not run again: a failed one is broken.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from devtool import unsteady
from devtool.console import Status, say
from devtool.process import Command, run
from devtool.testing import AGAIN_MAX, NEVER_AGAIN
from devtool.tree import ROOT

PRESET = "python"  # The name in the record of unsteady tests.
TESTS_FAILED = 1  # The exit status of pytest that means nothing worse.
FAILED = re.compile(r"^FAILED (.+?)(?: - .*)?$", re.MULTILINE)
ERROR = re.compile(r"^ERROR ", re.MULTILINE)


@dataclass(frozen=True)
class Ended:
    problems: list[str] = field(default_factory=list)
    note: str = ""  # Names the tests that passed only alone.
    summary: str = ""  # Of tests that passed: how many, and how long they took.


def run_pytest(
    pytest: Path,
    folder: str,
    title: str,
    env: Mapping[str, str] | None = None,
    once: bool = False,
    record: Path = unsteady.FILE,
    workers: int = 1,
) -> Ended:
    """Runs the tests below `folder` of the repository; those that failed again, unless `once`.

    `workers`: processes that share the tests, for tests that do not look at time.
    """
    command: Command = [pytest, "-q", folder]
    if workers > 1:
        command = [*command, "-n", str(workers)]
    with Status(title):
        done = run(command, env=env)
    if done.returncode == 0:
        last = "".join(done.stdout.strip().splitlines()[-1:])
        return Ended(summary=f"{title}: {last.strip(' =')}")
    output = done.stdout.replace(f"{ROOT}/", "").strip()
    names = failed_tests(done.returncode, output)
    if names and not once:
        with Status(f"{title}, {len(names)} again, alone"):
            again = run([*command, "--last-failed", "--last-failed-no-failures=none"], env=env)
        if again.returncode == 0:
            say(output)
            problems = unsteady.second_times(names, PRESET, record)
            return Ended(problems, f"passed only when run again, alone: {', '.join(names)}")
    return Ended([output or f"{title} ended with {done.returncode}"])


def failed_tests(status: int, output: str) -> list[str]:
    """The failed tests to run again, if they are few and each failed by itself."""
    names: list[str] = FAILED.findall(output)
    own = status == TESTS_FAILED and not ERROR.search(output) and not NEVER_AGAIN.search(output)
    return names if own and len(names) <= AGAIN_MAX else []
