"""./dev check --only emulated-cuda: our GPU code runs, on a CUDA driver that is a CPU program.

emulator/cuda executes the PTX that nvcc makes of our kernels (docs/design/emulator.md says what
that proves). Needs the toolkit, not a GPU.

1. The portable conformance suite: once in turn, and once for each seed of a random order of lanes;
   then with a search for races between lanes, and with stores that are seen late.
2. The examples for a GPU, with that search, and the benchmark's list of capabilities.
3. `k2k doctor` with the backend cuda, and `k2k grep` beside GNU grep.
4. Kernels of Numba and cuda.core, and tensors in device memory: python/k2k_tests/cuda_test.py and
   parts of python/gpu_check.py. CuPy and PyTorch bring NVIDIA's run-time library, which takes no
   driver but NVIDIA's; NVRTC and nvcc compile their kernels in the step `cuda`.
5. Psylang's models: the bits of the CPU.
"""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from devtool import build
from devtool.console import Status
from devtool.cuda_toolkit import need_cuda_python
from devtool.environment import need_python_tools
from devtool.process import Command, cores, run
from devtool.tree import ROOT, VENV

PRESET = "emulated-cuda"
SEEDS = (1, 2, 3)
LIMIT_S = 120
PSYLANG_LIMIT_S = 600
PSYLANG_TESTS = "psylang/psylang/runtime/cuda"
TARGETS = ("gpu_programs", "emulator_test", "k2k", "k2k-memcached")
# A driver that waits for a kernel for ever would make the step wait: each launch has an end.
LIMITED = {"EMULATED_CUDA_LAUNCH_LIMIT_MS": "60000", "K2K_CONFIG": "/dev/null"}
EXAMPLES = (
    "01_read_a_file",
    "02_groups_and_order",
    "03_not_waiting",
    "04_udp_echo",
    "06_all_reduce",
)
WORDS = ("needle", "thread")
# Lanes that race, and shared memory that is read before it is written, make the exit status 66.
CHECKS = {"EMULATED_CUDA_RACES": "1", "EMULATED_CUDA_UNINITIALISED": "1"}


@dataclass(frozen=True)
class Run:
    """One program that has to succeed, and words that its output has to hold."""

    title: str
    command: Command
    env: dict[str, str] = field(default_factory=dict)
    says: str = ""
    limit_s: int = LIMIT_S


def check_emulated_cuda() -> tuple[list[str], str]:
    """Returns the problems found and a note for the table of steps."""
    build.build(PRESET, TARGETS)
    folder = build.folder(PRESET)
    problems = []
    count = 0
    with Status("on the emulated driver") as status:
        for one in runs(folder):
            status.update(one.title)
            problems += problems_of(one)
            count += 1
        status.update("k2k grep")
        problems += grep_differs(folder)
        status.update("kernels of Python")
        python = need_cuda_python()
        for one in python_runs(folder, python):
            problems += problems_of(one)
            count += 1
        status.update("psylang")
        need_python_tools()
        problems += problems_of(psylang_tests(folder))
    return problems, f"{count} programs on the emulated driver, {len(SEEDS)} seeds; no GPU was used"


def runs(folder: Path) -> Iterator[Run]:
    yield Run("tests of the emulator", [folder / "emulator/cuda/emulator_test"])
    suite = folder / "tests/conformance/conformance_gpu_test"
    yield Run("conformance", [suite], says="[  PASSED  ]")
    for seed in SEEDS:
        env = {"EMULATED_CUDA_SEED": str(seed)}
        yield Run(f"conformance, seed {seed}", [suite], env, says="[  PASSED  ]")
    for order in ("", "1"):
        env = CHECKS | {"EMULATED_CUDA_SEED": order}
        yield Run(f"conformance, races, seed '{order}'", [suite], env, says="[  PASSED  ]")
        env = {"EMULATED_CUDA_HOLD_STORES": order or "7", "EMULATED_CUDA_SEED": order}
        yield Run(f"conformance, late stores, seed '{order}'", [suite], env, says="[  PASSED  ]")
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
        {"K2K_BACKEND": "cuda"},
        says='"wrong":0',
    )
    yield Run("k2k doctor", [folder / "cli/k2k", "doctor"], {"K2K_BACKEND": "cuda"})
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
    )
    yield Run(
        "the interference laboratory",
        [
            *(folder / "cli/k2k", "lab", "interference", "compute", "--quick", "--pairs", "2"),
            *("--source", "kernel", "--setting", "default", "--seconds", "8", "--json"),
        ],
        {"K2K_BACKEND": "cuda"},
        says='"kind":"result"',
    )
    yield Run(
        "an unmodified program",
        [folder / "shim/cuda_unmodified", folder / "shim/libk2k_io_router.so"],
        driver_of(folder) | {"LD_PRELOAD": str(folder / "shim/libk2k_io.so")},
        says="pwrite",
    )


def driver_of(folder: Path) -> dict[str, str]:
    """For programs that find the driver when they run: those with device code are linked to it."""
    return {"LD_LIBRARY_PATH": str(folder / "emulator/cuda/lib")}


def python_runs(folder: Path, python: Path) -> Iterator[Run]:
    env = {
        "K2K_LIBRARY": str(folder / "libk2k.so"),
        **driver_of(folder),
        "PYTHONPATH": str(ROOT / "python"),
        "GPU_CHECK_SMALLER": "16",  # 256 threads, not 4,096.
    }
    tests = [ROOT / "python/k2k_tests" / name for name in ("cuda_test.py", "serving_test.py")]
    pytest: list[str | Path] = [python, "-B", "-m", "pytest", "-q", "-rs", *tests]
    yield Run("Python's tests of kernels", pytest, env, says=" passed")
    script = ROOT / "python/gpu_check.py"
    for name in ("numba", "numba_streams", "numba_many", "cuda_core"):
        yield Run(f"gpu_check.py {name}", [python, "-B", script, name], env, says='"ok": true')


def psylang_gpu(folder: Path) -> dict[str, str]:
    """The variables by which Psylang's tests have the emulated driver of a build as their GPU."""
    return driver_of(folder) | {"PSYLANG_GPU_TESTS": "1"}


def psylang_tests(folder: Path) -> Run:
    """Tests that need a GPU fail there if the driver cannot be used, instead of being skipped."""
    command: Command = [VENV / "bin/pytest", "-q", "-n", str(cores()), PSYLANG_TESTS]
    return Run("psylang", command, psylang_gpu(folder), says=" passed", limit_s=PSYLANG_LIMIT_S)


def problems_of(one: Run) -> list[str]:
    command = ["timeout", str(one.limit_s), *one.command]
    done = run(command, env={**LIMITED, "K2K_SOURCE_DIR": str(ROOT), **one.env})
    if done.returncode == 0 and one.says in done.stdout:
        return []
    why = f"exit {done.returncode}" if done.returncode else f"it does not say '{one.says}'"
    return [f"{one.title} on the emulated driver: {why}\n{tail_of(done.stdout)}"]


def tail_of(text: str, lines: int = 30) -> str:
    return "\n".join(text.replace(f"{ROOT}/", "").splitlines()[-lines:])


def grep_differs(folder: Path) -> list[str]:
    """Both granularities of k2k grep name the files that GNU grep names."""
    problems = []
    with tempfile.TemporaryDirectory() as place:
        words = Path(place) / "words"
        words.write_text("\n".join(WORDS) + "\n")
        tree = ROOT / "apps"
        gnu = run(["grep", "-r", "-F", "-l", "-f", words, tree], env={"LC_ALL": "C"})
        wanted = sorted(gnu.stdout.splitlines())
        for how in ("work-item", "work-group"):
            ours = run(
                [
                    *("timeout", str(LIMIT_S), folder / "cli/k2k", "grep", "-F", "-l"),
                    *("-f", words, "--granularity", how, tree),
                ],
                env={**LIMITED, "K2K_BACKEND": "cuda"},
            )
            found = sorted(line for line in ours.stdout.splitlines() if line.startswith("/"))
            if ours.returncode != 0 or found != wanted or not wanted:
                problems.append(
                    f"k2k grep by {how} names {len(found)} files, GNU grep {len(wanted)}\n"
                    + tail_of(ours.stdout)
                )
    return problems
