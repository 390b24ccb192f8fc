"""psylang compile: machine code to the cache or a file; or IR, LLVM, assembly or PTX as texts."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from psylang import emit
from psylang.cli.main import UsageError
from psylang.cli.models import pairs, plan_of
from psylang.ir.text import print_program
from psylang.runtime.cuda.options import Cuda
from psylang.runtime.cuda.variants import ptx_of
from psylang.runtime.values import known
from psylang.runtime.variants import target_of


def main(options: argparse.Namespace) -> int:
    if options.registers is not None:
        if options.emit != "ptx":
            raise UsageError("--registers is of --emit ptx")
        Cuda(registers=options.registers)
    plan = plan_of(options)
    known("--param", pairs("--param", options.param), plan.parameters)
    target = target_of(options.isa)
    variant = plan.variant(options.isa)
    summary: dict[str, Any] = {
        "model": plan.name,
        "numerics": plan.program.numerics,
        "precision": plan.precision,
        "isa": target.name,
        "parameters": list(plan.parameters),
        "inputs": list(plan.inputs),
        "outputs": list(plan.outputs),
        "bytes": variant.kernel.size,
        "cached": variant.cached,
        "seconds": variant.seconds,
    }
    output = options.output
    if output is None and options.emit != "object":
        output = "-"  # All other formats are text.
    if output is not None:
        code = _code(options.emit, plan.program, target, options.registers)
        if output == "-":
            sys.stdout.buffer.write(code)
            return 0
        Path(output).write_bytes(code)
    if options.json:
        print(json.dumps(summary))
    else:
        how = "was in the cache" if variant.cached else f"took {variant.seconds * 1e3:.0f} ms"
        print(f"{plan.name} for {target.name}: {variant.kernel.size} bytes, {how}")
    return 0


def _code(kind: str, program: Any, target: Any, registers: int | None) -> bytes:
    if kind == "ir":
        return print_program(program).encode()
    if kind == "llvm":
        return emit.llvm_text(program, target).encode()
    if kind == "ptx":
        return ptx_of(program, frozenset(), registers)
    if kind == "assembly":
        return emit.assembly(program, target).encode()
    return emit.compile_object(program, target)
