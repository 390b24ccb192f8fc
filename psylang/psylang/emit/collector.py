"""Python's cyclic garbage collector, paused while a program is made.

Passes and emission make millions of objects, nearly all of which are needed until the last of them
is written. Each full collection reads them all again and finds next to nothing: for 1,000 nodes
that was two fifths of the time. Objects without cycles are freed as ever.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_inside = 0  # Threads, and calls within calls.
_resumes = False  # Whether the collector was on when the first of them came.


@contextmanager
def paused() -> Iterator[None]:
    """Any thread. A collector that was off before stays off; gc.collect() works as ever."""
    global _inside, _resumes
    with _lock:
        if _inside == 0:
            _resumes = gc.isenabled()
            gc.disable()
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0 and _resumes:
                gc.enable()
