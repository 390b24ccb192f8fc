"""psylang registers: what ptxas says of the CUDA kernels of models, by precision and limit."""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from psylang import models
from psylang.cli.main import UsageError
from psylang.cli.models import Scripted, model_of, pairs
from psylang.errors import PsylangError
from psylang.ir.graph import Program
from psylang.runtime.cuda.options import Cuda
from psylang.runtime.cuda.variants import ptx_of, refuse_exact
from psylang.runtime.precision import Precision, in_precision

PRECISIONS: tuple[Precision, ...] = ("f64", "f32")
TIME_LIMIT_S = 120
_ENTRY = re.compile(r"Compiling entry function '(\w+)'")
_STACK = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_REGISTERS = re.compile(r"Used (\d+) registers")


@dataclass(frozen=True)
class Usage:
    """One kernel. limit: of registers, None: no limit. Bytes are of a thread."""

    model: str
    precision: str
    limit: int | None
    kernel: str
    registers: int
    stack_bytes: int
    spill_store_bytes: int
    spill_load_bytes: int


def main(options: argparse.Namespace) -> int:
    limits = limits_of(options.limits)
    ptxas = options.ptxas or shutil.which("ptxas")
    if ptxas is None:
        raise UsageError(
            "there is no ptxas in PATH; install NVIDIA's assembler (pip install nvidia-cuda-nvcc) "
            "and name it: --ptxas FILE"
        )
    names = options.models or [f"psylang.models:{name}" for name in models.__all__]
    rows = [row for name in names for row in _of_model(name, limits, Path(ptxas), options)]
    if options.json:
        for row in rows:
            print(json.dumps(asdict(row)))
    else:
        print("\n".join(table(rows)))
    return 0


def _of_model(
    name: str, limits: list[int | None], ptxas: Path, options: argparse.Namespace
) -> Iterator[Usage]:
    program = _program(model_of(name, pairs("--set", options.set)))
    for precision in PRECISIONS:
        written = in_precision(program, precision)
        for limit in limits:
            ptx = ptx_of(written, frozenset(), limit)
            for kernel, numbers in assembled(ptx, ptxas, options.arch).items():
                yield Usage(program.name, precision, limit, kernel, *numbers)


def _program(found: Any) -> Program:
    """In `fast`. A model's own errors pass unchanged."""
    model = found.model if isinstance(found, Scripted) else found
    program: Program = (
        model
        if isinstance(model, Program)
        else model.program(numerics="fast", fix={}, vary=(), ranges={})
    )
    refuse_exact(program)
    return program


def assembled(ptx: bytes, ptxas: Path, arch: str) -> dict[str, tuple[int, int, int, int]]:
    """By kernel its registers, and bytes of stack, spill stores and spill loads. PsylangError:
    ptxas fails."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "kernels.ptx"
        source.write_bytes(ptx)
        command = [str(ptxas), f"-arch={arch}", "-v", "-o", f"{folder}/kernels", str(source)]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=TIME_LIMIT_S, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise PsylangError(f"{ptxas} cannot assemble: {error}; --ptxas names another") from None
    said = done.stderr + done.stdout
    if done.returncode:
        lines = said.replace(folder, "").strip().splitlines() or ["it says nothing"]
        raise PsylangError(f"{ptxas} refuses the kernels for {arch}: {lines[0]}")
    return dict(_kernels(said))


def _kernels(said: str) -> Iterator[tuple[str, tuple[int, int, int, int]]]:
    for part in re.split(r"(?=Compiling entry function)", said):
        entry, stack, registers = (one.search(part) for one in (_ENTRY, _STACK, _REGISTERS))
        if entry and stack and registers:
            frame, stores, loads = map(int, stack.groups())
            yield entry[1], (int(registers[1]), frame, stores, loads)


def limits_of(text: str) -> list[int | None]:
    """UsageError: no numbers. ArgumentError: numbers that are no limits."""
    try:
        found = [None if word == "none" else int(word) for word in text.split(",")]
    except ValueError:
        raise UsageError(f"--limits {text}: give numbers and none, like none,128,64,32") from None
    for limit in found:
        Cuda(registers=limit)
    return found


def table(rows: list[Usage]) -> list[str]:
    """One line for a kernel in a precision, a column for a limit: registers, and after it the bytes
    of the stack and of spill stores, if there are any."""
    limits = list(dict.fromkeys(row.limit for row in rows))
    cells: dict[tuple[str, str, str], dict[int | None, str]] = {}
    for one in rows:
        more = f" ({one.stack_bytes}, {one.spill_store_bytes})" if one.stack_bytes else ""
        key = (one.model, one.kernel.removeprefix("psylang_"), one.precision)
        cells.setdefault(key, {})[one.limit] = f"{one.registers}{more}"
    head = ["model", "kernel", "", *("no limit" if one is None else str(one) for one in limits)]
    body = [[*key, *(found.get(one, "") for one in limits)] for key, found in cells.items()]
    widths = [max(map(len, column)) for column in zip(head, *body, strict=True)]
    lines = ["registers of a thread (bytes of its stack, of spill stores), by limit of registers"]
    for row in (head, *body):
        padded = (f"{word:<{width}}" for word, width in zip(row, widths, strict=True))
        lines.append("  ".join(padded).rstrip())
    return lines
