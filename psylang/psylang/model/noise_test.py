"""Distributions: in `exact` NumPy's RandomState, draw by draw; in `fast` keys that never meet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from psylang.ir.builder import Builder
from psylang.ir.graph import Op, Program, Region, Value
from psylang.ir.interpret import interpret
from psylang.ir.types import I32, I64, DType
from psylang.model import AtPass, Model, ModelError, Not, SimpleIntegrator, Transfer
from psylang.model.noise import Exponential, Gamma, Normal, Uniform, Wald

Sample = Callable[[np.random.RandomState], float]
DISTRIBUTIONS: list[tuple[Any, Sample]] = [
    (Normal(mean=2.0, standard_deviation=0.5), lambda r: r.normal(2.0, 0.5)),
    (Uniform(low=-1.0, high=3.0), lambda r: r.uniform(-1.0, 3.0)),
    (Exponential(mean=1.5), lambda r: r.exponential(1.5)),
    (Wald(mean=1.5, scale=0.7), lambda r: r.wald(1.5, 0.7)),
    (Gamma(shape=1.0, scale=2.0), lambda r: r.gamma(1.0, 2.0)),
    (Gamma(shape=2.5, scale=0.5), lambda r: r.gamma(2.5, 0.5)),
    (Gamma(shape=0.4, scale=3.0), lambda r: r.gamma(0.4, 3.0)),
]


def noisy(noise: Any, size: int = 1) -> Model:
    model = Model("noisy")
    layer = model.add(Transfer("layer", size=size, noise=noise, seed=9))
    model.input("x", layer)
    model.output("y", layer)
    return model


@pytest.mark.parametrize(("noise", "sample"), DISTRIBUTIONS)
def test_exact_is_numpys(noise: Any, sample: Sample) -> None:
    trials = 150
    program = noisy(noise, size=2).program("exact")
    given = interpret(program, trials=trials, inputs={"x": np.zeros((trials, 2))})
    random = np.random.RandomState([9])
    wanted = [[sample(random), sample(random)] for _ in range(trials)]
    np.testing.assert_allclose(given["y"], wanted, rtol=1e-13)


def keys(program: Program) -> list[tuple[int, Any]]:
    """(stream, step) of each draw; a step that is no constant by its identity."""
    ops = list(program.body.walk())
    known = {op.result: op.attributes["value"] for op in ops if op.name == "constant"}
    draws = [op for op in ops if op.name.startswith("random.")]
    return [(op.attributes["stream"], known.get(op.operands[3], op.operands[3])) for op in draws]


@pytest.mark.parametrize(("noise", "sample"), DISTRIBUTIONS)
@pytest.mark.parametrize("size", [1, 2, 3, 9])
def test_fast_draws_have_a_key_each(noise: Any, sample: Sample, size: int) -> None:
    program = noisy(noise, size).program("fast")
    found = keys(program)
    assert len(set(found)) == len(found) >= size
    assert program.is_independent()


def test_elements_share_blocks_of_four() -> None:
    assert keys(noisy(Normal(), 2).program("fast")) == [(0, 0), (0, 1)]
    nine = keys(noisy(Normal(), 9).program("fast"))
    assert [step for _, step in nine] == [*range(9)]


def step_as_noise(op: Op) -> Region:
    """A draw whose value is its step, plus a million times its stream's number."""
    build = Builder()
    operands = tuple(Value(type) for type in (I64, I64, I32, I32))
    million = 1e6 * op.attributes["stream"]
    value = build.add(build.convert(operands[3], DType.F64), million)
    return Region(operands, build.take(), (value,))


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_steps_in_a_loop_go_on_from_those_before_it(size: int) -> None:
    """The sum of the steps of all draws of an element: each execution has its own."""
    model = Model("m")
    layer = model.add(Transfer("layer", size=size, integrator=SimpleIntegrator(noise=Normal())))
    model.input("x", layer)
    model.output("y", layer)
    model.when(layer, Not(AtPass(1)))  # Once, not at all, then 150 times.
    model.ends(AtPass(152))
    program = model.program("fast")
    assert [op.name for op in program.body.ops if op.regions] == ["loop"]
    expansions = {"random.normal": step_as_noise}
    given = interpret(program, inputs={"x": np.zeros((1, size))}, expansions=expansions)
    blocks = -(-size // 4)
    if size == 1:
        wanted = [float(sum(range(151)))]
    elif size == 2:  # Before the loop of one stream, in it of a stream each.
        wanted = [k + sum(range(1, 151)) + 150 * 1e6 * (k + 1) for k in range(size)]
    else:
        wanted = [
            float(sum(4 * (e * blocks + k // 4) + k % 4 for e in range(151))) for k in range(size)
        ]
    assert given["y"][0].tolist() == wanted


def test_rejection_counts_its_attempts() -> None:
    program = noisy(Gamma(shape=2.5)).program("fast")

    def steps(region: Region) -> list[Any]:
        return [op.operands[3].hint for op in region.walk() if op.name == "random.normal"]

    (loop,) = (op for op in program.body.ops if op.name == "loop")
    assert loop.attributes["limit"] == 64
    draw = next(op for op in loop.regions[0].ops if op.name == "random.normal")
    assert draw.operands[3] not in [op.result for op in program.body.ops if not op.regions]
    assert len(steps(loop.regions[0])) == 1


def test_parameters_of_noise_may_vary() -> None:
    program = noisy(Normal()).program("exact", vary=["layer.noise.standard_deviation"])
    given = interpret(
        program,
        inputs={"x": [[1.0]]},
        parameters={"layer.noise.standard_deviation": 0.0},
    )
    assert given["y"].tolist() == [[1.0]]


def test_noise_that_is_refused() -> None:
    with pytest.raises(ModelError, match="the shape of the Gamma noise of `layer` is varied"):
        noisy(Gamma(shape=2.0)).program(vary=["layer.noise.shape"])
    with pytest.raises(ModelError, match=r"`layer\.noise\.scale` is 0.0; it must be above 0"):
        noisy(Wald(scale=0.0))
    with pytest.raises(ModelError, match="`layer` has an integrator and a noise beside it"):
        Transfer("layer", integrator=SimpleIntegrator(), noise=Normal())
