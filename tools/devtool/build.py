"""Configures and builds one preset: a status line for people, the whole log in a file."""

import contextlib
import fcntl
import hashlib
import json
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from devtool.console import Refused, Status
from devtool.cuda_toolkit import need_cuda_compiler
from devtool.environment import BPF_PACKAGES, BUILD_PACKAGES, Package, need_packages
from devtool.process import cores, run, run_logged
from devtool.tree import BUILD, ROOT

ERROR_LINES_MAX = 60
CUDA_PRESET = "cuda"
TOOLKIT_PRESETS = (CUDA_PRESET, "emulated-cuda")
HIP_PRESET = "hip"
HIP_PACKAGES = (Package("clang-19", "clang-19"), Package("lld-19", "ld.lld-19"))
COMPILER_COMMAND = re.compile(r"(: && )?(/\S*/)?(cmake -E env|ccache|cc|c\+\+|g\+\+) ")
PROGRESS = re.compile(r"^(\[\d+/\d+\]) (.*)")


def presets() -> list[str]:
    listed = json.loads((ROOT / "CMakePresets.json").read_text())["configurePresets"]
    return [preset["name"] for preset in listed if not preset.get("hidden")]


def folder(preset: str) -> Path:
    return BUILD / preset


def configure(preset: str, packages: tuple[Package, ...] = BUILD_PACKAGES) -> None:
    """Runs CMake for a new build folder, changed presets or the first build with a compiler for
    BPF. Ninja sees the other reasons."""
    if preset not in presets():
        raise Refused(f"there is no preset {preset}; choose from: {', '.join(presets())}", 2)
    need_packages(packages)
    if preset in TOOLKIT_PRESETS:
        need_cuda_compiler()
    if preset == HIP_PRESET:
        need_packages(HIP_PACKAGES)
    wanted = hashlib.sha256((ROOT / "CMakePresets.json").read_bytes()).hexdigest()
    wanted += f" {shutil.which(BPF_PACKAGES[0].command) or 'without BPF'}"
    stamp = folder(preset) / "presets.sha256"
    ready = (folder(preset) / "build.ninja").exists()
    if ready and stamp.exists() and stamp.read_text() == wanted:
        return
    with Status(f"configure {preset}"):
        done = run(["cmake", "--preset", preset])
        if done.returncode != 0:
            raise Refused(f"CMake refused the preset {preset}:\n{_errors(done.stdout)}")
    stamp.write_text(wanted)


def build(preset: str, targets: Sequence[str] = ()) -> None:
    with only_one(preset):
        configure(preset, BUILD_PACKAGES if targets else (*BUILD_PACKAGES, *BPF_PACKAGES))
        log = folder(preset) / "build.log"
        command: list[str | Path] = ["cmake", "--build", folder(preset), "--parallel", str(cores())]
        if targets:
            command += ["--target", *targets]
        with Status(f"build {preset}") as status:

            def show(line: str) -> None:
                if match := PROGRESS.match(line):
                    status.update(f"{match[1]} {match[2].split('/')[-1]}")

            code = run_logged(command, log, show, env={"NINJA_STATUS": "[%f/%t] "})
            if code != 0:
                raise Refused(
                    f"the build of {preset} failed. The errors "
                    f"(whole log: build/{preset}/build.log):\n{_errors(log.read_text())}"
                )


def _errors(log: str) -> str:
    """The part of a log worth reading: from the first failure on, or else the end."""
    lines = log.splitlines()
    first = next(
        (i for i, line in enumerate(lines) if line.startswith(("FAILED:", "CMake Error"))),
        max(0, len(lines) - ERROR_LINES_MAX),
    )
    # The command line of the compiler is long and does not describe the error.
    useful = [line for line in lines[first:] if not COMPILER_COMMAND.match(line)]
    more = len(useful) - ERROR_LINES_MAX
    return "\n".join(useful[:ERROR_LINES_MAX] + ([f"… {more} more lines"] if more > 0 else []))


@contextlib.contextmanager
def only_one(preset: str) -> Iterator[None]:
    """Two builds in one folder would destroy each other's files: the second waits."""
    folder(preset).mkdir(parents=True, exist_ok=True)
    with (folder(preset) / "dev.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            with Status(f"waiting for another ./dev in build/{preset}"):
                fcntl.flock(lock, fcntl.LOCK_EX)
        yield
