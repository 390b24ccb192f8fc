"""The examples of the manual give the stated results."""

from __future__ import annotations

import importlib.util
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

import psylang
from psylang.cli.main import parser
from psylang.runtime.plan_fixture import session_cache

__all__ = ["session_cache"]
MANUAL = Path(psylang.__file__).parents[1] / "README.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", MANUAL.read_text(), re.DOTALL)


def test_the_python_of_the_manual_runs(
    monkeypatch: pytest.MonkeyPatch, session_cache: Path, tmp_path: Path
) -> None:
    monkeypatch.setenv("PSYLANG_CACHE_DIR", str(session_cache))
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for block in blocks("python"):
        lines = block.splitlines(keepends=True)
        if importlib.util.find_spec("xarray") is None:
            lines = [line for line in lines if "to_xarray" not in line]
        exec(compile("".join(lines), "README.md", "exec"), names)
    assert names["results"].response_time.shape == (100_000,)
    assert names["counts"].histograms["response_time"].total == 1_000_000
    assert names["found"]["choice"].shape == (11, 3)


def test_the_command_lines_of_the_manual_are_understood() -> None:
    seen = 0
    for block in blocks("sh"):
        for line in block.splitlines():
            words = shlex.split(line, comments=True)
            if words[0] == "psylang":
                parser().parse_args(words[1:])
                seen += 1
    assert seen >= 6
