"""Small programs, and a cache, for the tests of the runtime."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from psylang.ir.builder import ProgramBuilder
from psylang.ir.graph import Program
from psylang.ir.types import DType
from psylang.runtime import variants


@pytest.fixture(scope="session")
def session_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache for all tests that do not check the cache: each program is compiled once."""
    return tmp_path_factory.mktemp("objects")


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch, session_cache: Path) -> list[str]:
    """Names of the programs whose variants are compiled from now on; the cache is the session's."""
    monkeypatch.setenv("PSYLANG_CACHE_DIR", str(session_cache))
    made: list[str] = []
    real = variants._made

    def noted(program: Program, *others: Any) -> variants.Variant:
        made.append(program.name)
        return real(program, *others)

    monkeypatch.setattr(variants, "_made", noted)
    return made


def straight() -> Program:
    """y = a * x + trial, v = w * x, s = seed."""
    build = ProgramBuilder("straight")
    a = build.parameter("a", 2.0)
    w = build.parameter("w", [1.0, 2.0, 3.0])
    x = build.input("x", default=1.0)
    build.output("y", build.add(build.mul(a, x), build.convert(build.trial, DType.F64)))
    build.output("v", build.mul(w, x), ("unit",))
    build.output("s", build.seed)
    return build.build()


def walk() -> Program:
    """A state that grows by `by` each trial; each trial gives it, and its own number."""
    build = ProgramBuilder("walk")
    by = build.parameter("by", 1.0)
    position = build.state("position", 10.0)
    build.set_state("position", build.add(position, by))
    build.output("at", position)
    build.output("trial", build.trial)
    return build.build()


def calls_of(work: Callable[[], object]) -> int:
    """The number of Python functions that `work` calls: its cost on any machine."""
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return calls
