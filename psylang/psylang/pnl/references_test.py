"""The reference compositions (references/models), imported, against what PsyNeuLink computed.

Only where PsyNeuLink 0.21 is installed (`./dev test --psylang-full`). The compositions are those of
the reference models: their run() is intercepted, and its composition is imported.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

import psylang
from psylang import Results
from psylang.models.references_fixture import stored
from psylang.pnl import ImportedModel, from_psyneulink, run_arguments
from psylang.pnl.pnl_fixture import needs_psyneulink

pytestmark = needs_psyneulink
REFERENCES = Path(__file__).parents[2] / "references"
Taken = tuple[Any, dict[str, Any]]
# For each column of a reference the nodes of the composition, and their port.
Where = Mapping[str, tuple[tuple[str, ...], str]]


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], list[Taken]]:
    """All runs of a reference model: compositions and arguments of run()."""
    import psyneulink

    monkeypatch.syspath_prepend(str(REFERENCES))

    def of(name: str) -> list[Taken]:
        taken: list[Taken] = []

        def run(self: Any, **given: Any) -> None:
            given.pop("call_after_trial", None)
            given.pop("context", None)
            taken.append((self, given))

        monkeypatch.setattr(psyneulink.Composition, "run", run)
        model = importlib.import_module(f"models.{name}")
        try:
            model.simulate()
        except Exception:
            assert taken
        return taken

    return of


def computed(one: Taken, where: Where = MappingProxyType({})) -> tuple[ImportedModel, Results]:
    """Of all trials of a run."""
    composition, given = one
    model = from_psyneulink(composition, termination_processing=given.get("termination_processing"))
    recorded(model, where)
    inputs, trials = run_arguments(composition, model, given["inputs"], given.get("num_trials"))
    results = psylang.compile(model, numerics="exact").run(inputs=inputs, trials=trials)
    assert not results.get("truncated", np.array(False)).any()
    return model, results


DECISION: Where = {
    "decision_variable": (("decision",), "decision_variable"),
    "response_time": (("decision",), "response_time"),
}
RESPONSE: Where = {"response": (("response",), "")}
AGENTS: Where = {
    "action": (("action",), ""),
    "ideal": (("ideal",), ""),
    "objective": (("objective",), ""),
}


def units(count: int) -> tuple[str, ...]:
    return tuple(f"{percept}_{k}" for percept in "ab" for k in range(count))


COLUMNS: Mapping[str, Where] = {
    "ddm": DECISION,
    "lca": {"activity": (("race",), "")},
    "stroop_ddm": {**DECISION, **RESPONSE},
    "stroop_lca": {"activity": (("race",), ""), **RESPONSE},
    "necker_3": {"activity": (units(3), "")},
    "necker_8": {"activity": (units(8), "")},
    "necker_vectorised": {"activity": (("a", "b"), "")},
    "predator_prey_2": AGENTS,
    "predator_prey_4": AGENTS,
    "predator_prey_6": AGENTS,
    "multitasking": {"activity": (("race",), ""), "output": (("output",), "")},
}
# Their sums go through BLAS in PsyNeuLink.
ROUNDED = {"necker_vectorised": 1e-12, "multitasking": 1e-12}


def recorded(model: ImportedModel, where: Where) -> None:
    """Makes outputs of nodes, including inner nodes."""
    here = {re.sub(r"-\d+$", "", name): made for name, made in model.nodes.items()}
    for column, (nodes, port) in where.items():
        made = [here[one] for one in nodes]
        model.output(f"seen_{column}", made if len(made) > 1 else made[0], port, earlier=True)


def deviation(given: Any, wanted: Any) -> float:
    """The largest, relative to the larger one."""
    one = np.asarray(given, dtype=np.float64).reshape(len(given), -1)
    other = np.asarray(wanted, dtype=np.float64).reshape(len(wanted), -1)
    assert one.shape == other.shape
    size = np.maximum(np.abs(one), np.abs(other))
    return float(np.max(np.abs(one - other) / np.where(size == 0.0, 1.0, size)))


@pytest.mark.parametrize("name", COLUMNS)
def test_a_reference_imports_and_gives_its_numbers(
    name: str, runs: Callable[[str], list[Taken]], record_property: Callable[[str, object], None]
) -> None:
    _, wanted = stored(name)
    (one,) = runs(name)
    _, results = computed(one, COLUMNS[name])
    worst = {
        column: deviation(results[f"seen_{column}"], wanted[column]) for column in COLUMNS[name]
    }
    if "allocation" in wanted:
        worst["allocation"] = deviation(results["allocation"], wanted["allocation"])
    record_property("deviation", max(worst.values()))
    assert max(worst.values()) <= ROUNDED.get(name, 0.0), worst


def test_ddm_analytical_imports_and_gives_its_numbers(
    runs: Callable[[str], list[Taken]], record_property: Callable[[str, object], None]
) -> None:
    p, wanted = stored("ddm_analytical")
    inputs, largest = np.array(wanted["input"]), 0.0
    every = runs("ddm_analytical")
    assert len(every) == len(p["configurations"])
    for number, one in enumerate(every):
        rows = np.flatnonzero(inputs[:, 0] == number)
        model, results = computed(one)
        c = p["configurations"][number]
        drift = np.maximum(np.abs(c["drift_rate"] * inputs[rows, 1]), 0.01)
        z = np.minimum(1.0, drift * c["threshold"] / c["noise"] ** 2)
        for output in model.results:
            column = output.removeprefix(f"decision_{number}_").lower()
            # Moments cancel for small z (references/README.md).
            moment = column.rpartition("_")[2] if column.startswith("rt_") else ""
            lost = {"mean": 2, "variance": 4, "skew": 6}.get(moment, 0)
            expected = np.array(wanted[column])[rows]
            apart = np.abs(results[output].ravel() - expected)
            assert np.all(apart <= (1e-12 + 5e-15 * z**-lost) * np.abs(expected)), column
            if not moment:
                largest = max(largest, deviation(results[output], expected))
    record_property("deviation", largest)


def test_stroop_imports_and_gives_its_numbers(runs: Callable[[str], list[Taken]]) -> None:
    _, wanted = stored("stroop")
    where: Where = {name: ((name,), "") for name in ("colour", "word", "task", "response")}
    for condition, one in zip(("congruent", "incongruent", "neutral"), runs("stroop"), strict=True):
        _, results = computed(one, where)
        rows = [
            (row, trial) for row, (name, trial) in enumerate(wanted["input"]) if name == condition
        ]
        trials = [trial for _, trial in rows]
        assert len(rows) == 80
        outputs = {**{column: f"seen_{column}" for column in where}, "energy": "response_energy"}
        for column, output in outputs.items():
            expected = [wanted[column][row] for row, _ in rows]
            assert deviation(results[output][trials], expected) == 0.0, column
