"""Shared by tests of files: a writer of safetensors, and functions that make a file cold."""

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from k2k import LibraryError, _library

PAGE = 4096
SIGINTS_MAX = 3
SIGINT_S = 20.0  # After so long a SIGINT had no effect.


def environment() -> dict[str, str]:
    """For a Python of the test's own that imports k2k from where we have it."""
    places = [str(Path(_library.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, places))}


def expect_interrupted(program: str, path: Path, after_s: float) -> None:
    """Runs a Python program on the file, and sends SIGINT `after_s` after it prints "ready".

    It must print "interrupted 1", for the one remaining thread, and exit normally. CPython drops
    exceptions in the callback of a weak reference, including a KeyboardInterrupt. So, as at a
    keyboard, another SIGINT follows if the first one had no effect.
    """
    with subprocess.Popen(
        [sys.executable, "-c", program, str(path)],
        stdout=subprocess.PIPE,
        text=True,
        env=environment(),
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(after_s)
        for _ in range(SIGINTS_MAX):
            process.send_signal(signal.SIGINT)
            if select.select([process.stdout], [], [], SIGINT_S)[0]:
                break
        assert process.stdout.readline() == "interrupted 1\n"
    assert process.returncode == 0


def need_library() -> None:
    """Skips the calling module where libk2k.so is not built."""
    try:
        _library.load()
    except LibraryError as error:
        if os.environ.get(_library.VARIABLE):
            raise  # ./dev check sets the path of the one that it has built.
        pytest.skip(str(error), allow_module_level=True)


@dataclass(frozen=True)
class Raw:
    """A tensor as a file holds it."""

    dtype: str
    shape: tuple[int, ...]
    content: bytes


def pattern(count: int, seed: int = 1) -> bytes:
    """Bytes that differ for each place and seed."""
    block = bytes((seed * 131 + at * 31 + (at >> 8) * 7) % 251 for at in range(min(count, 65521)))
    return (block * (count // max(len(block), 1) + 1))[:count]


def described(tensors: Mapping[str, Raw], metadata: dict[str, str] | None = None) -> dict[str, Any]:
    """The header of a file that holds the tensors one behind the other."""
    header: dict[str, Any] = {} if metadata is None else {"__metadata__": metadata}
    at = 0
    for name, tensor in tensors.items():
        end = at + len(tensor.content)
        header[name] = {
            "dtype": tensor.dtype,
            "shape": list(tensor.shape),
            "data_offsets": [at, end],
        }
        at = end
    return header


def encoded(header: object, alignment: int = 8) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    text += b" " * (-len(text) % alignment)
    return len(text).to_bytes(8, "little") + text


def write(
    path: Path,
    tensors: Mapping[str, Raw],
    metadata: dict[str, str] | None = None,
    alignment: int = 8,
) -> Path:
    content = b"".join(tensor.content for tensor in tensors.values())
    path.write_bytes(encoded(described(tensors, metadata), alignment) + content)
    return path


def make_cold(path: Path) -> None:
    """Drops the file from the page cache, where the file system lets us."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(descriptor)


# The beginning of a script that will be interrupted: a shell's background job and its children
# ignore SIGINT, so it is enabled here; a script that hangs ends by itself.
INTERRUPTIBLE = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.alarm(100)
"""
