"""Refusals: parts of a PsyNeuLink composition that Psylang does not support."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from psylang.model.errors import ModelError


@dataclass(frozen=True)
class Refusal:
    """component: its name in PsyNeuLink. nearest: the nearest form that is imported."""

    component: str
    reason: str
    nearest: str

    def __str__(self) -> str:
        return f"`{self.component}`: {self.reason}; {self.nearest}"


class NotImportedError(ModelError):
    """A composition with parts that Psylang does not support. refusals: all of them."""

    def __init__(self, composition: str, refusals: Sequence[Refusal]) -> None:
        parts = "\n".join(f"  {one}" for one in refusals)
        super().__init__(f"`{composition}` is not imported:\n{parts}")
        self.composition, self.refusals = composition, tuple(refusals)

    def __reduce__(self) -> tuple[object, ...]:
        return (NotImportedError, (self.composition, self.refusals))


class RefusedError(Exception):
    """A part is refused; the importer, which knows the component, collects it."""

    def __init__(self, reason: str, nearest: str) -> None:
        super().__init__(reason)
        self.reason, self.nearest = reason, nearest
