"""Converters of the scheduler's conditions, at the time scale of passes and trials."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from psylang.model import compound, conditions
from psylang.pnl.plain import TRIAL
from psylang.pnl.reading import kind_of
from psylang.pnl.refusals import RefusedError
from psylang.pnl.tables import converter, converts

Node = Callable[[Any], str]  # The name of a component of the composition.


def condition_of(condition: Any, node: Node) -> conditions.Condition:
    """RefusedError: the condition is not imported, or not at the time scale of a trial."""
    scales = [one for one in condition.args if type(one).__name__ == "TimeScale"]
    scales += [getattr(condition, "time_scale", None)]
    for scale in scales:
        if scale is not None and scale.name != TRIAL:
            raise RefusedError(
                f"the condition {kind_of(condition)} counts by {scale.name}",
                "nearest: the same condition at TimeScale.TRIAL",
            )
    made: conditions.Condition = converter("condition", kind_of(condition))(condition, node)
    return made


def _simple(name: str, form: str, write: Callable[..., Any]) -> None:
    converts("condition", name, form)(lambda condition, node: write(*condition.args))


_simple("Always", "Always", conditions.Always)
_simple("Never", "Never", conditions.Never)
_simple("AtPass", "AtPass", lambda n, *_: conditions.AtPass(int(n)))
_simple("BeforePass", "BeforePass", lambda n, *_: conditions.BeforePass(int(n)))
_simple("AfterPass", "AfterPass", lambda n, *_: conditions.AfterPass(int(n)))
_simple("AfterNPasses", "AfterNPasses", lambda n, *_: conditions.AfterNPasses(int(n)))
_simple("EveryNPasses", "EveryNPasses", lambda n, *_: conditions.EveryNPasses(int(n)))
_simple("AtTrialStart", "AtPass(0)", lambda *_: conditions.AtPass(0))


def _of_node(name: str, form: str, write: Callable[..., Any]) -> None:
    converts("condition", name, form)(
        lambda condition, node: write(node(condition.args[0]), *map(int, condition.args[1:2]))
    )


def _at_calls(node: str, n: int) -> conditions.Condition:
    after = compound.Not(conditions.AfterNCalls(node, n + 1))
    return compound.All(conditions.AfterNCalls(node, n), after)


_of_node("AfterNCalls", "AfterNCalls", conditions.AfterNCalls)
_of_node("EveryNCalls", "EveryNCalls", conditions.EveryNCalls)
_of_node("AtNCalls", "All(AfterNCalls, Not(AfterNCalls))", _at_calls)
_of_node(
    "BeforeNCalls",
    "Not(AfterNCalls)",
    lambda node, n: compound.Not(conditions.AfterNCalls(node, n)),
)
_of_node("AfterCall", "AfterNCalls", lambda node, n: conditions.AfterNCalls(node, n + 1))
_of_node("JustRan", "JustRan", conditions.JustRan)
_of_node("WhenFinished", "WhenFinished", conditions.WhenFinished)


@converts("condition", "AllHaveRun", "AllHaveRun")
def _all_have_run(condition: Any, node: Node) -> conditions.Condition:
    return conditions.AllHaveRun(*map(node, condition.args))


def _finished(condition: Any, node: Node) -> list[conditions.Condition]:
    if not condition.args:
        raise RefusedError(f"{kind_of(condition)} names no node", "name the nodes")
    return [conditions.WhenFinished(node(one)) for one in condition.args]


@converts("condition", "WhenFinishedAny", "Any(WhenFinished)")
def _finished_any(condition: Any, node: Node) -> conditions.Condition:
    return compound.Any(*_finished(condition, node))


@converts("condition", "WhenFinishedAll", "All(WhenFinished)")
def _finished_all(condition: Any, node: Node) -> conditions.Condition:
    return compound.All(*_finished(condition, node))


@converts("condition", "All", "All")
def _all(condition: Any, node: Node) -> conditions.Condition:
    return compound.All(*(condition_of(one, node) for one in condition.args))


@converts("condition", "Any", "Any")
def _any(condition: Any, node: Node) -> conditions.Condition:
    return compound.Any(*(condition_of(one, node) for one in condition.args))


@converts("condition", "Not", "Not")
def _not(condition: Any, node: Node) -> conditions.Condition:
    return compound.Not(condition_of(condition.args[0], node))
