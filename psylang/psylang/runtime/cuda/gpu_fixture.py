"""The GPU that tests run on, which may be the emulated driver (emulator/cuda).

Tests that need it are skipped with the reason where there is none. With PSYLANG_GPU_TESTS=1, as
`./dev check --only psylang` sets it, they fail instead.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

import psylang
from psylang.ir.graph import Program
from psylang.ir.programs_fixture import same
from psylang.runtime.cuda.driver import Device, driver
from psylang.runtime.plan import Plan


@pytest.fixture
def gpu() -> Device:
    try:
        return driver().device(0)
    except psylang.GpuError as error:
        if os.environ.get("PSYLANG_GPU_TESTS"):
            raise
        pytest.skip(str(error))


def agree(model: Any, inputs: Any = None, params: Any = None, **how: Any) -> psylang.Results:
    """A run on the GPU, which has the CPU's bits. model: a model or a program."""
    compile_as = {key: how.pop(key) for key in ("precision", "vary") if key in how}
    plan = psylang.compile(model, **compile_as)
    on_gpu = plan.run(inputs, params, device="cuda", **how)
    on_cpu = plan.run(inputs, params, **how)
    assert list(on_gpu) == list(on_cpu)
    assert same(dict(on_cpu), dict(on_gpu))
    return on_gpu


def plan_of(program: Program) -> Plan:
    return psylang.compile(program)


def rows_of(program: Program, count: int) -> dict[str, Any]:
    """Random inputs, a row each."""
    rng = np.random.default_rng(5)
    return {
        one.name: rng.normal(size=(count, *one.type.shape)).astype(one.type.dtype.numpy)
        for one in program.inputs
    }
