"""The GPU has the CPU's bits: every operation on edge values, every model, random programs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings

from psylang import models
from psylang.emit.emit_test import ELEMENTWISE, give, race, remembers
from psylang.ir.builder import ProgramBuilder
from psylang.ir.graph import Program, Value
from psylang.ir.ops import OPS
from psylang.ir.programs_fixture import programs
from psylang.ir.types import I32, DType
from psylang.runtime.cuda.gpu_fixture import agree, gpu, rows_of
from psylang.runtime.library_fixture import CASES, GAME
from psylang.runtime.plan_fixture import compiled, session_cache

__all__ = ["compiled", "gpu", "session_cache"]
pytestmark = pytest.mark.usefixtures("compiled", "gpu")
PRECISIONS = pytest.mark.parametrize("precision", ["f64", "f32"])


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_each_operation_on_edge_values(name: str) -> None:
    build = ProgramBuilder(name)
    values: dict[str, Any] = {}
    for dtype in DType:
        if dtype in OPS[name].of:
            values |= give(build, name, dtype)
    program = build.build()
    rows = {one.name: np.array(values[one.name], one.type.dtype.numpy) for one in program.inputs}
    agree(program, rows, allow_nan=True)


@PRECISIONS
@pytest.mark.parametrize("name", CASES)
def test_each_model_of_the_library(name: str, precision: str) -> None:
    make, inputs, each = CASES[name]
    agree(make(), inputs, precision=precision, trials=each, sequences=24, seed=5)


@PRECISIONS
def test_threads_share_a_search(precision: str) -> None:
    agree(models.predator_prey(7), GAME, precision=precision, trials=3, seed=2)


@pytest.mark.parametrize("count", [0, 1, 7, 63, 64, 127, 128, 150, 700])
def test_the_first_of_the_cheapest_candidates(count: int) -> None:
    build = ProgramBuilder("search")
    stream = build.stream("noise")
    floor = build.input("floor")

    def cost(candidate: Value) -> Value:
        bounded = build.op("max", build.normal(stream, candidate=candidate), floor)
        odd = build.op("eq", build.op("urem", candidate, 3), 2)
        return build.select(odd, math.nan, bounded)

    number, least = build.argmin(count, cost)
    build.output("number", number)
    build.output("least", least)
    # With the floor above all noise, all candidates cost the same; some are infinite or NaN.
    agree(build.build(), {"floor": np.array([-9.0, 0.0, 9.0, math.inf])})


@pytest.mark.parametrize("count", [5, 200])
def test_a_search_without_any_number(count: int) -> None:
    build = ProgramBuilder("hopeless")
    cost = build.input("cost")
    number, least = build.argmin(build.constant(count, I32), lambda candidate: cost)
    build.output("number", number)
    build.output("least", least)
    costs = {"cost": np.array([math.nan, math.inf, 2.0])}
    agree(build.build(), costs, allow_nan=True)


def test_a_search_in_trials_that_remember() -> None:
    build = ProgramBuilder("chosen")
    before = build.state("before", 0.5)
    stream = build.stream("noise")

    def cost(candidate: Value) -> Value:
        return build.add(build.normal(stream, candidate=candidate), before)

    number, least = build.argmin(100, cost)
    build.set_state("before", least)
    build.output("number", number)
    build.output("least", least)
    agree(build.build(), trials=5, sequences=3, seed=4)


def test_trials_of_different_length() -> None:
    agree(race(), {"bias": np.linspace(-0.5, 0.5, 300)}, seed=5)


@pytest.mark.parametrize("sequences", [1, 2, 130])
def test_sequences_remember(sequences: int) -> None:
    rows = rows_of(remembers(), 4 * sequences)
    rows = {name: row.reshape(sequences, 4, *row.shape[1:]) for name, row in rows.items()}
    agree(remembers(), rows, trials=4, sequences=sequences, seed=9)


def test_random_programs() -> None:
    quick = settings(
        max_examples=25,
        deadline=None,
        derandomize=True,
        phases=[Phase.explicit, Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )

    @quick
    @given(programs(numerics="fast"))
    def one(program: Program) -> None:
        rows = rows_of(program, 21)
        rows = {name: row.reshape(7, 3, *row.shape[1:]) for name, row in rows.items()}
        agree(program, rows, trials=3, sequences=7, seed=9, allow_nan=True)

    one()
