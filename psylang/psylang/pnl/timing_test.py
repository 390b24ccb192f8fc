"""Times of conditions as whole ticks. Needs no PsyNeuLink."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest

from psylang.model.conditions import AtTimes
from psylang.model.schedule import Timing
from psylang.pnl.refusals import RefusedError
from psylang.pnl.timing import Timed, _seconds


class Unit:
    """A unit of so many seconds, as pint's."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __rmul__(self, one: int) -> Any:
        return SimpleNamespace(to=lambda _: SimpleNamespace(m=one * self.seconds))

    def __str__(self) -> str:
        return f"{self.seconds:g} s"


MS = Unit(1e-3)


def quantity(number: Any, unit: Unit = MS) -> Any:
    return SimpleNamespace(m=number, u=unit)


def interval(**times: Any) -> Any:
    given = dict.fromkeys(("repeat", "start", "end"))
    fixed = [one for name, one in times.items() if name != "repeat"]
    return SimpleNamespace(
        **{**given, **times},
        start_inclusive=True,
        end_inclusive=False,
        absolute_fixed_points=fixed,
        args=(),
        owner="b",
        is_absolute=True,
    )


def timed(
    step: Any, *conditions: Any, mode: str = "STANDARD", sets: Any = (("a",), ("b",))
) -> Timed:
    scheduler = SimpleNamespace(
        get_absolute_conditions=lambda ends: dict(enumerate(conditions)),
        _get_absolute_consideration_set_execution_unit=lambda ends: step,
        mode=SimpleNamespace(name=mode),
        consideration_queue=sets,
    )
    return Timed(scheduler, {})


def test_times_are_whole_ticks_that_divide_all_of_them() -> None:
    one = interval(repeat=quantity(3), start=quantity(4), end=quantity(9))
    made = timed(quantity(Fraction(3, 2)), one)
    assert made.timing() == Timing(3, 8)  # Ticks of half a millisecond.
    assert made.interval(one) == AtTimes(8, 17, 6, 3)
    assert timed(quantity(1)).timing() is None


def test_one_set_counts_repetitions_from_the_start() -> None:
    one = interval(repeat=quantity(4), start=quantity(6))
    assert timed(quantity(4), one, sets=(("b",),)).interval(one) == AtTimes(3, None, 2, 3)


def test_times_that_are_not_followed_are_refused() -> None:
    one = interval(start=quantity(2))
    with pytest.raises(RefusedError, match="its scheduler is in exact time"):
        timed(quantity(1), one, mode="EXACT_TIME").timing()
    other = interval(start=quantity(2, Unit(1.0)))
    with pytest.raises(RefusedError, match=r"times in 0\.001 s and 1 s"):
        timed(quantity(1), one, other).timing()
    with pytest.raises(RefusedError, match="is within Not, where PsyNeuLink's time stands still"):
        timed(quantity(1)).interval(one)
    again = interval(repeat=quantity(2))
    again.owner = None
    with pytest.raises(RefusedError, match="TimeInterval with `repeat` ends the trial"):
        timed(quantity(1), again).interval(again)
    with pytest.raises(RefusedError, match="is no power of ten of a second"):
        _seconds(quantity(1, Unit(60.0)))
    with pytest.raises(RefusedError, match="is no whole number of ticks"):
        timed(quantity(1), interval(start=quantity(2**31))).timing()
