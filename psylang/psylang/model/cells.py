"""The values of a trial during lowering, by key, with a record of reads and writes.

Keys are ("memory", node, slot), ("port", node, port), ("steps", node), ("truncated",), and those of
a schedule: ("count", schedule, unit, scale, node), ("since", schedule, node, owner),
("times", schedule, scale, number), ("ran", schedule, node), ("holds", schedule, number) of an
override, ("done", schedule); and what a search
keeps: ("level", schedule, number) and ("spent", schedule, number) of its signals, ("block",
schedule) and ("key", schedule) of its seeds. Numbers and truths are plain Python while they are
known, else values of the IR.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from psylang.ir.graph import Value
from psylang.ir.types import BOOL, I32
from psylang.model.context import Context

Key = tuple[str, ...]
Cell = int | bool | Value
TRUTHS = ("ran", "done", "truncated", "holds")
SUMS = ("level", "spent")


def default(key: Key) -> Cell:
    """The value of a counter or a truth before it is written."""
    return False if key[0] in TRUTHS else 0


def is_kept(key: Key) -> bool:
    """Returns whether a schedule's cell goes on from trial to trial."""
    if key[0] in ("ran", *SUMS, "block", "key"):
        return True
    return (key[0] == "count" and key[3] == "run") or (key[0] == "times" and key[2] == "run")


@dataclass
class Cells:
    """known: the values. exposed: keys that were read before they were written here. written:
    keys in order of their first writing; definite: keys that are written on every path."""

    known: dict[Key, Cell] = field(default_factory=dict)
    exposed: dict[Key, None] = field(default_factory=dict)
    written: dict[Key, None] = field(default_factory=dict)
    definite: set[Key] = field(default_factory=set)

    def inner(self) -> Cells:
        """The same values, with a record of their own."""
        return Cells(dict(self.known))

    def note_read(self, key: Key) -> None:
        if key not in self.definite:
            self.exposed.setdefault(key)

    def write(self, key: Key, value: Cell, always: bool = True) -> None:
        self.known[key] = value
        self.written.setdefault(key)
        if always:
            self.definite.add(key)


class Logic:
    """Truths and counts, plain or of the IR; plain ones are computed here."""

    def __init__(self, context: Context | None) -> None:
        self._context = context

    @property
    def context(self) -> Context:
        if self._context is None:
            raise NotKnownError
        return self._context

    def value(self, cell: Cell) -> Value:
        """A plain number or truth as a value."""
        if isinstance(cell, Value):
            return cell
        return self.context.build.constant(cell, BOOL if isinstance(cell, bool) else I32)

    def both(self, a: Cell, b: Cell) -> bool | Value:
        if isinstance(a, Value) and isinstance(b, Value):
            return self.context.build.and_(a, b)
        plain, other = (b, a) if isinstance(a, Value) else (a, b)
        return (other if isinstance(other, Value) else bool(other)) if plain else False

    def either(self, a: Cell, b: Cell) -> bool | Value:
        if isinstance(a, Value) and isinstance(b, Value):
            return self.context.build.or_(a, b)
        plain, other = (b, a) if isinstance(a, Value) else (a, b)
        return True if plain else (other if isinstance(other, Value) else bool(other))

    def negated(self, a: Cell) -> bool | Value:
        return self.context.build.not_(a) if isinstance(a, Value) else not a

    def at_least(self, count: Cell, n: int) -> bool | Value:
        return self.context.build.ge(count, n) if isinstance(count, Value) else count >= n

    def plus(self, a: Cell, b: Cell) -> Cell:
        if not isinstance(a, Value) and not isinstance(b, Value):
            return a + b
        if not isinstance(b, Value) and not b:
            return a
        return self.context.build.add(self.value(a), self.value(b))

    def multiple_of(self, count: Cell, n: int) -> bool | Value:
        if not isinstance(count, Value):
            return count % n == 0
        build = self.context.build
        return build.op("eq", build.op("urem", count, n), 0)

    def counted(self, count: Cell, ran: Cell) -> Cell:
        """One more, if `ran`."""
        if not isinstance(count, Value) and not isinstance(ran, Value):
            return count + int(ran)
        build = self.context.build
        if not isinstance(ran, Value):
            return build.add(self.value(count), 1) if ran else count
        return build.add(self.value(count), self.choice(ran, 1, 0))

    def choice(self, condition: Cell, yes: Cell, no: Cell) -> Cell:
        if not isinstance(condition, Value):
            return yes if condition else no
        return self.context.build.select(condition, self.value(yes), self.value(no))


class NotKnownError(Exception):
    """A condition depends on a value that is known only at run time. Never leaves this package."""
