"""Code for another architecture, run under qemu-user: the same bits as here.

A program without a C library: it reads the buffers from standard input, runs the trials, and writes
the buffers back. `./dev check` installs what this needs (qemu-user, binutils-aarch64-linux-gnu).
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from psylang.emit import compile_object, fixture, host_targets
from psylang.emit.emit_test import race, remembers, same
from psylang.emit.targets import AARCH64
from psylang.ir.graph import Program

QEMU, LINKER, ASSEMBLER = "qemu-aarch64", "aarch64-linux-gnu-ld", "aarch64-linux-gnu-as"
HEADER_WORDS = 6  # bytes, begin, end, trials, seed, buffers; then an offset in bytes a buffer.

pytestmark = pytest.mark.skipif(
    not all(map(shutil.which, (QEMU, LINKER, ASSEMBLER))), reason=f"needs {QEMU} and {LINKER}"
)

# read(0) to the end, offsets to pointers, psylang_run(), write(1), exit(0).
START = """
.bss
.balign 64
memory: .skip 1048576
.text
.global _start
_start:
  ldr x20, =memory
  mov x19, #0
1:
  mov x0, #0
  add x1, x20, x19
  mov x2, #1048576
  sub x2, x2, x19
  mov x8, #63
  svc #0
  cmp x0, #0
  b.le 2f
  add x19, x19, x0
  b 1b
2:
  ldr x21, [x20, #40]
  add x22, x20, #48
3:
  cbz x21, 4f
  ldr x0, [x22]
  add x0, x0, x20
  str x0, [x22], #8
  sub x21, x21, #1
  b 3b
4:
  ldp x0, x1, [x20, #8]
  ldp x2, x3, [x20, #24]
  add x4, x20, #48
  bl psylang_run
  mov x0, #1
  mov x1, x20
  ldr x2, [x20]
  mov x8, #64
  svc #0
  mov x0, #0
  mov x8, #93
  svc #0
"""


def run_there(
    program: Program, folder: Path, trials: int, sequences: int, given: dict[str, object]
) -> dict[str, Any]:
    (folder / "model.o").write_bytes(compile_object(program, AARCH64))
    buffers = fixture.buffers_for(program, trials * sequences, sequences, given)
    start, binary = folder / "start.o", folder / "model"
    subprocess.run([ASSEMBLER, "-o", start, "-"], input=START.encode(), check=True)
    subprocess.run([LINKER, "-o", binary, start, folder / "model.o"], check=True)
    place = 8 * (HEADER_WORDS + len(buffers))
    places = []
    for buffer in buffers:
        place = -(-place // 64) * 64
        places.append(place)
        place += buffer.nbytes
    end = trials if program.is_independent() else sequences
    image = bytearray(place)
    header = np.array([place, 0, end, trials, 7, len(places), *places], np.int64)
    image[: header.nbytes] = header.tobytes()
    for at, buffer in zip(places, buffers, strict=True):
        image[at : at + buffer.nbytes] = buffer.tobytes()
    ran = subprocess.run([QEMU, binary], input=bytes(image), capture_output=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    found: dict[str, Any] = {}
    first = len(buffers) - len(program.outputs)
    for index, output in enumerate(program.outputs, first):
        shape, at = buffers[index].shape, places[index]
        raw = np.frombuffer(ran.stdout, output.type.dtype.numpy, int(np.prod(shape)), at)
        found[output.name] = raw.reshape(shape)
    return found


@pytest.mark.parametrize(
    ("program", "trials", "sequences"), [(race(), 23, 1), (remembers(), 3, 6)], ids=["race", "rest"]
)
def test_aarch64_computes_the_same_bits(
    program: Program, trials: int, sequences: int, tmp_path: Path
) -> None:
    rows = np.linspace(-0.5, 0.5, trials * sequences)
    given: dict[str, object] = {one.name: rows for one in program.inputs}
    there = run_there(program, tmp_path, trials, sequences, given)
    here = fixture.run(
        program, host_targets()[0], trials=trials, sequences=sequences, seed=7, given=given
    )
    for name in here:
        assert same(there[name], here[name]), name
