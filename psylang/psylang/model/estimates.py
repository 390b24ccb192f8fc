"""The noise of a search's estimates, as PsyNeuLink makes it.

PsyNeuLink sets the seeds of all random functions before each estimate, to numbers that it counts;
the trial that follows draws as the first estimate did. In `fast`, whose draws have counters, the
estimates are numbered from 0 on, which is the number of the trial that follows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from psylang.ir.graph import Value
from psylang.model.context import Context
from psylang.model.errors import ModelError

SEEDS = 2**24  # PsyNeuLink's seeds are below it, if each mechanism has its own.


@dataclass(frozen=True)
class Reseeding:
    """The seeds of estimates (docs/semantics.md, 8).

    Estimate i of a search lets each mechanism draw with the seed
    (block + i) % blocks * width + slot. The first search has the block `first`; each search moves
    it by its simulations times its estimates.
    slots: by mechanism that draws. blocks: 0 for no modulus. before: instead of the product, in a
    trial before the first search.
    """

    slots: Mapping[str, int]
    first: int
    width: int = 1
    blocks: int = 0
    before: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.first < 2**31 or not 1 <= self.width <= SEEDS or self.blocks < 0:
            raise ModelError(
                f"seeds of estimates from {self.first} on, of {self.width} mechanisms; they must "
                f"be 0 … 2**31 - 1 and at most {SEEDS}"
            )

    def key(self, context: Context, block: Value, estimate: Value | int) -> Value:
        """The seed of slot 0 in an estimate."""
        build = context.build
        number = build.add(block, estimate)
        if self.blocks:
            number = build.op("urem", number, self.blocks)
        return number if self.width == 1 else build.op("mul", number, self.width)

    def begin(self, context: Context, key: Value) -> None:
        """Lets all mechanisms draw with the seeds from `key` on."""
        for mechanism, slot in self.slots.items():
            context.reseed(mechanism, context.build.add(key, slot))

    def following(self, context: Context, block: Value, candidates: int, estimates: int) -> Value:
        """The block of the search after one with `block`: PsyNeuLink counts as many seeds as there
        are estimates after each simulation."""
        build = context.build
        by = candidates * estimates * estimates
        following = build.add(block, by % (self.blocks or 2**31))
        if self.blocks:
            following = build.op("urem", following, self.blocks)
        return following
