"""Compositions of PsyNeuLink as models. PsyNeuLink is imported when one is read."""

from psylang.pnl.environment import PsyNeuLinkError
from psylang.pnl.importer import Entry, ImportedModel, from_psyneulink
from psylang.pnl.refusals import NotImportedError, Refusal
from psylang.pnl.restarting import restart
from psylang.pnl.running import results_of, run_arguments

__all__ = [
    "Entry",
    "ImportedModel",
    "NotImportedError",
    "PsyNeuLinkError",
    "Refusal",
    "from_psyneulink",
    "restart",
    "results_of",
    "run_arguments",
]
