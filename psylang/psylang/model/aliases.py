"""Names of a user-defined function that hold one array or list: all of them see a change.

Data are never changed while a function is compiled: a changed array is a new datum. It replaces the
old datum under every name, and in every list, as in Python. A datum is locked if it shares elements
in ways that are known only at run time, or in part (views), or with a caller: a change of it is
refused.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from psylang.ir.graph import Value
from psylang.model.arithmetic import Datum, is_in

Env = dict[str, Datum]


def is_mutable(datum: Datum) -> bool:
    """Returns whether Python could change the datum in place."""
    return isinstance(datum, list | np.ndarray) or (
        isinstance(datum, Value) and bool(datum.type.shape)
    )


class Aliases:
    """borrowed: data that a caller holds."""

    def __init__(self, borrowed: Sequence[Datum] = ()) -> None:
        self._locked: list[Datum] = []
        self.lock(*borrowed)

    def lock(self, *data: Datum) -> None:
        """Locks the data and all data in them: they must not be changed."""
        for datum in data:
            if is_mutable(datum) and not is_in(datum, self._locked):
                self._locked.append(datum)
            if isinstance(datum, list | tuple):
                self.lock(*datum)

    def lock_views(self, *data: Datum) -> None:
        """Locks only arrays: NumPy's slices and rows share elements, a list's do not."""
        self.lock(*(one for one in data if isinstance(one, Value | np.ndarray)))

    def lock_rows(self, item: Datum, env: Env) -> None:
        """Locks an item of an iteration: a row of an array, if no name holds it."""
        if isinstance(item, tuple):
            for one in item:
                self.lock_rows(one, env)
        elif not is_in(item, list(env.values())):
            self.lock_views(item)

    def is_locked(self, datum: Datum) -> bool:
        return is_in(datum, self._locked)

    def change(self, env: Env, before: Datum, after: Datum) -> None:
        """Replaces `before` by `after`."""
        made: dict[int, Datum] = {}
        for name, datum in env.items():
            env[name] = self._changed(datum, before, after, made)

    def _changed(self, datum: Datum, before: Datum, after: Datum, made: dict[int, Datum]) -> Datum:
        if datum is before:
            return after
        if not isinstance(datum, list | tuple):
            return datum
        if id(datum) not in made:
            parts = [self._changed(one, before, after, made) for one in datum]
            same = all(one is other for one, other in zip(parts, datum, strict=True))
            made[id(datum)] = datum if same else type(datum)(parts)
        return made[id(datum)]
