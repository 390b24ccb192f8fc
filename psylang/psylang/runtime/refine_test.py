"""search(method="refine") finds the best point of the whole grid, and proves it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import psylang
from psylang.ir.builder import ProgramBuilder
from psylang.ir.graph import Program, Value
from psylang.ir.interpret import interpret
from psylang.ir.types import I32
from psylang.model import Compute, Model, Transfer, function
from psylang.model.noise import Normal
from psylang.models import ddm, predator_prey
from psylang.models.predator_prey import AVATARS, LEAST_SURE, likeness, pursue
from psylang.numerics import expansions
from psylang.runtime.plan_fixture import session_cache

__all__ = ["session_cache"]


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, session_cache: Path) -> None:
    monkeypatch.setenv("PSYLANG_CACHE_DIR", str(session_cache))


@function
def net(outcome, player, predator, prey):  # type: ignore[no-untyped-def]
    """The outcome less the cost of attention, as in predator_prey()'s controller."""
    costs = np.exp(-player - 2.0) + np.exp(-predator - 2.0) + np.exp(-prey - 2.0)
    return outcome[0] - costs


def attention() -> Model:
    """predator_prey() with the allocation as parameters, in place of its controller."""
    model = Model("attention")
    fear = model.parameter("fear", 2.0)
    levels = {name: model.parameter(name + "_level", 1.0) for name in AVATARS}
    sizes = dict.fromkeys(AVATARS, 2)
    moves = {
        name: model.add(
            Compute(name, function=pursue, inputs=sizes, parameters={"fear": fear}, size=2)
        )
        for name in ("action", "ideal")
    }
    for name in AVATARS:
        position = model.add(Transfer(name, size=2))
        noise = Normal(standard_deviation=levels[name])
        seen = model.add(Transfer(f"{name}_seen", size=2, noise=noise))
        model.input(name, position)
        model.connect(position, seen)
        model.connect(seen, moves["action"], receiver_port=name)
        model.connect(position, moves["ideal"], receiver_port=name)
    both = {"action": 2, "ideal": 2}
    outcome = model.add(Compute("outcome", function=likeness, inputs=both, size=0))
    for name, move in moves.items():
        model.connect(move, outcome, receiver_port=name)
    value = model.add(
        Compute("net", function=net, inputs={"outcome": 1}, parameters=levels, size=0)
    )
    model.connect(outcome, value)
    model.output("net", value)
    return model


def positions(seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    return {name: rng.uniform(-3, 3, 2) for name in AVATARS}


@pytest.mark.parametrize("seed", [3, 4, 14])
def test_the_grids_optimum_takes_less_than_a_hundredth_of_a_million(seed: int) -> None:
    """predator_prey(100) tries all 10**6 allocations, with the same draws. Game 4 needs the balance
    of slopes and bends: by intervals alone it took 10.8 %."""
    levels = np.linspace(0, LEAST_SURE, 100)
    every = psylang.compile(predator_prey(100)).run(inputs=positions(seed), seed=7)
    plan = psylang.compile(attention(), vary=[f"{name}_level" for name in AVATARS])
    found = plan.search(
        {f"{name}_level": levels for name in AVATARS},
        method="refine",
        objective="net",
        maximize=True,
        inputs=positions(seed),
        seed=7,
    )
    assert [found.best[f"{name}_level"] for name in AVATARS] == every["allocation"][0].tolist()
    assert found.points == 10**6
    assert found.evaluations < 0.01 * found.points
    assert found.bound <= found.best_value
    assert f"{found.evaluations} evaluations" in repr(found)


def bumpy() -> Program:
    """A program of two parameters and a draw, with several valleys, a branch, and NaN in a
    corner."""
    build = ProgramBuilder("bumpy")
    x, y = build.parameter("x", 0.0), build.parameter("y", np.zeros(2))
    z = build.normal(build.stream("noise"))
    first, second = build.extract(y, 0), build.extract(y, 1)
    waves = build.op("sin", build.mul(build.add(x, build.mul(z, first)), 3.0))
    valley = build.add(build.mul(first, first), build.abs(build.sub(second, x)))
    steep = build.select(build.lt(x, first), build.mul(x, 2.0), build.mul(x, x))
    root = build.op("sqrt", build.add(build.add(x, first), 1.5))
    total = build.add(build.add(waves, build.mul(valley, 0.5)), build.add(steep, root))
    build.output("cost", total)
    build.output("other", x)
    return build.build()


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("trials", [1, 3])
def test_it_is_what_every_point_says(trials: int, maximize: bool) -> None:
    program = bumpy()
    grid = {
        "x": np.array([-1.0, 0.7, -0.3, 0.1, 0.1, 2.0, 1.1]),
        "y": np.random.default_rng(0).uniform(-1, 1, (9, 2)),
    }
    for seed in (0, 5):
        values = np.full((7, 9), np.nan)
        for i, j in np.ndindex(7, 9):
            run = interpret(
                program,
                trials=trials,
                seed=seed,
                parameters={"x": grid["x"][i], "y": grid["y"][j]},
                expansions=expansions(),
            )
            values[i, j] = np.mean(run["cost"])
        assert np.isnan(values).any()
        ordered = -values if maximize else values
        index = np.unravel_index(np.nanargmin(ordered), values.shape)
        found = psylang.compile(program).search(
            grid, method="refine", objective="cost", maximize=maximize, trials=trials, seed=seed
        )
        assert found.best_index == tuple(int(i) for i in index)
        assert found.best_value == values[index]
        others = np.delete(ordered.ravel(), np.ravel_multi_index(index, values.shape))
        bound = -found.bound if maximize else found.bound
        assert bound <= np.nanmin(others)
        assert bound >= ordered[index]


def counted() -> Program:
    """A loop whose number of rounds depends on x, and a trial that may be truncated."""
    build = ProgramBuilder("counted")
    x = build.parameter("x", 1.0)

    def inside(total: Value, n: Value) -> tuple[Value, list[Value]]:
        n = build.add(n, 1)
        total = build.add(total, x)
        return build.and_(build.lt(total, 1.0), build.lt(n, 19)), [total, n]

    total, n = build.loop([build.constant(0.0), build.constant(0, I32)], inside, limit=19)
    build.output("rounds", build.convert(n, x.type.dtype))
    build.output("truncated", build.lt(total, 1.0))
    return build.build()


def test_points_that_are_cut_off_do_not_win() -> None:
    plan = psylang.compile(counted())
    grid = {"x": np.linspace(0.01, 0.5, 50)}
    found = plan.search(grid, method="refine", objective="rounds", maximize=True)
    assert found.best == {"x": pytest.approx(0.06)}  # 17 rounds; 0.05 would take 20.
    cut = plan.search(
        grid, method="refine", objective="rounds", maximize=True, allow_truncated=True
    )
    assert cut.best_value == 19
    with pytest.raises(psylang.ArgumentError, match="no point of the grid has an objective"):
        plan.search({"x": [0.01, 0.02]}, method="refine", objective="rounds")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"objective": "none"}, "there is no `none`; there is cost"),
        ({"objective": None}, "objective is missing; name one of cost"),
        ({"objective": lambda mean: mean["cost"]}, "must be its name, not a function"),
        ({"threads": 2}, "method='refine' takes no threads"),
        ({"reduce": "max"}, "method='refine' takes no reduce"),
        ({"method": "guess"}, "method is 'guess'; there are 'grid' and 'refine'"),
        ({"grid": {}}, "the grid is empty"),
        ({"params": {"y": [[0.0, 0.0]] * 3}, "trials": 3}, "takes one value for all trials"),
        ({"trials": 0}, "trials"),
    ],
)
def test_what_does_not_fit_is_refused(given: dict[str, Any], message: str) -> None:
    plan = psylang.compile(bumpy())
    how: dict[str, Any] = {"method": "refine", "objective": "cost", "grid": {"x": [0.0, 1.0]}}
    with pytest.raises(psylang.ArgumentError, match=message):
        plan.search(**{**how, **given})


def test_limits_and_numerics_hold_for_refinement_too() -> None:
    plan = psylang.compile(ddm(), vary=["threshold"])
    with pytest.raises(psylang.PsylangError, match="threshold"):
        plan.search(
            {"threshold": [-1.0, 1.0]}, method="refine", objective="response_time", trials=2
        )
    exact = psylang.compile(ddm(), vary=["threshold"], numerics="exact")
    with pytest.raises(psylang.NotSupportedError, match="needs fast numerics"):
        exact.search({"threshold": [0.5, 1.0]}, method="refine", objective="response_time")
