"""Checks the arguments of run() and converts them for the machine code.

Nothing is converted silently: floats for integers, booleans for numbers, texts, complex numbers,
other shapes and (unless allowed) NaN are refused, with the name, the value and the expected type.
"""

from __future__ import annotations

import functools
import math
import operator
import os
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psylang.ir.graph import Output, Parameter
from psylang.ir.types import DType, Type
from psylang.runtime.errors import ArgumentError, ArgumentTypeError, listed

SEED_MAX = 2**63 - 1
TRIALS_MAX = 2**62
_KINDS = {DType.F64: "fiu", DType.F32: "fiu", DType.I64: "iu", DType.I32: "iu", DType.BOOL: "b"}
_WANTED = {"fiu": "numbers", "iu": "integers", "b": "truth values"}


def as_array(name: str, value: Any, type: Type) -> NDArray[Any]:
    """`value` in C order with the type's elements, whatever its shape.

    ArgumentTypeError: elements of another kind. ArgumentError: integers beyond the type's.
    """
    wanted = type.dtype.numpy
    if value.__class__ is float and wanted.kind == "f":
        return np.array(value, wanted)
    if isinstance(value, np.ma.MaskedArray):
        raise ArgumentTypeError(f"{name} is a masked array; fill it first")
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise ArgumentError(f"{name} is no array: {error}") from None
    kinds = _KINDS[type.dtype]
    if array.dtype.kind not in kinds:
        hint = ""
        if array.dtype.kind == "f":
            hint = "; round them yourself, .astype(int)"
        elif array.dtype.kind == "b":
            hint = "; give 0 and 1"
        elif array.dtype.kind in "OUS":
            hint = "; rows of different lengths, texts and None are no array"
        raise ArgumentTypeError(
            f"{name} has elements of {array.dtype}; {_WANTED[kinds]} ({wanted}) are needed{hint}"
        )
    if wanted.kind == "i" and array.size:
        limits = np.iinfo(wanted)
        if int(array.min()) < limits.min or int(array.max()) > limits.max:
            raise ArgumentError(
                f"{name} has integers beyond {wanted}: {array.min()}, {array.max()}"
            )
    return np.require(array, wanted, ["C", "A"])


def refuse_nan(name: str, array: NDArray[Any], allowed: bool) -> None:
    """ArgumentError: there is NaN in it."""
    if allowed or array.dtype.kind != "f":
        return
    # math.isnan is quicker for a single number.
    found = np.isnan(array).any() if array.ndim else math.isnan(array.item())
    if found:
        where = "" if array.ndim == 0 else f", first at {_first(np.isnan(array))}"
        raise ArgumentError(f"{name} has NaN{where}; mend it, or give allow_nan=True")


def refuse_outside(parameter: Parameter, array: NDArray[Any]) -> None:
    """ArgumentError: a value is outside the promised range, on which the machine code relies."""
    if parameter.range is None or not array.size:
        return
    low, high = parameter.range
    outside = (array < low) | (array > high)
    if outside.any():
        worst = array[outside].flat[0] if array.ndim else array
        raise ArgumentError(
            f"params[{parameter.name!r}] has {worst}, outside its range {low} … {high}; "
            "widen the range given to compile(ranges=…)"
        )


def _first(found: NDArray[Any]) -> tuple[int, ...]:
    return tuple(int(index) for index in np.argwhere(found)[0])


def known(what: str, given: Mapping[str, Any], names: Iterable[str], hint: str = "") -> None:
    """ArgumentError: a name of `given` is not in `names`. ArgumentTypeError: it is no mapping."""
    if not isinstance(given, Mapping):
        raise ArgumentTypeError(
            f"{what} is {type(given).__name__}; give a mapping from names, {what}={{…}}"
        )
    names = list(names)
    unknown = [name for name in given if name not in names]
    if unknown:
        raise ArgumentError(
            f"{what}: there is no `{listed(unknown)}`; there is {listed(names)}{hint}"
        )


def whole(name: str, value: Any, least: int, most: int) -> int:
    """`value` as an int. ArgumentTypeError: it is no integer. ArgumentError: out of bounds."""
    if value.__class__ is not int:
        if isinstance(value, (bool, np.bool_)):
            raise ArgumentTypeError(f"{name} is {value}; give an integer")
        try:
            value = operator.index(value)
        except TypeError:
            raise ArgumentTypeError(
                f"{name} is {value!r}, a {type(value).__name__}; give an integer"
            ) from None
    if not least <= value <= most:
        raise ArgumentError(f"{name} is {value}; it must be {least} … {most}")
    return int(value)


def seed_of(value: Any) -> int:
    """A seed: 0 … 2**63 - 1, what the machine code's i64 holds."""
    return whole("seed", value, 0, SEED_MAX)


def rows(
    name: str, array: NDArray[Any], shape: tuple[int, ...], sequences: int, trials: int
) -> NDArray[Any]:
    """One row per trial, from one value for all, from one row per trial (of each sequence), or from
    all rows.

    ArgumentError: the array has none of these shapes.
    """
    wide = (sequences, trials, *shape)
    extra = array.ndim - len(shape)
    if 0 <= extra <= 2 and array.shape == wide[2 - extra :]:
        full = array if extra == 2 or (sequences == 1 and extra) else np.broadcast_to(array, wide)
        return np.ascontiguousarray(full).reshape(sequences * trials, *shape)
    wanted = [str(shape), str((trials, *shape))]
    if sequences > 1:
        wanted.append(str(wide))
    raise ArgumentError(
        f"{name} has shape {array.shape}; give {' or '.join(wanted)} (one for all"
        f"{', one a trial' if sequences == 1 else ', one a trial, one a trial of each sequence'})"
    )


def row_bytes(output: Output) -> int:
    """The size of one trial's value."""
    return output.type.size * output.type.dtype.numpy.itemsize


def memory_for(each: int, trials: int) -> None:
    """ArgumentError: that many rows of `each` bytes are more than the machine's memory."""
    most = _memory_bytes()
    if each * trials > most:
        raise ArgumentError(
            f"{trials} trials of {each} bytes of results are {each * trials / 2**30:.3g} GiB; the "
            f"machine has {most / 2**30:.3g} GiB. Run fewer trials, record=[…] fewer outputs, or "
            "ask for a histogram={…}, which stores none"
        )


@functools.cache
def _memory_bytes() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # Unknown: 1 TiB.
        return 1 << 40
