"""The range of every value of a program, over all possible runs.

    found = Ranges(program, inputs={"stimulus": (0.0, 1.0)})
    found[value]          over all trials, all draws, and all parameters in their ranges
    found.outputs()       by name
    found.rounds[op]      how often a loop may run

Regions are evaluated in order on intervals (arithmetic.py, words.py). The consequences of a
condition apply where it holds (conditions.py): within the branches of an `if` and of a `select`, in
the next round of a loop, after its end. A loop is followed for some rounds, one by one; then the
ranges of its carried values are widened until they converge, narrowed, and limited by its
recurrences (recurrences.py). States are carried in the same way, from trial to trial; `trials=n`
gives only the n-th trial.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import reduce
from itertools import count
from typing import Any

import numpy as np

from psylang.analysis.arguments import Pair, given_ranges, landmarks
from psylang.analysis.conditions import Assumed, Facts
from psylang.analysis.intervals import (
    INFINITY,
    Range,
    between,
    exactly,
    join,
    limits,
    meet,
    nothing,
    where,
    widen,
    within,
)
from psylang.analysis.operations import result_of
from psylang.analysis.recurrences import Evolution, evolution
from psylang.errors import ProgramError
from psylang.ir.graph import Op, Program, Region, Value
from psylang.ir.interpret import drawn
from psylang.ir.ops import DRAWS
from psylang.ir.types import I32, I64, DType, Type
from psylang.numerics import expansions

# Limits for one loop: rounds that are followed one by one, and operations in these rounds together.
PEELED = 64
PEELED_OPS = 2_000
NESTED = 20  # The share of them in a loop within a loop.
# Rounds that are joined before ends are widened; after SLOW rounds ends widen directly to the
# type's ends.
JOINED = 3
SLOW = 40
NARROWED = 6
DRAWN_MAX = 100_000  # Draws that are stored.
_DRAWN: dict[Hashable, float] = {}
_ENDS = {dtype: np.array(limits(dtype)) for dtype in DType}


@dataclass(frozen=True)
class Rounds:
    """least, most: the number of rounds of a loop; most is infinity if no bound is known."""

    least: int
    most: float

    def __str__(self) -> str:
        if self.least == self.most:
            return f"{self.least} round{'s' * (self.least != 1)}"
        return (
            f"{self.least} … {self.most:g} rounds"
            if math.isfinite(self.most)
            else (f"{self.least} rounds or more")
        )


class Ranges:
    """See the module's docstring. inputs: (least, greatest) by name, numbers or arrays of the
    input's shape; other inputs are any number but not NaN. parameters: the same, in place of their
    own ranges.

    trials: None for all trials of a sequence, or the number of the trial, from 1 on.
    seed: for `fast`; draws are then the draws of the first sequence. Needs `trials`; `history` has
    the outputs of all trials.
    everywhere: ranges also hold where operations are computed although they need not be: by both
    sides of a condition, and by lanes of a vector that go round a loop after their own end. So no
    condition restricts them.
    cases: the number of cases in the arrays of `parameters`: shape (*shape, cases).
    ProgramError: a name or a range that does not fit.
    """

    def __init__(
        self,
        program: Program,
        *,
        parameters: Mapping[str, Pair] | None = None,
        inputs: Mapping[str, Pair] | None = None,
        trials: int | None = None,
        seed: int | None = None,
        cases: int = 1,
        peeled: int = PEELED,
        everywhere: bool = False,
    ) -> None:
        self.program = program
        self.rounds: dict[Op, Rounds] = {}
        self._evolutions: dict[Op, Evolution] = {}
        self.history: list[dict[str, Range]] = []
        self._seed = seed
        self._trial = 0
        self._cases = cases
        self._peeled = peeled
        self._everywhere = everywhere
        self._seen: dict[Value, Range] = {}
        self._now: dict[Value, Range] = {}
        self._facts = Facts(program.body)
        self._depth = 0  # Of loops.
        self._quiet = 0  # Above 0 while a range is only tried.
        self._landmarks = landmarks(program.body)
        given = given_ranges(program, parameters or {}, inputs or {}, cases)
        with np.errstate(all="ignore"):
            self._run(given, trials)

    def __getitem__(self, value: Value) -> Range:
        """The range of the value in all runs. Values that are never computed have an empty
        range."""
        found = self._seen.get(value)
        return nothing(value.type, self._cases) if found is None else found

    def outputs(self) -> dict[str, Range]:
        names = [one.name for one in self.program.outputs]
        return dict(zip(names, self._of_yields, strict=False))

    def states(self) -> dict[str, Range]:
        """The states after the last trial."""
        names = [one.name for one in self.program.states]
        return dict(zip(names, self._of_yields[len(self.program.outputs) :], strict=True))

    # Trials.

    def _run(self, given: Sequence[Range], trials: int | None) -> None:
        program, body = self.program, self.program.body
        outputs = len(program.outputs)
        cases = self._cases
        states = [exactly(one.type, one.initial, cases) for one in program.states]
        most = 2.0**56 if program.numerics == "fast" else 2.0**62
        seed = between(I64, 0, 2.0**63, cases)
        if self._seed is not None:
            seed = exactly(I64, self._seed, cases)

        def trial(states: Sequence[Range], first: float, last: float) -> list[Range]:
            number = between(I64, first, last, cases)
            self._region(body, [*given, *states, seed, number])
            return [self._now[value] for value in body.yields]

        # A sequence may begin at any trial number.
        if trials is not None:
            if trials < 1:
                raise ProgramError(f"trials is {trials}; trials are counted from 1 on")
            for number in range(1, trials + 1):
                self._trial = number - 1
                last = most if self._seed is None else number - 1
                with self._trying(number < trials):
                    self._of_yields = trial(states, number - 1, last)
                self.history.append(self.outputs())
                states = self._of_yields[outputs:]
            return
        if states:
            types = [one.type for one in program.states]
            states = self._rest(states, types, lambda held: trial(held, 0, most)[outputs:])
        self._of_yields = trial(states, 0, most)

    @contextmanager
    def _trying(self, trying: bool = True) -> Iterator[None]:
        self._quiet += trying
        try:
            yield
        finally:
            self._quiet -= trying

    def _rest(
        self,
        first: Sequence[Range],
        types: Sequence[Type],
        after: Callable[[Sequence[Range]], Sequence[Range]],
    ) -> list[Range]:
        """Ranges of carried values that contain `first` and their own successors: widened until
        they do, then narrowed."""

        def following(held: Sequence[Range]) -> list[Range]:
            with self._trying():
                return list(map(join, first, after(held)))

        found = list(first)
        for number in count():
            new = following(found)
            if all(map(within, new, found)):
                break
            if number < JOINED:
                found = list(map(join, found, new))
                continue
            steps = self._landmarks if number < SLOW else _ENDS
            found = [
                widen(old, fresh, steps[type.dtype])
                for old, fresh, type in zip(found, new, types, strict=True)
            ]
        for _ in range(NARROWED):
            tighter = list(map(meet, found, following(found)))
            if all(map(within, found, tighter)):
                break
            found = tighter
        return found

    # Regions.

    def _region(self, region: Region, arguments: Sequence[Range]) -> None:
        for value, range in zip(region.arguments, arguments, strict=True):
            self._give(value, range)
        for op in region.ops:
            self._op(op)

    def _give(self, value: Value, range: Range) -> None:
        self._now[value] = range
        if not self._quiet:
            seen = self._seen.get(value)
            self._seen[value] = range if seen is None else join(seen, range)

    @contextmanager
    def _where(self, condition: Value, holds: bool) -> Iterator[None]:
        """Within this context, ranges are for runs in which the condition holds, or does not
        hold."""
        changed = Assumed(self._facts, self._now).of(condition, holds)
        before = {value: self._now[value] for value in changed}
        self._now.update(changed)
        try:
            yield
        finally:
            self._now.update(before)

    def _op(self, op: Op) -> None:
        if op.name == "loop":
            results = self._loop(op)
        elif op.name == "if":
            results = self._if(op)
        elif op.name == "argmin":
            results = self._argmin(op)
        elif op.name == "select":
            results = [self._select(op)]
        else:
            results = [self._plain(op)]
        for value, range in zip(op.results, results, strict=True):
            self._give(value, range)

    def _plain(self, op: Op) -> Range:
        operands = [self._now[value] for value in op.operands]
        if op.name in DRAWS and self._seed is not None:
            known = self._drawn(op, operands)
            if known is not None:
                return exactly(op.result.type, known, self._cases)
        alike = len(operands) == 2 and self._facts.same(*op.operands)
        made = result_of(op, operands, self.program.numerics, self._cases, alike)
        shape = (*op.result.type.shape, self._cases)
        never = np.zeros(self._cases, bool)
        for one in operands:
            flat = one.impossible.reshape(-1, one.low.shape[-1])
            never = never | (flat.any(axis=0) if len(flat) else False)
        low = np.where(never, INFINITY, made.low)
        high = np.where(never, -INFINITY, made.high)
        return Range(
            np.broadcast_to(low, shape),
            np.broadcast_to(high, shape),
            np.broadcast_to(made.nan & ~never, shape),
        )

    def _drawn(self, op: Op, operands: Sequence[Range]) -> float | None:
        """The drawn number, if candidate and step are known."""
        words = []
        for one in operands[2:]:
            low, high, _ = one.hull()
            if low != high:
                return None
            words.append(int(low))
        key = (op.name, op.attributes["stream"], op.result.type, self._seed, self._trial, *words)
        if key not in _DRAWN:
            if len(_DRAWN) >= DRAWN_MAX:
                _DRAWN.clear()
            given = [self._seed or 0, self._trial, *words]
            _DRAWN[key] = float(drawn(op, given, expansions()))
        return _DRAWN[key]

    def _select(self, op: Op) -> Range:
        condition, yes, no = op.operands
        may = self._now[condition]
        shape = (*op.result.type.shape, self._cases)
        none = nothing(op.result.type, self._cases)
        parts = []
        for value, possible, holds in ((yes, may.high >= 1, True), (no, may.low <= 0, False)):
            with self._where(condition, holds):
                parts.append(where(np.broadcast_to(possible, shape), self._now[value], none))
        return join(*parts)

    def _if(self, op: Op) -> list[Range]:
        (condition,) = op.operands
        may = self._now[condition]
        found: list[list[Range]] = []
        for region, possible, holds in (
            (op.regions[0], may.high >= 1, True),
            (op.regions[1], may.low <= 0, False),
        ):
            if self._everywhere:
                self._region(region, [])
                found.append([self._now[value] for value in region.yields])
            elif possible.any():
                with self._where(condition, holds):
                    self._region(region, [])
                    ranges = [self._now[value] for value in region.yields]
                found.append([_possible(one, possible) for one in ranges])
        if not found:
            return [nothing(value.type, self._cases) for value in op.results]
        return [reduce(join, each) for each in zip(*found, strict=True)]

    def _argmin(self, op: Op) -> list[Range]:
        count = self._now[op.operands[0]]
        (region,) = op.regions
        of = op.results[1].type
        last = np.maximum(count.high - 1, 0.0)
        zero = np.zeros_like(last)
        tried = Range(zero, last, np.zeros_like(count.nan))
        if self._everywhere:  # The last lanes may have numbers of no candidates.
            tried = between(I32, *limits(DType.I32), self._cases)
        self._region(region, [tried])
        cost = self._now[region.yields[0]]
        some = count.high >= 1
        none = (count.low < 1) | cost.nan
        number = Range(np.where(none, -1.0, 0.0), np.where(some, last, -1.0), np.zeros_like(none))
        least = Range(
            np.where(some, cost.low, INFINITY), np.where(none, INFINITY, cost.high), number.nan
        )
        least = where(some & cost.empty, between(of, INFINITY, INFINITY, self._cases), least)
        never = count.impossible
        return [
            where(never, nothing(one.type, self._cases), range)
            for one, range in zip(op.results, (number, least), strict=True)
        ]

    # Loops.

    def _loop(self, op: Op) -> list[Range]:
        (body,) = op.regions
        again, *after = body.yields
        held = [self._now[value] for value in op.operands]
        results = [nothing(value.type, self._cases) for value in op.results]

        def once(carried: Sequence[Range]) -> list[Range]:
            """Evaluates one round; returns the first values of the next one."""
            self._region(body, carried)
            return self._then(again, after, True)

        least, rounds, cost = 0, 0, 1 + sum(1 for _ in body.walk())
        most = PEELED_OPS // cost // NESTED**self._depth
        self._depth += 1
        while True:
            followed = once(held)
            rounds += 1
            results = list(map(join, results, self._then(again, after, False)))
            if not least and self._may(again, False):
                least = rounds
            if not self._everywhere and not self._may(again, True):
                self._depth -= 1
                if least:  # Otherwise it is never reached.
                    self._note(op, least, rounds)
                return results
            held = followed
            if rounds >= min(self._peeled, most):
                break
        types = [value.type for value in op.operands]
        first = [one.hull()[:2] for one in held]
        held = self._rest(held, types, once)
        with self._trying():
            once(held)
        if self._everywhere:
            once(held)
            self._depth -= 1
            return list(map(join, results, self._then(again, after, False)))
        more = evolution(op, first, self._hull_now)
        known = {one.value: one for one in more.recurrences}
        carried = [known.get(value) for value in body.arguments]
        heads = [None if one is None else one.within(more.most) for one in carried]
        tails = [None if one is None else one.after(more.least, more.most) for one in carried]
        once(list(map(_inside, held, heads)))
        self._depth -= 1
        limit = op.attributes.get("limit", 0) or INFINITY
        self._note(op, least or rounds + more.least, min(rounds + more.most, limit))
        ended = map(_inside, self._then(again, after, False), tails)
        return list(map(join, results, ended))

    def _may(self, condition: Value, holds: bool) -> bool:
        may = self._now[condition]
        return bool(np.any(may.high >= 1 if holds else may.low <= 0))

    def _then(self, again: Value, after: Sequence[Value], holds: bool) -> list[Range]:
        """The carried values if the loop continues, or if it ends."""
        if self._everywhere:
            return [self._now[value] for value in after]
        may = self._now[again]
        possible = may.high >= 1 if holds else may.low <= 0
        with self._where(again, holds):
            return [_possible(self._now[value], possible) for value in after]

    def _hull_now(self, value: Value) -> tuple[float, float] | None:
        low, high, nan = self._now[value].hull()
        return None if nan else (low, high)

    def evolution(self, op: Op) -> Evolution:
        """The recurrences of a loop, and its number of rounds by them and by the rounds that were
        followed."""
        if op not in self._evolutions:
            self._evolutions[op] = self._evolved(op)
        return self._evolutions[op]

    def _evolved(self, op: Op) -> Evolution:
        def hull(value: Value) -> tuple[float, float] | None:
            low, high, nan = self[value].hull()
            return None if nan or low > high else (low, high)

        first = [hull(value) or (-INFINITY, INFINITY) for value in op.operands]
        found = evolution(op, first, hull)
        seen = self.rounds.get(op)
        if seen is None:
            return found
        because = found.because if found.most <= seen.most else ""
        return replace(
            found,
            least=max(found.least, seen.least),
            most=min(found.most, seen.most),
            because=because,
        )

    def _note(self, op: Op, least: int, most: float) -> None:
        if self._quiet:
            return
        before = self.rounds.get(op)
        if before is not None:
            least, most = min(least, before.least), max(most, before.most)
        self.rounds[op] = Rounds(least, most)


def _inside(range: Range, ends: tuple[float, float] | None) -> Range:
    """The range limited to the ends, if there are any."""
    if ends is None:
        return range
    return Range(np.maximum(range.low, ends[0]), np.minimum(range.high, ends[1]), range.nan)


def _possible(range: Range, possible: Any) -> Range:
    """The range, empty in the cases that are not possible."""
    return Range(
        np.where(possible, range.low, INFINITY),
        np.where(possible, range.high, -INFINITY),
        range.nan & possible,
    )
