"""The step notices a program that fails, one that says something else, and one that hangs."""

from pathlib import Path

from devtool.emulated_check import Run, problems_of, psylang_tests, tail_of


def test_a_program_that_succeeds_is_no_problem() -> None:
    assert problems_of(Run("echo", ["echo", "all is well"], says="well")) == []


def test_the_exit_and_the_last_lines_of_a_failure_are_shown() -> None:
    (problem,) = problems_of(Run("bad", ["sh", "-c", "echo because; exit 3"]))
    assert problem == "bad on the emulated driver: exit 3\nbecause"


def test_a_program_has_to_say_what_is_expected_of_it() -> None:
    (problem,) = problems_of(Run("silent", ["true"], says="[  PASSED  ]"))
    assert "it does not say '[  PASSED  ]'" in problem


def test_a_program_that_hangs_is_ended() -> None:
    (problem,) = problems_of(Run("slow", ["sleep", "30"], limit_s=1))
    assert "exit 124" in problem


def test_only_the_end_of_a_long_output_is_shown() -> None:
    assert tail_of("\n".join(map(str, range(100))), 2) == "98\n99"


def test_psylang_may_not_skip_for_want_of_a_driver() -> None:
    run = psylang_tests(Path("build/release"))
    assert run.env["LD_LIBRARY_PATH"] == "build/release/emulator/cuda/lib"
    assert run.env["PSYLANG_GPU_TESTS"] == "1"
    assert run.says == " passed"
