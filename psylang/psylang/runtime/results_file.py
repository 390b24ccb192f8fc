"""Results in a file: NumPy's .npz with the arrays, and the rest as JSON. Nothing in it is executed.

output NAME            the array of an output
histogram N edges …    edges and counts of a histogram, whose number is in the JSON
results                the JSON: version, outputs, axes, histograms, run, nan
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psylang.errors import PsylangError
from psylang.runtime.histogram import Counts

VERSION = 1
HEAD = "results"


class ResultsFileError(PsylangError, OSError):
    """A file of results cannot be written or read."""


def save(
    path: str | PathLike[str],
    outputs: Mapping[str, NDArray[Any]],
    dims: Mapping[str, tuple[str, ...]],
    histograms: Mapping[str, Counts],
    run: Mapping[str, Any],
    nan: Mapping[str, int],
) -> None:
    """See Results.save."""
    arrays: dict[str, NDArray[Any]] = {f"output {name}": one for name, one in outputs.items()}
    head = {
        "version": VERSION,
        "outputs": list(outputs),
        "dims": {name: list(axes) for name, axes in dims.items()},
        "histograms": {name: _kept(counts, arrays) for name, counts in histograms.items()},
        "run": dict(run),
        "nan": dict(nan),
    }
    arrays[HEAD] = np.array(json.dumps(head))
    try:
        with Path(path).open("wb") as file:
            np.savez_compressed(file, allow_pickle=False, **arrays)
    except OSError as error:
        raise ResultsFileError(f"results cannot be written to {path}: {error}") from error


def load(path: str | PathLike[str]) -> tuple[tuple[Any, ...], dict[str, int]]:
    """(arrays, axes, histograms, run), and nan. See Results.load."""
    try:
        with np.load(path, allow_pickle=False) as file:
            held = {name: file[name] for name in file.files}
        head = json.loads(held[HEAD].item())
        if head["version"] != VERSION:
            raise ResultsFileError(
                f"{path} has results of version {head['version']}; this Psylang reads {VERSION}"
            )
        arrays = {name: held[f"output {name}"] for name in head["outputs"]}
        dims = {name: tuple(axes) for name, axes in head["dims"].items()}
        histograms = {name: _counts(one, held) for name, one in head["histograms"].items()}
        return (arrays, dims, histograms, head["run"]), head["nan"]
    except ResultsFileError:
        raise
    except OSError as error:
        raise ResultsFileError(f"results cannot be read from {path}: {error}") from error
    except (KeyError, ValueError, TypeError, AttributeError, EOFError, zipfile.BadZipFile):
        raise ResultsFileError(
            f"{path} has no results of Psylang; Results.save() writes such files"
        ) from None


def _kept(counts: Counts, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
    """The JSON of a histogram, whose arrays are added to `arrays`."""
    number = sum(name.endswith(" edges") for name in arrays)
    arrays[f"histogram {number} edges"], arrays[f"histogram {number} counts"] = (
        counts.edges,
        counts.counts,
    )
    return {
        "number": number,
        "outside": [counts.below, counts.above, counts.nan],
        "by": [[value, _kept(one, arrays)] for value, one in counts.by.items()],
    }


def _counts(one: Mapping[str, Any], held: Mapping[str, NDArray[Any]]) -> Counts:
    front = f"histogram {one['number']}"
    made = Counts(held[f"{front} edges"], held[f"{front} counts"], *one["outside"])
    made.by.update({value: _counts(part, held) for value, part in one["by"]})
    return made


__all__ = ["ResultsFileError", "load", "save"]
