"""The time of a scheduler with TimeInterval and TimeTermination, in whole ticks.

PsyNeuLink then lets each visit of a consideration set take the same time, and a trial begin where
the first of the conditions' times lies. All times are fractions; a tick divides them all.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from typing import Any

from psylang.model.conditions import AtTimes, Condition
from psylang.model.schedule import Timing
from psylang.pnl.reading import kind_of
from psylang.pnl.refusals import RefusedError

EXACT = "EXACT_TIME"


class Timed:
    """The time of one scheduler, with the termination conditions of a run."""

    def __init__(self, scheduler: Any, ends: Any) -> None:
        self._scheduler, self._ends = scheduler, ends

    @cached_property
    def _conditions(self) -> list[Any]:
        return list(self._scheduler.get_absolute_conditions(self._ends).values())

    @cached_property
    def _step(self) -> Fraction:
        """The time of a visit of a set, in seconds."""
        return _seconds(self._scheduler._get_absolute_consideration_set_execution_unit(self._ends))

    @cached_property
    def _tick(self) -> Fraction:
        times = [self._step]
        for condition in self._conditions:
            for one in _leaves(condition):
                times += map(_seconds, _times(one))
        below = math.lcm(*(one.denominator for one in times))
        above = math.gcd(*(int(one * below) for one in times))
        return Fraction(above, below)

    def timing(self) -> Timing | None:
        """None: no condition asks for the time. RefusedError: the time is not followed."""
        if not self._conditions:
            return None
        units = {
            str(time.u)
            for condition in self._conditions
            for one in _leaves(condition)
            for time in _times(one)
        }
        if len(units) > 1:
            raise RefusedError(
                f"its conditions have times in {' and '.join(sorted(units))}, whose conversion "
                "PsyNeuLink rounds",
                "nearest: all times in one unit",
            )
        if self._scheduler.mode.name == EXACT:
            raise RefusedError("its scheduler is in exact time", "nearest: SchedulingMode.STANDARD")
        begins = [
            min(map(_seconds, one.absolute_fixed_points), default=Fraction(0))
            for one in self._conditions
        ]
        return Timing(self._ticks(self._step), self._ticks(min(begins)))

    def _ticks(self, seconds: Fraction) -> int:
        ticks = seconds / self._tick
        if ticks.denominator != 1 or ticks >= 2**31:
            raise RefusedError(
                f"the time of {float(seconds):g} s is no whole number of ticks",
                "whole times in one unit",
            )
        return int(ticks)

    def _known(self, condition: Any) -> None:
        if not self._conditions:
            raise RefusedError(
                f"{kind_of(condition)} is within Not, where PsyNeuLink's time stands still",
                "nearest: TimeInterval with another start and end",
            )

    def interval(self, condition: Any) -> Condition:
        """A TimeInterval. RefusedError: PsyNeuLink cannot evaluate it."""
        self._known(condition)
        least, most, every = 0, None, None
        if condition.start is not None:
            least = self._ticks(_seconds(condition.start)) + (not condition.start_inclusive)
        if condition.end is not None:
            most = self._ticks(_seconds(condition.end)) - (not condition.end_inclusive)
        if condition.repeat is not None:
            every = self._ticks(_seconds(condition.repeat))
        offset = 0 if every is None else self._offset(condition)
        return AtTimes(least, most, every, offset)

    def _offset(self, condition: Any) -> int:
        """Where PsyNeuLink begins to count the repetitions."""
        sets = self._scheduler.consideration_queue
        if len(sets) == 1 and condition.start is not None:
            return self._ticks(_seconds(condition.start))
        for number, members in enumerate(sets):
            if any(one is condition.owner for one in members):
                return number * self._ticks(self._step)
        raise RefusedError("TimeInterval with `repeat` ends the trial", "nearest: TimeTermination")

    def termination(self, condition: Any) -> Condition:
        """A TimeTermination."""
        self._known(condition)
        return AtTimes(self._ticks(_seconds(condition.t)) + (not condition.inclusive))


def _leaves(condition: Any) -> list[Any]:
    inner = [one for one in condition.args if hasattr(one, "is_absolute") and one.is_absolute]
    return [leaf for one in inner for leaf in _leaves(one)] if inner else [condition]


def _times(condition: Any) -> list[Any]:
    given = [getattr(condition, name, None) for name in ("repeat", "start", "end", "t")]
    return [one for one in given if one is not None]


def _seconds(quantity: Any) -> Fraction:
    """RefusedError: its unit is no power of ten of a second."""
    factor = float((1 * quantity.u).to("s").m)
    power = math.log10(factor)
    if abs(power - round(power)) > 1e-9:
        raise RefusedError(f"the unit of {quantity} is no power of ten of a second", "ms, us or s")
    return Fraction(quantity.m).limit_denominator(10**6) * Fraction(10) ** round(power)
