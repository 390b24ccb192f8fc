"""What the parts share: how one is declared, how it fails, the bytes of its files.

A part takes a folder, which has a file `from`, and yields its results.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

Result = dict[str, Any]
PARTS: dict[str, Callable[[Path], Iterator[Result]]] = {}
SLOW: set[str] = set()  # Only if they are named.

SMALLER = int(os.environ.get("GPU_CHECK_SMALLER", "1"))  # Divides sizes: for emulated devices.


def part(function: Callable[[Path], Iterator[Result]]) -> Callable[[Path], Iterator[Result]]:
    PARTS[function.__name__] = function
    return function


def slow(function: Callable[[Path], Iterator[Result]]) -> Callable[[Path], Iterator[Result]]:
    SLOW.add(function.__name__)
    return part(function)


def expect(condition: bool, what: str) -> None:
    if not condition:
        raise AssertionError(what)


def pattern(count: int) -> bytes:
    """Bytes whose neighbours and pages differ."""
    import numpy as np

    return np.random.default_rng(count).integers(0, 256, count, np.uint8).tobytes()


def text_of(path: Path) -> bytes:
    return os.fsencode(path) + b"\0"
