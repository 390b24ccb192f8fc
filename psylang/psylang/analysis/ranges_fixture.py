"""Runs programs and checks that every computed value is in its range."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from psylang.analysis.intervals import Range
from psylang.analysis.ranges import Ranges
from psylang.ir.graph import Op, Program, Region, Value
from psylang.ir.interpret import Expansion, _Machine

SMALL = 1e-300


class Watched(_Machine):
    """Interprets a program; `outside` lists the values that left their ranges."""

    def __init__(
        self, program: Program, expansions: Mapping[str, Expansion], ranges: Ranges
    ) -> None:
        super().__init__(program, expansions)
        self.inner = _Machine(program, expansions)
        self.ranges = ranges
        self.outside: list[str] = []
        self.looked = 0
        self._rounds: dict[int, int] = {}  # Rounds of the running loops, by their regions.

    def _expanded(self, op: Op) -> Any:
        return self.inner._expanded(op)

    def _inside(self, region: Region, arguments: Sequence[Any], env: dict[Value, Any]) -> list[Any]:
        for value, number in zip(region.arguments, arguments, strict=True):
            self._look(value, number, "an argument")
        if id(region) in self._rounds:
            self._rounds[id(region)] += 1
        return super()._inside(region, arguments, env)

    def _op(self, op: Op, operands: list[Any], env: dict[Value, Any]) -> list[Any]:
        if op.name == "loop":
            self._rounds[id(op.regions[0])] = 0
        results = super()._op(op, operands, env)
        for value, number in zip(op.results, results, strict=True):
            self._look(value, number, f"{op.name} of {operands}")
        if op.name == "loop":
            rounds, loop = self._rounds[id(op.regions[0])], self.ranges.evolution(op)
            if not loop.least <= rounds <= loop.most:
                self.outside.append(f"{rounds} rounds are not {loop.least} … {loop.most}")
        return results

    def _look(self, value: Value, number: Any, what: str) -> None:
        self.looked += 1
        found = self.ranges[value]
        if not contains(found, number):
            self.outside.append(f"{what}: {number!r} is not in {found} ({value!r})")


def contains(range: Range, number: Any) -> bool:
    """Ends are f64: Python compares them with whole numbers of 64 bits without rounding."""
    array = np.asarray(number)[..., np.newaxis]
    nan = np.isnan(array) if array.dtype.kind == "f" else np.zeros(array.shape, bool)
    exact = array.astype(object) if array.dtype == np.int64 else array.astype(np.float64)
    inside = (exact >= range.low) & (exact <= range.high)
    return bool(np.all(np.where(nan, range.nan, inside.astype(bool))))


def left(
    program: Program,
    ranges: Ranges,
    expansions: Mapping[str, Expansion],
    parameters: Sequence[Any],
    inputs: Sequence[Sequence[Any]],
    seed: int,
    first: int = 0,
) -> tuple[list[str], int]:
    """(values outside their ranges, values looked at) of one sequence of trials. parameters,
    inputs: in order; inputs have one row per trial."""
    machine = Watched(program, expansions, ranges)
    machine.begin_sequence(first)
    machine.inner._generators = machine._generators
    states = [np.array(state.initial)[()] for state in program.states]
    with np.errstate(all="ignore"):
        for number, row in enumerate(inputs, first):
            arguments = [*parameters, *row, *states, np.int64(seed), np.int64(number)]
            states = machine.run(program.body, arguments)[len(program.outputs) :]
    return machine.outside, machine.looked


__all__ = ["Watched", "contains", "left"]
