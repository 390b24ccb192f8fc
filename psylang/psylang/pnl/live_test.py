"""A live import gives what the composition's next run() gives, without restart().

Only where PsyNeuLink 0.21 is installed (`./dev test --psylang-full`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import psylang
from psylang.pnl import from_psyneulink, results_of, run_arguments
from psylang.pnl.pnl_fixture import needs_psyneulink
from psylang.pnl.samples_fixture import IMPORTED, REFUSED
from psylang.pnl.scripts_fixture import stimuli

pytestmark = needs_psyneulink
ALLOWED = 1e-12
EVERY = {one.__name__: one for one in (*IMPORTED, *REFUSED)}
# Each kind of generator and noise; and layers that begin with noise of their construction.
NAMES = (
    "diffusion",
    "uniform_noise",
    "user_defined_draws",
    "one_hot_by_chance",
    "zeros_by_chance",
    "accumulating",
    "mean_reverting",
    *(name for name, one in EVERY.items() if "noise that its construction" in REFUSED.get(one, "")),
)


def goes_on(composition: Any, given: dict[str, Any]) -> None:
    """Compares a live import with the composition's next run."""
    model = from_psyneulink(composition, live=True)
    inputs, trials = run_arguments(composition, model, given["inputs"], given.get("num_trials"))
    found = psylang.compile(model, numerics="exact").run(inputs=inputs, trials=trials)
    before = len(composition.results)
    composition.run(**given)
    for row, wanted in zip(results_of(model, found), composition.results[before:], strict=True):
        for port, other in zip(row, wanted, strict=True):
            np.testing.assert_allclose(port, np.ravel(other), rtol=ALLOWED)


@pytest.mark.parametrize("name", NAMES)
def test_a_run_goes_on_where_the_construction_ended(name: str) -> None:
    import psyneulink

    goes_on(*EVERY[name](psyneulink))


def layer(pnl: Any, **given: Any) -> tuple[Any, dict[str, Any]]:
    node = pnl.TransferMechanism(
        name="layer", input_shapes=2, integrator_mode=True, noise=pnl.NormalDist(), **given
    )
    return pnl.Composition(nodes=[node]), {"inputs": {node: stimuli(2, 5)}}


def test_a_run_goes_on_after_runs_of_psyneulink() -> None:
    import psyneulink as pnl

    composition, given = layer(pnl, reset_stateful_function_when=pnl.AtTrialStart())
    composition.run(**given)
    goes_on(composition, given)
    goes_on(composition, given)


def test_states_of_an_earlier_run_are_refused() -> None:
    import psyneulink as pnl

    composition, given = layer(pnl)
    composition.run(**given)
    with pytest.raises(psylang.NotImportedError, match="an earlier run has left its state in lay"):
        from_psyneulink(composition, live=True)
    assert from_psyneulink(composition)


def test_counts_of_earlier_runs_are_refused() -> None:
    import psyneulink as pnl

    for of_life in (False, True):
        composition, given = layer(pnl, reset_stateful_function_when=pnl.AtTrialStart())
        node, other = composition.nodes[0], pnl.ProcessingMechanism(name="other")
        composition.add_node(other)
        counted = pnl.Not(pnl.AfterNCalls(other, 3, pnl.TimeScale.LIFE))
        condition = pnl.Any(counted if of_life else pnl.AtRun(0), pnl.AtPass(0))
        composition.scheduler.add_condition(node, condition)
        composition.run(**given)
        with pytest.raises(psylang.NotImportedError, match="an earlier run is counted"):
            from_psyneulink(composition, live=True)


def test_what_an_earlier_run_chose_is_refused() -> None:
    import psyneulink

    composition, given = EVERY["control_of_a_gain"](psyneulink)
    composition.run(**given)
    with pytest.raises(psylang.NotImportedError, match="left the values that its control chose"):
        from_psyneulink(composition, live=True)


@pytest.mark.parametrize("name", ["estimates_of_two"])
def test_generators_that_begin_anew_are_refused(name: str) -> None:
    import psyneulink

    composition, _ = EVERY[name](psyneulink)
    with pytest.raises(psylang.NotImportedError, match="begins generators anew; an import without"):
        from_psyneulink(composition, live=True)


def test_functions_that_draw_by_turns_are_refused() -> None:
    import psyneulink as pnl

    nodes = [
        pnl.ProcessingMechanism(name=f"drawn{k}", function=pnl.UserDefinedFunction(shaken))
        for k in range(2)
    ]
    with pytest.raises(psylang.NotImportedError, match="shares a generator with another one"):
        from_psyneulink(pnl.Composition(nodes=nodes), live=True)


def shaken(variable: Any) -> Any:
    return variable + np.random.normal()
