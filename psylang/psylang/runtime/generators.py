"""The generators of `exact`: a Mersenne Twister for each stream and sequence, made when needed.

The seeding of many at once is NumPy's, word by word over all of them: M. Matsumoto and
T. Nishimura's init_by_array (2002).
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psylang.ir.graph import Program
from psylang.ir.seeds import first_key, later_keys

WORDS = 624


class Generators:
    """Of a run. alike: all sequences begin with the first one's, as the points of a search do."""

    def __init__(self, program: Program, seed: int, alike: bool) -> None:
        self._own, self._seed, self._alike = program.stream_seeds, seed, alike
        self._first = _first_row(self._own, seed)
        self.nbytes = self._first.nbytes  # Of one sequence.

    def rows(self, begin: int, end: int) -> NDArray[Any]:
        """Of sequences begin … end - 1: shape (sequences, streams)."""
        made = np.empty((end - begin, len(self._own)), self._first.dtype)
        made[...] = self._first
        later = 0 if self._alike else end - max(begin, 1)
        if later > 0:
            for stream, own in enumerate(self._own):
                keys = later_keys(own, self._seed, begin, end)
                made["key"][-later:, stream] = seeded(keys)
        return made


@functools.lru_cache(maxsize=64)
def _first_row(own: tuple[int, ...], seed: int) -> NDArray[Any]:
    from psylang.emit.abi import generators_of

    row = generators_of([first_key(one, seed) for one in own])
    row.setflags(write=False)
    return row


def seeded(keys: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """The words of RandomState(key) for each key: from (n, length) to (n, WORDS)."""
    count, length = keys.shape
    words = np.empty((WORDS, count), np.uint32)
    words[...] = _fresh()[:, np.newaxis]
    at = 1
    for step in range(max(WORDS, length)):
        mixed = (words[at - 1] ^ (words[at - 1] >> np.uint32(30))) * np.uint32(1664525)
        words[at] = (words[at] ^ mixed) + keys[:, step % length] + np.uint32(step % length)
        at = _following(words, at)
    for _ in range(WORDS - 1):
        mixed = (words[at - 1] ^ (words[at - 1] >> np.uint32(30))) * np.uint32(1566083941)
        words[at] = (words[at] ^ mixed) - np.uint32(at)
        at = _following(words, at)
    words[0] = 0x80000000
    return words.T


def _following(words: NDArray[np.uint32], at: int) -> int:
    if at + 1 < WORDS:
        return at + 1
    words[0] = words[WORDS - 1]
    return 1


@functools.cache
def _fresh() -> NDArray[np.uint32]:
    """The words before a key is mixed in: those of the seed 19650218."""
    made: NDArray[np.uint32] = np.random.RandomState(19650218).get_state(legacy=True)[1]  # type: ignore[index]
    return made
