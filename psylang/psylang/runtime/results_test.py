"""Results, progress and loading: the small parts that a run uses."""

from __future__ import annotations

import copy
import importlib.util
import pickle
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import psylang
from psylang.runtime.histogram import Counts
from psylang.runtime.kernel import Kernel, prepare
from psylang.runtime.plan_fixture import compiled, session_cache, straight
from psylang.runtime.progress import ProgressLine

__all__ = ["compiled", "session_cache"]


@pytest.mark.usefixtures("compiled")
def test_xarray_has_the_arrays_with_their_axes() -> None:
    plan = psylang.compile(straight())
    results = plan.run(trials=4)
    if importlib.util.find_spec("xarray") is None:
        with pytest.raises(psylang.NotSupportedError, match=r"pip install 'psylang\[xarray\]'"):
            results.to_xarray()
        with pytest.raises(psylang.NotSupportedError, match="xarray"):
            plan.search({"a": [1.0]}, objective="y").to_xarray()
        return
    data = results.to_xarray()
    assert data["v"].dims == ("trial", "unit")
    np.testing.assert_array_equal(data["y"].values, results.y)
    assert plan.search({"a": [1.0, 2.0]}, objective="y").to_xarray()["y"].dims == ("a",)


@pytest.mark.usefixtures("compiled")
def test_pandas_has_the_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    results = psylang.compile(straight()).run(trials=4)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(psylang.NotSupportedError, match=r"pip install 'psylang\[pandas\]'"):
        results.to_pandas()
    # pandas is no dependency of the tests: a data frame is made of a dictionary of columns.
    frames = types.ModuleType("pandas")
    frames.DataFrame = dict  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pandas", frames)
    made = results.to_pandas()
    assert list(made) == list(results.columns())
    np.testing.assert_array_equal(made["v[1]"], results.v[:, 1])


@pytest.mark.usefixtures("compiled")
def test_results_are_saved_and_loaded_whole(tmp_path: Path) -> None:
    plan = psylang.compile(psylang.models.ddm(threshold=0.2, dt=0.01))
    by = psylang.Histogram(5, 0, 2, by="choice")
    results = plan.run(trials=50, sequences=2, seed=7, histogram={"response_time": by})
    results.nan["decision_variable"] = 3
    path = tmp_path / "run 1.results"
    results.save(path)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["run 1.results"]
    twin = psylang.Results.load(path)
    assert list(twin) == list(results)
    for name, array in results.items():
        np.testing.assert_array_equal(twin[name], array)
        assert twin[name].dtype == array.dtype
    assert (twin.dims, twin.run, twin.nan) == (results.dims, results.run, results.nan)
    mine, theirs = results.histograms["response_time"], twin.histograms["response_time"]
    np.testing.assert_array_equal(mine.edges, theirs.edges)
    np.testing.assert_array_equal(mine.counts, theirs.counts)
    assert list(theirs.by) == list(mine.by)
    for value, one in mine.by.items():
        np.testing.assert_array_equal(one.counts, theirs.by[value].counts)
        assert (one.below, one.above) == (theirs.by[value].below, theirs.by[value].above)


def test_files_that_are_no_results_are_named(tmp_path: Path) -> None:
    path = tmp_path / "file"
    load = psylang.Results.load
    with pytest.raises(psylang.ResultsFileError, match=r"cannot be read from .*file: .*No such"):
        load(path)
    path.write_text("drift,rt\n")
    with pytest.raises(
        psylang.ResultsFileError, match=r"file has no results of Psylang; Results\.s"
    ):
        load(path)
    np.savez(tmp_path / "other.npz", a=np.zeros(3))
    with pytest.raises(psylang.ResultsFileError, match="has no results of Psylang"):
        load(tmp_path / "other.npz")
    np.save(tmp_path / "one.npy", np.zeros(3))
    with pytest.raises(psylang.ResultsFileError, match="has no results of Psylang"):
        load(tmp_path / "one.npy")
    np.savez(tmp_path / "later.npz", results=np.array('{"version": 2}'))
    with pytest.raises(
        psylang.ResultsFileError, match="results of version 2; this Psylang reads 1"
    ):
        load(tmp_path / "later.npz")
    results = psylang.Results({"y": np.zeros(2)}, {"y": ("trial",)}, {}, {"seed": 1})
    with pytest.raises(psylang.ResultsFileError, match="cannot be written to"):
        results.save(tmp_path / "none" / "file")


@pytest.mark.usefixtures("compiled")
def test_histograms_of_outputs_that_are_stored_too() -> None:
    plan = psylang.compile(straight())
    for trials in (1, 5, 5, 100_000):
        results = plan.run(
            trials=trials, record=["y"], histogram={"y": (1, 0, 1e9)}, params={"a": 0.0}
        )
        assert results.histograms["y"].counts.tolist() == [trials]
        assert results.y.shape == (trials,)
    assert "histogram of y: 1 bins over 0 … 1e+09, 100000 counted" in repr(results)


@pytest.mark.usefixtures("compiled")
def test_results_are_a_dictionary_of_columns_that_does_not_change() -> None:
    plan = psylang.compile(straight())
    results = plan.run(trials=3)
    assert isinstance(results, dict)  # pandas.DataFrame accepts it as columns.
    assert list(dict(results)) == list(results) == ["y", "v", "s"]
    columns = results.columns()
    assert list(columns) == ["y", "v[0]", "v[1]", "v[2]", "s"]
    np.testing.assert_array_equal(columns["v[1]"], results.v[:, 1])
    for change in ("clear", "pop", "update", "__setitem__"):
        with pytest.raises(psylang.NotSupportedError, match=r"dict\(results\)"):
            getattr(results, change)("y", 0)
    both = plan.run(trials=3, sequences=2).columns()
    assert both["sequence"].tolist() == [0, 0, 0, 1, 1, 1]
    assert both["trial"].tolist() == [0, 1, 2, 0, 1, 2]
    assert {len(column) for column in both.values()} == {6}
    with pytest.raises(psylang.MissingResultError, match=r"^no result `z`; there is y, v, s$"):
        results["z"]


@pytest.mark.usefixtures("compiled")
def test_results_and_searches_are_pickled_whole() -> None:
    plan = psylang.compile(straight())
    results = plan.run(trials=3, seed=7, record=["y"], histogram={"y": (2, 0, 5)})
    twin = pickle.loads(pickle.dumps(results))
    np.testing.assert_array_equal(twin.y, results.y)
    assert (twin.seed, twin.dims, twin.run) == (7, results.dims, results.run)
    assert twin.histograms["y"].counts.tolist() == results.histograms["y"].counts.tolist()
    assert copy.deepcopy(results).y is not results.y
    found = plan.search({"a": [1.0, 2.0]}, objective="y")
    assert pickle.loads(pickle.dumps(found)).best == found.best


@pytest.mark.usefixtures("compiled")
def test_a_plan_is_pickled_as_its_program(compiled: list[str]) -> None:
    plan = psylang.compile(straight(), fix={"a": 3.0})
    twin = pickle.loads(pickle.dumps(plan))
    assert repr(twin) == repr(plan)
    np.testing.assert_array_equal(twin.run(trials=5).y, plan.run(trials=5).y)


def test_the_density_of_a_histogram() -> None:
    counts = Counts(np.array([0.0, 0.5, 2.5]), np.array([1, 4]), below=5)
    assert counts.total == 10
    assert counts.density.tolist() == [0.2, 0.2]


def test_progress_is_a_line_that_ends(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    quick = ProgressLine("quick")
    quick(0, 10)
    quick(10, 10)
    assert capsys.readouterr().err == ""
    line = ProgressLine("model")
    for now, done in ((0.05, 1), (1.0, 25), (1.01, 30), (4.0, 100)):  # noqa: B007
        line(done, 100)
    shown = capsys.readouterr().err
    assert [part.strip() for part in shown.split("\r")] == [
        "",
        "model: 25 of 100 trials, 3 s left",
        "model: 100 of 100 trials",
    ]
    assert shown.endswith("\n")


def test_code_without_the_symbol_cannot_be_loaded() -> None:
    import llvmlite.binding as llvm

    prepare()
    machine = llvm.Target.from_default_triple().create_target_machine()
    code = machine.emit_object(llvm.parse_assembly("define void @other() { ret void }"))
    with pytest.raises(psylang.CompileError, match="no `psylang_run`"):
        Kernel(code)
    with pytest.raises(psylang.CompileError, match="cannot be loaded"):
        Kernel(b"no object")
