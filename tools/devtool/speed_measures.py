"""The outside measurements of `./dev check --only speed`: whole programs over trees, and sizes.

Each function measures one round and returns numbers by name, as `k2k bench --json` does; a row of
bench/budgets.toml calls it `measure NAME`. Whose turn it is within a round is random.
"""

import contextlib
import os
import random
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from devtool.console import Refused, Status
from devtool.process import capture
from devtool.tree import BUILD, ROOT

Numbers = dict[str, float]
Item = TypeVar("Item")
RUN_LIMIT_S = 60
WORDS = ROOT / "apps/grep/demo_words.txt"
HEADERS = Path("/usr/include")
FOLDER = BUILD / "speed"
FILES_A_FOLDER = 200
# Of /usr/include with 8,217 files: every twentieth, the smallest first; the largest are left out.
HEADER_SIZES = (
    *(0, 643, 1031, 1275, 1573, 1880, 2309, 2800, 3405, 3890, 4829),
    *(5984, 7463, 9211, 11839, 15891, 20893, 26603, 36390, 57530, 148569),
)
TINY_FILES, TINY_BYTES = 20_000, 20
HEADER_FILES = 8_000
CALIBRATION_S = 3
PRODUCTS = {
    "libk2k_kib": "libk2k.so",
    "libk2k_io_kib": "shim/libk2k_io.so",
    "libk2k_io_router_kib": "shim/libk2k_io_router.so",
    "k2k_kib": "cli/k2k",
}


@dataclass(frozen=True)
class Program:
    """The build of a k2k, and the environment in which all programs are measured."""

    release: Path  # The folder of the build.
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def cli(self) -> Path:
        return self.release / "cli/k2k"


def plain_environment() -> dict[str, str]:
    """Without the user's configuration and profiles: every machine measures the same.

    By XDG's variables, which every commit knows.
    """
    empty = FOLDER / "empty"
    empty.mkdir(parents=True, exist_ok=True)
    ours = {name: value for name, value in os.environ.items() if not name.startswith("K2K_")}
    return {**ours, "LC_ALL": "C", "XDG_CONFIG_HOME": str(empty), "XDG_STATE_HOME": str(empty)}


def timed_ms(command: Sequence[str | Path], environment: dict[str, str]) -> tuple[float, bytes]:
    """The milliseconds from start to end, and the output. Errors: Refused."""
    name = Path(command[0]).name
    begin = time.perf_counter()
    try:
        done = subprocess.run(
            [str(word) for word in command],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=RUN_LIMIT_S,
            env=environment,
            check=False,
        )
    except FileNotFoundError as error:
        raise Refused(f"speed: {name} is not there; install it, or run ./dev build") from error
    except subprocess.TimeoutExpired as error:
        raise Refused(f"speed: {name} ran longer than {RUN_LIMIT_S} s") from error
    milliseconds = (time.perf_counter() - begin) * 1e3
    if done.returncode not in (0, 1):
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise Refused(f"speed: {name} ended with {done.returncode}: {said[-1] if said else ''}")
    return milliseconds, done.stdout


def grep_command(cli: Path, tree: Path) -> list[str | Path]:
    return [cli, "grep", "-F", "-l", "-f", WORDS, "--progress", "never", tree]


def grep(program: Program, random_source: random.Random) -> Numbers:
    """k2k grep, GNU grep and the OpenMP grep over /usr/include, warm. They name the same files."""
    warm(HEADERS)
    commands: dict[str, Sequence[str | Path]] = {
        "k2k_ms": grep_command(program.cli, HEADERS),
        "gnu_ms": ["grep", "-r", "-F", "-l", "-f", WORDS, HEADERS],
    }
    openmp = program.release / "bench/openmp_grep"
    if openmp.exists():
        commands["openmp_ms"] = [openmp, WORDS, HEADERS]
    names: dict[str, list[bytes]] = {}
    numbers: Numbers = {}
    for name in _shuffled(commands, random_source):
        numbers[name], printed = timed_ms(commands[name], program.environment)
        names[name] = sorted(printed.splitlines())
    if any(listed != names["gnu_ms"] for listed in names.values()):
        raise Refused("speed: k2k grep and GNU grep name different files; ./dev demo shows which")
    return numbers


def small_files(program: Program, random_source: random.Random) -> Numbers:
    """k2k grep over files that are read once: with the router and without, by tree."""
    trees = {"headers": header_tree(), "tiny": tiny_tree()}
    runs = [
        (f"{tree}_{kind}_ms", trees[tree], environment)
        for tree in trees
        for kind, environment in _router_environments(program)
    ]
    for tree in trees.values():
        warm(tree)
    numbers: Numbers = {}
    for name, tree, environment in _shuffled(runs, random_source):
        numbers[name], _ = timed_ms(grep_command(program.cli, tree), environment)
    return numbers


def small_files_cold(program: Program, random_source: random.Random) -> Numbers:
    """The same over the headers' sizes, each time with no page of the tree in the page cache."""
    tree = header_tree()
    runs = [run for run in _router_environments(program) if run[0] != "profile"]
    numbers: Numbers = {}
    for kind, environment in _shuffled(runs, random_source):
        drop_pages(tree)
        numbers[f"{kind}_ms"], _ = timed_ms(grep_command(program.cli, tree), environment)
    return numbers


def sizes(program: Program, _: random.Random) -> Numbers:
    """KiB that the loader maps of each product; symbols and debugging information do not count."""
    numbers: Numbers = {}
    for name, file in PRODUCTS.items():
        listed = capture(["size", program.release / file]).splitlines()
        text, data, bss = (int(word) for word in listed[1].split()[:3])
        numbers[name] = (text + data + bss) / 1024
    return numbers


MEASURES: dict[str, Callable[[Program, random.Random], Numbers]] = {
    "grep": grep,
    "small_files": small_files,
    "small_files_cold": small_files_cold,
    "sizes": sizes,
}


def _router_environments(program: Program) -> list[tuple[str, dict[str, str]]]:
    on = program.environment | {"K2K_FILES_ROUTER": "true"}
    return [
        ("on", on),
        ("off", program.environment | {"K2K_FILES_ROUTER": "false"}),
        ("profile", on | {"XDG_STATE_HOME": str(profiles(program))}),
    ]


def _shuffled(items: Iterable[Item], source: random.Random) -> list[Item]:
    order = list(items)
    source.shuffle(order)
    return order


def profiles(program: Program) -> Path:
    """A state folder with the profile of the trees' disk, as `k2k calibrate` leaves it. Kept."""
    folder = FOLDER / "state"
    if not any(folder.glob("k2k/io-profiles/*")):
        folder.mkdir(parents=True, exist_ok=True)
        environment = program.environment | {"XDG_STATE_HOME": str(folder)}
        with Status("speed: calibrate"):
            timed_ms(
                [program.cli, "calibrate", FOLDER, "--seconds", str(CALIBRATION_S)], environment
            )
    return folder


def header_tree() -> Path:
    """As many files as /usr/include has, with its sizes."""
    source = random.Random(1)

    def size() -> int:
        place = source.random() * (len(HEADER_SIZES) - 1)
        low, high = HEADER_SIZES[int(place)], HEADER_SIZES[int(place) + 1]
        return round(low + (place - int(place)) * (high - low))

    return tree("headers", [size() for _ in range(HEADER_FILES)])


def tiny_tree() -> Path:
    return tree("tiny", [TINY_BYTES] * TINY_FILES)


def tree(name: str, file_bytes: Sequence[int]) -> Path:
    """Files of these sizes, without any searched word. Made once, completely or not at all."""
    folder = FOLDER / name
    if folder.exists():
        return folder
    unfinished = FOLDER / f"{name}.unfinished"
    shutil.rmtree(unfinished, ignore_errors=True)
    text = b"".join(b"%07d\n" % line for line in range(max(file_bytes, default=0) // 8 + 1))
    with Status(f"speed: {len(file_bytes)} files into build/speed/{name}"):
        for number, count in enumerate(file_bytes):
            below = unfinished / f"{number // FILES_A_FOLDER}"
            if number % FILES_A_FOLDER == 0:
                below.mkdir(parents=True)
            (below / f"{number}").write_bytes(text[:count])
        os.sync()
    unfinished.rename(folder)
    return folder


_warm: set[Path] = set()  # Trees that were read since their pages were dropped.


def warm(folder: Path) -> None:
    """Reads all files, the first time: the first program finds the same cache as the others."""
    if folder in _warm:
        return
    for path, _, names in os.walk(folder):
        for name in names:
            # Broken links, and files that only others may read.
            with contextlib.suppress(OSError), open(f"{path}/{name}", "rb") as file:  # noqa: PTH123
                while file.read(1 << 20):
                    pass
    _warm.add(folder)


def drop_pages(folder: Path) -> None:
    """Names and inodes stay in memory; the files' pages do not."""
    _warm.discard(folder)
    for path, _, names in os.walk(folder):
        for name in names:
            descriptor = os.open(f"{path}/{name}", os.O_RDONLY)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(descriptor)
