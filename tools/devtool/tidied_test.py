"""The sources that clang-tidy reads again, by what changed since it read all."""

from pathlib import Path

import pytest

from devtool import process, revision, tidied
from devtool.console import Refused
from devtool.git_fixture import git

VERSION = "Debian LLVM version 19\n  Optimized build."


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository in which all sources were clean at HEAD, by this clang-tidy."""
    for module in (revision, tidied):
        monkeypatch.setattr(module, "run", lambda command: process.run(command, tmp_path))
    monkeypatch.setattr(tidied, "ROOT", tmp_path)
    noted = tmp_path / "tools/devtool/tidied.toml"
    monkeypatch.setattr(tidied, "FILE", noted)
    git(tmp_path, "init", "-q")
    (tmp_path / "src/a").mkdir(parents=True)
    noted.parent.mkdir(parents=True)
    (tmp_path / "src/a/one.hpp").write_text("")
    (tmp_path / "src/a/one.cpp").write_text('#include "a/one.hpp"\n')
    (tmp_path / "src/a/two.cpp").write_text("#include <vector>\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "one")
    tidied.write(VERSION, whole=True)
    return tmp_path


def names_to_read(tree: Path) -> set[str]:
    changed = tidied.changed_files(VERSION)
    assert changed is not None
    return {file.name for file in tidied.to_read((tree / "src").rglob("*.cpp"), changed)}


def test_nothing_is_read_again_where_nothing_changed(tree: Path) -> None:
    assert names_to_read(tree) == set()


def test_a_changed_a_new_and_a_committed_source_are_read_again(tree: Path) -> None:
    (tree / "src/a/two.cpp").write_text("int two;\n")
    (tree / "src/a/three.cpp").write_text("int three;\n")
    assert names_to_read(tree) == {"two.cpp", "three.cpp"}
    git(tree, "add", ".")
    git(tree, "commit", "-qm", "two")
    assert names_to_read(tree) == {"two.cpp", "three.cpp"}


def test_a_source_is_read_again_for_a_header_that_it_includes(tree: Path) -> None:
    (tree / "src/a/one.hpp").write_text("int one;\n")
    assert names_to_read(tree) == {"one.cpp"}


def test_all_are_read_for_another_clang_tidy_other_checks_or_an_unknown_commit(tree: Path) -> None:
    assert tidied.changed_files("20") is None
    (tree / ".clang-tidy").write_text("Checks: bugprone-*\n")
    assert tidied.changed_files(VERSION) is None
    (tree / ".clang-tidy").unlink()
    assert tidied.changed_files(VERSION) is not None
    tidied.FILE.write_text(f'commit = "{"0" * 12}"\nwhole = "a"\nversion = "19"\n')
    assert tidied.changed_files(VERSION) is None
    tidied.FILE.unlink()
    assert tidied.changed_files(VERSION) is None


def test_a_partial_read_renews_the_commit_and_keeps_that_of_the_whole_one(tree: Path) -> None:
    first = tidied.read()
    git(tree, "add", ".")
    git(tree, "commit", "-qm", "two")
    tidied.write(VERSION, whole=False)
    second = tidied.read()
    assert first is not None
    assert second is not None
    assert first.whole == first.commit == second.whole != second.commit


def test_a_tree_with_changes_is_not_noted(tree: Path) -> None:
    noted = tidied.FILE.read_text()
    (tree / "src/a/two.cpp").write_text("int two;\n")
    tidied.write("20", whole=True)
    assert tidied.FILE.read_text() == noted


@pytest.mark.parametrize("text", ["commit = ", 'commit = "a"\n', 'commit = "a"\nversoin = "1"\n'])
def test_a_file_with_a_mistake_is_refused_with_the_remedy(tree: Path, text: str) -> None:
    tidied.FILE.write_text(text)
    with pytest.raises(Refused, match=r"remove it, .* writes it anew"):
        tidied.read()
