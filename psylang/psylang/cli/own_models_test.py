"""The code of the chapter on own models is one program, and it runs."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import numpy as np
import pytest

import psylang
from psylang import model
from psylang.runtime.plan_fixture import session_cache

__all__ = ["session_cache"]
VALUES = {"True", "AFTER"}
PAGE = Path(psylang.__file__).parents[1] / "docs/own-models.md"


def test_the_chapter_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, session_cache: Path
) -> None:
    monkeypatch.setenv("PSYLANG_CACHE_DIR", str(session_cache))
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) >= 6
    program = tmp_path / "own_models.py"  # Functions are compiled from their file.
    program.write_text("\n".join(blocks), encoding="utf-8")
    names = runpy.run_path(str(program))
    assert names["found"]["units"].shape == (500, 2)
    assert not names["values"]["truncated"].any()
    assert (np.abs(np.diff(names["values"]["units"])) >= 0.3).all()
    assert (np.abs(np.diff(names["fifteen"]["units"])) < 0.3).any()
    energy = names["pair"]["energy"]
    assert np.unique(energy).size == 1
    assert 0.0 < energy[0] < 4.0
    assert names["controlled"].allocation.shape == (200, 1)
    assert set(np.unique(names["controlled"].allocation)) <= set(np.linspace(1, 4, 7))


def test_its_table_has_names_of_the_package() -> None:
    table = PAGE.read_text(encoding="utf-8").partition("## PsyNeuLink's terms")[2]
    rows = re.findall(r"^\| [^|]* \| ([^|]*) \|$", table, re.MULTILINE)[2:]
    named = {
        name
        for row in rows
        for code in re.findall(r"`([^`]*)`", row)
        for name in re.findall(r"(?<![\w.\"])([A-Z]\w+)", code)
    }
    assert {"While", "Compute", "Recurrent", "GridSearch", "Not", "DDMAnalytical"} <= named
    assert [name for name in sorted(named - VALUES) if not hasattr(model, name)] == []
    methods = set(re.findall(r"model\.(\w+)\(", table))
    assert methods >= {"together", "last", "when", "ends", "control", "connect", "add"}
    assert [name for name in sorted(methods) if not hasattr(model.Model, name)] == []
