"""The command line's PTX, registers and devices: what it prints, and one line for every mistake."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from psylang.cli.main import main
from psylang.runtime.plan_fixture import session_cache

__all__ = ["session_cache"]
DDM = "psylang.models:ddm"
PTXAS = """#!/bin/sh
cat <<END
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'psylang_choose' for 'sm_90'
ptxas info    : Function properties for psylang_choose
    64 bytes stack frame, 32 bytes spill stores, 48 bytes spill loads
ptxas info    : Used 32 registers, used 1 barriers, 64 bytes cumulative stack size, 1536 bytes smem
ptxas info    : Compiling entry function 'psylang_trials' for 'sm_90'
ptxas info    : Function properties for psylang_trials
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 44 registers, used 0 barriers
END
"""


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, session_cache: Path) -> None:
    monkeypatch.setenv("PSYLANG_CACHE_DIR", str(session_cache))


@pytest.fixture
def ptxas(tmp_path: Path) -> Path:
    path = tmp_path / "ptxas"
    path.write_text(PTXAS)
    path.chmod(0o755)
    return path


def test_ptx_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", DDM, "--emit", "ptx", "--registers", "40"]) == 0
    text = capsys.readouterr().out
    assert ".visible .entry psylang_trials" in text
    assert ".maxnreg 40" in text


def test_registers_are_a_table(ptxas: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["registers", DDM, "--ptxas", str(ptxas), "--limits", "none,32"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "registers of a thread (bytes of its stack, of spill stores), by limit of registers",
        "model  kernel       no limit     32",
        "ddm    choose  f64  32 (64, 32)  32 (64, 32)",
        "ddm    trials  f64  44           44",
        "ddm    choose  f32  32 (64, 32)  32 (64, 32)",
        "ddm    trials  f32  44           44",
    ]


def test_registers_as_json(ptxas: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["registers", DDM, "--ptxas", str(ptxas), "--limits", "32", "--json"]) == 0
    first = json.loads(capsys.readouterr().out.splitlines()[0])
    assert first == {
        "model": "ddm",
        "precision": "f64",
        "limit": 32,
        "kernel": "psylang_choose",
        "registers": 32,
        "stack_bytes": 64,
        "spill_store_bytes": 32,
        "spill_load_bytes": 48,
    }


@pytest.mark.parametrize(
    ("line", "status", "text"),
    [
        (["registers", DDM], 2, "there is no ptxas in PATH; install NVIDIA's assembler"),
        (["registers", DDM, "--ptxas", "/none"], 1, "/none cannot assemble: [Errno 2]"),
        (["registers", DDM, "--ptxas", "false"], 1, "false refuses the kernels for sm_90: it says"),
        (["registers", DDM, "--limits", "few"], 2, "--limits few: give numbers and none, like"),
        (["registers", DDM, "--limits", "8"], 2, "Cuda's registers is 8"),
        (["compile", DDM, "--registers", "40"], 2, "--registers is of --emit ptx"),
        (["compile", DDM, "--emit", "ptx", "--registers", "8"], 2, "Cuda's registers is 8"),
        (["run", DDM, "--device", "tpu"], 2, "device is 'tpu'; there are 'cpu', 'cuda'"),
        (["run", DDM, "--device", "cuda", "--threads", "2"], 2, "threads is of the CPU"),
        (
            ["run", DDM, "--device", "cuda", "--numerics", "exact"],
            1,
            "device='cuda' of `ddm`, which is",
        ),
    ],
)
def test_mistakes_are_one_line(
    line: list[str],
    status: int,
    text: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert main(line) == status
    said = capsys.readouterr().err
    assert said.startswith(f"psylang: {text}")
    assert said.count("\n") == 1
