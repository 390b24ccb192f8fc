"""What has no likelihood: the caller can correct it, and the message says how."""

from __future__ import annotations

from psylang.errors import PsylangError


class LikelihoodError(PsylangError, ValueError):
    """Data or parameters that have no likelihood, or a fit that cannot be made of them."""
