"""Instructions of ordinary programs with and without libk2k_io.so, counted by callgrind.

Each program is run without a library, with an empty library, and with ours; instructions are exact,
so one run is enough. The library adds its loading, once a process, and a few instructions per call;
callgrind does not see the kernel's work. Not part of any check: valgrind is needed, and a minute.
The last line is JSON.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIBRARY = ROOT / "build/release/shim/libk2k_io.so"
PERCENT_MAX = 1.0
COLLECTED = re.compile(r"Collected : (\d+)")
NEEDED = ("valgrind", "dd", "git", "sqlite3")

DD = ("if=/dev/zero", "of=/dev/null")
SQL = """create table t(a integer primary key, b text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000)
insert into t select i, hex(i * i) from n;
create index x on t(b);
select count(*), sum(length(b)) from t;"""


@dataclass(frozen=True)
class Case:
    name: str
    command: tuple[str, ...]


CASES = (
    Case("dd, one block", ("dd", *DD, "count=1")),
    Case("dd, 64 MiB by 4 KiB", ("dd", *DD, "bs=4k", "count=16384")),
    Case("dd conv=ucase, the same", ("dd", *DD, "bs=4k", "count=16384", "conv=ucase")),
    Case("sqlite3, 20,000 rows", ("sqlite3", "data.db", SQL)),
    Case("git status, 2,000 files", ("git", "-C", "tree", "status", "--short")),
)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--library", type=Path, default=LIBRARY)
    library: Path = parser.parse_args().library
    missing = [name for name in NEEDED if shutil.which(name) is None]
    if missing:
        print(f"not here: apt install {' '.join(missing)}", file=sys.stderr)
        return 77
    if not library.exists():
        print(f"{library} is not built; ./dev build k2k_shim", file=sys.stderr)
        return 2
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_tree(folder / "tree")
        empty = make_empty_library(folder)
        print(f"{'':<26}{'without':>14}{'empty library':>15}{'libk2k_io.so':>14}")
        for case in CASES:
            without, loaded, ours = (count(case, folder, lib) for lib in ("", empty, str(library)))
            percent = 100 * (ours - without) / without
            rows.append(
                {
                    "case": case.name,
                    "instructions": without,
                    "empty_library": loaded - without,
                    "added": ours - without,
                    "added_percent": round(percent, 3),
                }
            )
            print(
                f"{case.name:<26}{without:>14,}{loaded - without:>+15,}{ours - without:>+14,}"
                f"{percent:>+8.2f} %",
                flush=True,
            )
    print(json.dumps({"percent_max": PERCENT_MAX, "cases": rows}))
    return 0


def make_empty_library(folder: Path) -> str:
    """The cost of loading any library."""
    source = folder / "empty.c"
    source.write_text("int k2k_nothing;\n")
    library = folder / "empty.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    return str(library)


def make_tree(tree: Path) -> None:
    """A repository of 2,000 files in 20 folders, two of them changed."""
    for number in range(2000):
        path = tree / f"folder{number % 20}" / f"file{number}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{number}\n" * 50)
    git = ["git", "-C", str(tree), "-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "all"], ["status"]):
        subprocess.run([*git, *words], check=True, stdout=subprocess.DEVNULL)
    for number in (5, 7):
        (tree / f"folder{number}/file{number}.txt").write_text("changed\n")


def count(case: Case, folder: Path, preload: str) -> int:
    """The instructions of one run. The program's own output is dropped."""
    (folder / "data.db").unlink(missing_ok=True)
    log = folder / "log"
    words = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", f"--log-file={log}"]
    done = subprocess.run(
        [*words, *case.command],
        cwd=folder,
        env=os.environ | {"GIT_OPTIONAL_LOCKS": "0"} | ({"LD_PRELOAD": preload} if preload else {}),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    found = COLLECTED.search(log.read_text())
    if done.returncode != 0 or found is None:
        raise SystemExit(f"{case.name} under callgrind ended with {done.returncode}: {done.stderr}")
    return int(found[1])


if __name__ == "__main__":
    sys.exit(main())
