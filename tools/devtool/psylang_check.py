"""Psylang: its tests, those of GPUs on the emulated driver, the layers of its packages, and an
installation outside the repository.
"""

import secrets
import shutil
from pathlib import Path

from devtool import build
from devtool.console import Status, say
from devtool.emulated_check import psylang_gpu
from devtool.environment import make_venv, need_paths, need_python_tools, need_requirements
from devtool.process import Command, cores, run
from devtool.python_tests import Ended, run_pytest
from devtool.tree import BUILD, ROOT

PACKAGE = ROOT / "psylang"
WORK = BUILD / "psylang-check"
PEER = BUILD / "psyneulink"
PYMC = BUILD / "pymc"
PEER_SOURCES = BUILD / "psyneulink-source"
MODEL = "psylang.models:ddm"
TRIALS = 1000
EXAMPLES = 200  # Programs of each test on random programs.
RANDOM_TESTS = "random or ten_thousand"
PEER_TESTS = "psylang/psylang/pnl"
NOT_SLOW = "-m 'not slow'"  # Options of pytest: what the step `pnl` runs.


def check_psylang() -> Ended:
    """Runs all parts, also after a failed one."""
    tools = need_python_tools()
    # Its tests are deterministic: a failed test is broken, even if it passes the next time.
    tests = run_pytest(
        *(tools / "pytest", "psylang", "pytest of psylang/", emulated_gpu()),
        once=True,
        workers=cores(),
    )
    problems = [
        *tests.problems,
        *_passes(lint_imports(tools), "layers of psylang/", {"PYTHONPATH": str(PACKAGE)}),
        *_install(),
    ]
    return Ended(problems, tests.note)


def emulated_gpu() -> dict[str, str]:
    """Builds the driver whose device is a CPU program, and makes it the GPU of Psylang's tests."""
    build.build("release", ["emulator_cuda"])
    return psylang_gpu(build.folder("release"))


def need_psyneulink() -> None:
    """PsyNeuLink in an environment of its own: without torch and CUDA."""
    need_requirements(
        "psylang/references/requirements.txt",
        PEER,
        title="PsyNeuLink into {folder}",
        begin=lambda: make_venv(PEER),
        options=["--no-deps"],
    )


def need_psyneulink_and_pytest() -> None:
    need_psyneulink()
    need_requirements("psylang/references/requirements-test.txt", PEER, stamp="tests.sha256")


def check_psyneulink() -> Ended:
    """The tests that need PsyNeuLink."""
    pytest = _peer_pytest()
    if problems := _sources():
        return Ended(problems, "")
    # PsyNeuLink's examples are one long test; the other tests run beside it.
    return run_pytest(pytest, PEER_TESTS, "pytest of pnl", once=True, workers=cores())


def check_psyneulink_briefly() -> Ended:
    """Those of them that are not marked `slow`: in every check."""
    env = {"PYTEST_ADDOPTS": NOT_SLOW}
    title = "pytest of pnl, without its slow tests"
    pytest = _peer_pytest()
    return run_pytest(pytest, PEER_TESTS, title, env, once=True, workers=cores())


def _peer_pytest() -> Path:
    """pytest of the environment with PsyNeuLink. Refused: it cannot be installed."""
    need_psyneulink_and_pytest()
    return PEER / "bin/pytest"


def check_pymc() -> Ended:
    """The tests that need PyMC, in an environment of its own: it brings 40 packages."""
    need_requirements(
        "psylang/requirements-pymc.txt",
        PYMC,
        title="PyMC into {folder}",
        begin=lambda: make_venv(PYMC),
    )
    need_paths(PYMC, PACKAGE)
    tests = PACKAGE / "psylang/runtime/pymc_test.py"
    return run_pytest(PYMC / "bin/pytest", str(tests), "pytest with PyMC", once=True)


def check_random(seed: int | None = None, examples: int = EXAMPLES) -> Ended:
    """Tests on random programs and models, which a seed determines; None: a new seed."""
    seed = secrets.randbelow(2**32) if seed is None else seed
    again = f"./dev test --psylang-random --seed {seed} --examples {examples}"
    say(f"random programs of seed {seed}; the same ones again: {again}")
    options = f"--hypothesis-seed={seed} -k '{RANDOM_TESTS}'"
    ended = run_pytest(
        *(need_python_tools() / "pytest", "psylang/psylang", f"random programs of seed {seed}"),
        {"PSYLANG_EXAMPLES": str(examples), "PYTEST_ADDOPTS": options},
        once=True,
        workers=cores(),
    )
    problems = [f"{one}\nThe same programs again: {again}" for one in ended.problems]
    return Ended(problems, summary=ended.summary)


def _sources() -> list[str]:
    """Unpacks PsyNeuLink's source package, whose pages and scripts the tests execute."""
    if any(PEER_SOURCES.glob("psyneulink-*/docs")):
        return []
    listed = (ROOT / "psylang/references/requirements.txt").read_text().splitlines()
    (package,) = (line for line in listed if line.startswith("psyneulink=="))
    shutil.rmtree(PEER_SOURCES, ignore_errors=True)
    PEER_SOURCES.mkdir(parents=True)
    options: Command = ["--no-deps", "--no-binary", "psyneulink", "--dest", PEER_SOURCES]
    pip: Command = [PEER / "bin/python", "-m", "pip", "download", "-q", *options, package]
    problems = _passes(pip, "source package of PsyNeuLink")
    for archive in PEER_SOURCES.glob("*.tar.gz"):
        problems += _passes(["tar", "-xzf", archive, "-C", PEER_SOURCES], f"unpack {archive.name}")
        archive.unlink()
    return problems


def lint_imports(tools: Path) -> Command:
    return [tools / "lint-imports", "--no-cache", "--config", PACKAGE / "pyproject.toml"]


def _install() -> list[str]:
    """`pip install ./psylang` alone, into nothing, must suffice for `psylang run`."""
    shutil.rmtree(WORK, ignore_errors=True)
    # pip builds in the source's folder, so the check gives it a copy.
    shutil.copytree(PACKAGE, WORK / "source", ignore=shutil.ignore_patterns("__pycache__", ".*"))
    make_venv(WORK / "venv")
    python, outside = WORK / "venv/bin/python", WORK / "outside"
    outside.mkdir()
    program = python.with_name("psylang")
    commands: list[tuple[str, Command]] = [
        ("pip install ./psylang", [python, "-m", "pip", "install", "-q", WORK / "source"]),
        ("psylang run", [program, "run", MODEL, "--trials", str(TRIALS), "--json"]),
        ("psylang --version", [program, "--version"]),
    ]
    env = {"XDG_CACHE_HOME": str(WORK / "cache"), "PYTHONPATH": ""}
    for title, command in commands:
        if problems := _passes(command, title, env, outside):
            return problems
    tests = [one.name for one in python.parents[1].glob("lib/*/site-packages/psylang/**/*_test.py")]
    if tests:
        return [f"the installed psylang has tests, {tests[0]} and so on: see psylang/setup.py"]
    kept = list((WORK / "cache/psylang").glob("*.object"))
    return [] if kept else ["psylang run left no machine code in XDG_CACHE_HOME/psylang"]


def _passes(
    command: Command, title: str, env: dict[str, str] | None = None, cwd: Path = ROOT
) -> list[str]:
    with Status(title):
        done = run(command, cwd, env)
    if done.returncode == 0:
        return []
    return [done.stdout.replace(f"{ROOT}/", "").strip() or f"{title} ended with {done.returncode}"]
