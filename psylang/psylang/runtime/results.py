"""The results of a run: arrays by name with named axes, and histograms.

results["response_time"], results.response_time     arrays, a trial a row
results.dims["response_time"]                        ("trial",), or ("sequence", "trial", …)
results.to_xarray()                                  an xarray.Dataset, if that is installed
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psylang.runtime.errors import NotSupportedError, listed
from psylang.runtime.histogram import Counts


class Results(Mapping[str, NDArray[Any]]):
    """Arrays by name, in the order of the model's outputs.

    dims: names of each array's axes. histograms: the requested ones. sequences, trials, seed: of
    the run (all trials of a sequence). isa: the instruction set that computed it.
    """

    def __init__(
        self,
        arrays: Mapping[str, NDArray[Any]],
        dims: Mapping[str, tuple[str, ...]],
        histograms: Mapping[str, Counts],
        run: Mapping[str, Any],
    ) -> None:
        self._arrays = dict(arrays)
        self.dims = MappingProxyType(dict(dims))
        self.histograms = MappingProxyType(dict(histograms))
        self.run = MappingProxyType(dict(run))

    def __getitem__(self, name: str) -> NDArray[Any]:
        try:
            return self._arrays[name]
        except KeyError:
            raise KeyError(self._missing(name)) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_"):
            if name in self._arrays:
                return self._arrays[name]
            if name in self.run:
                return self.run[name]
        raise AttributeError(self._missing(name) if not name.startswith("_") else name)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._arrays, *self.run]

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes by name."""
        return {name: array.shape for name, array in self._arrays.items()}

    def to_xarray(self) -> Any:
        """An xarray.Dataset. NotSupportedError: xarray is not installed."""
        try:
            import xarray
        except ImportError:
            raise NotSupportedError(
                "to_xarray() needs xarray: pip install 'psylang[xarray]'"
            ) from None
        data: dict[str, Any] = {
            name: (self.dims[name], array) for name, array in self._arrays.items()
        }
        attributes = {key: value for key, value in self.run.items() if value is not None}
        return xarray.Dataset(data, attrs=attributes)

    def __repr__(self) -> str:
        lines = [
            f"  {name}: {array.dtype} {_axes(self.dims[name], array.shape)}{_summary(array)}"
            for name, array in self._arrays.items()
        ]
        lines += [f"  histogram of {name}: {counts}" for name, counts in self.histograms.items()]
        how = ", ".join(f"{name} {value}" for name, value in self.run.items() if value is not None)
        return "\n".join([f"Results ({how})", *(lines or ["  nothing was recorded"])])

    def _missing(self, name: str) -> str:
        return f"no result `{name}`; there is {listed(self._arrays)}"


def _axes(dims: tuple[str, ...], shape: tuple[int, ...]) -> str:
    return "(" + ", ".join(f"{dim} {size}" for dim, size in zip(dims, shape, strict=True)) + ")"


def _summary(array: NDArray[Any]) -> str:
    if not array.size or array.dtype.kind not in "fiub":
        return ""
    return f", mean {np.mean(array):.6g}"
