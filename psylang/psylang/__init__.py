"""Psylang: cognitive models to machine code."""

from psylang.version import __version__

__all__ = ["__version__"]
