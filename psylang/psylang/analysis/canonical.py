"""Canonical forms of values: equal formulas have equal forms, however they are written.

A form is a sum of products over atoms, by the rules of real numbers: sums and products are sorted
and multiplied out, constants are added up, `x * 0` is removed. Atoms are values that a program
receives, carries in a loop or draws, and functions of forms that are no sums (exp, 1/x, a
comparison). Forms ignore rounding, NaN and infinities: equal forms are equal except for rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from psylang.ir.graph import Op, Program, Region, Value
from psylang.ir.ops import DRAWS
from psylang.passes.constants import Constants
from psylang.passes.copies import Copies
from psylang.passes.cse import CommonSubexpressions
from psylang.passes.dead_code import DeadCode
from psylang.passes.scalarise import Scalarise

TERMS_MAX = 64  # Terms of a product that is multiplied out; a longer product is an atom.
DIGITS = 12
# A value that a loop carries twice is one value.
CLEANING = (Constants(), CommonSubexpressions(), Copies(), DeadCode())


@dataclass(frozen=True)
class Atom:
    """kind: parameter, input, state, carried, draw, or the name of a function. name: its name. of:
    the arguments of a function, as forms; in any order if `sorted`."""

    kind: str
    name: str = ""
    of: tuple[Form, ...] = ()

    def __str__(self) -> str:
        if self.kind == "draw":
            return self.name
        inner = ", ".join(map(str, self.of))
        return f"{self.kind}({inner})" if self.of else self.name or self.kind


# Atoms with their powers, sorted by their texts.
Product = tuple[tuple[Atom, int], ...]


class Form:
    """A sum: coefficients of products."""

    __slots__ = ("_hash", "_text", "terms")

    def __init__(self, terms: Mapping[Product, float]) -> None:
        rounded = {key: float(f"{c:.{DIGITS}g}") for key, c in terms.items()}
        self.terms: dict[Product, float] = {key: c for key, c in rounded.items() if c != 0}
        self._hash = hash(frozenset(self.terms.items()))
        self._text = ""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Form) and self.terms == other.terms

    def __hash__(self) -> int:
        return self._hash

    @property
    def number(self) -> float | None:
        """The form's value if it is a constant."""
        if not self.terms:
            return 0.0
        return self.terms.get(()) if len(self.terms) == 1 else None

    def __str__(self) -> str:
        if not self._text:
            terms = sorted(shown_term(key, c) for key, c in self.terms.items())
            self._text = " + ".join(terms) or "0"
        return self._text


def shown_term(product: Product, coefficient: float) -> str:
    factors = [str(atom) if power == 1 else f"{atom}^{power}" for atom, power in product]
    if coefficient != 1 or not factors:
        factors.insert(0, f"{coefficient:g}")
    return " * ".join(factors)


def constant(number: float) -> Form:
    return Form({(): number})


def of_atom(atom: Atom) -> Form:
    return Form({((atom, 1),): 1.0})


def plus(*forms: Form) -> Form:
    terms: dict[Product, float] = {}
    for form in forms:
        for key, c in form.terms.items():
            terms[key] = terms.get(key, 0.0) + c
    return Form(terms)


def scaled(form: Form, by: float) -> Form:
    return Form({key: c * by for key, c in form.terms.items()})


def times(a: Form, b: Form) -> Form:
    for one, other in ((a, b), (b, a)):
        if one.number is not None:
            return scaled(other, one.number)
    if len(a.terms) * len(b.terms) > TERMS_MAX:
        return of_atom(Atom("product", of=_sorted([a, b])))
    terms: dict[Product, float] = {}
    for p, c in a.terms.items():
        for q, d in b.terms.items():
            key = _multiplied(p, q)
            terms[key] = terms.get(key, 0.0) + c * d
    return Form(terms)


def _multiplied(p: Product, q: Product) -> Product:
    powers = dict(p)
    for atom, power in q:
        powers[atom] = powers.get(atom, 0) + power
    return ordered(powers.items())


def ordered(factors: Iterable[tuple[Atom, int]]) -> Product:
    return tuple(sorted(factors, key=lambda pair: (str(pair[0]), pair[1])))


def _sorted(forms: Sequence[Form]) -> tuple[Form, ...]:
    return tuple(sorted(forms, key=str))


@dataclass(frozen=True)
class Cell:
    """A carried value of a loop, or a state. after: its next value, as a form. atom: the value
    itself."""

    label: str
    component: str
    atom: Atom
    after: Form


@dataclass(frozen=True)
class Loop:
    """cells: its carried values. again: the condition, as a form. begins: the first value of each
    cell."""

    op: Op
    cells: tuple[Cell, ...]
    again: Form
    begins: tuple[Form, ...]


class Canonical:
    """The forms of a program. outputs: by name and element; states; loops, outer ones first. draws:
    the operation of each draw's atom."""

    def __init__(self, program: Program) -> None:
        for one in (Scalarise(), *CLEANING, *CLEANING):
            program = one(program)
        self.program = program
        self.loops: list[Loop] = []
        self.draws: dict[Atom, Op] = {}
        self._now: dict[Value, Form] = {}
        self._elements: dict[Value, list[Form]] = {}
        self._read_arguments()
        with np.errstate(all="ignore"):
            self._region(self.program.body)
        values = self.program.body.yields
        names = [one.name for one in self.program.outputs]
        names += [one.name for one in self.program.states]
        made = [self._forms_of(value) for value in values]
        self.outputs: dict[str, list[Form]] = dict(
            zip(names[: len(self.program.outputs)], made, strict=False)
        )
        self.states = tuple(self._cells_of_states(made[len(self.program.outputs) :]))

    def __getitem__(self, value: Value) -> Form:
        return self._now[value]

    def _read_arguments(self) -> None:
        program, arguments = self.program, iter(self.program.body.arguments)
        for kind, declared in (
            ("parameter", [one.name for one in program.parameters]),
            ("input", [one.name for one in program.inputs]),
            ("state", [one.name for one in program.states]),
            ("run", ["seed", "trial"]),
        ):
            for name in declared:
                value = next(arguments)
                if not value.type.shape:
                    self._now[value] = of_atom(Atom(kind, name))
                    continue
                places = list(np.ndindex(*value.type.shape))
                self._elements[value] = [
                    of_atom(Atom(kind, f"{name}[{', '.join(map(str, place))}]")) for place in places
                ]

    def _forms_of(self, value: Value) -> list[Form]:
        return self._elements[value] if value.type.shape else [self._now[value]]

    def _cells_of_states(self, after: Sequence[list[Form]]) -> list[Cell]:
        program = self.program
        first = len(program.parameters) + len(program.inputs)
        cells = []
        for state, value, forms in zip(
            program.states, program.body.arguments[first:], after, strict=False
        ):
            for place, form in zip(self._forms_of(value), forms, strict=True):
                (((atom, _),),) = place.terms
                node = state.name.rpartition(".")[0] or state.name
                cells.append(Cell(atom.name, node, atom, form))
        return cells

    # Operations.

    def _region(self, region: Region) -> None:
        for op in region.ops:
            if op.regions:
                self._structured(op)
            elif op.name == "extract":
                source, index = op.operands[0], op.attributes["index"]
                place = int(np.ravel_multi_index(index, source.type.shape)) if index else 0
                self._now[op.result] = self._forms_of(source)[place]
            elif op.name == "stack":
                self._elements[op.result] = [self._now[value] for value in op.operands]
            else:
                self._now[op.result] = self._plain(op)

    def _structured(self, op: Op) -> None:
        if op.name == "loop":
            self._loop(op)
            return
        operands = [self._now[value] for value in op.operands]
        for region in op.regions:
            for value in region.arguments:
                self._now[value] = of_atom(Atom("candidate"))
            self._region(region)
        inner = [[self._now[value] for value in region.yields] for region in op.regions]
        for k, value in enumerate(op.results):
            every = [forms[k] if k < len(forms) else forms[0] for forms in inner]
            self._now[value] = of_atom(Atom(op.name, str(k), (*operands, *every)))

    def _loop(self, op: Op) -> None:
        (body,) = op.regions
        begins = tuple(self._now[value] for value in op.operands)
        number = len(self.loops)
        self.loops.append(Loop(op, (), constant(0.0), begins))
        atoms = [
            Atom("carried", f"{value.hint or 'value'}#{number}.{k}")
            for k, value in enumerate(body.arguments)
        ]
        for value, atom in zip(body.arguments, atoms, strict=True):
            self._now[value] = of_atom(atom)
        self._region(body)
        again, *after = [self._now[value] for value in body.yields]
        cells = tuple(
            Cell(value.hint or f"carried {k}", _maker(body, yielded, op), atom, form)
            for k, (value, yielded, atom, form) in enumerate(
                zip(body.arguments, body.yields[1:], atoms, after, strict=True)
            )
        )
        self.loops[number] = Loop(op, cells, again, begins)
        for k, value in enumerate(op.results):
            inner = (again, after[k], *begins)
            self._now[value] = of_atom(Atom("loop", str(k), inner))

    def _plain(self, op: Op) -> Form:
        if op.name == "constant":
            return constant(float(op.attributes["value"]))
        forms = [self._now[value] for value in op.operands]
        if op.name in DRAWS:
            # Draws of `exact` are a sequence: each draw is a different number.
            kind, stream = op.name.removeprefix("random."), op.attributes["stream"]
            name = f"{kind} {self.program.streams[stream]}"
            if self.program.numerics == "exact":
                name = f"{name} {len(self.draws)}"
            else:
                name = f"{name} ({', '.join(map(str, forms[2:]))})"
            atom = Atom("draw", name, tuple(forms[2:]))
            self.draws[atom] = op
            return of_atom(atom)
        rule = _RULES.get(op.name)
        if rule is not None:
            return rule(*forms)
        numbers = [form.number for form in forms]
        known = [number for number in numbers if number is not None]
        if op.name in _FOLDED and len(known) == len(forms):
            try:
                return constant(_FOLDED[op.name](*known))
            except (ValueError, OverflowError):
                pass
        if op.name == "pow" and numbers[0] is not None and numbers[0] == math.e:
            return of_atom(Atom("exp", of=(forms[1],)))
        order = _sorted(forms) if op.name in _COMMUTE else tuple(forms)
        to = str(op.attributes.get("to", ""))
        return of_atom(Atom(op.name, to, order))


def _maker(body: Region, value: Value, loop: Op) -> str:
    """The component that computes the next value."""
    for op in body.ops:
        if value in op.results and op.origin.component:
            return op.origin.component
    return loop.origin.component


def _compared(strict: bool) -> Callable[[Form, Form], Form]:
    """a < b as b - a above 0."""

    def rule(a: Form, b: Form) -> Form:
        rest = plus(b, scaled(a, -1.0))
        if rest.number is not None:
            return constant(float(rest.number > 0 or (rest.number == 0 and not strict)))
        return of_atom(Atom("positive" if strict else "not negative", of=(rest,)))

    return rule


def _quotient(a: Form, b: Form) -> Form:
    if b.number is not None and b.number != 0:
        return scaled(a, 1 / b.number)
    return times(a, of_atom(Atom("inverse", of=(b,))))


def _equal(a: Form, b: Form) -> Form:
    return constant(1.0) if a == b else of_atom(Atom("equal", of=_sorted([a, b])))


def _not(a: Form) -> Form:
    return plus(constant(1.0), scaled(a, -1.0))


def _chosen(condition: Form, yes: Form, no: Form) -> Form:
    if condition.number is not None:
        return yes if condition.number else no
    return yes if yes == no else of_atom(Atom("select", of=(condition, yes, no)))


_less, _least = _compared(True), _compared(False)
_RULES: Mapping[str, Callable[..., Form]] = {
    "add": plus,
    "sub": lambda a, b: plus(a, scaled(b, -1.0)),
    "mul": times,
    "fma": lambda a, b, c: plus(times(a, b), c),
    "neg": lambda a: scaled(a, -1.0),
    "div": _quotient,
    "lt": _less,
    "le": _least,
    "gt": lambda a, b: _less(b, a),
    "ge": lambda a, b: _least(b, a),
    "eq": _equal,
    "ne": lambda a, b: _not(_equal(a, b)),
    "not": _not,
    "select": _chosen,
}
_FOLDED: Mapping[str, Callable[..., float]] = {
    "sqrt": math.sqrt,
    "exp": math.exp,
    "log": math.log,
    "sin": math.sin,
    "cos": math.cos,
    "tanh": math.tanh,
    "abs": abs,
    "floor": math.floor,
    "min": min,
    "max": max,
    "pow": math.pow,
    "convert": float,
}
_COMMUTE = frozenset({"and", "or", "xor", "min", "max"})
