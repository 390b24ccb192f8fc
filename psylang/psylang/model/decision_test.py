"""The DDM and the LCA in steps: against the same processes in plain NumPy, in that order."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest

from psylang.ir.graph import Program
from psylang.ir.interpret import interpret
from psylang.model import DDM, DriftDiffusion, Model, ModelError
from psylang.models import ddm, lca

E = 2.718281828459045


def with_twister(program: Program, seeds: tuple[int, ...]) -> Program:
    """A `fast` program that draws as an `exact` one: tests need no expansions."""
    return dataclasses.replace(program, numerics="exact", stream_seeds=seeds)


def ddm_by_hand(drift: float, seed: int, trials: int, p: dict[str, float]) -> list[tuple[Any, ...]]:
    random, rows = np.random.RandomState([seed]), []
    scale = p["noise"] * math.sqrt(p["dt"])
    for _ in range(trials):
        x, time, steps = p["starting_point"], p["non_decision_time"], 0
        while True:
            x = x + drift * p["dt"] + scale * random.normal()
            x = min(max(x, -p["threshold"]), p["threshold"])
            time, steps = time + p["dt"], steps + 1
            if abs(x) >= p["threshold"]:
                break
        rows.append((time, int(x > 0), x, steps))
    return rows


DDM_NUMBERS: dict[str, Any] = {
    "threshold": 0.8,
    "noise": 0.9,
    "dt": 0.01,
    "starting_point": 0.1,
    "non_decision_time": 0.15,
}


@pytest.mark.parametrize("drift", [0.4, -1.5])
def test_ddm_exact_is_psyneulinks(drift: float) -> None:
    model = ddm(drift=drift, seed=11, **DDM_NUMBERS)
    given = interpret(model.program("exact"), trials=20)
    rows = ddm_by_hand(drift, 11, 20, DDM_NUMBERS)
    assert given["response_time"].tolist() == [row[0] for row in rows]
    assert given["choice"].tolist() == [row[1] for row in rows]
    assert given["decision_variable"].tolist() == [row[2] for row in rows]
    assert not given["truncated"].any()


def test_ddm_fast_is_the_same_process() -> None:
    model = ddm(drift=0.4, seed=11, **DDM_NUMBERS)
    given = interpret(with_twister(model.program("fast"), (11,)), trials=20)
    rows = ddm_by_hand(0.4, 11, 20, DDM_NUMBERS)
    np.testing.assert_allclose(given["response_time"], [row[0] for row in rows], rtol=1e-12)
    assert given["choice"].tolist() == [row[1] for row in rows]


def test_ddm_fast_has_one_tight_loop() -> None:
    program = ddm().program("fast", vary=["drift", "noise", "threshold", "dt"])
    assert program.is_independent()
    loops = [op for op in program.body.ops if op.regions]
    assert [op.name for op in loops] == ["loop"]
    costly = [op.name for op in loops[0].regions[0].ops if op.name != "constant"]
    assert sorted(costly) == ["abs", "add", "add", "and", "fma", "lt", "lt", "random.normal"]
    position, step = loops[0].regions[0].arguments
    assert position.hint == "decision_position"
    draw = next(op for op in loops[0].regions[0].ops if op.name == "random.normal")
    assert draw.operands[3] is step


def test_ddm_that_does_not_end_says_so() -> None:
    model = ddm(drift=0.0, noise=0.0, max_steps=50)
    given = interpret(model.program("exact"), trials=2)
    assert given["truncated"].tolist() == [True, True]
    assert given["choice"].tolist() == [-1, -1]
    assert given["response_time"] == pytest.approx(0.05)


def test_ddm_takes_its_drift_from_a_stimulus() -> None:
    model = ddm(drift=2.0, noise=0.0, dt=0.25, stimulus=True)
    given = interpret(model.program("exact"), trials=2, inputs={"stimulus": [1.0, -0.5]})
    assert given["choice"].tolist() == [1, 0]
    assert given["response_time"].tolist() == [0.5, 1.0]


def test_ddm_values_that_cannot_be() -> None:
    with pytest.raises(ModelError, match=r"`starting_point` is 2; it must be strictly within"):
        ddm(starting_point=2.0)
    with pytest.raises(ModelError, match=r"`threshold` is 0.0; it must be above 0"):
        ddm(threshold=0.0)
    with pytest.raises(ModelError, match=r"`dt` is nan; it must be finite"):
        ddm(dt=math.nan)
    with pytest.raises(ModelError, match=r"max_steps of `decision` is 0"):
        ddm(max_steps=0)


def test_ddm_that_keeps_its_state_goes_on() -> None:
    model = Model("kept")
    process = DriftDiffusion(rate=1.0, noise=0.0, dt=0.25, threshold=2.0)
    decision = model.add(DDM("decision", integrator=process, reset="never", until_finished=False))
    model.output("x", decision)
    model.output("time", decision, "response_time")
    program = model.program("fast")
    assert [state.name for state in program.states] == ["decision.position", "decision.time"]
    given = interpret(with_twister(program, (1,)), trials=10)
    assert given["x"].tolist() == [0.25 * min(k, 8) for k in range(1, 11)]
    assert given["time"].tolist() == [0.25 * k for k in range(1, 11)]


def lca_by_hand(seed: int, stimulus: list[float], trials: int) -> list[tuple[Any, ...]]:
    random, rows, n = np.random.RandomState([seed]), [], len(stimulus)
    weights = [[0.1 if i == j else -0.9 for j in range(n)] for i in range(n)]
    for _ in range(trials):
        state, steps = [0.0] * n, 0
        activity = [0.5] * n
        while max(activity) < 0.75:
            net = [
                sum(activity[i] * weights[i][j] for i in range(n)) + stimulus[j] for j in range(n)
            ]
            noise = [random.normal(0.0, 0.3) for _ in range(n)]
            state = [
                s + (-0.5 * s + x) * 0.02 + z * math.sqrt(0.02)
                for s, x, z in zip(state, net, noise, strict=True)
            ]
            activity = [1.0 / (1.0 + E ** (-1.0 * s)) for s in state]
            steps += 1
        rows.append((activity, steps * 0.02, int(np.argmax(activity))))
    return rows


def test_lca_exact_is_psyneulinks() -> None:
    model = lca(3, self_excitation=0.1, competition=0.9, noise=0.3, dt=0.02, seed=5)
    stimulus = [1.5, 1.2, 0.9]
    given = interpret(model.program("exact"), trials=5, inputs={"stimulus": [stimulus] * 5})
    rows = lca_by_hand(5, stimulus, 5)
    assert given["activity"].tolist() == [row[0] for row in rows]
    assert given["response_time"].tolist() == [row[1] for row in rows]
    assert given["choice"].tolist() == [row[2] for row in rows]


@pytest.mark.parametrize("ends", ["value", "max_vs_next", "max_vs_average"])
def test_lca_fast_is_the_same_process(ends: Any) -> None:
    model = lca(3, noise=0.0, threshold=0.6 if ends == "value" else 0.2, dt=0.02, ends=ends)
    inputs = {"stimulus": [[1.5, 1.2, 0.9], [0.2, 0.1, 2.0]]}
    exact = interpret(model.program("exact"), trials=2, inputs=inputs)
    fast = interpret(with_twister(model.program("fast"), (1, 2, 3)), trials=2, inputs=inputs)
    assert exact["choice"].tolist() == fast["choice"].tolist() == [0, 2]
    for name in ("activity", "response_time"):
        np.testing.assert_allclose(exact[name], fast[name], rtol=1e-12)
    first, *others = np.sort(exact["activity"][0])[::-1]
    met = {
        "value": first,
        "max_vs_next": first - others[0],
        "max_vs_average": first - sum(others) / 2,
    }
    assert met[ends] >= (0.6 if ends == "value" else 0.2)


def test_lca_values_that_cannot_be() -> None:
    with pytest.raises(ModelError, match="has 1 units; a competition takes two"):
        lca(1)
    with pytest.raises(ModelError, match="ends is 'never'; it must be one of value, max_vs_next"):
        lca(ends="never")  # type: ignore[arg-type]
