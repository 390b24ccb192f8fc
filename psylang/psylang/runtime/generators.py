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
from psylang.ir.seeds import Begun, later_keys

WORDS = 624
BLOCK_BYTES, BLOCK_MAX, BLOCKS_KEPT = 4 << 20, 1024, 4


class Generators:
    """The generators of a run of `sequences` sequences. alike: all sequences begin with the first
    one's generators, as the points of a search do.

    They are seeded in blocks, independent of the run's chunks, because one takes as long as
    hundreds. Any number of threads may use them.
    """

    def __init__(self, program: Program, seed: int, sequences: int, alike: bool) -> None:
        self._own, self._seed, self._alike = program.stream_seeds, seed, alike
        self._sequences = sequences
        self._is_begun = any(isinstance(own, Begun) for own in self._own)
        self._first = (_row if self._is_begun else _first_row)(self._own, seed)
        self.nbytes = self._first.nbytes  # The size for one sequence.
        self._size = min(max(BLOCK_BYTES // self.nbytes, 1), BLOCK_MAX)
        self._blocks: dict[int, tuple[NDArray[Any], NDArray[Any]]] = {}

    def rows(self, begin: int, end: int) -> NDArray[Any]:
        """The generators of sequences begin … end - 1: shape (sequences, streams)."""
        made = np.empty((end - begin, len(self._own)), self._first.dtype)
        made[...] = self._first
        at = end if self._alike else max(begin, 1)
        while at < end:
            number = at // self._size
            until = min((number + 1) * self._size, end)
            there = slice(at - number * self._size, until - number * self._size)
            for field, block in zip(("key", "salt"), self._block(number), strict=True):
                made[field][at - begin : until - begin] = block[there]
            if self._is_begun:
                for field, fresh in (("position", WORDS), ("has_gauss", 0), ("gauss", 0.0)):
                    made[field][at - begin : until - begin] = fresh
            at = until
        return made

    def _block(self, number: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """The words of some sequences: (sequences, streams, WORDS), and the salts. Sequence 0 has
        none."""
        found = self._blocks.get(number)
        if found is None:
            begin = number * self._size
            end = min(begin + self._size, self._sequences)
            keys = [later_keys(own, self._seed, begin, end) for own in self._own]
            words = seeded(np.concatenate(keys)).reshape(len(self._own), -1, WORDS)
            shape, count = (end - begin, len(self._own)), words.shape[1]
            found = np.zeros((*shape, WORDS), np.uint32), np.zeros((*shape, 2), np.uint32)
            found[0][-count:] = words.swapaxes(0, 1)
            found[1][-count:] = np.stack(keys).swapaxes(0, 1)
            while len(self._blocks) >= BLOCKS_KEPT:
                self._blocks.pop(next(iter(self._blocks)), None)
            self._blocks[number] = found
        return found


def _row(own: tuple[int, ...], seed: int) -> NDArray[Any]:
    from psylang.emit.abi import generators_of

    row = generators_of(own, seed)
    row.setflags(write=False)
    return row


_first_row = functools.lru_cache(maxsize=64)(_row)  # Begun seeds are equal to plain ones.


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
