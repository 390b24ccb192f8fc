"""Programs as text: to read, store, pickle (ir/__init__.py) and test. It parses back bit by bit.

    program "race" fast {
      stream "noise" seed 0
      parameter %rate: f64 "rate" = 0.5
      seed %seed
      trial %trial
      %0: f64 = constant 0.0
      %1: i32 = constant 0
      %x: f64, %n: i32 = loop(%0, %1) {limit = 1000} do (%x.1: f64, %n.1: i32) {  # race
        …
        yield %again, %y, %m
      }
      output "steps": i32 = %n
    }

Values are named by their hints, or by numbers; `.1` distinguishes equal hints. A comment behind
an operation is its origin: component.port.parameter @ source, with parts in quotes if they are
not plain words. A comment on a line of its own is for readers and is dropped. Floats read back
exactly; a NaN that is not Python's own has its bits behind it. The grammar stands in parse.py.
"""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Iterable, Sequence
from typing import Any

from psylang.ir.graph import NOWHERE, Op, Origin, Program, Region, Value
from psylang.ir.parse import ParseError, parse_program
from psylang.ir.seeds import Begun

__all__ = ["ParseError", "parse_program", "print_program"]

WORD = re.compile(r"[A-Za-z0-9_\-]+")
NAN = struct.pack("<d", math.nan)


def print_program(program: Program) -> str:
    """The program as text, with a new line at its end."""
    return "\n".join(_Printer().program(program)) + "\n"


class _Printer:
    def __init__(self) -> None:
        self._names: dict[Value, str] = {}
        self._counts: dict[str, int] = {}

    def program(self, program: Program) -> Iterable[str]:
        yield f"program {quoted(program.name)} {program.numerics} {{"
        for stream, seed in zip(program.streams, program.stream_seeds, strict=True):
            begun = f" state {quoted(seed.packed())}" if isinstance(seed, Begun) else ""
            yield f"  stream {quoted(stream)} seed {int(seed)}{begun}"
        for key, note in program.notes.items():
            yield f"  note {quoted(key)} = {quoted(note)}"
        arguments = iter(program.body.arguments)
        for one in program.parameters:
            bounds = ""
            if one.range is not None:
                bounds = f" range {literal(float(one.range[0]))} {literal(float(one.range[1]))}"
            default = literal(one.default.tolist())
            yield f"  parameter {self._defined(next(arguments), one.name, default)}{bounds}"
        for given in program.inputs:
            array = None if given.default is None else literal(given.default.tolist())
            yield f"  input {self._defined(next(arguments), given.name, array)}"
        for state in program.states:
            initial = literal(state.initial.tolist())
            yield f"  state {self._defined(next(arguments), state.name, initial)}"
        yield f"  seed {self._name(next(arguments))}"
        yield f"  trial {self._name(next(arguments))}"
        yield from self._ops(program.body.ops, "  ")
        yields = iter(program.body.yields)
        for output in program.outputs:
            dims = f" {literal(output.dims)}" if output.dims else ""
            name = self._name(next(yields))
            yield f"  output {quoted(output.name)}: {output.type}{dims} = {name}"
        for state in program.states:
            yield f"  next {quoted(state.name)} = {self._name(next(yields))}"
        yield "}"

    def _defined(self, value: Value, name: str, default: str | None) -> str:
        first = f"{self._typed(value)} {quoted(name)}"
        return first if default is None else f"{first} = {default}"

    def _ops(self, ops: Iterable[Op], indent: str) -> Iterable[str]:
        for op in ops:
            operands = [self._name(value) for value in op.operands]
            results = ", ".join(map(self._typed, op.results))
            head = f"{results} = {op.name}" if results else op.name
            origin = f"  # {origin_text(op.origin)}" if op.origin != NOWHERE else ""
            if op.name == "constant":
                yield f"{indent}{head} {literal(op.attributes['value'])}{origin}"
                continue
            head += f"({', '.join(operands)})"
            if op.attributes:
                pairs = [f"{name} = {literal(value)}" for name, value in op.attributes.items()]
                head += f" {{{', '.join(pairs)}}}"
            yield from self._regions(indent + head, op.regions, indent, origin)

    def _regions(
        self, head: str, regions: Sequence[Region], indent: str, origin: str
    ) -> Iterable[str]:
        for number, region in enumerate(regions):
            arguments = ", ".join(map(self._typed, region.arguments))
            begin = f"{head} do" if number == 0 else f"{indent}}} else"
            yield f"{begin}{f' ({arguments})' if arguments else ''} {{{origin}"
            origin = ""
            yield from self._ops(region.ops, indent + "  ")
            yield f"{indent}  yield {', '.join(map(self._name, region.yields))}".rstrip()
        yield f"{indent}}}" if regions else f"{head}{origin}"

    def _typed(self, value: Value) -> str:
        return f"{self._name(value)}: {value.type}"

    def _name(self, value: Value) -> str:
        name = self._names.get(value)
        if name is None:
            hint = re.sub(r"[^A-Za-z0-9_]", "_", value.hint)
            if hint[:1].isdigit():
                hint = f"_{hint}"
            count = self._counts.get(hint, 0)
            self._counts[hint] = count + 1
            name = f"%{hint}.{count}" if hint and count else f"%{hint or count}"
            self._names[value] = name
        return name


def quoted(text: str) -> str:
    """The text in double quotes, as JSON writes it."""
    return json.dumps(text, ensure_ascii=False)


def literal(value: Any) -> str:
    """The literal of an attribute or of an array's element."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (tuple, list)):
        return f"[{', '.join(map(literal, value))}]"
    if isinstance(value, float):
        bits = struct.pack("<d", value)
        if value != value and bits != NAN:
            return f"nan:{struct.unpack('<Q', bits)[0]:016x}"
        return repr(value)
    return quoted(value) if isinstance(value, str) else str(value)


def origin_text(origin: Origin) -> str:
    """component.port.parameter @ source, without empty parts at the end."""
    parts = [origin.component, origin.port, origin.parameter]
    while parts and not parts[-1]:
        parts.pop()
    text = ".".join(part if not part or WORD.fullmatch(part) else quoted(part) for part in parts)
    return f"{text} @ {quoted(origin.source)}".lstrip() if origin.source else text
