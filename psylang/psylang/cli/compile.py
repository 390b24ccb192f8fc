"""psylang compile: makes machine code, into the cache or a file."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from psylang import emit
from psylang.cli.main import UsageError
from psylang.cli.models import pairs, plan_of
from psylang.runtime.values import known
from psylang.runtime.variants import target_of


def main(options: argparse.Namespace) -> int:
    if options.emit != "object" and options.output is None:
        raise UsageError(f"--emit {options.emit} needs --output FILE; - is standard output")
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
    if options.output is not None:
        code = _code(options.emit, plan.program, target)
        if options.output == "-":
            sys.stdout.buffer.write(code)
            return 0
        Path(options.output).write_bytes(code)
    if options.json:
        print(json.dumps(summary))
    else:
        how = "was in the cache" if variant.cached else f"took {variant.seconds * 1e3:.0f} ms"
        print(f"{plan.name} for {target.name}: {variant.kernel.size} bytes, {how}")
    return 0


def _code(kind: str, program: Any, target: Any) -> bytes:
    if kind == "llvm":
        return emit.llvm_text(program, target).encode()
    if kind == "assembly":
        return emit.assembly(program, target).encode()
    return emit.compile_object(program, target)
