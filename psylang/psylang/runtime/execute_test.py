"""Every form of a run gives the same trials: chunks, threads, sequences and rows do not change
them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

import psylang
from psylang.runtime import execute, schedule
from psylang.runtime.plan_fixture import compiled, session_cache, straight, walk
from psylang.runtime.values import rows

__all__ = ["compiled", "session_cache"]
QUIETLY = settings(
    deadline=None,
    derandomize=True,
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.mark.usefixtures("compiled")
@QUIETLY
@given(
    sequences=some.integers(1, 40),
    trials=some.integers(1, 200),
    threads=some.integers(1, 4),
    block=some.integers(1, 300),
    first=some.integers(1, 64),
    alone=some.sampled_from([1e-9, 1.0]),
    counted=some.booleans(),
)
def test_runs_are_their_trials(
    monkeypatch: pytest.MonkeyPatch,
    sequences: int,
    trials: int,
    threads: int,
    block: int,
    first: int,
    alone: float,
    counted: bool,
) -> None:
    for module, name, value in (
        (execute, "BLOCK_ROWS", block),
        (execute, "FIRST_TRIALS", first),
        (schedule, "FIRST_TRIALS", first),
        (execute, "ALONE_S", alone),
        (schedule, "ALONE_S", alone),
        (schedule, "CHUNK_S_MIN", 1e-6),
    ):
        monkeypatch.setattr(module, name, value)
    total = sequences * trials
    a = np.arange(float(total)).reshape(sequences, trials)
    for program, params, expected in (
        (straight(), {"a": a}, 3.0 * a + np.arange(total).reshape(sequences, trials)),
        (walk(), {}, 10.0 + np.tile(np.arange(trials), (sequences, 1))),
    ):
        plan = psylang.compile(program)
        name = program.outputs[0].name
        results = plan.run(
            {"x": 3.0} if program.inputs else None,
            params,
            sequences=sequences,
            trials=trials,
            threads=threads,
            histogram={name: (1, -1e9, 1e9)} if counted else None,
            record=None if not counted else [program.outputs[-1].name],
        )
        if counted:
            assert results.histograms[name].counts.tolist() == [total]
        else:
            np.testing.assert_array_equal(results[name].reshape(sequences, trials), expected)


@settings(QUIETLY, max_examples=100)
@given(some.integers(1, 5), some.integers(1, 5), some.sampled_from([(), (2,), (3, 1)]))
def test_rows_repeat_a_value_given_for_all(
    sequences: int, trials: int, shape: tuple[int, ...]
) -> None:
    wide = (sequences, trials, *shape)
    array = np.arange(float(np.prod(wide))).reshape(wide)
    flat = array.reshape(sequences * trials, *shape)
    np.testing.assert_array_equal(rows("x", array, shape, sequences, trials), flat)
    one = rows("x", array[0], shape, sequences, trials)
    np.testing.assert_array_equal(one, np.concatenate([array[0]] * sequences))
    same = rows("x", array[0, 0], shape, sequences, trials)
    assert (same == array[0, 0]).all()
    assert same.shape == flat.shape
