"""Shared by tests that need PsyNeuLink."""

from __future__ import annotations

import importlib.metadata

import pytest

from psylang.pnl.environment import VERSION


def installed() -> str:
    """The version of PsyNeuLink, or ""."""
    try:
        return importlib.metadata.version("psyneulink")
    except importlib.metadata.PackageNotFoundError:
        return ""


needs_psyneulink = pytest.mark.skipif(
    not installed().startswith(f"{VERSION}."),
    reason=f"PsyNeuLink {VERSION} is not installed; `./dev test --psylang-full` installs it",
)
