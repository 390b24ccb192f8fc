"""Psylang: cognitive models to machine code.

import psylang

plan = psylang.compile(psylang.models.ddm(), vary=["drift"])
results = plan.run(params={"drift": 0.3}, trials=100_000, seed=1)
results.response_time, results.choice
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from psylang.runtime import (
    ArgumentError,
    ArgumentTypeError,
    CacheWarning,
    CompileError,
    Cuda,
    GpuError,
    Histogram,
    InterruptedRunError,
    MissingResultError,
    ModelChangedError,
    NotSupportedError,
    Plan,
    PsylangError,
    Results,
    ResultsFileError,
    Search,
    UndefinedError,
    compile,
)
from psylang.version import __version__

if TYPE_CHECKING:
    from psylang.analysis import Finding, PictureError, Report
    from psylang.likelihood import Fit, LikelihoodError, SimulatedLikelihood
    from psylang.pnl import NotImportedError, PsyNeuLinkError, from_psyneulink
    from psylang.runtime.refine import Refined

__all__ = [
    "ArgumentError",
    "ArgumentTypeError",
    "CacheWarning",
    "CompileError",
    "Cuda",
    "Finding",
    "Fit",
    "GpuError",
    "Histogram",
    "InterruptedRunError",
    "LikelihoodError",
    "MissingResultError",
    "ModelChangedError",
    "NotImportedError",
    "NotSupportedError",
    "PictureError",
    "Plan",
    "PsyNeuLinkError",
    "PsylangError",
    "Refined",
    "Report",
    "Results",
    "ResultsFileError",
    "Search",
    "SimulatedLikelihood",
    "UndefinedError",
    "__version__",
    "compile",
    "from_psyneulink",
]

_PACKAGES = frozenset({"analysis", "ir", "likelihood", "model", "models", "pnl"})
_LATE = {
    **dict.fromkeys(("NotImportedError", "PsyNeuLinkError", "from_psyneulink"), "psylang.pnl"),
    **dict.fromkeys(("Finding", "PictureError", "Report"), "psylang.analysis"),
    **dict.fromkeys(("Fit", "LikelihoodError", "SimulatedLikelihood"), "psylang.likelihood"),
    "Refined": "psylang.runtime.refine",
}


def __getattr__(name: str) -> Any:
    """Modules that simulation does not need are imported when they are first used."""
    if name in _PACKAGES:
        return importlib.import_module(f"psylang.{name}")
    if name in _LATE:
        return getattr(importlib.import_module(_LATE[name]), name)
    raise AttributeError(f"module 'psylang' has no attribute '{name}'")
