"""Options that several commands share."""

from __future__ import annotations

import argparse

MODEL = "MODULE:OBJECT, FILE.py:OBJECT or FILE.ir"


def add_model(command: argparse.ArgumentParser) -> None:
    command.add_argument("model", metavar="MODEL", help=MODEL)
    _add_set(command)


def _add_set(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="argument of the function that makes the model; may be repeated",
    )


def add_common(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--param",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a parameter that stays free in the machine code, and its value (a number, [1, 2], or "
        "@FILE.npy); may be repeated",
    )
    command.add_argument(
        "--fix",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a parameter that becomes a constant; may be repeated",
    )
    command.add_argument(
        "--numerics",
        choices=("fast", "exact"),
        help="fast: the same bits everywhere, many trials at once (default); exact: libm and "
        "Mersenne Twister, as PsyNeuLink",
    )
    command.add_argument(
        "--precision",
        choices=("f64", "f32"),
        default="f64",
        help="what is computed with; f32: half the digits, faster, of fast numerics only; "
        "default: f64",
    )
    command.add_argument("--isa", metavar="NAME", help="instruction set; default: the best here")
    command.add_argument("--json", action="store_true", help="print one JSON object")


def add_run(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--trials", type=int, metavar="N", help="trials; default: rows of inputs, or 1"
    )
    command.add_argument(
        "--sequences",
        type=int,
        default=1,
        metavar="N",
        help="times that they begin anew; default: 1",
    )
    command.add_argument(
        "--seed", type=int, default=0, metavar="N", help="0 … 2**63 - 1; default: 0"
    )
    command.add_argument("--threads", type=int, metavar="N", help="default: all cores")
    command.add_argument(
        "--device",
        metavar="NAME",
        help="cpu, or cuda or cuda:1 for an NVIDIA GPU, which computes the same bits; default: cpu",
    )
    command.add_argument(
        "--input",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an input: a value for all trials, rows, or @FILE.npy; may be repeated",
    )
    command.add_argument(
        "--live",
        action="store_true",
        help="of a composition of PsyNeuLink: go on with its generators and the values that its "
        "construction left, as its own next run() would; exact, with seed 0, then has the numbers "
        "of that run",
    )
    command.add_argument(
        "--record",
        action="append",
        metavar="NAME",
        help="keep this output only; may be repeated; default: all",
    )
    command.add_argument(
        "--histogram",
        action="append",
        default=[],
        metavar="NAME=BINS,LOW,HIGH",
        help="count an output instead of storing it; may be repeated",
    )
    command.add_argument(
        "--allow-nan",
        action="store_true",
        help="NaN in arguments and results is no error; results with NaN are counted",
    )
    command.add_argument("--output", metavar="FILE.npz", help="write the arrays there")
    command.add_argument("--progress", action="store_true", help="a line on standard error")


def add_likelihood(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--start",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a parameter to fit, and where the search begins; may be repeated",
    )
    command.add_argument(
        "--limits",
        action="append",
        default=[],
        metavar="NAME=LOW,HIGH",
        help="where the search of a model's parameter ends; may be repeated",
    )
    command.add_argument(
        "--fit",
        action="append",
        default=[],
        metavar="NAME",
        help="a parameter of ddm to fit; may be repeated; default: those of v, a, z, t without "
        "--param",
    )
    command.add_argument(
        "--method",
        choices=("closed", "kde", "bins"),
        help="closed: the density in closed form, which fits of one drift-diffusion process have; "
        "kde, bins: how simulated times become a density; default: closed where there is one, "
        "else kde",
    )
    command.add_argument(
        "--trials",
        type=int,
        default=10_000,
        metavar="N",
        help="simulated at each point; default: 10000",
    )
    command.add_argument(
        "--seed", type=int, default=1, metavar="N", help="of every point; default: 1"
    )
    command.add_argument(
        "--input",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an input: a value for all trials; may be repeated",
    )


def add_bench(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--quick", action="store_true", help="fewer repetitions; below 55 s without --full"
    )
    command.add_argument("--json", action="store_true", help="print one JSON object")
    command.add_argument(
        "--full",
        action="store_true",
        help="instead: the table of Psylang and its peers (PsyNeuLink in Python and LLVMRun, "
        "Numba, ssm-simulators), with targets and verdicts; in the repository only. Ctrl-C keeps "
        "the rows that have ended",
    )
    command.add_argument(
        "--record",
        action="store_true",
        help="of --full: append its rows to bench/results/psylang_full.jsonl, else to "
        "build/bench-results",
    )
    command.add_argument(
        "--resume",
        action="store_true",
        help="of --full: leave out rows that this commit has there already from this machine",
    )
    command.add_argument(
        "--only", action="append", default=[], metavar="ROW", help="of --full: this row; repeatable"
    )
    command.add_argument(
        "--rounds", type=int, metavar="N", help="of --full: of each row; default 9"
    )
    command.add_argument(
        "--ssms", metavar="PYTHON", help="of --full: a Python that has ssm-simulators 0.14"
    )


def add_registers(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "models", nargs="*", metavar="MODEL", help=f"{MODEL}; default: all of psylang.models"
    )
    _add_set(command)
    command.add_argument(
        "--limits",
        default="none,128,64,32",
        metavar="N,…",
        help="limits of a thread's registers, 16 … 255 or none; default: none,128,64,32",
    )
    command.add_argument(
        "--arch", default="sm_90", metavar="NAME", help="what ptxas assembles for; default: sm_90"
    )
    command.add_argument(
        "--ptxas", metavar="FILE", help="the assembler; default: the one that PATH finds"
    )
    command.add_argument("--json", action="store_true", help="print JSON lines, a kernel each")
