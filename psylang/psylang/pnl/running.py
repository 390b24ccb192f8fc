"""The arguments and the results of a composition's run(), as PsyNeuLink has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psylang.model.errors import ModelError
from psylang.pnl.importer import ImportedModel

Arrays = dict[str, NDArray[np.float64]]


def run_arguments(
    composition: Any, model: ImportedModel, inputs: Any = None, num_trials: int | None = None
) -> tuple[Arrays, int]:
    """The inputs and the number of trials for Plan.run(), from those of PsyNeuLink's run().

    inputs: every form that PsyNeuLink accepts: a dictionary, a list, a function of the trial's
    number, a generator. Fewer rows than trials are repeated from the first on. The run may
    end earlier by the composition's own condition. ModelError:
    num_trials is missing for a function or a generator, or is not above 0. ModelChangedError: the
    composition is no longer what was imported.
    """
    model.check_source()
    try:
        parsed, sets = composition._parse_run_inputs(inputs)
    except Exception as error:
        if not type(error).__module__.startswith("psyneulink"):
            raise
        raise ModelError(f"inputs of {composition.name}: {error}") from error
    if num_trials is None and not isinstance(parsed, Mapping):
        raise ModelError("inputs by a function or a generator need num_trials")
    trials = int(sets if num_trials is None else num_trials)
    if trials < 1:
        raise ModelError(f"num_trials is {trials}; it must be above 0")
    trials = min(trials, model.trials_most or trials)
    if isinstance(parsed, Mapping):
        rows: Any = [{node: given[t] for node, given in parsed.items()} for t in range(sets)]
    else:
        rows = [composition._parse_trial_inputs(parsed, t, None) for t in range(trials)]
    named = [{node.name: given for node, given in row.items()} for row in rows]
    made: Arrays = {}
    for entry in model.entries:
        column = [_given(row, entry.node, entry.place, entry.default) for row in named]
        column = [column[t % len(column)] for t in range(trials)]
        made[entry.input] = np.array(column).reshape(trials, *model.externals[entry.input].shape)
    return made, trials


def _given(row: Mapping[str, Any], node: str, place: int, default: tuple[float, ...]) -> Any:
    """The value of an input port in a trial."""
    return np.ravel(row[node][place] if node in row else default).astype(np.float64)


def results_of(model: ImportedModel, results: Mapping[str, Any]) -> NDArray[Any]:
    """Results of Plan.run() as the attribute `results` of a composition has them: for each trial
    its output ports, for each port its elements; an array of objects if sizes differ."""
    columns = [np.asarray(results[name], dtype=np.float64) for name in model.results]
    columns = [one.reshape(len(one), -1) for one in columns]
    if len({one.shape[1] for one in columns}) == 1:
        return np.stack(columns, axis=1)
    made = np.empty((len(columns[0]), len(columns)), dtype=object)
    for port, column in enumerate(columns):
        for trial, row in enumerate(column):
            made[trial, port] = row
    return made
