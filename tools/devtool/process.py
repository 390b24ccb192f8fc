"""Running other programs: their output goes to a log or to a string, never lost."""

import json
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from devtool.tree import ROOT

Command = Sequence[str | Path]

_stopped = threading.Event()
_sessions: set[int] = set()  # Of run_logged(): no Ctrl-C of a terminal reaches them.
_sessions_lock = threading.Lock()


def stop_all() -> None:
    """After Ctrl-C: ends the programs of run_logged() in all threads. From now on run() and
    run_logged() start no program and raise KeyboardInterrupt."""
    _stopped.set()
    with _sessions_lock:
        for group in _sessions:
            with suppress(ProcessLookupError):
                _interrupt(group)


def _interrupt(group: int) -> None:
    """As Ctrl-C does; programs of a shell's background ignore SIGINT, and so do ours there."""
    ignored = signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    os.killpg(group, signal.SIGTERM if ignored else signal.SIGINT)


def _go_on() -> None:
    if _stopped.is_set():
        raise KeyboardInterrupt


def cores() -> int:
    return len(os.sched_getaffinity(0))


def capture(command: Command, cwd: Path = ROOT, env: Mapping[str, str] | None = None) -> str:
    """Returns what the command printed; raises CalledProcessError with it if the command failed."""
    done = run(command, cwd, env)
    if done.returncode != 0:
        raise subprocess.CalledProcessError(done.returncode, [str(c) for c in command], done.stdout)
    return done.stdout


def run(
    command: Command, cwd: Path = ROOT, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs a command to its end, with standard output and error together in .stdout."""
    _go_on()
    return subprocess.run(
        [str(c) for c in command],
        cwd=cwd,
        env={**os.environ, **env} if env else None,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )


def last_json(done: subprocess.CompletedProcess[str]) -> Any:
    """The last object or list that a benchmark printed; None if it failed.

    Status 1 with a result means a missed goal: the result is recorded and compared as any other.
    """
    lines = done.stdout.splitlines()
    if done.returncode not in (0, 1) or not lines:
        return None
    try:
        found = json.loads(lines[-1])
    except json.JSONDecodeError:
        return None
    return found if isinstance(found, dict | list) else None


def run_logged(
    command: Command,
    log: Path,
    on_line: Callable[[str], None],
    env: Mapping[str, str] | None = None,
    append: bool = False,
    cwd: Path = ROOT,
) -> int:
    """Runs with all output in `log`, calling `on_line` for each line. Returns the exit status.

    Ctrl-C reaches the command too: it gets time to stop before the exception continues.
    """
    _go_on()
    log.parent.mkdir(parents=True, exist_ok=True)
    with (
        log.open("a" if append else "w") as record,
        subprocess.Popen(
            [str(c) for c in command],
            cwd=cwd,
            env={**os.environ, **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        ) as child,
    ):
        assert child.stdout is not None
        with _sessions_lock:
            _sessions.add(child.pid)
        try:
            _go_on()  # A stop_all() before this moment did not know the child.
            for line in child.stdout:
                record.write(line)
                on_line(line.rstrip("\n"))
        except KeyboardInterrupt:
            _interrupt(child.pid)
            child.wait()
            raise
        finally:
            with _sessions_lock:
                _sessions.discard(child.pid)
    _go_on()  # What a stopped child printed is no result.
    return child.returncode
