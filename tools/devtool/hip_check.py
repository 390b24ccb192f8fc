"""./dev check --only hip: kernels for AMD GPUs are compiled, embedded, found and loaded.

clang 19 and lld 19 compile programs with kernels for gfx90a and gfx942 (preset hip), without any
part of ROCm. No device is there: HIP's runtime is the one of the tests (src/backend/hip/
fake_runtime), which reads the code objects as AMD's does, but cannot execute them.

1. Every program is built. Those that are run find each of their kernels in the code objects of both
   architectures, by the name and the image that the program registered; a launch passes its
   arguments at the offsets that the kernel's metadata state. Then it fails, for want of a device.
2. A device of another architecture, and a machine without HIP, give an error with the remedy.
3. K2K is installed, and a program outside the tree (tests/install_hip) does the same with its own
   kernel, by find_package(k2k) and k2k_add_hip_kernels().
4. The declarations of src/backend/hip/library.hpp are those of HIP's header, which is unpacked from
   Debian's package, not installed: with ROCm's library installed, tests that expect none fail.
"""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from devtool import build
from devtool.console import Status
from devtool.environment import BUILD_PACKAGES, need_packages
from devtool.process import Command, run
from devtool.tree import BUILD, ROOT, files

PRESET = build.HIP_PRESET
INSTALLED = ("k2k", "k2k_shim", "k2k_shim_router", "k2k_cli", "pages", "k2k_hip_registration")
TARGETS = ("hip_programs", "k2k_hip_fake", *INSTALLED)
OUTSIDE = ROOT / "tests/install_hip"
ARCHITECTURES = ("gfx90a", "gfx942")
OTHER_ARCHITECTURE = "gfx1030"
HEADER_PACKAGE = "libamdhip64-dev"
DECLARATIONS = ROOT / "src/backend/hip/declarations/declarations.cpp"
LIMIT_S = 120
NO_DEVICE = "hipErrorLaunchFailure"
# Its host waits for the packets of its kernel: compiled only.
WAITING_EXAMPLE = "04_udp_echo"


@dataclass(frozen=True)
class Run:
    """One program, and what it has to do."""

    title: str
    command: Command
    says: str
    status: int
    env: dict[str, str] = field(default_factory=dict)


def check_hip() -> tuple[list[str], str]:
    """Returns the problems found and a note for the table of steps."""
    need_packages((*BUILD_PACKAGES, *build.HIP_PACKAGES))
    build.build(PRESET, TARGETS)
    folder = build.folder(PRESET)
    planned = list(runs(folder))
    problems = outside(folder)
    if not problems:
        planned += outside_runs(folder)
    with Status("on the tests' own HIP runtime") as status:
        for one in planned:
            status.update(one.title)
            problems += problems_of(one)
    problems += declarations()
    return problems, (
        f"{len(planned)} runs for {', '.join(ARCHITECTURES)} on a runtime of the tests' own; "
        "never run on a device"
    )


def outside(folder: Path) -> list[str]:
    """Installs K2K and builds the program outside of the tree. Returns the problems."""
    prefix, place = prefix_of(folder), program_of(folder).parent
    for old in (prefix, place):
        shutil.rmtree(old, ignore_errors=True)
    steps: list[Command] = [
        ["cmake", "--install", folder, "--prefix", prefix],
        [
            *("cmake", "-S", OUTSIDE, "-B", place, "-G", "Ninja"),
            f"-DCMAKE_PREFIX_PATH={prefix}",
        ],
        ["cmake", "--build", place],
    ]
    with Status("a program outside the tree"):
        for step in steps:
            done = run(step)
            if done.returncode != 0:
                end = "\n".join(done.stdout.splitlines()[-20:])
                return [f"a program outside the tree: `{' '.join(map(str, step))}`:\n{end}"]
    return []


def outside_runs(folder: Path) -> Iterator[Run]:
    program: Command = [program_of(folder)]
    env = {"LD_LIBRARY_PATH": str(prefix_of(folder) / "lib"), "K2K_CONFIG": "/dev/null"}
    yield Run("outside, no HIP", program, "no HIP device can be used", 77, env)
    for architecture in ARCHITECTURES:
        fake = runtime_of(folder, architecture)
        libraries = f"{env['LD_LIBRARY_PATH']}:{fake['LD_LIBRARY_PATH']}"
        title = f"outside, {architecture}"
        yield Run(title, program, NO_DEVICE, 1, fake | {"LD_LIBRARY_PATH": libraries})


def prefix_of(folder: Path) -> Path:
    return folder / "outside/prefix"


def program_of(folder: Path) -> Path:
    return folder / "outside/build/outside_hip"


def runs(folder: Path) -> Iterator[Run]:
    suite = folder / "tests/conformance/conformance_hip_test"
    examples = [path.stem for path in files(".cpp", under="examples")]
    examples.remove(WAITING_EXAMPLE)
    yield Run("no HIP", [suite, "--gtest_filter=-*"], "no HIP device can be used", 77)
    for architecture in ARCHITECTURES:
        env = runtime_of(folder, architecture)
        device = f"device: Fake {architecture}"
        yield Run(f"conformance, {architecture}", [suite, "--gtest_filter=-*"], device, 0, env)
        for name in examples:
            program = folder / f"examples/{name}_hip"
            yield Run(f"{name}, {architecture}", [program], NO_DEVICE, 1, env)
        count: Command = [folder / "apps/wordcount/k2k-wordcount", "-e", "kernel", "README.md"]
        yield Run(f"wordcount, {architecture}", count, NO_DEVICE, 1, env)
        cells: Command = [folder / "apps/miniamr/k2k-miniamr"]  # Refused once its kernel is loaded.
        yield Run(f"miniAMR, {architecture}", cells, "does not reach pages of mmap(2)", 1, env)
        doctor: Command = [folder / "cli/k2k", "doctor"]
        yield Run(f"k2k doctor, {architecture}", doctor, NO_DEVICE, 1, env)
        info: Command = [folder / "cli/k2k", "info"]
        yield Run(f"k2k info, {architecture}", info, f"Fake {architecture}", 0, env)
    yield Run(
        f"code for {OTHER_ARCHITECTURE}",
        [suite, "--gtest_filter=-*"],
        f"hipErrorNoBinaryForGpu (no kernel image is available for execution on the device); the "
        f"program has code for {', '.join(ARCHITECTURES)}",
        1,
        runtime_of(folder, OTHER_ARCHITECTURE),
    )


def runtime_of(folder: Path, architecture: str) -> dict[str, str]:
    return {
        "LD_LIBRARY_PATH": str(folder / "src/backend/hip_runtime"),
        "FAKE_HIP_ARCHITECTURE": architecture,
        "K2K_BACKEND": "hip",
        "K2K_CONFIG": "/dev/null",
    }


def problems_of(one: Run) -> list[str]:
    done = run(["timeout", str(LIMIT_S), *one.command], env=one.env)
    if done.returncode == one.status and one.says in done.stdout:
        return []
    end = "\n".join(done.stdout.splitlines()[-20:])
    return [
        f"{one.title}: exit {done.returncode}, expected were {one.status} and {one.says!r}\n{end}"
    ]


def declarations() -> list[str]:
    """What differs between our declarations and HIP's header."""
    place = BUILD / PRESET / "header"
    include = place / "usr/include"
    if not (include / "hip/hip_runtime_api.h").exists():
        place.mkdir(parents=True, exist_ok=True)
        done = run(["apt-get", "download", HEADER_PACKAGE], cwd=place)
        packages = sorted(place.glob(f"{HEADER_PACKAGE}_*.deb"))
        if done.returncode != 0 or not packages:
            command = f"apt-get download {HEADER_PACKAGE}"
            return [f"HIP's header cannot be fetched ({command}):\n{done.stdout}"]
        done = run(["dpkg-deb", "--extract", packages[-1], place])
        if done.returncode != 0:
            return [f"{packages[-1].name} cannot be unpacked:\n{done.stdout}"]
    done = run(
        [
            *("c++", "-std=c++20", "-fsyntax-only", "-w", f"-I{ROOT / 'src'}"),
            *(f"-I{ROOT / 'include'}", "-isystem", include, DECLARATIONS),
        ]
    )
    return [] if done.returncode == 0 else [f"differences to HIP's header:\n{done.stdout}"]
