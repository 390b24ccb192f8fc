"""The step notices a program that ends otherwise than it has to, one that says something else, and
declarations that differ from HIP's header."""

from pathlib import Path

import pytest

from devtool import hip_check
from devtool.hip_check import (
    Run,
    declarations,
    outside,
    outside_runs,
    problems_of,
    runs,
    runtime_of,
)


def test_a_program_may_have_to_fail() -> None:
    assert problems_of(Run("no device", ["sh", "-c", "echo none; exit 77"], "none", 77)) == []


def test_another_status_is_a_problem_with_the_output() -> None:
    (problem,) = problems_of(Run("loads", ["sh", "-c", "echo because; exit 1"], "because", 0))
    assert problem == "loads: exit 1, expected were 0 and 'because'\nbecause"


def test_a_program_has_to_say_what_is_expected_of_it() -> None:
    (problem,) = problems_of(Run("silent", ["true"], "device: Fake gfx90a", 0))
    assert "expected were 0 and 'device: Fake gfx90a'" in problem


def test_each_architecture_is_tried_and_one_that_no_program_has_code_for() -> None:
    planned = list(runs(Path("build/hip")))
    tried = {one.env.get("FAKE_HIP_ARCHITECTURE") for one in planned}
    assert tried == {None, "gfx90a", "gfx942", "gfx1030"}
    assert runtime_of(Path("build/hip"), "gfx90a")["K2K_BACKEND"] == "hip"


def test_a_program_outside_the_tree_is_run_with_each_architecture_and_without_hip() -> None:
    planned = list(outside_runs(Path("build/hip")))
    assert [one.status for one in planned] == [77, 1, 1]
    assert planned[0].env["LD_LIBRARY_PATH"] == "build/hip/outside/prefix/lib"


def test_an_incomplete_build_cannot_be_installed(tmp_path: Path) -> None:
    (problem,) = outside(tmp_path)
    assert problem.startswith("a program outside the tree: `cmake --install")


def header(place: Path, text: str) -> None:
    folder = place / "hip/header/usr/include/hip"
    folder.mkdir(parents=True)
    (folder / "hip_runtime_api.h").write_text(text)


def test_a_header_that_lacks_a_function_is_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hip_check, "BUILD", tmp_path)
    header(tmp_path, "enum hipError_t { hipSuccess };\n")
    (problem,) = declarations()
    assert problem.startswith("differences to HIP's header:")
    assert "hipModuleLaunchKernel" in problem
