"""Reads numbers of live PsyNeuLink components, and remembers which parameter each became."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from psylang.pnl.refusals import RefusedError

# Conditions of a reset after which a mechanism begins as its construction left it: no reset.
AS_BUILT = ("Never",)


def begins_as_built(mechanism: Any) -> bool:
    """Returns whether a mechanism's first trial may begin without a reset."""
    kind = kind_of(mechanism.reset_stateful_function_when)
    return kind not in ("AtRunStart", "AtTrialStart")


def value_of(component: Any, name: str) -> Any:
    """A parameter as the modeller set it: its value in the default context, which each first run
    copies."""
    return getattr(component.parameters, name).get(None)


def number_of(component: Any, name: str) -> Any:
    """A parameter as a number, or as a vector or matrix. RefusedError: it has another form."""
    given = value_of(component, name)
    try:
        array = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise RefusedError(
            f"`{name}` of {kind_of(component)} is {type(given).__name__}", "give it numbers"
        ) from None
    if array.ndim and array.shape[0] == 1 and array.ndim > 1:
        array = array[0]
    if array.size and np.all(array == array.flat[0]):
        return float(array.flat[0])
    return array


def kind_of(component: Any) -> str:
    """The name of its class."""
    return type(component).__name__


class Names:
    """Psylang's names: unique, of letters, digits and _."""

    def __init__(self) -> None:
        self._of: dict[int, str] = {}
        self._taken: set[str] = set()

    def name(self, component: Any, wanted: str | None = None) -> str:
        """The name of a component; the same for every call."""
        if wanted is None and id(component) in self._of:
            return self._of[id(component)]
        made = identifier(component.name if wanted is None else wanted)
        base, count = made, 1
        while made in self._taken:
            count += 1
            made = f"{base}_{count}"
        self._taken.add(made)
        if wanted is None:
            self._of[id(component)] = made
        return made


def identifier(name: str) -> str:
    """A name that Psylang accepts."""
    made = re.sub(r"\W", "_", name, flags=re.ASCII)
    return made if re.match(r"[A-Za-z_]", made) else f"_{made}"


class Paths:
    """Which parameter of the model a parameter of a PsyNeuLink component became."""

    def __init__(self) -> None:
        self._of: dict[tuple[int, str], str] = {}
        self._components: dict[int, Any] = {}

    def note(self, component: Any, name: str, path: str) -> None:
        self._of[(id(component), name)] = path
        self._components[id(component)] = component

    def components(self) -> list[tuple[Any, str]]:
        """The noted parameters: a component, and the name."""
        return [(self._components[key], name) for key, name in self._of]

    def find(self, component: Any, name: str) -> str | None:
        return self._of.get((id(component), name))


class At:
    """A place in the model that is being read, such as `decision.integrator`."""

    def __init__(
        self,
        path: str,
        paths: Paths,
        start: Any = None,
        drawing: Iterator[int] | None = None,
        live: Any = None,
    ) -> None:
        self.path, self.paths, self.live = path, paths, live
        self.drawing = itertools.count() if drawing is None else drawing  # Numbers functions.
        self.start = start  # The state with which the mechanism begins, in place of its own.

    def part(self, field: str) -> At:
        return At(f"{self.path}.{field}", self.paths, self.start, self.drawing, self.live)

    def initial(self, function: Any, name: str = "initializer") -> Any:
        """The state with which an integrator begins."""
        if self.start is None:
            return number_of(function, name)
        return float(self.start[0]) if self.start.size == 1 else self.start

    def numbers(self, component: Any, fields: Mapping[str, str]) -> dict[str, Any]:
        """fields: from Psylang's names to PsyNeuLink's parameters."""
        made = {}
        for field, name in fields.items():
            made[field] = number_of(component, name)
            self.paths.note(component, name, f"{self.path}.{field}")
        return made


def only(component: Any, **wanted: Any) -> None:
    """RefusedError: a parameter is not what it must be."""
    for name, one in wanted.items():
        given = value_of(component, name)
        same = given is None if one is None else given is not None and np.all(given == one)
        if not same:
            raise RefusedError(f"`{name}` of {kind_of(component)} is {given}", f"it must be {one}")
