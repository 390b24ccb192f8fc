"""Which sources clang-tidy reads together, and what is found in them."""

from pathlib import Path

from devtool.tidy import GROUP_FILES_MAX, Group, alone, groups, narrowed
from devtool.tree import ROOT


def entry(
    file: str, options: str = "-O0 -Isrc", target: str = "CMakeFiles/k2k_a.dir"
) -> dict[str, str]:
    command = (
        f"g++ {options} -include /b/cmake_pch.hxx -Winvalid-pch -o {target}/a.o -c {ROOT / file}"
    )
    return {"directory": str(ROOT), "file": str(ROOT / file), "command": command}


def test_files_of_a_folder_with_the_same_options_are_one_group() -> None:
    [group] = groups([entry("src/a/two.cpp"), entry("src/a/one.cpp")])
    assert group.files == (ROOT / "src/a/one.cpp", ROOT / "src/a/two.cpp")
    assert group.options == ("g++", "-O0", "-Isrc")
    assert group.source.name == "src-a-1.cpp"


def test_folders_targets_and_options_are_not_mixed() -> None:
    found = groups(
        [
            entry("src/a/x.cpp"),
            entry("src/b/x.cpp"),
            entry("src/a/y.cpp", "-O2"),
            entry("src/a/z.cpp", target="CMakeFiles/another.dir"),
        ]
    )
    assert [len(group.files) for group in found] == [1, 1, 1, 1]
    assert len({group.name for group in found}) == 4


def test_a_group_has_a_limit_and_no_file_is_lost() -> None:
    names = [f"src/a/{number:02}.cpp" for number in range(2 * GROUP_FILES_MAX + 1)]
    found = groups([entry(name) for name in names])
    assert [len(group.files) for group in found] == [GROUP_FILES_MAX, GROUP_FILES_MAX, 1]
    assert sorted(file for group in found for file in group.files) == [ROOT / n for n in names]


def test_tests_and_foreign_sources_are_left_out_and_a_source_of_two_targets_is_read_once() -> None:
    database = [
        entry("src/a/x_test.cpp"),
        entry("src/a/x_bench.cpp"),
        entry("build/generated.cpp"),
        entry("src/a/x.cpp"),
        entry("src/a/x.cpp", "-O2"),
    ]
    assert [group.files for group in groups(database)] == [(ROOT / "src/a/x.cpp",)]


def test_a_file_alone_that_forgot_an_include_is_named(tmp_path: Path) -> None:
    complete, lacking = tmp_path / "complete.cpp", tmp_path / "lacking.cpp"
    complete.write_text("#include <string>\nstd::string one;\n")
    lacking.write_text("std::string two;\n")
    group = Group("g", (complete, lacking), ("g++",), tmp_path)
    assert alone(group, complete) == ""
    assert "lacking.cpp does not compile alone; is an include missing?" in alone(group, lacking)


def test_groups_are_narrowed_to_the_files_that_changed() -> None:
    everything = groups([entry(f"src/{name}.cpp") for name in ("a/one", "a/two", "b/one")])
    [left] = narrowed(everything, {ROOT / "src/a/two.cpp"})
    assert left.files == (ROOT / "src/a/two.cpp",)
    assert narrowed(everything, set()) == []
