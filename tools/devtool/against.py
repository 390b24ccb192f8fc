"""./dev bench --against COMMIT, and --with SETTING: is this tree as fast as that commit was, or as
it is without the setting?

Both programs run in turns on the same machine, in random order, and each figure is the ratio of the
two runs of a turn: a temporary disturbance of the machine affects both. A hypervisor may move the
two cores of a machine nearer to each other or apart at any time, and then two programs that hand
data over differ by a factor of three: a turn with such a move between its runs is made again.

A commit is built once and kept in build/against/. The comparison of a commit with itself shows the
differences that chance makes: such runs give the tolerances (bench/tolerances.toml) within which
two commits are the same.
"""

import contextlib
import json
import math
import random
import re
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from devtool import build, speed_measures, tolerances
from devtool.bench import RESULTS, about, machine
from devtool.console import Refused, Status, duration, say
from devtool.process import cores, last_json, run, run_logged
from devtool.revision import changed
from devtool.speed_measures import Numbers, Program, grep_command, timed_ms
from devtool.tree import BUILD, ROOT, shown
from devtool.verdict import CANNOT_TELL, Better, Interval, trimmed_interval_of

PRESET = "release"
TARGET = "k2k_cli"
FOLDER = BUILD / "against"
RECORDS = RESULTS / "against.jsonl"
SHA_LENGTH = 12
ROUNDS_MIN = 2
MORE_ROUNDS_MAX = 1000  # More rounds would take too long.
RUN_LIMIT_S = 120
TRIES = 4  # Of a turn, for two runs on the same machine.
MOVED_FACTOR = 2.0
SLOWER, SAME, FASTER = "slower", "same", "faster"
OPTIONS = ("-DK2K_TESTS=OFF", "-DK2K_INSTALL=OFF")


@dataclass(frozen=True)
class Bench:
    """A program that users run: its figures, and a function that runs it once."""

    name: str
    rounds: int
    figures: dict[str, Better]
    measure: Callable[[Program], Numbers]
    needs: str = ""  # A benchmark of k2k that an older commit may lack.
    machine: str = ""  # A figure of the machine alone, by which a run knows that its cores moved.


@dataclass(frozen=True)
class Side:
    name: str
    program: Program


@dataclass
class Figure:
    bench: str
    name: str
    better: Better
    before: list[float] = field(default_factory=list)
    now: list[float] = field(default_factory=list)

    @property
    def title(self) -> str:
        return f"{self.bench} {self.name}"

    def seen(self) -> Interval:
        """The speed as a multiple of the speed before."""
        pairs = zip(self.before, self.now, strict=True)
        higher = self.better == "higher"
        return trimmed_interval_of([now / old if higher else old / now for old, now in pairs])


def against(
    commit: str | None,
    names: Sequence[str],
    rounds: int,
    seed: int | None,
    as_json: bool,
    record: bool,
    settings: Sequence[str] = (),
) -> None:
    """Prints the comparison. `rounds` 0: each benchmark's own. `settings`: of this tree's program,
    as `server.walls=on`; without a commit, it is compared with itself without them.

    Errors: Refused.
    """
    benches = chosen(names)
    if rounds and rounds < ROUNDS_MIN:
        raise Refused(f"--rounds is {rounds}; an interval needs {ROUNDS_MIN} or more", 2)
    known = tolerances.read()
    variables = dict(map(_variable, settings))
    sha = None if commit is None else commit_of(commit)
    here, dirty = this_tree()
    itself = sha == here and not dirty and not settings
    words = [f"--against {commit}"] if commit is not None else []
    command = " ".join(["./dev bench", *words, *(f"--with {setting}" for setting in settings)])
    if record and dirty:
        raise Refused(
            "--record keeps the figures of a commit: commit your changes first, then "
            f"{command} --record",
            2,
        )
    state = f"{here}+changes" if dirty else here
    if dirty:
        say(f"this tree has changes: what is compared is its present state, {state}")
    if itself:
        say(f"both are {sha}, built twice: what differs is noise")
    environment = speed_measures.plain_environment()
    earlier = None if sha is None else Side(sha, Program(built(sha), environment))
    build.build(PRESET, [TARGET])
    release = build.folder(PRESET)
    before = earlier or Side(state, Program(release, environment))
    name = f"{here} again" if itself else state
    now = Side(" ".join([name, *settings]), Program(release, environment | variables))
    seed = random.SystemRandom().randrange(1_000_000) if seed is None else seed
    benches, skipped = both_have(benches, before, now)
    for line in skipped:
        say(line)
    figures = [Figure(b.name, name, better) for b in benches for name, better in b.figures.items()]
    say(f"seed {seed}: {command} --seed {seed} takes the same order")
    try:
        left_out = measure(benches, before, now, rounds, random.Random(seed), figures)
    except KeyboardInterrupt:
        if measured := [one for one in figures if len(one.now) >= ROUNDS_MIN]:
            say("\ninterrupted; so far:\n" + text(measured, before.name, now.name, known))
        raise
    figures = [one for one in figures if len(one.now) >= ROUNDS_MIN]
    print(text(figures, before.name, now.name, known))
    for name, turns in left_out.items():
        say(f"{turns} turns of {name} are left out: the machine's cores moved between their runs")
    compared = {"against": before.name, "now": now.name, "seed": seed, "skipped": skipped}
    compared |= {"left_out": left_out}
    compared |= {"figures": [as_object(one, known) for one in figures]}
    if record and itself:
        assert sha is not None
        tolerances.record({one.title: one.seen() for one in figures}, sha, machine())
    elif record:
        whole = " ".join([command, *(one.name for one in benches)])
        with RECORDS.open("a") as records:
            records.write(json.dumps(about(whole) | compared) + "\n")
        say(f"1 result added to {shown(RECORDS)}")
    if as_json:
        print(json.dumps(compared))


def _variable(setting: str) -> tuple[str, str]:
    """The variable of `server.walls=on`: K2K_SERVER_WALLS, `on`."""
    key, equals, value = setting.partition("=")
    if not equals or not re.fullmatch(r"[a-z_0-9]+(\.[a-z_0-9]+)+", key):
        raise Refused(
            f"--with takes a setting, as server.walls=on, not {setting}; "
            "`./dev k2k help config` lists them",
            2,
        )
    return "K2K_" + key.upper().replace(".", "_"), value


def measure(
    benches: Sequence[Bench],
    before: Side,
    now: Side,
    rounds: int,
    source: random.Random,
    figures: Sequence[Figure],
) -> dict[str, int]:
    """Runs all turns in random order; adds to the figures. A turn counts whole or not at all.
    Returns how many turns of which benchmark do not count because the cores moved."""
    turns = [bench for bench in benches for _ in range(rounds or bench.rounds)]
    source.shuffle(turns)
    begin = time.monotonic()
    left_out: dict[str, int] = {}
    with Status(f"{before.name} and {now.name} in turns") as status:
        for number, bench in enumerate(turns):
            left = (time.monotonic() - begin) / max(number, 1) * (len(turns) - number)
            rest = f", {duration(left)} to go" if number else ""

            def show(
                side: Side, at: str = f"{number + 1} of {len(turns)}{rest}: {bench.name}"
            ) -> None:
                status.update(f"{at}, {side.name}")

            numbers = _turn(bench, before, now, source, show)
            if numbers is None:
                left_out[bench.name] = left_out.get(bench.name, 0) + 1
                continue
            for one in figures:
                pair = [of_side.get(one.name) for of_side in numbers]
                if one.bench == bench.name and pair[0] and pair[1]:
                    one.before.append(pair[0])
                    one.now.append(pair[1])
    return left_out


def _turn(
    bench: Bench, before: Side, now: Side, source: random.Random, show: Callable[[Side], None]
) -> tuple[Numbers, Numbers] | None:
    """The numbers of both; None: the cores moved in each try."""
    for _ in range(TRIES):
        sides = [before, now]
        source.shuffle(sides)
        numbers: dict[str, Numbers] = {}
        for side in sides:
            show(side)
            numbers[side.name] = bench.measure(side.program)
        pair = numbers[before.name], numbers[now.name]
        if not moved(pair[0].get(bench.machine), pair[1].get(bench.machine)):
            return pair
    return None


def moved(before: float | None, now: float | None) -> bool:
    """Did the cores move between two runs that measured the machine so?"""
    if not before or not now:
        return False  # The benchmark, or the older commit, does not measure it.
    return max(before, now) / min(before, now) > MOVED_FACTOR


def verdict(seen: Interval, tolerance: float) -> tuple[str, int | None]:
    """*Same*: the whole interval is within the tolerance. *Slower*, *faster*: it lies on one side
    of 1 and its middle beyond the tolerance. What is surely not slower, and by less than the
    tolerance faster, is the same, too. Else how many rounds more could tell, if any could."""
    width = math.log1p(tolerance)
    low, middle, high = math.log(seen.low), math.log(seen.mean), math.log(seen.high)
    if -width <= low and high <= width:
        return SAME, None
    if high < 0 and middle < -width:
        return SLOWER, None
    if low > 0:
        return FASTER if middle > width else SAME, None
    wanted = width - abs(middle) if abs(middle) <= width else abs(middle)
    if wanted <= 0:
        return CANNOT_TELL, None
    more = math.ceil(seen.rounds * ((high - low) / 2 / wanted) ** 2) - seen.rounds
    return CANNOT_TELL, max(1, more) if more <= MORE_ROUNDS_MAX else None


def text(figures: Sequence[Figure], before: str, now: str, known: dict[str, float]) -> str:
    """A line a figure; above 1 this tree is faster."""
    lines = [("figure", before, now, "times as fast", "95 % interval", "same within", "")]
    for one in figures:
        seen = one.seen()
        tolerance = tolerances.of(one.title, known)
        word, more = verdict(seen, tolerance)
        lines.append(
            (
                one.title,
                f"{statistics.median(one.before):.3g}",
                f"{statistics.median(one.now):.3g}",
                f"{seen.mean:.3f}",
                f"{seen.low:.3f} to {seen.high:.3f}",
                f"{tolerance * 100:.2g} %",
                f"{word} ({more} rounds more)" if more else word,
            )
        )
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def as_object(one: Figure, known: dict[str, float]) -> dict[str, Any]:
    seen = one.seen()
    tolerance = tolerances.of(one.title, known)
    word, more = verdict(seen, tolerance)
    return {
        **{"bench": one.bench, "figure": one.name, "better": one.better, "rounds": seen.rounds},
        **{"before": statistics.median(one.before), "now": statistics.median(one.now)},
        **{"ratio": seen.mean, "low": seen.low, "high": seen.high, "tolerance": tolerance},
        **{"verdict": word, "more_rounds": more},
    }


def chosen(names: Sequence[str]) -> list[Bench]:
    """Errors: Refused, with the known names."""
    known = {bench.name: bench for bench in BENCHES}
    if unknown := [name for name in names if name not in known]:
        raise Refused(
            f"--against: no benchmark {', '.join(unknown)}; there are: {', '.join(known)}", 2
        )
    return [known[name] for name in dict.fromkeys(names)] or list(BENCHES)


def commit_of(name: str) -> str:
    """The commit's short SHA. Errors: Refused."""
    found = run(["git", "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}"])
    if found.returncode != 0:
        raise Refused(
            f"--against: there is no commit {name} here; `git log --oneline` lists them, "
            "`git fetch` brings others",
            2,
        )
    return found.stdout.strip()[:SHA_LENGTH]


def this_tree() -> tuple[str, bool]:
    """HEAD, and whether programs of the tree differ from it. Expects a repository."""
    return commit_of("HEAD"), changed()


# A build dependency of the commit may have left the project since: its own installer has it.
OWN_PACKAGES = """
import sys
sys.path.insert(0, "tools")
try:
    from devtool.environment import BUILD_PACKAGES, need_packages
except ImportError:  # A commit from before there was one.
    sys.exit(0)
need_packages(BUILD_PACKAGES)
"""


def built(sha: str) -> Path:
    """The folder of the commit's release build; made once. Errors: Refused, naming the log."""
    folder = FOLDER / sha
    release = folder / "source/build" / PRESET
    stamp = folder / "built"
    with build.only_one(f"against/{sha}"):
        if stamp.exists() and (release / "cli/k2k").exists():
            return release
        log = folder / "build.log"
        log.unlink(missing_ok=True)
        _extract(sha, folder / "source")
        steps: list[Sequence[str | Path]] = [
            [sys.executable, "-B", "-c", OWN_PACKAGES],
            ["cmake", "--preset", PRESET, *OPTIONS],
            [
                *("cmake", "--build", release, "--parallel", str(cores())),
                *("--target", TARGET),
            ],
        ]
        with Status(f"build {sha}") as status:
            for step in steps:
                code = run_logged(
                    step, log, status.update, {"NINJA_STATUS": "[%f/%t] "}, True, folder / "source"
                )
                if code != 0 or (step is steps[-1] and not (release / "cli/k2k").exists()):
                    raise Refused(
                        f"--against: {sha} does not build here: see {shown(log)}; "
                        "choose another commit, or mend what it lacks"
                    )
        stamp.touch()
    return release


def _extract(sha: str, folder: Path) -> None:
    """The commit's files; whole or not at all."""
    if folder.exists():
        return
    unfinished = folder.with_suffix(".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    with contextlib.ExitStack() as stack:
        archive = stack.enter_context(
            subprocess.Popen(["git", "archive", sha], cwd=ROOT, stdout=subprocess.PIPE)
        )
        unpacked = subprocess.run(["tar", "-x"], cwd=unfinished, stdin=archive.stdout, check=False)
    if archive.returncode != 0 or unpacked.returncode != 0:
        raise Refused(f"--against: the files of {sha} could not be unpacked into {shown(folder)}")
    unfinished.rename(folder)


def both_have(benches: Sequence[Bench], before: Side, now: Side) -> tuple[list[Bench], list[str]]:
    """The benchmarks that both can run, and a line for each other benchmark."""
    lists = {side.name: _listed(side.program) for side in (before, now)}
    left: list[Bench] = []
    skipped: list[str] = []
    for bench in benches:
        lacks = [name for name, has in lists.items() if bench.needs and bench.needs not in has]
        if lacks:
            skipped.append(f"{bench.name} is left out: {lacks[0]} has no `k2k bench {bench.needs}`")
        else:
            left.append(bench)
    if not left:
        raise Refused("--against: nothing is left to compare; name other benchmarks", 2)
    return left, skipped


def _listed(program: Program) -> set[str]:
    listed = _json(program, ["bench", "--json"])
    return {str(name) for names in listed.values() for name in names}


def _json(program: Program, words: Sequence[str]) -> dict[str, Any]:
    try:
        done = subprocess.run(
            [str(program.cli), *words],
            env=program.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=RUN_LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise Refused(f"k2k {' '.join(words)} ran longer than {RUN_LIMIT_S} s") from error
    result: dict[str, Any] | None = last_json(done)
    if result is None:
        said = (done.stderr.strip().splitlines() or [""])[-1]
        raise Refused(
            f"{shown(program.cli)} {' '.join(words)} ended with {done.returncode}: {said}"
        )
    return result


def _flat(numbers: Any, path: str = "") -> Iterator[tuple[str, float]]:
    """The numbers of an object by their paths, `a.b`."""
    if isinstance(numbers, dict):
        for key, each in numbers.items():
            yield from _flat(each, f"{path}.{key}" if path else str(key))
    elif isinstance(numbers, int | float) and not isinstance(numbers, bool):
        yield path, float(numbers)


def _system(name: str, rounds: int, figures: dict[str, Better], machine: str = "") -> Bench:
    def measured(program: Program) -> Numbers:
        return dict(_flat(_json(program, ["bench", name, "--json"])))

    return Bench(name, rounds, figures, measured, needs=name, machine=machine)


def _grep(program: Program) -> Numbers:
    speed_measures.warm(speed_measures.HEADERS)
    milliseconds, _ = timed_ms(
        grep_command(program.cli, speed_measures.HEADERS), program.environment
    )
    return {"ms": milliseconds}


def _small_files(program: Program) -> Numbers:
    trees = {
        "headers_ms": speed_measures.header_tree(),
        "tiny_ms": speed_measures.tiny_tree(),
    }
    for tree in trees.values():
        speed_measures.warm(tree)
    return {
        name: timed_ms(grep_command(program.cli, tree), program.environment)[0]
        for name, tree in trees.items()
    }


BENCHES = (
    Bench("grep", 12, {"ms": "lower"}, _grep),
    _system("pread", 6, {"device_gbps": "higher", "ratio": "higher"}),
    _system(
        "throughput",
        6,
        {
            "single_mcalls": "higher",
            "wave_mcalls": "higher",
            "executor_mcalls": "higher",
            "executor_wave_mcalls": "higher",
        },
        machine="wave_floor_mcalls",
    ),
    _system(
        "onecore",
        8,
        {"lone_ns": "lower", "wave_ns": "lower", "function_ns": "lower", "read_ns": "lower"},
    ),
    _system("roundtrip", 12, {"p50_us.64": "lower", "p50_us.16384": "lower"}, machine="floor_us"),
    _system(
        "headofline",
        10,
        {"unloaded_p50_us": "lower", "loaded_p50_us": "lower", "loaded_p99_us": "lower"},
    ),
    # From outside: every commit has k2k grep.
    Bench("small_files", 8, {"headers_ms": "lower", "tiny_ms": "lower"}, _small_files),
)
