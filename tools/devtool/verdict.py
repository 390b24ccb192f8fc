"""Did a figure reach its target? The rule of bench/verdict.hpp, for reports and for the gate.

A figure has met its target if its whole 95 % interval reaches it, and missed it if no part of the
interval does. Between the two the run cannot tell, and gives the number of further rounds that
could decide. The cases of bench/verdicts.json prove that Python and C++ agree.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Better = Literal["higher", "lower"]
MET, MISSED, CANNOT_TELL = "met", "missed", "cannot tell"
MORE_ROUNDS_MAX = 100_000
# The quantile 0.975 of Student's t by degrees of freedom, from 1 on.
STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)
NORMAL = 1.96


@dataclass(frozen=True)
class Interval:
    """The 95 % interval of a ratio."""

    low: float
    mean: float
    high: float
    rounds: int = 0  # The number of rounds; 0 if the record does not contain it.

    def __str__(self) -> str:
        return f"{self.mean:.3g} [{self.low:.3g}, {self.high:.3g}]"


@dataclass(frozen=True)
class Judgement:
    verdict: str
    more_rounds: int | None = None  # None also if too many rounds would be needed.

    def __str__(self) -> str:
        if self.more_rounds is None:
            return self.verdict
        return f"{self.verdict} ({self.more_rounds} rounds more)"


def student(freedom: int) -> float:
    """The quantile 0.975; above nine degrees that of the normal distribution, corrected
    (Abramowitz and Stegun, 26.7.5)."""
    if freedom <= len(STUDENT):
        return STUDENT[freedom - 1]
    cube = NORMAL**3
    return (
        NORMAL
        + (cube + NORMAL) / (4 * freedom)
        + (5 * cube * NORMAL * NORMAL + 16 * cube + 3 * NORMAL) / (96 * freedom * freedom)
    )


def trimmed_interval_of(ratios: Sequence[float]) -> Interval:
    """The 95 % interval of the mean of the rounds' logarithms. Expects two or more ratios above 0.
    Of five rounds or more only the middle three fifths count, for machines with neighbours.

    A trimmed mean, and its interval from the winsorised deviation (Tukey and McLaughlin, 1963).
    """
    logs = sorted(math.log(ratio) for ratio in ratios)
    n, cut = len(logs), len(logs) // 5
    kept = logs[cut : n - cut]
    winsorised = [kept[0]] * cut + kept + [kept[-1]] * cut
    deviation = statistics.stdev(winsorised)
    half = student(len(kept) - 1) * deviation / (len(kept) / n * math.sqrt(n))
    mean = sum(kept) / len(kept)
    return Interval(math.exp(mean - half), math.exp(mean), math.exp(mean + half), n)


def judge(seen: Interval, target: float, better: Better) -> Judgement:
    """Expects 0 < low <= high, and a target above 0."""

    def reaches(value: float) -> bool:
        return value >= target if better == "higher" else value <= target

    if reaches(seen.low) and reaches(seen.high):
        return Judgement(MET)
    if not reaches(seen.low) and not reaches(seen.high):
        return Judgement(MISSED)
    return Judgement(CANNOT_TELL, _more_rounds(seen, target))


def _more_rounds(seen: Interval, target: float) -> int | None:
    """The width of an interval falls with the root of the rounds."""
    half = (math.log(seen.high) - math.log(seen.low)) / 2
    off = abs((math.log(seen.high) + math.log(seen.low)) / 2 - math.log(target))
    if seen.rounds == 0 or off == 0:
        return None
    more = seen.rounds * (half / off) * (half / off) - seen.rounds
    return max(1, math.ceil(more)) if math.ceil(more) <= MORE_ROUNDS_MAX else None
