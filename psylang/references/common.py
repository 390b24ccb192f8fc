"""What all reference models share: the record of the machine, fresh generators, and the file
format.

A model module defines

* ``NAME``, ``PARAMETERS`` (all constants of the model) and ``inputs()`` (the input of each trial);
* ``simulate()``: builds the model in PsyNeuLink, runs it in Python mode, and returns columns with
  one entry per trial;
* ``replay()``: the same model again in plain Python and NumPy, from its definition in README.md,
  with margins and draw counts.

``simulate`` alone imports PsyNeuLink, and does so inside, so that ``replay`` serves as an oracle
without it.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

VALUES = Path(__file__).resolve().parent / "values"
E = 2.718281828459045
"""The base of PsyNeuLink's exponentials: it raises e to a power and never calls exp."""

ENVIRONMENT = {
    "NPY_DISABLE_CPU_FEATURES": "AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL",
    "OPENBLAS_CORETYPE": "Haswell",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
}
"""Takes away what depends on the processor: NumPy's AVX-512 functions and the choice of BLAS
kernels. Read when NumPy is imported.
"""

PACKAGES = ("psyneulink", "numpy", "graph-scheduler", "scipy")
BYTES_MAX = 300_000

Columns = dict[str, list[Any]]


def machine() -> dict[str, Any]:
    """Versions and settings that the values may depend on."""
    flags = (
        Path("/proc/cpuinfo").read_text(encoding="utf-8") if Path("/proc/cpuinfo").exists() else ""
    )
    return {
        "python": platform.python_version(),
        **{name: importlib.metadata.version(name) for name in PACKAGES},
        "libc": " ".join(platform.libc_ver()),
        "architecture": platform.machine(),
        "fma": " fma " in flags,
        "environment": {name: os.environ.get(name, "") for name in ENVIRONMENT},
        "execution_mode": "Python",
    }


def restart(function: Any, seed: int) -> None:
    """Makes a PsyNeuLink random function begin its stream anew, before the first run.

    Building a model draws numbers, and the first run would continue from there; the default context
    is what it copies.
    """
    function.parameters.seed.set(seed, context=None)


def write(name: str, head: Mapping[str, Any], trials: Columns) -> Path:
    """Writes values/NAME.json: columns of equal length, floats by repr so that they read back as
    the same bits.
    """
    lengths = {key: len(column) for key, column in trials.items()}
    if len(set(lengths.values())) != 1:
        raise ValueError(f"columns of {name} differ in length: {lengths}")
    text = json.dumps({"model": name, "made_with": machine(), **head}, allow_nan=False, indent=1)[
        :-2
    ]
    columns = ",\n".join(
        f'  "{key}": {json.dumps(column, allow_nan=False, separators=(",", ":"))}'
        for key, column in trials.items()
    )
    text = f'{text},\n "trials": {{\n{columns}\n }}\n}}\n'
    if len(text) > BYTES_MAX:
        raise ValueError(
            f"{name} takes {len(text)} bytes, allowed are {BYTES_MAX}: store fewer trials"
        )
    path = VALUES / f"{name}.json"
    path.write_text(text, encoding="utf-8")
    return path


def read(name: str) -> dict[str, Any]:
    """What `write` wrote."""
    content: dict[str, Any] = json.loads((VALUES / f"{name}.json").read_text(encoding="utf-8"))
    return content


def raised(exponent: float) -> float:
    """A power of e by `pow`, not `exp`: so PsyNeuLink's Logistic and Exponential compute it."""
    return float(E**exponent)


def empty(names: str) -> Columns:
    """Columns of these names, without entries."""
    return {name: [] for name in names.split()}


def append_row(columns: Columns, row: Iterable[Any]) -> None:
    """An entry for each column, in their order."""
    for column, entry in zip(columns.values(), row, strict=True):
        column.append(entry)


def logistic(x: float, x_0: float = 0.0, gain: float = 1.0) -> float:
    return 1.0 / (1.0 + raised(-gain * (x - x_0)))


def times(vector: Sequence[float], matrix: Sequence[Sequence[float]]) -> list[float]:
    """The product with a matrix whose rows are the senders, summed from the first sender on."""
    result = [vector[0] * w for w in matrix[0]]
    for x, row in zip(vector[1:], matrix[1:], strict=True):
        result = [a + x * w for a, w in zip(result, row, strict=True)]
    return result


def furthest(left: Any, right: Any) -> float:
    """The largest difference between two columns, relative to the larger magnitude; infinite where
    shapes differ.
    """
    if isinstance(left, list) or isinstance(right, list):
        if not isinstance(left, list) or not isinstance(right, list) or len(left) != len(right):
            return float("inf")
        return max((furthest(a, b) for a, b in zip(left, right, strict=True)), default=0.0)
    if left == right:
        return 0.0
    if left is None or right is None or isinstance(left, str):
        return float("inf")
    return float(abs(left - right) / max(abs(left), abs(right)))
