"""Runs the benchmarks and keeps the numbers as JSON lines: commit, machine, command, result."""

import datetime
import json
import os
import platform
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from devtool import build, peers
from devtool.console import Refused, say
from devtool.environment import VICTIM_PACKAGES, need_packages
from devtool.figures import schema_of
from devtool.process import capture, cores, last_json
from devtool.revision import commit
from devtool.tree import ROOT, shown

PRESET = "release"
RESULTS = ROOT / "bench/results"
# Foreign benchmarks, run only if named: the function that builds the measuring program.
PEERS = {"llvm_rpc": peers.llvm_rpc}
# Laboratories and simulations, run only if named: the arguments of k2k.
AUTO_SETTINGS = [
    word
    for limit in ("", "+cap=1%", "+cap=5%", "+loss=5%", "+loss=25%")
    for word in ("--setting", f"default{limit}")
]
TRACED = ["lab", "governor", "--load", "trace", "--policy"]
LABS = {
    "adaptive_coalescing": ["lab", "coalescing"],
    "escapes": ["lab", "escapes", "--rounds", "6"],
    "generators": ["lab", "generators"],
    "governor": ["lab", "governor"],
    "governor_trace": ["lab", "governor", "--load", "trace"],
    "governor_displaced": [*TRACED, "none,budget,displaced"],
    "governor_busy": [*TRACED, "none,budget,displaced,auto", "--busy", "100%", "--pairs", "16"],
    "governor_simulated": ["lab", "governor", "--simulate", "--all"],
    "apu": ["lab", "apu"],
    # 110 minutes for some 540 comparisons.
    "interference": ["lab", "interference", "--seconds", "6600", "--html", "build/harm.html"],
    # What `auto` does once it has found its cap, beside budgets and no cap: 45 minutes.
    "interference_auto": ["lab", "interference", "--seconds", "2700", *AUTO_SETTINGS],
    "interference_quick": ["lab", "interference", "--quick"],
    "orthogonal": ["lab", "orthogonal"],
    "trace_uniform": ["lab", "trace", "uniform"],
    "trace_uniform_5": ["lab", "trace", "uniform", "--cap", "5%"],
    "trace_uniform_1": ["lab", "trace", "uniform", "--cap", "1%"],
    "trace_lognormal": ["lab", "trace", "lognormal"],
    "trace_poisson": ["lab", "trace", "poisson:20000"],
    "route_simulated": ["route", "simulate"],
    "route_simulated_full": ["route", "simulate", "--full"],
    # Four rounds: programs are recorded and simulated for a minute or two each round.
    "translation": ["lab", "translation", "--rounds", "4", "--html", "build/translation.html"],
    "translation_simulated": ["lab", "translation", "--simulate", "--rounds", "4"],
}
# Names for several benchmarks, so that one command records them on one machine: those of a part of
# docs/results and of tables that stand side by side.
GROUPS = {
    "governor_labs": [
        "governor",
        "governor_trace",
        "governor_displaced",
        "governor_busy",
        "governor_simulated",
        "orthogonal",
        "adaptive_coalescing",
        "escapes",
        "generators",
    ],
    "apps": ["wordcount", "signal_search", "memcached", "applications", "demand"],
    "traces": [name for name in LABS if name.startswith("trace_")],
}
# The conformance suite under this many seeds of the random schedule; run only if named.
SEEDS = "conformance_seeds"
SEED_COUNT = 100
# Numbers that describe the run rather than the result.
OMITTED = {
    "family_index",
    "per_family_instance_index",
    "repetitions",
    "run_name",
    "run_type",
    "threads",
}


def programs() -> dict[str, Path]:
    """The benchmark programs by name. Expects them to be built."""
    found = (path for path in build.folder(PRESET).rglob("*_bench") if os.access(path, os.X_OK))
    return {path.name: path for path in sorted(found) if path.is_file()}


def system_benchmarks(kind: str = "benchmarks") -> list[str]:
    """The names of `k2k bench`; "long_runs" take minutes. Expects the program to be built."""
    listed = json.loads(capture([build.folder(PRESET) / "cli/k2k", "bench", "--json"]))
    return [str(name) for name in listed[kind]]


def bench(names: list[str], record: bool) -> None:
    """Runs the benchmarks named, or all, and appends their results."""
    build.build(PRESET)
    small = programs()
    own = [*small, *system_benchmarks()]
    names = [one for name in names for one in GROUPS.get(name, [name])]
    known = [*own, *system_benchmarks("long_runs"), SEEDS, *LABS, *PEERS]
    unknown = [name for name in names if name not in known]
    if unknown:
        raise Refused(
            f"no benchmark {', '.join(unknown)}; there are: {', '.join([*known, *GROUPS])}", 2
        )
    if {"interference", "interference_auto"} & set(names):
        need_packages(VICTIM_PACKAGES)
    folder = RESULTS if record else build.folder(PRESET) / "bench-results"
    folder.mkdir(parents=True, exist_ok=True)
    for name in names or own:
        lines = list(_lines_of(name, small))
        with (folder / f"{name}.jsonl").open("a") as results:
            results.writelines(json.dumps(line) + "\n" for line in lines)
        say(f"{len(lines)} results added to {shown(folder / f'{name}.jsonl')}")


def _lines_of(name: str, small: dict[str, Path]) -> Iterator[dict[str, object]]:
    if name in small:
        return _run_small(small[name])
    return _run_seeds() if name == SEEDS else _run_system(name)


def _run_seeds() -> Iterator[dict[str, object]]:
    """The random schedules of the conformance suite, and the adversarial one: one line."""
    program = build.folder(PRESET) / "tests/conformance/conformance_test"
    title = f"conformance_test, {SEED_COUNT} seeds"
    say(f"--- {title}: minutes")
    with tempfile.NamedTemporaryFile(suffix=".json") as output:
        options = ["--gtest_brief=1", "--gtest_filter=*_random_*:*_adversarial*"]
        done = subprocess.run(
            [program, *options, f"--gtest_output=json:{output.name}"],
            cwd=ROOT,
            env=os.environ | {"K2K_CONFORMANCE_SEEDS": str(SEED_COUNT)},
            stdout=subprocess.DEVNULL,
            check=False,
        )
        text = Path(output.name).read_text()
    if not text:
        raise Refused(f"{title} ended with {done.returncode} before its report")
    report = json.loads(text)
    counts = {key: report[key] for key in ("tests", "failures", "errors", "disabled")}
    line = {"seeds": SEED_COUNT, **counts, "seconds": float(report["time"].rstrip("s"))}
    say(json.dumps(line))
    yield about(title) | line


def _run_small(program: Path) -> Iterator[dict[str, object]]:
    """A Google Benchmark program: one line a case."""
    with tempfile.NamedTemporaryFile(suffix=".json") as output:
        out = [f"--benchmark_out={output.name}", "--benchmark_out_format=json"]
        say(f"--- {shown(program)}")
        if (code := subprocess.run([program, *out], cwd=ROOT, check=False).returncode) != 0:
            raise Refused(f"{shown(program)} ended with {code}")
        measured = json.loads(Path(output.name).read_text() or '{"benchmarks": []}')
    run_about = about(shown(program))
    for result in measured["benchmarks"]:
        yield run_about | {key: value for key, value in result.items() if key not in OMITTED}


def _run_system(name: str) -> Iterator[dict[str, object]]:
    """`k2k bench NAME`, or a peer's program: the last line is one object."""
    if name in PEERS:
        command, title = [str(PEERS[name]())], f"bench/peers/{name}"
    else:
        words = [*LABS.get(name, ["bench", name]), "--json"]
        command = [str(build.folder(PRESET) / "cli/k2k"), *words]
        title = " ".join(["k2k", *words])
    say(f"--- {title}")
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    numbers = last_json(done)
    if numbers is None:
        raise Refused(f"{title} ended with {done.returncode}")
    say(done.stdout.splitlines()[-1])
    yield record_of(name, title, numbers)


def record_of(name: str, title: str, numbers: dict[str, object]) -> dict[str, object]:
    """Errors: Refused, for a number with the name of a fact about the run."""
    facts = about(title)
    if both := sorted(facts.keys() & numbers.keys()):
        raise Refused(f"{title}: its {', '.join(both)} would hide the run's own; rename it")
    return facts | {"schema": schema_of(name)} | numbers


def about(command: str) -> dict[str, object]:
    return {
        "time": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "commit": commit(),
        "machine": machine(),
        "command": command,
    }


def machine() -> str:
    cpu = next(
        (
            line.partition(":")[2].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        platform.machine(),
    )
    return f"{cpu}, {cores()} cores, Linux {platform.release()}"
