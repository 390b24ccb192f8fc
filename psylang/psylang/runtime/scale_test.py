"""Work grows no faster than models: executed lines of Python are counted, not time.

What lowering, the passes and the emission of LLVM do for twice the nodes is at most 2.5 times the
work. 1,000 nodes then compile in seconds; `psylang/compile_nodes.py` measures it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np
import pytest

from psylang.emit.compile import llvm_text
from psylang.emit.targets import target
from psylang.ir.graph import Program
from psylang.model import EveryNCalls, Logistic, Model, Transfer

SIZES = (60, 120)
MOST = 2.5


def lines_of(work: Callable[[], Any]) -> tuple[int, Any]:
    """The number of executed lines of psylang, and the result."""
    count = 0

    def traced(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        if event == "call" and "psylang" not in frame.f_code.co_filename:
            return None
        count += event == "line"
        return traced

    before = sys.gettrace()
    sys.settrace(traced)
    try:
        result = work()
    finally:
        sys.settrace(before)
    return count, result


def layers(count: int, width: int, conditions: bool = False) -> Model:
    """Layers of `width` nodes; each node receives from two nodes of the layer before."""
    model, rng = Model("layers"), np.random.default_rng(1)
    nodes = [
        model.add(Transfer(f"n{k}", size=2, function=Logistic(gain=1 + k / 1000)))
        for k in range(count)
    ]
    for k, node in enumerate(nodes):
        if k < width:
            model.input(f"x{k}", node)
            continue
        first = (k // width - 1) * width
        for sender in {first + k % width, first + (k + 1) % width}:
            model.connect(nodes[sender], node, rng.normal(size=(2, 2)))
            if conditions and sender == first + k % width:
                model.when(node, EveryNCalls(nodes[sender], 1))
    for node in nodes[-width:]:
        model.output(f"y_{node.name}", node)
    return model


def emitted(program: Program) -> str:
    return llvm_text(program, target("sse2"))


@pytest.mark.parametrize(
    ("width", "conditions"), [(1, False), (10, False), (30, False), (1, True), (10, True)]
)
def test_lowering_is_proportional_to_the_model(width: int, conditions: bool) -> None:
    small, large = (
        lines_of(lambda n=n: layers(n, width, conditions).program("fast"))[0]  # type: ignore[misc]
        for n in SIZES
    )
    assert large < MOST * small, (small, large)


def test_passes_and_emission_are_proportional_to_the_program() -> None:
    counts = []
    for n in SIZES:
        program = layers(n // 2, 5).program("fast")
        counts.append(lines_of(lambda one=program: emitted(one))[0])  # type: ignore[misc]
    assert counts[1] < MOST * counts[0], counts


def test_the_counter_finds_what_is_quadratic() -> None:
    def pairs(count: int) -> int:
        total = 0
        for _ in range(count):
            for _ in range(count):
                total += 1
        return total

    small, large = (lines_of(lambda n=n: pairs(n))[0] for n in SIZES)  # type: ignore[misc]
    assert large > 3.5 * small
