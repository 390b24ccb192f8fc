"""Clones: finds computations that two programs share, and their differences.

For every cell of the small program (a carried value of a loop, or a state), compare(small, large)
searches for a cell of the large one whose next value has the same formula under one renaming of
carried values, arguments and draws. Additional terms of the large program are differences, listed
by component.

first_passage() finds decisions that have a closed form: loops that add a constant and a normal draw
until they reach a threshold on either side.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from psylang.analysis.canonical import (
    Atom,
    Canonical,
    Cell,
    Form,
    Product,
    of_atom,
    ordered,
    plus,
    scaled,
    shown_term,
)
from psylang.errors import ProgramError
from psylang.ir.graph import Op, Program, Value
from psylang.ir.interpret import replayed
from psylang.numerics import expansions

STEPS_MAX = 200_000  # Steps of the search for a renaming.
_RENAMED = frozenset({"carried", "state", "input", "draw"})


@dataclass(frozen=True)
class Match:
    """small, large: the cells, as component and label. extra: terms of the large cell's next value
    that the small cell's lacks; empty if they are equal."""

    small: str
    large: str
    extra: tuple[str, ...]


@dataclass(frozen=True)
class Comparison:
    """matches: one per cell of the small program, in its order. consistent: one renaming fits all
    cells; otherwise each cell has its own, and the connections of the cells differ. missing: cells
    without a counterpart. renaming: maps the small program's atoms."""

    matches: tuple[Match, ...]
    missing: tuple[str, ...]
    consistent: bool
    renaming: Mapping[Atom, Atom] = field(default_factory=dict)

    @property
    def equal(self) -> bool:
        """Every cell has an equal cell, under one renaming."""
        return self.consistent and self.included and not any(one.extra for one in self.matches)

    @property
    def included(self) -> bool:
        """Every cell has a counterpart with the same terms and perhaps more."""
        return not self.missing and bool(self.matches)


def compare(small: Program, large: Program) -> Comparison:
    """Finds the cells of `small` in `large`."""
    mine, others = _cells(Canonical(small)), _cells(Canonical(large))
    for extra_allowed in (False, True):
        found = _Renaming(mine, others, extra_allowed).all()
        if found is not None:
            return found
    return _one_by_one(mine, others)


def _cells(of: Canonical) -> list[Cell]:
    """The cells of all loops, or else the states: floats that change."""
    every = [
        cell
        for loop in of.loops
        for cell, value in zip(loop.cells, loop.op.results, strict=True)
        if value.type.dtype.is_float
    ]
    cells = every or list(of.states)
    return [cell for cell in cells if cell.after != of_atom(cell.atom)]


def _name(cell: Cell) -> str:
    return f"{cell.component}: {cell.label}"


class _GivenUpError(Exception):
    """The search took too many steps. Never leaves this module."""


class _Renaming:
    """Searches by backtracking for a map from the small program's atoms to the large one's."""

    def __init__(self, small: Sequence[Cell], large: Sequence[Cell], extra: bool) -> None:
        self._small, self._large, self._extra = small, large, extra
        self._cell_of = {cell.atom: cell for cell in small}
        self._other_of = {cell.atom: cell for cell in large}
        self._steps = 0

    def all(self) -> Comparison | None:
        try:
            for to in self._cells({}):
                return self._comparison(to)
        except (_GivenUpError, RecursionError):
            pass
        return None

    def _comparison(self, to: Mapping[Atom, Atom]) -> Comparison:
        matches = []
        for cell in self._small:
            other = self._other_of[to[cell.atom]]
            extra = _extra(cell.after, other.after, to)
            matches.append(Match(_name(cell), _name(other), extra))
        return Comparison(tuple(matches), (), True, dict(to))

    def _cells(self, to: dict[Atom, Atom]) -> Iterator[dict[Atom, Atom]]:
        """Renamings of all cells, beginning with cells that are bound but not compared yet."""
        yield from self._next(to, frozenset())

    def _next(self, to: dict[Atom, Atom], done: frozenset[Atom]) -> Iterator[dict[Atom, Atom]]:
        bound = [cell for cell in self._small if cell.atom in to and cell.atom not in done]
        rest = [cell for cell in self._small if cell.atom not in done]
        if not rest:
            yield to
            return
        cell = bound[0] if bound else rest[0]
        if cell.atom in to:
            choices = [to[cell.atom]]
        else:
            taken = set(to.values())
            choices = [other.atom for other in self._large if other.atom not in taken]
        for choice in choices:
            other = self._other_of.get(choice)
            if other is None:
                continue
            begun = {**to, cell.atom: choice}
            for made in self.form(cell.after, other.after, begun):
                yield from self._next(made, done | {cell.atom})

    def form(self, a: Form, b: Form, to: dict[Atom, Atom]) -> Iterator[dict[Atom, Atom]]:
        """All renamings under which a's terms are among b's."""
        if len(a.terms) > len(b.terms) or (not self._extra and len(a.terms) != len(b.terms)):
            return
        mine = sorted(a.terms.items(), key=lambda term: (len(term[0]), str(term[0])), reverse=True)
        yield from self._terms(mine, dict(b.terms), to)

    def _terms(
        self,
        mine: Sequence[tuple[Product, float]],
        rest: dict[Product, float],
        to: dict[Atom, Atom],
    ) -> Iterator[dict[Atom, Atom]]:
        if not mine:
            yield to
            return
        (product, c), *more = mine
        for other, d in rest.items():
            if c != d or len(product) != len(other):
                continue
            left = {key: value for key, value in rest.items() if key != other}
            for made in self._factors(list(product), list(other), to):
                yield from self._terms(more, left, made)

    def _factors(
        self,
        mine: Sequence[tuple[Atom, int]],
        others: Sequence[tuple[Atom, int]],
        to: dict[Atom, Atom],
    ) -> Iterator[dict[Atom, Atom]]:
        if not mine:
            yield to
            return
        (atom, power), *more = mine
        for k, (other, exponent) in enumerate(others):
            if power == exponent:
                left = [*others[:k], *others[k + 1 :]]
                for made in self._atom(atom, other, to):
                    yield from self._factors(more, left, made)

    def _atom(self, a: Atom, b: Atom, to: dict[Atom, Atom]) -> Iterator[dict[Atom, Atom]]:
        self._steps += 1
        if self._steps > STEPS_MAX:
            raise _GivenUpError
        if a.kind != b.kind:
            return
        if a.kind in _RENAMED:
            known = to.get(a)
            if known is not None:
                if known == b:
                    yield to
            elif b not in to.values() and self._may(a, b):
                yield {**to, a: b}
            return
        if a.name != b.name or len(a.of) != len(b.of):
            return
        yield from self._each(a.of, b.of, to)

    def _each(
        self, mine: Sequence[Form], others: Sequence[Form], to: dict[Atom, Atom]
    ) -> Iterator[dict[Atom, Atom]]:
        if not mine:
            yield to
            return
        for made in self.form(mine[0], others[0], to):
            yield from self._each(mine[1:], others[1:], made)

    def _may(self, a: Atom, b: Atom) -> bool:
        """Returns whether the atoms may correspond: a cell to a cell, a draw to a draw of its kind,
        another value to another value."""
        if (a in self._cell_of) != (b in self._other_of):
            return False
        return a.kind != "draw" or a.name.split()[0] == b.name.split()[0]


def _one_by_one(small: Sequence[Cell], large: Sequence[Cell]) -> Comparison:
    """Compares each cell separately: takes the first cell of the other program with the fewest
    extra terms."""
    matches, missing = [], []
    for cell in small:
        found = (
            _alone(cell, small, other, large, extra) for extra in (False, True) for other in large
        )
        best = next((one for one in found if one is not None), None)
        if best is None:
            missing.append(_name(cell))
        else:
            matches.append(best)
    return Comparison(tuple(matches), tuple(missing), len(small) == len(matches) == 1)


def _alone(
    cell: Cell, small: Sequence[Cell], other: Cell, large: Sequence[Cell], extra: bool
) -> Match | None:
    """Returns a match if a cell's next value equals another cell's, or is a part of it."""
    for part in _parts(other.after):
        search = _Renaming(small, large, extra)
        try:
            to = next(search.form(cell.after, part, {cell.atom: other.atom}), None)
        except (_GivenUpError, RecursionError):
            to = None
        if to is not None:
            more = _extra(cell.after, part, to)
            if part is not other.after:
                more = (*more, f"within {other.after}".replace(str(part), "…"))
            return Match(_name(cell), _name(other), more)
    return None


def _parts(form: Form) -> Iterator[Form]:
    """The form, and the arguments of the functions of which it consists."""
    yield form
    if len(form.terms) == 1:
        ((product, _),) = form.terms.items()
        for atom, _ in product:
            for inner in atom.of if atom.kind != "draw" else ():
                if inner.number is None:
                    yield from _parts(inner)


def _extra(a: Form, b: Form, to: Mapping[Atom, Atom]) -> tuple[str, ...]:
    """The terms of b without a counterpart in a, at the first depth with such terms."""
    names = {_renamed(product, to) for product in a.terms}
    found = [shown_term(product, c) for product, c in b.terms.items() if product not in names]
    if len(b.terms) > len(a.terms) or not found:
        return tuple(found)
    # Equal numbers of terms: the difference is within a function.
    inner_a = [f for product in a.terms for atom, _ in product for f in atom.of]
    inner_b = [f for product in b.terms for atom, _ in product for f in atom.of]
    for one, other in zip(inner_a, inner_b, strict=False):
        deeper = _extra(one, other, to)
        if deeper:
            return deeper
    return tuple(found)


def _renamed(product: Product, to: Mapping[Atom, Atom]) -> Product:
    made = [(to.get(atom, _inside(atom, to)), power) for atom, power in product]
    return ordered(made)


def _inside(atom: Atom, to: Mapping[Atom, Atom]) -> Atom:
    if not atom.of:
        return atom
    inner = tuple(
        Form({_renamed(product, to): c for product, c in form.terms.items()}) for form in atom.of
    )
    return Atom(atom.kind, atom.name, inner)


# Confirmation: both programs are run.


def difference(small: Program, large: Program, found: Comparison, trials: int = 3) -> float:
    """The greatest relative difference of the outputs' matched cells when both programs are
    interpreted, with the small one's inputs and draws renamed; 0 or some roundings if they are
    clones. found: their comparison, consistent and without extra terms. ProgramError: it is not."""
    if not found.equal:
        raise ProgramError("only programs found equal can be run side by side")
    mine, other = Canonical(small), Canonical(large)
    back = {to: of for of, to in found.renaming.items()}
    rng = np.random.default_rng(0)
    numbers: dict[tuple[Atom, int], float] = {}

    def number(atom: Atom, n: int) -> float:
        """The value of an atom of the small program at its n-th use."""
        key = (atom, n)
        if key not in numbers:
            numbers[key] = float(rng.normal())
        return numbers[key]

    first = _followed(mine, number, trials)
    second = _followed(other, lambda atom, n: number(back.get(atom, atom), n), trials)
    worst = 0.0
    for atom, values in first.items():
        pairs = zip(values, second[found.renaming[atom]], strict=True)
        worst = max(worst, *(abs(a - b) / max(abs(a), 1e-300) for a, b in pairs if a != b), 0.0)
    return worst


def _followed(
    of: Canonical, number: Callable[[Atom, int], float], trials: int
) -> dict[Atom, list[float]]:
    """The value of each cell at the end of its loop, or of a trial, in all trials. number: gives
    the value of an input or a draw."""
    program = of.program
    atom_of = {op: atom for atom, op in of.draws.items()}
    drawn: Counter[Atom] = Counter()

    def draw(op: Op) -> float:
        atom = atom_of[op]
        drawn[atom] += 1
        return number(atom, drawn[atom])

    cells = _cells(of)
    wanted: dict[Value, Atom] = {}
    for loop in of.loops:
        for cell, value in zip(loop.cells, loop.op.results, strict=True):
            if cell in cells:
                wanted[value] = cell.atom
    seen: dict[Atom, list[float]] = {}
    states = [np.array(one.initial)[()] for one in program.states]
    parameters = [one.default[()] for one in program.parameters]
    for trial in range(trials):
        inputs = []
        for one in program.inputs:
            names = [one.name]
            if one.type.shape:
                places = np.ndindex(*one.type.shape)
                names = [f"{one.name}[{', '.join(map(str, place))}]" for place in places]
            flat = [number(Atom("input", name), trial) for name in names]
            inputs.append(np.array(flat).reshape(one.type.shape)[()])
        arguments = [*parameters, *inputs, *states, np.int64(0), np.int64(trial)]
        results, kept = replayed(program, arguments, draw, wanted, expansions())
        for value, atom in wanted.items():
            seen.setdefault(atom, []).extend(map(float, kept[value]))
        states = results[len(program.outputs) :]
        if not wanted:
            left = [x for state in states for x in np.ravel(state).tolist()]
            for cell, x in zip(of.states, left, strict=True):
                if cell in cells:
                    seen.setdefault(cell.atom, []).append(float(x))
    return seen


# Decisions with a closed form.


@dataclass(frozen=True)
class FirstPassage:
    """A loop that is a random walk to ±threshold: x' = x + drift + noise * z. drift, noise and
    threshold are forms that the loop does not change, per step."""

    component: str
    drift: Form
    noise: Form
    threshold: Form


def first_passage(program: Program) -> list[FirstPassage]:
    """The loops that are drift-diffusion processes, whose moments are known in closed form."""
    found = []
    forms = Canonical(program)
    for loop in forms.loops:
        carried = {cell.atom for cell in loop.cells}
        inside = set(loop.op.regions[0].walk())
        fresh = {
            atom
            for atom, op in forms.draws.items()
            # In `exact` every draw is a different number; in `fast` its step identifies the round.
            if op in inside
            and (program.numerics == "exact" or any(_mentions_form(f, carried) for f in atom.of))
        }
        for cell in loop.cells:
            made = _walk(cell, carried, fresh, loop.again)
            if made is not None:
                drift, noise, threshold = made
                found.append(FirstPassage(loop.op.origin.component, drift, noise, threshold))
    return found


def _walk(
    cell: Cell, carried: set[Atom], fresh: set[Atom], again: Form
) -> tuple[Form, Form, Form] | None:
    """(drift, noise, threshold) if the cell is such a walk. fresh: draws with a new number each
    round."""
    change = plus(cell.after, scaled(of_atom(cell.atom), -1.0))
    drift: dict[Product, float] = {}
    noise: dict[Product, float] = {}
    draws = set()
    for product, c in change.terms.items():
        drawn = [atom for atom, _ in product if atom.kind == "draw"]
        others = tuple((atom, power) for atom, power in product if atom.kind != "draw")
        if any(_mentions(atom, carried) for atom, _ in others):
            return None
        if not drawn:
            drift[product] = c
            continue
        once = len(drawn) == 1 and ((drawn[0], 1) in product)
        if not once or drawn[0] not in fresh or not drawn[0].name.startswith("normal "):
            return None
        draws.add(drawn[0])
        noise[others] = c
    if len(draws) != 1 or not noise:
        return None
    for condition in _all_of(again):
        threshold = _threshold(condition, cell.after)
        if threshold is not None and not _mentions_form(threshold, carried):
            return Form(drift), Form(noise), threshold
    return None


def _all_of(condition: Form) -> Iterator[Atom]:
    if len(condition.terms) != 1:
        return
    ((product, _),) = condition.terms.items()
    for atom, _ in product:
        if atom.kind == "and":
            for form in atom.of:
                yield from _all_of(form)
        else:
            yield atom


def _threshold(condition: Atom, after: Form) -> Form | None:
    """t of |after| < t."""
    if condition.kind not in ("positive", "not negative"):
        return None
    size = of_atom(Atom("abs", of=(after,)))
    threshold = plus(condition.of[0], size)
    return threshold if len(threshold.terms) < len(plus(threshold, size).terms) else None


def _mentions(atom: Atom, carried: set[Atom]) -> bool:
    return atom in carried or any(_mentions_form(form, carried) for form in atom.of)


def _mentions_form(form: Form, carried: set[Atom]) -> bool:
    return any(_mentions(atom, carried) for product in form.terms for atom, _ in product)


__all__ = ["Comparison", "FirstPassage", "Match", "compare", "difference", "first_passage"]
