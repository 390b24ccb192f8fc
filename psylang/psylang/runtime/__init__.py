"""Compiles models, keeps the machine code, and runs it."""

from psylang.runtime.compiling import Model, compile
from psylang.runtime.cuda.options import Cuda
from psylang.runtime.errors import (
    ArgumentError,
    ArgumentTypeError,
    CacheWarning,
    CompileError,
    GpuError,
    InterruptedRunError,
    MissingResultError,
    ModelChangedError,
    NotSupportedError,
    PsylangError,
    UndefinedError,
)
from psylang.runtime.histogram import Histogram
from psylang.runtime.plan import Plan
from psylang.runtime.results import Results
from psylang.runtime.results_file import ResultsFileError
from psylang.runtime.search import Search

__all__ = [
    "ArgumentError",
    "ArgumentTypeError",
    "CacheWarning",
    "CompileError",
    "Cuda",
    "GpuError",
    "Histogram",
    "InterruptedRunError",
    "MissingResultError",
    "Model",
    "ModelChangedError",
    "NotSupportedError",
    "Plan",
    "PsylangError",
    "Results",
    "ResultsFileError",
    "Search",
    "UndefinedError",
    "compile",
]
