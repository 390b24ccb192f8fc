"""@function: a Python function that is compiled into models.

    @function
    def action(player, prey, gain):
        distance = np.sqrt(np.sum((prey - player) ** 2))
        return (prey - player) * gain if distance < 5 else prey - player

Its body is read as a syntax tree: assignments, branches, loops over ranges and arrays, calls of the
functions in calls.py and of other @functions, random draws (np.random.normal, uniform). Compiled
code gives the same result as Python: names share arrays, `or` gives an operand. Code that cannot
give the same result, or is not known to, is refused. It may be called from Python, too.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import CodeType
from typing import Any

from psylang.ir.builder import Builder
from psylang.ir.graph import Origin
from psylang.model.arithmetic import Datum, copied, is_in
from psylang.model.calls import Draw
from psylang.model.context import Context
from psylang.model.errors import ModelError, listed
from psylang.model.evaluate import NOTHING, Evaluator


class Function:
    """A Python function marked by @function. ModelError: it has a part that cannot be compiled."""

    takes_defaults = False  # Whether arguments may have defaults; every call then passes them.

    def __init__(self, python: Callable[..., Any]) -> None:
        self.python = python
        self.__name__ = getattr(python, "__name__", "function")
        self.__doc__ = python.__doc__
        code = getattr(python, "__code__", None)
        if code is None or self.__name__ == "<lambda>":
            raise ModelError(f"the source of {python!r} is not there; define it by `def` in a file")
        self._file, self._first = Path(code.co_filename).name, code.co_firstlineno
        stars = code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
        defaults = getattr(python, "__defaults__", None) and not self.takes_defaults
        if stars or code.co_kwonlyargcount or defaults:
            raise ModelError(
                f"{self._file}:{self._first}: `{self.__name__}` has arguments with stars, keywords "
                "or defaults; give all of them a place"
            )
        self.arguments: tuple[str, ...] = code.co_varnames[: code.co_argcount]

    @cached_property
    def _tree(self) -> ast.FunctionDef:
        """The syntax tree, read when the function is first compiled: most functions of a library
        never are."""
        try:
            lines, self._first = inspect.getsourcelines(self.python)
        except (OSError, TypeError):
            raise ModelError(
                f"the source of {self.python!r} is not there; define it by `def` in a file"
            ) from None
        tree = ast.parse(textwrap.dedent("".join(lines))).body[0]
        if not isinstance(tree, ast.FunctionDef):
            raise ModelError(f"{self._file}:{self._first}: @function is for a `def`")
        return tree

    def __call__(self, *data: Any, **named: Any) -> Any:
        return self.python(*data, **named)

    def __repr__(self) -> str:
        return f"<function {self.__name__}({', '.join(self.arguments)})>"

    def _place(self, node: ast.AST) -> str:
        return f"{self._file}:{self._first + getattr(node, 'lineno', 1) - 1}"

    def _names(self) -> Mapping[str, Any]:
        found = inspect.getclosurevars(self.python)
        names = {**found.builtins, **found.globals, **found.nonlocals}
        # Python 3.11 compiles each comprehension to a function, whose names are its own.
        everything = {**vars(builtins), **self.python.__globals__}
        inner = {name for one in _within(self.python.__code__) for name in one.co_names}
        return {**{name: everything[name] for name in inner if name in everything}, **names}

    def emit(self, context: Context, data: Sequence[Datum]) -> Datum:
        """The function's result, as operations of the program."""
        return self.inline(context.build, data, Origin(self.__name__))

    def ordered(
        self, data: Sequence[Datum], named: Mapping[str, Datum], place: str
    ) -> Sequence[Datum]:
        """The arguments of a call in order. ModelError: they do not fit."""
        free = self.arguments[len(data) :]
        wrong = [name for name in named if name not in free]
        if wrong or len(named) != len(free):
            raise ModelError(
                f"{place}: `{self.__name__}` takes {len(self.arguments)} arguments "
                f"({', '.join(self.arguments)}), each once, not {len(data)} and {listed(named)}"
            )
        return [*data, *(named[name] for name in free)]

    def inline(
        self,
        build: Builder,
        data: Sequence[Datum],
        origin: Origin,
        draw: Draw | None = None,
        borrowed: Sequence[Datum] = (),
    ) -> Datum:
        """The same, into any builder. draw, borrowed: as for Expressions."""
        if len(data) != len(self.arguments):
            raise ModelError(
                f"{self._place(self._tree)}: `{self.__name__}` takes {len(self.arguments)} "
                f"arguments ({', '.join(self.arguments)}), not {len(data)}"
            )
        body = self._tree.body
        evaluator = Evaluator(build, self._names(), self._place, origin, draw, borrowed)
        # One parameter of the model may be passed for two arguments: each is an array of its own.
        apart = [
            copied(build, one) if is_in(one, data[:k]) and not borrowed else one
            for k, one in enumerate(data)
        ]
        env = dict(zip(self.arguments, apart, strict=True))
        result = evaluator.block(body, env)
        if result is NOTHING:
            raise ModelError(f"{self._place(self._tree)}: `{self.__name__}` returns nothing")
        return result


def _within(code: CodeType) -> Iterator[CodeType]:
    """The functions defined in a function, recursively."""
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield one
            yield from _within(one)


def function(python: Callable[..., Any]) -> Function:
    """Decorates a function that models may compute with. ModelError: it cannot be read."""
    return Function(python)
