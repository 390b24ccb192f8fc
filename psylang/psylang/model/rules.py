"""The permitted values of a model's parameters: limits and relations.

Constructors check the limits of their fields. Values that come later (constants of compile(), rows
of run(), grids of search(), levels of control) are checked here, by the same limits, together with
the relations between parameters that components declare.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from psylang.ir.builder import Builder
from psylang.ir.graph import LIMITS, Origin, Value
from psylang.model.errors import ModelError
from psylang.model.parameters import Array, Formula, Limits

CORNERS_MAX = 256  # Of ranges, of which each may have two ends.
Modulation = Literal["multiplicative", "additive", "override"]


def changed(build: Builder, name: str, modulation: Modulation, value: Value, level: Value) -> Value:
    """The value `name` as a level modulates it."""
    match modulation:
        case "multiplicative":
            return build.mul(value, level)
        case "additive":
            return build.add(value, level)
        case "override":
            return level
    raise ModelError(
        f"modulation of `{name}` is {modulation!r}; it must be multiplicative, additive or override"
    )


@dataclass(frozen=True)
class Relation:
    """Between two fields of a component: `inside`: -bound < value < bound; `within`: the same with
    <=; `below`: value <= bound."""

    value: str
    kind: Literal["inside", "within", "below"]
    bound: str

    def holds(self, value: Any, bound: Any) -> Any:
        """Elementwise; NaN violates no relation, because other rules check it."""
        if self.kind == "below":
            return ~(value > bound)
        size = np.abs(value)
        return ~(size > bound) if self.kind == "within" else ~(size >= bound)

    def rule(self) -> str:
        """The relation as text."""
        if self.kind == "below":
            return f"`{self.value}` at most `{self.bound}`"
        sign = "strictly " if self.kind == "inside" else ""
        return f"`{self.value}` {sign}within ±`{self.bound}`"

    def told(self, value: float, bound: float) -> str:
        """The violated relation as text, with these names and values."""
        if self.kind == "below":
            return f"`{self.value}` is {value:g}; it must be at most `{self.bound}`, {bound:g}"
        sign = "strictly " if self.kind == "inside" else ""
        return f"`{self.value}` is {value:g}; it must be {sign}within ±`{self.bound}`, ±{bound:g}"


def relations_of(component: Any, path: str) -> Iterator[tuple[str, Relation]]:
    """The relations of a component and its parts, with the path of each."""
    for relation in getattr(component, "relations", ()):
        yield path, relation
    for one in dataclasses.fields(component):
        part = getattr(component, one.name)
        if "part" in one.metadata and dataclasses.is_dataclass(part):
            yield from relations_of(part, f"{path}.{one.name}")


@dataclass(frozen=True)
class Signal:
    """Control of a parameter: its least and greatest level, and their effect on the value."""

    least: float
    most: float
    modulation: Modulation

    def ends(self, value: Array) -> tuple[Array, Array]:
        """The values at both ends of the levels; the others are between them."""
        low, high = np.float64(self.least), np.float64(self.most)
        if self.modulation == "override":
            return np.full_like(value, low), np.full_like(value, high)
        if self.modulation == "additive":
            return value + low, value + high
        return value * low, value * high


@dataclass(frozen=True)
class Guard:
    """Of a parameter that a mechanism modulates: its values are known in a run only, so a value
    that violates a limit or a relation becomes NaN, which decides nothing and is counted.

    component: the parameter's. path: its place within."""

    component: str
    path: str
    limits: Sequence[Limits]
    relations: Sequence[Relation]  # With this parameter.

    def held(self, build: Builder, name: str, value: Value, other: Callable[[str], Value]) -> Value:
        """The value, or NaN. other: gives the value of another parameter."""
        rules = [("finite", build.lt(build.abs(value), math.inf))]
        for one in self.limits:
            for rule, operation, bound in (
                ("above", "gt", one.above),
                ("at least", "ge", one.least),
                ("at most", "le", one.most),
            ):
                if bound is not None:
                    rules.append((f"{rule} {bound:g}", build.op(operation, value, bound)))
        for relation in self.relations:
            pair = [
                value if one == name else other(one) for one in (relation.value, relation.bound)
            ]
            if relation.kind != "below":
                pair[0] = build.abs(pair[0])
            holds = build.op("lt" if relation.kind == "inside" else "le", *pair)
            rules.append((relation.rule(), holds))
        for rule, holds in rules:
            with build.at(Origin(self.component, "", self.path, f"{LIMITS}{rule}")):
                value = build.select(holds, value, math.nan)
        return value


def guards_of(
    modulated: Sequence[str],
    names: Mapping[str, Mapping[str, str]],
    limits: Mapping[str, Sequence[Limits]],
    relations: Sequence[Relation],
    formulas: Mapping[str, Formula],
) -> dict[str, Guard]:
    """The guards of parameters that mechanisms modulate, and of those computed from them."""
    following = [
        name
        for name, formula in formulas.items()
        if any(leaf.name in modulated for leaf in formula.leaves())
    ]
    made = {}
    for name in (*modulated, *following):
        places = [path for every in names.values() for path, one in every.items() if one == name]
        component, _, path = places[0].partition(".")
        related = [one for one in relations if name in (one.value, one.bound)]
        made[name] = Guard(component, path, limits.get(name, ()), related)
    return made


@dataclass(frozen=True)
class ClosedForm:
    """Of the density of a model that is one drift-diffusion process.

    fields: the parameter of each field. idle: parameters that must be 0. outputs: those with time
    and with choice. late: by how many standard deviations of a step the thresholds of a process
    without steps are farther, because a step is observed at its end.
    """

    fields: Mapping[str, str]
    idle: tuple[str, ...]
    outputs: tuple[str, str]
    late: float


@dataclass(frozen=True)
class Rules:
    """The rules of one compiled model. values: the parameters' values if no others are given.
    closed_form: of its density, if it has one."""

    values: Mapping[str, Array]
    limits: Mapping[str, Sequence[Limits]]
    relations: Sequence[Relation]  # Between names of parameters.
    signals: Mapping[str, Signal]
    formulas: Mapping[str, Formula] = dataclasses.field(default_factory=dict)
    closed_form: ClosedForm | None = None

    def check(
        self, given: Mapping[str, NDArray[Any]], allow_nan: bool = False, everything: bool = False
    ) -> None:
        """given: a value, or a row for each trial. everything: the other values, too.

        ModelError: a value is infinite or NaN (unless allowed), exceeds a limit, or violates a
        relation.
        """
        given = {**given, **self._following(given)}
        for name in self.values if everything else given:
            value = given.get(name, self.values[name])
            self._limited(name, value, value, allow_nan)
            for end in self._controlled(name, given):
                self._limited(name, value, end, allow_nan)
        for name in self.formulas:
            if name not in given and not everything:
                for end in self._controlled(name, given):
                    self._limited(name, self.values[name], end, allow_nan)
        for relation in self.relations:
            if everything or relation.value in given or relation.bound in given:
                self._related(relation, given)

    def _following(self, given: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """The values of formulas for the given values."""
        made = {}
        for name, formula in self.formulas.items():
            leaves = [leaf.name for leaf in formula.leaves()]
            if any(leaf in given for leaf in leaves):
                made[name] = formula.computed({**self.values, **given})
        return made

    def _limited(
        self, name: str, given: Array, value: Array, allow_nan: bool, where_from: str = ""
    ) -> None:
        for limits in self.limits.get(name, ()) or (Limits(),):
            found = limits.violation(value, allow_nan)
            if found is None:
                continue
            where, rule = found
            number = value.item() if not value.ndim else value[where]
            controlled = " at an end of the levels that control tries"
            how = where_from if value is given else controlled
            row = f" (row {where[0]})" if value.ndim > self.values[name].ndim else ""
            raise ModelError(f"parameter `{name}` is {number:g}{row}{how}; it must be {rule}")

    def _related(self, relation: Relation, given: Mapping[str, NDArray[Any]]) -> None:
        for value in self._reached(relation.value, given):
            for bound in self._reached(relation.bound, given):
                holds = relation.holds(value, bound)
                if np.all(holds):
                    continue
                bad = np.unravel_index(int(np.argmin(holds)), np.shape(holds))
                pair = [np.broadcast_to(one, np.shape(holds))[bad] for one in (value, bound)]
                raise ModelError(f"parameter {relation.told(*map(float, pair))}")

    def hold_within(self, ranges: Mapping[str, tuple[float, float]]) -> None:
        """ModelError: a parameter at a finite end of its range, or a formula of such ends, exceeds
        a limit. Relations are held when values are given."""
        finite = {
            name: [one for one in ends if math.isfinite(one)] for name, ends in ranges.items()
        }
        named = [name for name, ends in finite.items() if ends]
        for ends in itertools.islice(itertools.product(*(finite[n] for n in named)), CORNERS_MAX):
            given: dict[str, Array] = {
                name: np.full(self.values[name].shape, end)
                for name, end in zip(named, ends, strict=True)
            }
            for name, value in {**given, **self._following(given)}.items():
                self._limited(name, value, value, True, " at an end of its range")

    def _controlled(self, name: str, given: Mapping[str, NDArray[Any]]) -> list[Array]:
        """The values at the ends of the levels that control sets, of a parameter or of one that is
        computed from such parameters; none if control sets neither."""
        if name in self.signals:
            return list(self.signals[name].ends(given.get(name, self.values[name])))
        formula = self.formulas.get(name)
        if formula is None:
            return []
        leaves = dict.fromkeys(leaf.name for leaf in formula.leaves())
        set_ones = [leaf for leaf in leaves if leaf in self.signals]
        ends = [self.signals[leaf].ends(given.get(leaf, self.values[leaf])) for leaf in set_ones]
        return [
            formula.computed({**self.values, **given, **dict(zip(set_ones, one, strict=True))})
            for one in itertools.product(*ends)
            if set_ones
        ]

    def _reached(self, name: str, given: Mapping[str, NDArray[Any]]) -> Sequence[Array]:
        """The values of a parameter, as it is or as control sets it: rows in front, one axis for
        elements behind."""
        own = self.values[name].ndim
        every = self._controlled(name, given) or [given.get(name, self.values[name])]
        return [
            value.reshape(
                *value.shape[: value.ndim - own], math.prod(value.shape[value.ndim - own :])
            )
            for value in every
        ]
