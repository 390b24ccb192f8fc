"""The PTX of CUDA kernels, as a text: what is rounded, limits, searches, refusals."""

from __future__ import annotations

import re

import pytest

from psylang import models
from psylang.emit import gpu, optimised, ptx
from psylang.emit.emit_test import race, remembers
from psylang.emit.gpu import BLOCK_THREADS, Properties, split_search
from psylang.errors import ProgramError
from psylang.ir.graph import Program
from psylang.model import Model
from psylang.passes.precision import single

MODELS = [
    models.botvinick_stroop(),
    models.ddm_vazt(sv=0.3),
    models.full_ddm(),
    models.levy(),
    models.lca(),
    models.multitasking(hidden=18),
    models.necker_vectorised(),
    models.predator_prey(4),
]
KERNELS = re.compile(r"^\.visible \.entry (\w+)", re.MULTILINE)
# Operations that round, or that the assembler may contract or flush.
FLOATING = re.compile(r"\b((?:add|sub|mul|mad|fma|div|sqrt|rcp|rsqrt|ex2|lg2|tanh)\.\S*f(?:32|64))")


def program_of(model: Model) -> Program:
    return model.program(numerics="fast", fix={}, vary=(), ranges={})


@pytest.mark.parametrize("precision", ["f64", "f32"])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: str(model.name))
def test_each_operation_rounds_by_itself(model: Model, precision: str) -> None:
    program = program_of(model)
    text = ptx(program if precision == "f64" else single(program))
    found = set(FLOATING.findall(text))
    rounded = {
        f"{name}.rn.{precision}" for name in ("add", "sub", "mul", "fma", "div", "sqrt", "rcp")
    }
    assert found
    assert found <= rounded
    assert ".ftz" not in text
    assert "approx" not in text
    assert ".extern" not in text


def test_programs_have_the_kernels_that_they_need() -> None:
    assert KERNELS.findall(ptx(race())) == ["psylang_trials"]
    searching = ptx(program_of(models.predator_prey(4)))
    names = ["psylang_trials", "psylang_candidates", "psylang_choose"]
    assert KERNELS.findall(searching) == names
    assert Properties.read(searching.encode()) == Properties(64, False)


def test_trials_around_a_loop_of_varying_length_are_refilled() -> None:
    assert Properties.read(ptx(race()).encode()) == Properties(0, True)
    for fixed in (models.necker_3(passes=10), models.predator_prey(2)):
        assert Properties.read(ptx(program_of(fixed)).encode()) == Properties(0, False)


def test_limits_are_the_assemblers() -> None:
    text = ptx(remembers(), registers=40)
    assert ".maxnreg 40" in text
    assert f".maxntid {BLOCK_THREADS}" in text
    assert ".maxnreg" not in ptx(remembers())


@pytest.mark.parametrize(("levels", "found"), [(3, None), (4, 64), (9, 729)])
def test_threads_share_large_searches(levels: int, found: int | None) -> None:
    search = split_search(optimised(program_of(models.predator_prey(levels))))
    assert (search and search[1]) == found


def test_long_programs_are_not_refilled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "REFILLED_OPS_MAX", 1)
    assert Properties.read(ptx(race()).encode()) == Properties(0, False)


@pytest.mark.parametrize(
    "text",
    [b"", b"//\n// Generated", b"// psylang candidates, refilled: 5\n", b"\xff"],
)
def test_other_ptx_has_no_properties(text: bytes) -> None:
    assert Properties.read(text) is None


def test_exact_is_refused() -> None:
    with pytest.raises(ProgramError, match="`remembers` is exact; a GPU has no libm"):
        ptx(remembers("exact"))


def test_an_unknown_parameter_is_named() -> None:
    with pytest.raises(ProgramError, match="no parameter speed; there are: drift"):
        ptx(race(), frozenset({"speed"}))
