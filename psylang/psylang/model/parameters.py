"""Parameters: numbers of a model with a name, a default, and a range.

A field of a component that is made with number() takes a plain number, an array, or a Parameter
that model.parameter() gave. Plain ones become parameters of the model, too, named by their place:
`decision.integrator.rate`. So each number of a model can be fixed (a constant of the program) or
varied (given at run time) without a change of the model.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from dataclasses import MISSING, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psylang.model.errors import ModelError

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Limits:
    """The limits of a number: `above` exclusive, `least` and `most` inclusive."""

    above: float | None = None
    least: float | None = None
    most: float | None = None

    def check(self, name: str, value: Array) -> None:
        """ModelError: `value` is not finite, or beyond."""
        found = self.violation(value)
        if found is not None:
            raise ModelError(f"parameter `{name}` is {value}; it must be {found[1]}")

    def violation(
        self, value: Array, allow_nan: bool = False
    ) -> tuple[tuple[int, ...], str] | None:
        """(the place of the first element that must not be, what it must be), or None."""
        low, high = (value.item(),) * 2 if not value.ndim else (value.min(), value.max())
        if (
            -math.inf < low <= high < math.inf
            and (self.above is None or low > self.above)
            and (self.least is None or low >= self.least)
            and (self.most is None or high <= self.most)
        ):
            return None
        nan = np.isnan(value) if allow_nan else np.zeros_like(value, bool)
        for rule, bound, holds in (
            ("finite", 0.0, np.isfinite(value)),
            ("above", self.above, value > (self.above or 0.0)),
            ("at least", self.least, value >= (self.least or 0.0)),
            ("at most", self.most, value <= (self.most or 0.0)),
        ):
            bad = np.argwhere(~(holds | nan))
            if bound is not None and len(bad):
                where = tuple(int(index) for index in bad[0])
                return where, rule if rule == "finite" else f"{rule} {bound:g}"
        return None


@dataclass(frozen=True, eq=False)
class Parameter:
    """A number that the modeller named. default: of shape (), or of the shape of its use."""

    name: str
    default: Array
    range: tuple[float, float] | None = None
    description: str = ""


Number = float | Sequence[float] | Sequence[Sequence[float]] | Array | Parameter


def number(
    default: Any = MISSING,
    *,
    above: float | None = None,
    least: float | None = None,
    most: float | None = None,
) -> Any:
    """A field of a component that is a parameter."""
    return field(default=default, metadata={"number": Limits(above, least, most)})


def numbers() -> Any:
    """A field of a component that maps names to numbers; each is a parameter."""
    return field(default_factory=dict, metadata={"numbers": True})


def part(default: Any = None) -> Any:
    """A field of a component that holds another one, or None; its numbers are parameters, too."""
    return field(default=default, metadata={"part": True})


def array_of(name: str, value: Any) -> Array:
    """`value` as a read-only array of f64. ModelError: it is no array of finite numbers."""
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ModelError(
            f"parameter `{name}` is {value!r}; it must be a number, or a vector or matrix of them"
        ) from None
    if array.ndim > 2 or not array.size:
        raise ModelError(
            f"parameter `{name}` has shape {array.shape}; it must be a number, a vector or a matrix"
        )
    Limits().check(name, array)
    array.setflags(write=False)
    return array


@dataclass(frozen=True)
class Numbered:
    """A parameter of a component: where it is, what it holds, what it may be."""

    path: str
    value: Any
    limits: Limits


def numbers_of(component: Any, path: str) -> Iterator[Numbered]:
    """The parameters of a component and its parts, in the order of their fields."""
    for one in dataclasses.fields(component):
        value = getattr(component, one.name)
        if value is None:
            continue
        if "number" in one.metadata:
            yield Numbered(f"{path}.{one.name}", value, one.metadata["number"])
        elif "numbers" in one.metadata:
            for name, entry in value.items():
                yield Numbered(f"{path}.{name}", entry, Limits())
        elif "part" in one.metadata and dataclasses.is_dataclass(value):
            yield from numbers_of(value, f"{path}.{one.name}")


def checked_range(name: str, limits: Any) -> tuple[float, float]:
    """(least, most). ModelError: not two numbers in order."""
    try:
        least, most = (float(bound) for bound in limits)
    except (TypeError, ValueError):
        raise ModelError(f"range of `{name}` is {limits!r}; it must be (least, most)") from None
    if not least <= most:
        raise ModelError(f"range of `{name}` is ({least:g}, {most:g}); least must be below most")
    return least, most


def name_of(path: str, value: Any) -> str:
    """The name of the parameter at a path: its own, where the modeller gave it one."""
    return value.name if isinstance(value, Parameter) else path
