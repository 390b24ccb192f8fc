"""Functions of input ports that draw: OneHot by probabilities, and BinomialDistort.

Picked   np.cumsum of the chances, and the first place whose sum is above one uniform draw; the
         values themselves, without a draw, where all chances are 0
Kept     one draw of RandomState.binomial(1, 1 - p) for all elements: NumPy's inversion
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from psylang.ir.graph import Value
from psylang.ir.types import BOOL
from psylang.model.context import Scope
from psylang.pnl.functions import seed_of
from psylang.pnl.ports import UserDefined
from psylang.pnl.reading import At, kind_of, number_of, value_of
from psylang.pnl.refusals import RefusedError
from psylang.pnl.stateful import generator_of, seed_of_function
from psylang.pnl.tables import converts


@dataclass(frozen=True, eq=False, kw_only=True)
class Picked:
    """One element of the first port, by the chances in the second; 0 in all other places.

    indicator: 1 in its place."""

    indicator: bool

    def emit(self, at: Scope, ports: Sequence[Value]) -> Value:
        build, (values, chances) = at.build, ports
        places = range(values.type.size)
        given = [build.extract(values, k) for k in places]
        each = [build.extract(chances, k) for k in places]
        sums = each[:1]
        for one in each[1:]:
            sums.append(build.add(sums[-1], one))
        some = build.op("ne", each[0], 0.0)
        for one in each[1:]:
            some = build.or_(some, build.op("ne", one, 0.0))

        def picked() -> list[Value]:
            draw = at.draw("uniform", "pick")
            made, open_ = [], build.constant(True, BOOL)  # No place was picked yet.
            for k in places:
                here = open_
                if k < places[-1]:  # Rounding may leave the last sum below 1.
                    here = build.and_(open_, build.lt(draw, sums[k]))
                    open_ = build.and_(open_, build.not_(here))
                one = build.select(here, 1.0, 0.0)
                made.append(one if self.indicator else build.mul(given[k], one))
            return [build.stack(made)]

        return build.if_(some, picked, lambda: [build.stack(given)])[0]


@dataclass(frozen=True, eq=False, kw_only=True)
class Kept:
    """All elements, or, with probability p, zeros in their places."""

    def emit(self, at: Scope, ports: Sequence[Value]) -> Value:
        build, (values,) = at.build, ports
        chance = build.sub(1.0, at["p"])
        rare = build.op("le", chance, 0.5)

        def drawn() -> list[Value]:
            other = build.select(rare, chance, build.sub(1.0, chance))
            level = build.sub(1.0, other)
            if at.exact:
                level = build.op("exp", build.op("log", level))
            above = build.op("gt", at.draw("uniform", "keep"), level)
            return [build.select(build.op("eq", above, rare), 1.0, 0.0)]

        (kept,) = build.if_(build.op("ne", chance, 0.0), drawn, lambda: [build.constant(0.0)])
        return build.mul(values, kept)


CHANCES = {"prob": False, "prob_indicator": True}  # By mode, whether it indicates.


@converts("port function", "OneHot", "an element by chance", "modes PROB, PROB_INDICATOR")
def _one_hot(function: Any, count: int) -> tuple[Any, dict[str, Any]] | None:
    mode = str(value_of(function, "mode")).lower()
    if mode not in CHANCES:
        return None  # A function of each port alone.
    if count != 2:
        raise RefusedError(
            f"OneHot has mode {mode.upper()}, and {count} input ports", "values, and their chances"
        )
    return Picked(indicator=CHANCES[mode]), {}


@converts("port function", "BinomialDistort", "one draw for all elements", "one port")
def _binomial(function: Any, count: int) -> tuple[Any, dict[str, Any]]:
    if count != 1:
        raise RefusedError(f"BinomialDistort takes {count} input ports", "one input port")
    return Kept(), {"p": number_of(function, "p")}


def seed_of_ports(written: Any, function: Any, at: At) -> int | None:
    """The seed of a function of ports; None: it does not draw."""
    if isinstance(written, UserDefined):
        return seed_of_function(function, at)
    return seed_of(function, at) if isinstance(written, Kept | Picked) else None


def draws(node: Any) -> bool:
    """Returns whether a mechanism's function draws, by itself or as the modeller wrote it."""
    function = node.function
    picks = kind_of(function) == "OneHot" and str(value_of(function, "mode")).lower() in CHANCES
    return picks or kind_of(function) == "BinomialDistort" or generator_of(function) is not None


__all__ = ["Kept", "Picked", "draws", "seed_of_ports"]
