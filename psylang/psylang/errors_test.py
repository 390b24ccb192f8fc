"""One `except psylang.PsylangError` catches every mistake that a caller can correct."""

from __future__ import annotations

import importlib
import pkgutil

import pytest

import psylang
from psylang.ir.builder import ProgramBuilder

# They never leave the package, or are not meant for callers.
INNER = {
    "_FoundError": "ends a search for the first NaN",
    "_GivenUpError": "ends a comparison of two computations",
    "NotKnownError": "decides how a schedule is written",
    "UnsupportedError": "becomes a ModelError with a place",
    "UntrustedError": "becomes a CacheWarning",
    "RefusedError": "becomes a line of a NotImportedError",
    "HeldError": "ends a script of PsyNeuLink where it runs its composition",
    "UsageError": "is the command line's own",
    "InterruptedRunError": "is a KeyboardInterrupt",
}


def test_every_error_of_the_package_is_a_psylang_error() -> None:
    others = set()
    for found in pkgutil.walk_packages(psylang.__path__, "psylang."):
        if found.name.endswith(("_test", "_fixture", "__main__", "make_coefficients")):
            continue
        try:
            module = importlib.import_module(found.name)
        except ModuleNotFoundError as missing:
            if missing.name != "pytensor":  # Of the extra psylang[pymc].
                raise
            continue
        for one in vars(module).values():
            if (
                isinstance(one, type)
                and issubclass(one, BaseException)
                and one.__module__.startswith("psylang")
                and not issubclass(one, (psylang.PsylangError, Warning))
                and one.__name__ not in INNER
            ):
                others.add(one.__qualname__)
    assert others <= {"Stopped"}  # Of the threads of a run, among themselves.


def test_errors_of_models_and_of_programs_are_psylang_errors() -> None:
    with pytest.raises(psylang.PsylangError, match="`threshold` is -1"):
        psylang.models.ddm(threshold=-1.0)
    build = ProgramBuilder("twice")
    build.parameter("a", 1.0)
    with pytest.raises(psylang.PsylangError, match="already a parameter `a`"):
        build.parameter("a", 1.0)
