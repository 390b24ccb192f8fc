"""The step notices a program that fails, one that says something else, one that hangs, and an
application whose kernel answers otherwise than the CPU."""

import dataclasses
import json
from pathlib import Path

import pytest

from devtool import emulated_check
from devtool.console import Refused
from devtool.emulated_check import Run, Twice, differs, problems_of, psylang_gpu, tail_of
from devtool.environment import EXIT_MISSING


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
    env = psylang_gpu(Path("build/release"))
    assert env["LD_LIBRARY_PATH"] == "build/release/emulator/cuda/lib"
    assert env["PSYLANG_GPU_TESTS"] == "1"


def application(folder: Path, kernel: object, cpu: object, status: int = 0) -> Twice:
    """A program called `app --json --by WHO` with these answers."""
    program = folder / "app"
    program.write_text(
        f"#!/bin/sh\necho starts\ncase $3 in kernel) echo '{json.dumps(kernel)}';; "
        f"*) echo '{json.dumps(cpu)}';; esac\nexit {status}\n"
    )
    program.chmod(0o755)
    return Twice(program, (), "kernel", "serial", "sum")


def test_a_kernel_answers_what_the_cpu_answers(tmp_path: Path) -> None:
    assert differs(application(tmp_path, {"sum": 3, "seconds": 9}, {"sum": 3, "seconds": 1})) == []
    assert differs(application(tmp_path, {"sum": 3}, {"sum": 4})) == [
        "app: --by kernel answers 3, serial 4"
    ]


def test_an_application_that_fails_or_answers_nothing_is_a_problem(tmp_path: Path) -> None:
    (failed,) = differs(application(tmp_path, {"sum": 3}, {"sum": 3}, status=1))
    assert failed.startswith("app --by kernel: exit 1, no sum\nstarts")
    (silent,) = differs(application(tmp_path, {"sum": 3}, {}))
    assert silent.startswith("app --by serial: exit 0, no sum")


def test_without_a_network_the_reason_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> Path:
        raise Refused("pip could not install it", EXIT_MISSING)

    monkeypatch.setattr(emulated_check, "need_cuda_compiler", refuse)
    assert emulated_check.why_missing() == "pip could not install it"


def test_a_field_of_each_object_may_be_compared(tmp_path: Path) -> None:
    one = application(tmp_path, {"sum": [{"d": 1, "s": 2}]}, {"sum": [{"d": 1, "s": 3}]})
    assert differs(dataclasses.replace(one, within="d")) == []
    assert len(differs(dataclasses.replace(one, within="s"))) == 1


def test_another_refusal_fails_the_step(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> Path:
        raise Refused("broken", 1)

    monkeypatch.setattr(emulated_check, "need_cuda_compiler", refuse)
    with pytest.raises(Refused, match="broken"):
        emulated_check.why_missing()


def test_a_run_of_all_steps_has_a_part_of_every_kind() -> None:
    python = emulated_check.python_runs(Path("f"), Path("p"), Path("l"))
    planned = [*emulated_check.runs(Path("f")), *python]
    always = {one.title for one in planned if one.always}
    assert {
        "conformance",
        "conformance, watchdog",
        "conformance, seed 1",
        "conformance, races, seed '1'",
        "conformance, late stores, seed '1'",
        "an unmodified program",
        "system calls beside a thread's",
        "generators, managed memory",
        "generators, pages of the host",
        "gpu_check.py lto",
        "Python's tests of kernels",
    } <= always
    assert "conformance, seed 3" not in always
