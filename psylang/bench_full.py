"""The table of speeds: Psylang beside its peers, in turns in one run.

    ./dev psylang bench --full             the table, and build/bench-results/psylang_full.jsonl
    ./dev psylang bench --full --record    the same into bench/results/psylang_full.jsonl

Each row compares two programs, which take turns in each round, and has the 95 % interval of their
ratio (tools/devtool/verdict.py). PsyNeuLink runs in processes of its own, a case each
(references/timed.py), in the environment that ./dev makes for them; ssm-simulators in that of
--ssms. Where a peer is missing or refuses a model, its row says so.

A row is written as soon as it ends; Ctrl-C ends the run, and the row under way keeps the rounds
that it has. --resume leaves out rows that this commit has already on this machine.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import select
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path += [str(ROOT / "tools"), str(ROOT / "psylang")]

import bench_models  # noqa: E402
import psylang  # noqa: E402
from devtool.bench import about  # noqa: E402
from devtool.verdict import MISSED, Better, Interval, judge, trimmed_interval_of  # noqa: E402
from psylang import models  # noqa: E402
from psylang.models.references_fixture import (  # noqa: E402
    columns,
    lca_of,
    multitasking_of,
    stored,
)
from psylang.runtime.schedule import cores  # noqa: E402

NAME = "psylang_full"
RECORDED, KEPT = ROOT / "bench/results", ROOT / "build/bench-results"
PEER = ROOT / "build/psyneulink/bin/python"
ROUNDS, QUICK_ROUNDS, ROUNDS_LEAST = 9, 3, 2
SEQUENCES = 64
SECONDS_LEAST = 0.02  # Of a timing: shorter ones are repeated.
HALF_TRIALS = 20
WARM_UP = "ddm"  # The smallest reference.
NO_VERDICT = "no target"
INTERRUPTED = 130
ANSWER_LIMIT_S = 600.0  # Of a peer, whose answers take seconds.
Line = dict[str, Any]
# Seconds by trial, of one round.
Timing = Callable[[int], float]
Make = Callable[[], Any]


class MissingError(Exception):
    """A peer is not there, or refuses a model: the row has no numbers, and says why."""


@dataclass(frozen=True)
class Row:
    """ours, peer: make the timings, after what both need once. The ratio is peer / ours, or for
    `better` lower ours / peer. checks: raises MissingError if the row cannot hold."""

    name: str
    says: str
    ours: Callable[[], Timing]
    peer: Callable[[], Timing]
    target: float | None = None
    better: Better = "higher"
    rounds: int = ROUNDS


# Peers in processes of their own.


class Peer:
    """A process that answers a request a line; one that ends, refuses or gives no answer within
    limit_s raises MissingError."""

    def __init__(self, command: Sequence[str | Path], limit_s: float = ANSWER_LIMIT_S) -> None:
        self._limit_s = limit_s
        try:
            # A session of its own: Ctrl-C is for the measuring process, which ends this one.
            self._process = subprocess.Popen(
                [str(one) for one in command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                start_new_session=True,
            )
        except OSError as error:
            raise MissingError(f"{command[0]} does not start: {error.strerror}") from None

    def ask(self, **request: Any) -> float:
        """The seconds of its answer."""
        self.send(**request)
        return self.receive()

    def send(self, **request: Any) -> None:
        """Lets it begin."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()

    def receive(self) -> float:
        """The seconds of its answer to what was sent."""
        answers = self._process.stdout
        assert answers is not None
        if not select.select([answers], [], [], self._limit_s)[0]:
            raise MissingError(f"the peer gave no answer within {self._limit_s:g} s")
        line = answers.readline()
        if not line:
            raise MissingError(f"the peer's process ended with {self._process.wait()}")
        answer = json.loads(line)
        if "refused" in answer:
            raise MissingError(f"the peer refuses: {answer['refused']}")
        return float(answer["seconds"])

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()


@dataclass
class Peers:
    """The programs of the peers, and the processes of the row under way."""

    psyneulink: Path = PEER
    ssms: Path | None = None
    open: list[Peer] = field(default_factory=list)

    def close(self) -> None:
        while self.open:
            self.open.pop().close()

    def started(self, python: Path | None, script: str, missing: str) -> Peer:
        if python is None or not python.exists():
            raise MissingError(missing)
        self.open.append(Peer([python, ROOT / "psylang/references" / script]))
        return self.open[-1]

    def pnl(self, case: str, mode: str, trials: int, fresh: bool = False) -> Timing:
        """PsyNeuLink's run() of a reference. fresh: the first one of its composition."""
        missing = "PsyNeuLink is not installed; `./dev psylang bench --full` installs it"
        peer = self.started(self.psyneulink, "timed.py", missing)
        if fresh:
            peer.close()
            return partial(self._fresh, case, mode, trials, missing)
        peer.ask(case=case, mode=mode, trials=1)
        return lambda _: peer.ask(case=case, mode=mode, trials=trials) / trials

    def _fresh(self, case: str, mode: str, trials: int, missing: str, _: int) -> float:
        """In a process of its own: PsyNeuLink keeps what it compiled, and 40 compilations in one
        process became four times as slow. What every process compiles once is not timed."""
        peer = self.started(self.psyneulink, "timed.py", missing)
        try:
            peer.ask(case=WARM_UP, mode=mode, trials=1)
            return peer.ask(case=case, mode=mode, trials=trials, fresh=True) / trials
        finally:
            peer.close()
            self.open.remove(peer)

    def halves(self) -> Timing:
        """Two processes, each with a half of the grid of search_once(); until both have ended."""
        if cores() < 2:
            raise MissingError("this machine has one processor")
        for _ in range(2):
            self.open.append(Peer([sys.executable, ROOT / "psylang/bench_half.py"]))
        pair = self.open[-2:]
        for half, one in enumerate(pair):
            one.ask(half=half, trials=1)

        def once(_: int) -> float:
            begin = time.perf_counter()
            for half, one in enumerate(pair):
                one.send(half=half, trials=HALF_TRIALS)
            for one in pair:
                one.receive()
            return (time.perf_counter() - begin) / HALF_TRIALS

        return once

    def ssm(self, trials: int) -> Timing:
        missing = "ssm-simulators is not there; give its Python by --ssms"
        peer = self.started(self.ssms, "timed_ssms.py", missing)
        peer.ask(trials=trials, threads=1)
        return lambda _: peer.ask(trials=trials, threads=1) / trials


# Ours.


def timed(run: Callable[[], object]) -> float:
    """Seconds, the mean of enough repetitions."""
    count, begin = 0, time.perf_counter()
    while True:
        run()
        count += 1
        if (taken := time.perf_counter() - begin) >= SECONDS_LEAST:
            return taken / count


def ours(
    make: Make, inputs: Mapping[str, Any], trials: int, sequences: int = 1, threads: int = 1
) -> Timing:
    """A plan's run() in `fast`, by trial."""
    rows = bench_models.rows_of(inputs, trials)
    plan = psylang.compile(make())

    def run(seed: int) -> object:
        return plan.run(rows, trials=trials, sequences=sequences, seed=seed, threads=threads)

    run(0)
    return lambda turn: timed(partial(run, turn)) / trials / sequences


def compiled(make: Make, inputs: Mapping[str, Any]) -> Timing:
    """A model's first run, without a cache; the model is made before."""
    row = {name: np.asarray(values, float)[0] for name, values in inputs.items()}

    def once(_: int) -> float:
        model, kept = make(), os.environ.get("PSYLANG_CACHE_DIR")
        with tempfile.TemporaryDirectory() as folder:
            os.environ["PSYLANG_CACHE_DIR"] = folder
            try:
                begin = time.perf_counter()
                psylang.compile(model).run(row, trials=1)
                return time.perf_counter() - begin
            finally:
                del os.environ["PSYLANG_CACHE_DIR"]
                if kept is not None:
                    os.environ["PSYLANG_CACHE_DIR"] = kept

    once(0)
    return once


def search_once(threads: int) -> Timing:
    """One trial of predator-prey, 100 levels: its grid is shared by the threads."""
    if cores() < threads:
        raise MissingError(f"this machine has {cores()} processors")
    plan, inputs = psylang.compile(models.predator_prey(100)), GAME
    alone, shared = (plan.run(inputs, trials=1, seed=7, threads=one) for one in (1, threads))
    for name in alone:
        if np.asarray(alone[name]).tobytes() != np.asarray(shared[name]).tobytes():
            raise MissingError(f"{name} has other bits with {threads} threads")
    return lambda seed: timed(partial(plan.run, inputs, trials=1, seed=seed, threads=threads))


GAME = {"player": [0.0, 0.0], "predator": [1.5, -1.0], "prey": [-1.0, 2.0]}


def reference_ddm() -> Any:
    p, _ = stored("ddm")
    return models.ddm(
        p["rate"],
        p["threshold"],
        p["noise"],
        p["time_step_size"],
        p["starting_value"],
        p["non_decision_time"],
        stimulus=True,
    )


@dataclass(frozen=True)
class Case:
    """A reference, our model of it, its inputs, and trials of a timing of ours and of the peer."""

    name: str
    make: Make
    inputs: Mapping[str, Any]
    trials: int
    peer_trials: int
    sequences: int = 1


def cases() -> dict[str, Case]:
    made = [Case("ddm", reference_ddm, {"stimulus": stored("ddm")[1]["input"]}, 20_000, 1000)]
    stroop = bench_models.stroop_inputs(600)
    made.append(Case("stroop", models.botvinick_stroop, stroop, 600, 2000, SEQUENCES))
    for name in ("necker_3", "necker_8"):
        evidence = {"stimulus": stored(name)[1]["input"]}
        made.append(Case(name, getattr(models, name), evidence, 100, 1000, SEQUENCES))
    p, trials = stored("lca")
    made.append(Case("lca", partial(lca_of, p), {"stimulus": trials["input"]}, 5000, 1000))
    p, trials = stored("multitasking")
    inputs = columns(trials, "stimulus", "task")
    made.append(Case("multitasking", partial(multitasking_of, p), inputs, 1000, 500))
    for levels in (2, 4, 6):
        name = f"predator_prey_{levels}"
        inputs = columns(stored(name)[1], "player", "predator", "prey")
        made.append(Case(name, partial(models.predator_prey, levels), inputs, 500, 100))
    game = {name: [value] for name, value in GAME.items()}
    made.append(Case("predator_prey_100", partial(models.predator_prey, 100), game, 1, 1))
    return {case.name: case for case in made}


# Times as fast as PsyNeuLink's LLVMRun, by trial.
TARGETS = {
    "ddm": 10.0,
    "predator_prey_100": 8.0,
    "stroop": 20.0,
    "necker_3": 20.0,
    "necker_8": 20.0,
    "lca": 20.0,
    "multitasking": 3.0,
}
COMPILED = ("ddm", "stroop", "necker_8", "multitasking")
# Trials of a timing in PsyNeuLink's Python, where a trial takes 0.04 to 7 s.
PYTHON = {
    "ddm": 2,
    "stroop": 20,
    "necker_3": 20,
    "necker_8": 5,
    "lca": 5,
    "multitasking": 5,
    "predator_prey_2": 2,
    "predator_prey_4": 1,
}
PYTHON_ROUNDS, COMPILE_ROUNDS = 3, 5
DDM_TRIALS = 20_000  # Of the peers that only have the drift-diffusion model.


def rows(peers: Peers, rounds: int) -> list[Row]:
    every, made = cases(), []

    def run_of(case: Case) -> Callable[[], Timing]:
        return partial(ours, case.make, case.inputs, case.trials, case.sequences)

    for name, target in TARGETS.items():
        case = every[name]
        peer = partial(peers.pnl, name, "LLVMRun", case.peer_trials)
        batches = ", in batches" if case.sequences > 1 else ""
        says = f"{name}{batches}: times as fast as LLVMRun"
        made.append(Row(f"llvm_{name}", says, run_of(case), peer, target, rounds=rounds))
    for name in COMPILED:
        case = every[name]
        peer = partial(peers.pnl, name, "LLVMRun", 1, True)
        first = partial(compiled, case.make, case.inputs)
        says = f"{name}: cold compile, of LLVMRun's"
        few = fewer(rounds, COMPILE_ROUNDS)
        made.append(Row(f"compile_{name}", says, first, peer, 0.5, "lower", few))
    one, two = partial(search_once, 1), partial(search_once, 2)
    says = "a trial's grid: two threads, times as fast as one"
    made.append(Row("threads", says, two, one, 1.8, rounds=rounds))
    # What the hardware gives two threads, and how much of that they reach.
    says = "two processes, a half of the grid each: times as fast as one thread"
    made.append(Row("threads_ceiling", says, peers.halves, one, rounds=rounds))
    says = "a trial's grid: two threads, as fast as two processes with a half each"
    made.append(Row("threads_of_ceiling", says, two, peers.halves, rounds=rounds))
    ddm = partial(ours, partial(models.ddm, drift=0.5), {}, DDM_TRIALS)
    for name, says, beside in (
        ("numba", "ddm: times as fast as Numba, np.random.normal", partial(numba_timing, False)),
        (
            "numba_generator",
            "ddm: times as fast as Numba, NumPy's Generator",
            partial(numba_timing, True),
        ),
        ("ssm_simulators", "ddm: times as fast as ssm-simulators", partial(peers.ssm, DDM_TRIALS)),
    ):
        made.append(Row(name, says, ddm, beside, rounds=rounds))
    for name, trials in PYTHON.items():
        peer = partial(peers.pnl, name, "Python", trials)
        says = f"{name}: times as fast as PsyNeuLink's Python"
        few = fewer(rounds, PYTHON_ROUNDS)
        made.append(Row(f"python_{name}", says, run_of(every[name]), peer, rounds=few))
    return made


def fewer(rounds: int, most: int) -> int:
    """Rounds of a slow row, unless somebody asks for more than the table's."""
    return rounds if rounds > ROUNDS else min(rounds, most)


def numba_timing(generator: bool) -> Timing:
    loop = bench_models.numba_loop(generator)
    if loop is None:
        raise MissingError("Numba is not installed; ./dev brings it into .venv")
    return lambda _: timed(loop) / bench_models.PEER_TRIALS


# A run.


def equality() -> Line:
    """The library in `exact` against PsyNeuLink's stored values: its tests."""
    tests = "psylang/psylang/runtime/references_test.py"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", tests]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    last = (done.stdout.strip().splitlines() or ["it said nothing"])[-1]
    verdict = "met" if done.returncode == 0 else MISSED
    says = "equality with Python PsyNeuLink, `exact`, 1e-12"
    return {"row": "equality", "says": says, "verdict": verdict, "reason": last}


def measured(row: Row, turns: Callable[[int], None] = lambda _: None) -> Line:
    """A row's line. KeyboardInterrupt passes only if there are too few rounds for an interval.

    turns: called after each round with their number.
    """
    line: Line = {"row": row.name, "says": row.says, "target": row.target, "better": row.better}
    taken: list[tuple[float, float]] = []
    try:
        mine, theirs = row.ours(), row.peer()
        while len(taken) < row.rounds:
            turn = len(taken) + 1
            # In turns, so that neither is always the first.
            pair = (mine(turn), theirs(turn)) if turn % 2 else (theirs(turn), mine(turn))[::-1]
            taken.append(pair)
            turns(turn)
    except MissingError as error:
        return line | {"verdict": "not measured", "reason": str(error)}
    except KeyboardInterrupt:
        if len(taken) < ROUNDS_LEAST:
            raise
        line["interrupted"] = True
    ratios = [b / a if row.better == "higher" else a / b for a, b in taken]
    seen = trimmed_interval_of(ratios)
    return line | {
        "ours_us": rounded(statistics.median(a for a, _ in taken) * 1e6),
        "peer_us": rounded(statistics.median(b for _, b in taken) * 1e6),
        "ratio": {"low": seen.low, "mean": seen.mean, "high": seen.high, "rounds": seen.rounds},
        "verdict": NO_VERDICT if row.target is None else str(judge(seen, row.target, row.better)),
    }


def rounded(value: float) -> float:
    return float(f"{value:.4g}")


def shown(line: Line) -> str:
    """A row as text."""
    found = line.get("ratio")
    if found is None:
        return f"{line['says']:<52} {line['verdict']}: {line['reason']}"
    seen = Interval(found["low"], found["mean"], found["high"], found["rounds"])
    sign = "≥" if line["better"] == "higher" else "≤"
    target = "" if line["target"] is None else f" {sign} {line['target']:g}"
    times = f"{line['ours_us']:g} µs, peer {line['peer_us']:g} µs"
    return f"{line['says']:<52} {seen!s:<24}{target:<7} {line['verdict']}; {times}"


def written(path: Path) -> Iterator[Line]:
    """Lines of a record; a line that was cut off is left out."""
    if not path.exists():
        return
    for text in path.read_text(encoding="utf-8").splitlines():
        with contextlib.suppress(json.JSONDecodeError):
            yield json.loads(text)


def append(path: Path, line: Line) -> None:
    """Ends a line that was cut off, so that it takes no other one with it."""
    before = path.read_bytes() if path.exists() else b""
    with path.open("a", encoding="utf-8") as record:
        record.write(
            ("\n" if before and not before.endswith(b"\n") else "") + json.dumps(line) + "\n"
        )


def done_before(path: Path, here: Line) -> set[str]:
    """The rows that this commit has already on this machine, whole."""
    same = ("commit", "machine")
    return {
        line["row"]
        for line in written(path)
        if all(line.get(key) == here[key] for key in same)
        and not line.get("interrupted")
        and line["verdict"] != "not measured"
    }


def run(options: argparse.Namespace, say: Callable[[str], None]) -> tuple[int, list[Line]]:
    """(exit status, lines). Each line is appended to the record when its row ends."""
    peers = Peers(ssms=Path(options.ssms) if options.ssms else None)
    path = (RECORDED if options.record else KEPT) / f"{NAME}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    here = about("psylang bench --full")
    before = done_before(path, here) if options.resume else set()
    work: dict[str, Callable[[], Line]] = {"equality": equality}
    rounds = options.rounds or (QUICK_ROUNDS if options.quick else ROUNDS)
    for row in rows(peers, rounds):
        work[row.name] = partial(measured, row, partial(progress, say, row))
    unknown = [name for name in options.only if name not in work]
    if unknown:
        say(f"psylang: no row {', '.join(unknown)}; there are {', '.join(work)}")
        return 2, []
    lines: list[Line] = []
    for name, make in work.items():
        if name in before or (options.only and name not in options.only):
            continue
        begin = time.monotonic()
        try:
            line = make()
        except KeyboardInterrupt:
            line = {"interrupted": True}
        finally:
            peers.close()
        if "row" in line:
            line["seconds"] = rounded(time.monotonic() - begin)
            lines.append(about("psylang bench --full") | line)
            append(path, lines[-1])
            say(shown(line))
        if line.get("interrupted"):
            say(f"psylang: interrupted; {len(lines)} rows are in {path}. Go on by --resume")
            return INTERRUPTED, lines
    missed = any(line["verdict"] == MISSED for line in lines)
    return (1 if missed else 0), lines


def progress(say: Callable[[str], None], row: Row, turn: int) -> None:
    if sys.stderr.isatty():
        say(f"  {row.name}: round {turn} of {row.rounds}")


def main(options: argparse.Namespace) -> int:
    def say(text: str) -> None:
        print(text, file=sys.stderr if options.json else sys.stdout, flush=True)

    status, lines = run(options, say)
    if options.json and lines:
        print(json.dumps({"rows": lines}))
    return status
