"""Streams of random numbers at large counters, and the key of the code that draws them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

import psylang
from psylang.ir.builder import ProgramBuilder
from psylang.ir.graph import Program
from psylang.ir.interpret import _Machine
from psylang.numerics import expansions
from psylang.runtime.keys import _COMPILER, _stamp_of
from psylang.runtime.plan_fixture import compiled, session_cache

__all__ = ["compiled", "session_cache"]


def noise() -> Program:
    """A normal and a uniform number of each trial."""
    build = ProgramBuilder("noise")
    stream = build.stream("noise")
    build.output("z", build.normal(stream, 3))
    build.output("u", build.uniform(stream, 3))
    return build.build()


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("first", [2**32 - 3, 2**32, 2**40 + 5, 2**55])
def test_trials_beyond_32_bits_have_numbers_of_their_own(first: int) -> None:
    program, count = noise(), 40
    plan = psylang.compile(program)
    found = plan.run(first=first, sequences=count, seed=9)
    machine = _Machine(program, expansions())
    with np.errstate(over="ignore"):
        rows = [machine.run(program.body, [np.int64(9), np.int64(first + k)]) for k in range(count)]
    np.testing.assert_array_equal(found.z.ravel(), [row[0] for row in rows])
    np.testing.assert_array_equal(found.u.ravel(), [row[1] for row in rows])
    near = plan.run(first=first % 2**32, sequences=count, seed=9)
    if first >= 2**32:
        assert not np.isin(found.z, near.z).any()


def test_the_key_of_machine_code_has_the_contents_of_the_compiler(tmp_path: Path) -> None:
    root = Path(psylang.__file__).parent
    for package in _COMPILER:
        shutil.copytree(root / package, tmp_path / package)
    assert _stamp_of(tmp_path) == _stamp_of(root)
    changed = tmp_path / "passes" / "hoist.py"
    before = changed.stat()
    text = changed.read_text()
    changed.write_text(text.replace("loop", "pool", 1))  # Of the same size and time.
    os.utime(changed, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert changed.stat().st_size == before.st_size
    assert _stamp_of(tmp_path) != _stamp_of(root)
    changed.write_text(text)
    assert _stamp_of(tmp_path) == _stamp_of(root)
