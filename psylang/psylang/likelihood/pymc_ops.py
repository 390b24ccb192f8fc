"""Likelihoods as operations of PyTensor. Only psylang.likelihood.pymc imports it: PyMC is there.

Points of parameters are the sampler's, and it may try any: a point beyond the limits has the
likelihood 0, which the sampler refuses. Arrays of wrong shapes are mistakes of the caller.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.gradient import DisconnectedType, grad_undefined
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op

from psylang.errors import PsylangError
from psylang.likelihood.data import Floats
from psylang.likelihood.ddm import PARAMETERS
from psylang.likelihood.ddm_gradient import log_densities_and_slopes
from psylang.likelihood.errors import LikelihoodError
from psylang.likelihood.simulated import SimulatedLikelihood


class DDMOp(Op):  # type: ignore[misc]
    """Log-densities of the drift-diffusion model, and their slopes by its seven parameters.

    Inputs: data (trials, 2) of times and choices, then PARAMETERS, each a number or one a trial.
    Outputs: (trials,), and (7, trials), of which gradients are made.
    """

    __props__ = ()

    def make_node(self, data: Any, *parameters: Any) -> Any:
        inputs = [pt.as_tensor_variable(one).astype("float64") for one in (data, *parameters)]
        outputs = [pt.vector(dtype="float64"), pt.matrix(dtype="float64")]
        return Apply(self, inputs, outputs)

    def perform(self, node: Any, inputs: Sequence[Any], output_storage: Any) -> None:
        data, *given = inputs
        trials = len(data)
        rows = {
            name: np.broadcast_to(_of_length(name, np.asarray(one), trials), (trials,))
            for name, one in zip(PARAMETERS, given, strict=True)
        }
        right = within_limits(rows) & _are_data(data)
        logs, slopes = np.full(trials, -np.inf), np.zeros((len(PARAMETERS), trials))
        if right.any():
            some = {name: one[right] for name, one in rows.items()}
            rt, upper = data[right, 0], data[right, 1] == 1
            logs[right], slopes[:, right] = log_densities_and_slopes(rt, upper, some)
        output_storage[0][0], output_storage[1][0] = logs, slopes

    def connection_pattern(self, node: Any) -> list[list[bool]]:
        return [[False, False], *([True, True] for _ in PARAMETERS)]

    def grad(self, inputs: Sequence[Any], output_gradients: Sequence[Any]) -> list[Any]:
        by_trial, by_slopes = output_gradients
        if not isinstance(by_slopes.type, DisconnectedType):
            return _undefined(self, inputs, "the density has a gradient, but no second derivatives")
        _, slopes = self(*inputs)
        made = [by_trial * slopes[i] for i in range(len(PARAMETERS))]
        summed = [
            one.sum() if parameter.ndim == 0 else one
            for one, parameter in zip(made, inputs[1:], strict=True)
        ]
        return [DisconnectedType()(), *summed]


class SimulatedOp(Op):  # type: ignore[misc]
    """Log-densities of data under a plan that is simulated; it has no gradient.

    Inputs: data (trials, 2) of times and choices, then parameters of the plan, of its shapes, in
    the order of `names`. Output: (trials,). fixed: values of others.
    """

    def __init__(
        self, likelihood: SimulatedLikelihood, names: Sequence[str], fixed: Mapping[str, Any]
    ) -> None:
        self.likelihood = likelihood
        self.names = tuple(names)
        self.fixed = dict(fixed)
        self.begun = False  # A point that the model refuses is an error at the start, as in a fit.

    def make_node(self, data: Any, *parameters: Any) -> Any:
        inputs = [pt.as_tensor_variable(one).astype("float64") for one in (data, *parameters)]
        return Apply(self, inputs, [pt.vector(dtype="float64")])

    def perform(self, node: Any, inputs: Sequence[Any], output_storage: Any) -> None:
        data, *given = inputs
        output_storage[0][0] = self._at(data, dict(zip(self.names, given, strict=True)))

    def _at(self, data: Any, point: Mapping[str, Any]) -> Floats:
        if not all(np.isfinite(one).all() for one in point.values()):
            return np.full(len(data), -np.inf)
        begun, self.begun = self.begun, True
        try:
            return self.likelihood.log_density(data[:, 0], data[:, 1], {**self.fixed, **point})
        except LikelihoodError:
            raise
        except (PsylangError, ArithmeticError):
            if not begun:
                raise
            return np.full(len(data), -np.inf)

    def connection_pattern(self, node: Any) -> list[list[bool]]:
        return [[False], *([True] for _ in self.names)]

    def grad(self, inputs: Sequence[Any], output_gradients: Sequence[Any]) -> list[Any]:
        why = (
            "a simulated likelihood has no gradient, and NUTS and HMC need one; sample with "
            "step=pm.Slice() or pm.DEMetropolisZ()"
        )
        return _undefined(self, inputs, why)


def _undefined(op: Any, inputs: Sequence[Any], why: str) -> list[Any]:
    """No gradient, and the reason; data have none either way."""
    rest = [grad_undefined(op, i, one, why) for i, one in enumerate(inputs) if i]
    return [DisconnectedType()(), *rest]


def within_limits(p: Mapping[str, Floats]) -> Any:
    """The rows that ddm.checked() would let pass."""
    with np.errstate(invalid="ignore"):
        right = np.logical_and.reduce([np.isfinite(one) for one in p.values()])
        right &= (p["a"] > 0) & (p["t"] >= 0) & (p["sv"] >= 0) & (p["sz"] >= 0) & (p["st"] >= 0)
        right &= (p["z"] > 0) & (p["z"] < 1) & (p["st"] <= 2 * p["t"])
        return right & (p["z"] - p["sz"] / 2 > 0) & (p["z"] + p["sz"] / 2 < 1)


def _are_data(data: Floats) -> Any:
    return np.isfinite(data[:, 0]) & (data[:, 0] >= 0) & np.isin(data[:, 1], (0, 1))


def _of_length(name: str, array: Any, trials: int) -> Any:
    if array.ndim == 0 or array.shape == (trials,):
        return array
    raise LikelihoodError(
        f"{name} has shape {array.shape}; give one number, or {trials}, one for each trial"
    )
