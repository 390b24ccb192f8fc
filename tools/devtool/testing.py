"""Runs the tests of a preset and counts passed, failed and skipped ones; skipped is never
passed."""

import os
import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from devtool import build, unsteady
from devtool.console import Refused, Status, say
from devtool.environment import need_python_tools
from devtool.process import cores, run, run_logged
from devtool.tree import ROOT, files

OUTPUT_LINES_MAX = 40
# A test that looks at time may fail because of its neighbours: it is run once more, alone, and
# named if it passes then. Never one that crashed or that a sanitizer reported, and never many.
AGAIN_MAX = 4
ENDED_BY_ASSERTION = re.compile(r"^ *\d+ FAILED TESTS?$", re.MULTILINE)  # GoogleTest's last line.
NEVER_AGAIN = re.compile(r"Sanitizer|runtime error:")
GPU_DEVICES = (Path("/dev/nvidiactl"), Path("/dev/kfd"))


@dataclass
class Tally:
    passed: int = 0
    failed: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    unsteady: list[str] = field(default_factory=list)  # Passed, but only alone.
    unsteady_before: list[str] = field(default_factory=list)  # A line for each that did so before.
    outputs: dict[str, str] = field(default_factory=dict)  # Of failed tests, the first time.
    by_assertion: set[str] = field(default_factory=set)  # Of the failed.

    def __str__(self) -> str:
        text = f"{self.passed} passed, {len(self.failed)} failed, {len(self.skipped)} skipped"
        if self.unsteady:
            text += f"; passed only when run again, alone: {', '.join(self.unsteady)}"
        return text

    def add(self, other: "Tally") -> None:
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.unsteady += other.unsteady
        self.outputs |= other.outputs

    def worth_another_run(self) -> list[str]:
        """The failed tests, if there are few and each failed by an assertion of its own."""
        few = 0 < len(self.failed) <= AGAIN_MAX
        return list(self.failed) if few and self.by_assertion.issuperset(self.failed) else []

    def passed_alone(self, again: "Tally", names: Sequence[str]) -> None:
        """Takes the result of the second run of `names`."""
        for name in names:
            if name not in again.failed and again.passed == len(names) - len(again.failed):
                self.failed.remove(name)
                self.unsteady.append(name)
                self.passed += 1


def run_tests(preset: str, pattern: str = "") -> Tally:
    """Builds and runs the tests of the preset, those whose name matches `pattern` if given."""
    build.build(preset)
    tally = _run_ctest(preset, pattern)
    tally.add(_run_pytest(preset, pattern))
    tally.unsteady_before = unsteady.second_times(tally.unsteady, preset)
    return tally


def report(tally: Tally) -> None:
    """Prints the failed and skipped tests, and the counts as the last line."""
    for output in tally.outputs.values():
        say(output)
    for name in tally.skipped:
        print(f"skipped  {name}")
    for name in tally.failed:
        print(f"FAILED   {name}")
    for line in tally.unsteady_before:
        print(f"FAILED   {line}")
    print(tally, flush=True)


def _run_ctest(preset: str, pattern: str) -> Tally:
    folder = build.folder(preset)
    results = folder / "tests.xml"
    results.unlink(missing_ok=True)
    select = ["-R", pattern] if pattern else []
    command = ["ctest", "--preset", preset, "--parallel", str(cores()), *select]
    command += ["--output-junit", str(results)]
    without_gpu = not any(device.exists() for device in GPU_DEVICES)
    if without_gpu:
        command += ["-LE", "^gpu$"]
    with Status(f"test {preset}") as status:
        code = run_logged(command, folder / "test.log", status.update)
    if not results.exists():
        tail = "\n".join((folder / "test.log").read_text().splitlines()[-20:])
        raise Refused(f"ctest could not run (build/{preset}/test.log):\n{tail}")
    tally = _read_junit(results)
    if names := tally.worth_another_run():
        tally.passed_alone(_run_again(preset, names), names)
    if code != 0 and not tally.failed and not tally.unsteady:
        if "No tests were found" not in (folder / "test.log").read_text():
            tally.failed.append(f"ctest itself ended with {code}: see build/{preset}/test.log")
        elif not pattern:
            tally.failed.append(f"no test was found in build/{preset}")
    if without_gpu:
        listing = run(["ctest", "--preset", preset, "-N", "-L", "^gpu$", *select]).stdout
        tally.skipped += [
            f"{name} (no GPU here)" for name in re.findall(r"Test\s+#\d+: (.+)", listing)
        ]
    return tally


def _run_again(preset: str, names: Sequence[str]) -> Tally:
    results = build.folder(preset) / "tests-again.xml"
    results.unlink(missing_ok=True)
    one_of = "|".join(re.escape(name) for name in names)
    command = ["ctest", "--preset", preset, "--parallel", "1", "-R", f"^({one_of})( |$)"]
    with Status(f"test {preset}, {len(names)} again, alone") as status:
        run_logged(
            [*command, "--output-junit", str(results)],
            build.folder(preset) / "test-again.log",
            status.update,
        )
    return _read_junit(results) if results.exists() else Tally(failed=list(names))


def _run_pytest(preset: str, pattern: str) -> Tally:
    """The tests written in Python: whole programs, run from outside."""
    scripts = [path for path in files(".py", under="tests") if path.name.endswith("_test.py")]
    if not scripts:
        return Tally()
    python = need_python_tools() / "python"
    folder = build.folder(preset)
    results = folder / "pytest.xml"
    results.unlink(missing_ok=True)
    command: list[str | Path] = [python, "-m", "pytest", "-q", f"--junit-xml={results}", *scripts]
    if pattern:
        command += ["-k", pattern]
    env = {"K2K_CLI": str(folder / "cli/k2k"), "K2K_SOURCE_DIR": str(ROOT)}
    with Status(f"test {preset}, Python") as status:
        run_logged(command, folder / "pytest.log", status.update, env)
    if not results.exists():
        raise Refused(f"pytest could not run: see build/{preset}/pytest.log")
    return _read_junit(results)


def _read_junit(path: Path) -> Tally:
    tally = Tally()
    for case in ET.parse(path).iter("testcase"):
        name = case.get("name", "?").partition("  # ")[0]  # Without the printed parameter.
        if case.get("file"):
            name = f"{case.get('file')}::{name}"
        failure = case.find("failure")
        failure = case.find("error") if failure is None else failure
        skipped = case.find("skipped")
        if failure is not None:
            tally.failed.append(name)
            output = case.findtext("system-out") or failure.text or failure.get("message") or ""
            tally.outputs[name] = _excerpt(name, output)
            if ENDED_BY_ASSERTION.search(output) and not NEVER_AGAIN.search(output):
                tally.by_assertion.add(name)
        elif skipped is not None or case.get("status") in {"notrun", "disabled"}:
            tally.skipped.append(name)
        else:
            tally.passed += 1
    return tally


def _excerpt(name: str, output: str) -> str:
    lines = output.strip().splitlines()
    if len(lines) > OUTPUT_LINES_MAX:
        half = OUTPUT_LINES_MAX // 2
        lines = [*lines[:half], f"… {len(lines) - 2 * half} lines …", *lines[-half:]]
    return os.linesep.join([f"--- {name}", *lines])
