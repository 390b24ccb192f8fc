"""Translates the blueprint of a model into the program of one trial."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from psylang.ir.builder import ProgramBuilder
from psylang.ir.graph import Numerics, Origin, Program, Value
from psylang.ir.types import BOOL, DType, Type
from psylang.model.along import Override
from psylang.model.arithmetic import elements
from psylang.model.blueprint import Blueprint, External, Projection
from psylang.model.cells import Key
from psylang.model.checks import parameter_of, within
from psylang.model.closed_form import closed_form_of
from psylang.model.context import ESTIMATES, Context
from psylang.model.control import ControlSignal
from psylang.model.errors import ModelError, listed
from psylang.model.layout import Layout
from psylang.model.parameters import Array, array_of, checked_range
from psylang.model.passes import Nest, begin_trial, end_trial, write_passes
from psylang.model.rules import Guard, Rules, guards_of
from psylang.model.schedule import plan
from psylang.model.searching import Searcher, begun
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
    changing = _with_formulas(model, varied)
    constants = {name: value for name, value in values.items() if name not in changing}
    context = Context(build, constants, chosen, model.formulas, _guards(model))
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
    return dataclasses.replace(program, stream_seeds=tuple(seeds[n] or 0 for n in program.streams))


def _signals(model: Blueprint) -> list[ControlSignal]:
    """The signals of all searches."""
    return [signal for search in model.searches().values() for signal in search.signals]


def rules_of(model: Blueprint, fix: dict[str, Any]) -> Rules:
    """See Model.rules."""
    signals = {one.name: one.signal() for one in _signals(model)}
    values, form = _values(model, fix), closed_form_of(model)
    return Rules(values, model.limits, model.relations, signals, model.formulas, form)


def _guards(model: Blueprint) -> dict[str, Guard]:
    """Of parameters that mechanisms modulate."""
    modulated = [one.parameter for one in model.projections.values() if one.parameter]
    return guards_of(modulated, model.names, model.limits, model.relations, model.formulas)


def _varied(model: Blueprint, vary: Iterable[str], fix: Mapping[str, Any]) -> list[str]:
    if isinstance(vary, str):
        raise ModelError(f"vary is the text {vary!r}; give a list of names, like [{vary!r}]")
    varied = list(vary)
    for name in (*varied, *fix):
        parameter_of(model.name, model.parameters, name)
    searched = [one.name for one in _signals(model)]
    for name in (*varied, *fix, *searched):
        if name in model.formulas:
            leaves = dict.fromkeys(leaf.name for leaf in model.formulas[name].leaves())
            raise ModelError(
                f"`{name}` is computed from {listed(leaves)}; vary, fix or control those"
            )
    idle = [name for name in (*varied, *fix, *searched) if not model.limits[name]]
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
    kept: dict[Key, float] = {}
    for name, search in model.searches().items():
        kept.update(begun(search, name))
    return Layout(
        model.mechanisms,
        {port: [sources[name] for name in names] for port, names in model.arriving.items()},
        model.names,
        values,
        varied,
        _controlled(model),
        {name: _nest(model, name).call for name in model.nests},
        kept,
        _overrides(model),
    )


def _overrides(model: Blueprint) -> dict[str, list[tuple[Key, Override]]]:
    """By mechanism its overrides, and the cells that say whether they hold."""
    found: dict[str, list[tuple[Key, Override]]] = {}
    for name in ("", *model.nests) if model.overrides else ():
        schedule = model.schedule(name)
        for key, one in zip(schedule.holding, schedule.overrides, strict=True):
            found.setdefault(one.node, []).append((key, one))
    return found


def _nest(model: Blueprint, name: str) -> Nest:
    schedule = model.schedule(name)
    search = model.nests[name].search
    if search is not None and search.num_estimates is not None:
        around = model.around(name)
        if around and (search.reseeding or any(one.num_estimates is not None for one in around)):
            raise ModelError(
                f"the control of the nest `{name}` has num_estimates, and a control around it "
                "simulates the nest; leave num_estimates out of the nest's control, or the control "
                "around it out of the model"
            )
    return Nest(schedule, plan(schedule), model.within(name), search)


def _controlled(model: Blueprint) -> frozenset[str]:
    """The parameters that a search or a mechanism sets, and those computed from them."""
    names = [one.name for one in _signals(model)]
    names += [one.parameter for one in model.projections.values() if one.parameter is not None]
    names += [one.parameter for one in model.overrides]
    return _with_formulas(model, names)


def _with_formulas(model: Blueprint, names: Iterable[str]) -> frozenset[str]:
    """Parameters, and those computed from them."""
    known = frozenset(names)
    return known | {
        name
        for name, formula in model.formulas.items()
        if any(leaf.name in known for leaf in formula.leaves())
    }


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

    def passes(point: Trial, wanted: Sequence[Key]) -> None:
        write_passes(point, schedule, planned, wanted)

    levels: list[Value] = []
    if model.search is not None and model.search.objective in closing:
        raise ModelError(
            f"the objective `{model.search.objective}` runs after the last pass; a search sees "
            "passes alone"
        )
    begin_trial(trial, schedule)
    searcher = None if model.search is None else Searcher(model.search, "", passes)
    if searcher is not None:
        levels = searcher.chosen(trial)
        trial.context.modulated = searcher.search.changes(levels)
    write_passes(trial, schedule, planned, wanted)
    end_trial(trial, schedule)
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
    if searcher is not None and searcher.search.after:
        trial.context.modulated = {}
        final = {key: trial.present(key) for key in list(trial.states.values)}
        searcher.follow(trial, Trial(trial.context, trial.layout, trial.inputs, States(final)))
    for key in list(trial.states.values):
        build.set_state(trial.layout.state_name(key), trial.present(key))
