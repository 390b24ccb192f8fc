"""Installs K2K as a user would, uses it from outside the tree, and removes it without a trace."""

import os
import shutil
import subprocess
import zipfile
from pathlib import Path

from devtool import build
from devtool.console import Status
from devtool.doors import Tree, wrong_doors
from devtool.environment import make_venv
from devtool.process import capture, cores, run
from devtool.tree import BUILD, ROOT, files
from devtool.uninstall import uninstall

PRESET = "release"
WORK = BUILD / "install-check"


def check_install() -> list[str]:
    """Returns the problems found."""
    build.build(PRESET)
    shutil.rmtree(WORK, ignore_errors=True)
    with Status("install, use from outside, uninstall") as status:
        try:
            status.update("an install before the build")
            problems = installs_unbuilt()
            status.update("install")
            prefix = _install_and_move()
            problems += [*_names_of_this_machine(prefix), *headers_of_tests(prefix)]
            problems += unstripped(prefix)
            status.update("the command line")
            if (prefix / "bin/k2k").exists():
                capture([prefix / "bin/k2k", "--version"])
                problems += wrong_pages(prefix)
                for command in ("bench", "lab", "watch"):  # Programs of their own, in libexec.
                    capture([prefix / "bin/k2k", command, "--help"])
                problems += _wrong_component()
            status.update("each header alone")
            include = prefix / "include"
            problems += wrong_doors(Tree(include, include / "k2k/modules"))
            problems += older_standard(prefix)
            status.update("a program with libk2k_io.so")
            problems += preloaded_reads(prefix)
            status.update("an outside project, by find_package")
            _use_by_cmake("tests/install", prefix)
            status.update("the examples, by find_package")
            _use_by_cmake("examples", prefix)
            status.update("both, by pkg-config")
            _use_by_pkg_config(prefix)
            status.update("the wheel")
            problems += _use_by_pip()
        except subprocess.CalledProcessError as error:
            output = "\n".join(str(error.stdout).splitlines()[-40:])
            return [f"`{' '.join(map(str, error.cmd))}` ended with {error.returncode}:\n{output}"]
        status.update("uninstall")
        uninstall(prefix)
        if prefix.exists():
            left = sorted(str(path.relative_to(prefix)) for path in prefix.rglob("*"))
            problems.append(f"uninstall left behind: {', '.join(left) or 'the empty prefix'}")
        problems += _uninstall_spares_others()
    return problems


def installs_unbuilt() -> list[str]:
    """An incomplete build, as after `./dev demo`, installs nothing."""
    folder = WORK / "unbuilt"
    prefix = WORK / "of-unbuilt"
    options = ["-DK2K_TESTS=OFF", "-DK2K_BENCH=OFF", "-G", "Ninja"]
    capture(["cmake", "-S", ROOT, "-B", folder, *options])
    done = run(["cmake", "--install", folder, "--prefix", prefix])
    said = " ".join(done.stdout.split())
    wanted = f"is not built yet; run `cmake --build {folder}` first, then install."
    problems = []
    if done.returncode == 0 or wanted not in said:
        problems.append(f"`cmake --install` of an unbuilt tree says: {said}")
    if prefix.exists():
        problems.append("`cmake --install` of an unbuilt tree leaves files behind")
    return problems


def _install_and_move() -> Path:
    """An installation must work after a move: no file may contain its first place.

    The command is the README's.
    """
    first = WORK / "first"
    capture(["cmake", "--install", build.folder(PRESET), "--strip", "--prefix", first])
    return first.rename(WORK / "prefix")


def _wrong_component() -> list[str]:
    """The component `lab` is two programs and their pages."""
    prefix = WORK / "lab"
    folder = build.folder(PRESET)
    capture(["cmake", "--install", folder, "--component", "lab", "--prefix", prefix])
    found = {str(path.relative_to(prefix)) for path in prefix.rglob("*") if path.is_file()}
    wanted = {f"libexec/k2k/k2k-{name}" for name in ("bench", "lab")}
    wanted |= {f"share/man/man1/k2k-{name}.1" for name in ("bench", "lab")}
    return [f"the component lab has {sorted(found)}"] if found != wanted else []


def _names_of_this_machine(prefix: Path) -> list[str]:
    here = str(ROOT).encode()
    # Debug information names its sources; everything else is text that users and tools read.
    texts = (p for p in sorted(prefix.rglob("*")) if p.is_file() and not p.is_symlink())
    return [
        f"{path.relative_to(prefix)} names the build machine's path {ROOT}"
        for path in texts
        if not (content := path.read_bytes()).startswith(b"\x7fELF") and here in content
    ]


def unstripped(prefix: Path) -> list[str]:
    """Programs and libraries with debug information, which is five times their size."""
    return [
        f"{path.relative_to(prefix)} is not stripped"
        for path in sorted(prefix.rglob("*"))
        if path.is_file()
        and not path.is_symlink()
        and path.read_bytes().startswith(b"\x7fELF")
        # By its own sections: k2k carries BPF programs, which are ELF files, too.
        and " .debug_info " in run(["readelf", "-SW", path]).stdout
    ]


def headers_of_tests(prefix: Path) -> list[str]:
    """Fixtures, tests and benchmarks by their names, and files that include their libraries."""
    return [
        f"{path.relative_to(prefix)} is for tests or benchmarks and must not be installed"
        for path in sorted((prefix / "include").rglob("*.*"))
        if path.stem.endswith(("_fixture", "_test", "_bench"))
        or b"#include <gtest/" in path.read_bytes()
        or b"#include <benchmark/" in path.read_bytes()
    ]


def wrong_pages(prefix: Path) -> list[str]:
    """Every page of `k2k man --list` is installed, and the completion of every shell."""
    wanted = set(capture([prefix / "bin/k2k", "man", "--list"]).split())
    found = {path.name for path in (prefix / "share/man/man1").glob("*")}
    shells = [
        "bash-completion/completions/k2k",
        "zsh/site-functions/_k2k",
        "fish/vendor_completions.d/k2k.fish",
    ]
    return [
        *(f"share/man/man1/{page} is not installed" for page in sorted(wanted - found)),
        *(f"share/man/man1/{page} is no page of k2k" for page in sorted(found - wanted)),
        *(
            f"share/{path} is not installed"
            for path in shells
            if not (prefix / "share" / path).is_file()
        ),
    ]


def older_standard(prefix: Path) -> list[str]:
    """A compilation of the README's program as C++17 fails first with a message about C++20."""
    source = ROOT / "examples/01_read_a_file.cpp"
    options = ["-std=c++17", "-fsyntax-only", f"-I{prefix / 'include'}"]
    done = run(["g++", *options, source])
    first = next((line for line in done.stdout.splitlines() if "error" in line), "no error")
    return [] if "compile with -std=c++20" in first else [f"as C++17, examples/01 says: {first}"]


def preloaded_reads(prefix: Path) -> list[str]:
    """An unmodified program reads into registered memory by the moved library."""
    library = next(prefix.rglob("libk2k_io.so"), None)
    if library is None:
        return ["libk2k_io.so is not installed"]
    program = WORK / "preloaded"
    source = ROOT / "tests/install/preloaded.c"
    capture(
        ["cc", "-std=c11", f"-I{prefix / 'include'}", "-Wall", "-Werror", source, "-o", program]
    )
    env = {"LD_PRELOAD": str(library), "K2K_IO_STATS": str(WORK / "preloaded.txt")}
    capture([program, source], env=env)
    counts = (WORK / "preloaded.txt").read_text()
    return [] if " reads=1 " in counts else [f"libk2k_io.so did not serve the read: {counts}"]


def _use_by_cmake(project: str, prefix: Path) -> None:
    folder = WORK / "by-cmake" / project
    capture(
        [
            "cmake",
            "-S",
            ROOT / project,
            "-B",
            folder,
            "-G",
            "Ninja",
            f"-DCMAKE_PREFIX_PATH={prefix}",
        ]
    )
    capture(["cmake", "--build", folder, "--parallel", str(cores())])
    capture(["ctest", "--test-dir", folder, "--output-on-failure"])


def _use_by_pkg_config(prefix: Path) -> None:
    """The Makefile builds and runs the outside project, then every example."""
    pc = next(prefix.rglob("k2k.pc"))
    env = {"PKG_CONFIG_PATH": os.pathsep.join([str(pc.parent)])}
    make: list[str | Path] = ["make", "-C", ROOT / "tests/install", f"-j{cores()}", "run"]
    sources = ["main.cpp", *(str(p) for p in files(".cpp", ".c", under="examples"))]
    for source in sources:
        packages = "sqlite3" if "sqlite" in source else ""
        settings = [f"SOURCE={source}", f"OUT={WORK / 'by-pkg-config'}", f"PACKAGES={packages}"]
        capture([*make, *settings], env=env)


def _use_by_pip() -> list[str]:
    """`pip install ./python`, in its two steps, brings the library that was built above."""
    make_venv(WORK / "venv")
    pip: list[str | Path] = [WORK / "venv/bin/python", "-m", "pip", "-q"]
    capture([*pip, "wheel", "--no-deps", "--wheel-dir", WORK / "wheel", ROOT / "python"])
    (wheel,) = (WORK / "wheel").iterdir()
    capture([*pip, "install", wheel])
    # Without the package in the sources and without a library from the environment.
    env = {"PYTHONPATH": "", "K2K_LIBRARY": "", "LD_LIBRARY_PATH": ""}
    capture([WORK / "venv/bin/python", ROOT / "tests/install/wheel.py"], env=env)
    return wrong_wheel(wheel)


def wrong_wheel(wheel: Path) -> list[str]:
    """The wheel is for any Python 3 of this platform; its library has no debug information."""
    problems = []
    if not wheel.name.endswith("-py3-none-linux_x86_64.whl"):
        problems.append(f"{wheel.name} is not tagged py3-none-linux_x86_64")
    with zipfile.ZipFile(wheel) as packed:
        if "k2k/libk2k.so" not in packed.namelist():
            problems.append(f"{wheel.name} has no k2k/libk2k.so")
        elif b".debug_info" in packed.read("k2k/libk2k.so"):
            problems.append(f"k2k/libk2k.so of {wheel.name} is not stripped")
    return problems


def _uninstall_spares_others() -> list[str]:
    prefix = WORK / "shared-prefix"
    (prefix / "bin").mkdir(parents=True)
    (prefix / "bin/other").write_text("not ours\n")
    for _ in range(2):  # Installing over an installation changes nothing.
        capture(["cmake", "--install", build.folder(PRESET), "--prefix", prefix])
    uninstall(prefix)
    left = sorted(str(path.relative_to(prefix)) for path in prefix.rglob("*"))
    if left != ["bin", "bin/other"]:
        return [f"uninstall from a shared prefix left {left}, expected bin/other alone"]
    return []
