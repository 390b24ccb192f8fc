"""Writes searches: the simulated trials of all candidates, and the levels of the best one.

What a search keeps from trial to trial are cells of the trial, so that each call of a nest goes on
from the call before: levels, sums of duration costs, and the seeds of estimates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from psylang.ir.graph import Origin, Value
from psylang.ir.types import I32, DType
from psylang.model.cells import Key
from psylang.model.context import Context
from psylang.model.control import GridSearch, Past
from psylang.model.errors import ModelError
from psylang.model.trial import Trial


def begun(search: GridSearch, nest: str) -> dict[Key, float]:
    """The cells that the search of a nest, or of the model, keeps, and their first values."""
    found: dict[Key, float] = {}
    for number, signal in enumerate(search.signals):
        if search.remembers:
            found["level", nest, str(number)] = signal.first
        if signal.duration is not None:
            found["spent", nest, str(number)] = signal.duration.initial
    if search.reseeding is not None:
        found["block", nest] = search.reseeding.first
        found["key", nest] = search.reseeding.before
    return found


@dataclass(frozen=True)
class Searcher:
    """Writes the searches of a nest, or of the model. passes: writes the passes of a trial; their
    cells that are read afterwards are named."""

    search: GridSearch
    nest: str
    passes: Callable[[Trial, Sequence[Key]], None]

    def chosen(self, trial: Trial) -> list[Value]:
        """The levels of a trial that begins; if the search runs after trials, it was written by
        follow() of the trial before."""
        if not self.search.after:
            return self._searched(trial, trial)
        reseeding = self.search.reseeding
        if reseeding is not None and trial.context.exact:
            reseeding.begin(trial.context, trial.present(("key", self.nest)))
        return [before.level for before in self._past(trial)]

    def follow(self, trial: Trial, ended: Trial) -> None:
        """Writes the search after a trial, which simulates trials that follow `ended`."""
        self._searched(trial, ended)

    def _past(self, trial: Trial) -> list[Past]:
        """The levels that the search before found, and the sums of duration costs."""
        made = []
        for number, signal in enumerate(self.search.signals):
            level = spent = trial.context.build.constant(0.0)
            if self.search.remembers:
                level = trial.present(("level", self.nest, str(number)))
            if signal.duration is not None:
                spent = trial.present(("spent", self.nest, str(number)))
            made.append(Past(level, spent))
        return made

    def _remember(self, trial: Trial, levels: Sequence[Value], past: Sequence[Past]) -> None:
        """Keeps for the next search what this one found."""
        signals = self.search.signals
        for number, (signal, level, before) in enumerate(zip(signals, levels, past, strict=True)):
            if self.search.remembers:
                trial.cells.write(("level", self.nest, str(number)), level)
            if signal.duration is not None:
                with trial.context.build.at(Origin(self.search.name, "", "cost")):
                    spent = signal.duration.grown(trial.context, before.spent, level)
                trial.cells.write(("spent", self.nest, str(number)), spent)

    def _searched(self, trial: Trial, start: Trial) -> list[Value]:
        """The levels of the best allocation. trial: keeps them. start: where simulated trials
        begin. All candidates, and the trial that follows, have the same draws: in `fast` by their
        counters; in `exact` they are made beforehand and used again, or, if their number depends on
        values, argmin begins each candidate with the original generators."""
        context, search, past = trial.context, self.search, self._past(trial)
        reseeding = search.reseeding if context.exact else None
        block = None if reseeding is None else trial.present(("block", self.nest))

        def loss(point: Trial, candidate: Value) -> Value:
            inner = point.context
            levels = search.allocation(inner, candidate)
            with inner.modulating(search.changes(levels)):
                return self._loss(point, levels, past, block)

        made: dict[str, list[Value]] | None = None
        if context.exact or search.after:
            rehearsal = context.rehearsal()
            loss(start.twin(rehearsal), rehearsal.build.constant(0, I32))
            recorded = rehearsal.draws.recorded or []
            if search.after:
                _draws_exactly(context, recorded)
            elif all(depth == 0 for _, _, depth in recorded):
                made = {}
                for stream, kind, _ in recorded:
                    made.setdefault(stream, []).append(context.draw(kind, stream, "", 0))

        def replayed() -> dict[str, Iterator[Value]] | None:
            return None if made is None else {name: iter(values) for name, values in made.items()}

        def of_candidate(candidate: Value) -> Value:
            context.draws.replayed = replayed()
            return loss(start.twin(), candidate)

        levels = search.search(context, of_candidate)
        context.draws.replayed = replayed()
        if block is not None:
            self._reseed(trial, block)
        self._remember(trial, levels, past)
        return levels

    def _loss(
        self, point: Trial, levels: Sequence[Value], past: Sequence[Past], block: Value | None
    ) -> Value:
        """The loss of levels that are in force. block: in `exact`, of seeds of estimates."""
        search, count = self.search, self.search.num_estimates

        def simulated(one: Trial) -> Value:
            return search.loss(one.context, self._simulated(one), levels, past)

        if count is None:
            return simulated(point)
        if search.reseeding is None:
            outcome = _mean(point, count, lambda one, _: self._simulated(one), first=1)
            return search.loss(point.context, outcome, levels, past)
        begin = search.reseeding

        def reseeded(one: Trial, number: Value) -> Value:
            if block is not None:
                begin.begin(one.context, begin.key(one.context, block, number))
            return simulated(one)

        return _mean(point, count, reseeded, first=None if point.context.exact else 0)

    def _simulated(self, point: Trial) -> Value:
        """The outcome of a simulated trial."""
        node = self.search.objective
        port = self.search.objective_port or next(iter(point.layout.mechanisms[node].ports()))
        self.passes(point, [("port", node, port)])
        value = point.port(node, port)
        outcome = point.context.build.extract(value, *(0,) * len(value.type.shape))
        return point.context.build.convert(outcome, DType.F64)

    def _reseed(self, trial: Trial, block: Value) -> None:
        """Lets the trial that follows a search draw as its first estimate did."""
        context, search, reseeding = trial.context, self.search, self.search.reseeding
        assert reseeding is not None
        key = reseeding.key(context, block, 0)
        after = reseeding.following(context, block, search.candidates, search.num_estimates or 0)
        trial.cells.write(("block", self.nest), after)
        if search.after:
            trial.cells.write(("key", self.nest), key)
        else:
            reseeding.begin(context, key)


def _draws_exactly(context: Context, recorded: Sequence[object]) -> None:
    """ModelError: candidates after a trial draw in `fast`, where the next trial's draws, which they
    would have to meet, belong to its number."""
    if recorded and not context.exact:
        raise ModelError(
            "the search runs after trials, and its candidates draw random numbers; use exact "
            "numerics, or a search before trials (after=False)"
        )


def _mean(
    point: Trial, count: int, estimate: Callable[[Trial, Value], Value], first: int | None
) -> Value:
    """The mean of estimates. Each estimate has its own draws, the same for every candidate. first:
    its number among the draws, of which 0 is for the trial itself; None: draws have no numbers."""
    context, build, around = point.context, point.context.build, point.context.estimate

    def inside(number: Value, total: Value) -> tuple[Value, Sequence[Value]]:
        after = build.add(number, 1)
        if first is not None:
            context.estimate = after if first else number
        found = estimate(point.twin(), number)
        context.estimate = around
        return build.lt(after, count), [after, build.add(total, found)]

    with context.inside():
        begin = [build.constant(0, I32), build.constant(0.0)]
        _, total = build.loop(begin, inside, count, ["estimate", "total"])
    return build.div(total, float(count))
