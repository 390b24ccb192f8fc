"""Mechanisms that set others' parameters and gate their ports; mechanisms of several states."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from psylang.ir.interpret import interpret
from psylang.model import (
    DDM,
    LCA,
    AfterNCalls,
    AfterNPasses,
    ControlSignal,
    DriftDiffusion,
    DualAdaptive,
    FitzHughNagumo,
    GridSearch,
    Linear,
    LocusCoeruleus,
    Model,
    ModelError,
    Recurrent,
    SimpleIntegrator,
    Spiking,
    Transfer,
)

X = np.array([[0.5], [2.0], [-1.0]])
S = np.array([[3.0], [0.25], [-2.0]])


def outputs(model: Model, numerics: Any, **inputs: Any) -> dict[str, Any]:
    trials = len(next(iter(inputs.values())))
    return interpret(model.program(numerics), inputs=inputs, trials=trials)


def pair(**fields: Any) -> Model:
    model = Model("pair")
    model.add(Transfer("sender"))
    model.add(Transfer("layer", function=Linear(slope=2.0, intercept=1.0), **fields))
    model.input("s", "sender")
    model.input("x", "layer")
    model.output("value", "layer")
    return model


@pytest.mark.parametrize("numerics", ["exact", "fast"])
@pytest.mark.parametrize(
    ("modulation", "slope"),
    [("multiplicative", 2.0 * S), ("additive", 2.0 + S), ("override", S)],
)
def test_a_parameter_follows_another_mechanism(numerics: Any, modulation: Any, slope: Any) -> None:
    model = pair()
    model.modulate("sender", "layer.function.slope", modulation=modulation)
    found = outputs(model, numerics, s=S, x=X)["value"]
    np.testing.assert_allclose(found, X * slope + 1.0, rtol=1e-15)


@pytest.mark.parametrize(
    ("numerics", "name"),
    [
        ("exact", "decision.integrator.initial"),
        ("fast", "decision.integrator.initial"),
        ("exact", "decision.non_decision_time"),
    ],
)
def test_a_parameter_that_only_memory_begins_with_is_refused(numerics: Any, name: str) -> None:
    model = Model("begins")
    model.add(Transfer("sender"))
    model.add(DDM("decision", integrator=DriftDiffusion(dt=0.01)))
    model.input("s", "sender")
    model.output("response_time", "decision")
    model.modulate("sender", name)
    with pytest.raises(ModelError, match=rf"`{name}` is modulated, and `decision` needs it only"):
        model.program(numerics)


def test_ports_are_gated_as_whole_sums() -> None:
    for kind, wanted in (("input", (X + X) * S * 2.0 + 1.0), ("output", ((X + X) * 2.0 + 1.0) * S)):
        model = pair()
        model.input("more", "layer")
        port = "input" if kind == "input" else "value"
        model.modulate("sender", port, receiver="layer", kind=kind)  # type: ignore[arg-type]
        found = outputs(model, "exact", s=S, x=X, more=X)["value"]
        np.testing.assert_array_equal(found, wanted)


def test_a_level_in_place_of_a_port_is_that_of_all_elements() -> None:
    model = Model("wide")
    model.add(Transfer("sender"))
    model.add(Transfer("layer", size=2))
    model.input("s", "sender")
    model.input("x", "layer")
    model.output("value", "layer")
    model.modulate("sender", "value", receiver="layer", kind="output", modulation="override")
    found = outputs(model, "exact", s=S, x=np.ones((3, 2)))["value"]
    np.testing.assert_array_equal(found, np.hstack([S, S]))


def test_feedback_has_the_value_of_the_trial_before() -> None:
    """The sender begins at its initial value, the function of 0."""
    model = Model("loop")
    model.add(Transfer("layer"))
    model.add(Transfer("sender", function=Linear(intercept=0.5), reset="never"))
    model.input("x", "layer")
    model.connect("layer", "sender")
    model.modulate("sender", "layer.function.slope", feedback=True)
    model.output("value", "layer")
    found = outputs(model, "exact", x=[[2.0]] * 3)["value"].ravel().tolist()
    assert found == [1.0, 3.0, 7.0]
    assert model.schedule().sets == (("layer",), ("sender",))


@pytest.mark.parametrize("count", [3, 40])
def test_modulation_within_repeated_passes(count: int) -> None:
    """A rate that grows in each pass, unrolled and in a loop."""
    model = Model("passes")
    model.add(Transfer("clock", integrator=SimpleIntegrator()))
    model.add(Transfer("layer", integrator=SimpleIntegrator()))
    model.input("tick", "clock")
    model.input("x", "layer")
    model.modulate("clock", "layer.integrator.rate")
    model.output("value", "layer")
    model.ends(AfterNPasses(count))
    for numerics in ("exact", "fast"):
        found = outputs(model, numerics, tick=[[1.0]], x=[[2.0]])["value"]
        assert found[0, 0] == 2.0 * sum(range(1, count + 1))


def test_modulation_under_a_condition_and_a_search() -> None:
    model = pair()
    model.modulate("sender", "layer.function.slope")
    model.when("layer", AfterNCalls("sender", 2))
    levels = [0.5, 2.0]
    model.control(GridSearch([ControlSignal("layer.function.intercept", levels)], "layer"))
    found = outputs(model, "exact", s=S, x=X)
    np.testing.assert_array_equal(found["value"], X * 2.0 * S + 2.0)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"target": "layer.function.slope", "sender": "wide"}, "several numbers; one modulates"),
        ({"target": "layer.slope"}, "layer.slope"),
        ({"target": "sender.function.slope"}, "`sender` modulates itself"),
        ({"target": "idle"}, "`idle` is modulated, and used by none"),
        ({"target": "shared"}, "a modulated parameter is one of one mechanism"),
        ({"target": "valu", "receiver": "layer", "kind": "output"}, "valu"),
        ({"target": "twice"}, "parameter `twice` of `other` is modulated already"),
    ],
)
def test_what_cannot_be_modulated(how: dict[str, Any], message: str) -> None:
    model = pair()
    model.parameter("idle", 1.0)
    shared, twice = model.parameter("shared", 1.0), model.parameter("twice", 1.0)
    model.add(Transfer("wide", size=2, function=Linear(slope=shared)))
    model.add(Transfer("other", function=Linear(slope=twice, intercept=shared)))
    model.modulate("sender", twice)
    sender = how.pop("sender", "sender")
    with pytest.raises(ModelError, match=message):
        model.modulate(sender, **how)


def test_an_unknown_modulation_is_refused() -> None:
    model = pair()
    model.modulate("sender", "layer.function.slope", modulation="doubled")  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="modulation of `layer` is 'doubled'; it must be"):
        model.program("exact")


# Mechanisms of several states.


def neuron(x: float, steps: int, dt: float, method: str) -> list[tuple[float, float]]:
    """By hand, in PsyNeuLink's way: stages take the other value from before the step."""
    v, w, made = 0.1, 0.2, []
    for _ in range(steps):

        def rise(now: float, w: float = w) -> float:
            return now - now**3 / 3 - w + x

        def recovery(now: float, v: float = v) -> float:
            return (0.8 * v - 0.8 * now + 0.7 + 0.2 * 0.3) / 12.5

        moved = []
        for begin, slope in ((v, rise), (w, recovery)):
            one = slope(begin)
            two = slope(begin + dt / 2 * one)
            three = slope(begin + dt / 2 * two)
            four = slope(begin + dt * three)
            step = dt * one if method == "EULER" else dt / 6 * (one + 2 * (two + three) + four)
            moved.append(begin + step)
        v, w = moved
        made.append((v, w))
    return made


@pytest.mark.parametrize("numerics", ["exact", "fast"])
@pytest.mark.parametrize("method", ["RK4", "EULER"])
def test_a_neuron_and_the_gain_that_it_gives(numerics: Any, method: Any) -> None:
    cell = FitzHughNagumo(
        initial_v=0.1, initial_w=0.2, dt=0.3, mode=0.8, uncorrelated=0.3, method=method
    )
    model = Model("neurons")
    model.add(Spiking("cell", size=2, neuron=cell, reset="never"))
    model.add(LocusCoeruleus("locus", neuron=cell, base=0.5, scaling=2.0, reset="never"))
    model.input("x", "cell")
    model.input("y", "locus")
    for port in ("v", "w", "time"):
        model.output(port, "cell", port)
    model.output("gain", "locus")
    found = outputs(model, numerics, x=[[0.4, -0.3]] * 50, y=[[0.4]] * 50)
    wanted = np.array([neuron(x, 50, 0.3, method) for x in (0.4, -0.3)])
    np.testing.assert_allclose(found["v"], wanted[:, :, 0].T, rtol=1e-12)
    np.testing.assert_allclose(found["w"], wanted[:, :, 1].T, rtol=1e-12)
    np.testing.assert_allclose(found["gain"][:, 0], 2.0 * wanted[0, :, 1] + 0.5, rtol=1e-12)
    np.testing.assert_allclose(found["time"][-1], 15.0, rtol=1e-12)


@pytest.mark.parametrize("operation", ["product", "sum", "s-l", "l-s"])
def test_two_averages(operation: Any) -> None:
    model = Model("averages")
    model.add(DualAdaptive("node", operation=operation, offset=0.1, reset="never"))
    model.input("x", "node")
    model.output("value", "node")
    rows = np.linspace(-1.0, 1.0, 20)
    short = long = 0.0
    wanted = []
    for x in rows:
        short, long = (1 - short) * 0.9 + short * x, (1 - long) * 0.1 + long * x
        s, one = 1 - 1 / (1 + np.exp(-short)), 1 / (1 + np.exp(-long))
        made = {"product": s * one, "sum": s + one, "s-l": s - one, "l-s": one - s}
        wanted.append(made[operation] + 0.1)
    found = outputs(model, "exact", x=rows[:, None])["value"][:, 0]
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_unknown_methods_and_operations() -> None:
    with pytest.raises(ModelError, match="method of FitzHughNagumo is 'RK5'"):
        FitzHughNagumo(method="RK5")  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="operation of `node` is 'mean'"):
        DualAdaptive("node", operation="mean")  # type: ignore[arg-type]
    with pytest.raises(ModelError, match=r"neuron\.dt"):
        Model("m").add(Spiking("cell", neuron=FitzHughNagumo(dt=0.0)))


def test_a_recurrent_layer_with_a_modulated_gain_keeps_its_memory() -> None:
    model = pair(recurrent=Recurrent(auto=0.5), reset="never")
    model.modulate("sender", "layer.recurrent.auto")
    found = outputs(model, "exact", s=S, x=X)["value"].ravel()
    value, wanted = 1.0, []  # The function of 0.
    for s, x in zip(S.ravel(), X.ravel(), strict=True):
        value = 2.0 * (value * 0.5 * s + x) + 1.0
        wanted.append(value)
    np.testing.assert_array_equal(found, wanted)


def test_a_first_activity_that_is_given() -> None:
    for node in (
        Transfer("n", size=2, recurrent=Recurrent(auto=0.5), initial_activity=[3.0, 4.0]),
        LCA("n", size=2, competition=0.0, self_excitation=0.5, dt=1.0, leak=1.0,
            function=Linear(), initial_activity=[3.0, 4.0]),
    ):  # fmt: skip
        model = Model("one")
        model.add(node)
        model.input("x", "n")
        model.output("value", "n", "value")
        found = outputs(model, "exact", x=[[1.0, 2.0]])["value"]
        np.testing.assert_array_equal(found, [[2.5, 4.0]])


def test_a_cycle_begins_with_an_initial_activity() -> None:
    model = Model("cycle")
    model.add(Transfer("one", reset="never"))
    half = SimpleIntegrator(rate=0.5)
    model.add(Transfer("other", integrator=half, initial_activity=3.0, reset="never"))
    model.together("one", "other")
    model.input("x", "one")
    model.connect("one", "other")
    model.connect("other", "one", 2.0)
    model.output("one", "one")
    model.output("other", "other")
    found = outputs(model, "exact", x=[[1.0], [1.0]])
    assert found["one"].ravel().tolist() == [7.0, 1.0]
    assert found["other"].ravel().tolist() == [0.0, 3.5]
