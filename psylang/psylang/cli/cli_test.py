"""The command line from outside: its output, its status, and one line for every mistake."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from psylang.cli import main as module
from psylang.cli.bench import DESCRIPTIONS
from psylang.cli.completion import commands
from psylang.cli.main import main
from psylang.runtime.plan_fixture import session_cache

__all__ = ["session_cache"]
DDM = "psylang.models:ddm"
MINE = """
from psylang.ir.builder import ProgramBuilder

def model(factor=2.0):
    build = ProgramBuilder("mine")
    a = build.parameter("a", 1.0)
    build.output("y", build.mul(build.mul(a, factor), build.input("x")))
    return build.build()

program = model()
number = 3
"""


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, session_cache: Path) -> None:
    monkeypatch.setenv("PSYLANG_CACHE_DIR", str(session_cache))


@pytest.fixture
def mine(tmp_path: Path) -> str:
    path = tmp_path / "mine_models.py"
    path.write_text(MINE)
    return str(path)


def test_run_prints_a_summary(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", DDM, "--param", "drift=3", "--trials", "2000"]) == 0
    out = capsys.readouterr().out
    assert re.match(r"ddm: 2000 trials in .* s, .* µs each \(fast, f64, \w+, seed 0\)\n", out)
    assert "response_time" in out


def test_run_in_f32(capsys: pytest.CaptureFixture[str]) -> None:
    outputs = []
    for precision in ("f64", "f32"):
        assert main(["run", DDM, "--trials", "500", "--precision", precision, "--json"]) == 0
        summary = json.loads(capsys.readouterr().out)
        assert summary["precision"] == precision
        assert summary["outputs"]["response_time"]["dtype"] == "float64"
        outputs.append(summary["outputs"])
    assert outputs[0] != outputs[1]
    assert outputs[0]["response_time"]["mean"] == pytest.approx(
        outputs[1]["response_time"]["mean"], rel=0.01
    )
    assert main(["run", DDM, "--precision", "f32", "--numerics", "exact"]) == 2
    assert "what PsyNeuLink computes, in f64; leave precision out" in capsys.readouterr().err
    assert main(["compile", DDM, "--precision", "f32", "--emit", "llvm", "--output", "-"]) == 0
    assert 'x float> @"llvm.fma' in capsys.readouterr().out


def test_run_prints_json_that_repeats(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["run", DDM, "--trials", "500", "--seed", "7", "--json", "--threads"]
    summaries = []
    for threads in ("1", "2"):
        assert main([*command, threads]) == 0
        summaries.append(json.loads(capsys.readouterr().out))
    assert summaries[0]["outputs"] == summaries[1]["outputs"]
    assert summaries[0]["trials"] == 500
    assert summaries[0]["outputs"]["choice"]["shape"] == [500]


def test_inputs_files_and_histograms(
    mine: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.save(tmp_path / "x.npy", np.arange(4.0))
    out = tmp_path / "out.npz"
    command = ["run", f"{mine}:model", "--set", "factor=3.0", "--input", f"x=@{tmp_path}/x.npy"]
    assert main([*command, "--param", "a=[1, 1, 2, 2]", "--output", str(out)]) == 0
    assert np.load(out)["y"].tolist() == [0.0, 3.0, 12.0, 18.0]
    assert main([*command, "--fix", "a=1.0", "--histogram", "y=2,0,10", "--json"]) == 0
    summary = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert summary["outputs"] == {}
    assert summary["histograms"]["y"]["counts"] == [2, 2]
    assert main([*command, "--histogram", "y=2,0,10"]) == 0
    assert "0 below, 0 above, 0 NaN" in capsys.readouterr().out


def test_compile_writes_code(mine: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for kind, sign in (
        ("object", b"psylang_run"),
        ("llvm", b"define"),
        ("assembly", b".text"),
        ("ir", b'program "mine" fast {'),
    ):
        path = tmp_path / kind
        command = ["compile", f"{mine}:program", "--emit", kind, "--output", str(path), "--json"]
        assert main(command) == 0
        assert sign in path.read_bytes()
        assert json.loads(capsys.readouterr().out)["parameters"] == ["a"]
    assert main(["compile", f"{mine}:program"]) == 0
    assert re.match(r"mine for \w+: \d+ bytes, was in the cache", capsys.readouterr().out)


@pytest.mark.parametrize("kind", ["llvm", "assembly", "ir"])
def test_what_is_text_is_printed(
    kind: str, mine: str, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    command = ["compile", f"{mine}:program", "--emit", kind]
    assert main(command) == 0
    printed = capfdbinary.readouterr().out
    assert main([*command, "--output", "-"]) == 0
    assert capfdbinary.readouterr().out == printed != b""


def test_the_text_of_a_program_is_a_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, again = tmp_path / "ddm.ir", tmp_path / "again.ir"
    free = ["--param", "drift=0.5"]
    assert main(["compile", DDM, *free, "--emit", "ir", "--output", str(path)]) == 0
    assert main(["compile", str(path), "--emit", "ir", "--output", str(again)]) == 0
    assert "was in the cache" in capsys.readouterr().out.splitlines()[-1]
    assert again.read_text() == path.read_text()
    summaries = []
    for model in (DDM, str(path)):
        assert main(["run", model, *free, "--trials", "300", "--json"]) == 0
        summaries.append(json.loads(capsys.readouterr().out))
    assert summaries[0]["outputs"] == summaries[1]["outputs"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b'program "p" fast {\n  seeds %s\n}', "line 2, column 3: `seed` is needed, not seeds"),
        (b'program "p" fast {\n  seed %s: i64\n', "line 2, column 10: `trial` is needed, not :"),
        (b"print(1);", "line 1, column 9: a word, .* is needed, not ';'"),
        (b"", "line 1, column 1: `program` is needed, not the end of the text"),
        (b"program\n\xff", "'utf-8' codec can't decode byte 0xff in position 8"),
        (
            b'program "p" fast { seed %s trial %t %x: f64 = neg(%s) output "x": f64 = %x }',
            "p: `neg` of no origin: ",
        ),
    ],
)
def test_a_text_that_is_no_program_is_one_line(
    text: bytes, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "wrong.ir"
    path.write_bytes(text)
    assert main(["compile", str(path)]) == module.EXIT_USAGE
    out, errors = capsys.readouterr()
    assert (out, errors.count("\n")) == ("", 1)
    assert re.match(f"psylang: {re.escape(str(path))} is no program: {message}", errors)


def test_analyse_as_text_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyse", DDM, "--range", "drift=0,1"]) == 0
    text = capsys.readouterr().out
    assert "  drift  parameter in [0, 1]" in text
    assert "decision  5 rounds at least, 100000 at most (step < 100000)" in text
    assert main(["analyse", DDM, "--range", "drift=0,1", "--param", "threshold=1", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert [one["component"] for one in data["findings"][:2]] == ["threshold", "drift"]


def test_analyse_of_a_trial_of_a_program(mine: str, capsys: pytest.CaptureFixture[str]) -> None:
    ranges = ["--range", "x=0,1", "--range", "a=1,2", "--trial", "3"]
    assert main(["analyse", f"{mine}:program", *ranges]) == 0
    assert "output y in [0, 4]" in capsys.readouterr().out


def test_analyse_draws_with_graphviz(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    drawn = tmp_path / "ddm.svg"
    fake = tmp_path / "dot"
    fake.write_text("#!/bin/sh\necho '<svg/>'\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["analyse", DDM, "--svg", str(drawn)]) == 0
    assert drawn.read_text() == "<svg/>\n"
    fake.unlink()
    assert main(["analyse", DDM, "--svg", str(drawn)]) == 1
    assert "psylang: a picture needs Graphviz's program dot" in capsys.readouterr().err


def test_analyse_against_another_model(capsys: pytest.CaptureFixture[str]) -> None:
    models = [DDM, "--set", "threshold=2.0", "--against", DDM]
    assert main(["analyse", *models, "--range", "drift=0,1"]) == 0
    out = capsys.readouterr().out
    assert "1 of 1 values that go on are computed in ddm, too, all alike under one renaming" in out
    assert "decision_position is decision: decision_position of ddm" in out


def test_analyse_refuses_what_is_no_range(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyse", DDM, "--range", "drift=3"]) == 2
    assert "--range drift=3 is no pair; give LOW,HIGH" in capsys.readouterr().err
    assert main(["analyse", DDM, "--range", "speed=0,1"]) == 2
    assert "--range: there is no speed; there is none" in capsys.readouterr().err


def test_explain_as_text_json_and_html(mine: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", f"{mine}:program"]) == 0
    assert "name            mine" in capsys.readouterr().out
    assert main(["explain", f"{mine}:program", "--json"]) == 0
    assert ["name", "mine"] in json.loads(capsys.readouterr().out)["model"]
    assert main(["explain", f"{mine}:program", "--html"]) == 0
    assert capsys.readouterr().out.startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "models"], "`models` is no MODULE:OBJECT; give one like psylang.models:ddm"),
        (["run", "no_such_thing:x"], "there is no module no_such_thing, neither installed nor in"),
        (["run", "no.py:x"], "there is no file no.py"),
        (["run", "psylang.models:dmd"], "psylang.models has no `dmd`; it has"),
        (["run", "math:pi"], "math:pi is a float, neither a model nor a function"),
        (["run", "math:floor"], "math:floor: .*give its arguments by --set NAME=VALUE"),
        (["run", "builtins:int"], "int is no model"),
        (["run", DDM, "--set", "drfit=1"], "unexpected keyword argument 'drfit'; give its"),
        (["run", DDM, "--param", "drift"], "--param drift is no NAME=VALUE"),
        (["run", DDM, "--param", "drift=x"], "--param drift=x is no value; give a number"),
        (["run", DDM, "--param", "drift=1", "--param", "drift=2"], "--param drift is given twice"),
        (["run", DDM, "--param", "drift=nan"], r"params\['drift'\] has NaN"),
        (["run", DDM, "--param", "drift=@no.npy"], "--param drift: no.npy cannot be read"),
        (["run", DDM, "--param", "drfit=1"], "no parameter `drfit`"),
        (["run", DDM, "--trials", "0"], "trials is 0; it must be 1"),
        (["run", DDM, "--seed", "-1"], "seed is -1; it must be 0"),
        (["run", DDM, "--isa", "mmx"], "isa is 'mmx'; this machine has"),
        (["run", DDM, "--record", "rt"], "record: there is no `rt`; there is response_time"),
        (["run", DDM, "--histogram", "choice=1"], "--histogram choice=1 is no NAME=BINS,LOW,HIGH"),
        (["run", DDM, "--output", "x.csv"], "--output x.csv: the name must end with .npz"),
        (["compile", "no.ir"], "no.ir cannot be read: No such file or directory"),
        (["run", "no.ir", "--set", "a=1"], "--set is for functions that make models; no.ir is"),
    ],
)
def test_mistakes_are_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == module.EXIT_USAGE
    out, errors = capsys.readouterr()
    assert out == ""
    assert errors.startswith("psylang: ")
    assert errors.count("\n") == 1
    assert re.search(message, errors)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "psylang: the following arguments are required: COMMAND; see psylang --help"),
        (["fly"], "psylang: argument COMMAND: invalid choice: 'fly'"),
        (["run"], "psylang run: the following arguments are required: MODEL; see psylang run"),
        (["run", DDM, "--trails", "3"], "psylang: unrecognized arguments: --trails 3"),
        (["run", DDM, "--trials", "x"], "psylang run: argument --trials: invalid int value: 'x'"),
    ],
)
def test_unknown_options_are_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == module.EXIT_USAGE
    errors = capsys.readouterr().err
    assert errors.startswith(message)
    assert errors.count("\n") == 1


def test_what_cannot_be_written_is_a_failure(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", DDM, "--output", "/no/such/folder/x.o"]) == module.EXIT_FAILED
    assert "No such file or directory" in capsys.readouterr().err


def shell(command: list[str], **more: str) -> subprocess.Popen[str]:
    """A child that reacts to SIGINT: a shell's background job and its children would ignore it."""
    root = Path(module.__file__).parents[2]
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(root), **more},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def test_ctrl_c_is_one_line_and_130() -> None:
    command = [sys.executable, "-m", "psylang", "run", DDM, "--trials", "300000000"]
    with shell([*command, "--histogram", "choice=2,0,1", "--progress"]) as child:
        assert child.stderr is not None
        assert child.stderr.read(5) == "\nddm:"  # It runs; the line begins with \r.
        child.send_signal(signal.SIGINT)
        out, errors = child.communicate(timeout=100)
    assert (child.returncode, out) == (130, "")
    last = errors.splitlines()[-1]
    assert re.fullmatch(r"psylang: interrupted after \d+ of 300000000 trials", last)


def test_a_reader_that_leaves_is_no_error() -> None:
    command = f"{sys.executable} -m psylang explain {DDM} | head -1"
    with shell(["bash", "-c", command]) as child:
        out, errors = child.communicate(timeout=100)
    assert (out, errors) == ("model\n", "")


def test_help_imports_no_command() -> None:
    script = (
        "import sys; from psylang.cli.main import parser; parser().format_help(); "
        "from psylang.cli.completion import bash; bash(); print('psylang.cli.bench' in sys.modules)"
    )
    with shell([sys.executable, "-c", script]) as child:
        assert child.communicate()[0] == "False\n"


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_completion_knows_all_commands_and_options(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["completion", name]) == 0
    script = capsys.readouterr().out
    for command, parser in commands().items():
        assert command in script
        for action in parser._actions:
            for option in action.option_strings:
                if option.startswith("--"):
                    assert (f"-l {option[2:]}" if name == "fish" else option) in script
    program = shutil.which(name)
    if program is not None:
        path = tmp_path / "script"
        path.write_text(script)
        subprocess.run([program, "-n", str(path)], check=True)


def test_bash_completes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["completion", "bash"])
    ask = capsys.readouterr().out + (
        'COMP_WORDS=(psylang run m --th); COMP_CWORD=3; _psylang; echo "${COMPREPLY[@]}"\n'
        'COMP_WORDS=(psylang co); COMP_CWORD=1; _psylang; echo "${COMPREPLY[@]}"\n'
        'COMP_WORDS=(psylang run m --numerics ""); COMP_CWORD=4; _psylang; echo "${COMPREPLY[@]}"\n'
        'COMP_WORDS=(psylang run m --precision ""); _psylang; echo "${COMPREPLY[@]}"\n'
        'COMP_WORDS=(psylang compile m --emit ""); _psylang; echo "${COMPREPLY[@]}"\n'
        'COMP_WORDS=(psylang run mine); COMP_CWORD=2; _psylang; echo "${COMPREPLY[@]}"\n'
    )
    for file in ("mine.py", "mine.ir", "mine.txt"):
        (tmp_path / file).touch()
    done = subprocess.run(
        ["bash"], input=ask, capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert done.stdout.splitlines() == [
        "--threads",
        "compile completion",
        "fast exact",
        "f64 f32",
        "object llvm assembly ir",
        "mine.py mine.ir",
    ]


def test_the_figures_of_bench_are_all_explained() -> None:
    text = " ".join(commands()["bench"].format_help().split())
    assert [key for key in DESCRIPTIONS if key not in text] == []
