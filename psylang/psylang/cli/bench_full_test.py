"""The table of speeds: verdicts, peers that are missing, and rows that Ctrl-C must not lose."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from psylang.cli.bench import FULL
from psylang.cli.main import main
from psylang.runtime.schedule import cores

sys.path.insert(0, str(FULL.parent))

import bench_full
from bench_full import Line, MissingError, Peer, Peers, Row, measured, run, shown

ANSWERS = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if asked["trials"] == 13:
        sys.exit(3)
    answer = {"refused": "no such thing"} if asked["trials"] == 2 else {"seconds": 0.5}
    print(json.dumps(answer), flush=True)
"""


def steady(seconds: float) -> Callable[[], Callable[[int], float]]:
    """Timings within 1 % of it."""
    return lambda: lambda turn: seconds * (1 + 0.01 * (turn % 3 - 1))


def row(name: str = "r", **given: Any) -> Row:
    every: dict[str, Any] = {"ours": steady(1.0), "peer": steady(12.0), "target": 10.0, **given}
    return Row(name, f"says {name}", **every)


@pytest.mark.parametrize(
    ("given", "verdict"),
    [
        ({}, "met"),
        ({"target": 14.0}, "missed"),
        ({"target": None}, "no target"),
        ({"ours": steady(24.0), "target": 0.5, "better": "lower"}, "missed"),
        ({"ours": steady(4.0), "target": 0.5, "better": "lower"}, "met"),
    ],
)
def test_a_row_has_an_interval_and_a_verdict(given: dict[str, Any], verdict: str) -> None:
    line = measured(row(**given))
    assert line["verdict"] == verdict
    assert line["ratio"]["low"] <= line["ratio"]["mean"] <= line["ratio"]["high"]
    assert line["ratio"]["rounds"] == bench_full.ROUNDS
    assert verdict in shown(line)


def test_a_row_that_is_near_its_target_cannot_tell() -> None:
    noisy: Any = lambda: lambda turn: 10.0 * (1.5 if turn % 2 else 0.7)  # noqa: E731
    line = measured(row(peer=noisy))
    assert line["verdict"].startswith("cannot tell (")


def test_a_row_without_its_peer_says_why() -> None:
    peers = Peers(psyneulink=Path("/nowhere/python"))
    line = measured(row(peer=lambda: peers.pnl("ddm", "LLVMRun", 1)))
    assert line["verdict"] == "not measured"
    assert line["reason"] == (
        "PsyNeuLink is not installed; `./dev psylang bench --full` installs it"
    )
    line = measured(row(peer=lambda: peers.ssm(10)))
    assert line["reason"] == "ssm-simulators is not there; give its Python by --ssms"
    assert "not measured: ssm-simulators" in shown(line)


@pytest.fixture
def peer(tmp_path: Path) -> Iterator[Peer]:
    script = tmp_path / "peer.py"
    script.write_text(ANSWERS)
    made = Peer([sys.executable, script])
    yield made
    made.close()


def test_a_peer_answers_refuses_or_ends(peer: Peer) -> None:
    assert peer.ask(trials=1) == 0.5
    with pytest.raises(MissingError, match="the peer refuses: no such thing"):
        peer.ask(trials=2)
    with pytest.raises(MissingError, match="process ended with 3"):
        peer.ask(trials=13)
    with pytest.raises(MissingError, match="process ended with 3"):
        peer.ask(trials=1)


def test_a_peer_that_hangs_is_given_up(tmp_path: Path) -> None:
    script = tmp_path / "hangs.py"
    script.write_text("import time; time.sleep(60)")
    peer = Peer([sys.executable, script], limit_s=0.3)
    with pytest.raises(MissingError, match=r"no answer within 0\.3 s"):
        peer.ask(trials=1)
    peer.close()


def test_a_peer_that_does_not_start_is_named(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match="does not start: Permission denied"):
        Peer([tmp_path])


def options(**given: Any) -> argparse.Namespace:
    made = {"record": False, "resume": False, "only": [], "rounds": None, "quick": True}
    return argparse.Namespace(**made, ssms=None, json=False, **given)


@pytest.fixture
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two rows; the second is interrupted in its third round."""
    monkeypatch.setattr(bench_full, "KEPT", tmp_path)
    monkeypatch.setattr(bench_full, "about", lambda command: {"commit": "c", "machine": "m"})
    equal: Line = {"row": "equality", "says": "equality", "verdict": "met", "reason": "1 passed"}
    monkeypatch.setattr(bench_full, "equality", lambda: equal)

    def third(turn: int) -> float:
        if turn == 3:
            raise KeyboardInterrupt
        return 1.0

    stopped = row("b", ours=lambda: third)
    monkeypatch.setattr(bench_full, "rows", lambda peers, rounds: [row("a"), stopped, row("z")])
    return tmp_path / "psylang_full.jsonl"


def recorded(path: Path) -> list[str]:
    return [json.loads(text)["row"] for text in path.read_text().splitlines()]


@pytest.mark.parametrize(("asked", "taken"), [(2, 2), (9, 5), (15, 15)])
def test_slow_rows_have_few_rounds_unless_more_are_asked_for(asked: int, taken: int) -> None:
    assert bench_full.ROUNDS == 9
    assert bench_full.fewer(asked, 5) == taken


def test_ctrl_c_keeps_rows_and_rounds_and_resume_goes_on(
    record: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    status, lines = run(options(), said.append)
    assert status == 130
    assert recorded(record) == ["equality", "a", "b"]
    assert lines[-1]["interrupted"]
    assert lines[-1]["ratio"]["rounds"] == 2
    assert said[-1].endswith("Go on by --resume")
    monkeypatch.setattr(bench_full, "rows", lambda peers, rounds: [row("a"), row("b"), row("z")])
    with record.open("a") as file:
        file.write('{"row": "cut of')
    again = options()
    again.resume = True
    assert run(again, said.append)[0] == 0
    assert [json.loads(text)["row"] for text in record.read_text().splitlines()[-2:]] == ["b", "z"]


def test_ctrl_c_before_two_rounds_loses_only_that_row(
    record: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def at_once() -> Callable[[int], float]:
        raise KeyboardInterrupt

    monkeypatch.setattr(
        bench_full, "rows", lambda peers, rounds: [row("a"), row("b", ours=at_once)]
    )
    assert run(options(), lambda _: None)[0] == 130
    assert recorded(record) == ["equality", "a"]


def test_a_missed_row_is_a_failure_and_an_unknown_one_a_mistake(
    record: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench_full, "rows", lambda peers, rounds: [row("a", target=14.0)])
    assert run(options(), lambda _: None)[0] == 1
    said: list[str] = []
    some = options()
    some.only = ["q"]
    assert run(some, said.append)[0] == 2
    assert said == ["psylang: no row q; there are equality, a"]


def test_the_rows_of_the_table_are_there() -> None:
    made = {one.name: one for one in bench_full.rows(Peers(), 9)}
    targets = {name: one.target for name, one in made.items() if one.target is not None}
    assert targets["llvm_ddm"] == 10.0
    assert targets["llvm_predator_prey_100"] == 8.0
    assert {targets[f"llvm_{name}"] for name in ("stroop", "necker_3", "necker_8", "lca")} == {20.0}
    assert targets["llvm_multitasking"] == 3.0
    assert targets["compile_ddm"] == 0.5
    assert targets["threads"] == 1.8
    assert {"threads_ceiling", "threads_of_ceiling"} <= set(made)


def test_two_processes_compute_a_half_of_the_grid_each() -> None:
    """Its timings are of both; one processor is said."""
    import bench_half

    timed = bench_half.halves()
    assert 0 < timed(0, 1) < 100
    assert 0 < timed(1, 1) < 100
    peers = Peers()
    try:
        if cores() < 2:
            with pytest.raises(MissingError, match="one processor"):
                peers.halves()
        else:
            assert 0 < peers.halves()(1) < 100
    finally:
        peers.close()
    assert peers.open == []


def test_our_timings_are_those_of_runs() -> None:
    case = bench_full.cases()["ddm"]
    assert 0 < bench_full.ours(case.make, case.inputs, 50)(1) < 0.1
    assert 0 < bench_full.compiled(case.make, case.inputs)(1) < 60


def test_the_function_that_llvm_modes_compile_is_the_references_action(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import importlib

    monkeypatch.syspath_prepend(str(bench_full.ROOT / "psylang/references"))
    act = importlib.import_module("timed").act
    action = importlib.import_module("models.predator_prey").action
    rng = np.random.default_rng(1)
    for positions in rng.normal(size=(20, 3, 2)):
        np.testing.assert_allclose(act(positions), action(positions, 2.0), rtol=1e-14)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--only", "threads"], "--only goes with --full; add it"),
        (["--record", "--rounds", "3"], "--record and --rounds goes with --full"),
        (["--full", "--rounds", "1"], "--rounds is 1; it must be 2 … 10000"),
        (["--full", "--only", "q"], "no row q; there are equality, llvm_ddm"),
    ],
)
def test_mistakes_are_usage(
    given: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", *given]) == 2
    seen = capsys.readouterr()
    assert message in seen.err + seen.out


def test_an_installation_without_sources_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("psylang.cli.bench.FULL", Path("/nowhere/bench_full.py"))
    assert main(["bench", "--full"]) != 0
    assert "clone it, and run ./dev psylang bench --full there" in capsys.readouterr().err
