"""Psylang: cognitive models to machine code.

import psylang

plan = psylang.compile(psylang.models.ddm(), vary=["drift"])
results = plan.run(params={"drift": 0.3}, trials=100_000, seed=1)
results.response_time, results.choice
"""

from __future__ import annotations

import importlib
from typing import Any

from psylang.runtime import (
    ArgumentError,
    ArgumentTypeError,
    CacheWarning,
    CompileError,
    Histogram,
    InterruptedRunError,
    MissingResultError,
    ModelChangedError,
    NotSupportedError,
    Plan,
    PsylangError,
    Results,
    Search,
    UndefinedError,
    compile,
)
from psylang.version import __version__

__all__ = [
    "ArgumentError",
    "ArgumentTypeError",
    "CacheWarning",
    "CompileError",
    "Histogram",
    "InterruptedRunError",
    "MissingResultError",
    "ModelChangedError",
    "NotSupportedError",
    "Plan",
    "PsylangError",
    "Results",
    "Search",
    "UndefinedError",
    "__version__",
    "compile",
]

_PACKAGES = frozenset({"ir", "model", "models"})


def __getattr__(name: str) -> Any:
    """psylang.model and psylang.models are imported when they are first used."""
    if name in _PACKAGES:
        return importlib.import_module(f"psylang.{name}")
    raise AttributeError(f"module 'psylang' has no attribute '{name}'")
