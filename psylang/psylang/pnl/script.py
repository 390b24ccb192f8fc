"""Scripts that call run() themselves: the call is intercepted, and its arguments are kept."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from psylang.model.errors import ModelError
from psylang.pnl.environment import psyneulink

# Arguments that from_psyneulink() takes, and those of the run.
OF_IMPORT = (
    "termination_processing",
    "runtime_params",
    "reset_stateful_functions_when",
    "reset_stateful_functions_to",
    "initialize_cycle_values",
)
TAKEN = ("inputs", "num_trials", *OF_IMPORT)
SOFT_CLAMP = "soft_clamp"  # PsyNeuLink's default: inputs are added to what arrives otherwise.
# The nearest forms of what is refused.
CLAMPS = {
    "hard_clamp": "a TransferMechanism, which has no recurrence to turn off",
    "no_clamp": "inputs of 0",
    "pulse_clamp": "a ProcessingMechanism before the node, with runtime_params that give it the "
    "slope 0 from its second call on",
}
CALLS = dict.fromkeys(
    ("call_before_trial", "call_after_trial"),
    "plan.run(trials=1, after=results) for each trial, with the call between",
)
CALLS_WITHIN = "output ports of the composition that keep the value until the trial ends"
# Arguments that change neither inputs nor results.
WITHOUT_EFFECT = ("execution_mode", "context", "log", "animate", "skip_analyze_graph")


class HeldError(BaseException):
    """Ends a script where it runs the composition; no `except Exception` of the script catches
    it."""

    def __init__(self, arguments: dict[str, Any]) -> None:
        super().__init__()
        self.arguments = arguments


def executed(script: Callable[[], None], is_wanted: Callable[[Any], bool]) -> dict[str, Any]:
    """Executes a script up to where it runs a wanted composition; the arguments of that run().

    The rest of the script is not executed. Other compositions run as usual. Empty: it runs none.
    """
    try:
        with holding(is_wanted):
            script()
    except HeldError as held:
        return held.arguments
    return {}


@contextmanager
def holding(is_wanted: Callable[[Any], bool]) -> Iterator[None]:
    """Within this context the first run() of a wanted composition raises HeldError; all others
    execute."""
    kind = psyneulink().Composition
    original = kind.run

    def run(self: Any, *data: Any, **named: Any) -> Any:
        if is_wanted(self):
            raise HeldError(_bound(original, self, *data, **named))
        return original(self, *data, **named)

    kind.run = run
    try:
        yield
    finally:
        kind.run = original


def _bound(run: Callable[..., Any], *data: Any, **named: Any) -> dict[str, Any]:
    """ModelError: an argument would change the results, and is not supported."""
    signature = inspect.signature(run)
    bound = signature.bind(*data, **named).arguments
    given = {**bound.pop("kwargs", {}), **bound}
    given.pop("self", None)
    for name, value in given.items():
        usual = getattr(signature.parameters.get(name), "default", None)
        without_effect = name in WITHOUT_EFFECT or name.startswith("report_")
        if name not in TAKEN and not without_effect and _differs(value, usual):
            raise ModelError(
                f"the script gives run() {_why(name, value)}; of its arguments {', '.join(TAKEN)} "
                "are supported: guard the call by `if __name__ == '__main__':`, and give --input "
                "and --trials"
            )
    return {name: given[name] for name in TAKEN if given.get(name) is not None}


def _differs(value: Any, usual: Any) -> bool:
    """Returns whether a value, or one of a node's, has another effect than the default one."""
    if isinstance(value, dict):
        return any(_differs(one, usual) for one in value.values())
    return value is not None and value is not usual and not (type(value) is str and value == usual)


def _why(name: str, value: Any) -> str:
    """An argument, why it is not supported, and the nearest form."""
    if name.startswith("call_"):
        return (
            f"{name}, a function of Python, which compiled trials do not call; nearest: "
            f"{CALLS.get(name, CALLS_WITHIN)}"
        )
    if name == "clamp_input":
        kinds = value.values() if isinstance(value, dict) else (value,)
        kind = next((one for one in kinds if one != SOFT_CLAMP), value)
        return (
            f"clamp_input={kind}, with which PsyNeuLink itself stops but for inputs of one "
            f"element; nearest: {CLAMPS.get(str(kind), 'SOFT_CLAMP')}"
        )
    return name


__all__ = ["OF_IMPORT", "TAKEN", "HeldError", "executed", "holding"]
