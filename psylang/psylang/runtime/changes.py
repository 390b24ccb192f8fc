"""Detects that a model was changed after it was compiled; costs a few microseconds per run.

All parts of a model that can change (lists, dictionaries, objects, writeable arrays; not frozen
dataclasses, tuples, numbers) are checked before each run: they must hold the identical objects.
If not, a digest of everything decides whether their contents are equal. A counter of changes in
the model would miss those inside lists, arrays and objects that the model only refers to.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import hashlib
import types
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psylang.holdings import Holdings
from psylang.ir.graph import Program
from psylang.runtime.errors import ModelChangedError

_ATOMS = (int, float, complex, bool, str, bytes, type(None), Enum, type, ast.AST, types.ModuleType)
# Components that functions of an imported model refer to: the importer watches them, and its
# reading, like PsyNeuLink's runs, changes what they hold.
_FOREIGN = ("psyneulink.", "graph_scheduler.")
_CODE = (types.FunctionType, types.BuiltinFunctionType, types.MethodType, np.ufunc)


class Watch:
    """Remembers `model` as it is now."""

    def __init__(self, model: object) -> None:
        self._model = model
        self._watched = not isinstance(model, Program)  # Programs are never changed, by contract.
        self._check_source: Any = getattr(model, "check_source", None)  # Of an imported model.
        if self._watched:
            self._parts = _Parts(model)
            self._mark = _mark(model)

    @property
    def model(self) -> object:
        return self._model

    def check(self) -> None:
        """ModelChangedError: the model, or what it was imported from, has changed."""
        if self._check_source is not None:
            self._check_source()
        if not self._watched or self._parts.are_same():
            return
        if _mark(self._model) != self._mark:
            name = getattr(self._model, "name", type(self._model).__name__)
            raise ModelChangedError(
                f"the model `{name}` was changed after psylang.compile(); "
                "compile it again: plan = psylang.compile(model, …)"
            )
        self._parts = _Parts(self._model)


class _Parts(Holdings):
    """Parts of a model that can change."""

    def __init__(self, model: object) -> None:
        super().__init__()
        self._seen: dict[int, object] = {}  # Keeps all objects alive, so ids stay unique.
        self.find(model)
        self.note()

    def __len__(self) -> int:
        return len(self.rows) + len(self.tables) + len(self.others) + len(self.arrays)

    def find(self, one: object) -> None:
        """Adds the parts of `one`, recursively, that can change."""
        if isinstance(one, (*_ATOMS, np.generic)) or id(one) in self._seen or _is_foreign(one):
            return
        self._seen[id(one)] = one
        parts: Iterable[Any] = ()
        if isinstance(one, np.ndarray):
            if _is_writeable(one):
                self.arrays.append(one)
        elif isinstance(one, (tuple, frozenset)):
            parts = one
        elif _is_frozen(one):
            parts = [getattr(one, part.name, None) for part in dataclasses.fields(one)]  # type: ignore[arg-type]
        elif isinstance(one, types.FunctionType):
            self.others.append((_of_function, one))
            parts = _of_function(one)
        elif isinstance(one, Mapping):
            self.tables.append(one)
            parts = [*one, *one.values()]
        elif isinstance(one, (list, set)):
            self.rows.append(one)
            parts = one
        elif isinstance(one, _CODE):
            pass
        elif hasattr(one, "__dict__"):
            self.tables.append(one.__dict__)
            parts = list(one.__dict__.values())
        else:
            self.others.append((_slots, one))
            parts = _slots(one)
        for part in parts:
            self.find(part)


def _of_function(one: Any) -> tuple[Any, ...]:
    return (one.__code__, one.__defaults__, *map(_held, one.__closure__ or ()), *_globals(one))


def _globals(one: Any) -> list[object]:
    """The globals that a function reads, by name."""
    space = one.__globals__
    return [space.get(name) for name in _names(one.__code__)]


@functools.cache
def _names(code: types.CodeType) -> tuple[str, ...]:
    inner = [part for part in code.co_consts if isinstance(part, types.CodeType)]
    return tuple(dict.fromkeys([*code.co_names, *(n for part in inner for n in _names(part))]))


def _is_frozen(one: object) -> bool:
    found = getattr(type(one), "__dataclass_params__", None)
    return found is not None and bool(found.frozen)


def _is_foreign(one: object) -> bool:
    return type(one).__module__.startswith(_FOREIGN)


def _is_writeable(array: NDArray[Any]) -> bool:
    base: object = array
    while isinstance(base, np.ndarray):
        if base.flags.writeable:
            return True
        base = base.base
    return False


def _slots(one: object) -> tuple[object, ...]:
    return tuple(_fields(one))


def _mark(model: object) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    for text in _texts(model, {}):
        digest.update(text)
        digest.update(b"\0")
    return digest.digest()


def _texts(one: object, seen: dict[int, int]) -> Iterator[bytes]:
    if isinstance(one, ast.AST):
        yield ast.dump(one).encode()
        return
    if isinstance(one, (*_ATOMS, np.generic)):
        yield repr(one).encode()
        return
    if id(one) in seen:  # Shared parts and circles: by the order of their first appearance.
        yield b"seen %d" % seen[id(one)]
        return
    seen[id(one)] = len(seen)
    yield type(one).__qualname__.encode()
    if _is_foreign(one):
        yield b"%d" % id(one)
        return
    if isinstance(one, np.ndarray):
        yield repr((one.dtype, one.shape)).encode() + one.tobytes()
        return
    if isinstance(one, types.FunctionType):
        yield one.__code__.co_code + repr(one.__code__.co_consts).encode()
        parts: Any = _of_function(one)[1:]
    elif isinstance(one, _CODE):
        parts = [repr(one)]
    elif isinstance(one, Mapping):
        parts = [part for pair in one.items() for part in pair]
    elif isinstance(one, (set, frozenset)):
        parts = sorted(map(repr, one))
    elif isinstance(one, (list, tuple)):
        parts = one
    else:
        parts = _fields(one) or [id(one)]  # Opaque: equal only to itself.
    for part in parts:
        yield from _texts(part, seen)
    yield b"end"


def _fields(one: object) -> list[object]:
    values: dict[str, object] = {
        name: value
        for name, value in getattr(one, "__dict__", {}).items()
        if not isinstance(getattr(type(one), name, None), functools.cached_property)
    }
    for kind in type(one).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__dict__", "__weakref__") and hasattr(one, name):
                values[name] = getattr(one, name)
    return [part for pair in values.items() for part in pair]


def _held(cell: Any) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # Not bound yet.
        return None
