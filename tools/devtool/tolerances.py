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
DEFAULT = 0.05  # For a figure without a tolerance.
LEAST = 0.02  # The placement of code moves most figures by so much.
MOST = 0.1  # A pair of equal builds that differs by more shows the machine, not the builds.
HEAD = """\
# How far two builds of one commit differ: the far end of the 95 % interval of their ratio, and at
# least 2 %. `./dev bench --against HEAD --record` measures it again.
#
# A figure without a tolerance has 5 %: on that machine chance moved the ratio of two equal builds
# by more than 10 %. Each comparison has its own interval for chance, so a tolerance contains only
# the difference of builds.
"""


def read(path: Path = FILE) -> dict[str, float]:
    """The tolerances by figure. Errors: Refused, one line with the remedy."""
    if not path.exists():
        return {}
    try:
        tables = tomllib.loads(path.read_text())
    except tomllib.TOMLDecodeError as error:
        raise Refused(f"{SHOWN}: no TOML: {error}; mend that line") from error
    known: dict[str, float] = {}
    for name, table in tables.items():
        if isinstance(table, dict) and "seen" in table and "tolerance" not in table:
            continue
        value = table.get("tolerance") if isinstance(table, dict) else None
        if not isinstance(value, float) or not 0 < value < 1:
            raise Refused(
                f"{SHOWN}: [{name}]: write `tolerance = 0.05`, a part above 0 and below 1"
            )
        known[name] = value
    return known


def of(figure: str, known: dict[str, float]) -> float:
    return known.get(figure, DEFAULT)


def record(seen: dict[str, Interval], commit: str, machine: str, path: Path = FILE) -> None:
    """Replaces the tolerances of these figures. A known tolerance stays if chance was larger."""
    old = tomllib.loads(path.read_text()) if path.exists() else {}
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    unsteady: list[str] = []
    for name, interval in seen.items():
        reach = max(abs(math.log(interval.low)), abs(math.log(interval.high)))
        tolerance = max(LEAST, math.ceil(math.expm1(reach) * 1000) / 1000)
        about = {"commit": commit, "machine": machine, "date": today, "seen": str(interval)}
        if tolerance <= MOST:
            old[name] = {"tolerance": tolerance, **about}
            continue
        unsteady.append(name)
        if "tolerance" not in old.get(name, {}):
            old[name] = about
    lines = [HEAD]
    for name in sorted(old):
        values = "".join(f"{key} = {json.dumps(value)}\n" for key, value in old[name].items())
        lines.append(f"[{json.dumps(name)}]\n{values}")
    path.write_text("\n".join(lines))
    say(f"{len(seen) - len(unsteady)} tolerances are in {SHOWN}")
    if unsteady:
        say(
            f"no tolerance of {', '.join(unsteady)}: two equal builds differed by more than "
            f"{MOST * 100:.0f} %; make the machine quiet, or measure longer with --rounds"
        )
