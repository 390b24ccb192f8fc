"""The fit of a compiled model whose density has a closed form: one drift-diffusion process.

The parameters of the model, and formulas of them, become those of the density (ddm.py), and their
slopes follow by the chain rule. A model in steps of dt whose thresholds are not corrected decides
late, as if its thresholds were farther (Broadie, Glasserman & Kou 1997): the density has the
farther ones.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from psylang.errors import PsylangError
from psylang.likelihood.data import Columns, Floats, observed
from psylang.likelihood.ddm_fit import Likelihood
from psylang.likelihood.errors import LikelihoodError
from psylang.likelihood.fitted import Fit
from psylang.likelihood.maximum import Range, maximise
from psylang.likelihood.simulated import ranges_of

# Of a threshold: the deviation of a step. The farther thresholds are right to its square.
STEP_MAX = 0.25


class Form(Protocol):
    """See psylang.model.closed_form.ClosedForm."""

    @property
    def fields(self) -> Mapping[str, str]: ...

    @property
    def idle(self) -> tuple[str, ...]: ...

    @property
    def outputs(self) -> tuple[str, str]: ...

    @property
    def late(self) -> float: ...


class Formula(Protocol):
    """A parameter that is computed from others."""

    def value(self, number: Callable[[str], Any], write: Callable[..., Any]) -> Any: ...


class Rules(Protocol):
    """The values of a model's parameters, of which some are formulas, and what they may be."""

    @property
    def values(self) -> Mapping[str, Floats]: ...

    @property
    def formulas(self) -> Mapping[str, Formula]: ...

    @property
    def closed_form(self) -> Form | None: ...

    def check(self, given: Mapping[str, Any], allow_nan: bool = False) -> None: ...


@dataclass(frozen=True)
class Slope:
    """A number, and its derivatives by the parameters of a fit."""

    number: float
    by: Floats

    def __neg__(self) -> Slope:
        return Slope(-self.number, -self.by)

    def __add__(self, other: Slope) -> Slope:
        return Slope(self.number + other.number, self.by + other.by)

    def __sub__(self, other: Slope) -> Slope:
        return self + -other

    def __mul__(self, other: Slope) -> Slope:
        by = self.by * other.number + other.by * self.number
        return Slope(self.number * other.number, by)

    def __truediv__(self, other: Slope) -> Slope:
        ratio = self.number / other.number
        return Slope(ratio, (self.by - other.by * ratio) / other.number)

    def root(self) -> Slope:
        number = math.sqrt(self.number)
        return Slope(number, self.by / (2 * number))


OPERATIONS: Mapping[str, Callable[..., Slope]] = {
    "neg": operator.neg,
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
}


class Plan(Protocol):
    """What is needed of a psylang.Plan."""

    name: str

    @property
    def parameters(self) -> Mapping[str, Floats]: ...


def closed_fit(
    plan: Plan,
    rules: Rules | None,
    data: Columns,
    start: Mapping[str, float],
    *,
    limits: Mapping[str, tuple[float, float]],
    params: Mapping[str, Any],
    outputs: tuple[str, str],
    simulates: bool,
) -> Fit | None:
    """As Plan.fit(). None: there is no closed form for these arguments, and simulates=True.

    LikelihoodError: as of SimulatedLikelihood.fit(), or there is none, and simulates=False.
    """
    form = None if rules is None else rules.closed_form
    likelihood, reason = None, "it is no single drift-diffusion process"
    if rules is not None and form is not None:
        likelihood = ClosedLikelihood(plan.name, form, rules, frozenset(plan.parameters))
        reason = likelihood.unfit(data, params, outputs)
    if likelihood is None or reason:
        if simulates:
            return None
        raise LikelihoodError(
            f"`{plan.name}` has no density in closed form here: {reason}; leave out method='closed'"
        )
    for name in params:
        if name not in plan.parameters:
            known = ", ".join(plan.parameters) or "none"
            raise LikelihoodError(f"params: there is no parameter `{name}`; there is {known}")
    return likelihood.fit(data, ranges_of(plan.parameters, start, limits, params), params)


@dataclass(frozen=True)
class ClosedLikelihood:
    """Of a plan: `form` says which of its parameters are those of the process, which `rules` has.

    varied: the parameters that the plan varies.
    """

    name: str
    form: Form
    rules: Rules
    varied: frozenset[str]

    def unfit(self, data: Columns, params: Mapping[str, Any], outputs: tuple[str, str]) -> str:
        """The reason for which these data have no likelihood in closed form, or "".

        LikelihoodError: data that have no likelihood at all.
        """
        if outputs != self.form.outputs:
            return f"outputs are {' and '.join(outputs)}, which are not those of its process"
        wide = [name for name, one in params.items() if np.ndim(one)]
        if wide:
            return f"params has more than one number for {', '.join(wide)}"
        for name in self.form.idle:
            if name in self.varied or self.rules.values[name] != 0:
                return f"`{name}` is not 0"
        values = {field: self._default(name, params) for field, name in self.form.fields.items()}
        step = values["noise"] * math.sqrt(values["dt"])
        if not 0 < step <= STEP_MAX * values["threshold"]:
            return f"steps of {step:.3g} are too coarse for thresholds of {values['threshold']:.3g}"
        _, choice = observed(data, names=outputs)
        return "" if np.isin(choice, (0, 1)).all() else "the data have choices other than 0 and 1"

    def fit(self, data: Columns, ranges: Mapping[str, Range], params: Mapping[str, Any]) -> Fit:
        """The parameters of `ranges` at the greatest likelihood; params: values of others.

        LikelihoodError: the likelihood is 0 at the start, or there is no scipy. The model's errors:
        a parameter cannot have its value.
        """
        rt, choice = observed(data, (0, 1), self.form.outputs)
        params = {name: float(one) for name, one in params.items()}
        likelihood = Likelihood(rt, choice == 1)
        begin = {name: one.start for name, one in ranges.items()}
        self._check({**params, **begin})

        def possible(given: dict[str, float]) -> dict[str, Slope] | None:
            """The parameters of the density, with their derivatives by those of the fit."""
            try:
                self._check({**params, **given})
                return self._process(given, params)
            except (PsylangError, ArithmeticError, ValueError):
                return None

        def height(given: dict[str, float]) -> float:
            process = possible(given)
            if process is None:
                return -math.inf
            return likelihood.height({name: one.number for name, one in process.items()})

        def slopes(given: dict[str, float]) -> tuple[float, dict[str, float]]:
            process = possible(given)
            if process is None:
                return -math.inf, dict.fromkeys(given, math.nan)
            top, by = likelihood.slopes({name: one.number for name, one in process.items()})
            total = sum((one.by * by[name] for name, one in process.items()), np.zeros(len(given)))
            return top, dict(zip(given, total.tolist(), strict=True))

        found = maximise(height, ranges, slopes=slopes)
        return found.as_fit(self.name, params, len(rt))

    def _check(self, given: Mapping[str, float]) -> None:
        self.rules.check({name: np.asarray(one, np.float64) for name, one in given.items()})

    def _default(self, name: str, params: Mapping[str, Any]) -> float:
        return self._numbers([], params)(name).number

    def _numbers(self, names: list[str], given: Mapping[str, Any]) -> Callable[[str], Slope]:
        """Maps a parameter's name to its number; derivatives are by `names`."""

        def number(name: str) -> Slope:
            if name in self.rules.formulas:
                made: Slope = self.rules.formulas[name].value(number, write)
                return made
            by = np.zeros(len(names))
            if name in names:
                by[names.index(name)] = 1.0
            return Slope(float(given.get(name, self.rules.values[name])), by)

        def write(name: str, *of: Slope | float) -> Slope:
            nothing = np.zeros(len(names))
            return OPERATIONS[name](
                *(one if isinstance(one, Slope) else Slope(one, nothing) for one in of)
            )

        return number

    def _process(self, given: Mapping[str, float], params: Mapping[str, float]) -> dict[str, Slope]:
        number = self._numbers([*given], {**params, **given})
        nothing = np.zeros(len(given))

        def field(name: str) -> Slope:
            fields = self.form.fields
            return number(fields[name]) if name in fields else Slope(0.0, nothing)

        noise, late = field("noise"), Slope(self.form.late, nothing)
        bound = field("threshold") / noise
        if self.form.late:
            bound = bound + late * field("dt").root()
        half, a = Slope(0.5, nothing), bound + bound
        return {
            "v": field("drift") / noise,
            "a": a,
            "z": half + field("starting_point") / noise / a,
            "t": field("non_decision_time"),
            "sv": field("drift_deviation") / noise,
            "sz": field("start_range") / noise / a,
            "st": field("time_range"),
        }
