"""PyMC itself: looked for when it is first needed, in the supported versions."""

from __future__ import annotations

import importlib
import importlib.metadata
from typing import Any

from psylang.errors import PsylangError

LEAST, BELOW = (5, 28), (6, 0)
HINT = "pip install 'psylang[pymc]'"


class PyMCError(PsylangError, ImportError):
    """PyMC is missing, or of a version that is not supported."""


def pymc() -> Any:
    """The package. PyMCError: it is missing, of another version, or cannot be imported."""
    try:
        version = importlib.metadata.version("pymc")
    except importlib.metadata.PackageNotFoundError:
        raise PyMCError(f"PyMC is not installed, and its models are made with it: {HINT}") from None
    if not supported(version):
        least, below = (".".join(map(str, one)) for one in (LEAST, BELOW))
        raise PyMCError(
            f"PyMC {version} is installed; psylang needs at least {least}, below {below}: {HINT}"
        )
    try:
        return importlib.import_module("pymc")
    except ImportError as error:
        raise PyMCError(
            f"PyMC {version} cannot be imported ({error}); install it anew: {HINT}"
        ) from error


def supported(version: str) -> bool:
    """Whether psylang knows this version of PyMC."""
    major, _, rest = version.partition(".")
    minor = rest.partition(".")[0]
    return major.isdecimal() and minor.isdecimal() and LEAST <= (int(major), int(minor)) < BELOW
