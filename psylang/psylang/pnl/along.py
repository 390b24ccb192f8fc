"""What the arguments of a composition's run() change: resets, and parameters for some calls.

    composition.run(inputs=…, runtime_params={a: {"slope": (2.0, AfterTrial(5))}},
                    reset_stateful_functions_when={b: AtTrial(3)},
                    reset_stateful_functions_to={b: 0.5},
                    initialize_cycle_values={c: [[0.5]]})

PsyNeuLink decides resets when a trial begins, and parameters at each call of a mechanism.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psylang.model import course
from psylang.model.composition import Model
from psylang.model.decision import DDM
from psylang.model.errors import ModelError
from psylang.model.mechanism import Mechanism, Transfer
from psylang.pnl.conditions import Here, condition_of
from psylang.pnl.reading import AS_BUILT, Paths, kind_of, value_of
from psylang.pnl.refusals import RefusedError

DICTIONARIES = {
    "runtime_params": '{mechanism: {"slope": 2.0}}',
    "reset_stateful_functions_to": "{mechanism: [[0.5, 0.5]]}",
    "initialize_cycle_values": "{mechanism: [[0.5, 0.5]]}",
}
CONTROLLED = "a controller simulates it, with a clock of its own"


@dataclass(frozen=True)
class Given:
    """Arguments of run(), by PsyNeuLink's names."""

    termination_processing: Any = None
    runtime_params: Mapping[Any, Mapping[str, Any]] = field(default_factory=dict)
    reset_stateful_functions_when: Any = None
    reset_stateful_functions_to: Mapping[Any, Any] = field(default_factory=dict)
    initialize_cycle_values: Mapping[Any, Any] = field(default_factory=dict)

    @staticmethod
    def of(**given: Any) -> Given:
        """Those that are not None. ModelError: one is no dictionary, and must be one."""
        chosen = {name: one for name, one in given.items() if one is not None}
        for name, form in DICTIONARIES.items():
            tables = [chosen[name]] if name in chosen else []
            if name == "runtime_params" and tables and isinstance(tables[0], Mapping):
                tables += tables[0].values()
            for one in tables:
                if not isinstance(one, Mapping):
                    raise ModelError(f"{name} has {one!r}; give a dictionary: {form}")
        return Given(**chosen)

    @contextmanager
    def resetting(self, composition: Any) -> Iterator[None]:
        """Within this context mechanisms have the conditions of the run, as in run() itself.

        ModelError: they are of another form than PsyNeuLink's."""
        when = self.reset_stateful_functions_when
        before: list[tuple[Any, Any]] = []
        if isinstance(when, Mapping):
            chosen = list(when.items())
        elif when is None or hasattr(when, "is_satisfied"):
            nodes = [one for one in composition.nodes if hasattr(one, WHEN)]
            chosen = [(one, when) for one in nodes if kind_of(getattr(one, WHEN)) == "Never"]
        else:
            chosen = [(when, None)]
        if any(
            not hasattr(one, WHEN) or not hasattr(c, "is_satisfied") for one, c in chosen if when
        ):
            raise ModelError(
                "reset_stateful_functions_when takes a condition, or mechanisms with conditions"
            )
        try:
            for node, condition in chosen if when else ():
                before.append((node, getattr(node, WHEN)))
                setattr(node, WHEN, condition)
            yield
        finally:
            for node, condition in before:
                setattr(node, WHEN, condition)

    def starts(self) -> dict[int, Any]:
        """By the identity of a mechanism, the state with which it begins."""
        made = {}
        for node, given in self.reset_stateful_functions_to.items():
            values = list(np.atleast_1d(np.array(given, dtype=object)))
            what = f"reset_stateful_functions_to of {getattr(node, 'name', node)}"
            if isinstance(given, Mapping) or len(values) != 1:
                raise ModelError(f"{what} is {given!r}; give a list of its one state: [[0.5, 0.5]]")
            made[id(node)] = np.ravel(_numbers(what, values[0]))
        return made

    def refuse_strangers(self, composition: Any) -> None:
        """ModelError: initialize_cycle_values has a mechanism of another composition."""
        for node in self.initialize_cycle_values:
            if not any(node is one for one in composition.nodes):
                raise ModelError(
                    f"initialize_cycle_values has {getattr(node, 'name', node)!r}, which is no "
                    f"node of {composition.name}; give nodes of it"
                )

    def cyclic(self, composition: Any, node: Any, made: Mechanism) -> Mechanism:
        """A mechanism with the value of initialize_cycle_values. RefusedError: it is not imported.

        PsyNeuLink ignores values of mechanisms that are in no cycle."""
        roles = composition.get_roles_by_node(node) if node in composition.nodes else ()
        names = {getattr(one, "name", "") for one in roles}
        if node not in self.initialize_cycle_values or not names & {"CYCLE", "FEEDBACK_SENDER"}:
            return made
        value = self.initialize_cycle_values[node]
        if isinstance(value, str) and value.lower() == "default":
            value = node.defaults.value
        begins = np.ravel(_numbers(f"initialize_cycle_values of {node.name}", value))
        if not isinstance(made, Transfer) or made.until is not None or made.reset != "never":
            raise RefusedError(
                "initialize_cycle_values gives it a value, and it is more than a layer without a "
                "threshold and a reset",
                "a ProcessingMechanism or TransferMechanism",
            )
        if begins.size != made.size:
            raise RefusedError(
                f"initialize_cycle_values has {begins.size} elements for its {made.size}",
                f"{made.size} elements",
            )
        return dataclasses.replace(made, initial_activity=begins)


WHEN = "reset_stateful_function_when"


def resets(model: Model, node: Any, made: Mechanism, here: Here, controlled: bool) -> None:
    """Enters the condition for a mechanism's reset, unless it begins each trial anew, or none.

    RefusedError: what it begins with differs from what a reset gives, or a controller simulates."""
    condition = getattr(node, WHEN, None)
    kind = kind_of(condition)
    if kind in (*AS_BUILT, "AtRunStart", "AtTrialStart", "NoneType"):
        return
    if not value_of(node, "has_initializers"):
        return
    if made.reset != "never":
        raise RefusedError(f"its reset is on {kind}", "AtTrialStart, AtRunStart or Never")
    if controlled:
        raise RefusedError(f"its reset is on {kind}, and {CONTROLLED}", "AtTrialStart")
    if getattr(made, "initial_activity", None) is not None:
        raise RefusedError(
            f"its reset is on {kind}, and it begins with the value that its construction left",
            "AtRunStart, AtTrialStart, or an initial value of 0",
        )
    course.reset_when(model, made.name, condition_of(condition, here))


def overrides(
    model: Model,
    node: Any,
    made: Mechanism,
    given: Mapping[str, Any],
    here: Here,
    paths: Paths,
) -> None:
    """Enters the runtime_params of a mechanism. RefusedError: one is no number of its function, or
    PsyNeuLink does not follow it in all of a call."""
    if isinstance(made, DDM):
        raise RefusedError(
            "runtime_params gives it numbers, which PsyNeuLink ignores in a DDM that steps",
            "leave them out, or a ControlMechanism that sets the parameter",
        )
    for name, one in given.items():
        value, *conditions = one if isinstance(one, tuple) else (one,)
        path = _path(node, name, paths)
        if path is None or isinstance(value, Mapping) or callable(value):
            raise RefusedError(
                f"runtime_params has `{name}`, which is no number of the model",
                "nearest: a number of its function, integrator or noise",
            )
        if ".until." in path or "initial" in path or path == f"{made.name}.threshold":
            raise RefusedError(
                f"runtime_params has `{name}`, and PsyNeuLink takes it back before it compares "
                "the result with a threshold, or resets",
                "the number itself, or a ControlMechanism that sets it",
            )
        array = _numbers(f"`{name}` of runtime_params", value)
        if array.ndim > 1 and array.shape[0] == 1:
            array = array[0]
        if array.size == 1:
            array = array.reshape(())
        condition = condition_of(conditions[0], here) if conditions else None
        course.override(model, made.name, path, array, condition)


def _numbers(what: str, given: Any) -> NDArray[np.float64]:
    """ModelError: it is something else."""
    try:
        return np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise ModelError(f"{what} is {given!r}; give numbers") from None


def _path(node: Any, name: str, paths: Paths) -> str | None:
    """The parameter of the model that a name of runtime_params is."""
    for owner in (node, node.function) if isinstance(name, str) else ():
        parameter = getattr(owner.parameters, name, None)
        if parameter is None:
            continue
        source = parameter.final_source  # Of an alias, or of one that the mechanism shares.
        component = getattr(getattr(source, "_owner", None), "_owner", owner)
        return paths.find(component, getattr(source, "name", name)) or paths.find(owner, name)
    return None


__all__ = ["Given", "overrides", "resets"]
