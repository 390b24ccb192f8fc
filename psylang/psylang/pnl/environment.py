"""PsyNeuLink itself: imported when it is first needed, in the one supported version."""

from __future__ import annotations

import importlib
import importlib.metadata
from typing import Any

from psylang.errors import PsylangError

VERSION = "0.21"
HINT = "pip install 'psylang[pnl]'"


class PsyNeuLinkError(PsylangError, ImportError):
    """PsyNeuLink is missing, or of a version that the importer does not know."""


def psyneulink() -> Any:
    """The package. PsyNeuLinkError: it is missing, of another version, or cannot be imported."""
    try:
        version = importlib.metadata.version("psyneulink")
    except importlib.metadata.PackageNotFoundError:
        raise PsyNeuLinkError(
            f"PsyNeuLink is not installed, and a composition is imported with it: {HINT}"
        ) from None
    if not version.startswith(f"{VERSION}."):
        raise PsyNeuLinkError(
            f"PsyNeuLink {version} is installed; compositions are imported from {VERSION}: {HINT}"
        )
    try:
        return importlib.import_module("psyneulink")
    except ImportError as error:
        raise PsyNeuLinkError(
            f"PsyNeuLink {version} cannot be imported ({error}); install it anew: {HINT}"
        ) from error
