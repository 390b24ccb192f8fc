"""The errors of compile(), run() and search(): each message names failure, cause and remedy.

All but InterruptedRunError are PsylangError, so that one `except` can catch them; each is also the
usual built-in exception for its kind of mistake.
"""

from __future__ import annotations

from typing import Any

from psylang.errors import ModelChangedError as ModelChangedError
from psylang.errors import PsylangError as PsylangError


class ArgumentError(PsylangError, ValueError):
    """An argument has a value, shape, range or name that does not fit."""


class ArgumentTypeError(PsylangError, TypeError):
    """An argument has elements of another kind: floats for integers, texts for numbers, …"""


class NotSupportedError(PsylangError, NotImplementedError):
    """This version does not support the request."""


class MissingResultError(PsylangError, KeyError):
    """There is no result of that name."""

    __str__ = Exception.__str__  # KeyError's is a repr, for a key.


class CompileError(PsylangError, RuntimeError):
    """The machine code could not be made or loaded."""


class GpuError(PsylangError, RuntimeError):
    """The GPU or its driver cannot be used, or a kernel failed."""


class UndefinedError(PsylangError, ArithmeticError):
    """Results have NaN. nan: by output, in how many trials. results: all of them."""

    def __init__(self, message: str, nan: dict[str, int], results: Any) -> None:
        super().__init__(message)
        self.nan = nan
        self.results = results

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (str(self), self.nan, self.results))


class CacheWarning(UserWarning):
    """The folder of compiled objects cannot be used; everything works, but compiles each time."""


class InterruptedRunError(KeyboardInterrupt):
    """Ctrl-C during a run or a search. `partial`: Results of the first `done` trials, None if none,
    and of a search.

    A KeyboardInterrupt, so that programs without a handler for it end as usual.
    """

    def __init__(self, done: int, total: int, partial: Any) -> None:
        super().__init__(f"interrupted after {done} of {total} trials")
        self.done = done
        self.total = total
        self.partial = partial


def listed(names: Any) -> str:
    """Names for a message, in order, or `none`."""
    return ", ".join(str(name) for name in names) or "none"
