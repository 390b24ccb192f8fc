"""Scripts in PsyNeuLink's style: imported and run, they give PsyNeuLink's numbers, or are refused.

Only where PsyNeuLink 0.21 is installed (`./dev test --psylang-full`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

import psylang
from psylang.pnl import from_psyneulink, restart, results_of, run_arguments
from psylang.pnl.arguments_fixture import SAMPLES as ARGUMENTS
from psylang.pnl.integrators_fixture import OF_NORM_1
from psylang.pnl.pnl_fixture import needs_psyneulink
from psylang.pnl.samples_fixture import IMPORTED, REFUSED, STOPPED
from psylang.pnl.script import OF_IMPORT
from psylang.pnl.scripts_fixture import Script, some
from psylang.pnl.tables import REFUSED as REFUSED_CLASSES
from psylang.pnl.tables import TABLES

pytestmark = needs_psyneulink
ALLOWED = 1e-12
WHY = {**REFUSED, **ARGUMENTS.refused}
EVERY = [*IMPORTED, *ARGUMENTS.imported]


def built(script: Script) -> tuple[Any, dict[str, Any]]:
    import psyneulink

    return script(psyneulink)


def of_import(given: dict[str, Any]) -> dict[str, Any]:
    """The arguments of run() that the importer takes."""
    return {name: given[name] for name in OF_IMPORT if name in given}


@pytest.mark.parametrize("script", some(EVERY, 6))
def test_a_script_gives_psyneulinks_results(script: Script) -> None:
    composition, given = built(script)
    model = from_psyneulink(composition, **of_import(given))
    inputs, trials = run_arguments(composition, model, given["inputs"], given.get("num_trials"))
    found = psylang.compile(model, numerics="exact").run(inputs=inputs, trials=trials)
    restart(composition)
    before = len(composition.results)  # Of learn().
    composition.run(**given)
    wanted, laid_out = composition.results[before:], results_of(model, found)
    assert len(laid_out) == len(wanted) == trials
    for row, expected in zip(laid_out, wanted, strict=True):
        assert len(row) == len(expected)
        for port, other in zip(row, expected, strict=True):
            # A point's small coordinates are as exact as its others, not as themselves.
            least = ALLOWED if script in OF_NORM_1 else 0.0
            np.testing.assert_allclose(port, np.ravel(other), rtol=ALLOWED, atol=least)


@pytest.mark.parametrize("script", some(WHY, 5))
def test_unsupported_compositions_are_refused_before_compilation(script: Script) -> None:
    composition, given = built(script)
    with pytest.raises(psylang.NotImportedError, match=WHY[script]) as caught:
        from_psyneulink(composition, **of_import(given))
    for one in caught.value.refusals:
        assert one.component
        assert one.reason
        assert one.nearest


def test_the_tables_name_classes_that_there_are() -> None:
    import psyneulink

    kinds: list[Iterable[str]] = [*TABLES.values(), *REFUSED_CLASSES.values()]
    assert [name for kind in kinds for name in kind if not hasattr(psyneulink, name)] == []


@pytest.mark.parametrize("script", STOPPED, ids=lambda one: one.__name__)
def test_psyneulink_itself_stops_at_what_is_refused_as_impossible(script: Script) -> None:
    composition, given = built(script)
    with pytest.raises((AttributeError, ValueError), match=STOPPED[script]):
        composition.run(**given)


@pytest.mark.parametrize("count", [1, 5])
def test_inputs_by_a_function_or_a_list_are_psyneulinks(count: int) -> None:
    composition, _ = built(IMPORTED[0])
    model = from_psyneulink(composition)
    (entry,) = model.entries
    node = composition.nodes[0]
    rows = [[float(t), 1.0, 2.0, 3.0] for t in range(count)]
    every: list[Any] = [lambda t: {node: rows[t]}, rows, {node: rows}]
    for given in (*every, {node: [[one] for one in rows]}):
        inputs, trials = run_arguments(composition, model, given, count)
        assert (trials, inputs[entry.input].tolist()) == (count, rows)
    inputs, _ = run_arguments(composition, model, {node: rows}, 2 * count)
    assert inputs[entry.input].tolist() == rows * 2
    with pytest.raises(psylang.PsylangError, match="need num_trials"):
        run_arguments(composition, model, lambda t: {node: rows[t]})
    with pytest.raises(psylang.PsylangError, match="num_trials is 0"):
        run_arguments(composition, model, rows, 0)
    with pytest.raises(psylang.PsylangError, match="inputs of"):
        run_arguments(composition, model, {node: [[1.0, 2.0]]})


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"reset_stateful_functions_when": 3}, "reset_stateful_functions_when takes a condition"),
        ({"reset_stateful_functions_when": {"node": 3}}, "takes a condition, or mechanisms with"),
        ({"reset_stateful_functions_to": {"node": [0.1, 0.2]}}, "give a list of its one state"),
        ({"reset_stateful_functions_to": {"node": {"v": 0.1}}}, "give a list of its one state"),
    ],
)
def test_arguments_of_another_form_than_psyneulinks_are_refused(
    given: dict[str, Any], said: str
) -> None:
    composition, _ = built(IMPORTED[0])
    with pytest.raises(psylang.PsylangError, match=said):
        from_psyneulink(composition, **given)
