"""The progress line of a run, for run(progress=True)."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

INTERVAL_S = 0.1

# Of (trials done, trials), as run() takes it; True is a ProgressLine.
Progress = Callable[[int, int], None] | bool | None


class ProgressLine:
    """Rewrites one line of standard error; silent for runs that end before the first interval."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._begin = self._shown = time.monotonic()
        self._wrote = False

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        over = done >= total
        if now - self._shown < INTERVAL_S and not (over and self._wrote):
            return
        self._shown = now
        left = (now - self._begin) * (total - done) / done if done else 0.0
        rest = "" if over or not done else f", {left:.0f} s left"
        line = f"{self._title}: {done} of {total} trials{rest}"
        print(f"\r{line:<70}", end="\n" if over else "", file=sys.stderr, flush=True)
        self._wrote = not over

    def leave(self) -> None:
        """Ends the line, so that the next output begins a new one."""
        if self._wrote:
            print(file=sys.stderr, flush=True)
            self._wrote = False
