"""The command line: the arguments of each sub-command, and the function that executes it.

Exit status: 0 done, 1 failure, 2 wrong command line or impossible request, 130 interrupted.
Errors are one line on standard error, with the remedy.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn

from psylang.cli.options import (
    add_bench,
    add_common,
    add_likelihood,
    add_model,
    add_registers,
    add_run,
)
from psylang.version import __version__

EXIT_FAILED, EXIT_USAGE, EXIT_INTERRUPTED = 1, 2, 130
DESCRIPTION = """\
Compiles cognitive models to machine code, and runs them.

A MODEL is MODULE:OBJECT or FILE.py:OBJECT. OBJECT is a psylang.model.Model, a psylang.ir Program,
or a function that returns one, such as psylang.models:ddm; --set gives the function arguments.
FILE.ir is a MODEL, too: the text of a program, which `psylang compile MODEL --emit ir` prints.
"""
EPILOG = """\
examples:
  psylang run psylang.models:ddm --param drift=0.5 --trials 100000
  psylang run psylang.models:ddm --trials 1000000 --histogram response_time=50,0,5
  psylang explain psylang.models:lca --set size=3
  psylang compile mine.py:model --emit assembly --output mine.s
  psylang compile mine.py:model --emit ir --output mine.ir
  psylang run psylang.models:ddm --trials 1000000 --device cuda
  psylang registers psylang.models:ddm
  psylang likelihood ddm data.csv --json
  psylang completion bash > ~/.local/share/bash-completion/completions/psylang

exit status:
  0 done, 1 it failed, 2 the command line or what it asks for is wrong, 130 interrupted

environment:
  XDG_CACHE_HOME, PSYLANG_CACHE_DIR   where machine code is kept (~/.cache/psylang)
  PSYLANG_CACHE_BYTES                 how much of it (268435456); 0 for none
"""


class UsageError(Exception):
    """The command line requests something impossible; the message is shown unchanged."""


class Parser(argparse.ArgumentParser):
    """Reports a mistake in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(EXIT_USAGE, f"{self.prog}: {message}; see {self.prog} --help\n")


def parser() -> argparse.ArgumentParser:
    """All commands with all options; completion is made from it, too."""
    top = Parser(
        prog="psylang",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"psylang {__version__}")
    commands = top.add_subparsers(metavar="COMMAND", required=True, dest="command")

    def add(name: str, description: str, more: str = "") -> argparse.ArgumentParser:
        command = commands.add_parser(
            name,
            help=description,
            description=f"{description[0].upper()}{description[1:]}.{more and ' '}{more}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.set_defaults(run=_lazily(name))
        return command

    made = add("compile", "make machine code of a model", "Without --output it goes to the cache.")
    add_model(made)
    add_common(made)
    made.add_argument(
        "--emit",
        choices=("object", "llvm", "assembly", "ptx", "ir"),
        default="object",
        help="what to write to --output: machine code (object), or the text of LLVM, of the "
        "assembly, of CUDA kernels (ptx) or of Psylang's own IR, not optimised; default: object",
    )
    made.add_argument(
        "--registers", type=int, metavar="N", help="the most of a thread, 16 … 255, with --emit ptx"
    )
    made.add_argument(
        "--output",
        metavar="FILE",
        help="where to write it; - is standard output, the default of all but object",
    )

    run = add("run", "simulate trials of a model", "Prints a summary of each output.")
    add_model(run)
    add_common(run)
    add_run(run)

    bench = add(
        "bench",
        "measure this machine",
        "\nMedians; what is compared is measured in turns. The last line of --json is one object:\n"
        "isa, ddm_us, numba_ddm_us, ddm_2threads_us (microseconds a trial of 100,000 DDM trials),\n"
        "pp100_s, pp100_peak_mb (predator-prey, 100 levels), warm_start_ms (in a fresh process,\n"
        "from a model to its first result, out of the cache; psylang.models is imported before),\n"
        "run_fixed_us (a run of one trial), import_ms (import psylang alone). What cannot\n"
        "be measured here is null: numba_ddm_us without Numba, ddm_2threads_us with one core.",
    )
    add_bench(bench)

    explain = add("explain", "tell what a model is compiled to, and what was left out")
    add_model(explain)
    add_common(explain)
    explain.add_argument("--html", action="store_true", help="print a page for a browser")

    analyse = add(
        "analyse",
        "tell what a model's values may be, and what never matters",
        "\nEvery line names the component that it is about. Ranges are of all trials, unless\n"
        "--trial names one; a parameter with --range stays free.",
    )
    add_model(analyse)
    add_common(analyse)
    analyse.add_argument(
        "--range",
        action="append",
        default=[],
        metavar="NAME=LOW,HIGH",
        help="what an input or a parameter may be; may be repeated; default: any number",
    )
    analyse.add_argument(
        "--trial", type=int, metavar="N", help="the N-th trial of a sequence alone; default: all"
    )
    analyse.add_argument(
        "--against",
        metavar="MODEL",
        help="another model, in which the computations of this one are looked for; --param, --fix "
        "and --range hold for the parameters that it has, too",
    )
    analyse.add_argument("--svg", metavar="FILE", help="draw the model; needs Graphviz's dot")

    likelihood = add(
        "likelihood",
        "tell how likely data are under a model, and fit its parameters",
        "\nDATA.csv has a line of names and a line for each trial, with the columns rt (or\n"
        "response_time) and choice (or response). The MODEL ddm, without a module, is the density\n"
        "of the drift-diffusion model in closed form, with the parameters v, a, z, t, sv, sz and\n"
        "st; it is fitted unless --param has v and a. Other models are simulated, and fitted if\n"
        "there is a --start. Fits need scipy: pip install 'psylang[fit]'.",
    )
    add_model(likelihood)
    likelihood.add_argument("data", metavar="DATA.csv", help="choices and response times")
    add_common(likelihood)
    add_likelihood(likelihood)

    registers = add(
        "registers",
        "tell what the CUDA kernels of models need of a GPU",
        "\nA table of registers, stack and spilled bytes of a thread, by precision and limit of\n"
        "registers, as NVIDIA's assembler ptxas finds them; no GPU is needed.",
    )
    add_registers(registers)

    completion = add("completion", "print the completion of a shell")
    completion.add_argument("shell", choices=("bash", "zsh", "fish"), help="which shell")
    return top


def _lazily(name: str) -> Callable[[argparse.Namespace], int]:
    """A command's module is imported when it runs."""

    def run(options: argparse.Namespace) -> int:
        from importlib import import_module

        command: Callable[[argparse.Namespace], int] = import_module(f"psylang.cli.{name}").main
        return command(options)

    return run


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command line; returns the exit status."""
    options = parser().parse_args(arguments)
    try:
        status: int = options.run(options)
        sys.stdout.flush()
        return status
    except KeyboardInterrupt as interrupt:
        _say(str(interrupt) or "interrupted")
        return EXIT_INTERRUPTED
    except BrokenPipeError:  # The reader has closed the pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_FAILED
    except UsageError as error:
        _say(str(error))
        return EXIT_USAGE
    except Exception as error:
        from psylang.runtime.errors import ArgumentTypeError, PsylangError

        if not isinstance(error, (PsylangError, ValueError, OSError, MemoryError)):
            raise
        _say(str(error) or type(error).__name__)
        return EXIT_USAGE if isinstance(error, (ValueError, ArgumentTypeError)) else EXIT_FAILED


def _say(text: str) -> None:
    print(f"psylang: {' '.join(text.split())}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
