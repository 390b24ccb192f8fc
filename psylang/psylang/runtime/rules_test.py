"""Values given after a model's construction must satisfy the rules of its constructors."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest

import psylang
from psylang.model import ControlSignal, Evenly, GridSearch, Model, ModelError, Transfer
from psylang.model.noise import Normal, Uniform
from psylang.models import ddm, ddm_analytical, lca
from psylang.runtime.plan_fixture import compiled, session_cache

__all__ = ["compiled", "session_cache"]
pytestmark = pytest.mark.usefixtures("compiled")

WRONG: list[tuple[dict[str, Any], str]] = [
    ({"threshold": -1.0}, r"parameter `threshold` is -1; it must be above 0"),
    ({"threshold": 0.0}, r"parameter `threshold` is 0; it must be above 0"),
    ({"dt": -0.001}, r"parameter `dt` is -0.001; it must be above 0"),
    ({"noise": -1.0}, r"parameter `noise` is -1; it must be at least 0"),
    ({"drift": math.inf}, r"parameter `drift` is inf; it must be finite"),
    (
        {"starting_point": 2.0},
        r"`starting_point` is 2; it must be strictly within ±`threshold`",
    ),
    ({"threshold": 0.5, "starting_point": -0.5}, r"`starting_point` is -0.5; .* ±0.5"),
    ({"threshold": [1.0, 2.0, -3.0]}, r"`threshold` is -3 \(row 2\); it must be above 0"),
    ({"starting_point": [0.0, 0.6, 0.9], "threshold": [1.0, 0.5, 1.0]}, r"is 0.6; .* ±0.5"),
]
NAMES = ["threshold", "dt", "noise", "drift", "starting_point"]


@pytest.mark.parametrize(("params", "message"), WRONG)
def test_mistakes_in_arguments_of_run_search_and_compile(
    params: dict[str, Any], message: str
) -> None:
    plan = psylang.compile(ddm(), vary=NAMES)
    rows = {name: np.array(value) for name, value in params.items()}
    with pytest.raises(ModelError, match=message):
        plan.run(params=rows)
    with pytest.raises(psylang.PsylangError, match=message.partition("; ")[2]):
        plan.search({k: np.atleast_1d(v) for k, v in rows.items()}, objective="response_time")
    if all(not row.ndim for row in rows.values()):
        with pytest.raises(ModelError, match="must be"):
            psylang.compile(ddm(), fix=params)
    with pytest.raises(ModelError, match=message):
        pickle.loads(pickle.dumps(plan)).run(params=rows)


def test_ranges_are_held_to_limits() -> None:
    for ranges, message in (
        ({"threshold": (-1.0, 1.0)}, "`threshold` is -1 at an end of its range; it must be above"),
        ({"noise": (-0.5, 1.0)}, "`noise` is -0.5 at an end of its range; it must be at least 0"),
    ):
        with pytest.raises(ModelError, match=message):
            psylang.compile(ddm(), vary=list(ranges), ranges=ranges)
    psylang.compile(ddm(), vary=["drift"], ranges={"drift": (-math.inf, math.inf)})


def halved() -> Model:
    """The bound of its noise is a formula of two parameters."""
    model = Model("halved")
    scale, shift = model.parameter("scale", 1.0), model.parameter("shift", 0.5)
    node = model.add(Transfer("node", noise=Normal(standard_deviation=scale * 0.5 - shift * 0.5)))
    model.input("x", node)
    model.output("y", node)
    return model


def test_ranges_and_levels_of_what_formulas_take_are_held_to_their_limits() -> None:
    with pytest.raises(
        ModelError, match=r"`node\.noise\.standard_deviation` is -0\.25 at an end of"
    ):
        psylang.compile(halved(), vary=["scale"], ranges={"scale": (0.0, 1.0)})
    both = {"scale": (1.0, 2.0), "shift": (0.0, 2.0)}  # The ends that are wrong are of both.
    with pytest.raises(ModelError, match=r"standard_deviation` is -0\.5 at an end of its range"):
        psylang.compile(halved(), vary=["scale", "shift"], ranges=both)
    psylang.compile(halved(), vary=["scale"], ranges={"scale": (0.5, 1.0)})
    model = halved()
    levels = ControlSignal("scale", Evenly(0.25, 2.0, 8), "override")
    model.control(GridSearch([levels], objective="node"))
    with pytest.raises(ModelError, match=r"is -0\.125 at an end of the levels that control tries"):
        model.program("fast")
    model.search = GridSearch(
        [ControlSignal("scale", Evenly(0.5, 2.0, 4), "override")], objective="node"
    )
    plan = psylang.compile(model, vary=["shift"])
    with pytest.raises(ModelError, match=r"is -0\.25 \(row 1\) at an end of the levels that"):
        plan.run({"x": [1.0]}, params={"shift": [0.5, 1.0]})
    plan.run({"x": [1.0]}, params={"shift": [0.5, 0.25]})


def test_a_constant_bounds_a_varied_parameter() -> None:
    plan = psylang.compile(ddm(), vary=["starting_point"], fix={"threshold": 0.5})
    with pytest.raises(ModelError, match=r"`starting_point` is 0.7; .* ±0.5"):
        plan.run(params={"starting_point": 0.7})
    plan.run(params={"starting_point": 0.4})


def test_nan_that_is_allowed_is_no_excuse_for_others() -> None:
    plan = psylang.compile(ddm(), vary=["drift", "noise"])
    plan.run(params={"drift": [0.1, math.nan]}, allow_nan=True)
    with pytest.raises(ModelError, match=r"`noise` is -1 \(row 1\)"):
        plan.run(params={"noise": [math.nan, -1.0]}, allow_nan=True)


def test_levels_of_control_stay_within_the_limits() -> None:
    model = Model("controlled")
    node = model.add(Transfer("node", noise=Normal()))
    model.input("x", node)
    model.output("y", node)
    signal = ControlSignal("node.noise.standard_deviation", Evenly(-1.0, 1.0, 3))
    model.control(GridSearch([signal], objective="node"))
    with pytest.raises(
        ModelError, match=r"standard_deviation` is -1 at an end of the levels that control tries"
    ):
        psylang.compile(model)


def test_the_other_relations() -> None:
    with pytest.raises(ModelError, match=r"`starting_point` is 2; it must be within ±`threshold`"):
        ddm_analytical(starting_point=2.0)
    model = Model("uniform")
    with pytest.raises(ModelError, match=r"low` is 2; it must be at most `n.noise.high`, 1"):
        model.add(Transfer("n", noise=Uniform(low=2.0)))


def test_points_with_truncated_trials_do_not_win() -> None:
    plan = psylang.compile(ddm(max_steps=300), vary=["threshold"])
    grid = {"threshold": [0.1, 0.2, 5.0]}
    found = plan.search(grid, trials=200, objective="response_time", maximize=True)
    assert found.best == {"threshold": 0.2}
    assert np.isnan(found.objective[2])
    assert found["truncated"][2] == 1.0
    asked = plan.search(
        grid, trials=200, objective="response_time", maximize=True, allow_truncated=True
    )
    assert asked.best == {"threshold": 5.0}
    with pytest.raises(psylang.ArgumentError, match=r"every point .* raise max_steps"):
        plan.search({"threshold": [5.0]}, trials=9, objective="response_time")


@pytest.mark.parametrize("how", [{"vary": ["idle"]}, {"fix": {"idle": 2.0}}])
def test_a_parameter_that_nothing_uses_is_refused(how: Any) -> None:
    model = ddm()
    model.parameter("idle", 1.0)
    psylang.compile(model)
    with pytest.raises(ModelError, match="no component of `ddm` uses the parameter `idle`"):
        psylang.compile(model, **how)


def test_rules_of_the_library_hold_for_its_defaults() -> None:
    for model in (ddm(), lca(), ddm_analytical()):
        model.rules().check({}, everything=True)
