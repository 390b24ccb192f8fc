"""CUDA: wheels in a virtual environment of their own, installed only on request, in four parts.

requirements-nvcc.txt          compiler and headers: every build with device code
requirements-cuda.txt          disassemblers, NVRTC, cuFile: ./dev check --only cuda
requirements-cuda-python.txt   kernels in Python: the step emulated-cuda
requirements-nvjitlink.txt     the linker of LTO-IR, in a folder beside them: the same step
"""

from pathlib import Path

from devtool.console import Refused
from devtool.environment import EXIT_MISSING, make_venv, need_requirements
from devtool.tree import ROOT

VENV = ROOT / ".venv-cuda"
LINKER = VENV / "nvjitlink"
TOOLKIT = VENV / "toolkit"  # The path in CMakePresets.json: a link, because wheels lie deeper.


def need_cuda_compiler() -> Path:
    """Installs nvcc if it is missing. Returns the root of the toolkit."""
    need_requirements(
        "requirements-nvcc.txt",
        VENV,
        title="CUDA compiler into {folder} (105 MB)",
        begin=lambda: make_venv(VENV),
        end=_link,
    )
    return TOOLKIT


def need_cuda_toolkit() -> Path:
    """The same with what the step `cuda` looks into programs with."""
    need_cuda_compiler()
    _need_more("requirements-cuda.txt", "CUDA tools into {folder} (100 MB)")
    return TOOLKIT


def need_cuda_python() -> Path:
    """The same with what kernels in Python need. Returns the Python that has it."""
    need_cuda_compiler()
    _need_more("requirements-cuda-python.txt", "CUDA for Python into {folder} (200 MB)")
    return VENV / "bin/python"


def need_nvjitlink() -> Path:
    """Installs nvJitLink where no other library finds it. Returns the folder of its library."""
    need_requirements(
        "requirements-nvjitlink.txt",
        VENV,
        stamp="requirements-nvjitlink.sha256",
        title="CUDA's linker into {folder} (40 MB)",
        options=("--target", str(LINKER), "--upgrade"),
    )
    return LINKER / "nvidia/cu13/lib"


def _need_more(name: str, title: str) -> None:
    stamp = name.replace(".txt", ".sha256")
    need_requirements(name, VENV, stamp=stamp, title=title, end=_link)


def _link() -> None:
    """Makes the wheels look like an installed toolkit: one root, libraries in lib64 too."""
    roots = list(VENV.glob("lib/python3*/site-packages/nvidia/cu13"))
    if len(roots) != 1 or not (roots[0] / "bin/nvcc").exists():
        raise Refused(
            "the CUDA wheels have another layout than expected: no nvidia/cu13/bin/nvcc in "
            ".venv-cuda; delete .venv-cuda and try again",
            EXIT_MISSING,
        )
    TOOLKIT.unlink(missing_ok=True)
    TOOLKIT.symlink_to(roots[0].relative_to(VENV))
    libraries = roots[0] / "lib64"  # Where nvcc.profile looks.
    if not libraries.exists():
        libraries.symlink_to("lib")
