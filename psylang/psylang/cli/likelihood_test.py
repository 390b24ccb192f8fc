"""psylang likelihood: what it prints, and one line for every mistake."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from psylang.cli.main import main
from psylang.likelihood import SimulatedLikelihood, ddm_log_density, fit
from psylang.likelihood.samples_fixture import drawn
from psylang.models import ddm
from psylang.runtime import compile
from psylang.runtime.plan_fixture import session_cache

__all__ = ["session_cache"]
DDM = "psylang.models:ddm"


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, session_cache: Path) -> None:
    monkeypatch.setenv("PSYLANG_CACHE_DIR", str(session_cache))


@pytest.fixture(scope="module")
def data() -> dict[str, Any]:
    return drawn(200, 1, v=0.8, a=1.4, z=0.5, t=0.3)


@pytest.fixture
def file(tmp_path: Path, data: dict[str, Any]) -> str:
    path = tmp_path / "data.csv"
    rows = zip(data["rt"].tolist(), data["choice"].tolist(), strict=True)
    path.write_text("subject,rt,choice\n" + "".join(f"a,{rt},{one}\n" for rt, one in rows))
    return str(path)


def test_the_closed_form_is_fitted(
    file: str, data: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["likelihood", "ddm", file, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == fit(data).to_dict()
    assert (
        main(["likelihood", "ddm", file, "--fit", "v", "--start", "a=1", "--param", "t=0.3"]) == 0
    )
    expected = fit(data, vary=["v", "a"], fixed={"t": 0.3}, start={"a": 1.0})
    assert capsys.readouterr().out == f"{expected}\n"


def test_the_likelihood_at_a_point_is_printed(
    file: str, data: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["--param", "v=0.8", "--param", "a=1.4", "--param", "t=0.3"]
    assert main(["likelihood", "ddm", file, *given, "--json"]) == 0
    expected = ddm_log_density(data["rt"], data["choice"], v=0.8, a=1.4, t=0.3).sum()
    found = json.loads(capsys.readouterr().out)
    assert found == {"model": "ddm", "log_likelihood": float(expected), "trials": 200}
    assert main(["likelihood", "ddm", file, *given]) == 0
    assert capsys.readouterr().out == f"ddm: 200 trials, log-likelihood {expected:.3f}\n"


def test_a_model_is_simulated(
    file: str, data: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["--set", "dt=0.01", "--param", "drift=0.8", "--fix", "non_decision_time=0.3"]
    given += ["--trials", "2000", "--seed", "5", "--method", "bins"]
    assert main(["likelihood", DDM, file, *given, "--json"]) == 0
    plan = compile(ddm(dt=0.01), vary=["drift"], fix={"non_decision_time": 0.3})
    likelihood = SimulatedLikelihood(plan, trials=2000, seed=5, method="bins")
    found = json.loads(capsys.readouterr().out)
    assert found["log_likelihood"] == likelihood.log_likelihood(data, {"drift": 0.8})
    more = ["--start", "threshold=0.9", "--limits", "threshold=0.2,3"]
    assert main(["likelihood", DDM, file, *given, *more, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["fixed"] == {"drift": 0.8}
    assert 0.5 < found["parameters"]["threshold"]["estimate"] < 0.9


def test_a_fit_of_a_diffusion_has_the_closed_form(
    file: str, data: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["--fix", "non_decision_time=0.3", "--start", "drift=0.5", "--start", "threshold=0.9"]
    assert main(["likelihood", DDM, file, *given, "--json"]) == 0
    plan = compile(ddm(), vary=["drift", "threshold"], fix={"non_decision_time": 0.3})
    expected = plan.fit(data, {"drift": 0.5, "threshold": 0.9}, method="closed")
    assert json.loads(capsys.readouterr().out) == expected.to_dict()


@pytest.mark.parametrize(
    ("text", "given", "message"),
    [
        ("rt,choice\n", [], "give a line of names, and a line for each trial"),
        ("rt,choice\n0.5,1\n0.6\n", [], "data.csv, line 3: 1 values; there are 2 names"),
        ("rt,choice\n0.5,1\n,1\n", [], "rt is nan in row 1; leave out trials without"),
        ("rt,choice\n0.5,up\n", [], "choice has elements of <U2; give numbers"),
        ("time,choice\n0.5,1\n", [], "data has no column `rt` or `response_time`"),
        ("rt,choice\n0.5,1\n", ["--limits", "v=0,1"], "--input are for models, not for ddm"),
        ("rt,choice\n0.5,1\n", ["--start", "v=[1,2]"], "--start v=[1, 2] is no number"),
        ("rt,choice\n0.5,1\n", ["--limits", "v=1"], "--limits v=1 is no pair; give LOW,HIGH"),
        ("rt,choice\n0.5,1\n", ["--fit", "q"], "vary: there is no `q`"),
    ],
)
def test_mistakes_are_one_line(
    tmp_path: Path,
    text: str,
    given: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "data.csv"
    path.write_text(text)
    assert main(["likelihood", "ddm", str(path), *given]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--fit", "drift"], "--fit is for ddm alone; a model needs --start NAME=VALUE"),
        (["--limits", "drift=0,1"], "--limits without --start: nothing is fitted"),
        (["--method", "closed"], "--method closed is for fits; give --start NAME=VALUE"),
        (["--start", "rate=1"], "rate"),
    ],
)
def test_mistakes_with_models_are_one_line(
    file: str, given: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["likelihood", DDM, file, *given]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_a_file_that_is_not_there_is_a_failure(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["likelihood", "ddm", "/nowhere.csv"]) == 1
    assert "/nowhere.csv" in capsys.readouterr().err
