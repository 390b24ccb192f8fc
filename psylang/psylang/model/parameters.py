"""Parameters: numbers of a model with a name, a default, and a range.

A field of a component that is made with number() takes a plain number, an array, or a Parameter
that model.parameter() gave. Plain ones become parameters of the model, too, named by their place:
`decision.integrator.rate`. So each number of a model can be fixed (a constant of the program) or
varied (given at run time) without a change of the model. Arithmetic with parameters, like `-leak *
dt`, is computed again when one of them changes.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
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
        """ModelError: `value` is not finite, or beyond the limits."""
        found = self.violation(value)
        if found is not None:
            raise ModelError(f"parameter `{name}` is {value}; it must be {found[1]}")

    def violation(
        self, value: Array, allow_nan: bool = False
    ) -> tuple[tuple[int, ...], str] | None:
        """(index of the first invalid element, its requirement), or None."""
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


class Arithmetic:
    """Operators of parameters: their results are formulas, which fields accept like parameters."""

    __array_ufunc__ = None  # NumPy passes `array * parameter` to this class, which refuses it.

    def __neg__(self) -> Formula:
        return Formula("neg", (self,))

    def __add__(self, other: Any) -> Formula:
        return Formula("add", (self, other))

    def __radd__(self, other: Any) -> Formula:
        return Formula("add", (other, self))

    def __sub__(self, other: Any) -> Formula:
        return Formula("sub", (self, other))

    def __rsub__(self, other: Any) -> Formula:
        return Formula("sub", (other, self))

    def __mul__(self, other: Any) -> Formula:
        return Formula("mul", (self, other))

    def __rmul__(self, other: Any) -> Formula:
        return Formula("mul", (other, self))

    def __truediv__(self, other: Any) -> Formula:
        return Formula("div", (self, other))

    def __rtruediv__(self, other: Any) -> Formula:
        return Formula("div", (other, self))


@dataclass(frozen=True, eq=False)
class Formula(Arithmetic):
    """An operation of the IR on plain numbers, parameters and formulas. ModelError: on others."""

    operation: str
    operands: tuple[Any, ...]

    def __post_init__(self) -> None:
        for one in self.operands:
            plain = isinstance(one, int | float | np.number) and math.isfinite(float(one))
            single = isinstance(one, Parameter) and not one.default.shape
            if not (plain or single or isinstance(one, Formula)):
                shown = f"`{one.name}`" if isinstance(one, Parameter) else repr(one)
                raise ModelError(f"{shown} in arithmetic with parameters; it takes finite numbers")

    def leaves(self) -> Iterator[Parameter]:
        """The parameters in it."""
        for one in self.operands:
            if isinstance(one, Parameter):
                yield one
            elif isinstance(one, Formula):
                yield from one.leaves()

    def value(self, number: Callable[[str], Any], write: Callable[..., Any]) -> Any:
        """number: maps a parameter's name to its number. write: applies an operation, by its name,
        to such numbers."""
        made = [
            number(one.name)
            if isinstance(one, Parameter)
            else one.value(number, write)
            if isinstance(one, Formula)
            else float(one)
            for one in self.operands
        ]
        return write(self.operation, *made)

    def computed(self, values: Mapping[str, Array]) -> Array:
        """The formula's value for these values of the parameters."""
        with np.errstate(all="ignore"):
            return np.asarray(self.value(values.__getitem__, lambda name, *of: _PLAIN[name](*of)))


_PLAIN: Mapping[str, Callable[..., Any]] = {
    "neg": np.negative,
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
}


@dataclass(frozen=True, eq=False)
class Parameter(Arithmetic):
    """A number that the modeller named. default: of shape (), or of the shape of its use."""

    name: str
    default: Array
    range: tuple[float, float] | None = None
    description: str = ""


Number = float | Sequence[float] | Sequence[Sequence[float]] | Array | Parameter | Formula


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
    """A field of a component that holds another component, or None; its numbers are parameters,
    too."""
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
    """A parameter of a component: its path, its value, its limits."""

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
    """The name of the parameter at a path: the modeller's name, if it has one."""
    return value.name if isinstance(value, Parameter) else path
