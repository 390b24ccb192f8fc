"""./dev check --only speed: every figure of bench/budgets.toml, held against its floor.

Each is a ratio of two things that were measured in one run, so that a slow machine slows down both.
A figure whose median is below its floor is measured again, longer; if it is below then, too, the
check fails. A goal that is not reached is told and fails nothing.
"""

import os
import random
import re
import statistics
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from devtool import budgets, build, speed_measures
from devtool.budgets import Budget
from devtool.console import Refused, Status, duration, say
from devtool.environment import need_python_tools
from devtool.process import cores, last_json
from devtool.speed_measures import Program
from devtool.tree import ROOT
from devtool.verdict import MET, Interval, Judgement, judge, trimmed_interval_of

PRESET = "release"
TARGETS = ("k2k_cli", "k2k", "k2k_shim", "k2k_shim_router")
PEER = "openmp_grep"  # Built only if the compiler has OpenMP.
LONGER = 3  # The factor of rounds for figures below their floor.
SEED = 1
RUN_LIMIT_S = 120
CORES_MIN = 2
QUIET = 0.05  # The share of the CPU time that other programs may take.
PATH = re.compile(r"[\w.\-]+")


@dataclass(frozen=True)
class Found:
    budget: Budget
    seen: Interval
    median: float
    again: bool = False  # The figure was below its floor the first time.

    @property
    def holds(self) -> bool:
        """The median counts: no neighbour's burst moves it, and the floor has room for noise."""
        return not self.budget.below(self.median, self.budget.floor)

    @property
    def judgement(self) -> Judgement:
        return judge(self.seen, self.budget.goal, self.budget.better)


@dataclass
class Ended:
    problems: list[str] = field(default_factory=list)
    note: str = ""


# Measures one round of a command and returns its JSON.
Measure = Callable[[str], Any]


def check_speed() -> Ended:
    """Builds the programs, measures, prints the table. Errors: Refused."""
    wanted = budgets.read()
    history = budgets.compared_with_history(wanted)
    if cores() < CORES_MIN:
        return Ended(history, f"not measured: {CORES_MIN} cores are needed, here is {cores()}")
    _build()
    begin = time.monotonic()
    neighbours = Neighbours()
    found, skipped = measure_all(wanted.rows.values(), Machine().run)
    say(table(found))
    for line in skipped:
        say(line)
    problems = [*history, *(failure(one) for one in found if not one.holds)]
    if (share := neighbours.share()) > QUIET:
        loud = f"the machine was not quiet: others took {share * 100:.0f} % of its CPU time"
        say(f"speed: {loud}; end them, and measure again")
        problems = [*problems, loud] if problems else []
    return Ended(problems, note(found, skipped, time.monotonic() - begin))


def _build() -> None:
    with build.only_one(PRESET):
        build.configure(PRESET)
    has_peer = f"{PEER}:" in (build.folder(PRESET) / "build.ninja").read_text()
    build.build(PRESET, [*TARGETS, PEER] if has_peer else TARGETS)


def measure_all(
    rows: Iterable[Budget], measure: Measure, longer: int = LONGER
) -> tuple[list[Found], list[str]]:
    """The rows in order, and a line for each row that cannot be measured here."""
    groups: dict[str, list[Budget]] = {}
    for row in rows:
        groups.setdefault(row.command, []).append(row)
    found: list[Found] = []
    skipped: list[str] = []
    for command, group in groups.items():
        first = _rounds(command, max(row.rounds for row in group), measure)
        for row in group:
            if one := _found(row, first):
                found.append(one)
            else:
                skipped.append(f"speed: {row.name} is not measured: {command} has no {row.ratio}")
    missed = {one.budget.name: one for one in found if not one.holds}
    for command, group in groups.items():
        below = [row for row in group if row.name in missed]
        if not below:
            continue
        seen = ", ".join(f"{row.name} is {missed[row.name].seen}" for row in below)
        say(f"speed: {seen}: below the floor; again, longer")
        again = _rounds(command, longer * max(row.rounds for row in below), measure)
        for row in below:
            if one := _found(row, again, again=True):
                found[found.index(missed[row.name])] = one
    return found, skipped


def _rounds(command: str, rounds: int, measure: Measure) -> list[Any]:
    results: list[Any] = []
    with Status(f"speed: {command}") as status:
        for number in range(rounds):
            status.update(f"round {number + 1} of {rounds}")
            results.append(measure(command))
    return results


def _found(row: Budget, rounds: Sequence[Any], again: bool = False) -> Found | None:
    """None if the command's output lacks the row's value. Errors: Refused."""
    try:
        ratios = [value(row.ratio, numbers) for numbers in rounds]
    except KeyError:
        return None
    except ValueError as error:
        raise Refused(f"bench/budgets.toml: [{row.name}]: ratio: {error}") from error
    return Found(row, trimmed_interval_of(ratios), statistics.median(ratios), again)


def value(expression: str, numbers: Any) -> float:
    """`a.b / c`: paths into what a command printed (list items by number), or numbers.

    Errors: KeyError where there is no such path, ValueError where the expression is none.
    """
    words = expression.split()
    if len(words) % 2 == 0:
        raise ValueError(f"'{expression}' is no ratio; write PATH, PATH / PATH or PATH * PATH")
    result = _operand(words[0], numbers)
    for sign, word in zip(words[1::2], words[2::2], strict=True):
        if sign not in ("/", "*"):
            raise ValueError(f"'{sign}' in '{expression}': write / or *")
        other = _operand(word, numbers)
        result = result / other if sign == "/" else result * other
    return result


def _operand(word: str, numbers: Any) -> float:
    try:
        return float(word)
    except ValueError:
        pass
    if not PATH.fullmatch(word):
        raise ValueError(f"'{word}' is no path")
    for part in word.split("."):
        if isinstance(numbers, list):
            if not part.isdigit() or int(part) >= len(numbers):
                raise KeyError(word)
            numbers = numbers[int(part)]
        elif isinstance(numbers, dict):
            numbers = numbers[part]
        else:
            raise KeyError(word)
    if not isinstance(numbers, int | float):
        raise KeyError(word)
    return float(numbers)


class Neighbours:
    """The share of the machine's CPU time that other programs took since this object was made."""

    def __init__(self) -> None:
        self._begin = self._now()

    def share(self) -> float:
        busy, own, seconds = (
            now - then for now, then in zip(self._now(), self._begin, strict=True)
        )
        return max(0.0, busy - own) / (seconds * (os.cpu_count() or 1)) if seconds > 0 else 0.0

    @staticmethod
    def _now() -> tuple[float, float, float]:
        """Seconds: of all CPUs' work, of ours and of children that have ended, of the clock."""
        with Path("/proc/stat").open() as stat:
            ticks = [int(word) for word in stat.readline().split()[1:9]]
        idle = ticks[3] + ticks[4]
        busy = (sum(ticks) - idle) / os.sysconf("SC_CLK_TCK")
        ours = os.times()
        own = ours.user + ours.system + ours.children_user + ours.children_system
        return busy, own, time.monotonic()


class Machine:
    """Runs the commands of the budgets on the programs built here."""

    def __init__(self) -> None:
        environment = speed_measures.plain_environment()
        self._program = Program(build.folder(PRESET), environment)
        self._random = random.Random(SEED)

    def run(self, command: str) -> Any:
        """Errors: Refused."""
        kind, _, rest = command.partition(" ")
        if kind == "measure":
            return self._measure(rest)
        if kind == "k2k":
            return self._json(command, [self._program.cli, *_words(rest), "--json"])
        if kind == "psylang":
            python = need_python_tools() / "python"
            return self._json(command, [python, "-m", "psylang", *_words(rest), "--json"])
        raise Refused(
            f"bench/budgets.toml: '{command}' is no command; it begins with k2k, psylang or measure"
        )

    def _measure(self, name: str) -> Any:
        measures = speed_measures.MEASURES
        if name not in measures:
            raise Refused(
                f"bench/budgets.toml: no measure {name}; there are: {', '.join(measures)}"
            )
        return measures[name](self._program, self._random)

    def _json(self, title: str, command: Sequence[str | Path]) -> Any:
        try:
            done = subprocess.run(
                [str(word) for word in command],
                cwd=ROOT,
                env=self._program.environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=RUN_LIMIT_S,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise Refused(f"speed: {title} ran longer than {RUN_LIMIT_S} s") from error
        numbers = last_json(done)
        if numbers is None:
            said = done.stderr.strip().splitlines()
            raise Refused(
                f"speed: {title} ended with {done.returncode}: {said[-1] if said else ''}"
            )
        return numbers


def _words(text: str) -> list[str]:
    """Splits words as a shell does: words in apostrophes stay together."""
    return [quoted or word for quoted, word in re.findall(r"'([^']*)'|(\S+)", text)]


def table(found: Sequence[Found]) -> str:
    """One line a figure."""
    lines = [("figure", "ratio", "95 % interval", "goal", "", "floor", "")]
    for one in found:
        sign = "≥" if one.budget.better == "higher" else "≤"
        holds = ("holds" if one.holds else "FAILS") + (", measured again" if one.again else "")
        lines.append(
            (
                one.budget.name,
                f"{one.seen.mean:.3g}",
                f"{one.seen.low:.3g} to {one.seen.high:.3g}",
                f"{sign} {one.budget.goal:g}",
                str(one.judgement),
                f"{sign} {one.budget.floor:g}",
                holds,
            )
        )
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def failure(one: Found) -> str:
    """The figures that are too slow, their readings, and the remedy."""
    row = one.budget
    beyond = "below" if row.better == "higher" else "above"
    return (
        f"speed: {row.name}: {row.says}: {one.seen} is {beyond} the floor {row.floor:g}, twice "
        f"({row.ratio} of `{row.command}`; the floor was set at {row.set_by.commit} by "
        f"{row.set_by.figure}). `./dev bench --against {row.set_by.commit}` says what became slower"
    )


def note(found: Sequence[Found], skipped: Sequence[str], seconds: float) -> str:
    """For the check's table."""
    met = sum(one.judgement.verdict == MET for one in found)
    text = f"{met} of {len(found)} goals met"
    if open_goals := [one.budget.name for one in found if one.judgement.verdict != MET]:
        text += f"; not, or not for sure: {', '.join(open_goals)}"
    if skipped:
        text += f"; {len(skipped)} not measured"
    return f"{text} ({duration(seconds)})"
