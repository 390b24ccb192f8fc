"""`psylang run script.py:composition` on scripts as they are, and scripts that run themselves.

Only where PsyNeuLink 0.21 is installed (`./dev test --psylang-full`).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import psylang
from psylang.cli.main import main
from psylang.pnl.pnl_fixture import needs_psyneulink

pytestmark = needs_psyneulink
SCRIPT = """
import psyneulink as pnl

stimulus = pnl.TransferMechanism(name="stimulus", input_shapes=2)
out = pnl.TransferMechanism(name="out", input_shapes=2, function=pnl.Linear(slope=2.0))
net = pnl.Composition(pathways=[stimulus, out])
other = pnl.Composition(nodes=[pnl.TransferMechanism(name="alone")])
print("other", other.run(inputs=[[3.0]]).tolist())
"""
RUNS = (
    SCRIPT + "net.run(inputs={stimulus: [[1.0, 2.0], [3.0, 4.0]]}, num_trials=3)\nprint('after')\n"
)


def written(folder: Path, text: str) -> str:
    """The script; PsyNeuLink numbers names that a process has given before, so they are its own."""
    file = folder / "script.py"
    text = text.replace('name="', f'name="{folder.name}_')
    file.write_text(text, encoding="utf-8")
    return f"{file}:net"


def test_a_script_that_runs_itself_gives_its_arguments(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", written(tmp_path, RUNS), "--json"]) == 0
    *printed, last = capsys.readouterr().out.splitlines()
    assert printed == ["other [[3.0]]"]  # Of other compositions PsyNeuLink runs; this one is held.
    found = json.loads(last)
    assert found["results"] == [[[2.0, 4.0]], [[6.0, 8.0]], [[2.0, 4.0]]]
    assert found["numerics"] == "exact"


def test_a_script_s_arguments_of_its_course_are_those_of_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = (
        "inputs={stimulus: [[1.0, 2.0]]}, num_trials=3, clamp_input={stimulus: pnl.SOFT_CLAMP}, "
        "skip_initialization=False, call_after_trial=None, animate=False, runtime_params="
        '{out: {"slope": (5.0, pnl.AtTrial(1))}}, reset_stateful_functions_when=pnl.Never()'
    )
    assert main(["run", written(tmp_path, f"{SCRIPT}net.run({arguments})\n"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert found["results"] == [[[2.0, 4.0]], [[5.0, 10.0]], [[2.0, 4.0]]]


@pytest.mark.parametrize("text", [RUNS, SCRIPT], ids=["runs", "does_not"])
def test_arguments_of_the_command_line_come_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    given = ["--input", f"{tmp_path.name}_stimulus=[[5, 6]]", "--trials", "2", "--json"]
    assert main(["run", written(tmp_path, text), *given]) == 0
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert found["results"] == [[[10.0, 12.0]]] * 2


NOISY = """
import psyneulink as pnl

node = pnl.TransferMechanism(name="node", input_shapes=2, noise=pnl.NormalDist(seed=7))
net = pnl.Composition(nodes=[node])
"""


def test_live_gives_the_numbers_of_the_script_s_own_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = "net.run(inputs={node: [[1.0, 2.0], [0.5, -0.5]]})\n"
    alone = NOISY.replace('name="', f'name="{tmp_path.name}_')
    made: dict[str, Any] = {}
    exec(alone + run, made)
    wanted = np.array(made["net"].results).tolist()
    (tmp_path / "again").mkdir()
    found = []
    for given in (["--live"], []):
        assert main(["run", written(tmp_path / "again", NOISY + run), "--json", *given]) == 0
        found.append(json.loads(capsys.readouterr().out.splitlines()[-1])["results"])
    np.testing.assert_allclose(found[0], wanted, rtol=1e-12)
    assert np.all(np.array(found[1]) != wanted)  # Generators begin at their seeds.


def test_live_is_for_compositions_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "psylang.models:ddm", "--live"]) == 2
    error = capsys.readouterr().err
    assert "--live is for compositions of PsyNeuLink; psylang.models:ddm is none" in error


@pytest.mark.parametrize(
    ("text", "given", "said"),
    [
        (SCRIPT, ["--input", "stimulu=[[5, 6]]"], "--input stimulu: the nodes are "),
        (SCRIPT, ["--set", "a=1"], "--set is for functions that make models"),
        *(
            (
                f"{SCRIPT}net.run(inputs=[[1.0, 2.0]], {given})\n",
                [],
                f"the script gives run() {said}",
            )
            for given, said in (
                (
                    "call_after_trial=lambda: None",
                    "call_after_trial, a function of Python, which compiled trials do not call; "
                    "nearest: plan.run(trials=1, after=results) for each trial",
                ),
                (
                    "call_before_pass=lambda: None",
                    "call_before_pass, a function of Python, which compiled trials do not call; "
                    "nearest: output ports",
                ),
                (
                    "clamp_input=pnl.HARD_CLAMP",
                    "clamp_input=hard_clamp, with which PsyNeuLink itself stops but for inputs of "
                    "one element; nearest: a TransferMechanism, which has no recurrence",
                ),
                (
                    "clamp_input={stimulus: 'pulse_clamp'}",
                    "clamp_input=pulse_clamp, with which PsyNeuLink itself stops but for inputs of "
                    "one element; nearest: a ProcessingMechanism before the node",
                ),
                (
                    "scheduling_mode=pnl.SchedulingMode.EXACT_TIME",
                    "scheduling_mode; of its arguments inputs, num_trials, ",
                ),
            )
        ),
        (
            SCRIPT + "net.add_node(pnl.EpisodicMemoryMechanism(name='k', input_shapes=2))\n",
            [],
            "`k`: the mechanism EpisodicMemoryMechanism is not imported",
        ),
    ],
)
def test_an_impossible_request_is_reported_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, given: list[str], said: str
) -> None:
    assert main(["run", written(tmp_path, text), *given]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("kind", ["HARD_CLAMP", "PULSE_CLAMP", "NO_CLAMP"])
def test_psyneulink_stops_at_other_clamps_of_several_elements(kind: str) -> None:
    import psyneulink as pnl

    node = pnl.RecurrentTransferMechanism(name="node", input_shapes=2, auto=0.5, hetero=-0.2)
    net = pnl.Composition(nodes=[node])
    ends = {pnl.TimeScale.TRIAL: pnl.AfterNCalls(node, 2)}
    clamp = getattr(pnl.core.globals.keywords, kind)
    with pytest.raises(ValueError, match="shape-mismatch"):
        net.run(inputs={node: [[1.0, 2.0]]}, clamp_input=clamp, termination_processing=ends)


def test_a_run_in_pieces_stands_in_for_calls_between_trials() -> None:
    """Psylang's form of call_after_trial: the script ends its own run by what it reads."""
    import psyneulink as pnl

    node = pnl.TransferMechanism(
        name="node", integrator_mode=True, integration_rate=0.3, noise=pnl.NormalDist(seed=4)
    )
    net = pnl.Composition(nodes=[node])
    plan = psylang.compile(psylang.from_psyneulink(net, live=True), numerics="exact")
    (name,) = plan.inputs
    read: list[float] = []
    results = None
    for _ in range(8):
        results = plan.run({name: [2.0]}, trials=1, after=results)
        read += np.ravel(next(iter(results.values()))).tolist()
    wanted: list[float] = []
    net.run(
        inputs={node: [[2.0]] * 8},
        call_after_trial=lambda: wanted.append(float(np.ravel(net.results[-1])[0])),
    )
    np.testing.assert_allclose(read, wanted, rtol=1e-12)
