"""What a run of one sequence leaves, and the checks of a run that continues it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from psylang.runtime.errors import ArgumentError, listed


@dataclass(frozen=True)
class Left:
    """What a run of one sequence leaves to the next one. trials: how many the sequence has had.
    outputs: those that were computed; states that they do not need are as they began. states: by
    name. generators: of `exact` with streams, else None."""

    trials: int
    outputs: frozenset[str]
    states: dict[str, NDArray[Any]]
    generators: NDArray[Any] | None


def continued(
    left: Left | None,
    was: Mapping[str, Any],
    how: Mapping[str, Any],
    states: Mapping[str, tuple[int, ...]],
) -> Left:
    """`left`, for a run that continues it.

    was: Results.run of the earlier run; how: the entries of it that this run must share. states:
    shapes of this model's states by name. ArgumentError: this run cannot continue the other one.
    """
    for name, wanted in how.items():
        if was[name] != wanted:
            raise ArgumentError(
                f"after has {name} {was[name]!r}, this run {wanted!r}; they must be the same"
            )
    if left is None:
        raise ArgumentError(
            "after has no states: it was read from a file, interrupted, computed on a GPU, or "
            "is of several sequences or of a piece; give the results of a run of one sequence"
        )
    if states != {name: one.shape for name, one in left.states.items()}:
        raise ArgumentError(
            f"after left the states {listed(left.states)}, this model has {listed(states)}; "
            "give results of this plan"
        )
    return left


def refuse_missing(left: Left, outputs: list[str]) -> None:
    """ArgumentError: this run computes an output that the earlier run did not compute."""
    missing = [name for name in outputs if name not in left.outputs]
    if missing:
        raise ArgumentError(
            f"after has not computed {listed(missing)}, so it left no states for that; "
            "record the same outputs in both runs"
        )


__all__ = ["Left", "continued", "refuse_missing"]
