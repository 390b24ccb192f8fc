"""Finds conditions whose truth depends on the order in which PsyNeuLink visits a set's nodes.

PsyNeuLink evaluates the conditions of a consideration set again until no node is added, in the
order of a Python set, which differs from run to run. A condition that holds because a node of the
same set has *not* run yet is therefore decided by chance.
"""

from __future__ import annotations

from collections.abc import Iterator

from psylang.model.compound import Not
from psylang.model.conditions import (
    AfterNCalls,
    AfterNCallsCombined,
    AllHaveRun,
    Condition,
    EveryNCalls,
)
from psylang.model.schedule import Schedule

_COUNTS = (AfterNCalls, AfterNCallsCombined, AllHaveRun, EveryNCalls)


def by_chance(schedule: Schedule) -> Iterator[tuple[str, str]]:
    """Pairs of a node, and a node of its set that its condition wants not to have run."""
    for members in schedule.sets:
        for owner in members:
            others = set(members) - {owner}
            for name in _unwanted(schedule.conditions[owner], False, schedule.everyone):
                if name in others:
                    yield owner, name


def _unwanted(condition: Condition, negated: bool, everyone: tuple[str, ...]) -> Iterator[str]:
    if isinstance(condition, _COUNTS):
        names = condition.nodes() or everyone
        yield from names if negated else ()
    for one in condition.parts():
        yield from _unwanted(one, negated is not isinstance(condition, Not), everyone)
