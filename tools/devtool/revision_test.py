"""The commit of a tree, with and without changes."""

from pathlib import Path

import pytest

from devtool import process, revision
from devtool.git_fixture import git


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(revision, "run", lambda command: process.run(command, tmp_path))
    return tmp_path


def test_without_a_repository_it_is_unknown(tree: Path) -> None:
    assert revision.commit() == "unknown"


def test_changes_count_and_records_do_not(tree: Path) -> None:
    git(tree, "init", "-q")
    (tree / "bench/results").mkdir(parents=True)
    (tree / "bench/results/one.jsonl").write_text("{}\n")
    (tree / "program").write_text("")
    git(tree, "add", ".")
    git(tree, "commit", "-qm", "one")
    sha = git(tree, "rev-parse", "--short=12", "HEAD")
    assert revision.commit() == sha

    (tree / "bench/results/one.jsonl").write_text("{}\n{}\n")
    (tree / "bench/results/new.jsonl").write_text("{}\n")
    assert not revision.changed()
    assert revision.commit() == sha

    (tree / "new").write_text("")
    assert revision.changed()
    assert revision.commit() == f"{sha}-dirty"
