"""Random programs on every target, against the interpreter: all operations, loops in loops.

PSYLANG_EXAMPLES sets the number of programs of each test; they differ each time.
"""

from __future__ import annotations

import os

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings

from psylang.emit import fixture, host_targets
from psylang.ir.graph import Numerics, Program
from psylang.ir.interpret import interpret
from psylang.ir.programs_fixture import programs, same
from psylang.numerics import expansions

EXAMPLES = os.environ.get("PSYLANG_EXAMPLES")
QUICK = settings(
    max_examples=int(EXAMPLES or 25),
    deadline=None,
    derandomize=EXAMPLES is None,
    database=None,
    phases=[Phase.explicit, Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
)
TRIALS, SEQUENCES = 3, 7


def compare(program: Program) -> None:
    """All targets with one interpretation."""
    fast = expansions() if program.numerics == "fast" else None
    rows = TRIALS * SEQUENCES
    rng = np.random.default_rng(5)
    given_inputs = {
        one.name: rng.normal(size=(rows, *one.type.shape)).astype(one.type.dtype.numpy)
        for one in program.inputs
    }
    how = {"trials": TRIALS, "sequences": SEQUENCES, "seed": 9}
    wanted = interpret(program, inputs=given_inputs, expansions=fast, **how)  # type: ignore[arg-type]
    for isa in host_targets():
        found = fixture.run(program, isa, given=given_inputs, **how)  # type: ignore[arg-type]
        assert same(wanted, found), isa.name


@pytest.mark.parametrize("numerics", ["fast", "exact"])
def test_random_programs_agree_with_the_interpreter(numerics: Numerics) -> None:
    @QUICK
    @given(programs(numerics=numerics))
    def one(program: Program) -> None:
        compare(program)

    one()
