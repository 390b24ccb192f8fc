"""The CUDA toolkit: wheels in a virtual environment of their own, installed only on request."""

from pathlib import Path

from devtool.console import Refused
from devtool.environment import EXIT_MISSING, make_venv, need_requirements
from devtool.tree import ROOT

VENV = ROOT / ".venv-cuda"
PYTHON_VENV = ROOT / ".venv-cuda-python"
TOOLKIT = VENV / "toolkit"  # The path in CMakePresets.json: a link, because wheels lie deeper.


def need_cuda_toolkit() -> Path:
    """Installs the toolkit of requirements-cuda.txt if it is missing. Returns its root."""
    need_requirements(
        "requirements-cuda.txt",
        VENV,
        title="CUDA toolkit into {folder} (600 MB)",
        begin=lambda: make_venv(VENV),
        end=_link,
    )
    return TOOLKIT


def need_cuda_python() -> Path:
    """Installs what kernels in Python need (requirements-cuda-python.txt). Returns its Python."""
    need_requirements(
        "requirements-cuda-python.txt",
        PYTHON_VENV,
        title="CUDA for Python into {folder} (300 MB)",
        begin=lambda: make_venv(PYTHON_VENV),
    )
    return PYTHON_VENV / "bin/python"


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
