"""Compiles a program to LLVM text and to object code."""

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm
import llvmlite.ir as ll

from psylang.emit.collector import paused
from psylang.emit.gpu import GpuKernels, Properties
from psylang.emit.kernel import Kernel
from psylang.emit.targets import NVPTX, Target, initialise
from psylang.errors import ProgramError
from psylang.ir.graph import Program
from psylang.ir.types import DType
from psylang.numerics import expansions
from psylang.passes.pipeline import Record, Settings, optimise

OPTIMISATION = 2  # LLVM's level; 3 takes longer and gains nothing on straight-line code.
LONG_PROGRAM_OPS = 2000
# From this many operations on, `fast` programs get these passes instead of LLVM's own sequence:
# half of the time to compile, and code that is as fast. Shorter programs lose up to a tenth by it.
FEW_PASSES_OPS = 1000
FEW_PASSES = ("sroa", "aggressive_dce", "simplify_cfg", "new_gvn", "loop_rotate")
CALLS_MIN = 64  # Of a function, outside of loops; each is 20 to 80 operations.
NO_VARYING: frozenset[str] = frozenset()


def llvm_text(program: Program, target: Target, varying: frozenset[str] = NO_VARYING) -> str:
    """LLVM assembly of psylang_run() for the target; LLVM's own passes come later.

    ProgramError: a name in `varying` is no parameter.
    """
    _known(program, varying)
    return _text(optimised(program, calls_min=CALLS_MIN), target, varying)


def _text(after: Program, target: Target, varying: frozenset[str]) -> str:
    with paused():
        module = ll.Module(after.name)
        module.triple = target.triple
        width = _width(after, target) if after.numerics == "fast" else 1
        Kernel(module, after, width, varying).emit()
        return str(module)


def _known(program: Program, varying: frozenset[str]) -> None:
    unknown = varying - {parameter.name for parameter in program.parameters}
    if unknown:
        known = ", ".join(parameter.name for parameter in program.parameters) or "none"
        raise ProgramError(f"no parameter {', '.join(sorted(unknown))}; there are: {known}")


def _width(program: Program, target: Target) -> int:
    """Long programs spill at any width, so their values have one register, not a target's two: with
    AVX2 the 14,000 operations of the multitasking model compile in a third of the time, and run in
    0.7 of it.

    Programs of f32 have twice the lanes, for half of the bits.
    """
    long = _length(program) > LONG_PROGRAM_OPS
    width = max(target.width // 2, 1) if long else target.width
    return 2 * width if width > 1 and is_single(program) else width


def _length(program: Program) -> int:
    return sum(1 for op in program.body.walk() if op.name != "constant")


def is_single(program: Program) -> bool:
    """Whether it computes in f32, with f64 only for arguments and results (passes.precision)."""
    ops = list(program.body.walk())
    kinds = {value.type.dtype for op in ops if op.name != "convert" for value in op.results}
    return DType.F32 in kinds and DType.F64 not in kinds


def optimised(
    program: Program, records: list[Record] | None = None, calls_min: int | None = None
) -> Program:
    """The program to emit: after all passes, with the same signature.

    records: receives the effect of each pass. calls_min: as for passes.expand.
    """
    with paused():
        settings = Settings(keep_signature=True, calls_min=calls_min)
        return optimise(program, expansions(), settings, records)


def compile_object(program: Program, target: Target, varying: frozenset[str] = NO_VARYING) -> bytes:
    """Object code with the one symbol psylang_run (abi.py). ProgramError: as llvm_text()."""
    machine = _machine(target)
    return bytes(machine.emit_object(_compiled(program, target, varying, machine)))


def assembly(program: Program, target: Target, varying: frozenset[str] = NO_VARYING) -> str:
    """The target's assembly, for readers."""
    machine = _machine(target)
    return str(machine.emit_assembly(_compiled(program, target, varying, machine)))


def _compiled(program: Program, target: Target, varying: frozenset[str], machine: Any) -> Any:
    _known(program, varying)
    after = optimised(program, calls_min=CALLS_MIN)
    few = after.numerics == "fast" and _length(after) >= FEW_PASSES_OPS
    return _optimised(_text(after, target, varying), machine, few)


def gpu_text(
    program: Program, varying: frozenset[str] = NO_VARYING, registers: int | None = None
) -> str:
    """LLVM assembly of the CUDA kernels of gpu.py. ProgramError: as llvm_text(), or the program is
    `exact`."""
    return _gpu_text(optimised(program), varying, registers)


def _gpu_text(after: Program, varying: frozenset[str], registers: int | None) -> str:
    _known(after, varying)
    with paused():
        module = ll.Module(after.name)
        module.triple = NVPTX.triple
        GpuKernels(module, after, varying, registers).emit()
        return str(module)


def ptx(
    program: Program, varying: frozenset[str] = NO_VARYING, registers: int | None = None
) -> str:
    """PTX of the CUDA kernels of gpu.py, for GPUs of compute capability 7.5 and later.

    registers: the most that a thread may use, None: no limit. ProgramError: as gpu_text()."""
    after, machine = optimised(program), _machine(NVPTX)
    module = _optimised(_gpu_text(after, varying, registers), machine)
    return Properties.of(after, varying).heading() + str(machine.emit_assembly(module))


def _machine(target: Target) -> Any:
    initialise()
    if not llvm.get_process_triple().startswith(target.triple.split("-")[0]):
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
    return llvm.Target.from_triple(target.triple).create_target_machine(
        cpu=target.cpu,
        features=target.features,
        opt=OPTIMISATION,
        reloc="pic",
        codemodel="small",
        jit=False,
    )


def _optimised(text: str, machine: Any, few: bool = False) -> Any:
    module = llvm.parse_assembly(text)
    module.verify()
    module.data_layout = str(machine.target_data)
    options = llvm.create_pipeline_tuning_options(speed_level=OPTIMISATION)
    passes = llvm.create_pass_builder(machine, options)
    if not few:
        passes.getModulePassManager().run(module, passes)
        return module
    manager = llvm.create_new_module_pass_manager()
    for name in FEW_PASSES:
        getattr(manager, f"add_{name}_pass")()
    manager.run(module, passes)
    return module
