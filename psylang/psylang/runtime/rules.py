"""What a plan asks of a model's parameters: their values, and the formulas of its density."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from numpy.typing import NDArray

if TYPE_CHECKING:
    from psylang.likelihood.closed import Form, Formula


class Rules(Protocol):
    """The values that the parameters of a model may have, and do have if no others are given.

    closed_form: of its density, if it has one.
    """

    @property
    def values(self) -> Mapping[str, NDArray[Any]]: ...

    @property
    def formulas(self) -> Mapping[str, Formula]: ...

    @property
    def closed_form(self) -> Form | None: ...

    def check(self, given: Mapping[str, NDArray[Any]], allow_nan: bool = False) -> None:
        """given: by name a value, or a row for each trial. Wrong ones raise the model's errors."""
        ...
