"""The functions of While, WhileNot and Threshold: Python that reads the values of components.

    net.scheduler.add_condition(b, pnl.While(lambda: a.value[0][0] < 3))
    net.scheduler.add_condition(b, pnl.While(lambda node: node.output_port.value[0] < 3, a))

The function's syntax tree is read. Where it reads a value of a component, by whichever of
PsyNeuLink's ways, an argument takes the place of the expression; the rest is compiled as @function
compiles Python. What else it does with components is refused.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from psylang.ir.builder import Builder, ProgramBuilder
from psylang.ir.graph import Value
from psylang.ir.types import BOOL, F64, Type
from psylang.model.arithmetic import is_known
from psylang.model.context import Context
from psylang.model.errors import ModelError
from psylang.pnl.ports import Adopted, is_plain
from psylang.pnl.refusals import RefusedError

NEAREST = "nearest: a `def` or lambda that compares values of mechanisms or output ports"
PASSED = ("scheduler", "execution_id", "context")  # What PsyNeuLink adds to a call.
ORDERS = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge"}  # Names of the IR, and of `operator`.
_NOTHING = object()


@dataclass(frozen=True)
class Place:
    """Where a value is in the model. rows: None for a vector, as of an output port; 1 for a matrix
    of one row, as a mechanism's value is."""

    node: str
    port: str
    size: int
    rows: int | None


class Asked(Adopted):
    """A function whose reads of components became arguments. It gives a truth."""

    def __init__(
        self,
        python: Callable[..., Any],
        given: Mapping[str, Any],
        place: Callable[[Any], Place],
    ) -> None:
        found = _syntax(python)
        self.python = python
        self.__name__, self.__doc__ = getattr(python, "__name__", "condition"), python.__doc__
        code = python.__code__
        self._file, self._first = Path(code.co_filename).name, 1
        self._given = given
        body = [ast.Return(found.body)] if isinstance(found, ast.Lambda) else found.body
        reader = _Reader({**super()._names(), **given}, place)
        self._body = [ast.fix_missing_locations(reader.visit(one)) for one in body]
        self.places: list[Place] = list(reader.places.values())
        self.arguments = tuple(f"value{k}__" for k in range(len(self.places)))
        left = {
            one.id for each in self._body for one in ast.walk(each) if isinstance(one, ast.Name)
        }
        wrong = sorted(left & {name for name in PASSED if name in code.co_varnames})
        if wrong:
            raise RefusedError(f"{self._where()} uses PsyNeuLink's `{wrong[0]}`", NEAREST)

    def _where(self) -> str:
        code = self.python.__code__
        return f"the function of {self._file}:{code.co_firstlineno}"

    @cached_property
    def _tree(self) -> ast.FunctionDef:
        made = ast.parse("def condition(): pass").body[0]
        assert isinstance(made, ast.FunctionDef)
        made.body = self._body
        return made

    def _names(self) -> Mapping[str, Any]:
        given = {name: Adopted(one) if is_plain(one) else one for name, one in self._given.items()}
        return {**super()._names(), **given}

    def emit(self, context: Context, data: Sequence[Any]) -> Value:
        build = context.build
        shaped = [
            value
            if place.rows is None
            else build.stack(
                [build.extract(value, k) for k in range(place.size)], (place.rows, place.size)
            )
            for value, place in zip(data, self.places, strict=True)
        ]
        return _truth(build, super().emit(context, shaped), self._where())

    def check(self) -> None:
        """RefusedError: it cannot be compiled."""
        build = ProgramBuilder("condition", "exact")
        values = [
            build.input(f"v{k}", Type(F64.dtype, (one.size,))) for k, one in enumerate(self.places)
        ]
        try:
            self.emit(Context(build, {}, {}), values)
        except ModelError as error:
            raise RefusedError(str(error), NEAREST) from None


def _truth(build: Builder, result: Any, where: str) -> Value:
    """A result as Python's `if` takes it."""
    if is_known(result):
        return build.constant(bool(result), BOOL)
    if not isinstance(result, Value) or result.type.size != 1:
        raise ModelError(f"{where} gives several values; it must give one truth")
    if result.type.shape:
        result = build.extract(result, *(0,) * len(result.type.shape))
    return result if result.type.dtype.value == "bool" else build.op("ne", result, 0)


class _Reader(ast.NodeTransformer):
    """Replaces reads of components by arguments; `names` are what the function sees."""

    def __init__(self, names: Mapping[str, Any], place: Callable[[Any], Place]) -> None:
        self._names, self._place = names, place
        self.places: dict[tuple[int, str], Place] = {}

    def visit(self, node: ast.AST) -> Any:
        component = self._read(node)
        if component is None:
            return super().visit(node)
        place = self._place(component)
        key = (id(component), "value")
        self.places.setdefault(key, place)
        argument = f"value{list(self.places).index(key)}__"
        return ast.copy_location(ast.Name(argument, ast.Load()), node)

    def _read(self, node: ast.AST) -> Any:
        """The component whose value an expression reads, or None."""
        if isinstance(node, ast.Call):
            of = node.func
            if isinstance(of, ast.Attribute) and of.attr in ("get", "_get"):
                parameter = self._object(of.value)
                if _kind(parameter) == "Parameter" and parameter.name == "value":
                    return parameter._owner._owner
            return None
        if isinstance(node, ast.Attribute) and node.attr == "value":
            owner = self._object(node.value)
            return owner if _is_component(owner) else None
        return None

    def _object(self, node: ast.AST) -> Any:
        """What an expression of names, attributes and constant indices is; else _NOTHING."""
        try:
            match node:
                case ast.Name(id=name):
                    return self._names.get(name, _NOTHING)
                case ast.Attribute(value=value, attr=name):
                    of = self._object(value)
                    return getattr(of, name) if _is_component(of) or _is_part(of) else _NOTHING
                case ast.Subscript(value=value, slice=ast.Constant(value=index)):
                    of = self._object(value)
                    return of[index] if _is_part(of) else _NOTHING
        except (AttributeError, KeyError, IndexError, TypeError):
            return _NOTHING
        return _NOTHING


def _kind(one: Any) -> str:
    return type(one).__name__


def _is_component(one: Any) -> bool:
    return bool(hasattr(one, "parameters") and _is_part(one))


def _is_part(one: Any) -> bool:
    """Returns whether it is of PsyNeuLink: a component, its parameters, a list of its ports."""
    return str(type(one).__module__).startswith("psyneulink")


def _syntax(python: Callable[..., Any]) -> ast.Lambda | ast.FunctionDef:
    """The syntax tree of a function: in its file, where its instructions are."""
    code = getattr(python, "__code__", None)
    if code is None:
        raise RefusedError(f"its function is {python!r}, which is not written in Python", NEAREST)
    where = f"{Path(code.co_filename).name}:{code.co_firstlineno}"
    try:
        tree = ast.parse("".join(linecache.getlines(code.co_filename)))
    except SyntaxError:
        tree = ast.Module([], [])
    begins = [(line, column) for line, _, column, _ in code.co_positions() if line and column]
    found = [
        one
        for one in ast.walk(tree)
        if isinstance(one, ast.Lambda | ast.FunctionDef) and _holds(one, code, begins)
    ]
    if not found:
        raise RefusedError(f"the source of its function at {where} is not there", NEAREST)
    # Of a lambda within a lambda both hold the instructions; the inner one begins later.
    return max(found, key=lambda one: (one.lineno, one.col_offset))


def _holds(
    node: ast.Lambda | ast.FunctionDef, code: Any, places: Sequence[tuple[int, int]]
) -> bool:
    """Returns whether a function's code is that of a node of the tree."""
    if isinstance(node, ast.FunctionDef):
        first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
        return bool(node.name == code.co_name and first == code.co_firstlineno)
    if code.co_name != "<lambda>" or node.lineno != code.co_firstlineno:
        return False
    body = node.body
    begin, end = (body.lineno, body.col_offset), (body.end_lineno or 0, body.end_col_offset or 0)
    return bool(places) and all(begin <= one <= end for one in places)


def asked_of(
    python: Callable[..., Any],
    data: Sequence[Any],
    named: Mapping[str, Any],
    place: Callable[[Any], Place],
) -> tuple[Asked, list[Place]]:
    """A function as a predicate, and the values that it reads. data, named: the arguments that the
    condition gives it. RefusedError: it cannot be compiled."""
    try:
        parameters = list(inspect.signature(python).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    usual = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    given = {one.name: one.default for one in parameters if one.default is not one.empty}
    given.update(zip([one.name for one in parameters if one.kind in usual], data, strict=False))
    given.update(
        {name: value for name, value in named.items() if name in [one.name for one in parameters]}
    )
    missing = [one.name for one in parameters if one.name not in (*given, *PASSED)]
    if missing:
        raise RefusedError(f"its function takes `{missing[0]}`, which nothing gives", NEAREST)
    made = Asked(python, given, place)
    made.check()
    return made, made.places


class AdoptedLambda(Adopted):
    """A lambda as a function that is compiled."""

    def __init__(self, python: Callable[..., Any]) -> None:
        found, code = _syntax(python), python.__code__
        assert isinstance(found, ast.Lambda)
        self.python, self._lambda = python, found
        self.__name__, self.__doc__ = "lambda", None
        # Lines of the syntax tree are those of the file.
        self._file, self._first = Path(code.co_filename).name, 1
        if code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS) or code.co_kwonlyargcount:
            where = f"{self._file}:{code.co_firstlineno}"
            raise RefusedError(f"{where}: a lambda has stars or keywords", "arguments by place")
        self.arguments = code.co_varnames[: code.co_argcount]

    @cached_property
    def _tree(self) -> ast.FunctionDef:
        made = ast.parse("def written(): pass").body[0]
        assert isinstance(made, ast.FunctionDef)
        made.body = [ast.copy_location(ast.Return(self._lambda.body), self._lambda.body)]
        return made


def adopted(python: Callable[..., Any]) -> Adopted:
    """A `def` or a lambda of the modeller as a function that is compiled. RefusedError, ModelError:
    it has no source, or arguments that a call does not give."""
    is_lambda = getattr(python, "__name__", "") == "<lambda>"
    return AdoptedLambda(python) if is_lambda else Adopted(python)


@dataclass(frozen=True)
class Passing:
    """Threshold: an element of a value, compared with a number."""

    index: int
    threshold: float
    comparator: str
    atol: float
    rtol: float

    @staticmethod
    def of(condition: Any, place: Place) -> Passing:
        """RefusedError: it does not say which element."""
        indices = [] if condition.indices is None else list(condition.indices)
        if place.rows is not None and indices:
            if indices[0] not in (0, -1):
                raise RefusedError(f"Threshold has the index {indices[0]}", "the index 0")
            indices = indices[1:]
        if len(indices) > 1 or (not indices and place.size > 1):
            raise RefusedError(
                f"Threshold compares {place.size} elements", "give `indices` of one of them"
            )
        index = int(indices[0]) if indices else 0
        if not -place.size <= index < place.size:
            raise RefusedError(f"Threshold has the index {index} of {place.size}", "a smaller one")
        return Passing(
            index % place.size,
            float(condition.threshold),
            str(condition.comparator),
            float(condition.atol),
            float(condition.rtol),
        )

    def __call__(self, value: Sequence[float]) -> bool:
        """The same of numbers."""
        element = float(value[self.index])
        if self.comparator in ORDERS:
            compares = getattr(operator, ORDERS[self.comparator])
            return bool(compares(element, self.threshold))
        most = self.atol + self.rtol * abs(self.threshold)
        return (abs(element - self.threshold) <= most) is (self.comparator == "==")

    def emit(self, context: Context, data: Sequence[Value]) -> Value:
        build, (value,) = context.build, data
        element = build.extract(value, self.index)
        if self.comparator in ORDERS:
            return build.op(ORDERS[self.comparator], element, self.threshold)
        most = self.atol + self.rtol * abs(self.threshold)
        near = build.op("le", build.abs(build.sub(element, self.threshold)), most)
        return near if self.comparator == "==" else build.not_(near)


__all__ = ["Asked", "Passing", "Place", "adopted", "asked_of"]
