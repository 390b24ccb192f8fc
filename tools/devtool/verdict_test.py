"""The rule of verdicts is that of bench/verdict.hpp: both read the same cases."""

import json
from typing import Any

import pytest

from devtool.tree import ROOT
from devtool.verdict import Interval, Judgement, interval_of, judge

CASES: dict[str, Any] = json.loads((ROOT / "bench/verdicts.json").read_text())


@pytest.mark.parametrize("case", CASES["judgements"], ids=str)
def test_a_verdict_is_what_the_shared_cases_say(case: dict[str, Any]) -> None:
    seen = Interval(case["low"], 1, case["high"], case["rounds"])
    judgement = judge(seen, case["target"], case["better"])
    assert judgement == Judgement(case["verdict"], case["more_rounds"])


@pytest.mark.parametrize("case", CASES["intervals"], ids=str)
def test_an_interval_is_what_the_shared_cases_say(case: dict[str, Any]) -> None:
    seen = interval_of(case["ratios"])
    assert seen.rounds == len(case["ratios"])
    for name in ("low", "mean", "high"):
        assert getattr(seen, name) == pytest.approx(case[name], rel=1e-12)


def test_it_tells_people_how_much_longer_it_would_take() -> None:
    assert str(Judgement("met")) == "met"
    assert str(Judgement("cannot tell", 74)) == "cannot tell (74 rounds more)"
    assert str(Interval(0.558, 0.823, 1.21)) == "0.823 [0.558, 1.21]"
