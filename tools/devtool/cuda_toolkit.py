"""The CUDA toolkit: wheels in a virtual environment of their own, only when it is asked for."""

import hashlib
import importlib.util
import sys
import venv
from pathlib import Path

from devtool.console import Refused, Status
from devtool.environment import EXIT_MISSING, Package, need_packages
from devtool.process import run
from devtool.tree import ROOT

VENV = ROOT / ".venv-cuda"
TOOLKIT = VENV / "toolkit"  # What CMakePresets.json names: a link, because wheels lie deeper.
REQUIREMENTS = ROOT / "requirements-cuda.txt"


def need_cuda_toolkit() -> Path:
    """Installs the toolkit if it is not there as requirements-cuda.txt says. Returns its root."""
    wanted = hashlib.sha256(REQUIREMENTS.read_bytes() + sys.version.encode()).hexdigest()
    stamp = VENV / "requirements.sha256"
    if stamp.exists() and stamp.read_text() == wanted:
        return TOOLKIT
    if importlib.util.find_spec("ensurepip") is None:
        need_packages((Package("python3-venv"),))
    with Status("CUDA toolkit into .venv-cuda (600 MB)"):
        venv.create(VENV, clear=True, with_pip=True)
        done = run([VENV / "bin/python", "-m", "pip", "install", "-q", "-r", REQUIREMENTS])
        if done.returncode != 0:
            raise Refused(
                f"pip could not install requirements-cuda.txt:\n{done.stdout.strip()}\n"
                "Check the network (or PIP_INDEX_URL, PIP_FIND_LINKS) and run the command again.",
                EXIT_MISSING,
            )
        _link()
    stamp.write_text(wanted)
    return TOOLKIT


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
