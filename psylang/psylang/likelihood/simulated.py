"""The likelihood of a model that can only be simulated.

At each point of the parameters the plan runs `trials` trials, and the data are compared with the
density of their times, for each choice alone (Turner & Sederberg 2014). Every point has the same
seed: common random numbers take most of the noise out of differences between points.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from psylang.errors import PsylangError
from psylang.likelihood.data import Columns, Floats, numbers, observed
from psylang.likelihood.errors import LikelihoodError
from psylang.likelihood.fitted import Fit
from psylang.likelihood.maximum import SIMULATED, Range, maximise
from psylang.likelihood.smoothed import bin_density, kernel_density

Method = Literal["kde", "bins"]
FLOOR = 1e-7
BINS_MAX = 100_000


class Simulator(Protocol):
    """What is needed of a psylang.Plan."""

    name: str

    @property
    def parameters(self) -> dict[str, NDArray[Any]]: ...

    @property
    def outputs(self) -> dict[str, tuple[int, ...]]: ...

    def run(
        self,
        inputs: Mapping[str, Any] | None = None,
        params: Mapping[str, Any] | None = None,
        *,
        trials: int | None = None,
        seed: int = 0,
        threads: int | None = None,
        record: Sequence[str] | None = None,
    ) -> Mapping[str, NDArray[Any]]: ...


class SimulatedLikelihood:
    """The likelihood of choices and response times under a compiled model.

    outputs: the plan's outputs with the time and with the choice, one number a trial each.
    method: "kde", kernels on the logarithm of time, of `bandwidth` there (None: Silverman's), or
    "bins": a number of bins, of equal width in the logarithm over the times of the data, or their
    edges in time. trials, seed, inputs (one value for all trials), threads: of each run.
    floor: the least density, by unit of time, so that a datum that no simulation resembles costs
    much but not all. Simulations of other choices, undecided ones among them, count as trials.
    LikelihoodError: an argument that does not fit.
    """

    def __init__(
        self,
        plan: Simulator,
        outputs: tuple[str, str] = ("response_time", "choice"),
        *,
        method: Method = "kde",
        trials: int = 10_000,
        seed: int = 1,
        inputs: Mapping[str, Any] | None = None,
        bins: int | Sequence[float] | Floats = 50,
        bandwidth: float | None = None,
        floor: float = FLOOR,
        threads: int | None = None,
    ) -> None:
        if method not in ("kde", "bins"):
            raise LikelihoodError(f"method is {method!r}; there are 'kde' and 'bins'")
        if len(outputs) != 2 or isinstance(outputs, str):
            raise LikelihoodError(f"outputs is {outputs!r}; give the names of time and of choice")
        for name in outputs:
            if plan.outputs.get(name) != ():
                scalars = ", ".join(one for one, shape in plan.outputs.items() if shape == ())
                raise LikelihoodError(
                    f"outputs: `{name}` is no output of one number a trial; there is {scalars}"
                )
        if not (math.isfinite(floor) and floor > 0):
            raise LikelihoodError(f"floor is {floor}; it must be above 0 and finite")
        if bandwidth is not None and not (math.isfinite(bandwidth) and bandwidth > 0):
            raise LikelihoodError(f"bandwidth is {bandwidth}; it must be above 0 and finite")
        self.plan = plan
        self.outputs = tuple(outputs)
        self.method: Method = method
        self.trials = trials
        self.seed = seed
        self.inputs = inputs
        self.bins = _bins(bins)
        self.bandwidth = bandwidth
        self.floor = floor
        self.threads = threads

    def log_density(self, rt: Any, choice: Any, params: Mapping[str, Any]) -> Floats:
        """Of each datum, at that point of the plan's parameters; not below log(floor).

        LikelihoodError: data as of ddm_log_density(), but choices may be any whole numbers. The
        errors of Plan.run().
        """
        rt, choice = observed({"rt": rt, "choice": choice})
        return self._log_density(rt, choice, params)

    def log_likelihood(self, data: Columns, params: Mapping[str, Any]) -> float:
        """The sum over the data, as of fit(). Errors as of log_density()."""
        rt, choice = self._observed(data)
        return float(self._log_density(rt, choice, params).sum())

    def fit(
        self,
        data: Columns,
        start: Mapping[str, float],
        *,
        limits: Mapping[str, tuple[float, float]] | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> Fit:
        """The parameters at the greatest simulated likelihood.

        data: columns named as the outputs, or as of psylang.likelihood.fit(). start: where the
        search begins; its names are the parameters to estimate. limits: (low, high) by name.
        params: values of others. A point that the model refuses has the likelihood 0; at the start
        it is an error. Needs scipy. Standard errors have the noise of the simulation, too.
        LikelihoodError: as of log_likelihood(), or a name or a limit that does not fit.
        """
        rt, choice = self._observed(data)
        params, limits = dict(params or {}), dict(limits or {})
        ranges = ranges_of(self.plan.parameters, start, limits, params)

        def height(given: dict[str, float]) -> float:
            try:
                return float(self._log_density(rt, choice, {**params, **given}).sum())
            except LikelihoodError:
                raise
            except (PsylangError, ArithmeticError):
                return -math.inf

        begin = {name: one.start for name, one in ranges.items()}
        self._log_density(rt, choice, {**params, **begin})  # Its errors are the caller's.
        found = maximise(height, ranges, SIMULATED)
        fixed = {name: float(one) for name, one in params.items() if np.ndim(one) == 0}
        return found.as_fit(self.plan.name, fixed, len(rt))

    def _observed(self, data: Columns) -> tuple[Floats, NDArray[np.int64]]:
        return observed(data, names=(self.outputs[0], self.outputs[1]))

    def _log_density(
        self, rt: Floats, choice: NDArray[np.int64], params: Mapping[str, Any]
    ) -> Floats:
        made = self.plan.run(
            self.inputs,
            params,
            trials=self.trials,
            seed=self.seed,
            threads=self.threads,
            record=self.outputs,
        )
        simulated, chosen = (np.asarray(made[name], np.float64) for name in self.outputs)
        simulated, chosen = simulated.reshape(-1), chosen.reshape(-1)
        total = len(simulated)
        usable = simulated > 0
        density = np.zeros(len(rt))
        edges = self._edges(rt)
        for one in np.unique(choice):
            those = (choice == one) & (rt > 0)
            sample = simulated[usable & (chosen == one)]
            if self.method == "kde":
                found = kernel_density(sample, rt[those], self.bandwidth)
            else:
                found = bin_density(sample, rt[those], edges)
            density[those] = found * (len(sample) / total)
        return np.asarray(np.log(np.maximum(density, self.floor)))

    def _edges(self, rt: Floats) -> Floats:
        if not isinstance(self.bins, int):
            return self.bins
        some = rt[rt > 0]
        if self.method == "kde" or not some.size:
            return np.array([0.0, 1.0])
        low, high = float(some.min()), float(some.max())
        edges = np.geomspace(low, max(high, low * (1 + 1e-6)), self.bins + 1)
        edges[0], edges[-1] = low, max(high, edges[-1])
        return edges


def ranges_of(
    parameters: Mapping[str, NDArray[Any]],
    start: Mapping[str, float],
    limits: Mapping[str, tuple[float, float]],
    params: Mapping[str, Any],
) -> dict[str, Range]:
    """Where a search begins and ends. parameters: those of the plan. Errors as of fit()."""
    known = {name: one for name, one in parameters.items() if np.ndim(one) == 0}
    if not start:
        raise LikelihoodError(f"start is empty; give values of some of {', '.join(known)}")
    made = {}
    for name, value in start.items():
        if name not in known:
            raise LikelihoodError(
                f"start: there is no parameter `{name}` of one number; there is "
                f"{', '.join(known) or 'none'}"
            )
        if name in params:
            raise LikelihoodError(f"{name} is in start and in params; leave it in one of them")
        low, high = limits.get(name, (-math.inf, math.inf))
        if not low <= value <= high or low == high:
            raise LikelihoodError(
                f"start: {name} is {value}; it must be within its limits {low} … {high}"
            )
        scale = max(0.1 * abs(value), 0.05)
        made[name] = Range(float(value), min(scale, (high - low) / 4), low, high)
    lost = [name for name in limits if name not in start]
    if lost:
        raise LikelihoodError(f"limits has {', '.join(lost)}, which start has not")
    return made


def _bins(bins: int | Sequence[float] | Floats) -> int | Floats:
    if isinstance(bins, int):
        if not 1 <= bins <= BINS_MAX:
            raise LikelihoodError(f"bins is {bins}; it must be 1 … {BINS_MAX}, or edges")
        return bins
    edges = numbers("bins", bins)
    if (
        edges.ndim != 1
        or len(edges) < 2
        or not np.isfinite(edges).all()
        or np.any(np.diff(edges) <= 0)
    ):
        raise LikelihoodError("bins: edges must be finite and rise, at least two")
    return edges
