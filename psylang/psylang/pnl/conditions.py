"""Converters of the scheduler's conditions, at all of its time scales.

A model is one run, the first of its composition: counts of TimeScale.LIFE are those of the run, and
the number of the run is 0. PsyNeuLink zeroes calls of TimeScale.TIME_STEP with each pass, not with
each step; so do we.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from psylang.model import compound, conditions
from psylang.model.conditions import Scale
from psylang.pnl.asking import Passing, Place, asked_of
from psylang.pnl.reading import kind_of
from psylang.pnl.refusals import RefusedError
from psylang.pnl.tables import converter, converts
from psylang.pnl.timing import Timed

SCALES: dict[str, Scale] = {
    "CONSIDERATION_SET_EXECUTION": "pass",
    "PASS": "pass",
    "ENVIRONMENT_STATE_UPDATE": "trial",
    "ENVIRONMENT_SEQUENCE": "run",
    "LIFE": "run",
}

# graph_scheduler's names of PsyNeuLink's classes, which AtTrialNStart has within.
OWN = {"AtEnvironmentStateUpdate": "AtTrial", "AtEnvironmentSequence": "AtRun"}


@dataclass(frozen=True)
class Here:
    """The composition that a condition belongs to. node: the name of one of its nodes. place: the
    node and the port of the model that have the value of a mechanism, or of an output port. timed:
    the composition's time."""

    node: Callable[[Any], str]
    place: Callable[[Any], Place]
    timed: Timed


def condition_of(condition: Any, here: Here, inner: bool = False) -> conditions.Condition:
    """RefusedError: the condition is not imported, or not at its time scale. inner: it is part of
    another condition."""
    if inner and kind_of(condition) == "NWhen":
        raise RefusedError(
            "NWhen is part of another condition, which decides how often PsyNeuLink counts it",
            "nearest: NWhen as the whole condition of the node",
        )
    kind = kind_of(condition)
    made: conditions.Condition = converter("condition", OWN.get(kind, kind))(condition, here)
    return made


def _scale(condition: Any) -> Scale:
    """The time scale since whose beginning a condition counts."""
    given = [one for one in condition.args if type(one).__name__ == "TimeScale"]
    given += [getattr(condition, "time_scale", None)]
    given += [inspect.getclosurevars(condition.func).nonlocals.get("time_scale")]
    (scale, *_) = [one for one in given if one is not None] or [None]
    return SCALES[scale.name] if scale is not None else "trial"


def _of_time(name: str, form: str, write: Callable[..., Any], note: str = "") -> None:
    def convert(condition: Any, here: Here) -> conditions.Condition:
        scale = _scale(condition)
        if scale == "pass":
            raise RefusedError(
                f"{kind_of(condition)} counts within a pass, which PsyNeuLink's clock does not",
                "nearest: TimeScale.TRIAL",
            )
        made: conditions.Condition = write(int(condition.args[0]), scale)
        return made

    converts("condition", name, form, note)(convert)


def _simple(name: str, form: str, write: Callable[..., Any], note: str = "") -> None:
    converts("condition", name, form, note)(lambda condition, here: write(*condition.args))


_simple("Always", "Always", conditions.Always)
_simple("Never", "Never", conditions.Never)
_of_time("AtPass", "AtPass", conditions.AtPass)
_of_time("BeforePass", "BeforePass", conditions.BeforePass)
_of_time("AfterPass", "AfterPass", conditions.AfterPass)
_of_time("AfterNPasses", "AfterNPasses", conditions.AfterNPasses)
_of_time("EveryNPasses", "EveryNPasses", conditions.EveryNPasses)
_of_time("AtTimeStep", "AtStep", conditions.AtStep)
_of_time("BeforeTimeStep", "BeforeStep", conditions.BeforeStep)
_of_time("AfterTimeStep", "AfterStep", conditions.AfterStep)
_of_time("AfterNTimeSteps", "AfterNSteps", conditions.AfterNSteps)
_simple("AtTrial", "AtTrial", lambda n, *_: conditions.AtTrial(int(n)))
_simple("BeforeTrial", "BeforeTrial", lambda n, *_: conditions.BeforeTrial(int(n)))
_simple("AfterTrial", "AfterTrial", lambda n, *_: conditions.AfterTrial(int(n)))
_simple("AfterNTrials", "AfterNTrials", lambda n, *_: conditions.AfterNTrials(int(n)))
_simple("AtRunStart", "AtTrial(0)", lambda *_: conditions.AtTrial(0))
_simple("AtTrialStart", "AtPass(0)", lambda *_: conditions.AtPass(0))


def _run(name: str, form: str, holds: Callable[[int], bool]) -> None:
    _simple(
        name,
        form,
        lambda n, *_: conditions.Always() if holds(int(n)) else conditions.Never(),
        "a model is run 0",
    )


_run("AtRun", "Always, Never", lambda n: n == 0)
_run("AfterRun", "Always, Never", lambda n: n < 0)
_run("AfterNRuns", "Always, Never", lambda n: n <= 0)


def _of_calls(name: str, form: str, write: Callable[[str, int, Scale], Any]) -> None:
    converts("condition", name, form)(
        lambda condition, here: write(
            here.node(condition.args[0]), int(condition.args[1]), _scale(condition)
        )
    )


def _before(node: str, n: int, scale: Scale) -> conditions.Condition:
    return compound.Not(conditions.AfterNCalls(node, n, scale))


def _at_calls(node: str, n: int, scale: Scale) -> conditions.Condition:
    return compound.All(conditions.AfterNCalls(node, n, scale), _before(node, n + 1, scale))


_of_calls("AfterNCalls", "AfterNCalls", conditions.AfterNCalls)
_of_calls("AtNCalls", "All(AfterNCalls, Not(AfterNCalls))", _at_calls)
_of_calls("BeforeNCalls", "Not(AfterNCalls)", _before)
_of_calls(
    "AfterCall",
    "AfterNCalls",
    lambda node, n, scale: conditions.AfterNCalls(node, n + 1, scale),
)


def _of_node(name: str, form: str, write: Callable[..., Any]) -> None:
    converts("condition", name, form)(
        lambda condition, here: write(here.node(condition.args[0]), *map(int, condition.args[1:2]))
    )


_of_node("EveryNCalls", "EveryNCalls", conditions.EveryNCalls)
_of_node("JustRan", "JustRan", conditions.JustRan)
_of_node("WhenFinished", "WhenFinished", conditions.WhenFinished)


@converts("condition", "AllHaveRun", "AllHaveRun")
def _all_have_run(condition: Any, here: Here) -> conditions.Condition:
    return conditions.AllHaveRun(*map(here.node, condition.args), scale=_scale(condition))


@converts("condition", "AfterNCallsCombined", "AfterNCallsCombined")
def _combined(condition: Any, here: Here) -> conditions.Condition:
    count = condition.kwargs["n"]
    if count is None:
        raise RefusedError("AfterNCallsCombined has no n", "give it n=…")
    return conditions.AfterNCallsCombined(
        *map(here.node, condition.args), n=int(count), scale=_scale(condition)
    )


def _finished(condition: Any, here: Here) -> list[conditions.Condition]:
    if not condition.args:
        raise RefusedError(f"{kind_of(condition)} names no node", "name the nodes")
    return [conditions.WhenFinished(here.node(one)) for one in condition.args]


@converts("condition", "WhenFinishedAny", "Any(WhenFinished)")
def _finished_any(condition: Any, here: Here) -> conditions.Condition:
    return compound.Any(*_finished(condition, here))


@converts("condition", "WhenFinishedAll", "All(WhenFinished)")
def _finished_all(condition: Any, here: Here) -> conditions.Condition:
    return compound.All(*_finished(condition, here))


# Conditions of conditions.


def _parts(condition: Any, here: Here) -> Sequence[conditions.Condition]:
    return [condition_of(one, here, True) for one in condition.args]


for _name in ("All", "And", "AtTrialNStart", "AtRunNStart"):
    converts("condition", _name, "All")(
        lambda condition, here: compound.All(*_parts(condition, here))
    )
for _name in ("Any", "Or"):
    converts("condition", _name, "Any")(
        lambda condition, here: compound.Any(*_parts(condition, here))
    )


@converts("condition", "Not", "Not")
def _not(condition: Any, here: Here) -> conditions.Condition:
    return compound.Not(*_parts(condition, here)[:1])


@converts("condition", "NWhen", "NWhen", "as the whole condition of a node")
def _n_when(condition: Any, here: Here) -> conditions.Condition:
    inner, n = condition.args
    if int(n) < 1:
        return conditions.Never()
    return compound.NWhen(condition_of(inner, here, True), int(n), "run")


# Conditions on values, and on time.


def _while(condition: Any, here: Here, python: Any) -> compound.While:
    ask, places = asked_of(python, condition.args, condition.kwargs, here.place)
    return compound.While(ask, *(one.node for one in places), ports=[one.port for one in places])


for _name in ("While", "Condition"):
    converts(
        "condition",
        _name,
        "While",
        "values of mechanisms and output ports, in what @function takes",
    )(lambda condition, here: _while(condition, here, condition.func))


@converts("condition", "WhileNot", "Not(While)", "as While")
def _while_not(condition: Any, here: Here) -> conditions.Condition:
    python = inspect.getclosurevars(condition.func).nonlocals["func"]
    return compound.Not(_while(condition, here, python))


@converts("condition", "Threshold", "While", "of a value")
def _threshold(condition: Any, here: Here) -> conditions.Condition:
    if condition.parameter != "value":
        raise RefusedError(
            f"Threshold compares `{condition.parameter}` of {condition.dependency.name}",
            "nearest: its value, AfterNCalls, or While",
        )
    place = here.place(condition.dependency)
    return compound.While(Passing.of(condition, place), place.node, ports=[place.port])


@converts("condition", "TimeInterval", "the time of the schedule", "units of powers of ten")
def _time_interval(condition: Any, here: Here) -> conditions.Condition:
    return here.timed.interval(condition)


@converts("condition", "TimeTermination", "the time of the schedule", "units of powers of ten")
def _time_termination(condition: Any, here: Here) -> conditions.Condition:
    return here.timed.termination(condition)
