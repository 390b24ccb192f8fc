"""Plans: correct numbers in the right places, and a message for every mistake."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import psylang
from psylang import models
from psylang.ir.builder import ProgramBuilder
from psylang.ir.graph import Program
from psylang.ir.interpret import interpret
from psylang.ir.types import I64
from psylang.runtime import execute
from psylang.runtime.plan_fixture import calls_of, compiled, session_cache, straight, walk

__all__ = ["compiled", "session_cache"]
pytestmark = pytest.mark.usefixtures("compiled")


def agree(results: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    assert list(results) == list(expected)
    for name, array in expected.items():
        assert results[name].dtype == array.dtype
        np.testing.assert_array_equal(results[name].reshape(array.shape), array)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("trials", [1, 7, 64, 65, 40_000])
def test_a_run_agrees_with_the_interpreter(trials: int, threads: int) -> None:
    plan = psylang.compile(straight())
    for _ in range(2):  # The second time the duration of a trial is known.
        results = plan.run(trials=trials, seed=5, params={"a": 3.0}, threads=threads)
        few = min(trials, 70)
        expected = interpret(straight(), trials=few, seed=5, parameters={"a": 3.0})
        agree({name: array[:few] for name, array in results.items()}, expected)
        np.testing.assert_array_equal(results.y, 3.0 + np.arange(trials))
    assert results.shapes == {"y": (trials,), "v": (trials, 3), "s": (trials,)}
    assert results.dims["v"] == ("trial", "unit")


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("sequences", "trials"), [(1, 1), (1, 1000), (3, 77), (500, 13)])
def test_sequences_begin_anew_and_count_on(sequences: int, trials: int, threads: int) -> None:
    plan = psylang.compile(walk())
    for _ in range(2):
        results = plan.run(sequences=sequences, trials=trials, threads=threads)
        shape = (sequences, trials) if sequences > 1 else (trials,)
        numbers = np.arange(sequences * trials)
        np.testing.assert_array_equal(results.trial, numbers.reshape(shape))
        np.testing.assert_array_equal(results["at"], 10.0 + numbers.reshape(shape) % trials)
    assert results.dims["at"] == (("sequence", "trial") if sequences > 1 else ("trial",))


def test_a_long_sequence_in_pieces_is_one_sequence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execute, "SLICE_S", 1e-7)
    monkeypatch.setattr(execute, "ALONE_S", 1e-9)
    monkeypatch.setattr(execute, "FIRST_TRIALS", 5)
    plan = psylang.compile(walk())
    results = plan.run(sequences=2, trials=999, params={"by": np.full(999, 2.0)})
    np.testing.assert_array_equal(results["at"], [10 + 2.0 * np.arange(999)] * 2)
    np.testing.assert_array_equal(results.trial.ravel(), np.arange(1998))


def test_rows_a_trial_of_parameters_and_inputs(compiled: list[str]) -> None:
    plan = psylang.compile(straight())
    a, x = np.arange(5.0), np.linspace(0, 1, 5)
    results = plan.run({"x": x}, {"a": a})
    np.testing.assert_array_equal(results.y, a * x + np.arange(5))
    wide = np.arange(30.0).reshape(2, 5, 3)
    results = plan.run({"x": x}, {"w": wide}, sequences=2, trials=5)
    np.testing.assert_array_equal(results.v, wide * x[:, None])
    assert results.shapes["y"] == (2, 5)
    results = plan.run({"x": 2.0}, {"w": [1, 2, 3]}, trials=4)
    np.testing.assert_array_equal(results.v, [[2.0, 4.0, 6.0]] * 4)
    assert compiled == ["straight"] * 3  # For none, for a, and for w; not again.


def test_threads_of_python_share_a_plan() -> None:
    plan = psylang.compile(straight())

    def of(number: int) -> bool:
        results = plan.run(trials=2000, params={"a": float(number)}, seed=number)
        return bool((results.y == number + np.arange(2000)).all() and (results.s == number).all())

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(of, range(40)))


def test_arrays_that_are_not_in_order_are_copied() -> None:
    plan = psylang.compile(straight())
    w = np.arange(30.0).reshape(3, 10).T
    np.testing.assert_array_equal(plan.run(params={"w": w}).v, w)
    x = np.arange(20.0)[::2]
    np.testing.assert_array_equal(plan.run({"x": x}).y, 2 * x + np.arange(10))
    odd = np.frombuffer(b"?" + np.arange(4.0).tobytes(), np.uint8)[1:].view(np.float64)
    np.testing.assert_array_equal(plan.run({"x": odd}).y, 2 * np.arange(4.0) + np.arange(4))


def test_fixed_parameters_are_constants_and_varied_ones_stay() -> None:
    plan = psylang.compile(straight(), fix={"a": 7})
    assert list(plan.parameters) == ["w"]
    assert plan.run(trials=2).y.tolist() == [7.0, 8.0]
    with pytest.raises(psylang.ArgumentError, match=r"no `a`; there is w; what compile\(\) made"):
        plan.run(params={"a": 1.0})
    plan = psylang.compile(straight(), vary=["a"])
    assert list(plan.parameters) == ["a"]
    assert plan.run(params={"a": 4.0}).v.tolist() == [[1.0, 2.0, 3.0]]


def test_only_recorded_outputs_are_kept_and_computed() -> None:
    plan = psylang.compile(straight())
    results = plan.run(record=["s"], trials=3, seed=9)
    assert dict(results).keys() == {"s"}
    assert results.s.tolist() == [9, 9, 9]
    assert list(plan.run(record=["s", "y"], trials=3)) == ["y", "s"]
    with pytest.raises(KeyError, match="no result `y`; there is s"):
        results["y"]
    with pytest.raises(AttributeError, match="no result `y`"):
        _ = results.y


@pytest.mark.parametrize("threads", [1, 4])
def test_histograms_are_counted_without_storing(threads: int) -> None:
    plan = psylang.compile(walk())
    asked = {"trial": (10, 0, 100_000), "at": [0.0, 11.0, 1e9]}
    results = plan.run(trials=250, sequences=400, histogram=asked, threads=threads)
    assert list(results) == []
    counts = results.histograms["trial"]
    assert counts.counts.tolist() == [10_000] * 10
    assert results.histograms["at"].counts.tolist() == [400, 400 * 249]
    kept = plan.run(trials=9, histogram={"trial": (2, 2, 6)}, record=["at"]).histograms["trial"]
    assert (kept.counts.tolist(), kept.below, kept.above, kept.nan) == ([2, 3], 2, 2, 0)


def test_histograms_by_another_output() -> None:
    plan = psylang.compile(walk())
    asked = {"trial": psylang.Histogram(1, 0, 1000, by="at")}
    counts = plan.run(trials=3, sequences=5, histogram=asked).histograms["trial"]
    assert {value: one.total for value, one in counts.by.items()} == {10.0: 5, 11.0: 5, 12.0: 5}
    with pytest.raises(psylang.ArgumentError, match="at has more than 256 values"):
        plan.run(trials=300, histogram=asked)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"params": {"b": 1}}, ValueError, "params: there is no `b`; there is a, w"),
        ({"inputs": {"y": 1}}, ValueError, "inputs: there is no `y`; there is x"),
        ({"params": [1.0]}, TypeError, r"params is list; give a mapping from names, params=\{…\}"),
        ({"params": {"a": "1"}}, TypeError, r"params\['a'\] has elements of <U1; numbers"),
        ({"params": {"a": 1j}}, TypeError, "elements of complex128; numbers"),
        ({"params": {"a": True}}, TypeError, "elements of bool; .*give 0 and 1"),
        ({"params": {"a": None}}, TypeError, "elements of object"),
        ({"params": {"w": [[1, 2], [3]]}}, ValueError, r"params\['w'\] is no array"),
        ({"params": {"w": [1.0, 2.0]}}, ValueError, r"shape \(2,\); give \(3,\) or \(1, 3\)"),
        ({"params": {"a": np.ones((2, 2, 2))}}, ValueError, r"shape \(2, 2, 2\); give"),
        (
            {"inputs": {"x": np.ones(3)}, "trials": 4},
            ValueError,
            r"shape \(3,\); give \(\) or \(4,\)",
        ),
        ({"inputs": {"x": []}}, ValueError, r"rows of inputs\['x'\] is 0; it must be 1 …"),
        ({"params": {"a": float("nan")}}, ValueError, r"params\['a'\] has NaN; .*allow_nan=True"),
        ({"inputs": {"x": [0.0, np.nan]}}, ValueError, r"has NaN, first at \(1,\)"),
        ({"params": {"a": np.ma.masked_array([1.0])}}, TypeError, "masked array; fill it"),
        ({"seed": -1}, ValueError, "seed is -1; it must be 0 … 9223372036854775807"),
        ({"seed": 2**63}, ValueError, "seed is 9223372036854775808"),
        ({"seed": 1.0}, TypeError, "seed is 1.0, a float; give an integer"),
        ({"seed": True}, TypeError, "seed is True"),
        ({"trials": 0}, ValueError, "trials is 0; it must be 1 …"),
        ({"trials": 2**63}, ValueError, "trials is 9223372036854775808"),
        ({"trials": 10**15}, ValueError, "GiB; the machine has .* a histogram"),
        ({"trials": 2**40, "sequences": 2**40}, ValueError, "are more than"),
        ({"trials": 2.5}, TypeError, "trials is 2.5"),
        ({"sequences": 0}, ValueError, "sequences is 0"),
        ({"threads": 0}, ValueError, "threads is 0"),
        ({"threads": "2"}, TypeError, "threads is '2'"),
        ({"isa": "mmx"}, ValueError, "isa is 'mmx'; this machine has .*scalar"),
        ({"precision": "f16"}, ValueError, "precision is 'f16'; there are 'f64' and 'f32'"),
        ({"precision": ["f32"]}, ValueError, r"precision is \['f32'\]; there are"),
        ({"record": "y"}, TypeError, r"record is the text 'y'; give record=\['y'\]"),
        ({"record": ["z"]}, ValueError, "record: there is no `z`; there is y, v, s"),
        ({"record": []}, ValueError, "record is empty and there is no histogram"),
        ({"histogram": {"z": (1, 0, 1)}}, ValueError, "histogram: there is no `z`"),
        ({"histogram": {"y": (0, 0, 1)}}, ValueError, "0 bins; give 1"),
        ({"histogram": {"y": (3, 1, 1)}}, ValueError, "no interval from 1 to 1"),
        ({"histogram": {"y": [2.0, 1.0]}}, ValueError, "edges must be finite and rise"),
        ({"histogram": {"y": "auto"}}, TypeError, r"give \(bins, low, high\)"),
        ({"progress": 3}, TypeError, "progress is 3; give True or a function"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(
    arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(psylang.PsylangError, match=message) as caught:
        psylang.compile(straight()).run(**arguments)
    assert isinstance(caught.value, error)


def test_unknown_arguments_are_refused() -> None:
    with pytest.raises(TypeError, match="unexpected keyword"):
        psylang.compile(straight()).run(trails=3)  # type: ignore[call-arg]


def test_nan_where_it_is_allowed() -> None:
    results = psylang.compile(straight()).run(params={"a": float("nan")}, allow_nan=True)
    assert np.isnan(results.y).all()
    counts = psylang.compile(straight()).run(
        params={"a": float("nan")}, allow_nan=True, trials=4, histogram={"y": (1, 0, 1)}
    )
    assert counts.histograms["y"].nan == 4


def test_an_input_without_default_is_needed() -> None:
    build = ProgramBuilder("p")
    build.output("y", build.mul(build.input("x", I64), 2))
    plan = psylang.compile(build.build())
    with pytest.raises(psylang.ArgumentError, match=r"inputs\['x'\] is missing; .* \(3,\)"):
        plan.run(trials=3)
    assert plan.run({"x": [1, 2]}).y.tolist() == [2, 4]
    with pytest.raises(psylang.ArgumentTypeError, match=r"float64; integers .*astype\(int\)"):
        plan.run({"x": [1.0, 2.0]})
    with pytest.raises(psylang.ArgumentError, match="integers beyond int64"):
        plan.run({"x": np.array([2**63], np.uint64)})


def test_ranges_are_kept() -> None:
    plan = psylang.compile(straight(), ranges={"a": (0, 1)})
    assert plan.program.parameters[0].range == (0.0, 1.0)
    with pytest.raises(psylang.ArgumentError, match=r"has 1.5, outside its range 0.0 … 1.0; widen"):
        plan.run(params={"a": [0.5, 1.5]})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"fix": {"b": 1}}, "fix: `straight` has no parameter b; it has a, w"),
        ({"vary": ["b"]}, "vary: `straight` has no parameter b"),
        ({"vary": "a"}, r"vary is the text 'a'; give a list, vary=\['a'\]"),
        ({"fix": ["a"]}, r"fix is list; give a mapping, \{name: …\}"),
        ({"fix": {"a": 1}, "vary": ["a"]}, "a is in fix and in vary"),
        ({"fix": {"w": 1.0}}, r"fix\['w'\] has shape \(\); the parameter has \(3,\)"),
        ({"ranges": {"a": (1, 0)}}, r"ranges\['a'\] is empty: 1.0 … 0.0"),
        ({"ranges": {"a": (0, 9)}, "fix": {"a": 1}}, "ranges: a is a constant here"),
        ({"ranges": {"a": (0, 9)}, "vary": ["w"]}, "ranges: a is a constant here"),
        ({"ranges": {"a": 3}}, r"ranges\['a'\] is 3; give a pair \(least, greatest\)"),
        ({"numerics": "approximate"}, "numerics is 'approximate'; there are 'fast' and 'exact'"),
        ({"numerics": "exact"}, "written with fast numerics"),
        ({"precision": "single"}, "precision is 'single'; there are 'f64' and 'f32'"),
    ],
)
def test_compile_refuses_arguments_that_do_not_fit(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(psylang.PsylangError, match=message):
        psylang.compile(straight(), **arguments)


def test_an_object_that_is_no_model_is_refused() -> None:
    with pytest.raises(psylang.ArgumentTypeError, match="of type int is no model"):
        psylang.compile(3)  # type: ignore[arg-type]


def test_a_function_that_makes_a_model_is_to_be_called() -> None:
    for made in (models.ddm, psylang.model.Model):
        with pytest.raises(psylang.ArgumentTypeError, match=rf"psylang.compile\({made.__name__}\("):
            psylang.compile(made)  # type: ignore[arg-type]


@dataclass
class Mutable:
    """A caller's own model class that is not frozen."""

    gains: list[float] = field(default_factory=lambda: [1.0, 2.0])
    name: str = "mine"

    def program(self, *, numerics: Any, fix: Any, vary: Any, ranges: Any) -> Program:
        build = ProgramBuilder(self.name, numerics)
        build.output("y", build.constant(sum(self.gains)))
        return build.build()


def test_a_changed_model_is_noticed() -> None:
    model = Mutable()
    plan = psylang.compile(model, numerics="exact")
    assert plan.run().y.tolist() == [3.0]
    assert plan.run().numerics == "exact"
    model.gains[0] = 5.0
    with pytest.raises(psylang.ModelChangedError, match=r"`mine` was changed after .* again"):
        plan.run()
    model.gains[0] = 1.0
    assert plan.run().y.tolist() == [3.0]


def test_a_plan_is_shown_and_explained() -> None:
    plan = psylang.compile(straight(), ranges={"a": (0, 1)})
    plan.run(params={"a": np.zeros(3)})
    assert repr(plan) == "Plan(straight, fast; params: a, w; inputs: x; outputs: y, v, s)"
    text = str(plan.explain())
    assert "parameter f64, default 2., within 0 … 1" in text
    assert f"{plan.run().isa}, a a trial" in text
    assert "4 operations" in text
    assert "<td style='text-align:left'>straight</td>" in plan.explain()._repr_html_()
    assert "y: float64 (trial 3), mean" in repr(plan.run(trials=3))


@pytest.mark.parametrize("trials", [4, 400])
def test_a_run_costs_a_few_calls_in_python(trials: int) -> None:
    plan = psylang.compile(straight())
    for _ in range(2):
        plan.run(trials=trials, params={"a": 0.5})
    # A run that the computer interrupts is divided into more pieces.
    assert min(calls_of(lambda: plan.run(trials=trials, params={"a": 0.5})) for _ in range(3)) <= 80
