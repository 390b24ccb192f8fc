"""The report of plan.analyse(): its lines, its data and its picture."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import pytest

import psylang
from psylang.analysis import Report
from psylang.analysis.picture import PictureError, svg
from psylang.ir.builder import ProgramBuilder
from psylang.ir.graph import Origin, Program
from psylang.model import Compute, Logistic, Model, SimpleIntegrator, Transfer, function
from psylang.model.noise import Normal
from psylang.models import (
    botvinick_stroop,
    ddm,
    ddm_analytical,
    predator_prey,
)
from psylang.runtime.plan_fixture import session_cache
from psylang.runtime.precision import Precision

__all__ = ["session_cache"]
STIMULI = ("colour_input", "word_input", "task_input")


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, session_cache: Path) -> None:
    monkeypatch.setenv("PSYLANG_CACHE_DIR", str(session_cache))


def lines(report: Report, kind: str) -> list[str]:
    return [f"{one.component}: {one.text}" for one in report.of(kind)]


def stroop() -> Report:
    model = botvinick_stroop(integration_rate=0.01, noise=0.0)
    plan = psylang.compile(
        model, numerics="exact", vary=["inhibition"], ranges={"inhibition": (-2.0, -1.0)}
    )
    return plan.analyse(inputs=dict.fromkeys(STIMULI, (0.0, 0.0)), trials=1)


def test_stroops_input_nodes_are_named_as_figure_2_6_has_them() -> None:
    unused = lines(stroop(), "unused")
    text = "passes on what it receives: it computes nothing, for no output"
    assert [f"{name}: {text}" for name in STIMULI] == [one for one in unused if text in one]
    assert "conflict: does not matter for output colour" in unused
    assert "conflict: does not matter for output energy" not in unused


def test_ranges_name_outputs_states_and_components() -> None:
    report = stroop()
    found = lines(report, "range")
    assert "response: output response in [0.497679, 0.49893]" in found
    assert "conflict: output energy in [0.247685, 0.497863]" in found
    assert "response.function: gives [0.497679, 0.49893]" in found
    assert "response: state response.activity in [0.497679, 0.5]" in found
    assert lines(report, "assumed")[0] == "inhibition: parameter in [-2, -1]"
    assert lines(report, "assumed")[-1] == ": trial 1 of a sequence"
    assert "23 of 23 operations" in str(report)


def test_a_run_stays_within_the_reported_ranges() -> None:
    plan = psylang.compile(ddm(), vary=["drift"], ranges={"drift": (0.0, 1.0)})
    results = plan.run(params={"drift": np.linspace(0, 1, 2000)}, seed=3)
    for one in plan.analyse().of("range"):
        if "output" in one.data:
            values = results[one.data["output"]]
            assert one.data["low"] <= values.min() <= values.max() <= one.data["high"]


def test_loops_have_rounds_and_recurrences() -> None:
    report = psylang.compile(ddm(), vary=["drift"], ranges={"drift": (0.0, 1.0)}).analyse()
    assert lines(report, "loop") == [
        "decision: 5 rounds at least, 100000 at most (step < 100000)",
        "decision: decision_position: 0 + n * [-0.214087, 0.215087] after n rounds",
        "decision: step: 0 + n * 1 after n rounds",
    ]


def test_what_ranges_decide_is_listed_with_its_licence() -> None:
    report = psylang.compile(ddm(), vary=["drift"], ranges={"drift": (0.0, 1.0)}).analyse()
    assert lines(report, "decided")[0] == (
        "decision: decision_position ≠ decision_position is never so: "
        "decision_position in [-1.21409, 1.21509]"
    )
    build = ProgramBuilder("bounds")
    x = build.parameter("x", 1.0)
    with build.at(Origin("clip")):
        build.output("y", build.op("min", build.op("max", x, 0.0), 2.0))
    plan = psylang.compile(build.build())
    assert lines(plan.analyse(), "decided") == []
    assert lines(plan.analyse(params={"x": (0.5, 3.0)}), "decided") == [
        "clip: 0 is no bound of x: x in [0.5, 3], 0 in 0"
    ]


@function
def chosen(x):  # type: ignore[no-untyped-def]
    return x[0] if x[0] > 2.0 else 0.5


def test_a_node_that_its_ranges_switch_off_is_dead() -> None:
    model = Model("switched")
    noisy = model.add(Transfer("noisy", function=Logistic(), noise=Normal()))
    model.input("x", noisy)
    gate = model.add(Compute("gate", function=chosen, inputs={"x": 1}, size=0))
    model.connect(noisy, gate)
    loose = model.add(Transfer("loose", function=Logistic(gain=3.0)))
    model.connect(noisy, loose)
    model.output("gate", gate)
    for numerics in ("exact", "fast"):
        report = psylang.compile(model, numerics=numerics).analyse()
        unused = lines(report, "unused")
        assert "noisy: changes no output" in unused  # A logistic function is below 2.
        assert "loose: changes no output" in unused
        assert ": input does not matter for output gate" in "".join(unused)
        assert [one.component for one in report.of("unused") if "input" in one.text] == ["x"]


def test_flags_are_listed_with_the_range_that_licenses_them() -> None:
    plan = psylang.compile(ddm(), vary=["drift"], ranges={"drift": (0.0, 1.0)}, use_ranges=True)
    assert lines(plan.analyse(), "flags")[0] == (
        "decision.integrator: mul(drift, 0.001) is finite: drift in [0, 1]"
    )
    plain = psylang.compile(ddm(), vary=["drift"])
    assert not [one for one in lines(plain.analyse(), "flags") if "drift" in one]
    one, other = (each.run(params={"drift": 0.5}, trials=300, seed=4) for each in (plan, plain))
    for name, values in one.items():
        assert values.tobytes() == other[name].tobytes(), name


def mathematical() -> Program:
    """Each function of `fast` twice: where its guards are idle, and where they are not."""
    build = ProgramBuilder("mathematics")
    x, wide = build.parameter("x", 0.5, (0.1, 0.5)), build.parameter("wide", 1.0, (-1e9, 1e9))
    for name in ("exp", "log", "sin", "cos", "tanh"):
        build.output(name, build.op(name, x))
        build.output(f"{name}_wide", build.op(name, wide))
    build.output("pow", build.op("pow", x, build.neg(build.mul(x, 3.0))))
    build.output("tanh_far", build.op("tanh", build.sub(x, 2.0)))
    return build.build()


@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_without_idle_guards_the_bits_are_the_same(precision: Precision) -> None:
    program = mathematical()
    plain = psylang.compile(program, precision=precision)
    told = psylang.compile(program, precision=precision, use_ranges=True)
    rng = np.random.default_rng(4)
    params = {"x": rng.uniform(0.1, 0.5, 4000), "wide": rng.uniform(-1e9, 1e9, 4000)}
    params["wide"][:3] = (0.0, 1.0, -0.3)
    one = plain.run(params=params, allow_nan=True)
    with pytest.raises(psylang.UndefinedError) as caught:
        told.run(params=params)
    for name, values in one.items():
        assert values.tobytes() == caught.value.results[name].tobytes(), name
    decided = lines(told.analyse(), "decided")
    assert [text.partition(": ")[2].partition(" needs")[0] for text in decided] == [
        *("exp", "log", "sin", "cos", "tanh", "pow", "tanh"),
    ]
    assert ": exp needs no bounds: x in [0.1, 0.5]" in decided or precision == "f32"
    assert "passes" in told.explain().sections


def test_a_plan_for_ranges_takes_nothing_beyond_them() -> None:
    plan = psylang.compile(ddm(), vary=["drift"], ranges={"drift": (0.0, 1.0)}, use_ranges=True)
    with pytest.raises(psylang.ArgumentError, match="drift"):
        plan.run(params={"drift": 1.5})
    with pytest.raises(psylang.ArgumentError, match="compiled for arguments without NaN"):
        plan.run(allow_nan=True)
    again = pickle.loads(pickle.dumps(plan))
    same = [one.run(params={"drift": 0.5}, trials=50, seed=2) for one in (plan, again)]
    assert same[0].response_time.tobytes() == same[1].response_time.tobytes()


def test_a_ddm_is_told_of_its_closed_form_which_is_right() -> None:
    plan = psylang.compile(ddm(0.7, corrected=True))
    (found,) = lines(plan.analyse(), "clone")
    assert found.startswith("decision: is a drift-diffusion process: 0.0007 and 0.0316228 times")
    assert "DDMAnalytical" in found
    results = plan.run(trials=40_000, seed=5)
    analytical = psylang.compile(ddm_analytical(0.7)).run()
    times, right = results.response_time, results.choice
    error = times.std() / np.sqrt(len(times))
    assert abs(times.mean() - analytical.response_time[0]) < 4 * error
    assert abs(right.mean() - analytical.probability_upper[0]) < 4 * right.std() / 200


def accumulating(rate: float) -> Model:
    model = Model("accumulating")
    node = model.add(Transfer("node", integrator=SimpleIntegrator(rate=rate), reset="never"))
    model.input("x", node)
    model.output("y", node)
    return model


def test_another_model_is_searched_for_the_same_computations() -> None:
    plan = psylang.compile(accumulating(0.5))
    found = lines(plan.analyse(against=psylang.compile(accumulating(0.5))), "clone")
    assert found == [
        ": 1 of 1 values that go on are computed in accumulating, too, all alike under one "
        "renaming; interpreted side by side they differ by 0",
        "node: node.state[0] is node: node.state[0] of accumulating",
    ]
    found = lines(plan.analyse(against=psylang.compile(accumulating(0.25))), "clone")
    assert found == [
        ": 0 of 1 values that go on are computed in accumulating, too",
        "node: node.state[0] is in no value of accumulating",
    ]


def test_the_data_is_json() -> None:
    data = json.loads(json.dumps(psylang.compile(ddm(), vary=["drift"]).analyse().data()))
    assert data["model"] == "ddm"
    kinds = {one["kind"] for one in data["findings"]}
    assert kinds == {"assumed", "range", "loop", "decided", "clone", "finite", "flags"}
    assert {"low": "-inf", "high": "inf"}.items() <= data["findings"][0].items()


def test_a_bare_program_is_analysed_by_its_components() -> None:
    build = ProgramBuilder("bare")
    x = build.input("x")
    with build.at(Origin("first")):
        y = build.mul(x, 2.0)
    with build.at(Origin("second")):
        z = build.add(y, 1.0)
    with build.at(Origin("third")):
        build.add(y, 3.0)
    build.output("z", z)
    report = psylang.compile(build.build()).analyse(inputs={"x": (0.0, 1.0)})
    assert "second: output z in [1, 3]" in lines(report, "range")
    assert lines(report, "unused") == ["third: changes no output"]
    assert [(one.sender, one.receiver) for one in report.structure.edges] == [
        ("first", "second"),
        ("first", "third"),
    ]


def test_the_picture_shows_nodes_ranges_and_what_is_dead() -> None:
    text = stroop().dot()
    assert '"colour_input" [label="colour_input (Transfer)", fillcolor="#c9e8c9"' in text
    assert 'style="filled,rounded,dashed"' in text
    assert "colour in [0.0183299, 0.0184551]" not in text
    assert '"colour" -> "response"\n' in text
    assert "response in [0.497679, 0.49893]" in text
    searched = psylang.compile(predator_prey(4)).analyse().dot()
    assert '"outcome" -> "control"' in searched
    assert '"control" -> "prey_seen"' in searched


def test_without_graphviz_the_picture_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PictureError, match="needs Graphviz's program dot: apt-get install"):
        svg("digraph {}")
    assert issubclass(PictureError, psylang.PsylangError)


def test_a_failing_dot_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake = tmp_path / "dot"
    fake.write_text("#!/bin/sh\necho broken >&2\nexit 1\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PictureError, match="dot failed: broken"):
        svg("digraph {}")
    fake.write_text("#!/bin/sh\necho '<svg/>'\n")
    assert svg("digraph {}") == "<svg/>\n"


def test_what_does_not_fit_is_refused() -> None:
    plan = psylang.compile(ddm(stimulus=True), vary=["drift"])
    with pytest.raises(psylang.ArgumentError, match="there is no `stimulation`; there is stimulus"):
        plan.analyse(inputs={"stimulation": (0, 1)})
    with pytest.raises(psylang.ArgumentError, match=r"`drift` is \(1, 0\), which nothing is in"):
        plan.analyse(params={"drift": (1, 0)})
    with pytest.raises(psylang.ArgumentTypeError, match="inputs is list; give a mapping"):
        plan.analyse(inputs=[1])  # type: ignore[arg-type]
    with pytest.raises(psylang.ArgumentError, match="trials"):
        plan.analyse(trials=0)


def test_a_notebook_shows_a_table() -> None:
    page = psylang.compile(ddm()).analyse()._repr_html_()
    assert page.startswith("<table><tr><th colspan=2")
    assert "decision_position: 0 + n * [-0.213787, 0.214387]" in page
