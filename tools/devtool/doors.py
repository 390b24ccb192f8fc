"""The public headers, each compiled alone, as every language that may include it.

The headers behind them are compiled alone as well, for readers who open them. The number of our
headers that a door brings into a program is counted, and bounded.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from devtool.process import cores, run

DEVICE = {"device.hpp", "foreign.hpp"}  # C++17 too: kernels.
BEHIND_MAX = {"runtime.hpp": 20}  # A door → the headers of ours that it may bring.


@dataclass(frozen=True)
class Tree:
    include: Path  # Holds k2k/.
    modules: Path  # The folder of the headers behind the doors: src/, or the installed copy.

    @property
    def places(self) -> list[str]:
        """The include paths. An installation needs only one."""
        installed = self.modules.is_relative_to(self.include)
        return [f"-I{self.include}", *([] if installed else [f"-I{self.modules}"])]

    @property
    def doors(self) -> list[Path]:
        return sorted((self.include / "k2k").glob("*.h*"))


@dataclass(frozen=True)
class Compiled:
    header: Path
    standard: str
    error: str = ""
    behind: set[Path] = field(default_factory=set)  # Our headers that it brings.


def wrong_doors(tree: Tree) -> list[str]:
    """Returns the problems found."""
    with ThreadPoolExecutor(cores()) as pool:

        def all_of(jobs: set[tuple[Path, str]]) -> list[Compiled]:
            return list(pool.map(lambda job: compile_alone(tree, *job), sorted(jobs)))

        doors = all_of({(door, one) for door in tree.doors for one in standards(door)})
        behind = all_of(
            {(header, d.standard) for d in doors for header in d.behind - {*tree.doors}}
        )
    failed = [
        f"{done.header.relative_to(tree.include.parent)} alone, as {done.standard}:\n{done.error}"
        for done in [*doors, *behind]
        if done.error
    ]
    return [*failed, *crowds(doors)]


def standards(door: Path) -> list[str]:
    if door.suffix == ".h":
        return ["c11", "c++17"]
    return ["c++17", "c++20"] if door.name in DEVICE else ["c++20"]


def compile_alone(tree: Tree, header: Path, standard: str) -> Compiled:
    language = "c++" if standard.startswith("c++") else "c"
    compiler = ["g++" if language == "c++" else "gcc", f"-std={standard}", "-fsyntax-only"]
    compiler += ["-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Wpedantic", "-Werror"]
    listed = ["-MMD", "-MF", "/dev/stdout"]  # As a rule of make.
    done = run([*compiler, *listed, *tree.places, "-include", header, f"-x{language}", "/dev/null"])
    if done.returncode != 0:
        return Compiled(header, standard, done.stdout.strip())
    ours = {path for path in map(Path, done.stdout.split()) if _is_in(tree, path)}
    return Compiled(header, standard, "", ours - {header})


def crowds(doors: list[Compiled]) -> Iterator[str]:
    """Yields the doors that bring more headers than they may."""
    for door in doors:
        most = BEHIND_MAX.get(door.header.name)
        if most is not None and len(door.behind) > most:
            names = " ".join(sorted(path.name for path in door.behind))
            yield (
                f"<k2k/{door.header.name}> brings {len(door.behind)} headers of ours; permitted "
                f"are {most} (BEHIND_MAX of tools/devtool/doors.py): {names}"
            )


def _is_in(tree: Tree, path: Path) -> bool:
    return path.is_relative_to(tree.include) or path.is_relative_to(tree.modules)
