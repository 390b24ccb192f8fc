"""The errors of the model API."""

from __future__ import annotations

from collections.abc import Iterable

from psylang.errors import PsylangError


class ModelError(PsylangError, ValueError):
    """A model, or a request about it, that has no meaning; the message names the change to make."""


def listed(names: Iterable[str]) -> str:
    """Names for a message, in order, each in quotes of its own; "none" of nothing."""
    return ", ".join(f"`{name}`" for name in names) or "none"
