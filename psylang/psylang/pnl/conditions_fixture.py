"""Scripts of schedules: conditions of nodes, and ends of trials."""

from __future__ import annotations

from typing import Any

import numpy as np

from psylang.pnl.scripts_fixture import Built, Samples

SAMPLES = Samples()
imported, refused = SAMPLES.imports, SAMPLES.refuses


def _chain(pnl: Any) -> tuple[Any, Any, Any]:
    nodes = [
        pnl.IntegratorMechanism(
            name=name, input_shapes=1, function=pnl.SimpleIntegrator(rate=0.5 + k)
        )
        for k, name in enumerate(("a", "b"))
    ]
    return pnl.Composition(pathways=[nodes]), *nodes


@imported
def every_second_call(pnl: Any) -> Built:
    net, a, b = _chain(pnl)
    net.scheduler.add_condition(b, pnl.EveryNCalls(a, 2))
    return net, {"inputs": {a: [[1.0]]}, "num_trials": 3}


@imported
def ends_at_a_pass(pnl: Any) -> Built:
    net, a, _ = _chain(pnl)
    return net, {
        "inputs": {a: [[1.0], [2.0]]},
        "termination_processing": {pnl.TimeScale.TRIAL: pnl.AfterPass(4)},
    }


@imported
def any_of_conditions(pnl: Any) -> Built:
    net, a, b = _chain(pnl)
    net.scheduler.add_condition(a, pnl.Any(pnl.AtPass(0), pnl.EveryNPasses(3)))
    net.scheduler.add_condition(b, pnl.All(pnl.AfterPass(1), pnl.Not(pnl.AtPass(3))))
    return net, {
        "inputs": {a: [[1.0]]},
        "num_trials": 2,
        "termination_processing": {pnl.TimeScale.TRIAL: pnl.AfterNCalls(b, 3)},
    }


@imported
def just_ran(pnl: Any) -> Built:
    net, a, b = _chain(pnl)
    net.scheduler.add_condition(a, pnl.EveryNPasses(2))
    net.scheduler.add_condition(b, pnl.JustRan(a))
    return net, {
        "inputs": {a: [[1.0]]},
        "termination_processing": {pnl.TimeScale.TRIAL: pnl.AfterNCalls(b, 2)},
    }


@imported
def before_and_at_calls(pnl: Any) -> Built:
    net, a, b = _chain(pnl)
    net.scheduler.add_condition(b, pnl.Any(pnl.AtNCalls(a, 2), pnl.AfterCall(a, 3)))
    return net, {
        "inputs": {a: [[1.0]]},
        "termination_processing": {pnl.TimeScale.TRIAL: pnl.AfterNCalls(b, 3)},
    }


def _chain_until(pnl: Any, condition: Any) -> Built:
    """a → b; condition: of a and b, that of b."""
    net, a, b = _chain(pnl)
    net.scheduler.add_condition(b, condition(a, b))
    return net, {
        "inputs": {a: [[1.0], [0.5]]},
        "num_trials": 4,
        "termination_processing": {pnl.TimeScale.TRIAL: pnl.AfterNPasses(4)},
    }


@imported
def always_true(pnl: Any) -> Built:
    return _chain_until(pnl, lambda a, b: pnl.While(lambda: True))


@imported
def while_a_value_is_small(pnl: Any) -> Built:
    def small(node: Any, most: float) -> bool:
        level = float(np.abs(node.output_ports[0].value[0]))
        return level < most if level > 0.6 else True

    return _chain_until(pnl, lambda a, b: pnl.While(small, a, 1.6))


@imported
def over_a_life(pnl: Any) -> Built:
    return _chain_until(pnl, lambda a, b: pnl.AfterNCalls(a, 5, time_scale=pnl.TimeScale.LIFE))


@imported
def by_its_own_clock(pnl: Any) -> Built:
    return _chain_until(pnl, lambda a, b: pnl.TimeInterval(repeat=3, start=4, end=9))


@refused("its conditions have times in microsecond and millisecond")
def by_two_units(pnl: Any) -> Built:
    return _chain_until(pnl, lambda a, b: pnl.TimeInterval(repeat="500us", start="1ms"))


@refused("uses PsyNeuLink's `scheduler`")
def asks_the_scheduler(pnl: Any) -> Built:
    return _chain_until(pnl, lambda a, b: pnl.While(lambda scheduler: scheduler is not None))


@refused("takes `missing`, which nothing gives")
def asks_for_more(pnl: Any) -> Built:
    return _chain_until(pnl, lambda a, b: pnl.While(lambda missing: missing))


@refused("is not written in Python")
def asks_a_class(pnl: Any) -> Built:
    return _chain_until(pnl, lambda a, b: pnl.While(bool))


@refused("gives several values")
def asks_for_many_values(pnl: Any) -> Built:
    net, a, b = _chain(pnl)
    wide = pnl.TransferMechanism(name="wide", input_shapes=3)
    net.add_node(wide)
    net.scheduler.add_condition(b, pnl.While(lambda: wide.value > 1.0))
    return net, {"inputs": {a: [[1.0]], wide: [[1.0] * 3]}}


@refused("Threshold compares `num_executions` of a")
def asks_for_executions(pnl: Any) -> Built:
    return _chain_until(
        pnl,
        lambda a, b: pnl.Threshold(a, "num_executions", 2, ">=", indices=pnl.TimeScale.TRIAL),
    )


@refused("NWhen is part of another condition")
def counts_within(pnl: Any) -> Built:
    return _chain_until(pnl, lambda a, b: pnl.All(pnl.NWhen(pnl.Always(), 2), pnl.Always()))


@refused("counts within a pass")
def steps_of_a_pass(pnl: Any) -> Built:
    return _chain_until(pnl, lambda a, b: pnl.AfterNTimeSteps(1, pnl.TimeScale.PASS))


@refused("its condition wants a not to have run, which PsyNeuLink may run before")
def decided_by_chance(pnl: Any) -> Built:
    a, b = (pnl.ProcessingMechanism(name=name, input_shapes=1) for name in "ab")
    net = pnl.Composition(nodes=[a, b])
    net.scheduler.add_condition(b, pnl.BeforeNCalls(a, 1))
    return net, {"inputs": {a: [[1.0]], b: [[1.0]]}}


@refused("is within Not, where PsyNeuLink's time stands still")
def time_that_stands_still(pnl: Any) -> Built:
    return _chain_until(pnl, lambda a, b: pnl.Not(pnl.TimeInterval(start=2)))


@refused("TimeInterval with `repeat` ends the trial")
def ends_again_and_again(pnl: Any) -> Built:
    net, a, _ = _chain(pnl)
    ends = {pnl.TimeScale.TRIAL: pnl.TimeInterval(repeat=2)}
    return net, {"inputs": {a: [[1.0]]}, "termination_processing": ends}


@refused("its scheduler is in exact time")
def exact_time(pnl: Any) -> Built:
    net, given = by_its_own_clock(pnl)
    net.scheduler.mode = pnl.SchedulingMode.EXACT_TIME
    return net, given
