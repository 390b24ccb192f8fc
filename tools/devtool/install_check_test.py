"""The install check finds what must not be installed and what is missing."""

import subprocess
import zipfile
from pathlib import Path

from devtool.install_check import headers_of_tests, unstripped, wrong_pages, wrong_wheel


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_finds_fixtures_and_headers_that_include_a_test_library(tmp_path: Path) -> None:
    modules = tmp_path / "include/k2k/modules"
    put(modules / "protocol/slot.hpp", "#include <atomic>\n")
    put(modules / "protocol/area_fixture.hpp", "")
    put(modules / "base/clock_test.hpp", "")
    put(modules / "backend/cpu/deep.hpp", "#include <gtest/gtest.h>\n")
    assert [line.split()[0].rpartition("/")[2] for line in headers_of_tests(tmp_path)] == [
        "deep.hpp",
        "clock_test.hpp",
        "area_fixture.hpp",
    ]


def test_finds_programs_with_debug_information(tmp_path: Path) -> None:
    source = 'const char* section = " .debug_info "; int main() { return section[0]; }'
    program = tmp_path / "bin/k2k"
    put(tmp_path / "k2k.cpp", source)
    put(tmp_path / "text", "a page about .debug_info")
    program.parent.mkdir()
    subprocess.run(["g++", "-g", "-o", program, tmp_path / "k2k.cpp"], check=True)
    assert unstripped(tmp_path) == ["bin/k2k is not stripped"]
    subprocess.run(["strip", program], check=True)
    assert unstripped(tmp_path) == [], "that its data name the section is no debug information"


def test_compares_the_manual_with_the_commands_of_the_program(tmp_path: Path) -> None:
    put(tmp_path / "bin/k2k", "#!/bin/sh\nprintf 'k2k.1\\nk2k-grep.1\\n'\n")
    (tmp_path / "bin/k2k").chmod(0o755)
    put(tmp_path / "share/man/man1/k2k.1", "")
    put(tmp_path / "share/man/man1/k2k-old.1", "")
    put(tmp_path / "share/zsh/site-functions/_k2k", "")
    assert wrong_pages(tmp_path) == [
        "share/man/man1/k2k-grep.1 is not installed",
        "share/man/man1/k2k-old.1 is no page of k2k",
        "share/bash-completion/completions/k2k is not installed",
        "share/fish/vendor_completions.d/k2k.fish is not installed",
    ]


def test_a_wheel_has_a_stripped_library_and_the_tag_of_its_platform(tmp_path: Path) -> None:
    def wheel(name: str, files: dict[str, bytes]) -> Path:
        with zipfile.ZipFile(tmp_path / name, "w") as packed:
            for path, content in files.items():
                packed.writestr(path, content)
        return tmp_path / name

    good, anywhere = "k2k-1-py3-none-linux_x86_64.whl", "k2k-1-py3-none-any.whl"
    library = "k2k/libk2k.so"
    assert wrong_wheel(wheel(good, {library: b"\x7fELF"})) == []
    assert wrong_wheel(wheel(good, {library: b"\x7fELF.debug_info"})) == [
        f"{library} of {good} is not stripped"
    ]
    assert wrong_wheel(wheel(anywhere, {"k2k/__init__.py": b""})) == [
        f"{anywhere} is not tagged py3-none-linux_x86_64",
        f"{anywhere} has no {library}",
    ]
