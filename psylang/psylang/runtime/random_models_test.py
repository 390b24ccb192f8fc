"""Random models, computed in every way: the interpreter, passes, targets, rows.

PSYLANG_EXAMPLES sets the number of models of each test; they differ each time.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.strategies import SearchStrategy

import psylang
from psylang.emit import host_targets
from psylang.emit.compile import optimised
from psylang.ir.graph import Numerics, Program
from psylang.ir.interpret import interpret
from psylang.ir.programs_fixture import same
from psylang.ir.verify import verify
from psylang.model.models_fixture import Case, models
from psylang.numerics import expansions
from psylang.runtime.plan import Plan

EXAMPLES = os.environ.get("PSYLANG_EXAMPLES")
QUICK = settings(
    deadline=None,
    derandomize=EXAMPLES is None,
    database=None,
    phases=[Phase.explicit, Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
)
SEQUENCES, TRIALS, SEED = 3, 3, 9
ROWS = SEQUENCES * TRIALS
HOW: Mapping[str, Any] = {"trials": TRIALS, "sequences": SEQUENCES, "seed": SEED}


@pytest.fixture(autouse=True)
def no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PSYLANG_CACHE_BYTES", "0")


def lowered(case: Case, numerics: Numerics, vary: tuple[str, ...] | None = None) -> Program:
    """Its program."""
    program = case.model.program(numerics, vary=case.vary if vary is None else vary)
    verify(program)
    return program


def interpreted(program: Program, inputs: Mapping[str, Any], **other: Any) -> dict[str, Any]:
    how = {**HOW, "seed": SEED if program.numerics == "fast" else 0, **other}
    fast = expansions() if program.numerics == "fast" else None
    return interpret(program, inputs=inputs, expansions=fast, **how)


def by_sequence(rows: Mapping[str, Any]) -> dict[str, Any]:
    """Rows as run() takes them."""
    return {name: row.reshape(SEQUENCES, TRIALS, *row.shape[1:]) for name, row in rows.items()}


def ran(plan: Plan, inputs: Mapping[str, Any], **other: Any) -> dict[str, Any]:
    """The results of a plan, one row per trial."""
    how = {**HOW, "seed": SEED if plan.program.numerics == "fast" else 0, **other}
    found = plan.run(by_sequence(inputs), threads=1, allow_nan=True, **how)
    return {name: found[name].reshape(ROWS, *found[name].shape[2:]) for name in plan.outputs}


def check_fast(case: Case) -> None:
    program, inputs = lowered(case, "fast"), case.inputs(np.random.default_rng(5), ROWS)
    wanted = interpreted(program, inputs)
    assert same(wanted, interpreted(optimised(program), inputs))
    plan = psylang.compile(program)
    for isa in host_targets():
        assert same(wanted, ran(plan, inputs, isa=isa.name)), isa.name


def check_exact(case: Case) -> None:
    program, inputs = lowered(case, "exact"), case.inputs(np.random.default_rng(5), ROWS)
    wanted = interpreted(program, inputs)
    assert same(wanted, interpreted(optimised(program), inputs))
    assert same(wanted, ran(psylang.compile(program), inputs))


def check_rows(case: Case) -> None:
    """Parameters with one row per trial, and sequences, equal separate runs."""
    rng = np.random.default_rng(6)
    program, inputs = lowered(case, "fast"), case.inputs(rng, ROWS)
    plan = psylang.compile(program)
    apart = case.params(rng, SEQUENCES)
    rows = by_sequence({name: np.repeat(row, TRIALS, axis=0) for name, row in apart.items()})
    together = ran(plan, inputs, params=rows)
    for sequence in range(SEQUENCES):
        one = {name: row[sequence] for name, row in apart.items()}
        at = slice(sequence * TRIALS, (sequence + 1) * TRIALS)
        here = {name: row[at] for name, row in together.items()}
        alone = ran(plan, inputs, params=one)
        assert same(here, {name: row[at] for name, row in alone.items()})
        mine = {name: row[at] for name, row in inputs.items()}
        found = plan.run(mine, one, trials=TRIALS, first=sequence, seed=SEED, allow_nan=True)
        assert same(here, {name: found[name] for name in plan.outputs})


def alike(one: Mapping[str, Any], other: Mapping[str, Any], tolerance: float) -> None:
    for name, values in one.items():
        if np.all(np.isfinite(values)) and np.all(np.abs(values) < 1e6):
            np.testing.assert_allclose(values, other[name], tolerance, tolerance, err_msg=name)


def check_constants(case: Case) -> None:
    """Constants, and the same parameters given at run time, give equal results."""
    inputs = case.inputs(np.random.default_rng(7), ROWS)
    varied, fixed = lowered(case, "exact"), lowered(case, "exact", ())
    alike(interpreted(varied, inputs), interpreted(fixed, inputs), 1e-9)


def check_numerics(case: Case) -> None:
    """Without noise, both numerics give equal results except for rounding."""
    inputs = case.inputs(np.random.default_rng(8), ROWS)
    fast, exact = lowered(case, "fast"), lowered(case, "exact")
    alike(interpreted(fast, inputs), interpreted(exact, inputs), 1e-6)


CHECKS = [
    # Two mechanisms at most where LLVM compiles them for every target.
    (check_fast, 6, models(most=2)),
    (check_exact, 6, models(most=2)),
    (check_rows, 4, models(most=2)),
    (check_constants, 20, models()),
    (check_numerics, 20, models(noisy=False)),
]


@pytest.mark.parametrize(
    ("check", "count", "some"), CHECKS, ids=[check.__name__[6:] for check, _, _ in CHECKS]
)
def test_of_random_models(
    check: Callable[[Case], None], count: int, some: SearchStrategy[Case]
) -> None:
    @settings(QUICK, max_examples=int(EXAMPLES or count))
    @given(some)
    def one(case: Case) -> None:
        check(case)

    one()
