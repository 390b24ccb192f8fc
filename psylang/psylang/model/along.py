"""What happens along the course of trials: resets of mechanisms, and parameters of some calls.

A reset is decided when a trial begins, before control. An override is decided at each call; if its
condition counts trials alone, then once a trial, so that the passes of the trial stay known.
course.py enters them in a model.
"""

from __future__ import annotations

from dataclasses import dataclass

from psylang.model.compound import While
from psylang.model.conditions import Condition, JustRan, WhenFinished
from psylang.model.parameters import Array

_TRIALS = ("trial", "run", "")


@dataclass(frozen=True)
class Reset:
    """A mechanism whose memory begins anew in the trials at whose beginning a condition holds."""

    node: str
    condition: Condition

    @property
    def counts_calls(self) -> bool:
        """Returns whether its condition reads counts that only a loop of passes keeps."""
        return any(c != _TRIALS for c in _counters(self.condition))


@dataclass(frozen=True, eq=False)
class Override:
    """A parameter of a mechanism that has another value in the calls in which a condition holds."""

    node: str
    parameter: str
    value: Array
    condition: Condition

    @property
    def is_of_trial(self) -> bool:
        """Returns whether a trial decides it when it begins."""
        kinds = (While, WhenFinished, JustRan)
        return all(c == _TRIALS for c in _counters(self.condition)) and not any(
            isinstance(one, kinds) for one in self.condition.walk()
        )


def _counters(condition: Condition) -> list[tuple[str, str, str]]:
    """The counts that it reads. A count of all nodes stands for more of them."""
    return [count for one in condition.walk() for count in one.counters(("",))]
