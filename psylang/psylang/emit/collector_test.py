"""The garbage collector is as it was when a program is made, also by several threads."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import nullcontext

import pytest

from psylang.emit import compile as compile_module
from psylang.emit.collector import paused
from psylang.emit.compile import llvm_text
from psylang.emit.targets import target
from psylang.errors import ProgramError
from psylang.ir.graph import Program
from psylang.model import Model, Transfer


@pytest.fixture(autouse=True)
def enabled() -> Iterator[None]:
    gc.enable()
    yield
    gc.enable()


def test_it_is_paused_inside_and_on_again_after_an_error_too() -> None:
    with paused():
        assert not gc.isenabled()
        with paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(ValueError, match="no"), paused():
        raise ValueError("no")
    assert gc.isenabled()


def test_it_stays_off_where_the_program_switched_it_off() -> None:
    gc.disable()
    with paused():
        pass
    assert not gc.isenabled()


def test_the_last_thread_switches_it_on() -> None:
    entered, leave = threading.Event(), threading.Event()

    def other() -> None:
        with paused():
            entered.set()
            leave.wait(10)

    thread = threading.Thread(target=other)
    with paused():
        thread.start()
        assert entered.wait(10)
    assert not gc.isenabled()
    leave.set()
    thread.join(10)
    assert gc.isenabled()


def program_of_forty() -> Program:
    model = Model("one")
    node = model.add(Transfer("node", size=40))
    model.input("x", node)
    model.output("y", node)
    return model.program("fast")


def collections() -> int:
    """How many there are while a program is made, of a collection for every tenth object."""
    program = program_of_forty()
    seen: list[str] = []

    def watch(phase: str, details: dict[str, int]) -> None:
        seen.append(phase)

    before = gc.get_threshold()
    gc.callbacks.append(watch)
    try:
        gc.set_threshold(10)
        llvm_text(program, target("sse2"))
    finally:
        gc.callbacks.remove(watch)
        gc.set_threshold(*before)
    return seen.count("start")


def test_nothing_is_collected_while_a_program_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    assert collections() <= 10  # Before it is paused, and after.
    monkeypatch.setattr(compile_module, "paused", nullcontext)
    assert collections() > 100


def test_it_is_on_again_after_a_program_that_cannot_be_made() -> None:
    with pytest.raises(ProgramError, match="no parameter unknown"):
        llvm_text(program_of_forty(), target("sse2"), frozenset({"unknown"}))
    assert gc.isenabled()
