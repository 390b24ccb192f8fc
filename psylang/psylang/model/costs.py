"""Costs of control signals, as functions of the level.

Formulas and, in `exact`, the order of operations are PsyNeuLink's (docs/semantics.md, 8).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from psylang.ir.graph import Value
from psylang.model.arithmetic import UnsupportedError, as_float
from psylang.model.context import Context
from psylang.model.errors import ModelError
from psylang.model.function import Function


class Cost(Protocol):
    """The cost of a signal's level, or of a change of it, as a function of one number."""

    def emit(self, context: Context, level: Value) -> Value: ...


class _Finite:
    """A cost of numbers. ModelError: one of them is not finite."""

    def __post_init__(self) -> None:
        for name, number in vars(self).items():
            if not np.isfinite(number):
                raise ModelError(f"{name} of {type(self).__name__} is {number}; it must be finite")


class _Scaled(_Finite, ABC):
    """scale * a function of the level + offset."""

    scale: float
    offset: float

    @abstractmethod
    def _plain(self, context: Context, level: Value) -> Value:
        """The function of the level."""

    def emit(self, context: Context, level: Value) -> Value:
        build, value = context.build, self._plain(context, level)
        value = value if self.scale == 1.0 else build.mul(value, self.scale)
        return value if self.offset == 0.0 else build.add(value, self.offset)


@dataclass(frozen=True)
class ExponentialCost(_Scaled):
    """scale * e**(rate * level + bias) + offset, as the default of PsyNeuLink's intensity cost."""

    rate: float = 1.0
    bias: float = 0.0
    scale: float = 1.0
    offset: float = 0.0

    def _plain(self, context: Context, level: Value) -> Value:
        build = context.build
        power = build.add(build.mul(level, self.rate), self.bias)
        if context.exact:
            return build.op("pow", build.constant(float(np.e)), power)
        return build.op("exp", power)


@dataclass(frozen=True)
class LinearCost(_Scaled):
    """scale * (slope * level + intercept) + offset."""

    slope: float = 1.0
    intercept: float = 0.0
    scale: float = 1.0
    offset: float = 0.0

    def _plain(self, context: Context, level: Value) -> Value:
        build = context.build
        return build.add(build.mul(level, self.slope), self.intercept)


@dataclass(frozen=True)
class FunctionCost:
    """The result of a user-defined function of a vector with the level, as PsyNeuLink calls it."""

    function: Function

    def __post_init__(self) -> None:
        if not isinstance(self.function, Function) or len(self.function.arguments) != 1:
            raise ModelError(
                f"the function of a cost is {self.function!r}; it must be a function of one "
                "argument, the level, made by @psylang.model.function"
            )

    def emit(self, context: Context, level: Value) -> Value:
        build, name = context.build, self.function.__name__
        result = self.function.emit(context, [build.stack([level])])
        try:
            value: Value = as_float(build, result)
        except UnsupportedError as error:
            raise ModelError(f"the cost `{name}`: {error}") from None
        if value.type.size != 1:
            raise ModelError(
                f"the cost `{name}` gives shape {value.type.shape}; it must be 1 number"
            )
        return build.extract(value, *(0,) * len(value.type.shape))


@dataclass(frozen=True)
class DurationCost(_Finite):
    """A cost that grows while a signal is in force: kept * before + rate * level + offset.

    It is added to itself once more, as PsyNeuLink does: the cost of a level is
    kept * sum + rate * sum + offset, `sum` being the sum with this level. initial: the sum before
    the first trial.
    """

    rate: float = 1.0
    offset: float = 0.0
    kept: float = 1.0
    initial: float = 0.0

    def grown(self, context: Context, before: Value, level: Value) -> Value:
        """The sum with a further level."""
        build = context.build
        kept = before if self.kept == 1.0 else build.mul(before, self.kept)
        return build.add(build.add(kept, build.mul(level, self.rate)), self.offset)

    def emit(self, context: Context, before: Value, level: Value) -> Value:
        """The cost of a level. before: the sum without it."""
        with_level = self.grown(context, before, level)
        return self.grown(context, with_level, with_level)
