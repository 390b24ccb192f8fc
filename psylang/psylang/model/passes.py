"""Writes the passes of a trial: one after another if they are known, otherwise as a loop."""

from __future__ import annotations

from collections.abc import Sequence

from psylang.ir.graph import Value
from psylang.ir.types import BOOL
from psylang.model.cells import Cell, Cells, Key
from psylang.model.conditions import Truth
from psylang.model.schedule import Block, CellClock, Schedule, Steps, blocks
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
        for node in step:
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
    clock = _clock(trial, schedule)
    trial.cells.write(("pass",), trial.logic.value(0))
    trial.cells.write(("done",), trial.logic.value(clock.over()))
    rehearsal = _rehearsed(trial, schedule)
    kept = [*wanted, *(key for key in trial.states.values if key not in wanted)]
    carried = [key for key in rehearsal.written if key in rehearsal.exposed or key in kept]
    begun = [key for key in rehearsal.exposed if key not in rehearsal.written]
    for key in begun:
        trial.present(key)
    first = [_first(trial, rehearsal, key) for key in carried]

    def inside(*values: Value) -> tuple[Value, Sequence[Value]]:
        body = trial.twin()
        body.cells.known.update(zip(carried, values, strict=True))
        _write_pass(body, schedule)
        build = body.context.build
        again = build.and_(
            build.not_(body.present(("done",))),
            build.lt(body.present(("pass",)), schedule.max_passes),
        )
        return again, [body.present(key) for key in carried]

    hints = ["_".join(key) for key in carried]
    with trial.context.inside():
        results = trial.context.build.loop(first, inside, schedule.max_passes, hints)
    for key in rehearsal.written:
        trial.cells.known.pop(key, None)
    for key, value in zip(carried, results, strict=True):
        trial.cells.write(key, value)
    before = trial.cells.known.get(("truncated",), False)
    undone = trial.logic.negated(trial.present(("done",)))
    trial.cells.write(("truncated",), trial.logic.either(before, undone))


def _rehearsed(trial: Trial, schedule: Schedule) -> Cells:
    """The reads and writes of a round, with all counts as values."""
    plain = [key for key, cell in trial.cells.known.items() if not isinstance(cell, Value)]
    for key in plain:
        trial.present(key)

    def write(body: Trial) -> None:
        for key in [key for one in _counters(body, schedule) for key in one]:
            body.cells.known[key] = body.logic.value(body.cells.known.get(key, _default(key)))
        _write_pass(body, schedule)

    rehearsal = trial.rehearsed(write)
    for key in rehearsal.written:
        if key[0] not in ("memory", "port"):
            trial.present(key)
    return rehearsal


def _counters(trial: Trial, schedule: Schedule) -> list[list[Key]]:
    nodes = schedule.everyone
    return [
        [("pass",), ("done",), ("truncated",)],
        [("steps", node) for node in nodes],
        [("calls", node) for node in nodes],
        [("ran", node) for node in nodes],
        [("since", node, owner) for node in nodes for owner in (*nodes, "")],
        [("times", str(k)) for k in range(len(schedule.every_condition()))],
    ]


def _default(key: Key) -> Cell:
    return False if key[0] in ("ran", "done", "truncated") else 0


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

    return CellClock(schedule, trial.cells, trial.logic, finished, trial.asked)


def _write_pass(trial: Trial, schedule: Schedule) -> None:
    clock = _clock(trial, schedule)
    nothing: Truth = True
    for members in schedule.sets:
        go = trial.logic.negated(clock.told(("done",)))
        ran = clock.admitted(members, go)
        frozen = trial.frozen() if len(members) > 1 else trial
        for node in members:
            trial.maybe_call(node, frozen, ran[node])
        clock.stepped(ran)
        nothing = trial.logic.both(nothing, trial.logic.negated(clock.any(ran)))
        over = trial.logic.either(clock.told(("done",)), clock.over())
        trial.cells.write(("done",), over)
    clock.stepped_empty(nothing)
    done = clock.told(("done",))
    # A trial that ends in the middle of a pass does not count that pass as ended.
    trial.cells.write(("pass",), clock.counted(clock.passes, trial.logic.negated(done)))
    trial.cells.write(("done",), trial.logic.either(done, clock.over()))
