"""The step emulated-cuda: our GPU code runs, on a CUDA driver that is a CPU program.

emulator/cuda executes the PTX that nvcc makes of our kernels (docs/design/emulator.md says what
that proves). Needs nvcc (105 MB), not a GPU. A run of all steps does what is marked with *, and is
skipped where the compiler cannot be installed; `--only emulated-cuda` does everything, or fails.

1. The portable conformance suite with the generators' kernels and with hostile ones: once in turn*,
   and once for each seed (one*) of a random order of lanes; then with a search for races between
   lanes, and with stores that are seen late, in turn and with a seed*; a kernel that never ends,
   under the driver's watchdog*.
2. The examples for a GPU, with that search*, and the benchmark's list of capabilities*; what nvcc
   makes of NVIDIA's headers for matrices and clusters*.
3. `k2k doctor` with the backend cuda*, every system call beside a thread's*, `k2k grep` beside GNU
   grep*, the applications beside what the CPU answers*, memcached under load*. CoMD, miniFE,
   graph500, BPT and XSBench have their input in managed memory, or before the launch; miniAMR needs
   a device that reaches pages of the host, which EMULATED_CUDA_PAGEABLE makes. The ten generators
   of requests on both kinds of device*.
4. Files into device memory*, an unmodified program under libk2k_io.so*, the memory probe, the
   interference laboratory.
5. Kernels of Numba and cuda.core, LTO-IR linked by nvJitLink*, and tensors in device memory:
   python/k2k_tests/cuda_test.py* and parts of python/gpu_check.py. CuPy and PyTorch bring NVIDIA's
   run-time library, which takes no driver but NVIDIA's; NVRTC and nvcc compile their kernels in
   the step `cuda`.

Elsewhere: the emulator's own tests and those of the shim and the file benchmark on it are part of
`./dev test`, Psylang's of the step `psylang`.
"""

import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from devtool import build
from devtool.console import Refused, Status
from devtool.cuda_toolkit import need_cuda_compiler, need_cuda_python, need_nvjitlink
from devtool.environment import EXIT_MISSING
from devtool.process import Command, cores, last_json, run
from devtool.tree import ROOT

PRESET = "emulated-cuda"
TARGETS = ("gpu_programs", "k2k")
SEEDS = (1, 2, 3)
LIMIT_S = 120
# A driver that waits for a kernel for ever would make the step wait: each launch has an end.
LIMITED = {"EMULATED_CUDA_LAUNCH_LIMIT_MS": "60000", "K2K_CONFIG": "/dev/null"}
WATCHDOG = {"EMULATED_CUDA_LAUNCH_LIMIT_MS": "500"}
ON_GPU = {"K2K_BACKEND": "cuda"}
EXAMPLES = (
    "01_read_a_file",
    "02_groups_and_order",
    "03_not_waiting",
    "04_udp_echo",
    "06_all_reduce",
)
WORDS = ("needle", "thread")
# As a device that reaches the process's pages through Linux. Otherwise it faults on managed memory.
PAGEABLE = ON_GPU | {"EMULATED_CUDA_PAGEABLE": "1"}
# 8,000 comparisons make a folder each.
ON_DISK_OF_MEMORY = {"TMPDIR": "/dev/shm"} if os.access("/dev/shm", os.W_OK) else {}
# Lanes that race, and shared memory that is read before it is written, make the exit status 66.
CHECKS = {"EMULATED_CUDA_RACES": "1", "EMULATED_CUDA_UNINITIALISED": "1"}
# Their lanes race by intent.
NOT_HOSTILE = "--gtest_filter=-HostileKernels.*"


@dataclass(frozen=True)
class Run:
    """One program that has to succeed, and words that its output has to hold."""

    title: str
    command: Command
    env: dict[str, str] = field(default_factory=dict)
    says: str = ""
    limit_s: int = LIMIT_S
    always: bool = True  # False: only if the step is named.


@dataclass(frozen=True)
class Twice:
    """An application whose kernel has to answer what the CPU answers, under one key of its JSON."""

    program: Path
    arguments: Sequence[str | Path]
    by_kernel: str
    by_cpu: str
    key: str
    within: str = ""  # Of each object of the list under `key`.
    env: dict[str, str] = field(default_factory=lambda: ON_GPU)
    cpu_env: dict[str, str] = field(default_factory=lambda: ON_GPU)


def why_missing() -> str:
    """Why the step cannot run here: "" if compiler and Python packages are installed now."""
    try:
        need_cuda_compiler()
        need_cuda_python()
        need_nvjitlink()
    except Refused as refusal:
        if refusal.exit_code != EXIT_MISSING:
            raise
        return str(refusal)
    return ""


def check_emulated_cuda(whole: bool) -> tuple[list[str], str]:
    """Returns the problems found and a note for the table of steps. whole: all parts."""
    build.build(PRESET, TARGETS)
    folder = build.folder(PRESET)
    python = need_cuda_python()
    planned = [*runs(folder), *python_runs(folder, python, need_nvjitlink())]
    wanted = [one for one in planned if one.always or whole]
    with (
        tempfile.TemporaryDirectory() as place,
        Status("on the emulated driver") as status,
        ThreadPoolExecutor(cores()) as pool,
    ):
        applications = twice_runs(folder, Path(place))
        found = [
            *pool.map(lambda one: problems_of(one, status), wanted),
            *pool.map(differs, applications),
            *pool.map(lambda how: grep_differs(folder, how), ("work-item", "work-group")),
        ]
    count = len(wanted) + len(applications) + 2
    problems = [problem for problems in found for problem in problems]
    return problems, f"{count} runs on the emulated driver; no GPU was used"


def runs(folder: Path) -> Iterator[Run]:
    # The longest first, so that the cores end at the same moment.
    yield Run(
        "the interference laboratory",
        [
            *(folder / "cli/k2k", "lab", "interference", "compute", "--quick", "--pairs", "2"),
            *("--source", "kernel", "--setting", "default", "--seconds", "8", "--json"),
        ],
        ON_GPU,
        says='"kind":"result"',
        always=False,
    )
    yield from conformance(folder / "tests/conformance/conformance_gpu_test")
    for name in EXAMPLES:
        yield Run(name, [folder / f"examples/{name}_cuda"], CHECKS)
    yield Run(
        "capabilities",
        [folder / "bench/gpu/device_bench_cuda", "capabilities"],
        says="emulated",
    )
    yield Run(
        "k2k-memcached",
        [
            *(folder / "apps/memcached/k2k-memcached", "--load", "--json", "--keys", "50"),
            *("--set-share", "0.4", "--seconds", "2"),
        ],
        ON_GPU,
        says='"wrong":0',
    )
    for kind, env in (("managed memory", ON_GPU), ("pages of the host", PAGEABLE)):
        generators: Command = [folder / "cli/k2k", "lab", "generators", "--scale", "small"]
        yield Run(f"generators, {kind}", generators, env, says="files")
    nvcc: Command = [folder / "emulator/cuda/emulator_nvcc_cuda"]
    yield Run("kernels of NVIDIA's headers", nvcc, CHECKS, says="all parts are right")
    verify: Command = [folder / "cli/k2k", "calls", "--verify", "--gpu", "--json"]
    yield Run("system calls beside a thread's", verify, ON_DISK_OF_MEMORY, says='"mismatched": 0')
    yield Run("k2k doctor", [folder / "cli/k2k", "doctor"], ON_GPU)
    yield Run(
        "file data",
        [
            folder / "bench/gpu/file_bench_cuda",
            *("--folder", folder, "--mib", "16", "--seconds", "0"),
        ],
        driver_of(folder),
        says='"state":"cold"',
    )
    yield Run(
        "memory probe",
        [folder / "labs/memory_probe_cuda", *("--mib", "4", "--footprint-mib", "32")],
        says='"bench":"managed"',
        always=False,
    )
    yield Run(
        "an unmodified program",
        [folder / "shim/cuda_unmodified", folder / "shim/libk2k_io_router.so"],
        driver_of(folder) | {"LD_PRELOAD": str(folder / "shim/libk2k_io.so")},
        says="pwrite",
    )


def conformance(suite: Path) -> Iterator[Run]:
    says = "[  PASSED  ]"
    yield Run("conformance", [suite], says=says)
    ends: Command = [suite, "--gtest_filter=HostileKernels.that_never_end_*"]
    yield Run("conformance, watchdog", ends, WATCHDOG, says=says)
    pages: Command = [suite, "--gtest_filter=*mapped*:*demand_regions*"]
    yield Run("conformance, pages of the host", pages, PAGEABLE, says=says)
    for seed in SEEDS:
        env = {"EMULATED_CUDA_SEED": str(seed)}
        first = seed == SEEDS[0]
        yield Run(f"conformance, seed {seed}", [suite], env, says=says, always=first)
    for order in ("1", ""):
        always = order != ""
        env = CHECKS | {"EMULATED_CUDA_SEED": order}
        title = f"conformance, races, seed '{order}'"
        yield Run(title, [suite, NOT_HOSTILE], env, says=says, always=always)
        env = {"EMULATED_CUDA_HOLD_STORES": order or "7", "EMULATED_CUDA_SEED": order}
        title = f"conformance, late stores, seed '{order}'"
        yield Run(title, [suite], env, says=says, always=always)


def driver_of(folder: Path) -> dict[str, str]:
    """For programs that find the driver when they run: those with device code are linked to it."""
    return {"LD_LIBRARY_PATH": str(folder / "emulator/cuda/lib")}


def python_runs(folder: Path, python: Path, linker: Path) -> Iterator[Run]:
    """linker: the folder of nvJitLink, which only the part `lto` may find."""
    libraries = driver_of(folder)
    env = {
        "K2K_LIBRARY": str(folder / "libk2k.so"),
        **libraries,
        "PYTHONPATH": str(ROOT / "python"),
        "GPU_CHECK_SMALLER": "16",  # 256 threads, not 4,096.
    }
    tests = [ROOT / "python/k2k_tests" / name for name in ("cuda_test.py", "serving_test.py")]
    pytest: list[str | Path] = [python, "-B", "-m", "pytest", "-q", "-rs", *tests]
    yield Run("Python's tests of kernels", pytest, env, says=" passed")
    script = ROOT / "python/gpu_check.py"
    for name in ("cuda_core", "lto", "numba", "numba_streams", "numba_many"):
        command: Command = [python, "-B", script, name]
        always = name in ("cuda_core", "lto")
        found = {key: f"{value}:{linker}" for key, value in libraries.items()}
        with_linker = env | (found if name == "lto" else {})
        yield Run(f"gpu_check.py {name}", command, with_linker, says='"ok": true', always=always)


def psylang_gpu(folder: Path) -> dict[str, str]:
    """The variables by which Psylang's tests have the emulated driver of a build as their GPU.
    Tests that need a GPU then fail if the driver cannot be used, instead of being skipped."""
    return driver_of(folder) | {"PSYLANG_GPU_TESTS": "1"}


def problems_of(one: Run, status: Status | None = None) -> list[str]:
    if status is not None:
        status.update(one.title)
    done = run(["timeout", str(one.limit_s), *one.command], env=environment(one.env))
    if done.returncode == 0 and one.says in done.stdout:
        return []
    why = f"exit {done.returncode}" if done.returncode else f"it does not say '{one.says}'"
    return [f"{one.title} on the emulated driver: {why}\n{tail_of(done.stdout)}"]


def environment(more: dict[str, str]) -> dict[str, str]:
    return {**LIMITED, "K2K_SOURCE_DIR": str(ROOT), **more}


def tail_of(text: str, lines: int = 30) -> str:
    return "\n".join(text.replace(f"{ROOT}/", "").splitlines()[-lines:])


def twice_runs(folder: Path, place: Path) -> list[Twice]:
    """The applications, on small inputs that they make themselves."""
    apps = folder / "apps"
    wordcount = apps / "wordcount/k2k-wordcount"
    text = ("--files", "12", "--bytes", "3000", "--strings", "20")
    search = apps / "signal_search/k2k-signal-search"
    table = ("--records", "1000", "--queries", "2000")
    comd, minife = apps / "comd/k2k-comd", apps / "minife/k2k-minife"
    graph500 = apps / "graph500/k2k-graph500"
    bpt, xsbench = apps / "bpt/k2k-bpt", apps / "xsbench/k2k-xsbench"
    for program, sizes in (
        (wordcount, text),
        (search, table),
        (comd, ("--unit-cells", "4")),
        (minife, ("--elements", "5")),
        (graph500, ("--scale", "9")),
        (bpt, ("--keys", "3000", "--lookups", "600")),
        (xsbench, ("--nuclides", "8", "--grid-points", "30", "--lookups", "300")),
    ):
        run([program, "--generate", place / program.name, *sizes], env=environment({}))
    words, keys, graph = (place / one.name for one in (wordcount, search, graph500))
    on_cpu = {"K2K_BACKEND": "cpu"}
    inputs = [
        Twice(
            program,
            ("--mode", mode, place / program.name / "unsorted", *more),
            *("kernel", "kernel", "bits"),
            env=env,
            cpu_env=on_cpu,
        )
        for program, more in ((comd, ("--steps", "1")), (minife, ()))
        for mode, env in (("demand", ON_GPU), ("demand", PAGEABLE), ("pinned", ON_GPU))
    ]
    searches = [
        Twice(
            graph500,
            ("--mode", mode, "--direction", direction, "--roots", "4", graph),
            *("kernel", "serial", "searches", "digest"),
            env=env,
        )
        for direction in ("hybrid", "top-down")
        for mode, env in (("demand", PAGEABLE), ("pinned", ON_GPU))
    ]
    lookups = [
        Twice(
            program,
            ("--mode", mode, place / program.name / "unsorted"),
            *("kernel", "threads", "bits"),
            env=env,
        )
        for program in (bpt, xsbench)
        for mode, env in (("demand", ON_GPU), ("demand", PAGEABLE), ("pinned", ON_GPU))
    ]
    return [
        Twice(wordcount, ("-f", words / "strings", words / "files"), "kernel", "openmp", "counts"),
        Twice(
            search,
            (keys / "records", keys / "queries", "--block-queries", "500"),
            *("signals", "serial", "digests"),
        ),
        Twice(
            apps / "miniamr/k2k-miniamr",
            ("--roots", "2", "--steps", "2", "--period", "4", "--items", "64", "--watermark", "1"),
            *("kernel", "serial", "checksum"),
            env=PAGEABLE,
        ),
        *inputs,
        *searches,
        *lookups,
    ]


def differs(one: Twice) -> list[str]:
    answers = []
    for by, env in ((one.by_kernel, one.env), (one.by_cpu, one.cpu_env)):
        command: Command = [one.program, "--json", "--by", by, *one.arguments]
        done = run(["timeout", str(LIMIT_S), *command], env=environment(env))
        found = last_json(done) if done.returncode == 0 else None
        if not isinstance(found, dict) or not found.get(one.key):
            why = f"exit {done.returncode}, no {one.key}"
            return [f"{one.program.name} --by {by}: {why}\n{tail_of(done.stdout)}"]
        answer = found[one.key]
        answers.append([each[one.within] for each in answer] if one.within else answer)
    kernel, cpu = (json.dumps(answer) for answer in answers)
    if kernel == cpu:
        return []
    return [f"{one.program.name}: --by {one.by_kernel} answers {kernel}, {one.by_cpu} {cpu}"]


def grep_differs(folder: Path, how: str) -> list[str]:
    """k2k grep, by work-item or by group, names the files that GNU grep names."""
    with tempfile.TemporaryDirectory() as place:
        words = Path(place) / "words"
        words.write_text("\n".join(WORDS) + "\n")
        tree = ROOT / "apps"
        gnu = run(["grep", "-r", "-F", "-l", "-f", words, tree], env={"LC_ALL": "C"})
        wanted = sorted(gnu.stdout.splitlines())
        ours = run(
            [
                *("timeout", str(LIMIT_S), folder / "cli/k2k", "grep", "-F", "-l"),
                *("-f", words, "--granularity", how, tree),
            ],
            env=environment(ON_GPU),
        )
    found = sorted(line for line in ours.stdout.splitlines() if line.startswith("/"))
    if ours.returncode == 0 and found == wanted and wanted:
        return []
    counts = f"{len(found)} files, GNU grep {len(wanted)}"
    return [f"k2k grep by {how} names {counts}\n" + tail_of(ours.stdout)]
