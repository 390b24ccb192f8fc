"""The results of a run: arrays by name with named axes, and histograms.

results["response_time"], results.response_time     arrays, a trial a row
results.dims["response_time"]                        ("trial",), or ("sequence", "trial", …)
results.columns()                                    one-dimensional columns, for data frames
results.to_xarray()                                  an xarray.Dataset, if that is installed
results.to_pandas()                                  a pandas.DataFrame, likewise
results.save(path), Results.load(path)               one file of NumPy's format .npz
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from types import MappingProxyType
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from psylang.runtime.errors import MissingResultError, NotSupportedError, listed
from psylang.runtime.execute import Given
from psylang.runtime.histogram import Counts
from psylang.runtime.left import Left
from psylang.runtime.results_file import load, save


class Results(dict[str, NDArray[Any]]):
    """Arrays by name, in the order of the model's outputs: a dictionary that cannot be changed, so
    that whatever takes a dictionary of columns, like pandas.DataFrame, takes it.

    dims: names of each array's axes. histograms: the requested ones. sequences, trials, seed: of
    the run (all trials of a sequence). isa: the instruction set that computed it. nan: by output,
    in how many trials it is NaN; outputs without NaN are not listed.
    """

    def __init__(
        self,
        arrays: Mapping[str, NDArray[Any]],
        dims: Mapping[str, tuple[str, ...]],
        histograms: Mapping[str, Counts],
        run: Mapping[str, Any],
    ) -> None:
        super().__init__(arrays)
        self.dims = MappingProxyType(dict(dims))
        self.histograms = MappingProxyType(dict(histograms))
        self.run = MappingProxyType(dict(run))
        self.nan: dict[str, int] = {}
        self._left: Left | None = None  # For run(after=…); not in files.

    def __missing__(self, name: str) -> NDArray[Any]:
        raise MissingResultError(self._missing(name))

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise NotSupportedError("results are not changed; dict(results) makes a copy that can be")

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        parts = (dict(self), dict(self.dims), dict(self.histograms), dict(self.run))
        return (type(self), parts, {"nan": self.nan, "_left": self._left})

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_"):
            if name in self:
                return self[name]
            if name in self.run:
                return self.run[name]
        raise AttributeError(self._missing(name) if not name.startswith("_") else name)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self, *self.run]

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes by name."""
        return {name: array.shape for name, array in self.items()}

    def to_xarray(self) -> Any:
        """An xarray.Dataset. NotSupportedError: xarray is not installed."""
        try:
            import xarray
        except ImportError:
            raise NotSupportedError(
                "to_xarray() needs xarray: pip install 'psylang[xarray]'"
            ) from None
        data: dict[str, Any] = {name: (self.dims[name], array) for name, array in self.items()}
        attributes = {key: value for key, value in self.run.items() if value is not None}
        return xarray.Dataset(data, attrs=attributes)

    def to_pandas(self) -> Any:
        """A pandas.DataFrame of columns(). NotSupportedError: pandas is not installed."""
        try:
            import pandas
        except ImportError:
            raise NotSupportedError(
                "to_pandas() needs pandas: pip install 'psylang[pandas]'"
            ) from None
        return pandas.DataFrame(self.columns())

    def save(self, path: str | PathLike[str]) -> None:
        """Writes everything into one file, under that very name. ResultsFileError: it cannot be
        written."""
        save(path, self, self.dims, self.histograms, self.run, self.nan)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Results:
        """What save() wrote. ResultsFileError: there is no such file, or it is another one."""
        return cls._made(*load(path))

    @classmethod
    def _made(cls, parts: Sequence[Any], nan: dict[str, int]) -> Results:
        made = cls(*parts)
        made.nan.update(nan)
        return made

    def columns(self) -> dict[str, NDArray[Any]]:
        """One-dimensional columns of one length, a trial a row, for tables and data frames: an
        output with axes of its own has a column an element, like `activity[0]`; with several
        sequences the first columns are `sequence` and `trial`."""
        if not self:
            return {}
        trial = next(iter(self.dims.values())).index("trial")
        front = next(iter(self.values())).shape[: trial + 1]
        made: dict[str, NDArray[Any]] = {}
        if trial:
            numbers = np.indices(front).reshape(len(front), -1)
            made |= {"sequence": numbers[0], "trial": numbers[1]}
        for name, array in self.items():
            rows = array.reshape(-1, *array.shape[trial + 1 :])
            for index in np.ndindex(rows.shape[1:]):
                place = f"[{', '.join(map(str, index))}]" if index else ""
                made[f"{name}{place}"] = rows[(slice(None), *index)]
        return made

    def __repr__(self) -> str:
        lines = [
            f"  {name}: {array.dtype} {_axes(self.dims[name], array.shape)}{_summary(array)}"
            for name, array in self.items()
        ]
        lines += [f"  histogram of {name}: {counts}" for name, counts in self.histograms.items()]
        how = ", ".join(f"{name} {value}" for name, value in self.run.items() if value is not None)
        return "\n".join([f"Results ({how})", *(lines or ["  nothing was recorded"])])

    def _missing(self, name: str) -> str:
        return f"no result `{name}`; there is {listed(self)}"


def results_of(
    arrays: Mapping[str, NDArray[Any]],
    axes: Mapping[str, tuple[str, ...]],
    histograms: Mapping[str, Counts],
    given: Given,
    how: tuple[str, str, str, str],
    rows: int | None = None,
) -> Results:
    """The results of a run. arrays: a trial a row; axes: names of an output's own axes. how: the
    model, the numerics, the precision and the instruction set. rows: for an interrupted run only
    the first rows, as one row of trials."""
    model, numerics, precision, isa = how
    front: tuple[str, ...] = ("trial",)
    shape: tuple[int, ...] = (given.trials,)
    if rows is not None:
        arrays = {name: array[:rows] for name, array in arrays.items()}
        shape = (rows,)
    elif given.sequences > 1:
        front, shape = ("sequence", "trial"), (given.sequences, given.trials)
        arrays = {name: array.reshape(*shape, *array.shape[1:]) for name, array in arrays.items()}
    run = {
        "model": model,
        "trials": given.trials if rows is None else rows,
        "sequences": given.sequences if rows is None else 1,
        **({"first": given.first} if given.first else {}),
        "seed": given.seed,
        "numerics": numerics,
        "precision": precision,
        "isa": isa,
    }
    return Results(arrays, {name: (*front, *axes[name]) for name in arrays}, histograms, run)


def _axes(dims: tuple[str, ...], shape: tuple[int, ...]) -> str:
    return "(" + ", ".join(f"{dim} {size}" for dim, size in zip(dims, shape, strict=True)) + ")"


def _summary(array: NDArray[Any]) -> str:
    if not array.size or array.dtype.kind not in "fiub":
        return ""
    return f", mean {np.mean(array):.6g}"
