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
# Arguments that change neither inputs nor results.
SOFT_CLAMP = "soft_clamp"  # PsyNeuLink's default: inputs are added to what arrives otherwise.
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
    bound = inspect.signature(run).bind(*data, **named).arguments
    given = {**bound.pop("kwargs", {}), **bound}
    given.pop("self", None)
    wrong = [
        name
        for name, value in given.items()
        if name not in (*TAKEN, *WITHOUT_EFFECT)
        and not name.startswith("report_")
        and value is not None
        and (name, value) != ("clamp_input", SOFT_CLAMP)
    ]
    if wrong:
        raise ModelError(
            f"the script gives run() {', '.join(wrong)}; of its arguments {', '.join(TAKEN)} are "
            "supported: guard the call by `if __name__ == '__main__':`, and give --input and "
            "--trials"
        )
    return {name: given[name] for name in TAKEN if given.get(name) is not None}
