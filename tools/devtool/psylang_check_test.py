"""The step `psylang` finds each kind of problem."""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from devtool import checks, main, psylang_check
from devtool.checks import STEPS
from devtool.console import Refused
from devtool.python_tests import Ended
from devtool.tree import ROOT


def test_it_is_a_step_of_every_check() -> None:
    (step,) = (step for step in STEPS if step.name == "psylang")
    assert step.always


def test_dev_psylang_runs_the_command_line_of_venv(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[list[str]] = []

    def noted(arguments: list[str]) -> None:
        ran.append(arguments)
        raise SystemExit(0)

    monkeypatch.setattr(main, "exec_in_venv", noted)
    with pytest.raises(SystemExit):
        main.main(["psylang", "run", "m:o", "--help"])
    assert ran == [["-m", "psylang", "run", "m:o", "--help"]]


def test_dev_psylang_bench_installs_its_peer_for_the_full_table(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done: list[str] = []

    def noted(arguments: list[str]) -> None:
        done.append(arguments[-1])
        raise SystemExit(0)

    monkeypatch.setattr(main, "exec_in_venv", noted)
    monkeypatch.setattr(main, "need_psyneulink", lambda: done.append("peer"))
    for given in (["--full"], ["--quick"], ["--full", "--help"]):
        with pytest.raises(SystemExit):
            main.main(["psylang", "bench", *given])
    assert done == ["peer", "--full", "--quick", "--help"]


def test_an_import_against_the_layers_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "psylang"
    layers = ["cli", "runtime", "analysis", "likelihood", "emit", "passes", "numerics", "ir"]
    for name in (*layers, "model", "models", "pnl"):
        folder = package / "psylang" / name
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text("")
    (package / "psylang/__init__.py").write_text("")
    (package / "pyproject.toml").write_text((ROOT / "psylang/pyproject.toml").read_text())
    monkeypatch.setattr(psylang_check, "PACKAGE", package)
    command = psylang_check.lint_imports(Path(sys.executable).parent)
    if not Path(command[0]).exists():
        pytest.skip("import-linter is not installed beside this Python")

    def problems() -> list[str]:
        return psylang_check._passes(command, "layers", {"PYTHONPATH": str(package)})

    assert problems() == []
    for module, imported in (("ir", "passes"), ("model", "runtime"), ("emit", "runtime")):
        path = package / "psylang" / module / "__init__.py"
        path.write_text(f"import psylang.{imported}\n")
        (problem,) = problems()
        assert f"psylang.{module} is not allowed to import psylang.{imported}" in problem
        path.write_text("")


def test_a_command_that_fails_is_a_problem_with_its_words() -> None:
    assert psylang_check._passes(["python3", "-c", "print('why'); raise SystemExit(3)"], "t") == [
        "why"
    ]
    assert psylang_check._passes(["python3", "-c", "raise SystemExit(3)"], "t") == [
        "t ended with 3"
    ]
    assert psylang_check._passes(["python3", "-c", ""], "t") == []


def test_the_tests_of_peers_run_in_environments_of_their_own(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ran: list[str] = []

    needs_paths: list[Path] = []

    def needs(name: str, folder: Path, **_: object) -> None:
        ran.append(f"{folder.name} needs {name}")

    def ends(program: Path, tests: str, *_: object, **__: object) -> Ended:
        ran.append(f"{program.relative_to(ROOT)} {Path(tests).name}")
        return Ended([f"of {Path(tests).name}"])

    monkeypatch.setattr(psylang_check, "need_requirements", needs)
    monkeypatch.setattr(psylang_check, "need_paths", lambda _, path: needs_paths.append(path))
    monkeypatch.setattr(psylang_check, "run_pytest", ends)
    monkeypatch.setattr(psylang_check, "_sources", list)
    assert main.main(["test", "--psylang-pymc"]) == 1
    assert ran == [
        "pymc needs psylang/requirements-pymc.txt",
        "build/pymc/bin/pytest pymc_test.py",
    ]
    assert needs_paths == [ROOT / "psylang"]
    ran.clear()
    assert main.main(["test", "--psylang-full", "--psylang-pymc"]) == 1
    assert [one for one in ran if "needs" not in one] == [
        "build/psyneulink/bin/pytest pnl",
        "build/pymc/bin/pytest pymc_test.py",
    ]
    monkeypatch.setattr(psylang_check, "run_pytest", lambda *_, **__: Ended(summary="all passed"))
    assert main.main(["test", "--psylang-full"]) == 0
    assert capsys.readouterr().err.endswith("all passed\n")


def test_the_step_pnl_leaves_out_the_slow_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    (step,) = (step for step in STEPS if step.name == "pnl")
    assert step.always
    monkeypatch.setattr(psylang_check, "need_requirements", lambda *_, **__: None)
    given: list[object] = []

    def ends(*arguments: object, **_: object) -> Ended:
        given.extend(arguments)
        return Ended(summary="5 passed in 1 s")

    monkeypatch.setattr(psylang_check, "run_pytest", ends)
    assert step.run().note == "5 passed in 1 s"
    assert given[:2] == [psylang_check.PEER / "bin/pytest", "psylang/psylang/pnl"]
    assert given[3] == {"PYTEST_ADDOPTS": "-m 'not slow'"}
    monkeypatch.setattr(psylang_check, "run_pytest", lambda *_, **__: Ended(["a test failed"]))
    assert step.run().problems == ["a test failed"]


def test_without_the_registries_the_step_pnl_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(*_: object, **__: object) -> None:
        raise Refused("pip could not install it\nCheck the network", 3)

    monkeypatch.setattr(psylang_check, "need_requirements", refuses)
    ended = checks._run(next(step.run for step in STEPS if step.name == "pnl"))
    assert ended.outcome.problems == ["pip could not install it\nCheck the network"]


def test_the_tests_that_are_not_slow_have_each_topic() -> None:
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", psylang_check.PEER_TESTS]

    def collected(*options: str) -> list[str]:
        done = subprocess.run(
            [*command, *options], cwd=ROOT, capture_output=True, text=True, check=True
        )
        return [line for line in done.stdout.splitlines() if "::" in line]

    every, kept = collected(), collected(*shlex.split(psylang_check.NOT_SLOW))
    assert len(every) // 5 < len(kept) < len(every)
    for topic in (
        "references_test.py::test_a_reference_imports",
        "references_test.py::test_ddm_analytical_imports",
        "references_test.py::test_stroop_imports",
        "schedules_test.py::test_each_condition",
        "samples_test.py::test_a_script_gives_psyneulinks_results",
        "samples_test.py::test_unsupported_compositions_are_refused",
    ):
        assert any(topic in one for one in kept), topic
    assert not any("test_the_examples_are_equal_or_refused" in one for one in kept)


def test_random_programs_have_a_seed_that_is_printed_and_replayed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ran: list[dict[str, str]] = []

    def ends(*given: object, **_: object) -> Ended:
        env = given[3]
        assert isinstance(env, dict)
        ran.append(env)
        return Ended(["a test failed"])

    monkeypatch.setattr(psylang_check, "need_python_tools", lambda: Path("tools"))
    monkeypatch.setattr(psylang_check, "run_pytest", ends)
    monkeypatch.setattr("secrets.randbelow", lambda _: 77)
    again = "./dev test --psylang-random --seed 77 --examples 200"
    assert main.main(["test", "--psylang-random"]) == 1
    said = capsys.readouterr().err
    assert f"random programs of seed 77; the same ones again: {again}" in said
    assert f"a test failed\nThe same programs again: {again}" in said
    assert main.main(again.split()[1:]) == 1
    assert ran[0] == ran[1]
    assert ran[0]["PYTEST_ADDOPTS"].startswith("--hypothesis-seed=77 ")
    assert ran[0]["PSYLANG_EXAMPLES"] == "200"


def test_a_seed_needs_random_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["test", "--seed", "3"]) == 1
    assert "--seed is of --psylang-random; give both" in capsys.readouterr().err
    for given in ("-1", "x", str(2**32)):
        with pytest.raises(SystemExit):
            main.main(["test", "--psylang-random", f"--seed={given}"])
        assert f"{given} is no whole number from 0 to 4294967295" in capsys.readouterr().err
