"""Runs object code in this process, for the tests of emit/: no cache, no threads, no checks."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from numpy.typing import NDArray

from psylang.emit import abi, compile_object
from psylang.emit.targets import Target
from psylang.ir.graph import Input, Parameter, Program

_ENGINES: list[Any] = []  # The engines own the code and must outlive the functions.


def loaded(code: bytes) -> Any:
    """The function psylang_run of object code for this machine."""
    machine = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    _ENGINES.append(engine)
    signature = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 4, ctypes.c_void_p)
    return signature(engine.get_function_address(abi.SYMBOL))


def buffers_for(
    program: Program, rows: int, sequences: int, given: Mapping[str, Any]
) -> list[NDArray[Any]]:
    """Buffers in the order of the ABI; outputs are zeros."""
    named: tuple[Parameter | Input, ...] = (*program.parameters, *program.inputs)
    buffers = [
        np.ascontiguousarray(given.get(one.name, one.default), one.type.dtype.numpy)
        for one in named
    ]
    for state in program.states:
        buffers.append(np.repeat(np.asarray(state.initial)[None], sequences, axis=0).copy())
    for output in program.outputs:
        buffers.append(np.zeros((rows, *output.type.shape), output.type.dtype.numpy))
    if program.numerics == "exact" and program.streams:
        generators = [
            abi.generators_of(program.stream_seeds, 0, sequence) for sequence in range(sequences)
        ]
        buffers.append(np.stack(generators))
    return buffers


def run(
    program: Program,
    target: Target,
    *,
    trials: int = 1,
    sequences: int = 1,
    seed: int = 0,
    given: Mapping[str, Any] | None = None,
    varying: frozenset[str] = frozenset(),
    ranges: list[tuple[int, int]] | None = None,
) -> dict[str, NDArray[Any]]:
    """Outputs by name, as interpret() gives them. ranges: of trials or sequences, one by one.

    Inputs and varying parameters in `given` have one row per trial.
    """
    rows = trials * sequences
    buffers = buffers_for(program, rows, sequences, given or {})
    pointers = (ctypes.c_void_p * max(1, len(buffers)))(*[one.ctypes.data for one in buffers])
    function = loaded(compile_object(program, target, varying))
    whole = [(0, rows if program.is_independent() else sequences)]
    for begin, end in ranges or whole:
        function(begin, end, trials, seed, pointers)
    first = abi.buffers_of(program).outputs
    return {output.name: buffers[first + i] for i, output in enumerate(program.outputs)}
