"""Converts the arguments of run() to the buffers of the machine code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from numpy.typing import NDArray

from psylang.ir.graph import Input, Parameter, Program
from psylang.runtime.errors import ArgumentError
from psylang.runtime.execute import Given
from psylang.runtime.generators import Generators
from psylang.runtime.values import (
    TRIALS_MAX,
    as_array,
    known,
    refuse_nan,
    refuse_outside,
    rows,
    seed_of,
    whole,
)

NUMBERS_MAX = 2**62  # Of trials, which are numbered through all sequences.
Named = Mapping[str, Any] | None
Values = dict[str, NDArray[Any]]


def bound(
    program: Program,
    inputs: Named,
    params: Named,
    trials: int | None,
    sequences: int,
    seed: int,
    allow_nan: bool,
    first: int,
    alike: bool,
) -> tuple[Given, frozenset[str]]:
    """The arguments of run(), checked, in the program's order; and the names of parameters that
    vary.

    The errors of Plan.run().
    """
    sequences = whole("sequences", sequences, 1, TRIALS_MAX)
    seed = seed_of(seed)
    set_params = _checked("params", params, program.parameters, _CONSTANTS, allow_nan)
    set_inputs = _checked("inputs", inputs, program.inputs, "", allow_nan)
    count = _trials(program, trials, sequences, set_params, set_inputs)
    first = whole("first", first, 0, NUMBERS_MAX // count - sequences)
    if program.numerics == "exact" and program.streams and not alike:
        # The keys of a sequence's generators are found by counting from the first sequence on.
        first = whole("first", first, 0, TRIALS_MAX)
    varying = set()
    parameters = []
    for parameter in program.parameters:
        found = set_params.get(parameter.name)
        if found is None:
            parameters.append(parameter.default)
            continue
        refuse_outside(parameter, found)
        if found.shape != parameter.type.shape:
            name = f"params[{parameter.name!r}]"
            found = rows(name, found, parameter.type.shape, sequences, count)
            varying.add(parameter.name)
        parameters.append(found)
    arrays, repeated = [], []
    for one in program.inputs:
        found = set_inputs.get(one.name, one.default)
        if found is None:
            raise ArgumentError(
                f"inputs[{one.name!r}] is missing; give an array of shape "
                f"{(count, *one.type.shape)}, or {one.type.shape} for all trials"
            )
        repeated.append(found.shape == one.type.shape)
        if not repeated[-1]:
            found = rows(f"inputs[{one.name!r}]", found, one.type.shape, sequences, count)
        arrays.append(found)
    generators = None
    if program.numerics == "exact" and program.streams:
        generators = Generators(program, seed, first + sequences, alike)
    given = Given(sequences, count, seed, parameters, arrays, repeated, generators, first)
    return given, frozenset(varying)


_CONSTANTS = "; what compile() made constant can be set if it is named in vary=[…]"


def _checked(
    what: str,
    given: Named,
    slots: tuple[Parameter, ...] | tuple[Input, ...],
    hint: str,
    allow_nan: bool,
) -> Values:
    if given is None:
        return {}
    known(what, given, [slot.name for slot in slots], hint)
    values = {}
    for slot in slots:
        if slot.name in given:
            name = f"{what}[{slot.name!r}]"
            array = as_array(name, given[slot.name], slot.type)
            refuse_nan(name, array, allow_nan)
            values[slot.name] = array
    return values


def _trials(
    program: Program, trials: int | None, sequences: int, params: Values, inputs: Values
) -> int:
    """The caller's number, or the number of rows of an argument, or one."""
    count = 1
    if trials is not None:
        count = whole("trials", trials, 1, TRIALS_MAX)
    else:
        for name, number in _row_counts(program, params, inputs):
            count = whole(f"the number of rows of {name}", number, 1, TRIALS_MAX)
            break
    if count * sequences > TRIALS_MAX:
        raise ArgumentError(
            f"{sequences} sequences of {count} trials are more than {TRIALS_MAX} trials"
        )
    return count


def _row_counts(program: Program, params: Values, inputs: Values) -> Iterator[tuple[str, int]]:
    for what, values, slots in (
        ("params", params, program.parameters),
        ("inputs", inputs, program.inputs),
    ):
        for slot in slots if values else ():
            array = values.get(slot.name)
            extra = 0 if array is None else array.ndim - len(slot.type.shape)
            if array is not None and extra in (1, 2):
                yield f"{what}[{slot.name!r}]", array.shape[extra - 1]
