"""The order of the passes, and the record of what each of them did."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from psylang.ir.graph import Origin, Program
from psylang.passes.constants import Constants
from psylang.passes.copies import Copies
from psylang.passes.cse import CommonSubexpressions
from psylang.passes.dead_code import DeadCode
from psylang.passes.expand import Expand, Expansion
from psylang.passes.hoist import Hoist
from psylang.passes.if_conversion import IfConversion
from psylang.passes.layout import Layout
from psylang.passes.order import Order
from psylang.passes.rewrite import Pass
from psylang.passes.scalarise import Scalarise
from psylang.passes.strip_mine import StripMine
from psylang.passes.unroll import Unroll

CLEANING: tuple[Pass, ...] = (Constants(), Copies(), CommonSubexpressions(), DeadCode())
# In `exact` a branch is converted if both sides cost at most about as much as a mispredicted jump.
EXACT_BRANCH_COST = 32


@dataclass(frozen=True)
class Settings:
    """The settings of optimise() beyond cleaning.

    keep_signature: unread parameters, inputs and states stay declared.
    unroll, strip_mine, if_conversion: None leaves the pass out. Of if_conversion None stands for
    the numerics' own: every `if` in `fast`, cheap ones without loops in `exact`.
    calls_min: as for Expand; the program is then not only of what every target computes.
    """

    keep_signature: bool = False
    unroll: Unroll | None = field(default_factory=Unroll)
    strip_mine: StripMine | None = field(default_factory=StripMine)
    if_conversion: IfConversion | None = None
    calls_min: int | None = None


@dataclass(frozen=True)
class Removed:
    """The number of operations `name` of `origin` that a pass removed or replaced."""

    origin: Origin
    name: str
    count: int


@dataclass(frozen=True)
class Record:
    """The effect of one pass. ops_before, ops_after: operations, constants not counted."""

    name: str
    seconds: float
    ops_before: int
    ops_after: int
    removed: tuple[Removed, ...]


def passes_for(
    program: Program, expansions: Mapping[str, Expansion], settings: Settings
) -> Sequence[Sequence[Pass]]:
    """The passes, in order. A group CLEANING is left out if nothing changed since the last one."""
    fast = program.numerics == "fast"
    ifs = settings.if_conversion or (
        IfConversion() if fast else IfConversion(EXACT_BRANCH_COST, loops=False)
    )
    groups: list[Sequence[Pass]] = [[Scalarise()], CLEANING]
    if settings.unroll is not None:
        groups += [[settings.unroll], CLEANING]
    groups += [[ifs], CLEANING]
    if fast:
        mine = [] if settings.strip_mine is None else [settings.strip_mine]
        groups += [[*mine, Expand(expansions, settings.calls_min)]]
    groups += [CLEANING, [Hoist()], CLEANING, [Order()]]
    if not settings.keep_signature:
        groups.append([Layout()])
    return groups


def optimise(
    program: Program,
    expansions: Mapping[str, Expansion],
    settings: Settings | None = None,
    records: list[Record] | None = None,
) -> Program:
    """The program for the emitters: only scalars, and only needed ones.

    expansions: for `fast` (numerics/); not used for `exact`.
    records: receives one record of each pass that changed the program. PassError: as for Expand.
    """
    cleaned: Program | None = None
    for group in passes_for(program, expansions, settings or Settings()):
        if group is CLEANING and program is cleaned:
            continue
        for one in group:
            before, begin = program, time.perf_counter()
            program = one(before)
            if records is not None and program is not before:
                records.append(_record(one, before, program, time.perf_counter() - begin))
        if group is CLEANING:
            cleaned = program
    return program


def _record(by: Pass, before: Program, after: Program, seconds: float) -> Record:
    had, has = _counted(before), _counted(after)
    removed = tuple(Removed(*key, count) for key, count in (had - has).items())
    return Record(type(by).__name__, seconds, had.total(), has.total(), removed)


def _counted(program: Program) -> Counter[tuple[Origin, str]]:
    return Counter((op.origin, op.name) for op in program.body.walk() if op.name != "constant")
