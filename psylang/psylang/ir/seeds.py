"""The keys of the generators of `exact`, one per stream and sequence of trials.

A key is what numpy.random.RandomState takes. A run with seed 0 has the streams' own seeds in its
first sequence, as PsyNeuLink has; every other key is derived from the stream's seed, the run's and
the number of the sequence, so that no two sequences have the same numbers.

A stream that begins anew within a run (the operation random.seed) has the key that the operation
gives, alone in that first sequence, and with the salt of its stream in all others.
"""

from __future__ import annotations

import base64
import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

# A generator's state as numpy.random.RandomState.get_state() gives it.
State = tuple[Any, ...]
KEY_BYTES, PACKED = 4 * 624, struct.Struct("<iid")  # Position, whether one of a pair is kept, it.


class Begun(int):
    """The seed of a generator that has been drawn from: the first sequence of a run with seed 0
    goes on from its state; all others have the keys of the seed."""

    state: State

    def __new__(cls, seed: int, state: State = ()) -> Begun:
        made = super().__new__(cls, seed)
        made.state = state
        return made

    def packed(self) -> str:
        """The state as text."""
        _, key, position, has_gauss, gauss = self.state
        words = np.asarray(key, "<u4").tobytes()
        return base64.b64encode(words + PACKED.pack(position, has_gauss, gauss)).decode()

    @classmethod
    def unpacked(cls, seed: int, text: str) -> Begun:
        """ValueError: no state was packed so."""
        data = base64.b64decode(text, validate=True)
        if len(data) != KEY_BYTES + PACKED.size:
            raise ValueError(f"a state has {KEY_BYTES + PACKED.size} bytes, not {len(data)}")
        key = np.frombuffer(data, "<u4", KEY_BYTES // 4).astype(np.uint32)
        return cls(seed, ("MT19937", key, *PACKED.unpack_from(data, KEY_BYTES)))


def begun(own: int, seed: int, sequence: int) -> State | None:
    """The state with which a stream begins in place of the key's, or None."""
    return own.state if isinstance(own, Begun) and not seed and not sequence else None


def first_key(own: int, seed: int) -> list[int]:
    """The key of a stream with the seed `own` in the first sequence of a run."""
    return [own] if not seed else [int(np.random.SeedSequence([own, seed]).generate_state(1)[0])]


def later_keys(own: int, seed: int, begin: int, end: int) -> NDArray[np.uint32]:
    """The keys of its sequences begin … end - 1, without number 0: two words each."""
    words = np.random.SeedSequence([own, seed]).generate_state(2 * end)
    return words.astype(np.uint32).reshape(end, 2)[max(begin, 1) :]


def salt_of(own: int, seed: int, sequence: int) -> tuple[int, int]:
    """The salt of a stream: what distinguishes its key from the stream's own seed, or zeros."""
    if not seed and not sequence:
        return 0, 0
    words = [*key_of(own, seed, sequence), 0]
    return words[0], words[1]


def reseeded(key: int, salt: tuple[int, int]) -> list[int]:
    """The key of a stream that begins anew."""
    return [key, *salt] if any(salt) else [key]


def key_of(own: int, seed: int, sequence: int) -> list[int]:
    """The key of one sequence."""
    if not sequence:
        return first_key(own, seed)
    return [int(word) for word in later_keys(own, seed, sequence, sequence + 1)[0]]
