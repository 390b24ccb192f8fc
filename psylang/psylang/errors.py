"""The base of all errors that a caller can correct; models and the runtime share it."""

from __future__ import annotations


class PsylangError(Exception):
    """A mistake that the caller can correct; the message says how."""


class ModelChangedError(PsylangError, RuntimeError):
    """The model, or the composition that it was made from, was changed after it was read: the plan
    would run the old one."""


class ProgramError(PsylangError, ValueError):
    """A program of the IR, or a request about it, that has no meaning."""
