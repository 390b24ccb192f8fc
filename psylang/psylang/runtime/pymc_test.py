"""PyMC samples parameters of compiled and of closed likelihoods, and finds them again.

Only where PyMC is installed (`./dev test --psylang-pymc`).
"""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import psylang
from psylang.likelihood import LikelihoodError, SimulatedLikelihood, ddm_log_density, fit
from psylang.likelihood import pymc as likelihoods
from psylang.likelihood.pymc_fixture import needs_pymc
from psylang.likelihood.samples_fixture import drawn
from psylang.model import DDM, DriftDiffusion, Linear, Model, ModelError, Transfer
from psylang.runtime.plan_fixture import compiled, session_cache

__all__ = ["compiled", "session_cache"]
pytestmark = [needs_pymc, pytest.mark.usefixtures("compiled")]
PAGE = Path(psylang.__file__).parents[1] / "docs/likelihoods.md"
TRUE = {"v": 0.8, "a": 1.4, "z": 0.6, "t": 0.3}
QUIET: dict[str, Any] = {"chains": 2, "cores": 2, "random_seed": 1, "progressbar": False}


@pytest.fixture(scope="module")
def pm() -> Any:
    return pytest.importorskip("pymc")


@pytest.fixture(scope="module")
def data() -> dict[str, Any]:
    return drawn(400, 3, **TRUE)


def vazt(*more: str) -> psylang.Plan:
    return psylang.compile(psylang.models.ddm_vazt(dt=0.002), vary=[*TRUE, *more])


def means(found: Any, name: str) -> tuple[float, float]:
    """Mean and standard deviation of the posterior."""
    draws = found.posterior[name].values
    return float(draws.mean()), float(draws.std())


def variables(pm: Any, data: dict[str, Any]) -> dict[str, Any]:
    return {
        "v": pm.Normal("v", 0, 2),
        "a": pm.HalfNormal("a", 2),
        "z": pm.Beta("z", 2, 2),
        "t": pm.Uniform("t", 0, data["rt"].min()),
    }


# The closed form.


def test_nuts_finds_the_parameters_of_the_closed_form(pm: Any, data: dict[str, Any]) -> None:
    with pm.Model():
        likelihoods.ddm("trials", data, **variables(pm, data))
        found = pm.sample(400, tune=400, **QUIET)
    best = fit(data)
    for name, true in TRUE.items():
        mean, deviation = means(found, name)
        assert abs(mean - true) < 3 * deviation, name
        assert abs(mean - best.parameters[name]) < 0.5 * best.standard_errors[name], name
        assert deviation == pytest.approx(best.standard_errors[name], rel=0.2), name
    assert found.sample_stats.diverging.values.sum() <= 4
    assert "step_size" in found.sample_stats  # NUTS, which needs the gradient.


def test_the_model_s_likelihood_and_gradient_are_the_closed_form_s(
    pm: Any, data: dict[str, Any]
) -> None:
    rt, choice = data["rt"][:50], data["choice"][:50]
    point = {"v": 0.5, "a": 1.6, "z": 0.45, "t": 0.2, "sv": 0.6, "sz": 0.2, "st": 0.1}
    with pm.Model() as model:
        flat = {name: pm.Flat(name) for name in point}
        likelihoods.ddm("trials", {"rt": rt, "choice": choice}, **flat)

    def height(at: dict[str, float]) -> float:
        return float(ddm_log_density(rt, choice, **at).sum())

    assert model.compile_logp()(point) == pytest.approx(height(point), abs=1e-6)
    found = model.compile_dlogp()(point)
    for slope, name in zip(found, point, strict=True):
        step = 1e-3
        both = [height({**point, name: point[name] + sign * step}) for sign in (1, -1)]
        assert slope == pytest.approx((both[0] - both[1]) / (2 * step), rel=1e-3, abs=1e-2), name


def test_each_trial_may_have_its_own_parameters(pm: Any) -> None:
    rng = np.random.default_rng(4)
    stimulus = rng.choice([-1.0, 1.0], 300)
    parts = [drawn(300, seed, v=0.2 + sign, a=1.4, t=0.3) for seed, sign in ((1, -1), (2, 1))]
    data = {
        name: np.where(stimulus > 0, parts[1][name], parts[0][name]) for name in ("rt", "choice")
    }
    with pm.Model():
        bias, effect = pm.Normal("bias", 0, 1), pm.Normal("effect", 0, 2)
        likelihoods.ddm("trials", data, v=bias + effect * stimulus, a=1.4, t=0.3)
        found = pm.sample(300, tune=300, **QUIET)
    for name, true in (("bias", 0.2), ("effect", 1.0)):
        mean, deviation = means(found, name)
        assert abs(mean - true) < 3 * deviation
        assert deviation < 0.12


def test_a_potential_has_the_likelihood_of_each_trial(pm: Any, data: dict[str, Any]) -> None:
    lapses = 0.05
    with pm.Model() as model:
        v = pm.Flat("v")
        logs = likelihoods.ddm_log_density(data, v=v, a=1.4, z=0.6, t=0.3)
        mixed = pm.math.logaddexp(np.log(1 - lapses) + logs, np.log(lapses / 2 / 5.0))
        pm.Potential("trials", mixed.sum())
    density = np.exp(ddm_log_density(data["rt"], data["choice"], v=0.7, a=1.4, z=0.6, t=0.3))
    wanted = np.log((1 - lapses) * density + lapses / 2 / 5.0).sum()
    assert model.compile_logp()({"v": 0.7}) == pytest.approx(wanted)
    assert np.isfinite(model.compile_dlogp()({"v": 0.7})).all()


def test_points_beyond_the_limits_have_no_likelihood(pm: Any, data: dict[str, Any]) -> None:
    with pm.Model() as model:
        likelihoods.ddm("trials", data, **{name: pm.Flat(name) for name in TRUE})
    height, slope = model.compile_logp(), model.compile_dlogp()
    for name, beyond in (("a", -1.0), ("z", 1.0), ("t", -0.1), ("v", np.nan), ("t", 99.0)):
        point = {**TRUE, name: beyond}
        assert height(point) == -np.inf
        assert (slope(point) == 0).all()


def test_there_is_no_second_derivative(pm: Any, data: dict[str, Any]) -> None:
    with pm.Model() as model:
        likelihoods.ddm("trials", data, v=pm.Flat("v"), a=1.4, t=0.2)
    with pytest.raises(Exception, match="no second derivatives"):
        model.compile_d2logp()


def test_predictions_are_runs_of_the_plan(pm: Any, data: dict[str, Any]) -> None:
    with pm.Model() as model:
        given = {name: pm.Normal(name, one, 1e-6) for name, one in TRUE.items()}
        likelihoods.ddm("trials", data, **given, plan=vazt())
        made = pm.draw(model["trials"], draws=20, random_seed=1)
    assert made.shape == (20, 400, 2)
    assert set(np.unique(made[..., 1])) == {0.0, 1.0}
    assert made[..., 0].mean() == pytest.approx(data["rt"].mean(), abs=0.05)
    assert made[..., 1].mean() == pytest.approx(data["choice"].mean(), abs=0.05)
    assert (made[0] != made[1]).any()


def test_a_plan_that_draws_with_other_parameters_is_refused(pm: Any, data: dict[str, Any]) -> None:
    with pm.Model():
        given = variables(pm, data)
        with pytest.raises(LikelihoodError, match=r"does not vary sv; .*ddm_vazt\(\), vary=\['v'"):
            likelihoods.ddm("trials", data, **given, sv=0.3, plan=vazt())
        likelihoods.ddm("trials", data, **given, sv=0.3, plan=vazt("sv"))


# Simulated ones.


@pytest.fixture(scope="module")
def likelihood() -> SimulatedLikelihood:
    return SimulatedLikelihood(vazt(), trials=3000)


@pytest.mark.parametrize(
    ("step", "draws"), [("Slice", 100), ("DEMetropolis", 600), ("DEMetropolisZ", 600)]
)
def test_samplers_without_a_gradient_find_simulated_parameters(
    pm: Any, data: dict[str, Any], likelihood: SimulatedLikelihood, step: str, draws: int
) -> None:
    options = {**QUIET, "chains": 4} if step == "DEMetropolis" else QUIET
    with pm.Model():
        v, a = pm.Normal("v", 0, 2), pm.HalfNormal("a", 2)
        likelihoods.simulated("trials", likelihood, data, {"v": v, "a": a, "z": 0.6, "t": 0.3})
        found = pm.sample(draws, tune=draws, step=getattr(pm, step)(), **options)
    best = fit(data, vary=("v", "a"), fixed={"z": 0.6, "t": 0.3})
    for name in ("v", "a"):
        mean, deviation = means(found, name)
        assert abs(mean - TRUE[name]) < 3 * best.standard_errors[name], name
        assert abs(mean - best.parameters[name]) < best.standard_errors[name], name
        assert deviation == pytest.approx(best.standard_errors[name], rel=0.5), name


def test_nuts_is_refused_for_a_simulated_likelihood_and_pymc_chooses_slices(
    pm: Any, data: dict[str, Any], likelihood: SimulatedLikelihood
) -> None:
    with pm.Model() as model:
        v = pm.Normal("v", 0.5)
        likelihoods.simulated("trials", likelihood, data, {"v": v, "a": 1.4, "z": 0.6, "t": 0.3})
        with pytest.raises(Exception, match=r"no gradient, .*step=pm\.Slice\(\)"):
            pm.sample(10, tune=10, step=pm.NUTS(), **QUIET)
        found = pm.sample(5, tune=5, **QUIET)  # PyMC chooses.
    assert "nstep_out" in found.sample_stats
    at = model.compile_logp(vars=[model["trials"]], sum=True)({"v": 0.5})
    point = {"v": 0.5, "a": 1.4, "z": 0.6, "t": 0.3}
    assert at == pytest.approx(likelihood.log_likelihood(data, point))


def test_a_model_with_inputs_and_three_choices_is_sampled(pm: Any) -> None:
    plan = psylang.compile(psylang.models.lca(3, noise=0.5), vary=["competition"])
    inputs = {"stimulus": [1.2, 1.0, 0.8]}
    data = plan.run({"stimulus": np.broadcast_to(inputs["stimulus"], (300, 3))}, trials=300, seed=5)
    likelihood = SimulatedLikelihood(plan, trials=3000, inputs=inputs)
    with pm.Model() as made:
        rate = pm.HalfNormal("competition", 2)
        likelihoods.simulated("trials", likelihood, data, {"competition": rate})
    height = made.compile_logp(vars=[made["trials"]])
    heights = {c: float(height({"competition_log__": np.log(c)})) for c in (0.1, 1.0, 4.0)}
    assert max(heights, key=lambda c: heights[c]) == 1.0
    assert pm.draw(made["trials"], random_seed=1).shape == (300, 2)


def test_a_parameter_of_several_numbers_is_a_vector_of_pymc(pm: Any) -> None:
    model = Model("weighted")
    weights = model.parameter("weights", [1.0, 0.0])
    units = model.add(Transfer("units", size=2, function=Linear(slope=weights)))
    decision = model.add(DDM("decision", integrator=DriftDiffusion(threshold=0.7, dt=0.01)))
    model.input("stimulus", units)
    model.connect(units, decision, [[1.0], [1.0]])
    for name in ("response_time", "choice"):
        model.output(name, decision, name)
    plan = psylang.compile(model, vary=["weights"])
    inputs, true = {"stimulus": [1.0, 0.5]}, [1.0, -2.0]
    data = plan.run(
        {"stimulus": np.broadcast_to(inputs["stimulus"], (200, 2))},
        {"weights": true},
        trials=200,
        seed=3,
    )
    likelihood = SimulatedLikelihood(plan, trials=2000, inputs=inputs)
    with pm.Model() as made:
        flat = pm.Flat("weights", shape=2)
        likelihoods.simulated("trials", likelihood, data, {"weights": flat})
    found = made.compile_logp()({"weights": np.array(true)})
    assert found == pytest.approx(likelihood.log_likelihood(data, {"weights": true}))
    with pm.Model():
        one = {"weights": pm.Flat("weights")}
        with pytest.raises(LikelihoodError, match=r"weights has shape \(\); give an array of sh"):
            likelihoods.simulated("trials", likelihood, data, one)
    with pm.Model() as fixed:
        near = pm.Normal("weights", true, 1e-6, shape=2)
        likelihoods.simulated("trials", likelihood, data, {"weights": near})
    drawn_again = pm.draw(fixed["trials"], draws=10, random_seed=1)
    assert drawn_again[..., 1].mean() == pytest.approx(data["choice"].mean(), abs=0.1)


def test_the_first_point_is_an_error_and_later_ones_have_no_likelihood(
    pm: Any, data: dict[str, Any]
) -> None:
    def height() -> Any:
        likelihood = SimulatedLikelihood(vazt(), trials=200)
        with pm.Model() as model:
            params = {"v": pm.Flat("v"), "a": pm.Flat("a"), "z": 0.6, "t": 0.3}
            likelihoods.simulated("trials", likelihood, data, params)
        return model.compile_logp()

    with pytest.raises(ModelError, match=r"threshold` is -0\.5; it must be above 0"):
        height()({"v": 0.5, "a": -1.0})
    begun = height()
    assert np.isfinite(begun({"v": 0.5, "a": 1.4}))
    assert begun({"v": 0.5, "a": -1.0}) == -np.inf
    assert begun({"v": np.nan, "a": 1.4}) == -np.inf


# Mistakes.


def test_data_that_have_no_likelihood_are_refused(pm: Any, likelihood: SimulatedLikelihood) -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"rt": [0.5, np.nan], "choice": [1, 0]}, r"rt is nan in row 1; leave out trials"),
        ({"rt": [0.5, -0.2], "choice": [1, 0]}, r"rt is -0\.2 in row 1; a response time is 0"),
        ({"rt": [0.5], "choice": [1, 0]}, "columns of one length"),
        ({"rt": [0.5]}, "no column `choice`"),
    ]
    with pm.Model():
        v = pm.Normal("v")
        for data, says in wrong:
            with pytest.raises(LikelihoodError, match=says):
                likelihoods.ddm("trials", data, v=v, a=1.4)
            with pytest.raises(LikelihoodError, match=says):
                likelihoods.ddm_log_density(data, v=v, a=1.4)
            with pytest.raises(LikelihoodError, match=says):
                likelihoods.simulated("trials", likelihood, data, {"v": v})
            with pytest.raises(LikelihoodError, match=says):
                likelihoods.simulated_log_density(likelihood, data, {"v": v})
        with pytest.raises(LikelihoodError, match="a choice is 0 or 1"):
            likelihoods.ddm("trials", {"rt": [0.5], "choice": [-1]}, v=v, a=1.4)


def test_numbers_beyond_the_limits_and_other_shapes_are_refused(
    pm: Any, data: dict[str, Any]
) -> None:
    with pm.Model():
        v = pm.Normal("v")
        for given, says in (
            ({"a": -1.0}, "a is -1; it must be above 0"),
            ({"a": 1.0, "sz": 0.9, "z": 0.3}, "keep z - sz/2 above 0"),
            ({"a": "wide"}, "give numbers"),
            ({"a": [1.0, 2.0]}, r"a has shape \(2,\); give one number, or 400, one for each"),
            ({"a": np.ones((400, 1))}, r"a has shape \(400, 1\)"),
            ({"a": pm.HalfNormal("three", shape=3)}, r"a has shape \(3,\); give one number"),
            ({"a": pm.HalfNormal("table", shape=(2, 2))}, r"a has shape \(2, 2\)"),
        ):
            with pytest.raises(LikelihoodError, match=says):
                likelihoods.ddm("trials", data, v=v, **given)


def test_a_length_that_is_known_late_is_refused_when_it_is_seen(
    pm: Any, data: dict[str, Any]
) -> None:
    with pm.Model() as model:
        late = pm.Data("late", np.ones(7))
        logs = likelihoods.ddm_log_density(data, v=pm.Flat("v") * late, a=1.4)
        pm.Potential("trials", logs.sum())
    with pytest.raises(LikelihoodError, match=r"v has shape \(7,\); give one number, or 400"):
        model.compile_logp()({"v": 0.5})


def test_parameters_that_the_plan_has_not_are_refused(
    pm: Any, data: dict[str, Any], likelihood: SimulatedLikelihood
) -> None:
    with pm.Model():
        v = pm.Normal("v")
        with pytest.raises(LikelihoodError, match=r"there is no parameter `rate`; there is .*v"):
            likelihoods.simulated("trials", likelihood, data, {"rate": v})
        with pytest.raises(LikelihoodError, match=r"v has shape \(400,\); give one number$"):
            likelihoods.simulated("trials", likelihood, data, {"v": np.ones(400)})
        two = pm.Normal("two", shape=2)
        with pytest.raises(LikelihoodError, match=r"v has shape \(2,\); give one number$"):
            likelihoods.simulated_log_density(likelihood, data, {"v": two})


def test_the_page_s_program_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, session_cache: Path
) -> None:
    monkeypatch.setenv("PSYLANG_CACHE_DIR", str(session_cache))
    section = PAGE.read_text(encoding="utf-8").partition("\n## PyMC\n")[2].partition("\n## ")[0]
    blocks = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    assert blocks
    program = tmp_path / "page.py"
    program.write_text("\n".join(blocks), encoding="utf-8")
    names = runpy.run_path(str(program))
    assert abs(float(names["found"].posterior["v"].mean()) - 0.8) < 0.4
    assert names["predicted"].posterior_predictive["trials"].shape[-1] == 2
