"""Choices and response times, checked; a message names the first row that does not fit."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from psylang.likelihood.errors import LikelihoodError

Floats = NDArray[np.float64]
TIMES, CHOICES = ("rt", "response_time"), ("choice", "response")


class Columns(Protocol):
    """Columns by name: a dictionary, psylang.Results, or a data frame."""

    def __getitem__(self, name: str, /) -> Any: ...

    def __contains__(self, name: object, /) -> bool: ...


def numbers(name: str, given: Any) -> Floats:
    """`given` as an array of floats. LikelihoodError: it has other elements."""
    try:
        array = np.asarray(given)
    except ValueError as error:
        raise LikelihoodError(f"{name} is no array: {error}") from None
    if array.dtype.kind not in "fiub":
        raise LikelihoodError(f"{name} has elements of {array.dtype}; give numbers")
    return array.astype(np.float64)


def times(name: str, given: Any) -> Floats:
    """Response times. LikelihoodError: NaN, infinity or a negative time, with its row."""
    array = numbers(name, given)
    _refuse(name, array, np.isnan(array), "leave out trials without a response")
    _refuse(name, array, np.isinf(array), "leave out trials without a response")
    _refuse(name, array, array < 0, "a response time is 0 or more")
    return array


def choices(name: str, given: Any, allowed: tuple[int, ...] | None = None) -> NDArray[np.int64]:
    """Whole numbers, of `allowed` if given. LikelihoodError: another one, with its row."""
    array = numbers(name, given)
    _refuse(name, array, ~np.isfinite(array), "leave out trials without a response")
    if allowed is None:
        _refuse(name, array, array != np.floor(array), "a choice is a whole number")
    else:
        numbers_of = " or ".join(map(str, allowed))
        _refuse(name, array, ~np.isin(array, allowed), f"a choice is {numbers_of}")
    return array.astype(np.int64)


def observed(
    data: Columns,
    allowed: tuple[int, ...] | None = None,
    names: tuple[str, str] | None = None,
) -> tuple[Floats, NDArray[np.int64]]:
    """The columns of times and of choices, a trial a row; names: others that they may have.

    LikelihoodError: a column is missing, has a value that cannot be, or not the other's length.
    """
    named = [(name,) for name in names] if names else [(), ()]
    rt = times(*_column(data, tuple(dict.fromkeys((*named[0], *TIMES)))))
    choice = choices(*_column(data, tuple(dict.fromkeys((*named[1], *CHOICES)))), allowed)
    if rt.ndim != 1 or rt.shape != choice.shape or not rt.size:
        raise LikelihoodError(
            f"data: times of shape {rt.shape} and choices of shape {choice.shape}; give columns of "
            "one length, a trial a row"
        )
    return rt, choice


def _column(data: Columns, names: tuple[str, ...]) -> tuple[str, Any]:
    for name in names:
        if name in data:
            return name, data[name]
    raise LikelihoodError(f"data has no column {' or '.join(f'`{name}`' for name in names)}")


def _refuse(name: str, array: Floats, wrong: NDArray[np.bool_], why: str) -> None:
    if wrong.any():
        index = tuple(int(one) for one in np.argwhere(wrong)[0])
        where = f" in row {', '.join(map(str, index))}" if index else ""
        raise LikelihoodError(f"{name} is {array[index]:g}{where}; {why}")
