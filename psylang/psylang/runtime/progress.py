"""The progress of a run, for run(progress=True): a bar in a notebook, a line elsewhere.

In a notebook tqdm draws the bar if it is installed (psylang[notebook]); otherwise IPython shows the
line in the cell's output, and rewrites it there.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, Protocol

INTERVAL_S = 0.1

# Of (trials done, trials), as run() takes it; True is what indicator() returns.
Progress = Callable[[int, int], None] | bool | None


class Shown(Protocol):
    """Called with (trials done, trials); leave() when a run ends early, at any time."""

    def __call__(self, done: int, total: int) -> None: ...

    def leave(self) -> None: ...


def indicator(title: str) -> Shown:
    """What progress=True shows here."""
    display = _notebook()
    if display is None:
        return ProgressLine(title)
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return NotebookLine(title, display)
    return ProgressBar(title, tqdm)


def _notebook() -> Callable[..., Any] | None:
    """IPython's display() if this is a notebook's kernel: a shell in a terminal has none."""
    if "IPython" not in sys.modules:  # A kernel has imported it.
        return None
    from IPython import get_ipython
    from IPython.display import display

    shell = get_ipython()
    return display if getattr(shell, "kernel", None) is not None else None


class ProgressBar:
    """A bar of tqdm. bar: tqdm.auto.tqdm, which draws widgets if ipywidgets is installed."""

    def __init__(self, title: str, bar: Callable[..., Any]) -> None:
        self._title, self._make = title, bar
        self._bar: Any = None
        self._over = False

    def __call__(self, done: int, total: int) -> None:
        if self._over:  # A run may say more than once that it is done.
            return
        if self._bar is None:
            self._bar = self._make(total=total, desc=self._title, unit="trial", unit_scale=True)
        self._bar.update(done - self._bar.n)
        if done >= total:
            self.leave()

    def leave(self) -> None:
        """Closes the bar where it is."""
        self._over = True
        if self._bar is not None:
            self._bar.close()


class ProgressLine:
    """Rewrites one line of standard error; silent for runs that end before the first interval."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._begin = self._shown = time.monotonic()
        self._wrote = self._over = False

    def __call__(self, done: int, total: int) -> None:
        if self._over:  # A run may say more than once that it is done.
            return
        now = time.monotonic()
        over = done >= total
        if now - self._shown < INTERVAL_S and not (over and self._wrote):
            return
        self._shown = now
        left = (now - self._begin) * (total - done) / done if done else 0.0
        rest = "" if over or not done else f", {left:.0f} s left"
        line = f"{self._title}: {done} of {total} trials{rest}"
        self._write(line, over)
        self._wrote, self._over = not over, over

    def leave(self) -> None:
        """Ends the line, so that the next output begins a new one."""
        if self._wrote:
            print(file=sys.stderr, flush=True)
            self._wrote = False

    def _write(self, line: str, over: bool) -> None:
        print(f"\r{line:<70}", end="\n" if over else "", file=sys.stderr, flush=True)


class NotebookLine(ProgressLine):
    """The line in the output of a cell. display: IPython's."""

    def __init__(self, title: str, display: Callable[..., Any]) -> None:
        super().__init__(title)
        self._display = display
        self._handle: Any = None

    def leave(self) -> None:
        """Leaves the line as it is: it has a place of its own."""

    def _write(self, line: str, over: bool) -> None:
        content = {"text/plain": line}
        if self._handle is None:
            self._handle = self._display(content, raw=True, display_id=True)
        else:
            self._handle.update(content, raw=True)
