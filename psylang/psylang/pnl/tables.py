"""Tables of supported and refused parts, by the names of PsyNeuLink's classes.

Converters register themselves here, so that the matrix in the documentation (matrix.py) lists the
very tables that the importer uses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from psylang.pnl.refusals import RefusedError

Kind = Literal[
    "mechanism",
    "function",
    "integrator",
    "noise",
    "port function",
    "output port function",
    "condition",
]
F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Support:
    """form: Psylang's form. note: limits."""

    name: str
    form: str
    note: str
    convert: Callable[..., Any]


TABLES: dict[Kind, dict[str, Support]] = {
    "mechanism": {},
    "function": {},
    "integrator": {},
    "noise": {},
    "port function": {},
    "output port function": {},
    "condition": {},
}

# Known and refused, with the nearest form that is imported.
REFUSED: dict[Kind, dict[str, str]] = {
    "mechanism": {
        "AutoAssociativeLearningMechanism": "train in PsyNeuLink, and import the matrices",
        "CompositionInterfaceMechanism": "put nested mechanisms into the outer composition",
        "ContrastiveHebbianMechanism": "a RecurrentTransferMechanism with a fixed matrix",
        "EpisodicMemoryMechanism": "a ProcessingMechanism with a UserDefinedFunction",
        "KohonenMechanism": "a TransferMechanism with a fixed matrix",
        "LearningMechanism": "train in PsyNeuLink, and import the matrices",
        "LossMechanism": "train in PsyNeuLink, and import the matrices",
    },
    "function": {
        "BinomialDistort": "a ProcessingMechanism with it",
    },
    "integrator": {},
    "noise": {"UniformToNormalDist": "NormalDist"},
    "port function": {},
    "output port function": {},
    "condition": {},
}


def converts(kind: Kind, name: str, form: str, note: str = "") -> Callable[[F], F]:
    """Registers a converter of the class `name`."""

    def register(convert: F) -> F:
        TABLES[kind][name] = Support(name, form, note, convert)
        return convert

    return register


def converter(kind: Kind, name: str) -> Callable[..., Any]:
    """The converter of a class. RefusedError: there is none."""
    found = TABLES[kind].get(name)
    if found is None:
        raise RefusedError(f"the {kind} {name} is not imported", f"nearest: {nearest(kind, name)}")
    return found.convert


def nearest(kind: Kind, name: str) -> str:
    """The nearest imported form of a class."""
    return REFUSED[kind].get(name) or "one of " + ", ".join(sorted(TABLES[kind]))
