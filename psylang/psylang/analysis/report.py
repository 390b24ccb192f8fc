"""analyse(): all findings of the analyses of a model, as lines that name a component.

report = psylang.compile(model, vary=["drift"], ranges={"drift": (0, 1)}).analyse()
print(report)                 a text
report.findings               the same as data; report.data() for JSON
report.svg()                  the model's graph, coloured by what was found
"""

from __future__ import annotations

import html
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from psylang.analysis.arguments import Pair
from psylang.analysis.clones import compare, difference, first_passage
from psylang.analysis.closed_loops import without_loops
from psylang.analysis.decided import Decision, flagged, narrowed
from psylang.analysis.intervals import Range, anything, exactly, join, within
from psylang.analysis.liveness import Liveness, liveness
from psylang.analysis.picture import dot, svg
from psylang.analysis.ranges import Ranges
from psylang.analysis.structure import Structure, structure_of
from psylang.ir.graph import Op, Origin, Program, Region, Value

TITLES = {
    "assumed": "what is assumed",
    "range": "ranges of values",
    "unused": "what never matters",
    "loop": "loops",
    "decided": "what the ranges decide",
    "clone": "what is computed elsewhere",
    "finite": "where no NaN and no infinity can be",
    "flags": "operations that use_ranges gives the flags nnan and ninf",
}
LINES_MAX = 40  # Lines of one kind in the text; data() has all.


@dataclass(frozen=True)
class Finding:
    """One line. component: its component's name in the model; "" for the whole model. data: the
    numbers of the line, for JSON."""

    kind: str
    component: str
    text: str
    data: Mapping[str, Any] = field(default_factory=dict)


class Report:
    """str() gives text, `_repr_html_` HTML for notebooks, data() data for JSON."""

    def __init__(self, structure: Structure, findings: Sequence[Finding], live: Liveness) -> None:
        self.structure = structure
        self.findings = tuple(findings)
        self.liveness = live

    def of(self, kind: str) -> list[Finding]:
        """The findings of a kind: a key of TITLES."""
        return [one for one in self.findings if one.kind == kind]

    def data(self) -> dict[str, Any]:
        """Plain dictionaries, lists, texts and numbers; infinities are texts."""
        return {
            "model": self.structure.name,
            "findings": [
                {
                    "kind": one.kind,
                    "component": one.component,
                    "text": one.text,
                    **{name: _plain(value) for name, value in one.data.items()},
                }
                for one in self.findings
            ],
        }

    def dot(self) -> str:
        """The model's graph as the text of a Graphviz graph (picture.py)."""
        nodes = self.structure.nodes
        labels: dict[str, list[str]] = {}
        for one in self.of("range"):
            if "output" in one.data and one.component in nodes:
                text = one.text.removeprefix("output ")
                labels.setdefault(one.component, []).append(text)
        for one in self.of("loop"):
            node = one.component.partition(".")[0]
            if "least" in one.data and node in nodes:
                labels.setdefault(node, []).append(one.text)
        dead, passing = frozenset(self.liveness.dead()), frozenset(self.liveness.passing)
        return dot(self.structure, labels, dead, passing)

    def svg(self) -> str:
        """The picture of dot(). PictureError: Graphviz is missing."""
        return svg(self.dot())

    def __str__(self) -> str:
        return "\n".join(self._lines())

    __repr__ = __str__

    def _lines(self) -> Iterator[str]:
        yield self.structure.name
        for kind, title in TITLES.items():
            found = self.of(kind)
            if not found:
                continue
            yield title
            width = max(len(one.component or "(model)") for one in found[:LINES_MAX])
            for one in found[:LINES_MAX]:
                yield f"  {one.component or '(model)':<{width}}  {one.text}"
            if len(found) > LINES_MAX:
                yield f"  … {len(found) - LINES_MAX} more; --json has all of them"

    def _repr_html_(self) -> str:
        left = "style='text-align:left'"
        rows = ["<table>"]
        for kind, title in TITLES.items():
            if not self.of(kind):
                continue
            rows.append(f"<tr><th colspan=2 {left}>{html.escape(title)}</th></tr>")
            rows += [
                f"<tr><td {left}>{html.escape(one.component)}</td>"
                f"<td {left}>{html.escape(one.text)}</td></tr>"
                for one in self.of(kind)
            ]
        return "".join([*rows, "</table>"])


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def analyse(
    program: Program,
    model: Any = None,
    *,
    inputs: Mapping[str, Pair] | None = None,
    params: Mapping[str, Pair] | None = None,
    trials: int | None = None,
    against: Program | None = None,
) -> Report:
    """See Plan.analyse(). model: the program's model, for the names of its nodes."""
    ranges = Ranges(program, parameters=params, inputs=inputs, trials=trials)
    structure = structure_of(model, program)
    smaller, decisions = narrowed(program, ranges)
    live = liveness(program, smaller, structure)
    findings = [
        *_assumed(program, ranges, trials),
        *_ranges(program, ranges, structure),
        *_unused(program, live),
        *_loops(program, ranges),
        *_without_loops(program),
        *_decided(decisions, "decided"),
        *_closed_forms(program),
        *([] if against is None else _shared(program, against)),
        *_finite(program, ranges),
        *_decided(flagged(program, params, inputs)[1], "flags"),
    ]
    return Report(structure, findings, live)


def _ends(found: Range) -> dict[str, Any]:
    low, high, nan = found.hull()
    return {"low": low, "high": high, "nan": nan}


def _assumed(program: Program, ranges: Ranges, trials: int | None) -> Iterator[Finding]:
    declared = [("parameter", one.name) for one in program.parameters]
    declared += [("input", one.name) for one in program.inputs]
    for (kind, name), value in zip(declared, program.body.arguments, strict=False):
        found = ranges[value]
        text = f"{kind} in {found}"
        if within(anything(value.type, nan=False), found):
            text = f"{kind}, any number"
        yield Finding("assumed", name, text, _ends(found))
    if program.states:
        text = "all trials of a sequence" if trials is None else f"trial {trials} of a sequence"
        yield Finding("assumed", "", text, {"trials": trials})


def _ranges(program: Program, ranges: Ranges, structure: Structure) -> Iterator[Finding]:
    for name, found in ranges.outputs().items():
        nodes = ", ".join(structure.outputs.get(name, ())) or name
        text = f"output {name} in {found}"
        yield Finding("range", nodes, text, {"output": name, **_ends(found)})
    for state, found in zip(program.states, _states(program, ranges), strict=True):
        node = state.name.rpartition(".")[0] or state.name
        text = f"state {state.name} in {found}"
        yield Finding("range", node, text, {"state": state.name, **_ends(found)})
    for origin, found in _leaving(program, ranges).items():
        yield Finding("range", str(origin), f"gives {found}", _ends(found))


def _states(program: Program, ranges: Ranges) -> list[Range]:
    """Ranges of the states at the beginning and at the end of a trial."""
    first = len(program.parameters) + len(program.inputs)
    arguments = program.body.arguments[first : first + len(program.states)]
    begins = [ranges[value] for value in arguments]
    every = zip(program.states, begins, ranges.states().values(), strict=True)
    return [join(join(exactly(one.type, one.initial), a), b) for one, a, b in every]


def _leaving(program: Program, ranges: Ranges) -> dict[Origin, Range]:
    """Ranges of values that another component uses, or that are yielded, by their origin."""
    owner = {value: op for op in program.body.walk() for value in op.results}
    found: dict[Origin, Range] = {}
    seen: set[Value] = set()

    def used(value: Value, by: str | None) -> None:
        op = owner.get(value)
        if op is None or op.name == "constant" or not op.origin.component or value in seen:
            return
        if by == op.origin.component or not value.type.dtype.is_float:
            return
        seen.add(value)
        low, high, nan = ranges[value].hull()
        one = Range(np.array([low]), np.array([high]), np.array([nan]))
        before = found.get(op.origin)
        found[op.origin] = one if before is None else join(before, one)

    for op in program.body.walk():
        for value in op.operands:
            used(value, op.origin.component or None)
    for value in program.body.yields:
        used(value, None)
    return found


def _unused(program: Program, live: Liveness) -> Iterator[Finding]:
    for node in live.passing:
        text = "passes on what it receives: it computes nothing, for no output"
        yield Finding("unused", node, text, {"reason": "passes on"})
    for name in live.dead():
        yield Finding("unused", name, "changes no output", {"reason": "no output"})
    for output in program.outputs:
        for name in live.dead_for(output.name):
            text = f"does not matter for output {output.name}"
            yield Finding("unused", name, text, {"reason": "this output", "output": output.name})
        for what, idle in (
            ("input", live.idle_inputs[output.name]),
            ("parameter", live.idle_parameters[output.name]),
        ):
            for name in idle:
                text = f"{what} does not matter for output {output.name}"
                yield Finding("unused", name, text, {"reason": what, "output": output.name})


def _loops(program: Program, ranges: Ranges) -> Iterator[Finding]:
    for op in program.body.walk():
        if op.name != "loop" or op not in ranges.rounds:
            continue
        found = ranges.evolution(op)
        most = "no bound known" if math.isinf(found.most) else f"{found.most:.0f} at most"
        because = f" ({found.because})" if found.because else ""
        text = f"{found.least} rounds at least, {most}{because}"
        if found.least == found.most:
            text = f"{found.least} rounds"
        yield Finding("loop", str(op.origin), text, {"least": found.least, "most": found.most})
        for one in found.recurrences:
            name = one.value.hint or "a carried value"
            yield Finding(
                "loop",
                str(op.origin),
                f"{name}: {one}",
                {"value": name, "a": list(one.a), "b": list(one.b), "first": list(one.first)},
            )


def _without_loops(program: Program) -> Iterator[Finding]:
    if program.numerics == "exact" or not any(op.name == "loop" for op in program.body.walk()):
        return
    for one in without_loops(program)[1]:
        text = f"{one.name} is {one.text}: closed_forms=True computes it without the loop"
        yield Finding("loop", str(one.loop.origin), text, {"value": one.name, "closed": one.text})


def _decided(decisions: Sequence[Decision], kind: str) -> Iterator[Finding]:
    merged: dict[Decision, int] = {}
    for one in decisions:
        merged[one] = merged.get(one, 0) + 1
    for one, count in merged.items():
        times = f", {count} times" if count > 1 else ""
        text = f"{one.text}{times}: {one.because}"
        yield Finding(kind, str(one.origin), text, {"decision": one.kind, "because": one.because})


def _closed_forms(program: Program) -> Iterator[Finding]:
    for one in first_passage(program):
        text = (
            f"is a drift-diffusion process: {one.drift} and {one.noise} times a normal number a "
            f"step, until ±{one.threshold}; DDMAnalytical has its choices and moments of times "
            "in closed form"
        )
        data = {"drift": str(one.drift), "noise": str(one.noise), "threshold": str(one.threshold)}
        yield Finding("clone", one.component, text, {"closed form": "DDMAnalytical", **data})


def _shared(program: Program, against: Program) -> Iterator[Finding]:
    found = compare(program, against)
    every = len(found.matches) + len(found.missing)
    text = f"{len(found.matches)} of {every} values that go on are computed in {against.name}, too"
    if found.equal:
        apart = difference(program, against, found)
        text += (
            f", all alike under one renaming; interpreted side by side they differ by {apart:.1g}"
        )
    elif found.included and not found.consistent:
        text += ", each by itself: they are connected in another way"
    yield Finding("clone", "", text, {"equal": found.equal, "included": found.included})
    for one in found.matches:
        component, _, label = one.small.partition(": ")
        text = f"{label} is {one.large} of {against.name}"
        if one.extra:
            text += f", which has besides: {'; '.join(one.extra)}"
        yield Finding("clone", component, text, {"is": one.large, "extra": list(one.extra)})
    for name in found.missing:
        component, _, label = name.partition(": ")
        yield Finding("clone", component, f"{label} is in no value of {against.name}", {"is": None})


def _finite(program: Program, ranges: Ranges) -> Iterator[Finding]:
    """For each component: the number of its float operations with only finite operands and
    results."""
    every: Counter[str] = Counter()
    safe: Counter[str] = Counter()
    for op in _computing(program.body):
        values = [value for value in (*op.operands, op.result) if value.type.dtype.is_float]
        if not values:
            continue
        every[op.origin.component] += 1
        safe[op.origin.component] += all(bool(ranges[value].finite.all()) for value in values)
    for component, count in every.items():
        text = f"{safe[component]} of {count} operations"
        data = {"safe": safe[component], "operations": count}
        yield Finding("finite", component, text, data)


def _computing(region: Region) -> Iterator[Op]:
    for op in region.walk():
        if op.name != "constant" and not op.regions:
            yield op
