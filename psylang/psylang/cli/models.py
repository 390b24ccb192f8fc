"""Finds the model that a command line names, and reads the values of its options."""

from __future__ import annotations

import argparse
import ast
import importlib
import importlib.util
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import psylang
from psylang.cli.main import UsageError
from psylang.ir.graph import Program
from psylang.ir.text import ParseError, parse_program
from psylang.ir.verify import VerifyError, verify


@dataclass(frozen=True)
class Scripted:
    """A composition of PsyNeuLink, its model, and the arguments of the script's own run()."""

    composition: Any
    model: Any
    arguments: dict[str, Any]


def plan_of(options: argparse.Namespace, found: Any = None) -> psylang.Plan:
    """The plan of a command with add_model() and add_common(); found: the result of model_of(), if
    it was called already. UsageError: the command line names no model."""
    if found is None:
        found = model_of(options.model, pairs("--set", options.set))
    program = isinstance(found, Program)
    vary = None if program else list(pairs("--param", options.param))
    scripted = isinstance(found, Scripted)
    return psylang.compile(
        found.model if scripted else found,
        fix=pairs("--fix", options.fix),
        vary=vary,
        numerics=options.numerics or ("exact" if scripted and options.precision == "f64" else None),
        precision=options.precision,
    )


def model_of(name: str, arguments: dict[str, Any], live: bool = False) -> Any:
    """MODULE:OBJECT, FILE.py:OBJECT or FILE.ir; a function is called. A composition of PsyNeuLink
    is Scripted. live: it is one, and its import is live. UsageError: it is none."""
    found = _found(name, arguments, live)
    if live and not isinstance(found, Scripted):
        raise UsageError(f"--live is for compositions of PsyNeuLink; {name} is none: leave it out")
    return found


def _found(name: str, arguments: dict[str, Any], live: bool) -> Any:
    if name.endswith(".ir"):
        if arguments:
            raise UsageError(f"--set is for functions that make models; {name} is a program")
        return _program(name)
    module_name, colon, path = name.rpartition(":")
    if not colon or not module_name or not path:
        raise UsageError(f"`{name}` is no MODULE:OBJECT; give one like psylang.models:ddm")
    module, held = _module(module_name, path)
    found: Any = module
    for part in path.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            there = [one for one in dir(found) if not one.startswith("_")]
            raise UsageError(
                f"{module_name} has no `{path}`; it has {', '.join(there) or 'nothing'}"
            ) from None
    if isinstance(found, Program) or (hasattr(found, "program") and not isinstance(found, type)):
        if arguments:
            raise UsageError(f"--set is for functions that make models; {name} is a model")
        return found
    if any(one.__module__.startswith("psyneulink.") for one in type(found).__mro__):
        return _scripted(found, held, arguments, name, live)
    if not callable(found):
        raise UsageError(f"{name} is a {type(found).__name__}, neither a model nor a function")
    try:
        return found(**arguments)
    except TypeError as error:
        raise UsageError(f"{name}: {error}; give its arguments by --set NAME=VALUE") from error


def _program(name: str) -> Program:
    """The program in a text file. UsageError: it cannot be read, or is not a program."""
    try:
        program = parse_program(Path(name).read_text(encoding="utf-8"))
        verify(program)
    except OSError as error:
        raise UsageError(f"{name} cannot be read: {error.strerror}") from None
    except (UnicodeDecodeError, ParseError, VerifyError) as error:
        raise UsageError(f"{name} is no program: {error}") from None
    return program


def _scripted(
    composition: Any, held: dict[str, Any], given: Any, name: str, live: bool
) -> Scripted:
    if given:
        raise UsageError(f"--set is for functions that make models; {name} is of PsyNeuLink")
    from psylang.pnl.script import OF_IMPORT

    given_to_run = {name: held[name] for name in OF_IMPORT if name in held}
    model = psylang.from_psyneulink(composition, **given_to_run, live=live)
    return Scripted(composition, model, held)


def _module(name: str, wanted: str) -> tuple[ModuleType, dict[str, Any]]:
    """The module, and the arguments with which it runs its composition `wanted`
    (psylang.pnl.script)."""
    if name.endswith(".py"):
        path = Path(name)
        spec = importlib.util.spec_from_file_location(path.stem, path)
        if not path.is_file() or spec is None or spec.loader is None:
            raise UsageError(f"there is no file {name}")
        module = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = module
        execute = partial(spec.loader.exec_module, module)
        if "psyneulink" in path.read_text(encoding="utf-8"):
            from psylang.pnl.script import executed

            return module, executed(execute, lambda one: getattr(module, wanted, None) is one)
        execute()
        return module, {}
    if str(Path.cwd()) not in sys.path and "" not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        return importlib.import_module(name), {}
    except ModuleNotFoundError as error:
        if error.name is None or not name.startswith(error.name):
            raise UsageError(f"{name} needs the module {error.name}, which is missing") from None
        raise UsageError(
            f"there is no module {name}, neither installed nor in {Path.cwd()}"
        ) from None


def pairs(option: str, given: Sequence[str]) -> dict[str, Any]:
    """NAME=VALUE options. UsageError: an option has another form, or is given twice."""
    values: dict[str, Any] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise UsageError(f"{option} {text} is no NAME=VALUE")
        if name in values:
            raise UsageError(f"{option} {name} is given twice")
        values[name] = value_of(f"{option} {name}", value)
    return values


def value_of(what: str, text: str) -> Any:
    """A number, a list, True, a text in quotes, or the array of @FILE.npy."""
    if text.startswith("@"):
        try:
            return np.load(text[1:], allow_pickle=False)
        except (OSError, ValueError) as error:
            raise UsageError(f"{what}: {text[1:]} cannot be read: {error}") from None
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        pass
    try:
        return float(text)  # nan, inf.
    except ValueError:
        raise UsageError(
            f"{what}={text} is no value; give a number, a list like [1, 2], 'text' or @FILE.npy"
        ) from None
