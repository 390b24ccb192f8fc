"""Times PsyNeuLink on the reference models: the peer of psylang/bench_full.py, which starts it.

    echo '{"case": "ddm", "mode": "LLVMRun", "trials": 100}' | python timed.py

Each line of standard input is a request, each line of standard output its answer: `seconds` of
run(), or `refused` with the reason. `fresh`: build the composition anew, and time its first run,
which compiles it. PsyNeuLink (requirements.txt) runs in this process, on one thread.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")
LEVELS = "predator_prey_"


class BuiltError(Exception):
    """Ends simulate() of a reference at its run(), whose composition and arguments it brings."""

    def __init__(self, composition: Any, given: dict[str, Any]) -> None:
        super().__init__()
        self.composition, self.given = composition, given


def act(variable: Any) -> Any:
    """action() of models/predator_prey.py with its fear of 2, in what PsyNeuLink's LLVM modes
    compile: no other function, no list of lists."""
    chase_x = variable[2][0] - variable[0][0]
    chase_y = variable[2][1] - variable[0][1]
    flee_x = variable[0][0] - variable[1][0]
    flee_y = variable[0][1] - variable[1][1]
    far = np.sqrt(chase_x * chase_x + chase_y * chase_y) + 1.0
    near = flee_x * flee_x + flee_y * flee_y + 1.0
    return [chase_x / far + 2.0 * flee_x / near, chase_y / far + 2.0 * flee_y / near]


@contextmanager
def replaced(pnl: Any) -> Iterator[None]:
    """run() of a composition ends its making; `act` is the function above. States go on from run
    to run, because LLVM modes have no AtRunStart."""
    run, function, start = pnl.Composition.run, pnl.UserDefinedFunction, pnl.AtRunStart

    def ends(self: Any, **given: Any) -> None:
        raise BuiltError(self, given)

    def defined(custom: Callable[..., Any], **given: Any) -> Any:
        return function(act if custom.__name__ == "act" else custom, **given)

    pnl.Composition.run, pnl.UserDefinedFunction, pnl.AtRunStart = ends, defined, pnl.Never
    try:
        yield
    finally:
        pnl.Composition.run, pnl.UserDefinedFunction, pnl.AtRunStart = run, function, start


def built(pnl: Any, case: str) -> tuple[Any, dict[str, Any]]:
    """The composition of a reference, and the arguments of its first run()."""
    try:
        with replaced(pnl):
            if case.startswith(LEVELS):
                game = importlib.import_module("models.predator_prey")
                game.simulate(game.parameters(int(case.removeprefix(LEVELS)), 10))
            else:
                importlib.import_module(f"models.{case}").simulate()
    except BuiltError as made:
        kept = ("inputs", "termination_processing")
        return made.composition, {name: made.given[name] for name in kept if name in made.given}
    raise RuntimeError(f"the reference {case} runs no composition")


class Timed:
    def __init__(self) -> None:
        import psyneulink

        self.pnl = psyneulink
        self.kept: dict[str, tuple[Any, dict[str, Any]]] = {}

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        case, mode, trials = request["case"], request["mode"], int(request["trials"])
        if request.get("fresh") or case not in self.kept:
            self.kept[case] = built(self.pnl, case)
            if not request.get("fresh"):
                self._run(case, mode, 1)
        return {"seconds": self._run(case, mode, trials)}

    def _run(self, case: str, mode: str, trials: int) -> float:
        composition, given = self.kept[case]
        how = {"num_trials": trials, "execution_mode": self.pnl.ExecutionMode[mode]}
        begin = time.perf_counter()
        composition.run(**given, **how)
        seconds = time.perf_counter() - begin
        # Otherwise each run copies the results of all.
        composition.parameters.results.set([], composition.default_execution_id, override=True)
        return seconds


def main() -> int:
    for name in THREADS:
        os.environ[name] = "1"  # Before NumPy's threads begin, at the first product.
    warnings.filterwarnings("ignore")
    # What PsyNeuLink prints does not mix with answers.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    peer = Timed()
    for line in sys.stdin:
        try:
            answer = peer.answer(json.loads(line))
        except Exception as error:  # PsyNeuLink's, of what its LLVM modes do not compile.
            said = " ".join(str(error).split()) or type(error).__name__
            answer = {"refused": said[:300]}
        answers.write(json.dumps(answer) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
