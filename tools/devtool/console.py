"""Messages to the user of ./dev: one status line for long work, messages that name the fix."""

import sys
import threading
import time
from types import TracebackType
from typing import Self

HEARTBEAT_S = 60


class Refused(Exception):  # noqa: N818  An answer more often than an error.
    """A message for the user, shown unchanged and never with a traceback."""

    def __init__(self, message: str, exit_code: int = 1) -> None:
        super().__init__(message)
        self.exit_code = exit_code


_thread = threading.local()


def work_beside() -> None:
    """From now on this thread works beside the one that has the terminal: each Status of it is two
    lines, one at its begin and one at its end."""
    _thread.beside = True


def _beside() -> bool:
    return getattr(_thread, "beside", False)


def say(text: str) -> None:
    # The status line of another thread begins again below.
    clear = "\r\033[K" if _beside() and sys.stderr.isatty() else ""
    print(f"{clear}{text}", file=sys.stderr, flush=True)


class Status:
    """One line that a terminal sees changing; a log sees it begin, end, and a sign of life."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._live = sys.stderr.isatty() and not _beside()
        self._begin = time.monotonic()
        self._shown = self._begin

    def __enter__(self) -> Self:
        self._show("…" if self._live else "...")
        return self

    def update(self, text: str) -> None:
        if self._live:
            self._show(text)
        elif not _beside() and time.monotonic() - self._shown > HEARTBEAT_S:
            self._shown = time.monotonic()
            self._show(text)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        outcome = "done" if kind is None else "stopped" if kind is KeyboardInterrupt else "failed"
        self._show(f"{outcome}, {duration(time.monotonic() - self._begin)}")
        if self._live:
            say("")

    def _show(self, text: str) -> None:
        line = f"{self._title}: {text}"
        if self._live:
            print(f"\r\033[K{line[:110]}", end="", file=sys.stderr, flush=True)
        else:
            say(line)


def duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{int(seconds) // 60} min {int(seconds) % 60:02} s"
