"""Runs programs of a build in a virtual machine, with another kernel and other devices.

The machine is emulated (QEMU's TCG) and starts everywhere; times in it mean nothing. Its disk is
an ext4 file system made of the programs, at the paths that they have here, and of the shared
libraries that they need. Its first process (tools/guest/init) runs the jobs and writes all they say
to the serial line, from which the outcome is read.
"""

import os
import re
import shutil
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from devtool import unsteady
from devtool.console import Refused, Status, say
from devtool.debian_kernel import WORK, DebianKernel, need_kernel
from devtool.environment import Package, need_packages
from devtool.guest_screen import Screen
from devtool.process import capture, run, run_logged
from devtool.testing import AGAIN_MAX, ENDED_BY_ASSERTION, NEVER_AGAIN
from devtool.tree import ROOT, shown

PACKAGES = (
    Package("qemu-system-x86", "qemu-system-x86_64"),
    Package("busybox-static"),
    Package("e2fsprogs", "mke2fs"),
    Package("fdisk", "sfdisk"),
    Package("ovmf"),  # Of a guest with a screen: its firmware sets the display's mode.
)
INIT = ROOT / "tools/guest/init"
# One thread for both processors: with a thread each, a processor of QEMU 7.2 may execute, for ever,
# an instruction that the other processor has replaced. Linux replaces instructions when tracepoints
# are attached, and the guest stopped in the tests of k2k watch. With one thread QEMU emits nothing
# for the guest's memory barriers, although its devices have threads of their own. An NVMe driver
# that has no barrier between its doorbell and the look at whether the controller waits for it loses
# a command now and then, and the disk is dead from there on. So QEMU has one core (_machine()).
MACHINE = (
    *("-accel", "tcg,thread=single", "-machine", "q35", "-smp", "2", "-m", "1G"),
    *("-nographic", "-no-reboot", "-nic", "none"),
)
COMMAND_LINE = "console=ttyS0 panic=-1 quiet mitigations=off tsc=reliable rw init=/init"
DISK_BYTES = 384 << 20
PARTITION_AT = 1 << 20
SECTOR = 512
DISK_LABEL = 0x6B326B  # The kernel finds its root by it: the order of NVMe drives varies.
EXIT_TIMED_OUT = 124
OUTPUT_LINES_MAX = 60
ESCAPES = re.compile(r"\x1b(\[[0-9;?]*[A-Za-z]|c)")


@dataclass(frozen=True)
class Job:
    """A command of the guest's shell; it succeeds with status 0.

    `skips` are the GoogleTest tests that do not run there: exactly these, so that what is skipped
    tells what the guest has. None: it is no GoogleTest program.
    """

    name: str
    command: str
    skips: frozenset[str] | None = None


@dataclass
class Outcome:
    """The output of a job."""

    lines: list[str] = field(default_factory=list)
    status: int | None = None  # None: the job did not end.

    @property
    def passed(self) -> int:
        return sum(int(n) for n in self._found(r"\[  PASSED  \] (\d+) tests?\."))

    @property
    def failures(self) -> list[str]:
        """What each failed test said, from its beginning to its end."""
        said: list[str] = []
        test: list[str] = []
        for line in self.lines:
            test = [line] if line.startswith("[ RUN      ]") else [*test, line]
            if re.match(r"\[  FAILED  \] .*\(\d+ ms\)$", line):
                said += test
        return said

    @property
    def failed(self) -> list[str]:
        return self._found(r"\[  FAILED  \] ([\w/.]+)(?:, where .*)? \(\d+ ms\)$")

    @property
    def failed_by_assertion(self) -> bool:
        ended = any(ENDED_BY_ASSERTION.match(line) for line in self.lines)
        return ended and not any(NEVER_AGAIN.search(line) for line in self.lines)

    @property
    def skipped(self) -> frozenset[str]:
        return frozenset(self._found(r"\[  SKIPPED \] ([\w/.]+) \("))

    def _found(self, pattern: str) -> list[str]:
        return [match[1] for line in self.lines if (match := re.match(pattern, line))]


@dataclass(frozen=True)
class Guest:
    name: str
    kernel: DebianKernel
    cpu: str
    files: Sequence[Path]  # Programs and libraries of the build or the host.
    devices: Sequence[str] = ()
    screen: Screen | None = None
    limit_s: int = 600  # Ends a hanging guest: eight times the duration on an idle machine.
    # The files are an initramfs, in memory, and there is no disk: for kernels whose drivers of
    # disks and file systems are modules.
    in_memory: bool = False


@dataclass
class Run:
    """What one run of a virtual machine gave."""

    problems: list[str]
    outcomes: dict[str, Outcome]
    limit_reached: bool = False


def run_in_guest(
    guest: Guest, jobs: Sequence[Job], record: Path = unsteady.FILE
) -> tuple[list[str], dict[str, Outcome]]:
    """Returns the problems found, and the output of each job.

    A second machine runs the jobs that are worth it (to_run_again()), and `record` has what passed
    only there.
    """
    need_packages(PACKAGES)
    need_kernel(guest.kernel)
    first = _run_once(guest, jobs)
    again = to_run_again(jobs, first)
    if not again:
        return first.problems, first.outcomes
    for problem in first.problems:
        say(problem)
    second = _run_once(replace(guest, name=f"{guest.name}-again"), again)
    outcomes = first.outcomes | second.outcomes
    if second.problems:
        return [*first.problems, *second.problems], outcomes
    names = [name for job in again for name in _unsteady(job, first)]
    names = list(dict.fromkeys(f"{guest.name}/{name}" for name in names))
    say(f"passed only when run again, in a second virtual machine: {', '.join(names)}")
    return unsteady.second_times(names, guest.name, record), outcomes


def to_run_again(jobs: Sequence[Job], run: Run) -> list[Job]:
    """The jobs that failed, if each did so by assertions of few tests, or because the machine ended
    before it did: an emulator or a kernel that crashes says nothing of the programs in it."""
    again = [job for job in jobs if problems_of([job], run.outcomes)]
    tests = sum(len(run.outcomes[job.name].failed) for job in again if job.name in run.outcomes)
    own = all(_left_over(job, run) or run.outcomes[job.name].failed_by_assertion for job in again)
    return again if tests <= AGAIN_MAX and own and not run.limit_reached else []


def _left_over(job: Job, run: Run) -> bool:
    """Did the machine end before the job did?"""
    return job.name not in run.outcomes or run.outcomes[job.name].status is None


def _unsteady(job: Job, run: Run) -> list[str]:
    if _left_over(job, run):
        return ["virtual machine"]
    return [f"{job.name}/{test}" for test in run.outcomes[job.name].failed]


def _run_once(guest: Guest, jobs: Sequence[Job]) -> Run:
    disk = WORK / f"{guest.name}.{'cpio.gz' if guest.in_memory else 'img'}"
    console = WORK / f"{guest.name}.log"
    try:
        with Status(f"{guest.name}: disk"):
            (_make_initramfs if guest.in_memory else _make_disk)(guest, jobs, disk)
        with Status(f"{guest.name}: virtual machine") as status:
            code = _run(guest, disk, console, status)
    finally:
        disk.unlink(missing_ok=True)
    text = console.read_text(errors="replace")
    outcomes = read_console(text)
    problems = problems_of(jobs, outcomes)
    if guest.screen is not None:
        problems += guest.screen.problems()
    if code == EXIT_TIMED_OUT:
        problems.append(f"the virtual machine was stopped after {guest.limit_s} s")
    elif code != 0:
        problems.append(f"QEMU ended with {code}")
    if problems:
        problems.append(f"all that it said: {shown(console)}")
        if not outcomes:
            problems.append("\n".join(_plain(text)[-OUTPUT_LINES_MAX:]))
    return Run(problems, outcomes, code == EXIT_TIMED_OUT)


def _run(guest: Guest, disk: Path, console: Path, status: Status) -> int:
    """The exit status of QEMU."""
    if guest.screen is None:
        return run_logged(_machine(guest, disk), console, status.update)
    with guest.screen.watched() as on_line:

        def both(line: str) -> None:
            status.update(line)
            on_line(ESCAPES.sub("", line).strip("\r"))

        return run_logged(_machine(guest, disk), console, both)


def read_console(text: str) -> dict[str, Outcome]:
    """The text between `@begin NAME` and `@end NAME STATUS`, by name."""
    outcomes: dict[str, Outcome] = {}
    current = None
    for line in _plain(text):
        if match := re.match(r"@begin (\S+)$", line):
            current = outcomes.setdefault(match[1], Outcome())
        elif match := re.search(r"@end (\S+) (\d+)$", line):
            if match[1] in outcomes:
                outcomes[match[1]].status = int(match[2])
            current = None
        elif current is not None:
            current.lines.append(line)
    return outcomes


def problems_of(jobs: Sequence[Job], outcomes: dict[str, Outcome]) -> list[str]:
    problems = []
    for job in jobs:
        outcome = outcomes.get(job.name)
        if outcome is None:
            problems.append(f"{job.name} was not begun")
            continue
        if outcome.status is None:
            problems.append(f"{job.name} did not end:\n{_last(outcome.lines)}")
        elif outcome.status != 0:
            said = _last(outcome.failures or outcome.lines)
            problems.append(f"{job.name} ended with {outcome.status}:\n{said}")
        elif job.skips is not None:
            problems += _wrong_counts(job, job.skips, outcome)
    return problems


def _last(lines: list[str]) -> str:
    return "\n".join(lines[-OUTPUT_LINES_MAX:])


def _wrong_counts(job: Job, skips: frozenset[str], outcome: Outcome) -> list[str]:
    problems = [] if outcome.passed else [f"{job.name}: no test ran"]
    more, less = sorted(outcome.skipped - skips), sorted(skips - outcome.skipped)
    if more:
        problems.append(f"{job.name}: skipped, and should run there: {', '.join(more)}")
    if less:
        problems.append(f"{job.name}: not skipped, and cannot run there: {', '.join(less)}")
    return problems


def _plain(text: str) -> list[str]:
    return [ESCAPES.sub("", line).strip("\r") for line in text.split("\n")]


def _machine(guest: Guest, disk: Path) -> list[str]:
    root = "rdinit=/init" if guest.in_memory else f"root=PARTUUID={DISK_LABEL:08x}-01"
    drive = f"file={disk},if=none,id=disk,format=raw,cache=unsafe"
    device = ("-drive", drive, "-device", "nvme,drive=disk,serial=disk")
    return [
        *("timeout", "--kill-after=5", str(guest.limit_s)),
        # On one core the threads see each other's writes in the order of the program.
        *("taskset", "--cpu-list", str(max(os.sched_getaffinity(0)))),
        *("qemu-system-x86_64", *MACHINE),
        *("-cpu", guest.cpu, "-kernel", str(guest.kernel.image)),
        *("-append", f"{COMMAND_LINE} {root}"),
        *(("-initrd", str(disk)) if guest.in_memory else device),
        *guest.devices,
        *(guest.screen.devices() if guest.screen is not None else ()),
    ]


def _make_initramfs(guest: Guest, jobs: Sequence[Job], archive: Path) -> None:
    root = WORK / f"{guest.name}-root"
    shutil.rmtree(root, ignore_errors=True)
    _fill(root, guest, jobs)
    pack = 'cd "$0" && find . | "$1" cpio -o -H newc 2>/dev/null | gzip -1 >"$2"'
    capture(["sh", "-c", pack, root, _busybox(), archive])
    shutil.rmtree(root)


def _make_disk(guest: Guest, jobs: Sequence[Job], disk: Path) -> None:
    root = WORK / f"{guest.name}-root"
    shutil.rmtree(root, ignore_errors=True)
    _fill(root, guest, jobs)
    disk.unlink(missing_ok=True)
    with disk.open("wb") as empty:
        empty.truncate(DISK_BYTES)
    table = WORK / f"{guest.name}.table"
    table.write_text(
        f"label: dos\nlabel-id: 0x{DISK_LABEL:08x}\nstart={PARTITION_AT // SECTOR}, type=83\n"
    )
    # Both are in a folder that only root has in PATH.
    capture(["sh", "-c", 'PATH=$PATH:/sbin sfdisk -q "$0" <"$1"', disk, table])
    place = f"offset={PARTITION_AT},root_owner=0:0"
    options: list[str | Path] = ["-q", "-F", "-t", "ext4", "-E", place, "-d", root]
    kib = f"{(DISK_BYTES - PARTITION_AT) >> 10}k"
    capture(["sh", "-c", 'PATH=$PATH:/sbin mke2fs "$@"', "sh", *options, disk, kib])
    table.unlink()
    shutil.rmtree(root)


def _fill(root: Path, guest: Guest, jobs: Sequence[Job]) -> None:
    """The content of the guest's disk."""
    for folder in ("bin", "dev", "proc", "sys", "tmp", "guest"):
        (root / folder).mkdir(parents=True)
    shutil.copy(_busybox(), root / "bin/busybox")
    shutil.copy(INIT, root / "init")
    (root / "init").chmod(stat.S_IRWXU)
    for file in with_libraries(guest.files):
        place = root / file.relative_to("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, place)
    for number, module in enumerate(guest.kernel.module_files()):
        shutil.copy(module, root / f"guest/{number:02}-{module.name}")
    (root / "guest/jobs").write_text("".join(f"{job.name} {job.command}\n" for job in jobs))


def _busybox() -> Path:
    found = shutil.which("busybox")
    if not found:
        raise Refused("busybox is installed, and not in PATH")
    return Path(found)


def with_libraries(programs: Sequence[Path]) -> list[Path]:
    """The programs and every shared library that they load, each once."""
    found = dict.fromkeys(programs)
    for program in programs:
        listing = run(["ldd", program]).stdout
        missing = re.findall(r"^\s*(\S+) => not found", listing, re.MULTILINE)
        if missing:
            raise Refused(f"{shown(program)} needs {', '.join(missing)}, which is not here")
        found |= dict.fromkeys(Path(p) for p in re.findall(r"(/\S+) \(0x", listing))
    return list(found)
