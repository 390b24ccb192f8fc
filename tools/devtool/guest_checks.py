"""./dev check --only kernel-6.1: tests of the release build in a virtual machine.

Debian 12's kernel has neither cachestat nor RWF_DONTCACHE, and no RWF_NOWAIT for pipes: what falls
back there is tested on it.
"""

from pathlib import Path

from devtool import build
from devtool.debian_kernel import DebianKernel
from devtool.guest import Guest, Job, Outcome, run_in_guest
from devtool.process import capture

PRESET = "release"
NONE: frozenset[str] = frozenset()

# The cloud kernels have ext4 and NVMe built in; else they are what every Debian machine has.
KERNEL_6_1 = DebianKernel("bookworm", "linux-image-cloud-amd64", ("overlay.ko", "loop.ko"))


def _built(path: str) -> Path:
    return build.folder(PRESET) / path


def _tests(program: str, only: str, skips: frozenset[str] = NONE, env: str = "") -> Job:
    """A GoogleTest program of the build, called by its file name."""
    path = _built(program)
    return Job(path.name, f"{env} timeout 90 {path} --gtest_filter='{only}'".lstrip(), skips)


# What is left out asks nothing of a kernel, or takes long there.
SMOKE = (
    ("src/io/io_test", "*-Partition.*"),
    ("src/router/router_test", "FileReader.*:OpenFiles.*:Prefetching.*-*.stops_short_where_a_*"),
    ("shim/shim_test", "Programs.*:*by_the_router*"),
    ("src/services/services_test", "*"),
    (
        "tests/conformance/conformance_test",
        "*/cpu_round_robin-*.a_cap_*:*.it_can_be_reconfigured_*",
    ),
)
SMOKE_SKIPS = {
    # By its skip the guest proves that it has no cachestat.
    "io_test": {"OthersFile.is_told_of_by_cachestat_to_who_has_it_open_for_writing"},
    "shim_test": {"Programs.the_library_needs_libc_and_nothing_else"},  # Asks readelf.
}
SMOKE_NEEDS = (
    *("shim/libk2k_io.so", "shim/libk2k_io_router.so", "shim/libshim_bounce.so", "shim/shim_probe"),
    "cli/k2k",
)
SMOKE_TARGETS = (
    "io_test",
    "router_test",
    "shim_test",
    "services_test",
    "conformance_test",
    "k2k_cli",
)
HOST_TOOLS = ("sh", "bash", "env", "timeout", "cat", "grep")


def check_kernel_6_1() -> tuple[list[str], str]:
    """Returns the problems found and a note for the table of steps."""
    build.build(PRESET, SMOKE_TARGETS)
    jobs = [
        Job("kernel", "uname -r; uname -r | grep -q '^6[.]1[.]'"),
        *(
            _tests(program, only, frozenset(SMOKE_SKIPS.get(Path(program).name, ())))
            for program, only in SMOKE
        ),
        Job("launch", _grep_by_kernel()),
    ]
    files = [_built(program) for program, _ in SMOKE] + [_built(path) for path in SMOKE_NEEDS]
    guest = Guest("kernel-6.1", KERNEL_6_1, "max", [*files, *_host_tools()])
    problems, outcomes = run_in_guest(guest, jobs)
    return problems, _note(outcomes)


def _grep_by_kernel() -> str:
    """A kernel walks a folder, opens and reads its files, and names what grep would."""
    folder = "mkdir found && echo needle > found/one && echo hay > found/two"
    return (
        f"{folder} && {_built('cli/k2k')} grep -F -l needle found 2>/dev/null | grep -x found/one"
    )


def _host_tools() -> list[Path]:
    found = [Path(capture(["which", name]).strip()) for name in HOST_TOOLS]
    return [*found, Path("/bin/sh")]  # Where popen(3) looks.


def _note(outcomes: dict[str, Outcome]) -> str:
    passed = sum(outcome.passed for outcome in outcomes.values())
    skipped = sum(len(outcome.skipped) for outcome in outcomes.values())
    kernel = "".join(outcomes["kernel"].lines[:1]) if "kernel" in outcomes else "no kernel"
    return f"{passed} tests passed, {skipped} skipped, on {kernel}"
