"""Transfer functions, integrators and criteria against their formulas."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from psylang.ir.interpret import interpret
from psylang.model import (
    AdaptiveIntegrator,
    AtLeast,
    DriftDiffusion,
    Exponential,
    LeakyCompetingIntegrator,
    Linear,
    Logistic,
    MaxVsAverage,
    MaxVsNext,
    Model,
    ModelError,
    OneHot,
    OrnsteinUhlenbeck,
    Recurrent,
    ReLU,
    Settled,
    SimpleIntegrator,
    SoftMax,
    Tanh,
    Transfer,
)
from psylang.model.decision_test import with_twister
from psylang.model.noise import Normal

E = 2.718281828459045
X = [-1.5, 0.0, 0.25, 2.0]


def relu(x: float) -> float:
    t = 3.0 * (x - 0.5)
    return 2.0 * max(t, 0.1 * t) + 1.0


def tanh(x: float) -> float:
    t = -2.0 * (3.0 * ((x + 0.5) - 0.25) + 0.75)
    return float(2.0 * (1 - E**t) / (1 + E**t))


FUNCTIONS: list[tuple[Any, Callable[[float], float]]] = [
    (Linear(), lambda x: x),
    (
        Linear(slope=2.0, intercept=1.0, scale=3.0, offset=0.5),
        lambda x: 3.0 * (x * 2.0 + 1.0) + 0.5,
    ),
    (Logistic(), lambda x: 1 / (1 + E ** (-x))),
    (
        Logistic(gain=2.0, bias=0.5, x_0=0.25, scale=3.0, offset=-1.0),
        lambda x: 3.0 * (1 / (1 + E ** (-2.0 * ((x + 0.5) - 0.25)))) + -1.0,
    ),
    (Tanh(gain=3.0, bias=0.5, x_0=0.25, scale=2.0, offset=0.75), tanh),
    (ReLU(gain=3.0, bias=0.5, leak=0.1, scale=2.0, offset=1.0), relu),
    (
        Exponential(rate=0.5, bias=1.0, scale=2.0, offset=-1.0),
        lambda x: 2.0 * E ** (0.5 * x + 1.0) - 1.0,
    ),
]


def layered(**fields: Any) -> Model:
    model = Model("m")
    layer = model.add(Transfer("layer", **fields))
    model.input("x", layer)
    model.output("y", layer)
    return model


@pytest.mark.parametrize(("function", "formula"), FUNCTIONS)
def test_functions_are_their_formulas(function: Any, formula: Callable[[float], float]) -> None:
    model = layered(size=4, function=function)
    exact = interpret(model.program("exact"), inputs={"x": [X]})["y"][0]
    assert exact.tolist() == [formula(x) for x in X]
    fast = interpret(with_twister(model.program("fast"), ()), inputs={"x": [X]})["y"][0]
    np.testing.assert_allclose(fast, exact, rtol=1e-13, atol=1e-15)


def test_softmax() -> None:
    given = interpret(
        layered(size=4, function=SoftMax(gain=2.0)).program("exact"), inputs={"x": [X]}
    )
    powers = np.exp(2.0 * np.array(X))
    np.testing.assert_allclose(given["y"][0], powers / powers.sum(), rtol=1e-14)


def test_clip_is_last() -> None:
    model = layered(size=4, function=Linear(slope=2.0), clip=(-1.0, 1.5))
    given = interpret(model.program("exact"), inputs={"x": [X]})
    assert given["y"].tolist() == [[-1.0, 0.0, 0.5, 1.5]]
    with pytest.raises(ModelError, match=r"clip of `layer` is \(1, 0\)"):
        layered(clip=(1, 0))


def stepped(integrator: Any, numerics: Any, seeds: tuple[int, ...]) -> Any:
    program = layered(integrator=integrator, reset="never", seed=4).program(numerics)
    twin = with_twister(program, seeds) if numerics == "fast" else program
    return interpret(twin, trials=4, inputs={"x": [[1.0], [2.0], [-1.0], [0.5]]})["y"].ravel()


def simple(before: float, x: float, z: float) -> float:
    return ((before + x * 0.5) + 0.3 * z) + 0.1


def adaptive(before: float, x: float, z: float) -> float:
    return (((1 - 0.25) * before + 0.25 * x) + 0.3 * z) + 0.1


def leaky(before: float, x: float, z: float) -> float:
    root = float(np.sqrt(0.1))
    return (before + ((-0.5) * before + x) * 0.1) + 0.3 * z * root + 0.1


def diffusing(before: float, x: float, z: float) -> float:
    value = (before + (2.0 * x) * 0.1) + (0.3 * np.sqrt(0.1)) * z
    return float(np.clip(value + 0.1, -0.75, 0.75))


@pytest.mark.parametrize("numerics", ["exact", "fast"])
@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({}, [2.0, 0.0, 2.0, 0.0]),
        ({"tie": "first"}, [2.0, 0.0, 0.0, 0.0]),
        ({"tie": "last", "indicator": True}, [0.0, 0.0, 1.0, 0.0]),
        ({"direction": "min"}, [0.0, -3.0, 0.0, 0.0]),
        ({"absolute": True}, [0.0, 3.0, 0.0, 0.0]),
    ],
)
def test_one_hot(options: dict[str, Any], wanted: list[float], numerics: Any) -> None:
    program = layered(size=4, function=OneHot(**options)).program(numerics)
    given = interpret(with_twister(program, ()), inputs={"x": [[2.0, -3.0, 2.0, 1.0]]})
    assert given["y"].tolist() == [wanted]


@pytest.mark.parametrize("wrong", [{"tie": "random"}, {"direction": "up"}])
def test_one_hot_of_another_kind_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ModelError, match="max or min, and all, first or last"):
        OneHot(**wrong)


def reverting(before: float, x: float, z: float) -> float:
    change = (-0.5) * before - (-2.0) * x
    return float(before + change * 0.1 + np.sqrt(0.1 * 0.3) * z + 0.1)


@pytest.mark.parametrize(
    ("integrator", "formula"),
    [
        (
            SimpleIntegrator(rate=0.5, offset=0.1, noise=Normal(standard_deviation=0.3)),
            simple,
        ),
        (
            AdaptiveIntegrator(rate=0.25, offset=0.1, noise=Normal(standard_deviation=0.3)),
            adaptive,
        ),
        (
            LeakyCompetingIntegrator(
                leak=0.5, dt=0.1, offset=0.1, noise=Normal(standard_deviation=0.3)
            ),
            leaky,
        ),
        (DriftDiffusion(rate=2.0, noise=0.3, threshold=0.75, dt=0.1, offset=0.1), diffusing),
        (OrnsteinUhlenbeck(rate=-2.0, decay=-0.5, noise=0.3, dt=0.1, offset=0.1), reverting),
    ],
)
def test_integrators_are_their_formulas(
    integrator: Any, formula: Callable[[float, float, float], float]
) -> None:
    random, value, wanted = np.random.RandomState([4]), 0.0, []
    for x in (1.0, 2.0, -1.0, 0.5):
        value = formula(value, x, random.normal())
        wanted.append(value)
    assert stepped(integrator, "exact", ()).tolist() == wanted
    np.testing.assert_allclose(stepped(integrator, "fast", (4,)), wanted, rtol=1e-13)


@pytest.mark.parametrize("numerics", ["exact", "fast"])
def test_one_draw_moves_all_units_of_an_ornstein_uhlenbeck_process(numerics: Any) -> None:
    integrator = OrnsteinUhlenbeck(rate=-1.0, decay=-0.5, noise=4.0, dt=0.1)
    program = layered(size=2, integrator=integrator, reset="never").program(numerics)
    inputs = {"x": np.tile([1.0, 2.0], (20, 1))}
    seeds = program.stream_seeds if numerics == "exact" else (4,)
    rows = interpret(with_twister(program, seeds), trials=20, inputs=inputs)["y"]
    apart, wanted = 0.0, []
    for _ in rows:
        apart += (-0.5 * apart + 1.0) * 0.1  # Without the noise, which cancels out.
        wanted.append(apart)
    np.testing.assert_allclose(rows[:, 1] - rows[:, 0], wanted, rtol=1e-12)
    assert np.std(np.diff(rows[:, 0])) > 0.2


def test_settled_and_at_least() -> None:
    integrator = AdaptiveIntegrator(rate=0.5)
    for until, steps in ((AtLeast(threshold=0.9), 4), (Settled(tolerance=0.1), 4)):
        model = layered(integrator=integrator, until=until)
        given = interpret(model.program("exact"), inputs={"x": [[1.0]]})
        assert given["y"].tolist() == [[1.0 - 0.5**steps]]
        assert given["truncated"].tolist() == [False]


def test_steps_have_a_maximum() -> None:
    until = AtLeast(threshold=2.0)
    model = layered(integrator=AdaptiveIntegrator(rate=0.5), until=until, max_steps=3)
    given = interpret(model.program("exact"), inputs={"x": [[1.0]]})
    assert given["y"].tolist() == [[0.875]]
    assert given["truncated"].tolist() == [True]


@pytest.mark.parametrize("criterion", [MaxVsNext(threshold=0.1), MaxVsAverage(threshold=0.1)])
def test_criteria_of_too_few_units(criterion: Any) -> None:
    with pytest.raises(ModelError, match=r"has 1 units; MaxVs\w+ takes 2 or more"):
        Transfer("layer", until=criterion)


def test_recurrent_matrices() -> None:
    weights = np.array([[0.0, 2.0], [-1.0, 0.5]])
    integrator = SimpleIntegrator(initial=[1.0, 2.0])
    for recurrent in (Recurrent(matrix=weights), Recurrent(pattern=weights)):
        model = layered(size=2, integrator=integrator, recurrent=recurrent)
        given = interpret(model.program("exact"), inputs={"x": [[0.5, 0.25]]})
        wanted = np.array([1.0, 2.0]) + np.array([1.0, 2.0]) @ weights + np.array([0.5, 0.25])
        assert given["y"].tolist() == [wanted.tolist()]
    for wrong in (Recurrent(matrix=np.eye(3)), Recurrent(pattern=np.eye(3))):
        with pytest.raises(ModelError, match=r"has shape \(3, 3\).* needs \(2, 2\)"):
            layered(size=2, integrator=integrator, recurrent=wrong).program()
    with pytest.raises(ModelError, match=r"`initial` of `layer` has shape \(2,\); it needs \(\)"):
        layered(size=3, integrator=integrator).program()


def test_recurrence_without_a_matrix_is_the_same() -> None:
    recurrent = Recurrent(auto=0.5, hetero=-0.25)
    model = layered(size=3, integrator=SimpleIntegrator(initial=0.3), recurrent=recurrent)
    exact = interpret(model.program("exact"), inputs={"x": [[1.0, 2.0, 3.0]]})["y"]
    fast = interpret(with_twister(model.program("fast"), ()), inputs={"x": [[1.0, 2.0, 3.0]]})["y"]
    np.testing.assert_allclose(fast, exact, rtol=1e-14)


def test_many_arrivals_of_one_unit_add_up_as_numpys() -> None:
    numbers = np.random.RandomState(3).normal(size=150) * 10.0 ** np.arange(-75, 75).clip(-9, 9)
    for count in (7, 8, 21, 150):
        model = Model("m")
        entry, unit = model.add(Transfer("entry")), model.add(Transfer("unit"))
        model.input("x", entry)
        for k in range(count):
            model.connect(entry, unit, float(numbers[k]), name=f"p{k}")
        model.output("y", unit)
        given = interpret(model.program("exact"), inputs={"x": [[1.0]]})
        assert given["y"][0, 0] == np.sum(numbers[:count])
