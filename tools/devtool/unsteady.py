"""tests/unsteady.toml: tests that passed only when they were run again, alone.

The first failure is recorded and forgiven. The second one fails, until the test is mended. The
commit that mends it removes the entry and names the cause.
"""

import datetime
import json
import tomllib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from devtool.console import Refused, say
from devtool.revision import commit
from devtool.tree import ROOT

FILE = ROOT / "tests/unsteady.toml"
SHOWN = "tests/unsteady.toml"
HEAD = """\
# Tests that passed only when they were run again, alone. `./dev test` and `./dev check` add tests:
# commit the entries. A test with an entry fails when it happens again. The commit that mends a test
# removes its entry and names the cause (tools/devtool/unsteady.py).
"""


@dataclass(frozen=True)
class Unsteady:
    name: str
    commit: str
    date: str
    preset: str

    def toml(self) -> str:
        values = [f"{key} = {json.dumps(text)}" for key, text in asdict(self).items()]
        return "\n[[test]]\n" + "\n".join(values) + "\n"


def read(path: Path = FILE) -> list[Unsteady]:
    """Errors: Refused, one line with the mistake and its remedy."""
    if not path.exists():
        return []
    try:
        table = tomllib.loads(path.read_text())
    except tomllib.TOMLDecodeError as error:
        raise Refused(f"{SHOWN}: no TOML: {error}; mend that line") from error
    tests = table.pop("test", [])
    if table or not isinstance(tests, list):
        raise Refused(f"{SHOWN}: an entry is written [[test]], not {next(iter(table), 'test')}")
    return [_entry(number, one) for number, one in enumerate(tests, 1)]


def _entry(number: int, one: Any) -> Unsteady:
    keys = {field.name for field in fields(Unsteady)}
    if not isinstance(one, dict) or set(one) != keys or not all(one.values()):
        wanted = ", ".join(sorted(keys))
        raise Refused(f"{SHOWN}: entry {number} needs these keys and no others: {wanted}")
    return Unsteady(**{key: str(value) for key, value in one.items()})


def second_times(names: Sequence[str], preset: str, path: Path = FILE) -> list[str]:
    """A line for each test that passed only alone and did so before. The others are added."""
    known = {one.name: one for one in read(path)}
    problems: list[str] = []
    added: list[Unsteady] = []
    for name in names:
        if before := known.get(name):
            problems.append(
                f"{name} passed only when run again, alone, as it did at {before.commit} "
                f"({before.preset}, {before.date}): mend it, then remove its entry from {SHOWN}"
            )
        else:
            today = datetime.datetime.now(datetime.UTC).date().isoformat()
            added.append(Unsteady(name, commit(), today, preset))
    if added:
        _add(added, path)
    return problems


def _add(entries: Sequence[Unsteady], path: Path) -> None:
    text = path.read_text() if path.exists() else HEAD
    new = "".join(one.toml() for one in entries)
    say(f"{SHOWN}: commit what was added:{new.rstrip()}")
    try:
        path.write_text(text + new)
    except OSError as error:
        say(f"{SHOWN}: could not be written ({error.strerror}): add these lines yourself")
