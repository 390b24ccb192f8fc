"""A program that was pickled or copied computes the same, from the same machine code."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor

import pytest

from psylang import models
from psylang.ir.graph import Numerics, Program
from psylang.ir.interpret import interpret
from psylang.ir.programs_fixture import same
from psylang.ir.text import print_program
from psylang.ir.verify import verify
from psylang.model import Model
from psylang.numerics import expansions
from psylang.runtime.digest import digest
from psylang.runtime.plan_fixture import straight, walk

Copy = Callable[[Program], Program]


def pickled(program: Program) -> Program:
    again: Program = pickle.loads(pickle.dumps(program))
    return again


def alike(one: Program, other: Program) -> bool:
    """The text contains the whole program; the digest selects its machine code."""
    return print_program(one) == print_program(other) and digest(one) == digest(other)


@pytest.mark.parametrize("copied", [pickled, copy.copy, copy.deepcopy])
@pytest.mark.parametrize("numerics", ["fast", "exact"])
@pytest.mark.parametrize("name", models.__all__)
def test_each_model_of_the_library_stays_the_same(
    name: str, numerics: Numerics, copied: Copy
) -> None:
    model: Model = getattr(models, name)()
    computed = model._formulas  # What is computed from others is not varied.
    for vary in ([], [name for name in model.parameters if name not in computed]):
        program = model.program(numerics, vary=vary)
        again = copied(program)
        assert again is not program
        verify(again)
        assert alike(program, again)


@pytest.mark.parametrize("numerics", ["fast", "exact"])
def test_a_pickled_program_computes_the_same(numerics: Numerics) -> None:
    program = models.ddm(max_steps=50).program(numerics, vary=["drift"])
    known = expansions() if numerics == "fast" else {}
    before, after = (
        interpret(one, trials=3, seed=7, expansions=known) for one in (program, pickled(program))
    )
    assert same(before, after)


def test_a_pickled_program_cannot_be_changed() -> None:
    again = pickled(straight())
    assert [one.default.flags.writeable for one in again.parameters] == [False, False]


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_every_protocol_of_pickle_will_do(protocol: int) -> None:
    assert alike(pickle.loads(pickle.dumps(walk(), protocol)), walk())


def test_programs_are_sent_to_another_process_and_back() -> None:
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as other:
        assert other.submit(digest, straight()).result(timeout=100) == digest(straight())
        assert alike(other.submit(copy.deepcopy, walk()).result(timeout=100), walk())
