"""Models by name: their refusals, their constants and their parameters."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from psylang.ir.interpret import interpret
from psylang.model import (
    AdaptiveIntegrator,
    AfterNPasses,
    Always,
    AtPass,
    Compute,
    DDMAnalytical,
    DriftDiffusion,
    EveryNPasses,
    Linear,
    Logistic,
    Model,
    ModelError,
    Never,
    Recurrent,
    SimpleIntegrator,
    Transfer,
    WhenFinished,
    While,
    function,
)
from psylang.model.decision import DDM
from psylang.models import ddm


def two_layers() -> Model:
    model = Model("layers")
    first = model.add(Transfer("first", size=2, function=Linear(slope=2.0)))
    second = model.add(Transfer("second", size=3, function=Logistic(gain=0.5)))
    model.input("stimulus", first)
    model.connect(first, second, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    model.output("activity", second)
    return model


def test_two_layers() -> None:
    given = interpret(two_layers().program("exact"), inputs={"stimulus": [[1.0, -0.5]]})
    net = np.array([2.0, -1.0]) @ np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    np.testing.assert_allclose(given["activity"][0], 1 / (1 + np.exp(-0.5 * net)), rtol=1e-15)


def test_parameters_are_named_by_their_place() -> None:
    names = list(two_layers().parameters)
    assert names[0] == "first.function.slope"
    assert "first_to_second.matrix" in names


def test_fix_and_vary() -> None:
    model = two_layers()
    matrix = "first_to_second.matrix"
    slope = "first.function.slope"
    program = model.program("exact", fix={slope: 0.0}, vary=[matrix], ranges={matrix: (-9, 9)})
    assert [(one.name, one.type.shape, one.range) for one in program.parameters] == [
        (matrix, (2, 3), (-9.0, 9.0))
    ]
    given = interpret(program, inputs={"stimulus": [[1.0, -0.5]]})
    assert given["activity"].tolist() == [[0.5, 0.5, 0.5]]


def test_a_number_fixes_all_elements() -> None:
    program = two_layers().program("exact", fix={"first_to_second.matrix": 0.0})
    given = interpret(program, inputs={"stimulus": [[1.0, 1.0]]})
    assert given["activity"].tolist() == [[0.5, 0.5, 0.5]]


def test_origins_name_component_and_parameter() -> None:
    origins = {str(op.origin) for op in ddm().program().body.walk()}
    assert {"decision.integrator.threshold", "decision.response_time", "decision.choice"} <= origins


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"fix": {"drfit": 1.0}}, "no parameter `drfit` in `ddm`; it has `drift`, `noise`"),
        ({"vary": ["speed"]}, "no parameter `speed` in `ddm`"),
        ({"vary": "drift"}, r"vary is the text 'drift'; give a list of names, like \['drift'\]"),
        ({"vary": ["drift"], "fix": {"drift": 1.0}}, "`drift`: named twice"),
        ({"vary": ["drift", "drift"]}, "`drift`: named twice"),
        ({"ranges": {"drift": (0, 1)}}, "range for `drift`, which is a constant; add it to vary"),
        ({"vary": ["drift"], "ranges": {"drift": (1, 0)}}, "least must be below most"),
        ({"vary": ["drift"], "ranges": {"drift": 3}}, r"range of `drift` is 3; it must be \(least"),
        ({"vary": ["drift"], "ranges": {"drift": (1, 2)}}, "outside of its range"),
        ({"fix": {"drift": math.nan}}, "`drift` is nan; it must be finite"),
        ({"fix": {"drift": "fast"}}, "`drift` is 'fast'; it must be a number"),
        ({"fix": {"drift": [1.0, 2.0]}}, r"shape \(2,\), its default has shape \(\)"),
        ({"fix": {"threshold": -1.0}}, "`threshold` is -1.0; it must be above 0"),
        ({"numerics": "quick"}, "numerics are 'quick'; they are exact or fast"),
    ],
)
def test_programs_that_are_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        ddm().program(**arguments)  # type: ignore[arg-type]


def test_names_that_are_refused() -> None:
    model = two_layers()
    with pytest.raises(ModelError, match="the model name 'my model' must be of letters"):
        Model("my model")
    with pytest.raises(ModelError, match="already a mechanism `first`"):
        model.add(Transfer("first"))
    with pytest.raises(ModelError, match="no mechanism `third` in `layers`; it has `first`"):
        model.connect("first", "third")
    with pytest.raises(ModelError, match="no mechanism `first`"):
        model.output("x", Transfer("first"))  # Another mechanism of that name.
    with pytest.raises(ModelError, match="`first` has no port `speed`; it has `value`"):
        model.output("x", "first", "speed")
    with pytest.raises(ModelError, match="already an output `activity`"):
        model.output("activity", "first")
    with pytest.raises(ModelError, match="already an output `truncated`"):
        model.output("truncated", "first")
    with pytest.raises(ModelError, match="already a `first_to_second`; give the projection a name"):
        model.connect("first", "second", np.ones((2, 3)))
    with pytest.raises(ModelError, match="no mechanism `third`"):
        model.when("first", WhenFinished("third"))
    with pytest.raises(ModelError, match="3 is no condition"):
        model.when("first", 3)  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="already a parameter `rate`"):
        [model.parameter("rate", 1.0) for _ in range(2)]
    with pytest.raises(ModelError, match="max_passes is 0"):
        Model("m", max_passes=0)


def test_shapes_that_are_refused() -> None:
    model = two_layers()
    third = model.add(Transfer("third", size=2))
    with pytest.raises(
        ModelError,
        match=r"`second.value` of shape \(3,\) does not go to `third.input` of shape \(2,\) by no "
        r"matrix; the matrix must have shape \(3, 2\)",
    ):
        model.connect("second", third)
    with pytest.raises(ModelError, match=r"by a matrix of shape \(2, 3\)"):
        model.connect("second", third, np.ones((2, 3)))
    with pytest.raises(ModelError, match=r"input `stimulus` of shape \(2,\) goes to `second"):
        model.input("stimulus", "second")
    with pytest.raises(ModelError, match=r"default of input `cue` has shape \(3,\)"):
        model.input("cue", third, default=[1.0, 2.0, 3.0])
    wrong = Model("wrong")
    layer = wrong.add(Transfer("layer", size=2, function=Logistic(gain=[1.0, 2.0, 3.0])))
    wrong.input("stimulus", layer)
    wrong.output("y", layer)
    with pytest.raises(ModelError, match="shapes in `layer` do not go together"):
        wrong.program()


def test_structures_that_are_refused() -> None:
    model = Model("ring")
    first, second = model.add(Transfer("first")), model.add(Transfer("second"))
    with pytest.raises(ModelError, match="`ring` has no output"):
        model.program()
    with pytest.raises(ModelError, match="projection of `first` to itself; give it a Recurrent"):
        model.connect(first, first)
    model.output("y", second)
    model.connect(first, second)
    with pytest.raises(ModelError, match=r"nothing arrives at `first.input`; connect it"):
        model.program()
    model.connect(second, first)
    with pytest.raises(ModelError, match="`first`, `second` wait for one another; make one of"):
        model.program()


def test_a_parameter_of_another_model() -> None:
    rate = Model("one").parameter("rate", 1.0)
    with pytest.raises(ModelError, match=r"`decision.integrator.rate` holds the parameter `rate`"):
        Model("two").add(DDM("decision", integrator=DriftDiffusion(rate=rate)))


def test_a_trial_that_never_ends() -> None:
    model = two_layers()
    model.ends(Never())
    with pytest.raises(ModelError, match="the trial has not ended after 1000 passes"):
        model.program()


def test_feedback_brings_the_value_of_the_pass_before() -> None:
    model = Model("loop")
    first = model.add(Transfer("first", function=Linear(intercept=1.0)))
    second = model.add(Transfer("second", function=Linear(slope=2.0)))
    model.connect(first, second)
    model.connect(second, first, feedback=True)
    model.when(first, Always())
    model.when(second, Always())
    model.ends(AtPass(3))
    model.output("y", second)
    assert interpret(model.program("exact"))["y"].tolist() == [[14.0]]  # 2, 6, 14


def test_states_go_on_from_trial_to_trial() -> None:
    model = Model("memory")
    layer = model.add(Transfer("layer", integrator=SimpleIntegrator(), reset="never"))
    model.input("x", layer)
    model.output("y", layer)
    program = model.program("fast")
    assert [(one.name, one.initial.tolist()) for one in program.states] == [("layer.state", [0.0])]
    assert interpret(program, trials=3, inputs={"x": [[1.0], [2.0], [3.0]]})[
        "y"
    ].ravel().tolist() == [
        1.0,
        3.0,
        6.0,
    ]


def test_a_port_and_a_slot_of_one_name_are_kept_apart() -> None:
    @function
    def more(x):  # type: ignore[no-untyped-def]
        return x[0] + 1.0

    @function
    def large(x):  # type: ignore[no-untyped-def]
        return x > 2.0

    model = Model("memory")
    reset: Any = {"reset": "never"}
    own = model.add(Compute("own", function=more, inputs={"x": 1}, size=0, choice=True, **reset))
    closed = model.add(DDMAnalytical("closed", **reset))
    model.input("x", own)
    for node in (own, closed):
        model.when(node, Never())
    model.ends(AfterNPasses(1))
    model.output("choice", own)
    model.output("time", closed, "response_time")
    program = model.program("exact")
    assert [(one.name, str(one.type)) for one in program.states] == [
        ("own.value.port", "i32"),
        ("closed.response_time.port", "f64"),
    ]
    given = interpret(program, trials=2, inputs={"x": [[5.0], [5.0]]})
    assert (given["choice"].tolist(), given["time"].tolist()) == ([1, 1], [0.0, 0.0])
    model.when("own", EveryNPasses(1))
    model.when("closed", While(large, "own"))
    program = model.program("exact")
    names = [one.name for one in program.states]
    assert {"closed.response_time", "closed.response_time.port"} <= set(names)
    given = interpret(program, trials=2, inputs={"x": [[5.0], [5.0]]})
    assert given["choice"].tolist() == [6, 6]


def test_recurrence_reads_the_activity_before() -> None:
    model = Model("recurrent")
    layer = model.add(
        Transfer(
            "layer",
            size=2,
            integrator=SimpleIntegrator(),
            recurrent=Recurrent(auto=0.0, hetero=-1.0),
            function=Logistic(),
        )
    )
    model.input("x", layer)
    model.output("y", layer)
    model.when(layer, Always())
    model.ends(AtPass(2))
    state, y = np.zeros(2), np.full(2, 0.5)
    for _ in range(2):
        state = state + np.array([1.0, 2.0]) - y[::-1]
        y = 1 / (1 + np.exp(-state))
    given = interpret(model.program("exact"), inputs={"x": [[1.0, 2.0]]})
    np.testing.assert_allclose(given["y"][0], y, rtol=1e-14)


@pytest.mark.parametrize("numerics", ["exact", "fast"])
def test_a_varied_beginning_of_a_state_that_goes_on(numerics: Any) -> None:
    """The state before the first trial depends on the parameters given to run()."""
    model = Model("m")
    gain = model.parameter("gain", 2.0)
    start = model.parameter("start", 1.0)
    kept = model.add(
        Transfer(
            "kept",
            function=Linear(slope=gain),
            integrator=SimpleIntegrator(initial=start),
            reset="never",
        )
    )
    echo = model.add(Transfer("echo"))
    model.input("x", kept)
    model.connect(kept, echo, feedback=True)
    model.together(kept, echo)
    model.output("y", ["kept", "echo"])
    given = {"x": [[1.0], [1.0], [1.0]]}
    fixed = interpret(model.program(numerics), trials=3, inputs=given)["y"]
    assert fixed.tolist() == [[4.0, 2.0], [6.0, 4.0], [8.0, 6.0]]
    program = model.program(numerics, vary=["gain", "start"])
    assert "begun" in [state.name for state in program.states]
    parameters = {"gain": 3.0, "start": 10.0}
    varied = interpret(program, trials=3, inputs=given, parameters=parameters)["y"]
    assert varied.tolist() == [[33.0, 30.0], [36.0, 33.0], [39.0, 36.0]]


@function
def doubled(x):  # type: ignore[no-untyped-def]
    """Of the decision variable."""
    return 2.0 * x


def reported(*, last: bool, earlier: bool) -> Model:
    """A decision whose end is the trial's, and a report of it."""
    model = Model("reported")
    process = DriftDiffusion(dt=0.01)
    decision = model.add(DDM("decision", integrator=process, until_finished=False))
    report = model.add(Compute("report", function=doubled, inputs={"x": 0}, size=0))
    model.connect(decision, report)
    model.ends(WhenFinished("decision"))
    if last:
        model.last(report)
    model.output("x", decision)
    model.output("report", report, earlier=earlier)
    return model


def test_what_the_end_of_a_trial_leaves_a_pass_behind_is_told() -> None:
    with pytest.raises(
        ModelError, match=r"output `report` would be a pass old: .* as soon as `decision` has run"
    ):
        reported(last=False, earlier=False).program()
    given = interpret(reported(last=True, earlier=False).program("exact"), trials=5)
    assert given["report"].tolist() == (2.0 * given["x"]).tolist()
    given = interpret(reported(last=False, earlier=True).program("exact"), trials=5)
    assert np.all(np.abs(given["report"]) < 2.0)


def test_parameters_take_arithmetic() -> None:
    model = Model("leaky")
    k, dt = model.parameter("k", 2.0), model.parameter("dt", 0.25, range=(0.0, 1.0))
    node = model.add(Transfer("node", function=Linear(slope=-k * dt, intercept=1 - dt / 2 + 0.5)))
    model.input("x", node)
    model.output("y", node)
    for numerics in ("exact", "fast"):
        program = model.program(numerics, vary=["k"], fix={"dt": 0.5})
        for value in (2.0, 3.0):
            given = interpret(program, parameters={"k": value}, inputs={"x": [[1.0]]})
            assert given["y"].tolist() == [[-value * 0.5 + 1.25]]
    assert interpret(model.program(), inputs={"x": [[1.0]]})["y"].tolist() == [[0.875]]
    with pytest.raises(ModelError, match=r"`node.function.slope` is computed from `k`, `dt`; vary"):
        model.program(vary=["node.function.slope"])
    with pytest.raises(ModelError, match=r"^\[1.0, 2.0\] in arithmetic with parameters"):
        k * [1.0, 2.0]
    with pytest.raises(ModelError, match="computed from the parameter `k` of another model"):
        Model("other").add(Transfer("node", function=Linear(slope=2 * k)))


def test_formulas_are_held_to_the_limits_of_their_fields() -> None:
    model = Model("limited")
    k = model.parameter("k", 0.5)
    node = model.add(Transfer("node", integrator=AdaptiveIntegrator(rate=1 - k)))
    model.input("x", node)
    model.output("y", node)
    model.rules().check({"k": np.array(0.25)})
    with pytest.raises(ModelError, match=r"`node.integrator.rate` is 1.5; it must be at most 1"):
        model.rules().check({"k": np.array(-0.5)})
    with pytest.raises(ModelError, match=r"rate` is 1.5 \(row 1\); it must be at most 1"):
        model.rules().check({"k": np.array([0.5, -0.5])})
    with pytest.raises(ModelError, match="rate` is 3; it must be at most 1"):
        model.program(fix={"k": -2.0})
