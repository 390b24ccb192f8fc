"""What objects hold, and whether they still hold the identical objects: the base of the watches
over models and over PsyNeuLink's compositions, which know what belongs to theirs."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from numpy.typing import NDArray


class Holdings:
    """Parts that can change, by kind, and their contents.

    The comparisons are loops in C over all parts of a kind: models have hundreds.
    """

    def __init__(self) -> None:
        self.rows: list[Collection[Any]] = []  # Lists, sets, and their like.
        self.tables: list[Mapping[Any, Any]] = []  # Dictionaries, including those of objects.
        self.others: list[tuple[Callable[[Any], tuple[Any, ...]], Any]] = []
        self.arrays: list[NDArray[Any]] = []

    def note(self) -> None:
        """Remembers the contents, once all parts were found."""
        self._lengths = self._measure()
        self._held = list(self._contents())
        self._bits = self._read()

    def are_same(self) -> bool:
        """Returns whether the parts hold the identical objects as at note()."""
        return (
            self._measure() == self._lengths
            and all(map(operator.is_, self._contents(), self._held))
            and self._read() == self._bits
        )

    def _measure(self) -> list[int]:
        return [*map(len, self.rows), *map(len, self.tables)]

    def _contents(self) -> Iterator[Any]:
        flat = itertools.chain.from_iterable
        values = flat(map(operator.methodcaller("values"), self.tables))
        others = flat(read(one) for read, one in self.others)
        return itertools.chain(flat(self.rows), flat(self.tables), values, others)

    def _read(self) -> list[Any]:
        return [(one.dtype, one.shape, one.tobytes()) for one in self.arrays]
