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

A program with large searches outside of loops has two more functions, for threads that share the
candidates of one trial:

    i64 psylang_searches(i64 which)
    void psylang_part(i64 which, i64 trial, i64 low, i64 high, i64 seed, void** buffers,
                      void* found)

psylang_searches tells how many candidates search `which` has; 0 if there is none. psylang_part
computes the best of the candidates low … high - 1 of a trial's search, and stores it as record
`which` of `found` (FOUND); the records before it are the results of the whole searches before it.
With the number of searches for `which` it computes the rest of the trial from all their records:
its outputs and states. Rows of states and generators are then of the trial's number. Each call
advances the generators as the trial up to there does, so a search needs a copy of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from psylang.ir.graph import Program
from psylang.ir.seeds import begun, key_of, salt_of

SYMBOL = "psylang_run"
SEARCHES, PART = "psylang_searches", "psylang_part"

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

# The best candidate of a search: its cost, and its number, -1 if there is none.
FOUND = np.dtype([("cost", np.float64), ("number", np.int32)], align=True)


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
        state: Any = begun(own, seed, sequence)
        if state is None:
            state = np.random.RandomState(key_of(own, seed, sequence)).get_state(legacy=True)
        _, key, position, has_gauss, gauss = state
        row[index] = (key, position, has_gauss, gauss, salt_of(own, seed, sequence))
    return row
