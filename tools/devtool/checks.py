"""./dev check: runs every step, also after a failed one, and prints a table of all steps at the
end.

In a run of all steps, the builds of the sanitizers, clang-tidy and Psylang's tests run beside the
steps after the speed step, which use one core for a long time, or wait. Linux preempts them for a
step at once (SCHED_IDLE). Downloads of the steps run beside all of these, in a thread of their own.

    speed │ format  floors  python  …  ordeal │ tests of asan-ubsan │ tests of tsan
          │ build of asan-ubsan,  build of tsan,  psylang,  tidy ─▶
          │ CUDA's packages,  PsyNeuLink ─▶
"""

import os
import re
import subprocess
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from devtool import build, generate, testing
from devtool.abi import changed_exports
from devtool.browser import check_browser
from devtool.console import Refused, Status, duration, say, work_beside
from devtool.cuda_check import check_cuda
from devtool.docs import build_site
from devtool.doors import Tree, wrong_doors
from devtool.emulated_check import check_emulated_cuda, why_missing
from devtool.environment import CHECK_PACKAGES, need_packages, need_python_tools
from devtool.guest_checks import check_kernel_6_1, check_peer_to_peer
from devtool.hip_check import check_hip
from devtool.install_check import check_install
from devtool.process import Command, cores, run, stop_all
from devtool.psylang_check import (
    check_psylang,
    check_psyneulink_briefly,
    need_psyneulink_and_pytest,
)
from devtool.python_tests import run_pytest
from devtool.speed import check_speed
from devtool.tidy import tidy_all, tidy_changed, tidy_changed_and_note
from devtool.tree import BUILD, CPP_SUFFIXES, ROOT, files, shown

CLANG_FORMAT = "clang-format-19"
PROBLEM_LINES_MAX = 80
PROBLEM_END_LINES = 15  # Below the table.


@dataclass(frozen=True)
class Outcome:
    problems: list[str] = field(default_factory=list)
    note: str = ""
    skipped: bool = False  # It cannot run here; the note says why.


@dataclass(frozen=True)
class Step:
    name: str
    says: str
    run: Callable[[], Outcome]
    always: bool = True  # False: runs only by name.
    named: Callable[[], Outcome] | None = None  # In place of `run`, by name.
    alone: bool = False  # It measures: nothing runs beside it.
    beside: bool = False  # Runs beside others.
    before: Callable[[], None] | None = None  # What it needs, and what may run beside others.
    # Its downloads. The step itself installs what is still missing.
    fetch: Callable[[], object] | None = None


@dataclass(frozen=True)
class Ended:
    outcome: Outcome
    seconds: float


def check(only: Sequence[str]) -> bool:
    """Runs all steps or the named ones, and prints the table. Returns True if no step failed."""
    unknown = set(only) - {step.name for step in STEPS}
    if unknown:
        names = ", ".join(step.name for step in STEPS)
        raise Refused(f"no step {', '.join(sorted(unknown))}; the steps are: {names}", 2)
    need_packages(CHECK_PACKAGES)
    begin = time.monotonic()
    if only:
        named = [step for step in STEPS if step.name in only]
        rows = [(step, _run(step.named or step.run)) for step in named]
    else:
        rows = _run_all([step for step in STEPS if step.always])
    _print_table(rows, time.monotonic() - begin)
    return not any(ended.outcome.problems for _, ended in rows)


def _run_all(steps: Sequence[Step]) -> list[tuple[Step, Ended]]:
    """The rows of the table, in the order of `steps`."""
    rows = {step.name: _run(step.run) for step in steps if step.alone}
    with _low_priority() as downloads, _low_priority() as pool:
        fetched = {step.name: downloads.submit(step.fetch) for step in steps if step.fetch}

        def run_fetched(step: Step) -> Ended:
            if step.name in fetched:
                wait([fetched[step.name]])  # If it failed, the step says so.
            return _run(step.run)

        needed = {step.name: pool.submit(step.before) for step in steps if step.before}
        beside = {step.name: pool.submit(run_fetched, step) for step in steps if step.beside}
        for step in steps:
            if step.name in needed:
                with Status(f"waiting for the build of {step.name}"):
                    wait([needed[step.name]])  # Likewise.
            if step.name not in rows and step.name not in beside:
                rows[step.name] = run_fetched(step)
        for name, future in beside.items():
            with Status(f"waiting for {name}"):
                rows[name] = future.result()
    return [(step, rows[step.name]) for step in steps]


@contextmanager
def _low_priority() -> Iterator[ThreadPoolExecutor]:
    """A thread whose programs run while nothing else wants a core."""

    def begin() -> None:
        with suppress(OSError):  # A container may forbid it.
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))  # Of this thread alone.
        work_beside()

    with ThreadPoolExecutor(1, initializer=begin) as pool:
        try:
            yield pool
        except BaseException:  # KeyboardInterrupt above all.
            stop_all()
            pool.shutdown(cancel_futures=True)
            raise


def _run(work: Callable[[], Outcome]) -> Ended:
    begin = time.monotonic()
    try:
        outcome = work()
    except Refused as refusal:
        outcome = Outcome([str(refusal)])
    except subprocess.CalledProcessError as error:
        outcome = Outcome([f"`{' '.join(map(str, error.cmd))}` failed:\n{error.stdout}"])
    for problem in outcome.problems:
        say(_shortened(problem))
    return Ended(outcome, time.monotonic() - begin)


def _print_table(rows: list[tuple[Step, Ended]], total_s: float) -> None:
    width = max(len(step.name) for step in STEPS)
    print(f"\n{'step':<{width}}  {'result':<7}  time")
    for step, ended in rows:
        outcome, seconds = ended.outcome, ended.seconds
        result = "FAILED" if outcome.problems else "skipped" if outcome.skipped else "ok"
        note = f"  {outcome.note}" if outcome.note else ""
        print(f"{step.name:<{width}}  {result:<7}  {duration(seconds):>12}{note}")
    total = duration(total_s)
    failed = [step.name for step, ended in rows if ended.outcome.problems]
    skipped = sum(ended.outcome.skipped for _, ended in rows)
    if failed:
        if len(rows) > 1:  # They were said long ago, and a log may be cut.
            _say_again([(step.name, ended.outcome.problems) for step, ended in rows])
        again = " ".join(f"--only {name}" for name in failed)
        print(f"\n{len(failed)} of {len(rows)} steps failed in {total}. Again: ./dev check {again}")
    else:
        but = f"all {len(rows)} steps" if not skipped else f"{len(rows) - skipped} steps"
        more = f", {skipped} skipped" if skipped else ""
        print(f"\n{but} passed{more} in {total}", flush=True)


def _say_again(problems: Sequence[tuple[str, list[str]]]) -> None:
    """The problems of the steps that failed, each with its first line and its last ones."""
    for name, said in problems:
        for problem in said:
            first, *others = problem.splitlines() or [""]
            left_out = len(others) - PROBLEM_END_LINES
            print(f"\n{name}: {first}")
            if left_out > 0:
                print(f"… {left_out} lines, see above")
            for line in others[-PROBLEM_END_LINES:]:
                print(line)


def _shortened(problem: str) -> str:
    lines = problem.splitlines()
    more = len(lines) - PROBLEM_LINES_MAX
    return "\n".join(lines[:PROBLEM_LINES_MAX] + ([f"… {more} more lines"] if more > 0 else []))


def cpp_format() -> Outcome:
    with Status("C++ format"):
        done = run([CLANG_FORMAT, "--dry-run", "-Werror", *files(*CPP_SUFFIXES)])
    if done.returncode == 0:
        return Outcome()
    found = set(re.findall(r"^(.+?):\d+:\d+: error: code should be", done.stdout, re.MULTILINE))
    if not found:
        return Outcome([done.stdout])
    named = sorted(shown(Path(path)) for path in found)
    return Outcome([f"not formatted; run ./dev format: {' '.join(named)}"])


def floors() -> Outcome:
    return _passes(["python3", "-B", "tools/check_floors.py"], "floors")


def python() -> Outcome:
    tools = need_python_tools()
    ours = list(files(".py"))
    return _all(
        _passes([tools / "ruff", "check", "--no-cache", *ours], "ruff", "some: ./dev format"),
        _passes([tools / "ruff", "format", "--no-cache", "--check", *ours], "ruff", "./dev format"),
        _passes([tools / "mypy", f"--cache-dir={BUILD / 'mypy'}", *ours], "mypy"),
        _pytest(tools, "tools"),
        _package(tools),
    )


def _package(tools: Path) -> Outcome:
    """The tests of python/k2k against the library of the release build."""
    build.build("release", ["k2k", "shim_cuda"])  # And a driver of the tests' own.
    return _pytest(tools, "python", {"K2K_LIBRARY": str(build.folder("release") / "libk2k.so")})


def _pytest(tools: Path, folder: str, env: Mapping[str, str] | None = None) -> Outcome:
    ended = run_pytest(tools / "pytest", folder, f"pytest of {folder}/", env)
    return Outcome(ended.problems, ended.note)


def device_headers() -> list[tuple[Path, list[str]]]:
    """The headers that device code may include, with their compile options. No fixtures."""
    plan = tomllib.loads((ROOT / "floors.toml").read_text())
    modules = [module for module, table in plan.items() if table.get("freestanding")]
    options = {module: ["-ffreestanding", "-nostdlib"] for module in modules} | {"device": []}
    return [
        (path, flags)
        for module, flags in options.items()
        for path in files(".hpp", under=f"src/{module}")
        if not path.name.endswith("_fixture.hpp")
    ]


def freestanding() -> Outcome:
    """Each header that device code includes, alone: C++17, without library if floors.toml says.

    Then the public headers, each in every language that may include it."""
    headers = device_headers()

    def compile_alone(header: tuple[Path, list[str]]) -> Outcome:
        path, options = header
        command = ["g++", "-std=c++17", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", *options]
        return _passes([*command, "-Isrc", "-include", path, "-xc++", "/dev/null"], "")

    with Status(f"{len(headers)} headers alone, as C++17"), ThreadPoolExecutor(cores()) as pool:
        alone = _all(*pool.map(compile_alone, headers))
    with Status("the public headers and those behind them, alone"):
        return _all(alone, Outcome(wrong_doors(Tree(ROOT / "include", ROOT / "src"))))


def generated() -> Outcome:
    fix = "is not what its generator prints; run ./dev format"
    problems = [f"{one.file}: {fix}" for one in generate.outdated()]
    if lines := changed_exports():
        problems.append("\n".join(lines))
    return Outcome(problems)


def psylang() -> Outcome:
    ended = check_psylang()
    return Outcome(ended.problems, ended.note)


def pnl() -> Outcome:
    ended = check_psyneulink_briefly()
    return Outcome(ended.problems, ended.summary)


def speed() -> Outcome:
    ended = check_speed()
    return Outcome(ended.problems, ended.note)


def doxygen() -> Outcome:
    return _passes(["doxygen", "docs/Doxyfile"], "doxygen")


def docs() -> Outcome:
    build_site()
    return Outcome()


def cuda() -> Outcome:
    problems, note = check_cuda()
    return Outcome(problems, note)


def emulated_cuda() -> Outcome:
    """The part for a run of all steps, which a machine without the packages skips."""
    if missing := why_missing():
        say(missing)
        return Outcome(note="no CUDA compiler: see above", skipped=True)
    problems, note = check_emulated_cuda(whole=False)
    return Outcome(problems, f"{note}; more runs by name")


def whole_emulated_cuda() -> Outcome:
    problems, note = check_emulated_cuda(whole=True)
    return Outcome(problems, note)


def hip() -> Outcome:
    problems, note = check_hip()
    return Outcome(problems, note)


def kernel_6_1() -> Outcome:
    problems, note = check_kernel_6_1()
    return Outcome(problems, note)


def peer_to_peer() -> Outcome:
    problems, note = check_peer_to_peer()
    return Outcome(problems, note)


def browser() -> Outcome:
    problems, note = check_browser()
    return Outcome(problems, note)


ORDEAL_SECONDS = 30


def ordeal() -> Outcome:
    """Processes that fork, are killed and have no memory, a new seed each time."""
    build.build("release", ["conformance_test"])
    program = build.folder("release") / "tests/conformance/conformance_test"
    with Status(f"forks, kills and used-up memory for {ORDEAL_SECONDS} s"):
        done = run(
            [program, "--gtest_filter=Ordeal.*"],
            env={"K2K_ORDEAL_SECONDS": str(ORDEAL_SECONDS)},
        )
    if done.returncode != 0:
        return Outcome([done.stdout.replace(f"{ROOT}/", "").strip()])
    lives = re.search(r"^\d+ processes", done.stdout, re.MULTILINE)
    return Outcome([], lives.group() if lives else "skipped")


def tests(preset: str) -> Callable[[], Outcome]:
    def step() -> Outcome:
        tally = testing.run_tests(preset)
        for name in tally.unsteady:
            say(tally.outputs[name])
        shown = [tally.outputs[name] for name in tally.failed if name in tally.outputs]
        failed = [f"FAILED {name}" for name in [*tally.failed, *tally.unsteady_before]]
        return Outcome([*shown, *failed], str(tally))

    return step


def _passes(
    command: Command, title: str, fix: str = "", env: Mapping[str, str] | None = None
) -> Outcome:
    if title:
        with Status(title):
            done = run(command, env=env)
    else:
        done = run(command, env=env)
    if done.returncode == 0:
        return Outcome()
    text = done.stdout.replace(f"{ROOT}/", "").strip() or f"{shown(Path(command[0]))} failed"
    return Outcome([f"{text}\nfix: {fix}" if fix else text])


def _all(*outcomes: Outcome) -> Outcome:
    problems = [problem for outcome in outcomes for problem in outcome.problems]
    return Outcome(problems, "; ".join(outcome.note for outcome in outcomes if outcome.note))


def sanitizer(preset: str, says: str) -> Step:
    return Step(preset, says, tests(preset), before=lambda: build.build(preset))


STEPS = (
    Step("format", "clang-format of all C++", cpp_format),
    Step("floors", "include arrows, vendor headers and CMake targets obey floors.toml", floors),
    Step("python", "ruff, mypy --strict and pytest over our Python and the package k2k", python),
    Step(
        "psylang",
        "its tests, the layers of its packages, pip install and a run from outside",
        psylang,
        beside=True,
    ),
    Step(
        "pnl",
        "Psylang against PsyNeuLink, which it installs: without the slow tests",
        pnl,
        beside=True,
        fetch=need_psyneulink_and_pytest,
    ),
    Step("freestanding", "device-side and public headers compile alone", freestanding),
    Step("doxygen", "the reference is generated without warnings", doxygen),
    Step("docs", "the site is built without warnings, and no link of it is dead", docs),
    Step("generated", "generated files and the lists of exported symbols hold", generated),
    Step(
        "install", "install, use from outside the tree, uninstall", lambda: Outcome(check_install())
    ),
    Step("speed", "every figure of bench/budgets.toml holds its floor", speed, alone=True),
    Step("kernel-6.1", "Debian 12's own kernel in QEMU: what falls back there works", kernel_6_1),
    Step(
        "emulated-cuda",
        "our kernels' PTX runs on a CUDA driver on the CPU; more of it by name",
        emulated_cuda,
        named=whole_emulated_cuda,
        fetch=why_missing,
    ),
    Step("ordeal", "30 s of forks, kills and used-up memory; prints its seed", ordeal),
    Step(
        "tidy",
        "clang-tidy, a short list of bugs, over what changed; over all by name",
        lambda: Outcome(*tidy_changed()),
        named=lambda: Outcome(*tidy_all()),
        beside=True,
    ),
    Step(
        "tidy-changed",
        "clang-tidy over what changed, then notes the commit as clean (by name)",
        lambda: Outcome(*tidy_changed_and_note()),
        always=False,
    ),
    # The sanitizers' builds are debug builds too: assertions, and guard pages in TSan's.
    Step("debug", "build and tests (only by name)", tests("debug"), always=False),
    sanitizer("asan-ubsan", "build and tests with AddressSanitizer, UndefinedBehaviorSanitizer"),
    sanitizer("tsan", "build and tests with ThreadSanitizer"),
    # By name: it builds everything for machine code once more.
    Step("cuda", "build for CUDA, no system-scope RMW, registers, NVRTC (by name)", cuda, False),
    # By name: its kernel is of another suite than the host's.
    Step("peer-to-peer", "P2PDMA between NVMe controllers in QEMU (by name)", peer_to_peer, False),
    # By name: a browser is large, and the pages change rarely. The tests of the laboratories look
    # at the text of each page at every change.
    Step("browser", "the page of a study in headless Chromium (by name)", browser, False),
    Step("hip", "kernels for AMD GPUs are compiled and loaded, never run (by name)", hip, False),
)
