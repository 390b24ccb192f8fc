"""Runs k2k grep and GNU grep over /usr/include and compares them.

In k2k grep a device kernel does all the work: it walks the directories, opens, reads and closes the
files and writes the names. The lists must be equal; times are medians of warm, interleaved runs.
The program is k2k-grep: the command `k2k grep` alone, which is built sooner than all of k2k.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
WORDS = ROOT / "apps" / "grep" / "demo_words.txt"
TREE = Path("/usr/include")
TREE_FILES_MIN = 200
ROUNDS = 5
BUDGET_S = 20.0  # No round is begun later than this.
RUN_LIMIT_S = 60.0
DIFFERENCES_SHOWN = 5


class DemoError(Exception):
    """An error, as one line with the remedy."""


@dataclass
class Side:
    """One program and its runs."""

    name: str
    command: list[str]
    seconds: list[float] = field(default_factory=list)
    names: list[bytes] = field(default_factory=list)

    def run(self, *extra: str) -> bytes:
        """Runs once, warm or not; returns standard error. Errors: DemoError."""
        begin = time.perf_counter()
        try:
            done = subprocess.run(
                [*self.command, *extra, str(TREE)],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=RUN_LIMIT_S,
                env={**os.environ, "LC_ALL": "C"},
            )
        except FileNotFoundError as error:
            raise DemoError(f"{self.command[0]} is not there; run ./dev build first") from error
        except subprocess.TimeoutExpired as error:
            raise DemoError(f"{self.name} ran longer than {RUN_LIMIT_S:.0f} s") from error
        self.seconds.append(time.perf_counter() - begin)
        if done.returncode not in (0, 1):
            said = done.stderr.decode(errors="replace").strip().splitlines()
            raise DemoError(f"{self.name} ended with {done.returncode}: {said[0] if said else ''}")
        self.names = sorted(done.stdout.splitlines())
        return done.stderr

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="demo", description=__doc__.splitlines()[0])
    parser.add_argument("program", type=Path, help="k2k-grep")
    binary: Path = parser.parse_args(argv).program
    try:
        return compare(binary)
    except DemoError as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1


def compare(binary: Path) -> int:
    """Prints the summary; 1 if the lists differ. Errors: DemoError."""
    if not has_headers():
        raise DemoError(
            f"{TREE} holds fewer than {TREE_FILES_MIN} files; install some headers: "
            "apt-get install libc6-dev linux-libc-dev"
        )
    options = ["-F", "-l", "-f", str(WORDS)]
    ours = Side("k2k grep", [str(binary.resolve()), *options])
    gnu = Side("GNU grep", ["grep", "-r", *options])
    begin = time.perf_counter()
    stats = json.loads(ours.run("--json"))  # Warms the page cache, too.
    gnu.run()
    if ours.names != gnu.names:
        return show_differences(ours.names, gnu.names)
    ours.seconds.clear()
    gnu.seconds.clear()
    while len(gnu.seconds) < ROUNDS and (not gnu.seconds or time.perf_counter() - begin < BUDGET_S):
        ours.run()
        gnu.run()
        if ours.names != gnu.names:
            return show_differences(ours.names, gnu.names)
    show(ours, gnu, stats)
    show_program(binary)
    return 0


def has_headers() -> bool:
    files = 0
    for _, _, names in os.walk(TREE):
        files += len(names)
        if files >= TREE_FILES_MIN:
            return True
    return False


def show(ours: Side, gnu: Side, stats: dict[str, Any]) -> None:
    words = len(WORDS.read_text().splitlines())
    megabytes = stats["bytes"] / 1e6
    print(f"A kernel searched {TREE} for {words} words, all by its own system calls:")
    print(f"  {stats['files']:,} files, {megabytes:.0f} MB, {stats['directories']:,} directories")
    print(f"  {stats['matches']:,} files match; GNU grep names the same ones")
    print(f"  {ours.name}  {ours.median * 1000:7.0f} ms   (median of {len(ours.seconds)})")
    print(f"  {gnu.name}  {gnu.median * 1000:7.0f} ms   (median of {len(gnu.seconds)})")
    print(f"  k2k is {gnu.median / ours.median:.2f} x as fast as GNU grep")
    print("Requests from the kernel:")
    for call in stats["server"]["calls"]:
        print(f"  {call['name']:<12} {call['count']:>7,}")


def show_program(binary: Path) -> None:
    path = binary.resolve()
    shown = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
    print(f"It ran {shown}, the command `k2k grep` alone; `./dev k2k grep` builds all of k2k.")


def show_differences(ours: list[bytes], gnu: list[bytes]) -> int:
    print("demo: the lists of names differ", file=sys.stderr)
    for title, names in (
        ("only k2k grep", sorted(set(ours) - set(gnu))),
        ("only GNU grep", sorted(set(gnu) - set(ours))),
        ("k2k grep twice", sorted({name for name in ours if ours.count(name) > 1})),
    ):
        for name in names[:DIFFERENCES_SHOWN]:
            print(f"  {title}: {name.decode(errors='backslashreplace')}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    raise SystemExit(main())
