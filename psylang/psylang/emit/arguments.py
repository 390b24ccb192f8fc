"""The arguments of trials, loaded from the rows of buffers (abi.py), and outputs, stored there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import llvmlite.ir as ll

from psylang.emit import abi
from psylang.emit.lanes import I64, Lanes, Term
from psylang.emit.regions import Environment, Terms
from psylang.emit.rows import Rows
from psylang.ir.graph import Program
from psylang.ir.types import DType, Type


@dataclass(frozen=True)
class Arguments:
    """varying: parameters with one row per trial. seed: the run's, an LLVM value."""

    lanes: Lanes
    rows: Rows
    program: Program
    varying: frozenset[str]
    seed: Any

    def uniform(self) -> Environment:
        """The arguments that are equal for all trials, loaded once."""
        program = self.program
        env: Environment = {program.seed: (Term(self.seed, DType.I64, False),)}
        for index, parameter in enumerate(program.parameters):
            if parameter.name not in self.varying:
                env[program.body.arguments[index]] = self.rows.load(index, I64(0), parameter.type)
        return env

    def of_trial(
        self, trial: Any, row: Any = None, input_rows: Sequence[Any] | None = None
    ) -> Environment:
        """The arguments of a trial; of several trials if `trial` is a vector. row: of the buffers,
        None: the trial's number; input_rows: of each input, None: row."""
        program = self.program
        varies = isinstance(trial.type, ll.VectorType)
        env: Environment = {program.trial: (Term(trial, DType.I64, varies),)}
        row = trial if row is None else row
        for index, parameter in enumerate(program.parameters):
            if parameter.name in self.varying:
                env[program.body.arguments[index]] = self.rows.load(index, row, parameter.type)
        for number, one in enumerate(program.inputs):
            index = len(program.parameters) + number
            place = row if input_rows is None else input_rows[number]
            env[program.body.arguments[index]] = self.rows.load(index, place, one.type)
        return env

    def outputs(self, env: Environment) -> list[tuple[int, Type, Terms]]:
        """(buffer, type, elements) of each output."""
        first = abi.buffers_of(self.program).outputs
        return [
            (first + index, output.type, env[value])
            for index, (output, value) in enumerate(
                zip(self.program.outputs, self.program.body.yields, strict=False)
            )
        ]

    def store_outputs(self, env: Environment, row: Any) -> None:
        """Stores the outputs of one trial in a row of the buffers."""
        for buffer, type, terms in self.outputs(env):
            for index, term in enumerate(terms):
                self.rows.store(term.llvm, buffer, row, type, index)
