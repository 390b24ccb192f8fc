"""A digest of a program's computation: equal programs have equal digests, whatever their names.

It is the key of the cache of objects. Values are numbered in the order of their definitions, so
hints and origins, which do not reach the machine code, do not count; nor do the defaults of
parameters, inputs and states, which the caller puts into buffers. Names and their order do.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from psylang.ir.graph import Op, Program, Region, Value
from psylang.ir.types import Type


def digest(program: Program) -> str:
    """64 hexadecimal digits."""
    return hashlib.sha256("\n".join(_Writer().program(program)).encode()).hexdigest()


class _Writer:
    """Lines of a text that two programs share if and only if they compute the same."""

    def __init__(self) -> None:
        self._numbers: dict[Value, int] = {}

    def program(self, program: Program) -> Iterable[str]:
        yield f"{program.name!r} {program.numerics} {program.streams!r}"
        for kind, slots in (
            ("parameter", program.parameters),
            ("input", program.inputs),
            ("state", program.states),
            ("output", program.outputs),
        ):
            for slot in slots:
                limits = getattr(slot, "range", None)
                yield f"{kind} {slot.name!r} {slot.type} {limits!r}"
        yield from self._region(program.body)

    def _region(self, region: Region) -> Iterable[str]:
        yield f"region {self._define(region.arguments)}"
        for op in region.ops:
            yield from self._op(op)
        yield f"yield {self._use(region.yields)}"

    def _op(self, op: Op) -> Iterable[str]:
        attributes = " ".join(
            f"{name}={_attribute(value)}" for name, value in sorted(op.attributes.items())
        )
        yield f"{op.name} {self._use(op.operands)} {attributes}"
        for region in op.regions:
            yield from self._region(region)
        yield f"to {self._define(op.results)}"

    def _define(self, values: tuple[Value, ...]) -> str:
        texts = []
        for value in values:
            self._numbers[value] = len(self._numbers)
            texts.append(f"{self._numbers[value]}:{value.type}")
        return " ".join(texts)

    def _use(self, values: tuple[Value, ...]) -> str:
        return " ".join(str(self._numbers[value]) for value in values)


def _attribute(value: object) -> str:
    return str(value) if isinstance(value, Type) else repr(value)
