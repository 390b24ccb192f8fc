"""A live import: generators go on from where PsyNeuLink's are, so that nothing need be restarted.

PsyNeuLink keeps the state of each generator by context. The first run of a composition copies that
of the default context, from which its construction has drawn; a later one goes on from the state in
the composition's own context. Other states of an earlier run are not imported: what is not reset
when a run or a trial begins is refused if such a run has left it changed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from psylang.ir.seeds import Begun
from psylang.model import GridSearch
from psylang.pnl.along import WHEN, Given
from psylang.pnl.reading import begins_as_built, kind_of
from psylang.pnl.refusals import RefusedError

OF_RUNS = ("AtRun", "AfterRun", "AfterNRuns", "AtRunNStart")


class Live:
    """The generators and states of a composition in its context."""

    def __init__(self, composition: Any, given: Given) -> None:
        self._given = [*(given.termination_processing or {}).values()]
        for parameters in given.runtime_params.values():
            self._given += [one[1] for one in parameters.values() if isinstance(one, tuple)]
        self._context = composition.default_execution_id
        self._has_run = len(composition.results) > 0
        self._generators: set[int] = set()

    def begun(self, component: Any, seed: int) -> Begun:
        """The seed of a component of PsyNeuLink, with its generator's state."""
        parameter = component.parameters.random_state
        generator = self._now(parameter)
        if getattr(generator, "used_seed", None) != [self._seed(component, seed)]:
            generator = np.random.RandomState([seed])  # As PsyNeuLink makes it at the next draw.
        return _begun(seed, generator)

    def of_modeller(self, generator: np.random.RandomState, seed: int) -> Begun:
        """The seed of a user-defined function, with the state of its generator."""
        if id(generator) in self._generators:
            raise RefusedError(
                "its function shares a generator with another one, which draw by turns",
                "a generator for each function, or an import without live=True",
            )
        self._generators.add(id(generator))
        return _begun(seed, generator)

    def refuse_progress(self, node: Any) -> None:
        """RefusedError: an earlier run left a state that the next one begins with."""
        if not begins_as_built(node):
            return
        for part in (node.function, getattr(node, "integrator_function", None)):
            kept = getattr(part, "stateful_parameter", None)
            for parameter in getattr(part, "parameters", ()):
                named = parameter.name.startswith("previous_") or parameter.name == kept
                if named and self._differs(parameter):
                    self._refuse(node, "its state")
        if hasattr(node, "recurrent_projection") and self._differs(
            node.recurrent_projection.sender.parameters.value
        ):
            self._refuse(node, "the value that it sends to itself")

    def refuse_sent(self, port: Any) -> None:
        """RefusedError: an earlier run left the value of a port, which is read at first."""
        if begins_as_built(port.owner) and self._differs(port.parameters.value):
            self._refuse(port.owner, f"the value of {port.name}, which is read before it runs")

    def refuse_counts(self, composition: Any) -> None:
        """RefusedError: it has run, and its conditions count runs, or it has control, which keeps
        what it chose."""
        if not self._has_run:
            return
        scheduler = composition.scheduler
        conditions = [
            *self._given,
            *scheduler.conditions.conditions.values(),
            *scheduler.termination_conds.values(),
            *(getattr(one, WHEN) for one in composition.nodes if hasattr(one, WHEN)),
        ]
        if any(_counts_runs(one) for one in conditions):
            raise RefusedError(
                "an earlier run is counted by its conditions, and a model is the first run",
                "an import before the first run, or conditions that count trials of the run",
            )
        nodes = [composition.controller, *composition.nodes]
        if any(hasattr(one, "control_signals") for one in nodes):
            raise RefusedError(
                "an earlier run has left the values that its control chose",
                "an import before the first run",
            )

    @staticmethod
    def refuse_reseeding(search: GridSearch) -> None:
        """RefusedError: a controller's estimates seed generators anew."""
        if search.reseeding is not None:
            raise RefusedError(
                "its controller has num_estimates, which begins generators anew",
                "an import without live=True, and psylang.pnl.restart()",
            )

    def _refuse(self, node: Any, what: str) -> None:
        raise RefusedError(
            f"an earlier run has left {what} in {node.name}",
            "set its reset_stateful_function_when=AtRunStart(), or import before the first run",
        )

    def _differs(self, parameter: Any) -> bool:
        """Returns whether the composition's context has another value than the default one."""
        kept = parameter.values.get(self._context)
        if kept is None:
            return False
        base = parameter.values.get(None)
        return not np.array_equal(np.ravel(kept), np.ravel(base))

    def _now(self, parameter: Any) -> Any:
        found = parameter.values.get(self._context)
        return parameter.values.get(None) if found is None else found

    def _seed(self, component: Any, seed: int) -> int:
        kept = self._now(component.parameters.seed)
        return seed if kept is None else int(np.ravel(kept)[0])


def _counts_runs(condition: Any) -> bool:
    """Returns whether a condition, or a part of it, counts runs, or since before the run."""
    scales = (*condition.args, getattr(condition, "time_scale", None))
    if kind_of(condition) in OF_RUNS or any(getattr(one, "name", "") == "LIFE" for one in scales):
        return True
    return any(_counts_runs(one) for one in condition.args if hasattr(one, "is_satisfied"))


def _begun(seed: int, generator: np.random.RandomState) -> Begun:
    state: Any = generator.get_state(legacy=True)
    return Begun(seed, state)


__all__ = ["Live"]
