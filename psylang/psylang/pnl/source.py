"""The composition that a model was made from, and whether it still is what was imported.

Importing it again must give the same program: PsyNeuLink keeps the progress of its own runs in the
same components, so their contents alone would tell of changes that do not matter. Importing takes
some 10 ms a mechanism. It is left out while all parts of the composition hold the identical
objects, which one comparison of them tells; runs of Psylang change none of them.
"""

from __future__ import annotations

import collections
import itertools
from collections.abc import Callable
from enum import Enum
from typing import Any

import numpy as np

from psylang.errors import ModelChangedError, PsylangError
from psylang.holdings import Holdings

# Of these modules' objects the attributes are parts of a composition.
MODULES = ("psyneulink.", "graph_scheduler.")
# What they hold besides: views of parameters, and logs, preferences, registries and clocks, which
# change no results.
APART = {"Log", "LogEntry", "EntriesDict", "BasePreferenceSet", "PreferenceEntry", "Defaults"}
APART |= {"Context", "Clock", "Time", "ParameterAlias", "ParameterValue", "RegistryTuple"}
ROWS = (list, tuple, set, frozenset, collections.deque)


class Source:
    """given: the composition, and the conditions that end its trials. written: imports it again,
    and gives a text that has all of the model. text: the one of the first import.

    A copy of a model, by pickle or copy, has no source: it never changes.
    """

    def __init__(
        self, given: Any = None, written: Callable[[], str] | None = None, text: str = ""
    ) -> None:
        self._given, self._written, self._text = given, written, text
        self._parts = _Parts(given) if written else None

    def __reduce__(self) -> tuple[Any, ...]:
        return (Source, ())

    def release(self) -> None:
        """From now on changes of the composition do not matter."""
        self._given = self._written = self._parts = None

    def check(self) -> None:
        """ModelChangedError: importing the composition would give another model, or none."""
        if self._written is None or self._parts is None or self._parts.are_same():
            return
        name = self._given[0].name
        try:
            text = self._written()
        except PsylangError as error:  # A change that is not imported.
            told = f" ({error})"
        else:
            if text == self._text:
                self._parts = _Parts(self._given)
                return
            told = _difference(self._text, text)
        raise ModelChangedError(
            f"the composition `{name}` was changed after psylang.from_psyneulink(){told}; import "
            "it again: model = psylang.from_psyneulink(…), and compile that; or call "
            "model.release() to run it as it was imported"
        )


def _difference(before: str, after: str) -> str:
    """The component of the first line that differs, for a message."""
    for old, new in itertools.zip_longest(before.splitlines(), after.splitlines(), fillvalue=""):
        if old != new:
            places = [line.rpartition("  # ")[2] for line in (new, old) if "  # " in line]
            return f" (`{places[0].partition('.')[0]}`)" if places else ""
    return ""


class _Parts(Holdings):
    """All that a composition consists of, as it is now."""

    def __init__(self, composition: Any) -> None:
        super().__init__()
        self._find(composition)
        self.note()

    def _find(self, composition: Any) -> None:
        seen: dict[int, Any] = {}
        waiting = [composition]
        while waiting:
            one = waiting.pop()
            if id(one) in seen:
                continue
            if isinstance(one, np.ndarray) and one.dtype != object:
                seen[id(one)] = one
                self.arrays.append(one)
            elif isinstance(one, (np.ndarray, dict, *ROWS)):
                seen[id(one)] = one
                waiting += self._kept(one)
            elif isinstance(one, type | Enum):
                continue
            elif type(one).__module__.startswith(MODULES) and type(one).__name__ not in APART:
                seen[id(one)] = one
                waiting += self._attributes(one)

    def _kept(self, one: Any) -> list[Any]:
        if isinstance(one, dict):
            self.tables.append(one)
            return [*one, *one.values()]
        self.rows.append(one.ravel() if isinstance(one, np.ndarray) else one)
        return list(self.rows[-1])

    def _attributes(self, one: Any) -> list[Any]:
        bases = {base.__name__ for base in type(one).__mro__}
        if "ParametersBase" in bases:
            return list(one)
        held = vars(one) if hasattr(one, "__dict__") else {}
        if "ParameterBase" in bases:
            return [held[name] for name in ("values", "default_value") if name in held]
        self.tables.append(held)
        return list(held.values())
