"""The report of plan.explain(): the model, its IR, the removed parts, and the machine code."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from psylang.ir.graph import Parameter, Program
from psylang.runtime.variants import Variant

if TYPE_CHECKING:
    from psylang.passes.pipeline import Record

ORIGINS_MAX = 20
REMOVING = frozenset({"DeadCode", "CommonSubexpressions"})


class Explanation:
    """str() gives text, `_repr_html_` HTML for notebooks; `sections` has the same as data."""

    def __init__(
        self,
        program: Program,
        precision: str,
        optimised: Program,
        variants: Sequence[Variant],
        records: Sequence[Record],
    ) -> None:
        self.sections: dict[str, list[tuple[str, str]]] = {
            "model": _model(program, precision),
            "arguments": _arguments(program),
            "operations": _operations(program),
            "passes": [_pass(record) for record in records],
            "removed": [*_gone(program, optimised), *_removed(records)],
            "machine code": [_variant(one, precision) for one in variants],
        }

    def __str__(self) -> str:
        lines = []
        for title, rows in self.sections.items():
            lines.append(title)
            width = max((len(name) for name, _ in rows), default=0)
            lines += [f"  {name:<{width}}  {text}" for name, text in rows] or ["  none"]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        left = "style='text-align:left'"
        parts = ["<table>"]
        for title, rows in self.sections.items():
            parts.append(f"<tr><th colspan=2 {left}>{html.escape(title)}</th></tr>")
            parts += [
                f"<tr><td {left}>{html.escape(name)}</td><td {left}>{html.escape(text)}</td></tr>"
                for name, text in rows
            ]
        return "".join([*parts, "</table>"])


def _model(program: Program, precision: str) -> list[tuple[str, str]]:
    kind = "independent: in any order, several at once"
    if not program.is_independent():
        kind = "in order within a sequence; sequences at once"
    return [
        ("name", program.name),
        ("numerics", program.numerics),
        ("precision", precision),
        ("trials", kind),
        ("random streams", ", ".join(program.streams) or "none"),
        *((f"note: {name}", text) for name, text in program.notes.items()),
    ]


def _arguments(program: Program) -> list[tuple[str, str]]:
    return [
        *((one.name, f"parameter {one.type}{_default(one)}") for one in program.parameters),
        *((one.name, f"input {one.type}, a row a trial") for one in program.inputs),
        *((one.name, f"state {one.type}") for one in program.states),
        *((one.name, f"output {one.type}") for one in program.outputs),
    ]


def _default(parameter: Parameter) -> str:
    text = f", default {np.array2string(parameter.default, separator=', ', threshold=8)}"
    if parameter.range is not None:
        text += f", within {parameter.range[0]:g} … {parameter.range[1]:g}"
    return text


def _operations(program: Program) -> list[tuple[str, str]]:
    """The number of operations of each element of the model."""
    counts = Counter(op.origin.component or "(shared)" for op in program.body.walk())
    rows = [(name, f"{count} operations") for name, count in counts.most_common(ORIGINS_MAX)]
    rest = sum(counts.values()) - sum(count for _, count in counts.most_common(ORIGINS_MAX))
    if rest:
        rows.append(("others", f"{rest} operations"))
    return [("all", f"{sum(counts.values())} operations"), *rows]


def _pass(record: Record) -> tuple[str, str]:
    return record.name, (
        f"{record.ops_before} to {record.ops_after} operations in {record.seconds * 1e3:.1f} ms"
    )


def _gone(program: Program, optimised: Program) -> list[tuple[str, str]]:
    """Elements of the model without remaining operations."""
    before, after = (
        {op.origin.component for op in one.body.walk() if op.name != "constant"}
        for one in (program, optimised)
    )
    return [(name, "altogether") for name in sorted(before - after)]


def _removed(records: Sequence[Record]) -> list[tuple[str, str]]:
    """The removed dead code and repetitions, by element of the model; not rewritten parts."""
    counts: Counter[str] = Counter()
    for record in records:
        if record.name in REMOVING:
            for removed in record.removed:
                counts[str(removed.origin) or "(shared)"] += removed.count
    return [(name, f"{count} operations") for name, count in counts.most_common(ORIGINS_MAX)]


def _variant(variant: Variant, precision: str) -> tuple[str, str]:
    name = variant.target.name
    if variant.varying:
        name += f", {', '.join(sorted(variant.varying))} a trial"
    width = variant.target.width
    if width > 1 and precision == "f32":
        width *= 2
    how = "from the cache" if variant.cached else "compiled"
    outputs = ", ".join(output.name for output in variant.program.outputs)
    return name, (
        f"{width} trials at once, {variant.kernel.size} bytes, {how} in "
        f"{variant.seconds * 1e3:.0f} ms, gives {outputs}"
    )
