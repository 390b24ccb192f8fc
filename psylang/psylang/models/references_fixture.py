"""The stored values of PsyNeuLink (references/values), and library models with their parameters.

For tests and benchmarks, in the repository only: an installed psylang has no references.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from psylang.model import Model
from psylang.models import lca, multitasking

VALUES = Path(__file__).parents[2] / "references" / "values"
Numbers = Mapping[str, Any]


def stored(name: str) -> tuple[Numbers, Numbers]:
    """(parameters, columns of the trials) of a reference. FileNotFoundError: there is none."""
    content = json.loads((VALUES / f"{name}.json").read_text(encoding="utf-8"))
    return content["parameters"], content["trials"]


def columns(trials: Numbers, *names: str) -> dict[str, list[Any]]:
    """The parts of each trial's input, by the names of the model's inputs."""
    return {name: [row[k] for row in trials["input"]] for k, name in enumerate(names)}


def lca_of(p: Numbers) -> Model:
    """The model of the reference `lca`."""
    return lca(
        p["units"],
        p["leak"],
        p["competition"],
        p["self_excitation"],
        p["noise_standard_deviation"],
        p["threshold"],
        p["time_step_size"],
        p["gain"],
        p["bias"],
        seed=p["seed"],
    )


def multitasking_of(p: Numbers) -> Model:
    """The model of the reference `multitasking`."""
    return multitasking(
        p["evidence"],
        p["leak"],
        p["competition"],
        p["self_excitation"],
        p["noise_standard_deviation"],
        p["threshold"],
        p["time_step_size"],
        hidden=p["hidden"],
        seed=p["seed"],
    )
