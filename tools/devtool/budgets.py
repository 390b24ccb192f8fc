"""bench/budgets.toml: every figure that K2K promises, with its goal and its floor.

A floor is only ever raised: git knows its earlier values. A commit that lowers a floor adds the
reason to docs/decisions/ and names that record in `lowered`.
"""

import difflib
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from devtool.console import Refused
from devtool.process import run
from devtool.tree import ROOT
from devtool.verdict import Better

BUDGETS = ROOT / "bench/budgets.toml"
DECISIONS = ROOT / "docs/decisions"
SHA_LENGTH = 12
REMOVED = "removed"  # A table: a figure that is no longer measured → the record with the reason.


@dataclass(frozen=True)
class SetBy:
    """The run from which the floor was set."""

    commit: str
    machine: str
    date: str
    figure: str  # With its interval.


@dataclass(frozen=True)
class Budget:
    name: str
    says: str
    command: str  # `k2k …`, `psylang …`, or `measure NAME` of devtool/speed_measures.py.
    ratio: str  # Read from the command's JSON: `a.b / c`.
    better: Better
    goal: float  # The desired value. A missed goal is reported and fails nothing.
    floor: float  # A value beyond the floor fails the check.
    rounds: int  # Runs of the command.
    set_by: SetBy
    lowered: str = ""  # The number of the record with the reason for the lower floor.

    def below(self, floor: float, other: float) -> bool:
        """Is `floor` the weaker promise?"""
        return floor < other if self.better == "higher" else floor > other


@dataclass(frozen=True)
class Budgets:
    rows: dict[str, Budget]
    removed: dict[str, str]


def read(path: Path = BUDGETS) -> Budgets:
    """Errors: Refused, one line with the mistake and its remedy."""
    try:
        text = path.read_text()
    except OSError as error:
        raise Refused(f"{_shown(path)}: {error.strerror}; git restores it") from error
    return parsed(text, _shown(path))


def parsed(text: str, file: str) -> Budgets:
    """Errors: Refused, one line with the mistake in `file` and its remedy."""
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Refused(f"{file}: no TOML: {error}; mend that line") from error
    removed = tables.pop(REMOVED, {})
    if not isinstance(removed, dict) or not all(isinstance(v, str) for v in removed.values()):
        raise Refused(f'{file}: [{REMOVED}]: write `figure = "NNNN"`, the record that says why')
    return Budgets({name: _budget(file, name, table) for name, table in tables.items()}, removed)


def _budget(file: str, name: str, table: Any) -> Budget:
    where = f"{file}: [{name}]"
    if not isinstance(table, dict):
        raise Refused(f"{where}: is no table; every figure is one, with {_listed(Budget)}")
    values = _checked(where, table, Budget, ("name",))
    values["set_by"] = SetBy(**_checked(f"{where}: set_by", values["set_by"], SetBy))
    if values["better"] not in ("higher", "lower"):
        raise Refused(f'{where}: better is "{values["better"]}"; write "higher" or "lower"')
    if values["rounds"] < 2:
        raise Refused(f"{where}: rounds is {values['rounds']}; an interval needs 2 or more")
    for key in ("goal", "floor"):
        if values[key] <= 0:
            raise Refused(f"{where}: {key} is {values[key]}; a ratio is above 0")
    budget = Budget(name=name, **values)
    if budget.below(budget.goal, budget.floor):
        beyond = "above" if budget.better == "higher" else "below"
        raise Refused(
            f"{where}: the floor {budget.floor:g} is {beyond} the goal {budget.goal:g}; "
            "raise the goal with it"
        )
    return budget


def _checked(where: str, table: Any, shape: type[Any], given: Sequence[str] = ()) -> dict[str, Any]:
    """The table's values, each of the type of the field of that name."""
    if not isinstance(table, dict):
        raise Refused(f"{where}: is no table; write {{ {_listed(shape)} }}")
    wanted = {field.name: field for field in fields(shape) if field.name not in given}
    for key in table:
        if key not in wanted:
            near = difflib.get_close_matches(key, wanted, 1)
            hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(wanted)}"
            raise Refused(f"{where}: unknown key {key}; {hint}")
    for key in wanted:
        if key not in table and key != "lowered":
            raise Refused(f"{where}: has no {key}; add it")
    kinds: Mapping[str, tuple[type, ...]] = {
        "goal": (int, float),
        "floor": (int, float),
        "rounds": (int,),
        "set_by": (dict,),
    }
    for key, value in table.items():
        expected = kinds.get(key, (str,))
        if not isinstance(value, expected) or isinstance(value, bool):
            what = "a table" if dict in expected else "a number" if int in expected else "a text"
            raise Refused(f"{where}: {key} is {value!r}; it must be {what}")
    return dict(table)


def _listed(shape: type[Any]) -> str:
    return ", ".join(field.name for field in fields(shape) if field.name not in ("name", "lowered"))


def lowered_floors(
    now: Budgets, before: Budgets, commit: str, is_record: Callable[[str], bool] | None = None
) -> list[str]:
    """A line for each floor that is lower now than at `commit` without a record of why."""
    is_record = is_record or _is_record
    problems: list[str] = []
    for name, old in before.rows.items():
        new = now.rows.get(name)
        if new is None:
            if not is_record(now.removed.get(name, "")):
                problems.append(
                    f"bench/budgets.toml: [{name}] was there at {commit}; put it back, or say why "
                    f'it goes in docs/decisions/ and write `{name} = "NNNN"` into [{REMOVED}]'
                )
            continue
        turned = new.better != old.better
        if not turned and not new.below(new.floor, old.floor):
            continue
        if is_record(new.lowered) and new.lowered != old.lowered:
            continue
        what = "other way round than" if turned else "below"
        problems.append(
            f"bench/budgets.toml: [{name}]: the floor {new.floor:g} is {what} the {old.floor:g} of "
            f"{commit}; put that back, or say why in docs/decisions/ and name the record: "
            f'lowered = "NNNN"'
        )
    return problems


def compared_with_history(now: Budgets) -> list[str]:
    """The commits to compare with: HEAD, its parent, the branch point from main; with the file."""
    problems: dict[str, None] = {}
    for revision in _revisions():
        shown = run(["git", "show", f"{revision}:bench/budgets.toml"])
        if shown.returncode != 0:
            continue
        try:
            before = parsed(shown.stdout, revision)
        except Refused:
            continue  # The old file was malformed, or had other keys.
        problems |= dict.fromkeys(lowered_floors(now, before, revision))
    return list(problems)


def _revisions() -> list[str]:
    asked = [
        ["git", "rev-parse", "--verify", "--quiet", "HEAD^{commit}"],
        ["git", "rev-parse", "--verify", "--quiet", "HEAD~1^{commit}"],
        *(["git", "merge-base", "HEAD", main] for main in ("origin/main", "main")),
    ]
    found = [run(command) for command in asked]
    shas = [one.stdout.strip()[:SHA_LENGTH] for one in found if one.returncode == 0]
    return list(dict.fromkeys(shas))


def _is_record(number: str) -> bool:
    return number.isdigit() and any(DECISIONS.glob(f"{number}-*.md"))


def _shown(path: Path) -> str:
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else path.name
