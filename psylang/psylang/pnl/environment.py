"""PsyNeuLink itself: imported when it is first needed, in the one supported version."""

from __future__ import annotations

import importlib
import importlib.metadata
from typing import Any

from psylang.errors import PsylangError
from psylang.model.errors import ModelError

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


def refuse_others(pnl: Any, composition: Any) -> None:
    """ModelError: it is no composition."""
    if isinstance(composition, pnl.Composition):
        return
    near = "give one"
    if any(one.__module__.startswith("torch.") for one in type(composition).__mro__):
        near = (
            "give its weights to projections of one, matrix=linear.weight.detach().numpy().T, and "
            "its biases to their receivers' functions"
        )
    elif hasattr(composition, "execute"):
        near = "give one that has it as a node: Composition(nodes=[…])"
    raise ModelError(
        f"what is of type {type(composition).__name__} is no Composition of PsyNeuLink; {near}"
    )
