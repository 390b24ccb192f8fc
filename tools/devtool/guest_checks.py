"""./dev check --only kernel-6.1 and peer-to-peer: tests of the release build in virtual machines.

kernel-6.1    Debian 12's kernel has neither cachestat nor RWF_DONTCACHE, and no RWF_NOWAIT for
              pipes: what falls back there is tested on it. The machine has a screen:
              k2k-display's pictures are compared with it.
peer-to-peer  Two NVMe controllers, one with a memory buffer (CMB), below a kernel with P2PDMA:
              file data go from device to device, or are refused.
"""

import errno
import signal
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from devtool import build
from devtool.debian_kernel import WORK, DebianKernel
from devtool.guest import DISK_BYTES, Guest, Job, Outcome, run_in_guest
from devtool.guest_screen import Image, Screen, Wanted
from devtool.process import capture

PRESET = "release"
TESTS_LIMIT_S = 300  # Ends a program that hangs: the longest takes a minute on an idle machine.
NONE: frozenset[str] = frozenset()

# The cloud kernels have ext4 and NVMe built in; otherwise they equal Debian's usual kernels.
KERNEL_6_1 = DebianKernel("bookworm", "linux-image-cloud-amd64", ("overlay.ko", "loop.ko"))
# Of Debian's kernels only this flavour has the tracers osnoise and timerlat. Its drivers of disks
# are modules.
KERNEL_6_1_RT = DebianKernel("bookworm", "linux-image-rt-amd64")
KERNEL_P2PDMA = DebianKernel("trixie-backports", "linux-image-cloud-amd64", ("loop.ko",))


def _built(path: str) -> Path:
    return build.folder(PRESET) / path


def _tests(program: str, only: str, skips: frozenset[str] = NONE, env: str = "") -> Job:
    """A GoogleTest program of the build, called by its file name."""
    path = _built(program)
    return Job(
        path.name, f"{env} timeout {TESTS_LIMIT_S} {path} --gtest_filter='{only}'".lstrip(), skips
    )


# The other tests do not depend on the kernel, or take long there: on an emulated processor no read
# is so short that it counts as a read from memory (CachedReads). A third field is the environment:
# cores of this machine may go offline.
SMOKE: tuple[tuple[str, ...], ...] = (
    ("src/io/io_test", "*-PeerTransfers.*:NvidiaLibrary.*"),
    (
        "src/router/router_test",
        "FileReader*/host:OpenFiles.*:Prefetching*/host:ReadAhead*-*.stops_short_where_a_*",
    ),
    ("shim/shim_test", "Programs.*:*by_the_router*"),
    ("src/services/services_test", "*"),
    ("src/server/server_test", "RingReadsTest.*:ColdReadsTest.*"),
    (
        "tests/conformance/conformance_test",
        "*/cpu_round_robin-*.a_cap_*:*.it_can_be_reconfigured_*:*_must_poll_*:CachedReads.*"
        # 5 to 60 s each there, and no matter of the kernel.
        ":NoMemory.ends_no_process/*:NoMemory.*_whose_*:*.belong_to_the_parent_where_*",
    ),
    # The BPF programs find the fields of this kernel's types, too; times mean nothing there.
    (
        "cli/watch/watch_test",
        "Tracing.*:Steering.*:Hotplug.*-*_within_two_percent:*.counts_the_timer_*",
        "WATCH_HOTPLUG=1",
    ),
)
SMOKE_SKIPS = {
    # The skip proves that the guest has no cachestat.
    # Only Linux 6.3 and later take back the place of a ring.
    "io_test": {
        "OthersFile.is_reported_by_cachestat_for_a_descriptor_that_can_write",
        "RingOfThreadTest.GivesItsPlaceBack",
    },
    "shim_test": {"Programs.the_library_needs_libc_and_nothing_else"},  # Needs readelf.
}
SMOKE_NEEDS = (
    "src/io/libk2k_io_vendor.so",
    *("shim/libk2k_io.so", "shim/libk2k_io_router.so", "shim/libshim_bounce.so", "shim/shim_probe"),
    "cli/k2k",
)
SMOKE_TARGETS = (
    "io_test",
    "router_test",
    "shim_test",
    "services_test",
    "server_test",
    "conformance_test",
    "watch_test",
    "k2k_cli",
    "k2k_display",
)
# Loaded by name while a program runs, so no program lists it.
HOST_LIBRARIES = ("/usr/lib/x86_64-linux-gnu/libbpf.so.1",)
HOST_TOOLS = ("sh", "bash", "env", "timeout", "cat", "grep")


def check_kernel_6_1() -> tuple[list[str], str]:
    """Returns the problems found and a note for the table of steps."""
    build.build(PRESET, SMOKE_TARGETS)
    jobs = [
        Job("kernel", "uname -r; uname -r | grep -q '^6[.]1[.]'"),
        *(
            _tests(program, only, frozenset(SMOKE_SKIPS.get(Path(program).name, ())), *env)
            for program, only, *env in SMOKE
        ),
        Job("launch", _grep_by_kernel()),
        Job("query", _query_devices()),
        *(Job(f"display-{shown.name}", _show(shown)) for shown in PICTURES),
    ]
    files = [_built(program) for program, *_ in SMOKE] + [_built(path) for path in SMOKE_NEEDS]
    pictures = [_bmp_of(shown) for shown in PICTURES]
    screen = Screen([wanted for shown in PICTURES for wanted in _screens_of(shown)])
    files += [_built(DISPLAY), *pictures, *_host_tools()]
    guest = Guest("kernel-6.1", KERNEL_6_1, "max", files, screen=screen)
    problems, outcomes = run_in_guest(guest, jobs)
    more, noise = _compare_with_osnoise()
    return [*problems, *more], f"{_note(outcomes)}; {noise}"


def _compare_with_osnoise() -> tuple[list[str], str]:
    """k2k watch beside Linux' own tracer of noise."""
    tracefs = "mount -t tracefs t /sys/kernel/tracing;"
    test = _tests("cli/watch/watch_test", "Osnoise.*", env=tracefs)
    kernel = Job("kernel", "uname -r; uname -r | grep -q 'rt'")
    files = [_built("cli/watch/watch_test"), *_host_tools()]
    guest = Guest("kernel-6.1-rt", KERNEL_6_1_RT, "max", files, in_memory=True)
    problems, outcomes = run_in_guest(guest, [kernel, test])
    lines = outcomes["watch_test"].lines if "watch_test" in outcomes else []
    found = next((line for line in lines if line.startswith("seconds of core")), "no comparison")
    return [f"{guest.name}: {problem}" for problem in problems], found


def _grep_by_kernel() -> str:
    """A kernel walks a folder, opens and reads its files, and prints the names that grep prints."""
    folder = "mkdir found && echo needle > found/one && echo hay > found/two"
    return (
        f"{folder} && {_built('cli/k2k')} grep -F -l needle found 2>/dev/null | grep -x found/one"
    )


@dataclass(frozen=True)
class Shown:
    """A picture that k2k-display shows in the guest."""

    name: str
    image: Image
    bits: int
    top_down: bool
    by: str
    signal: str = "TERM"  # Ends the program.


# One within the firmware's screen of 1,280 by 800 pixels, and one beyond it.
DISPLAY = "apps/display/k2k-display"
PICTURES = (
    Shown("small", Image.of_noise(601, 397, 1), 24, False, "map"),
    Shown("large", Image.of_noise(1301, 811, 2), 32, True, "write"),
    # A process that dies leaves the console to a child of its own.
    Shown("killed", Image.of_noise(64, 48, 3), 24, False, "map", "KILL"),
)


def _bmp_of(shown: Shown) -> Path:
    WORK.mkdir(parents=True, exist_ok=True)
    path = WORK / f"{shown.name}.bmp"
    path.write_bytes(shown.image.bmp(shown.bits, shown.top_down))
    return path


def _screens_of(shown: Shown) -> list[Wanted]:
    return [
        Wanted(shown.name, shown.image),
        Wanted(f"{shown.name}-after", shown.image, shown=False),  # The console has its text back.
    ]


def _show(shown: Shown) -> str:
    """Shows the picture, waits until the host has read the screen, and ends the program. After a
    second the console has its text back."""
    program = f"{_built(DISPLAY)} --by {shown.by} --terminal /dev/tty0 --seconds 600"
    status = 0 if shown.signal == "TERM" else 128 + signal.SIGKILL
    out = f"shown-{shown.name}"  # Its own: the program may begin after the first look.
    return (
        f"exec 3<>/dev/ttyS1; : >{out}; {program} {_bmp_of(shown)} >{out} & "
        f"while kill -0 $! 2>/dev/null && ! grep -q shown: {out}; do sleep 0.1; done; cat {out}; "
        f"echo @screen {shown.name}; read -r answer <&3; "
        f"kill -{shown.signal} $!; wait $!; [ $? = {status} ] && sleep 1 && "
        f'echo @screen {shown.name}-after && read -r answer <&3 && [ "$answer" = done ]'
    )


def _query_devices() -> str:
    """A kernel's own ioctls of the guest's disk, framebuffer and console."""
    answers = (
        f'"kind":"block device","bytes":{DISK_BYTES},"sector_bytes":512,"read_only":false',
        '"kind":"framebuffer","driver":"EFI VGA","width":1280,"height":800,"bits":32',
        '"kind":"terminal","rows":',
    )
    greps = "".join(f" && grep -qF '{answer}' answers" for answer in answers)
    asked = f"{_built(DISPLAY)} --json --query /dev/nvme0n1 /dev/fb0 /dev/tty0 >answers"
    return f"{asked}; cat answers{greps}"


# A drive whose controller has memory of its own, beside the disk. The processor decides whether
# Linux trusts the way between two devices on the root bus: it does on AMD's from family 17h on.
CMB_MIB = 64
CMB_DRIVE = (
    *("-blockdev", f"driver=null-co,node-name=cmb,size={CMB_MIB << 20},read-zeroes=on"),
    *("-device", f"nvme,drive=cmb,serial=cmb,cmb_size_mb={CMB_MIB}"),
)
PEER_DEVICE = "K2K_PEER_DEVICE=$(ls -d /sys/bus/pci/devices/*/p2pmem | cut -d/ -f6)"
PEER_TESTS = (
    ("src/io/io_test", "PeerTransfers.*:PeerTest.*"),
    ("src/router/router_test", "ReaderOnPeerDevice.*"),
)
WHERE_REFUSED = frozenset(
    {
        "PeerTransfers.are_refused_where_no_way_leads_from_device_to_device",
        "ReaderOnPeerDevice.copies_all_where_no_way_leads_and_tries_each_file_once",
    }
)
WHERE_REACHED = frozenset(
    {
        "PeerTransfers.read_a_file_past_the_page_cache",
        "PeerTransfers.write_a_file_past_the_page_cache",
        "PeerTransfers.end_where_the_file_does_and_are_refused_misaligned",
        "ReaderOnPeerDevice.reads_cached_pages_by_copies_and_the_rest_directly",
        "ReaderOnPeerDevice.completes_unaligned_ends_by_copies",
    }
)


# A driver that takes no peer memory, below a file system of its own.
LOOP = (
    "truncate -s 64M image && mke2fs -q -F -b 4096 image && mkdir loop"
    " && losetup /dev/loop0 image && mount -t ext2 /dev/loop0 loop"
)


def check_peer_to_peer() -> tuple[list[str], str]:
    """Returns the problems found and a note for the table of steps."""
    build.build(PRESET, ["io_test", "router_test"])
    no_way = _peer_tests(WHERE_REACHED, f"K2K_PEER_REFUSED={errno.EINVAL}")
    no_driver = [
        replace(job, name=f"{job.name}-on-loop")
        for job in _peer_tests(
            WHERE_REACHED, f"TMPDIR=/tmp/loop K2K_PEER_REFUSED={errno.EREMOTEIO}"
        )
    ]
    reached = [*_peer_tests(WHERE_REFUSED), Job("loop", LOOP), *no_driver]
    problems, note = _peers("peer-to-peer", "EPYC-v1", reached)
    more_problems, more = _peers("peer-refused", "qemu64", no_way)
    return [*problems, *more_problems], f"{note}; no way between the two: {more}"


def _peers(name: str, cpu: str, jobs: Sequence[Job]) -> tuple[list[str], str]:
    kernel = Job("kernel", "uname -r; ls /sys/bus/pci/devices/*/p2pmem/allocate")
    files = [_built(program) for program, _ in PEER_TESTS]
    guest = Guest(name, KERNEL_P2PDMA, cpu, [*files, *_host_tools()], CMB_DRIVE)
    problems, outcomes = run_in_guest(guest, [kernel, *jobs])
    return [f"{name}: {problem}" for problem in problems], _note(outcomes)


def _peer_tests(skips: frozenset[str], env: str = "") -> list[Job]:
    return [
        _tests(program, only, _of(skips, only), f"{PEER_DEVICE} {env}".rstrip())
        for program, only in PEER_TESTS
    ]


def _of(skips: frozenset[str], only: str) -> frozenset[str]:
    """The expected skips of a program, by the suites in its filter."""
    return frozenset(test for test in skips if f"{test.partition('.')[0]}.*" in only.split(":"))


def _host_tools() -> list[Path]:
    found = [Path(capture(["which", name]).strip()) for name in HOST_TOOLS]
    libraries = [Path(library) for library in HOST_LIBRARIES]
    return [*found, *libraries, Path("/bin/sh")]  # The shell of popen(3).


def _note(outcomes: dict[str, Outcome]) -> str:
    passed = sum(outcome.passed for outcome in outcomes.values())
    skipped = sum(len(outcome.skipped) for outcome in outcomes.values())
    kernel = "".join(outcomes["kernel"].lines[:1]) if "kernel" in outcomes else "no kernel"
    return f"{passed} tests passed, {skipped} skipped, on {kernel}"
