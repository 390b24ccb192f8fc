"""k winners take all: a shift of a layer's net input after which k of its units are above a
threshold (O'Reilly & Munakata 2000), as PsyNeuLink's KWTAMechanism computes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from psylang.ir.graph import Value
from psylang.model.context import Scope, total
from psylang.model.errors import ModelError
from psylang.model.parameters import Number, number

UNITS_MAX = 64  # Sorting takes n * (n - 1) / 2 comparisons of pairs.


@dataclass(frozen=True, eq=False, kw_only=True)
class KWinners:
    """Adds to all units what brings the threshold between the k greatest ones and the others.

    k: a count, or a fraction of the units between 0 and 1. ratio: where between the k-th and the
    next unit the threshold lies; average_based: between the means of both groups.
    inhibition_only: the shift is not above 0.
    """

    k: float = 0.5
    threshold: Number = number(0.0)
    ratio: Number = number(0.5, least=0.0, most=1.0)
    average_based: bool = False
    inhibition_only: bool = True

    def count(self, units: int) -> int:
        """The number of winners. ModelError: it does not fit a layer of so many units."""
        count = round(self.k * units) if 0.0 < self.k < 1.0 else int(self.k)
        least, most = (1, units - 1) if self.average_based else (0, units)
        whole = 0.0 < self.k < 1.0 or float(self.k).is_integer()
        if not whole or not least <= count <= most or units > UNITS_MAX:
            raise ModelError(
                f"{self.k:g} winners among {units} units; a layer of at most {UNITS_MAX} units has "
                f"{least} to {most}"
            )
        return count

    def emit(self, at: Scope, x: Value) -> Value:
        build, units = at.build, x.type.size
        count = self.count(units)
        apart = build.sub(at["threshold"], x)
        ordered = _sorted(at, [build.extract(apart, k) for k in range(units)])
        if self.average_based:
            upper = build.div(total(at, ordered[:count]), float(count))
            lower = build.div(total(at, ordered[count:]), float(units - count))
        else:
            upper, lower = ordered[max(count - 1, 0)], ordered[min(count, units - 1)]
        if self.average_based or 0 < count < units:
            rest = build.mul(upper, build.sub(1.0, at["ratio"]))
            shift = build.add(build.mul(lower, at["ratio"]), rest)
        else:
            shift = upper
        if self.inhibition_only:
            shift = build.op("min", shift, 0.0)
        return build.add(x, shift)


def _sorted(at: Scope, values: Sequence[Value]) -> list[Value]:
    """From the least to the greatest, by exchanges of neighbours."""
    build, row = at.build, list(values)
    for turn in range(len(row)):
        for k in range(turn % 2, len(row) - 1, 2):
            low, high = build.op("min", row[k], row[k + 1]), build.op("max", row[k], row[k + 1])
            row[k], row[k + 1] = low, high
    return row
