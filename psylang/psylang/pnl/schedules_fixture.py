"""Random graphs with random conditions, made from a number, for comparisons with PsyNeuLink.

Each node integrates what it receives, and all nodes are outputs: the values of a trial tell which
nodes ran, how often, and in which order.
"""

from __future__ import annotations

import random
from typing import Any

PASSES = 7  # The most of a trial.
MATRIX = [[0.5, 0.0], [0.0, 0.25]]
Built = tuple[Any, dict[str, Any]]


class Maker:
    """Makes one composition. timed: its conditions may ask for the time."""

    def __init__(self, pnl: Any, seed: int, timed: bool = False) -> None:
        self.pnl, self.random, self.timed = pnl, random.Random(seed), timed
        self.seed = seed

    def one_of(self, things: Any) -> Any:
        return self.random.choice(list(things))

    def composition(self) -> Built:
        """A composition, and the arguments of its run()."""
        made, sources, ends = self.filled("net")
        return made, self.arguments(sources, ends)

    def nested(self) -> Built:
        """A composition with a composition among its nodes, each with conditions of its own."""
        pnl, (inner, sources, ends) = self.pnl, self.filled("inner")
        inner.scheduler.termination_conds = {pnl.TimeScale.TRIAL: ends}
        first, last = self.node("first", 0), self.node("last", 1)
        made = pnl.Composition(name="outer")
        for one in (first, inner, last):
            made.add_node(one, required_roles=pnl.NodeRole.OUTPUT)
        for one in sources:
            made.add_projection(pnl.MappingProjection(matrix=MATRIX), first, one)
        sent = self.one_of([one for one in inner.nodes if "steady" not in one.name])
        made.add_projection(pnl.MappingProjection(matrix=MATRIX), sent, last)
        made._analyze_graph()
        for one in made.nodes:
            if self.random.random() < 0.6:
                made.scheduler.add_condition(one, self.condition([first, last], 1, one))
        limit = pnl.AfterNPasses(self.random.randint(1, 4))
        return made, self.arguments([first], pnl.Any(pnl.AfterNCalls(last, 2), limit))

    def arguments(self, sources: Any, ends: Any) -> dict[str, Any]:
        return {
            "inputs": {
                node: [[k + 1.0, 9.0], [3.0, 4.0], [5.0, 6.0]] for k, node in enumerate(sources)
            },
            "num_trials": 4,
            "termination_processing": {self.pnl.TimeScale.TRIAL: ends},
        }

    def filled(self, name: str) -> tuple[Any, list[Any], Any]:
        """A composition, the nodes that take inputs, and when its trials end."""
        pnl, count = self.pnl, self.random.randint(2, 5)
        nodes = [self.node(f"{name}_{k}", k) for k in range(count)]
        made = pnl.Composition(name=name)
        for node in nodes:
            made.add_node(node, required_roles=pnl.NodeRole.OUTPUT)
        sources, steady = [], pnl.TransferMechanism(name=f"{name}_steady", input_shapes=2)
        for k, receiver in enumerate(nodes):
            senders = [one for one in nodes[:k] if self.random.random() < 0.5]
            if not senders:
                sources.append(receiver)
                continue
            for sender in senders:
                made.add_projection(pnl.MappingProjection(matrix=MATRIX), sender, receiver)
            if steady not in made.nodes:
                made.add_node(steady)
                sources.append(steady)
            made.add_projection(pnl.MappingProjection(matrix=MATRIX), steady, receiver)
        made._analyze_graph()
        for node in nodes:
            if self.random.random() < 0.7:
                made.scheduler.add_condition(node, self.condition(nodes, 2, node))
        last = pnl.AfterNPasses(self.random.randint(1, PASSES))
        return made, sources, pnl.Any(self.condition(nodes, 1, None), last)

    def node(self, name: str, number: int) -> Any:
        """An integrator without a criterion of being finished, or a mechanism that has one."""
        pnl = self.pnl
        function = pnl.SimpleIntegrator(rate=0.1 + 0.01 * number)
        if self.random.random() < 0.5:
            return pnl.IntegratorMechanism(name=name, input_shapes=2, function=function)
        return pnl.TransferMechanism(
            name=name,
            input_shapes=2,
            integrator_mode=True,
            integrator_function=function,
            execute_until_finished=False,
            termination_threshold=self.random.uniform(1.0, 6.0),
            termination_measure=max,
            termination_comparison_op=">=",
        )

    # Conditions.

    def condition(self, nodes: Any, depth: int, owner: Any) -> Any:
        """owner: the node whose condition it is; None: the end of a trial."""
        pnl, kind = self.pnl, self.random.random()
        if depth and kind < 0.35:
            inner = [self.condition(nodes, depth - 1, owner) for _ in range(2)]
            match self.random.randint(0, 3):
                case 0:
                    return pnl.Not(inner[0])
                case 1:
                    return pnl.All(*inner)
                case 2:
                    return pnl.Any(*inner)
                case _ if owner is not None and depth == 2:
                    return pnl.NWhen(inner[0], self.random.randint(1, 3))
                case _:
                    return pnl.And(*inner)
        if self.timed and kind < 0.75:
            return self.of_time(owner)
        return self.leaf(nodes, owner)

    def leaf(self, nodes: Any, owner: Any) -> Any:
        pnl, n = self.pnl, self.random.randint(0, 3)
        scales = [pnl.TimeScale.TRIAL, pnl.TimeScale.RUN, pnl.TimeScale.LIFE]
        scale = self.one_of([scales[0], *scales])
        counted = self.one_of([*scales, pnl.TimeScale.PASS, pnl.TimeScale.TIME_STEP])
        node = self.one_of(nodes)
        many = self.random.sample(nodes, 2)
        bound = self.random.uniform(0.0, 6.0)
        leaves = [
            lambda: pnl.Always(),
            lambda: pnl.Never(),
            lambda: pnl.AtPass(n, scale),
            lambda: pnl.BeforePass(n, scale),
            lambda: pnl.AfterPass(n, scale),
            lambda: pnl.AfterNPasses(n, scale),
            lambda: pnl.EveryNPasses(n + 1, scale),
            lambda: pnl.AtTimeStep(n, scale),
            lambda: pnl.BeforeTimeStep(n, scale),
            lambda: pnl.AfterTimeStep(n, scale),
            lambda: pnl.AfterNTimeSteps(n, scale),
            lambda: pnl.AtTrial(n),
            lambda: pnl.BeforeTrial(n),
            lambda: pnl.AfterTrial(n),
            lambda: pnl.AfterNTrials(n),
            lambda: pnl.AtTrialStart(),
            lambda: pnl.AtTrialNStart(n),
            lambda: pnl.AtRunStart(),
            lambda: pnl.AtRunNStart(n),
            lambda: pnl.AtRun(n),
            lambda: pnl.AfterRun(n),
            lambda: pnl.AfterNRuns(n),
            lambda: pnl.AfterNCalls(node, n, counted),
            lambda: pnl.AtNCalls(node, n, counted),
            lambda: pnl.AfterCall(node, n, counted),
            lambda: pnl.BeforeNCalls(node, n, counted),
            lambda: pnl.AfterNCallsCombined(*many, n=n + 1, time_scale=counted),
            lambda: pnl.AllHaveRun(*many, time_scale=counted),
            lambda: pnl.AllHaveRun(time_scale=counted),
            lambda: pnl.While(lambda: node.value[0][0] < bound),
            lambda: pnl.While(lambda one: one.output_port.value[0] > bound, node),
            lambda: pnl.WhileNot(
                lambda one, context: one.parameters.value.get(context)[0][0] < bound, node
            ),
            lambda: pnl.Threshold(node, "value", bound, self.one_of(("<", ">=")), indices=(0, 0)),
        ]
        ends = [one for one in nodes if isinstance(one, pnl.TransferMechanism)]
        if ends:  # PsyNeuLink fails where it asks other mechanisms.
            one, more = self.one_of(ends), self.one_of(ends)
            leaves += [
                lambda: pnl.WhenFinished(one),
                lambda: pnl.WhenFinishedAny(one, more),
                lambda: pnl.WhenFinishedAll(one, more),
            ]
        if owner is not None:
            leaves += [
                lambda: pnl.EveryNCalls(node, n + 1),
                lambda: pnl.JustRan(node),
            ]
        return self.one_of(leaves)()

    def of_time(self, owner: Any) -> Any:
        pnl, first = self.pnl, self.random.randint(0, 4)
        last, inclusive = first + self.random.randint(0, 5), self.random.random() < 0.5
        every = self.random.randint(1, 4)
        if owner is None:
            return pnl.TimeTermination(last, inclusive=inclusive)
        return self.one_of(
            [
                pnl.TimeInterval(start=first, start_inclusive=inclusive),
                pnl.TimeInterval(end=last, end_inclusive=inclusive),
                pnl.TimeInterval(repeat=every),
                pnl.TimeInterval(repeat=every, start=first),
                pnl.TimeInterval(repeat=every, start=first, end=last),
                pnl.TimeInterval(start=first, end=last),
            ]
        )


class Each:
    """A composition with one node for each condition, which all read what `first` sends.

    conditions: by the name of their class, as in the importer's table; `TimeTermination` ends the
    trials."""

    def __init__(self, pnl: Any) -> None:
        self.pnl = pnl
        first = self.node("first")
        settling = pnl.TransferMechanism(
            name="settling",
            input_shapes=2,
            integrator_mode=True,
            integrator_function=pnl.SimpleIntegrator(rate=0.5),
            execute_until_finished=False,
            termination_threshold=4.0,
            termination_measure=max,
            termination_comparison_op=">=",
        )
        self.sources = [first, settling]
        self.conditions: dict[str, Any] = {
            "AfterCall": pnl.AfterCall(first, 2),
            "AfterNCalls": pnl.AfterNCalls(first, 2),
            "AfterNCallsCombined": pnl.AfterNCallsCombined(first, settling, n=3),
            "AfterNPasses": pnl.AfterNPasses(2),
            "AfterNRuns": pnl.AfterNRuns(0),
            "AfterNTimeSteps": pnl.AfterNTimeSteps(3),
            "AfterNTrials": pnl.AfterNTrials(1),
            "AfterPass": pnl.AfterPass(1),
            "AfterRun": pnl.AfterRun(0),
            "AfterTimeStep": pnl.AfterTimeStep(2),
            "AfterTrial": pnl.AfterTrial(0),
            "All": pnl.All(pnl.AtPass(1), pnl.AtTrial(1)),
            "AllHaveRun": pnl.AllHaveRun(first, settling),
            "Always": pnl.Always(),
            "And": pnl.And(pnl.AfterPass(0), pnl.BeforePass(3)),
            "Any": pnl.Any(pnl.AtPass(0), pnl.AtPass(3)),
            "AtNCalls": pnl.AtNCalls(first, 2),
            "AtPass": pnl.AtPass(2),
            "AtRun": pnl.AtRun(0),
            "AtRunNStart": pnl.AtRunNStart(0),
            "AtRunStart": pnl.AtRunStart(),
            "AtTimeStep": pnl.AtTimeStep(3),
            "AtTrial": pnl.AtTrial(1),
            "AtTrialNStart": pnl.AtTrialNStart(1),
            "AtTrialStart": pnl.AtTrialStart(),
            "BeforeNCalls": pnl.BeforeNCalls(first, 3),
            "BeforePass": pnl.BeforePass(2),
            "BeforeTimeStep": pnl.BeforeTimeStep(4),
            "BeforeTrial": pnl.BeforeTrial(2),
            "Condition": pnl.Condition(lambda one: one.value[0][0] > 1.0, first),
            "EveryNCalls": pnl.EveryNCalls(first, 2),
            "EveryNPasses": pnl.EveryNPasses(2),
            "JustRan": pnl.JustRan(first),
            "Never": pnl.Never(),
            "Not": pnl.Not(pnl.AtPass(1)),
            "NWhen": pnl.NWhen(pnl.AfterPass(1), 2),
            "Or": pnl.Or(pnl.AtPass(1), pnl.AtTrial(2)),
            "Threshold": pnl.Threshold(first, "value", 1.0, ">", indices=(0, 0)),
            "TimeInterval": pnl.TimeInterval(repeat=2, start=1, end=9),
            "TimeTermination": pnl.TimeTermination(11),
            "WhenFinished": pnl.WhenFinished(settling),
            "WhenFinishedAll": pnl.WhenFinishedAll(settling),
            "WhenFinishedAny": pnl.WhenFinishedAny(settling),
            "While": pnl.While(lambda one: one.value[0][0] < 2.0, first),
            "WhileNot": pnl.WhileNot(lambda one: one.value[0][0] < 1.0, first),
        }

    def node(self, name: str) -> Any:
        function = self.pnl.SimpleIntegrator(rate=0.25)
        return self.pnl.IntegratorMechanism(name=name, input_shapes=2, function=function)

    def composition(self) -> Built:
        pnl, inner = self.pnl, dict(self.conditions)
        ends = inner.pop("TimeTermination")
        made = pnl.Composition(name="each")
        nodes = {name: self.node(f"on_{name}") for name in inner}
        for one in (*self.sources, *nodes.values()):
            made.add_node(one, required_roles=pnl.NodeRole.OUTPUT)
        for one in nodes.values():
            made.add_projection(pnl.MappingProjection(matrix=MATRIX), self.sources[0], one)
            # Each of them follows both sources in the order.
            made.add_projection(pnl.MappingProjection(matrix=MATRIX), self.sources[1], one)
        made._analyze_graph()
        for name, one in nodes.items():
            made.scheduler.add_condition(one, inner[name])
        return made, {
            "inputs": {one: [[1.0, 9.0], [3.0, 4.0], [0.5, 6.0]] for one in self.sources},
            "num_trials": 3,
            "termination_processing": {pnl.TimeScale.TRIAL: ends},
        }


__all__ = ["Built", "Each", "Maker"]
