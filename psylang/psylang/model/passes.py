"""Writes the passes of a trial: one after another if they are known, otherwise as a loop.

A nest's call writes the passes of its own schedule in the same way.
"""

from __future__ import annotations

from collections.abc import Sequence

from psylang.ir.graph import Value
from psylang.ir.types import BOOL
from psylang.model.cells import Cells, Key, default, is_kept
from psylang.model.conditions import Truth
from psylang.model.control import GridSearch
from psylang.model.mechanism import Run
from psylang.model.schedule import Block, CellClock, Schedule, Steps, blocks
from psylang.model.searching import Searcher
from psylang.model.trial import Trial

UNROLL_COST = 2000  # Cost of all rounds of a block, in additions; a more expensive block is a loop.


def write_passes(
    trial: Trial,
    schedule: Schedule,
    planned: Sequence[Steps] | None,
    wanted: Sequence[Key],
) -> None:
    """Writes all passes of a trial. wanted: cells that are read afterwards."""
    if planned is None:
        _write_loop(trial, schedule, wanted)
        return
    rest = blocks(planned)
    while rest:
        block, *rest = rest
        if block.count > 1:
            rehearsal, cost = trial.rehearsed_cost(lambda body, now=block: _once(body, now))  # type: ignore[misc]
            if cost * block.count > UNROLL_COST:
                later = trial.rehearsed(lambda body, after=rest: _each(body, after))  # type: ignore[misc]
                _repeat(trial, block, rehearsal, [*wanted, *later.exposed])
                continue
        for _ in range(block.count):
            _once(trial, block)


def _once(trial: Trial, block: Block) -> None:
    for step in block.steps:
        frozen = trial.frozen() if len(step) > 1 else trial
        for node in trial.layout.in_order(step):
            trial.call(node, frozen)


def _each(trial: Trial, rest: Sequence[Block]) -> None:
    for block in rest:
        _once(trial, block)


def _repeat(trial: Trial, block: Block, rehearsal: Cells, wanted: Sequence[Key]) -> None:
    """Writes a block as a loop of known length. The round determines the steps of its
    mechanisms."""
    build = trial.context.build
    kept = [*wanted, *trial.states.values]
    known = _known_steps(trial, rehearsal)
    carried = [
        key
        for key in rehearsal.written
        if key not in known and (key in rehearsal.exposed or key in kept)
    ]
    for key in rehearsal.exposed:
        if key[0] in ("memory", "port"):
            trial.present(key)
    first = [_first(trial, rehearsal, key) for key in carried]

    def inside(number: Value, *values: Value) -> tuple[Value, Sequence[Value]]:
        body = trial.twin()
        body.cells.known.update(zip(carried, values, strict=True))
        for key, (begin, each) in known.items():
            body.cells.known[key] = _linear(body, number, begin, each)
        _once(body, block)
        after = build.add(number, 1)
        return build.lt(after, block.count), [after, *(body.present(key) for key in carried)]

    hints = ["round", *("_".join(key) for key in carried)]
    with trial.context.inside():
        zero = trial.logic.value(0)
        _, *results = build.loop([zero, *first], inside, block.count, hints)
    for key in rehearsal.written:
        trial.cells.known.pop(key, None)
    for key, (begin, each) in known.items():
        trial.cells.write(key, begin + each * block.count)
    for key, value in zip(carried, results, strict=True):
        trial.cells.write(key, value)


def _known_steps(trial: Trial, rehearsal: Cells) -> dict[Key, tuple[int, int]]:
    """Counts of steps that are plain numbers: (at the first round, more in each round)."""
    known = {}
    for key in rehearsal.written:
        begin, after = trial.cells.known.get(key, 0), rehearsal.known[key]
        if key[0] == "steps" and not isinstance(begin, Value) and not isinstance(after, Value):
            known[key] = (int(begin), int(after) - int(begin))
    return known


def _linear(trial: Trial, number: Value, begin: int, each: int) -> Value:
    """begin + number * each."""
    build, value = trial.context.build, number
    if each != 1:
        value = build.op("mul", value, each)
    return build.add(value, begin) if begin else value


def _write_loop(trial: Trial, schedule: Schedule, wanted: Sequence[Key]) -> None:
    """Writes a loop with one pass per round; it carries cells that a round reads before it writes
    them, and wanted cells.

    done: the termination condition held. truncated: it did not hold within the maximum of passes.
    """
    done, passed = ("done", schedule.name), schedule.count("pass", "trial")
    clock = _clock(trial, schedule)
    clock.begin_trial()
    trial.cells.write(passed, trial.logic.value(0))
    over = clock.over()
    guarded = over is not False  # The trial may end before its first pass.
    trial.cells.write(done, trial.logic.value(over))
    rehearsal = _rehearsed(trial, schedule, guarded)
    kept = {done, *wanted, *trial.states.values}
    carried = [key for key in rehearsal.written if key in rehearsal.exposed or key in kept]
    begun = [key for key in rehearsal.exposed if key not in rehearsal.written]
    for key in begun:
        trial.present(key)
    first = [_first(trial, rehearsal, key) for key in carried]

    def inside(*values: Value) -> tuple[Value, Sequence[Value]]:
        body = trial.twin()
        body.cells.known.update(zip(carried, values, strict=True))
        _write_pass(body, schedule, guarded)
        build = body.context.build
        again = build.and_(
            build.not_(body.present(done)), build.lt(body.present(passed), schedule.max_passes)
        )
        return again, [body.present(key) for key in carried]

    hints = ["_".join(filter(None, key)) for key in carried]
    with trial.context.inside():
        results = trial.context.build.loop(first, inside, schedule.max_passes, hints)
    for key in rehearsal.written:
        trial.cells.known.pop(key, None)
    for key, value in zip(carried, results, strict=True):
        trial.cells.write(key, value)
    before = trial.cells.known.get(("truncated",), False)
    undone = trial.logic.negated(trial.present(done))
    trial.cells.write(("truncated",), trial.logic.either(before, undone))


def _rehearsed(trial: Trial, schedule: Schedule, guarded: bool) -> Cells:
    """The reads and writes of a round, with all counts as values."""
    plain = [key for key, cell in trial.cells.known.items() if not isinstance(cell, Value)]
    for key in plain:
        trial.present(key)
    steps = [("steps", node) for node in schedule.everyone]

    def write(body: Trial) -> None:
        for key in (("done", schedule.name), ("truncated",), *steps, *schedule.cells):
            body.cells.known[key] = body.counter(key)
        _write_pass(body, schedule, guarded)

    rehearsal = trial.rehearsed(write)
    for key in rehearsal.written:
        if key[0] not in ("memory", "port"):
            trial.present(key)
    return rehearsal


def _first(trial: Trial, rehearsal: Cells, key: Key) -> Value:
    """The first value of a carried cell: zeros, if it is certainly written before it is read."""
    if key in rehearsal.exposed or key not in rehearsal.definite:
        return trial.present(key)
    cell = trial.logic.value(rehearsal.known[key])
    zero = False if cell.type.dtype is BOOL.dtype else 0
    return trial.context.build.constant(zero, cell.type)


def _clock(trial: Trial, schedule: Schedule) -> CellClock:
    def finished(node: str) -> Truth:
        mechanism = trial.layout.mechanisms[node]
        slots = trial.layout.slots(node, trial.context.numerics)
        memory = {slot: trial.memory(node, slot) for slot in slots}
        return trial.context.build.not_(mechanism.is_unfinished(trial.scope(node), memory))

    return CellClock(schedule, trial.cells, trial.logic, finished, trial.asked, trial.kept)


def _write_pass(trial: Trial, schedule: Schedule, guarded: bool) -> None:
    """guarded: nothing happens if the trial is done, as it may be before its first pass."""
    clock, logic = _clock(trial, schedule), trial.logic
    runs: Truth = logic.negated(clock.told(("done", schedule.name))) if guarded else True
    clock.begin_pass()
    nothing: Truth = runs
    ends: Truth = logic.negated(runs)  # Whether the trial ends before the rest of the sets.
    for number, members in enumerate(schedule.sets):
        if number or schedule.asks_for_pass:
            ends = logic.either(ends, clock.over())
        go = logic.negated(ends)
        ran = clock.admitted(members, go)
        for key, one in zip(schedule.holding, schedule.overrides, strict=True):
            if one.node in members and not one.is_of_trial:
                trial.cells.write(key, one.condition.holds(clock, one.node))
        frozen = trial.frozen() if len(members) > 1 else trial
        for node in trial.layout.in_order(members):
            trial.maybe_call(node, frozen, ran[node])
        clock.stepped(ran, go)
        nothing = logic.both(nothing, logic.negated(clock.any(ran)))
    clock.pass_ended(nothing, runs)
    trial.cells.write(("done", schedule.name), clock.over())


def begin_trial(trial: Trial, schedule: Schedule) -> None:
    """Resets mechanisms, and decides the overrides that hold for a trial."""
    clock = _clock(trial, schedule)
    for reset in schedule.resets:
        _reset(trial, reset.node, reset.condition.holds(clock, reset.node))
    for key, one in zip(schedule.holding, schedule.overrides, strict=True):
        if one.is_of_trial:
            trial.cells.write(key, one.condition.holds(clock, one.node))


def _reset(trial: Trial, node: str, now: Truth) -> None:
    """Gives a mechanism its initial memory, if `now`."""
    if not isinstance(now, Value):
        if now:
            _begin(trial, node)
        return
    mechanism = trial.layout.mechanisms[node]
    slots = trial.layout.slots(node, trial.context.numerics)
    keys = [("memory", node, slot) for slot in slots]
    keys += [("port", node, port) for port in mechanism.ports()]
    before = {key: trial.present(key) for key in keys}
    _begin(trial, node)
    for key in keys:
        trial.cells.write(key, trial.context.build.select(now, trial.present(key), before[key]))


def end_trial(trial: Trial, schedule: Schedule) -> None:
    """Counts a trial that ended."""
    _clock(trial, schedule).trial_ended()


class Nest:
    """A composition within a model: a node, each of whose calls is a trial of its own schedule.

    members: its mechanisms, those of nests within it included. search: chooses parameters before
    each of its trials, or after them.
    """

    def __init__(
        self,
        schedule: Schedule,
        planned: Sequence[Steps] | None,
        members: Sequence[str],
        search: GridSearch | None = None,
    ) -> None:
        self.schedule, self.planned, self.members = schedule, planned, members
        self.searcher = None if search is None else Searcher(search, schedule.name, self._passes)

    def call(self, trial: Trial) -> None:
        """Writes one trial of the nest, and the search before or after it."""
        searcher, context = self.searcher, trial.context
        if searcher is None:
            self._trial(trial)
            return
        replayed, context.draws.replayed = context.draws.replayed, None
        with context.modulating(searcher.search.changes(searcher.chosen(trial))):
            self._trial(trial)
        if searcher.search.after:
            context.draws.replayed = None
            searcher.follow(trial, trial)
        context.draws.replayed = replayed

    def _trial(self, trial: Trial) -> None:
        self._passes(trial)
        end_trial(trial, self.schedule)

    def _passes(self, trial: Trial, wanted: Sequence[Key] = ()) -> None:
        logic, layout = trial.logic, trial.layout
        for key in self.schedule.cells:
            if not is_kept(key):
                trial.cells.write(key, logic.value(default(key)))
        every = list(wanted)
        for node in self.members:
            mechanism = layout.mechanisms[node]
            if mechanism.reset == "trial":
                _begin(trial, node)
            slots = layout.slots(node, trial.context.numerics)
            every += [("memory", node, slot) for slot in slots]
            every += [("port", node, port) for port in mechanism.ports()]
        begin_trial(trial, self.schedule)
        write_passes(trial, self.schedule, self.planned, every)


def _begin(trial: Trial, node: str) -> None:
    """Gives a mechanism its initial memory, and the outputs that follow from it."""
    mechanism, at = trial.layout.mechanisms[node], trial.scope(node)
    memory = mechanism.initial(at)
    for slot, value in memory.items():
        trial.cells.write(("memory", node, slot), value)
    for port, value in mechanism.outputs(at, memory, Run(0, False)).items():
        trial.cells.write(("port", node, port), value)
