"""Compiles the expressions of a user-defined function; Python computes known values."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from psylang.ir.builder import Builder
from psylang.ir.graph import Origin, Value
from psylang.ir.ops import TypeMismatchError
from psylang.model.aliases import Aliases
from psylang.model.arithmetic import (
    Datum,
    UnsupportedError,
    as_truth,
    as_value,
    binary,
    copied,
    is_in,
    is_known,
    items,
    merged,
    negated,
)
from psylang.model.calls import METHODS, Draw, Drawn, call, draw_of
from psylang.model.errors import ModelError

Env = dict[str, Datum]
SIGNS: Mapping[type, str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.Pow: "**",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.MatMult: "@",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}


class Expressions:
    """Compiles the expressions of one function: `names` are its globals and closure, `place` gives
    file:line of a node."""

    def __init__(
        self,
        build: Builder,
        names: Mapping[str, Any],
        place: Callable[[ast.AST], str],
        origin: Origin,
        draw: Draw | None = None,
        borrowed: Sequence[Datum] = (),
    ) -> None:
        """draw: of the component that the function belongs to. borrowed: data that a caller's names
        hold, too; they are read, not changed."""
        self.build, self.names, self.place, self.origin = build, names, place, origin
        self.draw = draw
        self.aliases = Aliases(borrowed)
        self.long_loops = 0  # The number of enclosing long loops.

    def refuse(self, node: ast.AST, why: str) -> NoReturn:
        raise ModelError(f"{self.place(node)}: {why}")

    def guarded(self, node: ast.AST, write: Callable[..., Any], *data: Datum) -> Any:
        """Calls write(build, *data); its operations and errors get the node's place."""
        origin = dataclasses.replace(self.origin, source=self.place(node))
        try:
            with self.build.at(origin):
                return write(self.build, *data)
        except (UnsupportedError, TypeMismatchError) as error:
            why = str(error)
        except (ArithmeticError, IndexError, TypeError, ValueError) as error:
            why = f"{type(error).__name__}: {error}"
        return self.refuse(node, why)

    def lookup(self, node: ast.AST, name: str, env: Env) -> Datum:
        if name in env:
            return env[name]
        if name in self.names:
            return self.names[name]
        return self.refuse(node, f"`{name}` is not known here, or only on some paths")

    def expression(self, node: ast.expr, env: Env) -> Datum:
        match node:
            case ast.Constant(value=bool() | int() | float() as value):
                return value
            case ast.Name(id=name):
                return self.lookup(node, name, env)
            case ast.Tuple(elts=parts):
                return tuple(self.listed(parts, env))
            case ast.List(elts=parts):
                return self.listed(parts, env)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in SIGNS:
                operands = self.expression(left, env), self.expression(right, env)
                return self.guarded(node, binary, SIGNS[type(op)], *operands)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self.guarded(node, negated, self.expression(operand, env))
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self.guarded(node, copied, self.expression(operand, env))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                datum = self.expression(operand, env)
                if is_known(datum):
                    return not datum
                return self.build.not_(self.guarded(node, as_truth, datum))
            case ast.BoolOp(op=op, values=values):
                return self.logic(node, isinstance(op, ast.And), values, env)
            case ast.Compare(left=left, ops=ops, comparators=others):
                return self.comparison(node, left, ops, others, env)
            case ast.IfExp(test=test, body=yes, orelse=no):
                condition = self.expression(test, env)
                if is_known(condition):
                    return self.expression(yes if condition else no, env)
                truth = self.guarded(node, as_truth, condition)
                sides = self.expression(yes, env), self.expression(no, env)
                return self.chosen(node, truth, *sides, env)
            case ast.Subscript(value=value, slice=index):
                return self.element(node, self.expression(value, env), self.index(index, env))
            case ast.Attribute(value=value, attr=name):
                return self.attribute(node, self.expression(value, env), name)
            case ast.Call():
                return self.call(node, env)
            case ast.ListComp(elt=element, generators=[ast.comprehension(ifs=[]) as one]):
                return self.comprehension(node, element, one, env)
            case ast.GeneratorExp(elt=element, generators=[ast.comprehension(ifs=[]) as one]):
                return self.comprehension(node, element, one, env)
        return self.refuse(node, f"`{ast.unparse(node)}` ({type(node).__name__}) is not compiled")

    def listed(self, parts: Sequence[ast.expr], env: Env) -> list[Datum]:
        """Expressions in a row; starred ones give their items."""
        data: list[Datum] = []
        for one in parts:
            if isinstance(one, ast.Starred):
                data += self.guarded(one, items, self.expression(one.value, env))
            else:
                data.append(self.expression(one, env))
        return data

    def comprehension(
        self, node: ast.expr, element: ast.expr, one: ast.comprehension, env: Env
    ) -> list[Datum]:
        result, inner = [], dict(env)
        for datum in self.guarded(node, items, self.expression(one.iter, env)):
            self.aliases.lock_rows(datum, inner)
            self.assign(one.target, datum, inner)
            result.append(self.expression(element, inner))
        return result

    def logic(self, node: ast.expr, both: bool, values: Sequence[ast.expr], env: Env) -> Datum:
        """`and`, `or`: the operand that decides, as in Python; operands that are not known are all
        computed."""
        value, *rest = values
        datum = self.expression(value, env)
        if not rest:
            return datum
        if is_known(datum):
            truth = self.guarded(node, lambda _: bool(datum))
            return self.logic(node, both, rest, env) if truth is both else datum
        decides = self.guarded(node, as_truth, datum)
        other = self.logic(node, both, rest, env)
        sides = (other, datum) if both else (datum, other)
        return self.chosen(node, decides, *sides, env)

    def chosen(self, node: ast.AST, truth: Value, yes: Datum, no: Datum, env: Env) -> Datum:
        """One of two; if names hold them, a change of the result would have to change those."""
        result = self.guarded(node, merged, truth, yes, no)
        held = list(env.values())
        if yes is not no and (is_in(yes, held) or is_in(no, held)):
            self.aliases.lock(result, yes, no)
        return result

    def comparison(
        self,
        node: ast.expr,
        left: ast.expr,
        ops: Sequence[ast.cmpop],
        others: Sequence[ast.expr],
        env: Env,
    ) -> Datum:
        data = [self.expression(one, env) for one in (left, *others)]
        result: Datum = True
        for op, a, b in zip(ops, data[:-1], data[1:], strict=True):
            if type(op) not in SIGNS:
                self.refuse(node, f"`{type(op).__name__.lower()}` is not compiled")
            part = self.guarded(node, binary, SIGNS[type(op)], a, b)
            if isinstance(result, Value) and isinstance(part, Value):
                result = self.build.and_(result, part)
            elif not isinstance(result, Value):
                result = part if np.all(result) else False
            elif not np.all(part):
                result = False
        return result

    def index(self, node: ast.expr, env: Env) -> Datum:
        if isinstance(node, ast.Slice):
            bounds = (node.lower, node.upper, node.step)
            return slice(*(None if one is None else self.expression(one, env) for one in bounds))
        return self.expression(node, env)

    def element(self, node: ast.AST, datum: Datum, index: Datum) -> Datum:
        bounds = (index.start, index.stop, index.step) if isinstance(index, slice) else (index,)
        if not is_known(tuple(bounds)):
            self.refuse(node, "an index that is only known at run time; loop over all elements")
        if is_known(datum):
            found = self.guarded(node, lambda _: datum[index])
            if isinstance(datum, np.ndarray):
                self.aliases.lock_views(found, datum)
            return found
        if isinstance(datum, Value) and isinstance(index, tuple):
            inner = self.element(node, datum, index[0])
            return inner if len(index) == 1 else self.element(node, inner, index[1:])
        if isinstance(datum, Value) and isinstance(index, int) and len(datum.type.shape) == 1:
            count = datum.type.size
            if -count <= index < count:
                return self.guarded(node, lambda build: build.extract(datum, index % count))
        parts = self.guarded(node, items, datum)
        picked = self.guarded(node, lambda _: parts[index])
        if isinstance(picked, list) and isinstance(datum, Value):
            picked = self.guarded(node, as_value, picked)
        if isinstance(datum, Value):
            self.aliases.lock_views(picked, datum)
        return picked

    def attribute(self, node: ast.AST, datum: Datum, name: str) -> Datum:
        if isinstance(datum, Value):
            if name == "shape":
                return datum.type.shape
            if name == "size":
                return datum.type.size
            if name in METHODS:
                return _Method(METHODS[name], datum)
            self.refuse(node, f"`.{name}` of what is only known at run time is not compiled")
        return (
            self.guarded(node, lambda _: getattr(datum, name))
            if hasattr(datum, name)
            else (self.refuse(node, f"there is no `{name}`"))
        )

    def call(self, node: ast.Call, env: Env) -> Datum:
        function = self.expression(node.func, env)
        data = self.listed(node.args, env)
        named: dict[str, Datum] = {}
        for one in node.keywords:
            if one.arg is None:
                self.refuse(node, "`**` in a call is not compiled; write the arguments out")
            named[one.arg] = self.expression(one.value, env)
        if isinstance(function, _Method):
            function, data = function.function, [function.datum, *data]
        inline = getattr(function, "inline", None)
        if inline is not None:
            ordered = function.ordered(data, named, self.place(node))
            return inline(self.build, ordered, self.origin, self.draw, ordered)
        if (kind := draw_of(function)) is not None:
            return self.drawn(node, kind, data, named)
        return self.guarded(node, lambda build, *data: call(build, function, data, named), *data)

    def drawn(
        self, node: ast.AST, kind: Drawn, data: Sequence[Datum], named: Mapping[str, Datum]
    ) -> Datum:
        """A random draw of the component."""
        if self.draw is None:
            self.refuse(node, "only functions of a Compute draw random numbers")
        if self.long_loops:
            self.refuse(
                node, "a random draw in a loop that is long or breaks; use one that is unrolled"
            )
        draw = self.draw
        try:
            return self.guarded(node, lambda build: kind(build, draw, *data, **named))
        except TypeError:
            return self.refuse(node, "a draw takes two numbers and no size; draw one at a time")

    def assign(self, target: ast.expr, datum: Datum, env: Env) -> None:
        match target:
            case ast.Name(id=name):
                env[name] = datum
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                parts = self.guarded(target, items, datum)
                if len(parts) != len(targets):
                    self.refuse(target, f"{len(targets)} names for {len(parts)} items")
                for one, part in zip(targets, parts, strict=True):
                    self.assign(one, part, env)
            case ast.Subscript(value=ast.Name(id=name), slice=index):
                self.replace(target, env, name, self.expression(index, env), datum)
            case _:
                self.refuse(target, "an assignment to what is no name or element of one")

    def replace(self, node: ast.AST, env: Env, name: str, index: Datum, datum: Datum) -> None:
        """Replaces an element of a sequence or vector, under all names that hold it."""
        if name not in env:
            self.refuse(node, f"`{name}` is not of this function; it must not be changed here")
        before = env[name]
        parts = list(self.guarded(node, items, before))
        if isinstance(index, bool) or not isinstance(index, int | np.integer):
            self.refuse(node, f"no element {index!r} to assign to; indices are known")
        if not -len(parts) <= index < len(parts):
            self.refuse(node, f"no element {index!r} of {len(parts)} to assign to")
        if isinstance(before, tuple):
            self.refuse(node, f"`{name}` is a tuple; tuples are not changed")
        if isinstance(before, np.ndarray) and is_known(datum):
            after = before.copy()
            self.guarded(node, lambda _: after.__setitem__(index, datum))
            self.change(node, env, name, after)
            return
        if isinstance(before, np.ndarray) and before.dtype.kind != "f":
            self.refuse(node, f"`{name}` is an array of {before.dtype}; make it one of floats")
        parts[index] = datum
        listed = isinstance(before, list)
        self.change(node, env, name, parts if listed else self.guarded(node, as_value, parts))

    def change(self, node: ast.AST, env: Env, name: str, after: Datum) -> None:
        """Changes the object of a name in place."""
        if self.aliases.is_locked(env[name]):
            self.refuse(
                node,
                f"`{name}` shares its elements with what may be another array, or is the caller's: "
                f"Python would change that, too; copy it first: {name} = np.array({name})",
            )
        self.aliases.change(env, env[name], after)


@dataclasses.dataclass(frozen=True)
class _Method:
    function: Any
    datum: Value
