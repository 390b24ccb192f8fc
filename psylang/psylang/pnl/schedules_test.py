"""Every condition against PsyNeuLink's own scheduler, on random graphs.

Only where PsyNeuLink 0.21 is installed (`./dev test --psylang-full`). Graphs that PsyNeuLink itself
cannot run, or runs by chance, are counted apart.
"""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from psylang.ir.interpret import interpret
from psylang.pnl import NotImportedError, from_psyneulink, restart, results_of, run_arguments
from psylang.pnl.pnl_fixture import needs_psyneulink
from psylang.pnl.schedules_fixture import Built, Each, Maker
from psylang.pnl.tables import TABLES

ALLOWED = 1e-12
# What is refused: conditions that PsyNeuLink decides by chance, counts differently in parts, or
# cannot evaluate.
REFUSED = ("by chance", "NWhen is part of", "TimeInterval with `repeat` ends", "within Not")


def compared(seed: int, timed: bool, of: Callable[[Maker], Built]) -> str:
    """Whether a graph is equal, refused, or not run by PsyNeuLink."""
    import psyneulink

    net, given = of(Maker(psyneulink, seed, timed))
    try:
        model = from_psyneulink(net, termination_processing=given["termination_processing"])
    except NotImportedError as error:
        known = [any(why in str(one) for why in REFUSED) for one in error.refusals]
        return "refused" if all(known) else str(error)
    inputs, trials = run_arguments(net, model, given["inputs"], given["num_trials"])
    restart(net)
    try:
        net.run(**given)
    except IndexError:  # JustRan, before anything ran.
        return "not run"
    found = results_of(model, interpret(model.program("exact"), trials=trials, inputs=inputs))
    shown: Any = {str(node): str(one) for node, one in net.scheduler.conditions.conditions.items()}
    np.testing.assert_allclose(found, np.array(net.results), rtol=ALLOWED, err_msg=str(shown))
    return "equal"


@needs_psyneulink
def test_each_condition_runs_its_node_as_in_psyneulink() -> None:
    import psyneulink

    each = Each(psyneulink)
    assert set(each.conditions) == set(TABLES["condition"])
    net, given = each.composition()
    model = from_psyneulink(net, termination_processing=given["termination_processing"])
    inputs, trials = run_arguments(net, model, given["inputs"], given["num_trials"])
    net.run(**given)
    found = results_of(model, interpret(model.program("exact"), trials=trials, inputs=inputs))
    wanted = np.array(net.results)
    np.testing.assert_allclose(found, wanted, rtol=ALLOWED)
    # A condition that holds always, or never, would tell nothing.
    assert len({row.tobytes() for row in wanted.swapaxes(0, 1)}) > 12


@needs_psyneulink
@pytest.mark.slow
@pytest.mark.parametrize(
    ("seeds", "timed", "of", "least"),
    [
        (range(0, 40), False, Maker.composition, 12),
        (range(1000, 1020), True, Maker.composition, 5),
        (range(2000, 2020), False, Maker.nested, 3),
    ],
    ids=["conditions", "time", "nested"],
)
def test_random_graphs_run_as_in_psyneulink(
    seeds: range, timed: bool, of: Callable[[Maker], Built], least: int
) -> None:
    counts = collections.Counter(compared(seed, timed, of) for seed in seeds)
    assert set(counts) <= {"equal", "refused", "not run"}, counts
    assert counts["equal"] >= least, counts
