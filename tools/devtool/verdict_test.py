"""The rule of verdicts equals bench/verdict.hpp's: both read the same cases."""

import json
import math
import random
from typing import Any

import pytest

from devtool.tree import ROOT
from devtool.verdict import Interval, Judgement, judge, trimmed_interval_of

CASES: dict[str, Any] = json.loads((ROOT / "bench/verdicts.json").read_text())


@pytest.mark.parametrize("case", CASES["judgements"], ids=str)
def test_verdicts_agree_with_the_shared_cases(case: dict[str, Any]) -> None:
    seen = Interval(case["low"], 1, case["high"], case["rounds"])
    judgement = judge(seen, case["target"], case["better"])
    assert judgement == Judgement(case["verdict"], case["more_rounds"])


FEW = [case for case in CASES["intervals"] if len(case["ratios"]) < 5]


@pytest.mark.parametrize("case", FEW, ids=str)
def test_intervals_of_few_rounds_agree_with_the_shared_cases(case: dict[str, Any]) -> None:
    seen = trimmed_interval_of(case["ratios"])
    assert seen.rounds == len(case["ratios"])
    for name in ("low", "mean", "high"):
        assert getattr(seen, name) == pytest.approx(case[name], rel=1e-12)


def test_a_trimmed_interval_is_not_moved_by_a_neighbours_burst() -> None:
    steady = [0.98, 1.0, 1.01, 0.99, 1.02, 1.0, 0.99, 1.01, 1.0]
    seen = trimmed_interval_of([*steady, 0.2])
    assert 0.97 < seen.low < seen.mean < seen.high < 1.03


def test_a_trimmed_interval_holds_the_truth_as_often_as_it_says() -> None:
    source = random.Random(5)
    runs, covered = 1000, 0
    for _ in range(runs):
        seen = trimmed_interval_of([math.exp(source.gauss(0.1, 0.05)) for _ in range(10)])
        covered += seen.low <= math.exp(0.1) <= seen.high
    assert covered >= runs * 0.93


def test_it_tells_people_how_much_longer_it_would_take() -> None:
    assert str(Judgement("met")) == "met"
    assert str(Judgement("cannot tell", 74)) == "cannot tell (74 rounds more)"
    assert str(Interval(0.558, 0.823, 1.21)) == "0.823 [0.558, 1.21]"
