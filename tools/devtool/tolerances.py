"""bench/tolerances.toml: how far two builds of one commit differ, figure by figure.

`./dev bench --against HEAD --record` measures it. Two commits whose ratio is within are the same.
"""

import datetime
import json
import math
import tomllib
from pathlib import Path

from devtool.console import Refused, say
from devtool.tree import ROOT
from devtool.verdict import Interval

FILE = ROOT / "bench/tolerances.toml"
SHOWN = "bench/tolerances.toml"
DEFAULT = 0.05  # Of a figure that nobody has measured yet.
LEAST = 0.02  # Where code lies moves most figures by so much.
HEAD = """\
# How far two builds of one commit differ: the far end of the 95 % interval of their ratio, and at
# least 2 %. `./dev bench --against HEAD --record` measures it again.
"""


def read(path: Path = FILE) -> dict[str, float]:
    """By figure. Errors: Refused, one line that says what to mend."""
    if not path.exists():
        return {}
    try:
        tables = tomllib.loads(path.read_text())
    except tomllib.TOMLDecodeError as error:
        raise Refused(f"{SHOWN}: no TOML: {error}; mend that line") from error
    known: dict[str, float] = {}
    for name, table in tables.items():
        value = table.get("tolerance") if isinstance(table, dict) else None
        if not isinstance(value, float) or not 0 < value < 1:
            raise Refused(
                f"{SHOWN}: [{name}]: write `tolerance = 0.05`, a part above 0 and below 1"
            )
        known[name] = value
    return known


def of(figure: str, known: dict[str, float]) -> float:
    return known.get(figure, DEFAULT)


def record(seen: dict[str, Interval], commit: str, path: Path = FILE) -> None:
    """Replaces what is known of these figures."""
    old = tomllib.loads(path.read_text()) if path.exists() else {}
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    for name, interval in seen.items():
        reach = max(abs(math.log(interval.low)), abs(math.log(interval.high)))
        tolerance = max(LEAST, math.ceil(math.expm1(reach) * 1000) / 1000)
        old[name] = {"tolerance": tolerance, "commit": commit, "date": today, "seen": str(interval)}
    lines = [HEAD]
    for name in sorted(old):
        values = "".join(f"{key} = {json.dumps(value)}\n" for key, value in old[name].items())
        lines.append(f"[{json.dumps(name)}]\n{values}")
    path.write_text("\n".join(lines))
    say(f"{len(seen)} tolerances are in {SHOWN}")
