"""The input of mkdocs is brought up to date, and unchanged files are left alone."""

import json
from pathlib import Path

import pytest

from devtool import docs
from devtool.tree import ROOT


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "reference/html").mkdir(parents=True)
    (tmp_path / "reference/tags.xml").write_text("<tagfile/>")
    monkeypatch.setattr(docs, "REFERENCE", tmp_path / "reference")
    monkeypatch.setattr(docs, "TAGS", tmp_path / "reference/tags.xml")
    monkeypatch.setattr(docs, "SOURCE", tmp_path / "docs/source")
    monkeypatch.setattr(docs, "CONFIG", tmp_path / "docs/mkdocs.yml")
    return tmp_path


def times(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


def test_pages_stand_where_the_navigation_says(folder: Path) -> None:
    docs.stage()
    settings = json.loads((folder / "docs/mkdocs.yml").read_text())
    assert settings["nav"][0] == {"Home": "README.md"}
    assert (folder / "docs/source/README.md").read_text().startswith("# K2K")
    assert (folder / "docs/source/design/router.md").exists()
    assert (folder / "docs/source/reference/cpp").resolve() == folder / "reference/html"


def test_current_pages_are_not_written_and_pages_without_a_source_are_removed(folder: Path) -> None:
    docs.stage()
    before = times(folder / "docs")
    stale = folder / "docs/source/design/gone.md"
    stale.write_text("# Gone")
    (folder / "reference/html/index.html").write_text("")
    docs.stage()
    assert not stale.exists()
    assert (folder / "reference/html/index.html").exists()
    after = times(folder / "docs")
    after.pop(folder / "docs/source/reference/cpp/index.html", None)  # rglob may follow the link.
    assert after == before


def test_the_first_program_of_the_readme_is_the_example_that_is_tested() -> None:
    example = (ROOT / "examples/01_read_a_file.cpp").read_text()
    _, _, behind = (ROOT / "README.md").read_text().partition("```cpp\n")
    program, _, _ = behind.partition("```")
    assert program.startswith("#include")
    assert example.endswith(program)
