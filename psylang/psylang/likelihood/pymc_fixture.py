"""Shared by tests that need PyMC."""

from __future__ import annotations

import importlib.metadata

import pytest

from psylang.likelihood.pymc_environment import supported


def installed() -> str:
    """The version of PyMC, or ""."""
    try:
        return importlib.metadata.version("pymc")
    except importlib.metadata.PackageNotFoundError:
        return ""


needs_pymc = pytest.mark.skipif(
    not supported(installed()),
    reason="PyMC is not installed in a supported version; `./dev test --psylang-pymc` installs it",
)
