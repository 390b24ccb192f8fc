"""Random mechanisms of all kinds: functions, integrators, noise, recurrence, criteria.

Numbers are not round, so two ways to compute one value differ by less than thresholds and
comparisons can notice. Loops are short.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from psylang.model import criteria, functions, integrators, noise
from psylang.model.analytical import DDMAnalytical
from psylang.model.composition import Model
from psylang.model.compute import Compute
from psylang.model.decision import DDM, LCA
from psylang.model.function import function
from psylang.model.mechanism import Mechanism, Recurrent, Transfer

T = TypeVar("T")
STEP = 0.01373
KINDS = (*("transfer", "integrating", "lca", "ddm", "own") * 3, "transfer", "analytical")


@function
def branching(x, gain):  # type: ignore[no-untyped-def]
    """Branches on values, and on known conditions."""
    total = np.sum(x) * gain
    if total > 0.31:
        result = np.clip(x, -1.3, 0.7) * total
    elif len(x) > 1 and x[0] < x[1]:
        result = np.maximum(x, gain)
    else:
        result = -x
    return result


@function
def looping(x, gain):  # type: ignore[no-untyped-def]
    """Loops over elements and rounds; calls another function."""
    best = x[0]
    for k in range(3):
        for one in x:
            best = max(best, one * gain + 0.17 * k) if one > -0.4 else best - abs(one)
    return np.tanh(best) + np.sum(branching(x, gain))


@function
def combining(x, y):  # type: ignore[no-untyped-def]
    """Of two inputs of any shapes."""
    norm = np.sqrt(np.sum(x * x) + y * y)
    return [np.where(norm > 0.9, norm, y), np.exp(-norm), np.mean(x) - y]


@function
def choosing(x, gain):  # type: ignore[no-untyped-def]
    """A whole number."""
    return np.argmax(x) + (2 if np.max(x) > gain else 0)


class Components:
    """Draws numbers of `model`, and mechanisms. noisy: some of them draw random numbers."""

    def __init__(self, draw: Any, noisy: bool) -> None:
        self.draw = draw
        self.noisy = noisy
        self.model = Model("random", max_passes=self.among(7, 1000))
        self.made = 0

    def among(self, *things: T) -> T:
        chosen: T = things[self.draw(st.integers(0, len(things) - 1))]
        return chosen

    def made_by(self, *makers: Callable[[], Any]) -> Any:
        """The result of one of them."""
        return self.among(*makers)()

    def some(self, things: Sequence[T], least: int, most: int) -> list[T]:
        most = min(most, len(things))
        unique = st.lists(
            st.sampled_from(range(len(things))),
            min_size=min(least, most),
            max_size=most,
            unique=True,
        )
        return [things[k] for k in self.draw(unique)] if things else []

    def chance(self, of: int) -> bool:
        return bool(self.draw(st.integers(0, of - 1)) == of - 1)

    # Numbers.

    def raw(self, low: float, high: float) -> float:
        steps = int((high - low) / STEP)
        return low + STEP * (float(self.draw(st.integers(0, steps))) + 0.218)

    def number(self, low: float = -1.2, high: float = 1.2, size: int = 0) -> Any:
        """A scalar, or a vector; plain, or a parameter with a name."""
        value: Any = self.raw(low, high)
        if size and self.chance(4):
            value = [self.raw(low, high) for _ in range(size)]
        if not self.chance(4):
            return value
        self.made += 1
        return self.model.parameter(f"p{self.made}", value)

    def matrix(self, rows: int, columns: int) -> NDArray[Any]:
        flat = [self.raw(-1.2, 1.2) for _ in range(rows * columns)]
        matrix = np.array(flat).reshape(rows, columns)
        if self.chance(2):  # Mostly zeros: no connections.
            matrix[(np.arange(rows)[:, None] + np.arange(columns)) % 2 == 0] = 0.0
        return matrix

    # Components.

    def distribution(self) -> Any:
        if not self.noisy or self.chance(2):
            return None
        width = self.number(0.05, 0.8)
        return self.made_by(
            lambda: noise.Normal(standard_deviation=width),
            lambda: noise.Normal(mean=self.number(), standard_deviation=width),
            lambda: noise.Uniform(low=self.number(-1.0, 0.0), high=self.number(0.0, 1.0)),
            lambda: noise.Exponential(mean=width),
            lambda: noise.Wald(mean=width, scale=self.number(0.1, 2.0)),
            lambda: noise.Gamma(shape=self.among(0.6, 1.0, 2.3), scale=width),
        )

    def transfer(self, size: int) -> Any:
        def number() -> Any:
            return self.number(size=size)

        return self.made_by(
            lambda: functions.Linear(),
            lambda: functions.Linear(slope=number(), intercept=number()),
            lambda: functions.Linear(scale=number(), offset=number()),
            lambda: functions.Logistic(),
            lambda: functions.Logistic(gain=number(), bias=number(), offset=number()),
            lambda: functions.Tanh(gain=number(), x_0=number(), scale=number()),
            lambda: functions.ReLU(gain=number(), bias=number(), leak=self.number(0.0, 0.5)),
            lambda: functions.Exponential(rate=number(), bias=number()),
            lambda: functions.SoftMax(gain=number()),
        )

    def drift(self, size: int = 0) -> integrators.DriftDiffusion:
        scale = self.number(0.05, 1.0) if self.noisy else 0.0
        return integrators.DriftDiffusion(
            rate=self.number(size=size),
            noise=scale,
            threshold=self.number(0.2, 1.5),
            dt=self.number(0.02, 0.4),
            offset=self.among(0.0, self.number(-0.1, 0.1)),
            initial=self.number(-0.1, 0.1),
        )

    def integrator(self, size: int) -> Any:
        offset = self.among(0.0, self.number(size=size))
        initial = self.among(0.0, self.number(size=size))
        rate = self.number(0.0, 0.98, size=size)
        return self.made_by(
            lambda: integrators.SimpleIntegrator(
                rate=rate, offset=offset, initial=initial, noise=self.distribution()
            ),
            lambda: integrators.AdaptiveIntegrator(
                rate=rate, offset=offset, initial=initial, noise=self.distribution()
            ),
            lambda: integrators.LeakyCompetingIntegrator(
                leak=rate, dt=self.number(0.05, 0.5), initial=initial, noise=self.distribution()
            ),
            lambda: self.drift(size),
        )

    def recurrent(self, size: int) -> Recurrent | None:
        made: Recurrent | None = self.made_by(
            lambda: None,
            lambda: None,
            lambda: Recurrent(auto=self.number()),
            lambda: Recurrent(auto=self.number(), hetero=self.number()),
            lambda: Recurrent(auto=0.0, hetero=self.number()),
            lambda: Recurrent(matrix=self.matrix(size, size)),
            lambda: Recurrent(auto=self.number(), pattern=np.sign(self.matrix(size, size))),
        )
        return made

    def criterion(self, size: int) -> Any:
        if self.chance(2):
            return None
        threshold = self.number(0.1, 1.1)
        several = (
            lambda: criteria.MaxVsNext(threshold=threshold),
            lambda: criteria.MaxVsAverage(threshold=threshold),
        )
        return self.made_by(
            lambda: criteria.AtLeast(threshold=threshold),
            lambda: criteria.Settled(tolerance=self.raw(0.01, 0.3)),
            *(several if size > 1 else ()),
        )

    def common(self) -> dict[str, Any]:
        return {
            "reset": self.among("trial", "trial", "never"),
            "until_finished": not self.chance(4),
            "max_steps": self.among(3, 9),
            "seed": self.draw(st.integers(0, 9)),
        }

    def mechanism(self, name: str) -> Mechanism:
        size = self.among(1, 2, 2, 3, 3, 5)
        kind = self.among(*KINDS)
        common = self.common()
        if kind == "lca":
            return LCA(
                name,
                size=max(size, 2),
                leak=self.number(0.0, 1.0),
                competition=self.number(0.0, 1.0),
                self_excitation=self.among(0.0, self.number()),
                dt=self.number(0.05, 0.4),
                noise=self.distribution(),
                initial_state=self.among(0.0, self.number(size=max(size, 2))),
                function=self.transfer(max(size, 2)),
                until=self.criterion(max(size, 2)),
                non_decision_time=self.among(0.0, self.number(0.0, 0.3)),
                **common,
            )
        if kind == "ddm":
            time = self.among(0.0, self.number(0.0, 0.3))
            return DDM(name, integrator=self.drift(), non_decision_time=time, **common)
        if kind == "analytical" and self.noisy:
            return DDMAnalytical(
                name,
                drift=self.number(),
                threshold=self.number(0.3, 1.2),
                noise=self.number(0.3, 1.2),
                starting_point=self.number(-0.2, 0.2),
                **common,
            )
        if kind == "own":
            return self.own(name, size, common)
        integrating = kind == "integrating"
        return Transfer(
            name,
            size=size,
            function=self.transfer(size),
            integrator=self.integrator(size) if integrating else None,
            noise=None if integrating else self.distribution(),
            recurrent=self.recurrent(size),
            clip=self.among(None, None, (-0.77, 0.91)),
            until=self.criterion(size),
            **common,
        )

    def own(self, name: str, size: int, common: dict[str, Any]) -> Compute:
        gain = {"gain": self.number()}
        made: Compute = self.made_by(
            lambda: Compute(
                name, function=branching, inputs={"x": size}, parameters=gain, size=size, **common
            ),
            lambda: Compute(
                name, function=looping, inputs={"x": size}, parameters=gain, size=0, **common
            ),
            lambda: Compute(name, function=combining, inputs={"x": size, "y": 0}, size=3, **common),
            lambda: Compute(
                name,
                function=choosing,
                inputs={"x": size},
                parameters=gain,
                size=self.among(0, 1),
                choice=True,
                **common,
            ),
        )
        return made
