"""Translates the blueprint of a model into the program of one trial."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from psylang.ir.builder import ProgramBuilder
from psylang.ir.graph import Numerics, Origin, Program, Value
from psylang.ir.types import BOOL, I32, DType, Type
from psylang.model.arithmetic import elements
from psylang.model.blueprint import Blueprint, External, Projection, modulated_port
from psylang.model.cells import Key
from psylang.model.checks import parameter_of, within
from psylang.model.context import ESTIMATES, Context
from psylang.model.control import GridSearch, Past
from psylang.model.errors import ModelError, listed
from psylang.model.layout import Layout
from psylang.model.parameters import Array, array_of, checked_range
from psylang.model.passes import write_passes
from psylang.model.rules import Rules
from psylang.model.schedule import Schedule, Steps, plan
from psylang.model.trial import BEGUN, States, Trial


def lowered(
    model: Blueprint,
    numerics: Numerics,
    fix: dict[str, Any],
    vary: Iterable[str],
    ranges: dict[str, tuple[float, float]],
) -> Program:
    """See Model.program."""
    if numerics not in ("exact", "fast"):
        raise ModelError(f"numerics are {numerics!r}; they are exact or fast")
    if not model.outputs:
        raise ModelError(f"`{model.name}` has no output; name one by model.output(name, mechanism)")
    varied = _varied(model, vary, fix)
    rules = rules_of(model, fix)
    rules.check({}, everything=True)
    values = dict(rules.values)
    build = ProgramBuilder(model.name, numerics)
    chosen = _parameters(model, build, varied, values, ranges)
    rules.hold_within({name: checked_range(name, ends) for name, ends in ranges.items()})
    following = [
        name
        for name, formula in model.formulas.items()
        if any(leaf.name in varied for leaf in formula.leaves())
    ]
    changing = frozenset([*varied, *following])
    constants = {name: value for name, value in values.items() if name not in changing}
    context = Context(build, constants, chosen, model.formulas)
    layout = _layout(model, values, changing)
    inputs = {
        one.name: build.input(one.name, Type(DType.F64, one.shape), one.default)
        for one in model.externals.values()
    }
    trial = Trial(context, layout, inputs, States())
    _write(model, trial)
    program = build.build()
    return _seeded(model, program) if numerics == "exact" else program


def _seeded(model: Blueprint, program: Program) -> Program:
    """In `exact` each stream belongs to a mechanism and has its seed; mechanisms without a seed get
    consecutive ones, and after them the streams of estimates."""
    seeds = {
        name: model.mechanisms[name].seed if name in model.mechanisms else None
        for name in program.streams
    }
    free = itertools.filterfalse(set(seeds.values()).__contains__, itertools.count())
    for name in (*model.mechanisms, *(f"{name}{ESTIMATES}" for name in model.mechanisms)):
        if name in seeds and seeds[name] is None:
            seeds[name] = next(free)
    return dataclasses.replace(
        program, stream_seeds=tuple(int(seeds[n] or 0) for n in program.streams)
    )


def rules_of(model: Blueprint, fix: dict[str, Any]) -> Rules:
    """See Model.rules."""
    searched = model.search.signals if model.search is not None else ()
    signals = {one.name: one.signal() for one in searched}
    return Rules(_values(model, fix), model.limits, model.relations, signals, model.formulas)


def _varied(model: Blueprint, vary: Iterable[str], fix: Mapping[str, Any]) -> list[str]:
    if isinstance(vary, str):
        raise ModelError(f"vary is the text {vary!r}; give a list of names, like [{vary!r}]")
    varied = list(vary)
    for name in (*varied, *fix):
        parameter_of(model.name, model.parameters, name)
    searched = model.search.signals if model.search is not None else ()
    for name in (*varied, *fix, *(one.name for one in searched)):
        if name in model.formulas:
            leaves = dict.fromkeys(leaf.name for leaf in model.formulas[name].leaves())
            raise ModelError(
                f"`{name}` is computed from {listed(leaves)}; vary, fix or control those"
            )
    idle = [
        name for name in (*varied, *fix, *(one.name for one in searched)) if not model.limits[name]
    ]
    if idle:
        raise ModelError(
            f"no component of `{model.name}` uses the parameter {listed(idle)}: it would change "
            "nothing; give it to a component, or leave it out of vary, fix and control"
        )
    both = sorted(set(varied) & set(fix))
    if both or len(set(varied)) != len(varied):
        twice = both or sorted({name for name in varied if varied.count(name) > 1})
        raise ModelError(f"{listed(twice)}: named twice; a parameter is fixed or varied, once")
    return varied


def _values(model: Blueprint, fix: Mapping[str, Any]) -> dict[str, Array]:
    """All parameters' values: fixed ones, else defaults. ModelError: shape, NaN, limits, range."""
    values = {name: one.default for name, one in model.parameters.items()}
    for name, given in fix.items():
        array, default = array_of(name, given), values[name]
        if array.shape != default.shape:
            if array.shape:
                raise ModelError(
                    f"`{name}` is fixed at an array of shape {array.shape}, its default has shape "
                    f"{default.shape}; they must be the same"
                )
            array = array_of(name, np.full(default.shape, array))
        for limits in model.limits[name]:
            limits.check(name, array)
        within(name, array, model.parameters[name].range)
        values[name] = array
    for name, formula in model.formulas.items():
        values[name] = formula.computed(values)
    return values


def _parameters(
    model: Blueprint,
    build: ProgramBuilder,
    varied: list[str],
    values: Mapping[str, Array],
    ranges: Mapping[str, tuple[float, float]],
) -> dict[str, Value]:
    for name in ranges:
        parameter_of(model.name, model.parameters, name)
        if name not in varied:
            raise ModelError(
                f"there is a range for `{name}`, which is a constant; add it to vary, or drop the "
                "range"
            )
    chosen = {}
    for name in varied:
        limits = model.parameters[name].range
        if name in ranges:
            limits = checked_range(name, ranges[name])
            within(name, values[name], limits)
        chosen[name] = build.parameter(name, values[name], limits)
    return chosen


def _layout(model: Blueprint, values: Mapping[str, Array], varied: frozenset[str]) -> Layout:
    for node, mechanism in model.mechanisms.items():
        missing = [
            port
            for port in mechanism.arrivals()
            if port not in mechanism.free_ports() and not model.arriving.get((node, port))
        ]
        if missing:
            raise ModelError(
                f"nothing arrives at {listed(f'{node}.{port}' for port in missing)}; connect it, "
                "or make it an input"
            )
    sources: dict[str, Projection | External] = {**model.projections, **model.externals}
    clash = set(model.projections) & set(model.externals)
    if clash:
        raise ModelError(f"{listed(sorted(clash))}: an input and a projection of one name")
    return Layout(
        model.mechanisms,
        {port: [sources[name] for name in names] for port, names in model.arriving.items()},
        model.names,
        values,
        varied,
        _controlled(model),
    )


def _controlled(model: Blueprint) -> frozenset[str]:
    """The parameters that a search sets, and those computed from them."""
    names = {one.name for one in model.search.signals} if model.search is not None else set()
    prefix = modulated_port("parameter", "")
    names |= {
        one.receiver_port.removeprefix(prefix)
        for one in model.projections.values()
        if one.modulation is not None and one.receiver_port.startswith(prefix)
    }
    following = {
        name
        for name, formula in model.formulas.items()
        if any(leaf.name in names for leaf in formula.leaves())
    }
    return frozenset(names | following)


def _write(model: Blueprint, trial: Trial) -> None:
    schedule, closing = model.schedule(), model.afterwards()
    for name, (node, end) in model.left_behind().items():
        raise ModelError(
            f"output `{name}` would be a pass old: the trial may end as soon as `{end}` has run, "
            f"before `{node}` hears from it; let it run at the end, model.last({node!r}), or "
            "record what it was: model.output(…, earlier=True)"
        )
    planned = plan(schedule)
    wanted: list[Key] = [
        ("port", node, port) for one in model.outputs.values() for node, port in one.places
    ]
    wanted += [
        ("port", one.sender, one.sender_port)
        for one in model.projections.values()
        if one.receiver in closing
    ]
    levels: list[Value] = []
    if model.search is not None and model.search.objective in closing:
        raise ModelError(
            f"the objective `{model.search.objective}` runs after the last pass; a search sees "
            "passes alone"
        )
    past: list[Past] = []
    if model.search is not None:
        past = _past(trial, model.search)
        if model.search.after:
            levels = [before.level for before in past]
            _as_estimated(trial, model.search)
        else:
            levels = _searched(trial, schedule, planned, model.search, past)
            _remember(trial, model.search, levels, past)
        model.search.apply(trial.context, levels)
    write_passes(trial, schedule, planned, wanted)
    for node in closing:
        trial.call(node, trial)
    build = trial.context.build
    for name, one in model.outputs.items():
        values = [trial.port(node, port) for node, port in one.places]
        if one.joined:
            with build.at(Origin("", name)):
                build.output(name, build.stack([e for v in values for e in elements(build, v)]))
        else:
            build.output(name, values[0])
    if levels:
        with build.at(Origin("control", "allocation")):
            build.output("allocation", build.stack(levels), ("signal",))
    truncated = trial.cells.known.get(("truncated",))
    if truncated is not None:
        with build.at(Origin("", "truncated")):
            flag = truncated if isinstance(truncated, Value) else build.constant(truncated, BOOL)
            build.output("truncated", flag)
    if BEGUN in trial.states.values:
        trial.cells.known[BEGUN] = True
    final = {key: trial.present(key) for key in list(trial.states.values)}
    for key, value in final.items():
        build.set_state(trial.layout.state_name(key), value)
    if model.search is not None and model.search.after:
        trial.context.modulated = {}
        after = Trial(trial.context, trial.layout, trial.inputs, States(dict(final)))
        found = _searched(after, schedule, planned, model.search, past)
        _remember(trial, model.search, found, past)


def _past(trial: Trial, search: GridSearch) -> list[Past]:
    """The levels that the search before found, and the sums of duration costs."""
    build, made = trial.context.build, []
    for number, signal in enumerate(search.signals):
        level = spent = build.constant(0.0)
        if search.remembers:
            level = build.state(f"{search.name}.level{number}", signal.first)
        if signal.duration is not None:
            spent = build.state(f"{search.name}.spent{number}", signal.duration.initial)
        made.append(Past(level, spent))
    return made


def _remember(
    trial: Trial, search: GridSearch, levels: Sequence[Value], past: Sequence[Past]
) -> None:
    """Keeps for the next search what this one found."""
    context, build = trial.context, trial.context.build
    for number, (signal, level) in enumerate(zip(search.signals, levels, strict=True)):
        if search.remembers:
            build.set_state(f"{search.name}.level{number}", level)
        if signal.duration is not None:
            with build.at(Origin(search.name, "", "cost")):
                spent = signal.duration.grown(context, past[number].spent, level)
            build.set_state(f"{search.name}.spent{number}", spent)


def _as_estimated(trial: Trial, search: GridSearch) -> None:
    """Lets a trial draw as the first estimate of the search after the trial before did."""
    reseeding, build = search.reseeding, trial.context.build
    if reseeding is not None and trial.context.exact:
        reseeding.begin(trial.context, build.state(f"{search.name}.key", reseeding.before, I32))


def _searched(
    trial: Trial,
    schedule: Schedule,
    planned: Sequence[Steps] | None,
    search: GridSearch,
    past: Sequence[Past],
) -> list[Value]:
    """The levels of the best allocation. All candidates, and the trial that follows, have the same
    draws: in `fast` by their counters; in `exact` they are made beforehand and used again, or, if
    their number depends on values, argmin begins each candidate with the original generators."""
    context, node = trial.context, search.objective
    port = search.objective_port or next(iter(trial.layout.mechanisms[node].ports()))

    reseeding = search.reseeding if context.exact else None
    block = None if reseeding is None else reseeding.state(context)

    def simulated(point: Trial) -> Value:
        write_passes(point, schedule, planned, [("port", node, port)])
        value = point.port(node, port)
        outcome = point.context.build.extract(value, *(0,) * len(value.type.shape))
        return point.context.build.convert(outcome, DType.F64)

    def loss(point: Trial, candidate: Value) -> Value:
        inner = point.context
        levels = search.allocation(inner, candidate)
        before = dict(inner.modulated)
        search.apply(inner, levels)
        if search.num_estimates is None:
            result = search.loss(inner, simulated(point), levels, past)
        elif search.reseeding is None:
            outcome = _estimated(point, search.num_estimates, simulated)
            result = search.loss(inner, outcome, levels, past)
        else:
            result = _reseeded(
                point, search, block, lambda one: search.loss(inner, simulated(one), levels, past)
            )
        inner.modulated = before
        return result

    made: dict[str, list[Value]] | None = None
    if context.exact or search.after:
        rehearsal = context.rehearsal()
        loss(trial.twin(rehearsal), rehearsal.build.constant(0, I32))
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
        return loss(trial.twin(), candidate)

    levels = search.search(context, of_candidate)
    context.draws.replayed = replayed()
    if reseeding is not None and block is not None:
        key = reseeding.key(context, block, 0)
        reseeding.follow(context, block, search.candidates, search.num_estimates or 0)
        if search.after:
            context.build.set_state(f"{search.name}.key", key)
        else:
            reseeding.begin(context, key)
    return levels


def _draws_exactly(context: Context, recorded: Sequence[object]) -> None:
    """ModelError: candidates after a trial draw in `fast`, where the next trial's draws, which they
    would have to meet, belong to its number."""
    if recorded and not context.exact:
        raise ModelError(
            "the search runs after trials, and its candidates draw random numbers; use exact "
            "numerics, or a search before trials (after=False)"
        )


def _reseeded(
    point: Trial, search: GridSearch, block: Value | None, loss: Callable[[Trial], Value]
) -> Value:
    """The mean loss of estimates with PsyNeuLink's seeds."""
    context, build, count = point.context, point.context.build, search.num_estimates
    assert search.reseeding is not None
    assert count is not None
    begin = search.reseeding

    def inside(number: Value, total: Value) -> tuple[Value, Sequence[Value]]:
        if block is not None:
            begin.begin(context, begin.key(context, block, number))
        context.estimate = 0 if context.exact else number
        found = loss(point.twin())
        context.estimate = 0
        after = build.add(number, 1)
        return build.lt(after, count), [after, build.add(total, found)]

    with context.inside():
        first = [build.constant(0, I32), build.constant(0.0)]
        _, total = build.loop(first, inside, count, ["estimate", "total"])
    return build.div(total, float(count))


def _estimated(point: Trial, count: int, simulated: Callable[[Trial], Value]) -> Value:
    """The mean outcome of simulations. Each simulation has its own draws, the same for every
    candidate."""
    context, build = point.context, point.context.build

    def inside(number: Value, total: Value) -> tuple[Value, Sequence[Value]]:
        after = build.add(number, 1)
        context.estimate = after  # Number 0 is for the draws of the trial itself.
        outcome = simulated(point.twin())
        context.estimate = 0
        return build.lt(after, count), [after, build.add(total, outcome)]

    with context.inside():
        first = [build.constant(0, I32), build.constant(0.0)]
        _, total = build.loop(first, inside, count, ["estimate", "total"])
    return build.div(total, float(count))
