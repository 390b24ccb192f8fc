"""The interface between compiled code and its caller.

    void psylang_run(i64 begin, i64 end, i64 trials, i64 seed, void** buffers)

Independent programs run trials begin … end - 1; `trials` is ignored. Others run sequences
begin … end - 1 of `trials` trials each, in order; the number of a trial is sequence * trials + t.

buffers: parameters, inputs, states, outputs, and in `exact` with streams the generators. A
parameter is one value in C order, or one row per trial if it varies; inputs and outputs have one
row per trial; states and generators one row per sequence. Rows count from trial and sequence 0: a
caller with fewer rows moves the pointer back. Elements are NumPy's; a bool is one byte. A state is
read at its sequence's begin and written at its end.

Threading: any number of threads may run disjoint ranges at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from psylang.ir.graph import Program
from psylang.ir.seeds import key_of, salt_of

SYMBOL = "psylang_run"

# NumPy's RandomState in the format of get_state(), and the salt of its seeds (ir/seeds.py).
GENERATOR = np.dtype(
    [
        ("key", np.uint32, 624),
        ("position", np.int32),
        ("has_gauss", np.int32),
        ("gauss", np.float64),
        ("salt", np.uint32, 2),
    ]
)


@dataclass(frozen=True)
class Buffers:
    """The indices of the first buffer of each kind."""

    inputs: int
    states: int
    outputs: int
    generators: int
    count: int


def buffers_of(program: Program) -> Buffers:
    inputs = len(program.parameters)
    states = inputs + len(program.inputs)
    outputs = states + len(program.states)
    generators = outputs + len(program.outputs)
    has_generators = program.numerics == "exact" and bool(program.streams)
    return Buffers(inputs, states, outputs, generators, generators + has_generators)


def generators_of(
    seeds: Sequence[int], seed: int = 0, sequence: int = 0
) -> np.ndarray[tuple[int], np.dtype[np.void]]:
    """The generators of a sequence: shape (streams,), one per stream's own seed (ir/seeds.py)."""
    row = np.zeros(len(seeds), GENERATOR)
    for index, own in enumerate(seeds):
        state = np.random.RandomState(key_of(own, seed, sequence)).get_state(legacy=True)
        _, key, position, has_gauss, gauss = state
        row[index] = (key, position, has_gauss, gauss, salt_of(own, seed, sequence))
    return row
