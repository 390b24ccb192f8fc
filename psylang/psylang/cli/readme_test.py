"""The examples of the manual give the stated results."""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

import psylang
from psylang.cli.main import parser
from psylang.runtime.plan_fixture import session_cache

__all__ = ["session_cache"]
RECORDS = Path(psylang.__file__).parents[2] / "bench/results"
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


def told(us: float) -> str:
    """A time as the manual writes it: three digits."""
    number, unit = (us, "µs") if us < 1e3 else (us / 1e3, "ms") if us < 1e6 else (us / 1e6, "s")
    return f"{number:.3g} {unit}"


def rows_of(first: str) -> list[list[str]]:
    """The cells of the table with that first line."""
    lines = MANUAL.read_text().splitlines()
    begin = lines.index(first) + 2
    made = []
    for line in lines[begin:]:
        if not line.startswith("|"):
            break
        made.append([cell.strip() for cell in line.strip("|").split("|")])
    return made


@pytest.mark.skipif(not RECORDS.is_dir(), reason="an installation has no records")
def test_the_times_of_the_manual_are_recorded() -> None:
    lines = (RECORDS / "psylang_full.jsonl").read_text().splitlines()
    full = {one["row"]: one for one in map(json.loads, lines) if one["commit"] == "5957efdd7ed8"}
    rows = rows_of(
        "| a trial of | PsyNeuLink, Python | Psylang beside it | PsyNeuLink, LLVMRun | "
        "Psylang beside it |"
    )
    assert len(rows) == 8
    for name, *cells in rows:
        wanted = []
        for kind in ("python", "llvm"):
            one = full.get(f"{kind}_{name.split('`')[1]}")
            wanted += [told(one["peer_us"]), told(one["ours_us"])] if one else ["", ""]
        assert cells == wanted, name
    (record,) = map(json.loads, (RECORDS / "psylang_models.jsonl").read_text().splitlines())
    models = {one["model"]: one for one in record["rows"]}
    for name, *cells in rows_of("| a trial of | `exact` | `fast` | 64 sequences at once |"):
        one = models[name.split("`")[1]]
        keys = ("exact_us", "fast_us", "fast_64_sequences_us")
        assert cells == [told(one[key]) if key in one else "" for key in keys], name
