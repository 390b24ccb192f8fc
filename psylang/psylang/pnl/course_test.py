"""What PsyNeuLink ignores of run()'s arguments, and Psylang refuses for that reason.

Only where PsyNeuLink 0.21 is installed (`./dev test --psylang-full`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import psylang
from psylang.pnl import from_psyneulink, restart, results_of, run_arguments
from psylang.pnl.pnl_fixture import needs_psyneulink
from psylang.pnl.runs_fixture import parameter_of_a_decision, threshold_of_a_race
from psylang.pnl.scripts_fixture import Script
from psylang.pnl.trained_fixture import STIMULI, weights_of_a_module

pytestmark = needs_psyneulink


def results(composition: Any, given: dict[str, Any]) -> Any:
    restart(composition)
    composition.run(**given)
    return np.array(composition.results, dtype=np.float64)


@pytest.mark.parametrize("script", [parameter_of_a_decision, threshold_of_a_race])
def test_psyneulink_ignores_parameters_of_a_decision(script: Script) -> None:
    import psyneulink

    with_params, (composition, given) = results(*script(psyneulink)), script(psyneulink)
    given.pop("runtime_params")
    np.testing.assert_array_equal(results(composition, given), with_params)


def test_weights_and_biases_of_a_module_give_its_numbers() -> None:
    import psyneulink

    composition, given = weights_of_a_module(psyneulink)
    model = from_psyneulink(composition)
    inputs, trials = run_arguments(composition, model, given["inputs"])
    found = psylang.compile(model, numerics="exact").run(inputs=inputs, trials=trials)
    draw = np.random.default_rng(6)
    weights, biases = draw.normal(size=(3, 2)), draw.normal(size=3)
    wanted = 1.0 / (1.0 + np.exp(-(np.array(STIMULI) @ weights.T + biases)))
    np.testing.assert_allclose(results_of(model, found)[:, 0], wanted, rtol=1e-12)


def test_a_mechanism_is_no_composition() -> None:
    import psyneulink as pnl

    with pytest.raises(psylang.PsylangError, match="give one that has it as a node"):
        from_psyneulink(pnl.ProcessingMechanism(name="alone"))
