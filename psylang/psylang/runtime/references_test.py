"""The library in `exact` against results of PsyNeuLink 0.21 (references/README.md).

Of each model all trials, from the generators' first draw on: bitwise, or within 1e-12 where
PsyNeuLink's own sums go through BLAS, NumPy's tanh or cancellation (references/README.md says so).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import psylang
from psylang.model import Model
from psylang.models import (
    botvinick_stroop,
    ddm,
    ddm_analytical,
    extended_stroop,
    necker_3,
    necker_8,
    necker_vectorised,
    predator_prey,
)
from psylang.models.references_fixture import (
    Numbers,
    columns,
    lca_of,
    multitasking_of,
    stored,
)


def same(given: Numbers, wanted: Numbers, names: Mapping[str, str], allowed: float = 0.0) -> None:
    """Columns by the names of outputs and of references; at least the choices bitwise."""
    for name, column in names.items():
        count = len(given[name])
        one, other = given[name], np.array(wanted[column][:count])
        assert one.shape == other.shape, name
        np.testing.assert_allclose(one, other, rtol=allowed, atol=0, err_msg=name)


def run(model: Model, inputs: Mapping[str, Any]) -> Numbers:
    """All trials of the reference, compiled."""
    given = {name: np.array(rows, dtype=np.float64) for name, rows in inputs.items()}
    (trials,) = {len(rows) for rows in given.values()}
    plan = psylang.compile(model, numerics="exact")
    found = plan.run(inputs=given, trials=trials)
    results = {name: found[name] for name in found}
    assert not results.get("truncated", np.array(False)).any()
    return results


def test_ddm() -> None:
    p, wanted = stored("ddm")
    model = ddm(
        drift=p["rate"],
        threshold=p["threshold"],
        noise=p["noise"],
        dt=p["time_step_size"],
        starting_point=p["starting_value"],
        non_decision_time=p["non_decision_time"],
        stimulus=True,
        seed=p["seed"],
    )
    given = run(model, {"stimulus": wanted["input"]})
    same(given, wanted, {n: n for n in ("choice", "response_time", "decision_variable")})


def test_lca() -> None:
    p, wanted = stored("lca")
    model = lca_of(p)
    given = run(model, {"stimulus": wanted["input"]})
    same(given, wanted, {n: n for n in ("choice", "response_time", "activity")})


def test_ddm_analytical() -> None:
    p, wanted = stored("ddm_analytical")
    inputs = np.array(wanted["input"])
    for number, one in enumerate(p["configurations"]):
        rows = np.flatnonzero(inputs[:, 0] == number)
        model = ddm_analytical(
            one["drift_rate"],
            one["threshold"],
            one["noise"],
            one["starting_value"],
            one["non_decision_time"],
            stimulus=True,
            seed=p["seed"] + number,
        )
        stimulus = inputs[rows, 1]
        given = run(model, {"stimulus": stimulus})
        drift = np.maximum(np.abs(one["drift_rate"] * stimulus), 0.01)
        z = np.minimum(1.0, drift * one["threshold"] / one["noise"] ** 2)
        for name, values in given.items():
            column = f"{name}_threshold" if name.startswith("probability") else name
            # Moments cancel for small z: PsyNeuLink loses digits, too.
            moment = name.rpartition("_")[2] if name.startswith("rt_") else ""
            lost = {"mean": 2, "variance": 4, "skew": 6}.get(moment, 0)
            wanted_rows = np.array(wanted[column])[rows]
            allowed = (1e-12 + 5e-15 * z**-lost) * np.abs(wanted_rows)
            assert np.all(np.abs(values - wanted_rows) <= allowed), name


@pytest.mark.parametrize("levels", [2, 4, 6])
def test_predator_prey(levels: int) -> None:
    p, wanted = stored(f"predator_prey_{levels}")
    model = predator_prey(levels, p["fear"], p["cost_rate"], p["cost_bias"])
    inputs = columns(wanted, "player", "predator", "prey")
    given = run(model, inputs)
    names = {"outcome": "objective", "allocation": "allocation", "action": "action"}
    same(given, wanted, {**names, "ideal": "ideal"})


def test_stroop() -> None:
    p, wanted = stored("stroop")
    model = botvinick_stroop(
        p["integration_rate"],
        p["noise_standard_deviation"],
        p["inhibition"],
        p["task_weight"],
        p["task_feedback"],
        p["colour_weight"],
        p["word_weight"],
        seed=p["seeds"]["colour"],
    )
    silent, trials = (
        p["trials_without_stimulus"],
        max(int(number) for _, number in wanted["input"]) + 1,
    )
    stimuli = {"congruent": 0, "incongruent": 1, "neutral": 2}
    for condition, unit in stimuli.items():
        colour, word = np.zeros((trials, 3)), np.zeros((trials, 3))
        colour[silent:, 0] = word[silent:, unit] = 1.0
        task = np.tile([1.0, 0.0], (trials, 1))
        inputs = {"colour_input": colour, "word_input": word, "task_input": task}
        given = run(model, inputs)
        rows = [
            (row, number)
            for row, (name, number) in enumerate(wanted["input"])
            if name == condition and number < trials
        ]
        assert len(rows) > 10
        for name in ("response", "energy", "colour", "word", "task"):
            expected = [wanted[name][row] for row, _ in rows]
            assert given[name][[number for _, number in rows]].tolist() == expected, name


@pytest.mark.parametrize("decision", ["ddm", "lca"])
def test_extended_stroop(decision: Any) -> None:
    p, wanted = stored(f"stroop_{decision}")
    model = extended_stroop(
        decision,
        p["network"]["integration_rate"],
        threshold=p["threshold"],
        dt=p["time_step_size"],
        noise=p["noise" if decision == "ddm" else "noise_standard_deviation"],
        passes=p["passes" if decision == "ddm" else "passes_min"],
        seed=p["seed"],
    )
    given = run(model, columns(wanted, "colour_input", "word_input", "task_input"))
    same(given, wanted, {n: n for n in ("choice", "response_time", "response")})


NECKER: dict[str, Callable[..., Model]] = {
    "necker_3": necker_3,
    "necker_8": necker_8,
    "necker_vectorised": necker_vectorised,
}


@pytest.mark.parametrize("name", NECKER)
def test_necker(name: str) -> None:
    p, wanted = stored(name)
    model = NECKER[name](
        p["excitation"],
        p["inhibition"],
        p["gain"],
        p["x_0"],
        p["integration_rate"],
        p["noise_standard_deviation"],
        passes=p["passes"],
        seed=p["seeds"]["a"] if "seeds" in p else p["seed_of_first_node"],
    )
    given = run(model, {"stimulus": wanted["input"]})
    allowed = 1e-12 if name == "necker_vectorised" else 0.0
    same(given, wanted, {"choice": "choice", "activity": "activity"}, allowed)


def test_multitasking() -> None:
    p, wanted = stored("multitasking")
    model = multitasking_of(p)
    given = run(model, columns(wanted, "stimulus", "task"))
    same(given, wanted, {n: n for n in ("choice", "output", "activity")}, 1e-12)
    same(given, wanted, {"response_time": "response_time"}, 1e-12)
