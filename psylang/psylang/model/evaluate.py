"""Compiles the body of a user-defined function by walking its syntax tree.

Python computes the values that are known at compile time; all others become operations. A branch on
a known condition is decided; one on a value computes both sides and selects. A `for` over a known
range is unrolled up to UNROLL_MAX rounds, else (or if it breaks) it becomes a loop."""

from __future__ import annotations

import ast
from collections.abc import Sequence

import numpy as np

from psylang.ir.builder import Builder
from psylang.ir.graph import Value
from psylang.ir.ops import TypeMismatchError
from psylang.ir.types import I64
from psylang.model.aliases import is_mutable
from psylang.model.arithmetic import (
    Datum,
    as_float,
    as_truth,
    as_value,
    binary,
    is_known,
    items,
    merged,
)
from psylang.model.expressions import SIGNS, Env, Expressions

UNROLL_MAX = 256
NOTHING = object()  # The result of a block that does not return.


class Evaluator(Expressions):
    """Evaluates the statements of one function."""

    # Statements.

    def block(self, body: Sequence[ast.stmt], env: Env) -> Datum:
        """Runs statements; returns their result, or NOTHING."""
        for number, node in enumerate(body):
            rest = body[number + 1 :]
            if isinstance(node, ast.Return):
                if node.value is None:
                    self.refuse(node, "returns nothing; return a number or an array")
                return self.expression(node.value, env)
            if isinstance(node, ast.If):
                result = self.branch(node, rest, env)
                if result is not NOTHING or self.returns(node):
                    return result
                continue
            self.statement(node, env)
        return NOTHING

    @staticmethod
    def returns(node: ast.AST) -> bool:
        return any(isinstance(one, ast.Return) for one in ast.walk(node))

    def branch(self, node: ast.If, rest: Sequence[ast.stmt], env: Env) -> Datum:
        """An `if`; if one of its sides returns, the statements that follow belong to both."""
        condition = self.expression(node.test, env)
        after = list(rest) if self.returns(node) else []
        if is_known(condition):
            return self.block([*(node.body if condition else node.orelse), *after], env)
        truth, yes, no = self.guarded(node, as_truth, condition), dict(env), dict(env)
        results = self.block([*node.body, *after], yes), self.block([*node.orelse, *after], no)
        if self.returns(node):
            if NOTHING in results:
                self.refuse(node, "one branch returns, the other does not; let both return")
            return self.chosen(node, truth, *results, env)
        self.join(node, truth, yes, no, env)
        return NOTHING

    def join(self, node: ast.AST, truth: Value, yes: Env, no: Env, env: Env) -> None:
        """Names after a branch: the names that both sides know."""
        env.clear()
        made: dict[tuple[int, int], Datum] = {}
        sides = [(yes[name], no[name]) for name in yes if name in no]
        for name in yes:
            if name not in no:
                continue
            pair = (yes[name], no[name])
            key = (id(pair[0]), id(pair[1]))
            if key not in made:
                made[key] = self.guarded(node, merged, truth, *pair)
                if pair[0] is not pair[1] and any(
                    (pair[0] is one) is not (pair[1] is other) for one, other in sides
                ):
                    self.aliases.lock(made[key], *pair)  # One array on one side, two on the other.
            env[name] = made[key]

    def statement(self, node: ast.stmt, env: Env) -> None:
        match node:
            case ast.Assign(targets=targets, value=value):
                datum = self.expression(value, env)
                for target in targets:
                    self.assign(target, datum, env)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self.assign(target, self.expression(value, env), env)
            case ast.AugAssign(target=target, op=op, value=value):
                left = self.expression(self.loaded(target), env)
                right = self.expression(value, env)
                result = self.guarded(node, binary, SIGNS[type(op)], left, right)
                if isinstance(target, ast.Name) and is_mutable(left):
                    self.in_place(node, target.id, left, result, env)
                else:
                    self.assign(target, result, env)
            case ast.For():
                self.loop(node, env)
            case ast.Pass():
                pass
            case ast.Expr(value=ast.Constant(value=str())):
                pass  # A docstring.
            case ast.While():
                self.refuse(
                    node,
                    "`while` has no bound; write `for _ in range(limit):` with `if …: break`",
                )
            case _:
                self.refuse(node, f"`{type(node).__name__.lower()}` is not compiled")

    def in_place(self, node: ast.AST, name: str, before: Datum, after: Datum, env: Env) -> None:
        """The result of `name op= …` for a list or an array: the same object with other
        elements."""
        if name not in env:
            self.refuse(node, f"`{name}` is not of this function; it must not be changed here")
        if isinstance(before, list) and not isinstance(after, list):
            self.refuse(node, f"the list `{name}` takes another list in place; make it an array")
        if isinstance(before, np.ndarray) and before.dtype.kind != "f":
            self.refuse(node, f"`{name}` is an array of {before.dtype}; make it one of floats")
        self.change(node, env, name, after)

    @staticmethod
    def loaded(target: ast.expr) -> ast.expr:
        twin = ast.parse(ast.unparse(target), mode="eval").body
        return ast.copy_location(twin, target)

    # Loops.

    def loop(self, node: ast.For, env: Env) -> None:
        if node.orelse:
            self.refuse(node, "`else` of a loop is not compiled")
        bad = (ast.Return, ast.Continue)
        for inner in ast.walk(node):
            if isinstance(inner, bad):
                self.refuse(inner, f"`{type(inner).__name__.lower()}` within a loop; use a branch")
        rounds = self.expression(node.iter, env)
        if not isinstance(rounds, range):
            rounds = self.guarded(node, items, rounds)
        breaks = any(isinstance(inner, ast.Break) for inner in ast.walk(node))
        if not breaks and len(rounds) <= UNROLL_MAX:
            for datum in rounds:
                self.aliases.lock_rows(datum, env)
                self.assign(node.target, datum, env)
                self.block(node.body, env)
            return
        if not isinstance(rounds, range) or not isinstance(node.target, ast.Name):
            self.refuse(node, "a loop that breaks, or is long, must be over a range, by one name")
        if rounds:
            self.long_loop(node, node.target.id, rounds, env)

    def long_loop(self, node: ast.For, counter: str, rounds: range, env: Env) -> None:
        """Compiles a loop of the IR. Carried: names that it assigns and that existed before."""
        assigned = {
            one.id
            for inner in node.body
            for one in ast.walk(inner)
            if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
        }
        changed = {
            one.value.id
            for inner in node.body
            for one in ast.walk(inner)
            if isinstance(one, ast.Subscript)
            and isinstance(one.ctx, ast.Store)
            and isinstance(one.value, ast.Name)
        }
        assigned |= changed
        self.refuse_shared(node, [name for name in env if name in assigned], env)
        carried = [name for name in env if name in assigned and name != counter]
        first = [self.guarded(node, as_carried, env[name]) for name in carried]
        build = self.build

        def inside(number: Value, *values: Value) -> tuple[Value, Sequence[Value]]:
            inner = {**env, **dict(zip(carried, values, strict=True)), counter: number}
            broken = self.breaking(node.body, inner)
            after = build.add(number, rounds.step)
            more = build.op("lt" if rounds.step > 0 else "gt", after, rounds.stop)
            again = more if broken is None else build.and_(more, build.not_(broken))
            return again, [after, *(self.guarded(node, as_carried, inner[n]) for n in carried)]

        begin = build.constant(rounds.start, I64)
        self.long_loops += 1
        try:
            _, *results = build.loop([begin, *first], inside, len(rounds), [counter, *carried])
        except TypeMismatchError as error:
            self.refuse(node, f"a name changes its type in the loop: {error}")
        finally:
            self.long_loops -= 1
        env.update(zip(carried, results, strict=True))

    def refuse_shared(self, node: ast.AST, carried: Sequence[str], env: Env) -> None:
        """Names that a long loop carries must hold arrays of their own."""
        for name in carried:
            shares = [one for one in env if one != name and env[one] is env[name]]
            if is_mutable(env[name]) and (shares or self.aliases.is_locked(env[name])):
                self.refuse(
                    node,
                    f"`{name}` shares its array with others in a long loop; copy it before: "
                    f"{name} = np.array({name})",
                )

    def breaking(self, body: Sequence[ast.stmt], env: Env) -> Value | None:
        """Runs the body of a loop; returns whether it broke, or None if it cannot break."""
        for number, node in enumerate(body):
            if isinstance(node, ast.Break):
                always: Value = self.guarded(node, as_value, True)
                return always
            if not any(isinstance(one, ast.Break) for one in ast.walk(node)):
                self.block([node], env)
                continue
            if not isinstance(node, ast.If):
                self.refuse(node, "`break` within a loop in a loop is not compiled")
            condition = self.guarded(node, as_truth, self.expression(node.test, env))
            yes, no, rest = dict(env), dict(env), body[number + 1 :]
            left = self.breaking([*node.body, *rest], yes)
            right = self.breaking([*node.orelse, *rest], no)
            self.join(node, condition, yes, no, env)
            sides = [self.guarded(node, as_value, one or False) for one in (left, right)]
            broken: Value = self.build.select(condition, *sides)
            return broken
        return None


def as_carried(build: Builder, datum: Datum) -> Value:
    """A value that a loop carries: numbers are f64."""
    value = as_value(build, datum)
    return value if value.type.dtype.value == "bool" else as_float(build, value)
