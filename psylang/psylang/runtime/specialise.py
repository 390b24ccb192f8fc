"""Specialised programs: parameters become constants, ranges are set, outputs left out.

This module applies the arguments of compile() to an IR program; models do it themselves, in
`.program(…)`.
A parameter that becomes a constant keeps its Value: a constant operation in front defines it, so
nothing else of the body changes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from psylang.ir.builder import plain
from psylang.ir.graph import Op, Output, Parameter, Program, Region
from psylang.runtime.errors import ArgumentError, listed
from psylang.runtime.values import as_array


def specialised(
    program: Program,
    fix: Mapping[str, Any],
    vary: Collection[str] | None,
    ranges: Mapping[str, tuple[float, float]],
) -> Program:
    """The program with `fix`, and parameters not in `vary` (None: all), as constants.

    ArgumentError: an unknown name, a name in both, or a value that does not fit.
    """
    names = [parameter.name for parameter in program.parameters]
    for what, given in (("fix", fix), ("vary", vary or ()), ("ranges", ranges)):
        unknown = [name for name in given if name not in names]
        if unknown:
            raise ArgumentError(
                f"{what}: `{program.name}` has no parameter {listed(unknown)}; "
                f"it has {listed(names)}"
            )
    both = [name for name in vary or () if name in fix]
    if both:
        raise ArgumentError(f"{listed(both)} is in fix and in vary; leave it in one of them")
    kept = [name for name in names if name not in fix and (vary is None or name in vary)]
    idle = [name for name in ranges if name not in kept]
    if idle:
        raise ArgumentError(
            f"ranges: {listed(idle)} is a constant here and has no range; vary it, or leave it out"
        )
    constants: list[Op] = []
    parameters: list[Parameter] = []
    arguments = []
    for parameter, value in zip(program.parameters, program.body.arguments, strict=False):
        if parameter.name in kept:
            limits = ranges.get(parameter.name, parameter.range)
            parameters.append(_with_range(parameter, limits))
            arguments.append(value)
            continue
        number = as_array(
            f"fix[{parameter.name!r}]", fix.get(parameter.name, parameter.default), parameter.type
        )
        if number.shape != parameter.type.shape:
            raise ArgumentError(
                f"fix[{parameter.name!r}] has shape {number.shape}; the parameter has "
                f"{parameter.type.shape}"
            )
        attributes = {"value": plain(number, parameter.type), "type": parameter.type}
        constants.append(Op("constant", (), (value,), attributes))
    body = program.body
    arguments += body.arguments[len(program.parameters) :]
    return replace(
        program,
        parameters=tuple(parameters),
        body=Region(tuple(arguments), (*constants, *body.ops), body.yields),
    )


def _with_range(parameter: Parameter, limits: Any) -> Parameter:
    if limits is None:
        return parameter
    try:
        low, high = (float(limit) for limit in limits)
    except (TypeError, ValueError):
        raise ArgumentError(
            f"ranges[{parameter.name!r}] is {limits!r}; give a pair (least, greatest)"
        ) from None
    if not low <= high:
        raise ArgumentError(f"ranges[{parameter.name!r}] is empty: {low} … {high}")
    return replace(parameter, range=(low, high))


def with_outputs(program: Program, names: Collection[str]) -> Program:
    """The program with only these outputs; operations that they do not need become dead code."""
    if len(names) == len(program.outputs):
        return program
    chosen: list[Output] = []
    yields = []
    for output, value in zip(program.outputs, program.body.yields, strict=False):
        if output.name in names:
            chosen.append(output)
            yields.append(value)
    body = program.body
    yields += body.yields[len(program.outputs) :]
    return replace(
        program, outputs=tuple(chosen), body=Region(body.arguments, body.ops, tuple(yields))
    )
