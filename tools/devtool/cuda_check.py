"""./dev check --only cuda: the checks of the CUDA build that need no device.

1. Backend and all programs with kernels build: command line, examples, conformance, benchmark.
2. No kernel holds a read-modify-write at system scope: on host memory it would not be atomic
   towards the CPU (founding decision 1). Looked for in the machine code and in the PTX.
3. Registers, stack and spills of every kernel, as a table in build/cuda/kernels.txt.
4. NVRTC compiles the device header, as C++17, in at most so many times the time of an empty source.
5. What src/io declares of CUDA and cuFile is what NVIDIA's headers declare, and its libcufile is
   loaded by our code (vendor_declarations.py).
6. NVRTC compiles the kernels of python/gpu_checks: CuPy, cuda.core and PyTorch pass them so.
7. ptxas assembles the kernels of Psylang's models; registers and spills by limit of registers, as
   a table in build/cuda/psylang_registers.txt.
8. What a machine with a GPU needs is packed into build/gpu (bench/gpu/run.sh runs it).
"""

import ctypes
import os
import re
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from devtool import build
from devtool.console import Refused, Status
from devtool.cuda_toolkit import need_cuda_toolkit
from devtool.environment import Package, need_packages, need_python_tools
from devtool.process import Command, capture, run
from devtool.revision import commit
from devtool.tree import BUILD, ROOT, shown
from devtool.vendor_declarations import check_declarations, check_library

PRESET = build.CUDA_PRESET
ARCHITECTURE = "sm_90"
TABLE = BUILD / PRESET / "kernels.txt"
PSYLANG_TABLE = BUILD / PRESET / "psylang_registers.txt"
PSYLANG_MODELS: tuple[tuple[str, ...], ...] = (
    (),  # All models of the library.
    ("psylang.models:predator_prey", "--set", "levels=100"),  # Its threads share the search.
)
PACKED = BUILD / "gpu"
NVRTC_BUDGET = 16  # Times the time of an empty source.
NVRTC_RUNS = 5
GLIBC_MAX = (2, 34)
INCLUDE = (ROOT / "include", ROOT / "src", ROOT / "src/device/nvrtc")  # k2k.get_include()
# What a machine with a GPU runs, too, though it holds no device code.
HOST_PROGRAMS = ("bench/gpu/file_bench_cuda", "shim/cuda_unmodified")
# The library under the name that k2k/_library.py asks for, and the shim.
# bench/gpu/run.sh starts none of them, and what is packed is carried to another machine.
NOT_PACKED = frozenset({"06_all_reduce_cuda", "07_rows_into_sqlite_cuda", "k2k-bench"})
LIBRARIES = ("libk2k.so", "shim/libk2k_io.so", "shim/libk2k_io_router.so")

# "ATOM.E.CAS.64.STRONG.SYS", "RED.E.ADD.STRONG.SYS" in machine code, "atom.acq_rel.sys.add" in PTX.
SYSTEM_RMW = re.compile(r"\b(?:ATOM[GS]?|RED[GS]?)\.\S*\bSYS\b|\b(?:atom|red)\.\S*\bsys\b\S*")
KERNEL_LINE = re.compile(r"^\s*(?:Function : |\.(?:visible |weak )?\.?entry )(\S+?)[(\s]*$")
# The compiler's own libraries. The machine's are preferred: these may need a newer glibc.
COMPILER_LIBRARIES = ("libstdc++.", "libgcc_s.")
# Libraries that every machine with glibc has; the other libraries are packed.
SYSTEM_LIBRARIES = ("libc.", "libm.", "libdl.", "librt.", "libpthread.", "ld-linux", "linux-vdso")


@dataclass(frozen=True)
class Usage:
    """One kernel, as ptxas sees it."""

    kernel: str
    registers: int
    stack: int
    spill_stores: int
    spill_loads: int
    local_bytes: int

    @property
    def row(self) -> str:
        return (
            f"{self.registers:>9} {self.stack:>6} {self.spill_stores:>12} {self.spill_loads:>11} "
            f"{self.local_bytes:>12}  {self.kernel}"
        )


def check_cuda() -> tuple[list[str], str]:
    """Returns the problems found and a note for the table of steps."""
    toolkit = need_cuda_toolkit()
    need_packages((Package("binutils", "objdump"),))
    build.build(PRESET, ["gpu_programs", "io_test", "k2k"])
    problems = check_declarations(toolkit)
    problems += check_library(toolkit, build.folder(PRESET) / "src/io/io_test")
    usages: list[Usage] = []
    tools = Disassembler(toolkit)
    with Status("kernels: machine code and PTX") as status:
        for binary in binaries_with_kernels():
            status.update(binary.name)
            problems += tools.system_rmw(binary)
            usages += tools.usages(binary)
    if not usages:
        return [*problems, "no kernel was found in build/cuda: nothing was checked"], ""
    usages.sort(key=lambda usage: (-usage.spill_stores, -usage.registers, usage.kernel))
    header = "registers  stack spill_stores spill_loads local_memory  kernel"
    TABLE.write_text("\n".join([header, *(usage.row for usage in usages)]) + "\n")
    empty_s = nvrtc_seconds(toolkit, b"")
    header_s = nvrtc_seconds(toolkit, NVRTC_HEADER)
    kernel_s = nvrtc_seconds(toolkit, NVRTC_KERNEL)
    if header_s > NVRTC_BUDGET * empty_s:
        problems.append(
            f"NVRTC takes {header_s / empty_s:.1f} times as long for the device header as for an "
            f"empty source; at most {NVRTC_BUDGET} times"
        )
    problems += foreign_kernels(toolkit)
    with Status("kernels of Psylang's models") as status:
        status.update("ptxas")
        problems += psylang_registers(toolkit)
    problems += pack()
    spilled = sum(usage.spill_stores > 0 for usage in usages)
    most = max(usage.registers for usage in usages)
    return problems, (
        f"{len(usages)} kernels, at most {most} registers, {spilled} spill ({shown(TABLE)}); "
        f"Psylang's in {shown(PSYLANG_TABLE)}; "
        f"NVRTC {header_s:.3f} s the header, {kernel_s:.3f} s with a kernel; "
        "compiled, not run here"
    )


def psylang_registers(toolkit: Path) -> list[str]:
    """Writes the table. Returns the problems: what cannot be assembled."""
    python = need_python_tools() / "python"
    tables = []
    for models in PSYLANG_MODELS:
        options = [*models, "--arch", ARCHITECTURE]
        command: Command = [python, "-m", "psylang", "registers", *options]
        done = run([*command, "--ptxas", toolkit / "bin/ptxas"])
        if done.returncode != 0:
            return [f"the kernels of Psylang's models: {done.stdout.strip()}"]
        tables.append(done.stdout)
    PSYLANG_TABLE.write_text("\n".join(tables))
    return []


def binaries_with_kernels() -> list[Path]:
    """The programs of the build that contain device code."""
    folder = build.folder(PRESET)
    found = []
    for path in sorted(folder.rglob("*")):
        if not path.is_file() or path.is_symlink() or path.suffix in {".o", ".a", ".bin"}:
            continue
        if "CMakeFiles" in path.parts or not os.access(path, os.X_OK):
            continue
        if path.read_bytes()[:4] == b"\x7fELF" and b".nv_fatbin" in path.read_bytes():
            found.append(path)
    return found


class Disassembler:
    def __init__(self, toolkit: Path) -> None:
        self._bin = toolkit / "bin"
        # cuobjdump starts nvdisasm by its name.
        self._env = {"PATH": f"{self._bin}{os.pathsep}{os.environ['PATH']}"}

    def system_rmw(self, binary: Path) -> list[str]:
        code = ""
        for what in ("-sass", "-ptx"):
            code += capture([self._bin / "cuobjdump", what, binary], env=self._env)
        if "Function :" not in code or ".entry" not in code:
            return [f"{shown(binary)}: cuobjdump shows no machine code or no PTX"]
        return [f"{shown(binary)}: {found}" for found in system_rmw_in(code)]

    def usages(self, binary: Path) -> Iterator[Usage]:
        """Assembles the PTX again, so that the report does not depend on a compiler cache."""
        folder = build.folder(PRESET) / "ptx" / binary.name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        capture([self._bin / "cuobjdump", "-xptx", "all", binary], cwd=folder, env=self._env)
        for ptx in sorted(folder.glob("*.ptx")):
            report = capture(
                [self._bin / "ptxas", "-v", f"-arch={ARCHITECTURE}", ptx, "-o", os.devnull],
                env=self._env,
            )
            yield from usages_in(report)


def system_rmw_in(code: str) -> list[str]:
    """Each read-modify-write at system scope, with its kernel."""
    kernel = "?"
    found = []
    for line in code.splitlines():
        if match := KERNEL_LINE.match(line):
            kernel = match[1]
        elif match := SYSTEM_RMW.search(line):
            found.append(f"{match[0]} in {kernel}: a read-modify-write at system scope")
    return found


def usages_in(report: str) -> Iterator[Usage]:
    """The facts of each kernel from the output of `ptxas -v`."""
    kernel = ""
    frame = (0, 0, 0)
    for line in report.splitlines():
        if match := re.search(r"Compiling entry function '(\S+)'", line):
            kernel = match[1]
        elif match := re.search(
            r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", line
        ):
            frame = (int(match[1]), int(match[2]), int(match[3]))
        elif kernel and (match := re.search(r"Used (\d+) registers", line)):
            memory = re.search(r"(\d+) bytes smem", line)
            yield Usage(kernel, int(match[1]), *frame, int(memory[1]) if memory else 0)
            kernel = ""


NVRTC_HEADER = b"""
#include "device/k2k.hpp"
"""
NVRTC_KERNEL = (
    NVRTC_HEADER
    + b"""
using namespace k2k::device::platform;
extern "C" __global__ void kernel(const LaunchContext context, int fd) {
  begin_group(context);
  k2k::write(k2k::work_group, k2k::relaxed, fd, "from NVRTC", 10);
}
"""
)


def nvrtc_seconds(toolkit: Path, source: bytes) -> float:
    """Best time that NVRTC takes from source to PTX, as C++17; the first run warms it up."""
    # Loaded first, under the name by which the other library searches for it.
    ctypes.CDLL(str(next((toolkit / "lib").glob("libnvrtc-builtins.so.*"))))
    library = ctypes.CDLL(str(next((toolkit / "lib").glob("libnvrtc.so.*"))))
    options = [
        b"--gpu-architecture=compute_90",
        b"--std=c++17",
        *(f"-I{folder}".encode() for folder in INCLUDE),
    ]
    array = (ctypes.c_char_p * len(options))(*options)
    times = []
    for _ in range(NVRTC_RUNS):
        program = ctypes.c_void_p()
        begin = time.perf_counter()
        failed = library.nvrtcCreateProgram(
            ctypes.byref(program), source, b"kernel.cu", 0, None, None
        ) or library.nvrtcCompileProgram(program, len(options), array)
        times.append(time.perf_counter() - begin)
        if failed:
            size = ctypes.c_size_t()
            library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
            log = ctypes.create_string_buffer(size.value)
            library.nvrtcGetProgramLog(program, log)
            raise Refused(f"NVRTC refuses the device header:\n{log.value.decode()}")
        library.nvrtcDestroyProgram(ctypes.byref(program))
    return min(times)


def foreign_kernels(toolkit: Path) -> list[str]:
    """The kernels that python/gpu_checks gives CuPy, cuda.core and PyTorch: NVRTC and nvcc, with
    the folders of k2k.get_include(), take them as C++17."""
    whole = (ROOT / "python/gpu_checks/kernels.py").read_text()
    found = re.search(r'^SOURCE = r"""(.*?)"""', whole, re.MULTILINE | re.DOTALL)
    if found is None:
        return ["python/gpu_checks/kernels.py has no SOURCE: no foreign kernel was compiled"]
    nvrtc_seconds(toolkit, found[1].encode())
    place = build.folder(PRESET) / "foreign_kernel.cu"
    place.write_text(found[1])
    done = run(
        [
            *(toolkit / "bin/nvcc", "-ptx", "-std=c++17", "-arch=compute_75", "-o", os.devnull),
            *(f"-I{folder}" for folder in INCLUDE),
            place,
        ]
    )
    return [f"nvcc refuses a foreign kernel:\n{done.stdout}"] if done.returncode else []


def pack() -> list[str]:
    """Copies programs and the libraries they need into build/gpu, stripped."""
    shutil.rmtree(PACKED, ignore_errors=True)
    (PACKED / "bin").mkdir(parents=True)
    (PACKED / "lib/fallback").mkdir(parents=True)
    problems = []
    (PACKED / "commit.txt").write_text(commit() + "\n")
    folder = build.folder(PRESET)
    needed: set[Path] = set()
    packed = [binary for binary in binaries_with_kernels() if binary.name not in NOT_PACKED]
    for binary in [*packed, *(folder / name for name in HOST_PROGRAMS)]:
        capture(["strip", "-o", PACKED / "bin" / binary.name, binary])
        needed.update(libraries_of(binary))
    for name in LIBRARIES:
        library = (folder / name).resolve()
        capture(["strip", "-o", PACKED / "lib" / Path(name).name, library])
        needed.update(libraries_of(library))
    # What Python links kernels with.
    for kind in ("ptx", "ltoir"):
        shutil.copy(folder / f"k2k_device.{kind}", PACKED / "lib")
    for library in sorted(needed):
        ours = library.name.startswith(COMPILER_LIBRARIES)
        place = PACKED / ("lib/fallback" if ours else "lib") / library.name
        if not place.exists():
            capture(["strip", "-o", place, library.resolve()])
    # In a folder of its own: without nvidia-fs its start may never end.
    (PACKED / "lib/cufile").mkdir()
    shutil.copyfile(
        need_cuda_toolkit() / "lib/libcufile.so.0", PACKED / "lib/cufile/libcufile.so.0"
    )
    for path in [*sorted((PACKED / "bin").iterdir()), *sorted((PACKED / "lib").glob("*.so*"))]:
        newest = newest_glibc(capture(["objdump", "-T", path]))
        if newest > GLIBC_MAX:
            wanted = ".".join(map(str, GLIBC_MAX))
            found = ".".join(map(str, newest))
            problems.append(f"{shown(path)} needs glibc {found}; machines with a GPU have {wanted}")
    return problems


def libraries_of(binary: Path) -> list[Path]:
    listing = run(["ldd", binary]).stdout
    paths = [Path(match) for match in re.findall(r"=> (/\S+)", listing)]
    return [path for path in paths if not path.name.startswith(SYSTEM_LIBRARIES)]


def newest_glibc(symbols: str) -> tuple[int, int]:
    versions = re.findall(r"GLIBC_(\d+)\.(\d+)", symbols)
    return max(((int(major), int(minor)) for major, minor in versions), default=(0, 0))
