"""The command line of ./dev: the arguments of each sub-command, and its function."""

import argparse
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from devtool import against, build, report, testing
from devtool.abi import renew_lists
from devtool.bench import bench
from devtool.checks import CLANG_FORMAT, STEPS, check
from devtool.console import Refused, say
from devtool.docs import ADDRESS, build_site, serve_site
from devtool.environment import (
    FORMAT_PACKAGES,
    exec_in_venv,
    need_packages,
    need_plot_tools,
    need_python_tools,
)
from devtool.generate import renew
from devtool.process import capture
from devtool.psylang_check import (
    EXAMPLES,
    check_psyneulink,
    check_pymc,
    check_random,
    need_psyneulink,
)
from devtool.python_tests import Ended
from devtool.tree import CPP_SUFFIXES, ROOT, files, shown
from devtool.uninstall import uninstall

EXIT_INTERRUPTED = 130


def end_by_ctrl_c() -> None:
    """SIGTERM and SIGHUP end ./dev as Ctrl-C does: builds and tests that it began end, too."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_DFL:  # Ignored by nohup: it stays so.
            signal.signal(number, signal.default_int_handler)


def main(arguments: list[str]) -> int:
    try:
        return _dispatch(arguments)
    except Refused as refusal:
        say(f"dev: {refusal}")
        return refusal.exit_code
    except subprocess.CalledProcessError as error:
        say(
            f"dev: `{' '.join(map(str, error.cmd))}` ended with {error.returncode}:\n{error.stdout}"
        )
        return 1
    except KeyboardInterrupt:
        say("\ndev: interrupted")
        return EXIT_INTERRUPTED


def _dispatch(arguments: list[str]) -> int:
    if arguments and arguments[0] == "k2k":
        return _k2k(arguments[1:])
    if arguments and arguments[0] == "python":
        exec_in_venv(arguments[1:])
    if arguments and arguments[0] == "psylang":
        if arguments[1:2] == ["bench"] and "--full" in arguments and "--help" not in arguments:
            need_psyneulink()
        exec_in_venv(["-m", "psylang", *arguments[1:]])
    parser = _parser()
    if not arguments or arguments[0] == "help":
        parser.parse_args([*arguments[1:2], "--help"])
    chosen = parser.parse_args(arguments)
    run: Callable[[argparse.Namespace], int] = chosen.run
    return run(chosen)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="./dev",
        description="Builds, tests and runs K2K. Installs what is missing (as root on Debian; "
        "otherwise it prints the one line to run).",
        epilog="Exit status: 0 success, 1 something failed, 2 usage, 3 something is missing and "
        "could not be installed, 130 interrupted.",
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    def add(
        name: str, says: str, run: Callable[[argparse.Namespace], int]
    ) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=says, description=f"{says[0].upper()}{says[1:]}.")
        command.set_defaults(run=run)
        return command

    add("demo", "run the main job: a grep whose kernel makes the system calls", _demo)

    test = add("test", "build and run the tests; the last line counts them", _test)
    _add_preset(test)
    test.add_argument("pattern", nargs="?", default="", help="only tests whose name matches it")

    test.add_argument(
        "--psylang-full",
        action="store_true",
        help="only the tests of psylang that need PsyNeuLink, which it installs into build/",
    )
    test.add_argument(
        "--psylang-pymc",
        action="store_true",
        help="only the tests of psylang that need PyMC, which it installs into build/",
    )
    test.add_argument(
        "--psylang-random",
        action="store_true",
        help="only psylang's tests on random programs, new ones each time; it prints their seed",
    )
    test.add_argument(
        "--seed", type=_seed, metavar="N", help="of --psylang-random: the programs of that seed"
    )
    test.add_argument(
        "--examples",
        type=_count,
        default=EXAMPLES,
        metavar="N",
        help=f"of --psylang-random: programs of each test ({EXAMPLES})",
    )

    steps = "\n".join(f"  {step.name:<13} {step.says}" for step in STEPS)
    checks = add("check", "run every check that continuous integration runs", _check)
    checks.formatter_class = argparse.RawDescriptionHelpFormatter
    checks.epilog = f"steps:\n{steps}"
    checks.add_argument(
        "--only", action="append", default=[], metavar="STEP", help="this step; may be repeated"
    )

    benches = add("bench", "run the benchmarks, keep the numbers as JSON lines", _bench)
    benches.add_argument(
        "names", nargs="*", metavar="NAME", help="a benchmark to run; default: all of them"
    )
    benches.add_argument(
        "--record",
        action="store_true",
        help="write the numbers into bench/results/, to be committed; with --against HEAD of a "
        "tree without changes: write the noise into bench/tolerances.toml",
    )
    benches.add_argument(
        "--against",
        metavar="COMMIT",
        help="build that commit once, run both in turns, call each figure slower, same or faster; "
        f"NAME is then one of: {', '.join(bench.name for bench in against.BENCHES)}",
    )
    benches.add_argument(
        "--with",
        dest="settings",
        action="append",
        default=[],
        metavar="SETTING",
        help="a setting of this tree's program, as server.walls=on; may be repeated; without "
        "--against the program is compared with itself without it",
    )
    benches.add_argument(
        "--rounds",
        type=int,
        default=0,
        metavar="N",
        help="of a comparison: the turns of each benchmark",
    )
    benches.add_argument(
        "--seed", type=int, metavar="N", help="of a comparison: the order of the runs (random)"
    )
    benches.add_argument(
        "--json", action="store_true", help="of a comparison: the last line is one object"
    )

    site = add("docs", "build the site from the Markdown, the headers and the docstrings", _docs)
    site.add_argument(
        "--serve",
        action="store_true",
        help=f"serve the site on {ADDRESS}, and rebuild it when a page is saved",
    )

    add("plot", "draw the newest results of bench/results into docs/results", _plot)

    builds = add("build", "build a preset", _build)
    _add_preset(builds)
    builds.add_argument(
        "targets", nargs="*", metavar="TARGET", help="a target to build; default: all of them"
    )

    add("abi", "write the lists of exported symbols, cmake/abi/, anew", _abi)
    add("format", "format all C++ and Python, renew the generated files", _format)
    # The three below never get here; they are listed for the help.
    add("k2k", "build k2k if need be and run it with the arguments that follow", _check)
    add(
        "psylang",
        "run psylang, the compiler of cognitive models, with the arguments that follow",
        _check,
    )
    add(
        "python",
        "run the Python of .venv, which has psylang, with the arguments that follow",
        _check,
    )

    removal = add(
        "uninstall", "remove the files that `cmake --install` put into PREFIX", _uninstall
    )
    removal.add_argument(
        "prefix", nargs="?", type=Path, default=Path("/usr/local"), metavar="PREFIX"
    )

    commands.add_parser("help", help="print this text, or the help of one command", add_help=False)
    return parser


def _add_preset(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--preset", default="release", help=f"one of {', '.join(build.presets())}; default: release"
    )


def _demo(_: argparse.Namespace) -> int:
    build.build("release", ["k2k_grep_alone"])
    sys.stdout.flush()
    program = build.folder("release") / "apps/grep/k2k-grep"
    command = [sys.executable, "-B", str(ROOT / "tools/demo.py"), str(program)]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


def _seed(text: str) -> int:
    return _whole(text, 0, 2**32 - 1)


def _count(text: str) -> int:
    return _whole(text, 1, 1_000_000)


def _whole(text: str, least: int, most: int) -> int:
    if not text.isdecimal() or not least <= int(text) <= most:
        raise argparse.ArgumentTypeError(f"{text} is no whole number from {least} to {most}")
    return int(text)


def _test(chosen: argparse.Namespace) -> int:
    if chosen.seed is not None and not chosen.psylang_random:
        raise Refused("--seed is of --psylang-random; give both")
    peers: list[Callable[[], Ended]] = [
        *([partial(check_random, chosen.seed, chosen.examples)] if chosen.psylang_random else []),
        *([check_psyneulink] if chosen.psylang_full else []),
        *([check_pymc] if chosen.psylang_pymc else []),
    ]
    if peers:
        ended = [check_peer() for check_peer in peers]
        for one in ended:
            for line in filter(None, [*one.problems, one.summary]):
                say(line)
        return 1 if any(one.problems for one in ended) else 0
    tally = testing.run_tests(chosen.preset, chosen.pattern)
    testing.report(tally)
    if not tally.passed and not tally.failed and chosen.pattern:
        raise Refused(
            f"no test name matches {chosen.pattern}; ctest -N in build/{chosen.preset} lists them"
        )
    return 1 if tally.failed or tally.unsteady_before else 0


def _check(chosen: argparse.Namespace) -> int:
    with build.only_one("check"):  # Two would take each other's downloads and packages away.
        return 0 if check(chosen.only) else 1


def _bench(chosen: argparse.Namespace) -> int:
    if chosen.against is not None or chosen.settings:
        against.against(
            *(chosen.against, chosen.names, chosen.rounds, chosen.seed),
            *(chosen.json, chosen.record, chosen.settings),
        )
        return 0
    if chosen.rounds or chosen.json or chosen.seed is not None:
        raise Refused(
            "bench: --rounds, --seed and --json go with --against COMMIT or --with SETTING; add it",
            2,
        )
    bench(chosen.names, chosen.record)
    return 0


def _docs(chosen: argparse.Namespace) -> int:
    if chosen.serve:
        return serve_site()
    print(f"open {build_site()}")
    return 0


def _plot(_: argparse.Namespace) -> int:
    python = need_plot_tools() / "python"
    sys.stdout.flush()
    command = [*map(str, (python, "-B", ROOT / "tools/draw.py", report.RESULTS, report.FOLDER))]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


def _build(chosen: argparse.Namespace) -> int:
    build.build(chosen.preset, chosen.targets)
    return 0


def _format(_: argparse.Namespace) -> int:
    need_packages(FORMAT_PACKAGES)
    for file in renew():
        say(f"renewed {file}")
    capture([CLANG_FORMAT, "-i", *files(*CPP_SUFFIXES)])
    python = list(files(".py"))
    ruff = need_python_tools() / "ruff"
    capture([ruff, "check", "--no-cache", "--fix-only", "-q", *python])
    capture([ruff, "format", "--no-cache", "-q", *python])
    return 0


def _abi(_: argparse.Namespace) -> int:
    for line in renew_lists():
        say(line)
    return 0


def _k2k(arguments: list[str]) -> int:
    build.build("release", ["k2k_cli"])
    os.execv(_cli(), ["k2k", *arguments])


def _uninstall(chosen: argparse.Namespace) -> int:
    removed = uninstall(chosen.prefix)
    print(f"removed {removed} files from {chosen.prefix}")
    return 0


def _cli() -> Path:
    program = build.folder("release") / "cli/k2k"
    if not program.exists():
        raise Refused(f"{shown(program)} was not built: the tree has no cli/ sources yet")
    return program
