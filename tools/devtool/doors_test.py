"""Public headers that do not compile alone, or bring too many others, are found."""

from pathlib import Path

from devtool.doors import BEHIND_MAX, Compiled, Tree, crowds, wrong_doors
from devtool.process import run
from devtool.tree import ROOT


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_headers_that_need_others_before_them_are_named_with_their_language(tmp_path: Path) -> None:
    tree = Tree(tmp_path / "include", tmp_path / "src")
    put(tree.include / "k2k/k2k.h", "bool k2k_open(void);\n")
    put(tree.include / "k2k/device.hpp", '#include <cstddef>\n#include "base/size.hpp"\n')
    put(tree.include / "k2k/runtime.hpp", "#include <concepts>\nusing Same = int;\n")
    put(tree.modules / "base/size.hpp", "#pragma once\nusing Size = std::size_t;\n")
    assert [problem.partition(":")[0] for problem in wrong_doors(tree)] == [
        "include/k2k/k2k.h alone, as c11",
        "src/base/size.hpp alone, as c++17",
        "src/base/size.hpp alone, as c++20",
    ]


def test_a_door_that_brings_too_many_is_refused() -> None:
    behind = {Path(f"src/base/{number}.hpp") for number in range(BEHIND_MAX["runtime.hpp"] + 1)}
    assert len(list(crowds([Compiled(Path("k2k/runtime.hpp"), "c++20", "", behind)]))) == 1
    assert not list(crowds([Compiled(Path("k2k/device.hpp"), "c++20", "", behind)]))


def test_an_installation_must_do_with_one_include_path(tmp_path: Path) -> None:
    tree = Tree(tmp_path / "include", tmp_path / "include/k2k/modules")
    put(tree.modules / "base/size.hpp", "#pragma once\n#include <cstddef>\n")
    put(tree.include / "k2k/memory.hpp", "#include <k2k/modules/base/size.hpp>\n")
    assert wrong_doors(tree) == []
    put(tree.include / "k2k/memory.hpp", '#include "base/size.hpp"\n')
    (problem,) = wrong_doors(tree)
    assert "base/size.hpp: No such file" in problem


def test_a_build_for_another_processor_stops_with_a_sentence() -> None:
    command: list[str | Path] = ["g++", "-std=c++20", "-U__x86_64__", "-fsyntax-only", "-x", "c++"]
    command += ["-I", ROOT / "src", ROOT / "src/services/raw.hpp"]
    lines = run(command).stdout.splitlines()
    first = next(line for line in lines if "error:" in line)
    assert "make system calls by their number on x86-64; build for x86-64" in first
