"""Likelihoods for models of PyMC (psylang[pymc]), in closed form and simulated.

    with pm.Model():
        v, a, t = pm.Normal("v"), pm.HalfNormal("a", 2), pm.Uniform("t", 0, rt.min())
        psylang.likelihood.pymc.ddm("trials", {"rt": rt, "choice": choice}, v=v, a=a, t=t)
        found = pm.sample()

PyMC is imported by the first call. The closed form has an analytic gradient, for NUTS; a simulated
likelihood has none, for pm.Slice and pm.DEMetropolisZ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from psylang.likelihood.data import Columns, Floats, numbers, observed
from psylang.likelihood.ddm import PARAMETERS, checked
from psylang.likelihood.errors import LikelihoodError
from psylang.likelihood.pymc_environment import PyMCError
from psylang.likelihood.pymc_environment import pymc as _pymc
from psylang.likelihood.simulated import SimulatedLikelihood, Simulator

__all__ = ["PyMCError", "ddm", "ddm_log_density", "simulated", "simulated_log_density"]
SEEDS = 2**63
SPREADS = ("sv", "sz", "st")
# The first parameter of each distribution: PyMC takes the shape of a trial, two columns, from it.
COLUMNS = np.array([0.0, 1.0])


def ddm(
    name: str,
    data: Columns,
    *,
    v: Any,
    a: Any,
    z: Any = 0.5,
    t: Any = 0.0,
    sv: Any = 0.0,
    sz: Any = 0.0,
    st: Any = 0.0,
    plan: Simulator | None = None,
) -> Any:
    """A pm.CustomDist of `data` under the drift-diffusion model, of (trials, 2): times, choices.

    Called within `with pm.Model():`. data: as of psylang.likelihood.fit(). Parameters: numbers,
    arrays or variables of PyMC, as of psylang.likelihood.ddm_log_density(); each is one number, or
    one for each trial. A point that is beyond their limits has the likelihood 0.
    plan: the compiled psylang.models.ddm_vazt, which draws predictions
    (pm.sample_posterior_predictive); parameters that it varies are drawn with, others are its own.
    PyMCError: PyMC is missing or of another version. LikelihoodError: data or numbers that have no
    likelihood, or a shape that does not fit.
    """
    pm = _pymc()
    table = _table(data, None, (0, 1))
    parameters = {"v": v, "a": a, "z": z, "t": t, "sv": sv, "sz": sz, "st": st}
    given = _ddm_parameters(parameters, len(table))
    return pm.CustomDist(
        name,
        COLUMNS,
        *given.values(),
        logp=_ddm_logp,
        random=None if plan is None else _ddm_drawn(plan, given),
        signature=_signature([()] * len(given)),
        observed=table,
    )


def ddm_log_density(
    data: Columns,
    *,
    v: Any,
    a: Any,
    z: Any = 0.5,
    t: Any = 0.0,
    sv: Any = 0.0,
    sz: Any = 0.0,
    st: Any = 0.0,
) -> Any:
    """The log-density of each trial as a tensor, for a pm.Potential of your own.

    Arguments and errors as of ddm().
    """
    _pymc()
    table = _table(data, None, (0, 1))
    parameters = {"v": v, "a": a, "z": z, "t": t, "sv": sv, "sz": sz, "st": st}
    return _ddm_tensor(table, *_ddm_parameters(parameters, len(table)).values())


def simulated(
    name: str, likelihood: SimulatedLikelihood, data: Columns, params: Mapping[str, Any]
) -> Any:
    """A pm.CustomDist of `data` under the plan of `likelihood`, of (trials, 2): times, choices.

    Called within `with pm.Model():`. data: as of SimulatedLikelihood.fit(). params: parameters that
    the plan varies, as numbers, arrays or variables of PyMC, of the shapes that the plan has. A
    point that the model refuses has the likelihood 0; if it is the first one, its error is raised.
    There is no gradient: give pm.sample() a step of pm.Slice or pm.DEMetropolisZ. Predictions
    (pm.sample_posterior_predictive) are runs of the plan.
    PyMCError: PyMC is missing or of another version. LikelihoodError: data that have no likelihood,
    a name that the plan has not, or a shape that does not fit.
    """
    pm = _pymc()
    table = _table(data, (likelihood.outputs[0], likelihood.outputs[1]), None)
    variables, fixed = _simulated_parameters(likelihood, params)
    cores = [np.shape(likelihood.plan.parameters[one]) for one in variables]
    drawn = _Drawn(likelihood.plan, [*variables], fixed, likelihood.outputs, likelihood.inputs)

    def logp(value: Any, _: Any, *given: Any) -> Any:
        point = [_core(one, len(core)) for one, core in zip(given, cores, strict=True)]
        named = dict(zip(variables, point, strict=True))
        return _simulated_tensor(likelihood, value, named, fixed)

    return pm.CustomDist(
        name,
        COLUMNS,
        *variables.values(),
        logp=logp,
        random=drawn,
        signature=_signature(cores),
        observed=table,
    )


def simulated_log_density(
    likelihood: SimulatedLikelihood, data: Columns, params: Mapping[str, Any]
) -> Any:
    """The log-density of each trial as a tensor, for a pm.Potential of your own.

    Arguments and errors as of simulated().
    """
    _pymc()
    table = _table(data, (likelihood.outputs[0], likelihood.outputs[1]), None)
    return _simulated_tensor(likelihood, table, *_simulated_parameters(likelihood, params))


class _Drawn:
    """Predictions of PyMC as runs of a plan: times and choices of each trial.

    names: of the parameters that PyMC gives; those that the plan does not vary are left out.
    """

    def __init__(
        self,
        plan: Simulator,
        names: Sequence[str],
        fixed: Mapping[str, Any],
        outputs: Sequence[str],
        inputs: Mapping[str, Any] | None = None,
    ) -> None:
        self.plan = plan
        self.names = tuple(names)
        self.fixed = dict(fixed)
        self.outputs = tuple(outputs)
        self.inputs = inputs

    def __call__(self, _: Any, *given: Any, rng: Any = None, size: Any = None) -> Floats:
        known = self.plan.parameters
        arrays = {
            name: (np.asarray(one, np.float64), np.shape(known[name]))
            for name, one in zip(self.names, given, strict=True)
            if name in known
        }
        batches = [one.shape[: one.ndim - len(core)] for one, core in arrays.values()]
        shape = np.broadcast_shapes(*batches) if size is None else tuple(map(int, size))
        trials = int(np.prod(shape))
        rows = {
            name: np.broadcast_to(one, (*shape, *core)).reshape(trials, *core)
            for name, (one, core) in arrays.items()
        }
        seed = int(np.random.default_rng(rng).integers(1, SEEDS, dtype=np.int64))
        made = self.plan.run(
            self.inputs, {**self.fixed, **rows}, trials=trials, seed=seed, record=self.outputs
        )
        columns = [np.asarray(made[name], np.float64).reshape(trials) for name in self.outputs]
        return np.stack(columns, axis=-1).reshape(*shape, 2)


def _ddm_logp(value: Any, _: Any, *parameters: Any) -> Any:
    return _ddm_tensor(value, *(_core(one, 0) for one in parameters))


def _ddm_tensor(table: Any, *parameters: Any) -> Any:
    from psylang.likelihood.pymc_ops import DDMOp

    return DDMOp()(table, *parameters)[0]


def _simulated_tensor(
    likelihood: SimulatedLikelihood,
    table: Floats,
    variables: Mapping[str, Any],
    fixed: Mapping[str, Any],
) -> Any:
    from psylang.likelihood.pymc_ops import SimulatedOp

    return SimulatedOp(likelihood, tuple(variables), fixed)(table, *variables.values())


def _signature(cores: Sequence[tuple[int, ...]]) -> str:
    """That of the distribution, as NumPy writes the shapes of generalised functions."""
    named = [",".join(f"p{i}d{axis}" for axis in range(len(core))) for i, core in enumerate(cores)]
    return f"(columns),{','.join(f'({one})' for one in named)}->(columns)"


def _core(parameter: Any, dimensions: int) -> Any:
    """Without the axis of length 1 that PyMC puts in front of what is one for all trials."""
    one_for_all = parameter.ndim == dimensions + 1 and parameter.type.shape[0] == 1
    return parameter[0] if one_for_all else parameter


def _ddm_parameters(given: Mapping[str, Any], trials: int) -> dict[str, Any]:
    """Variables as they are, numbers as checked arrays."""
    variables = _variables(given)
    constants = {name: numbers(name, one) for name, one in given.items() if name not in variables}
    for name, one in (variables | constants).items():
        _refuse_shape(name, one, (), trials)
    # Values of variables that fit any number beside them.
    fitting = {"v": 0.0, "a": 1.0, "z": 0.5, "t": constants.get("st", 0.0)}
    checked({**fitting, "sv": 0.0, "sz": 0.0, "st": 0.0, **constants})
    return {name: variables.get(name, constants.get(name)) for name in PARAMETERS}


def _ddm_drawn(plan: Simulator, given: Mapping[str, Any]) -> _Drawn:
    """LikelihoodError: the plan would draw with a parameter of its own."""
    zero = [one for one in SPREADS if isinstance(given[one], np.ndarray) and not given[one].any()]
    wanted = [name for name in PARAMETERS if name not in zero]
    lost = [name for name in wanted if name not in plan.parameters]
    if lost:
        raise LikelihoodError(
            f"plan: it does not vary {', '.join(lost)}; give "
            f"psylang.compile(psylang.models.ddm_vazt(), vary={wanted})"
        )
    return _Drawn(plan, PARAMETERS, {}, ("response_time", "choice"))


def _simulated_parameters(
    likelihood: SimulatedLikelihood, params: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Floats]]:
    """The variables, and the numbers, by name."""
    known = likelihood.plan.parameters
    for name in params:
        if name not in known:
            raise LikelihoodError(
                f"params: there is no parameter `{name}`; there is {', '.join(known) or 'none'}"
            )
    variables = _variables(params)
    fixed = {name: numbers(name, one) for name, one in params.items() if name not in variables}
    for name, one in (variables | fixed).items():
        _refuse_shape(name, one, np.shape(known[name]), None)
    return variables, fixed


def _variables(given: Mapping[str, Any]) -> dict[str, Any]:
    from pytensor.graph.basic import Variable

    return {name: one for name, one in given.items() if isinstance(one, Variable)}


def _refuse_shape(name: str, one: Any, shape: tuple[int, ...], trials: int | None) -> None:
    """trials: also a number for each trial is right. An unknown length is seen when it runs."""
    found = one.shape if isinstance(one, np.ndarray) else one.type.shape
    rights = [shape] if trials is None else [shape, (trials,)]
    for right in rights:
        if len(found) == len(right) and all(
            a is None or a == b for a, b in zip(found, right, strict=True)
        ):
            return
    wanted = f"an array of shape {shape}" if shape else "one number"
    rest = "" if trials is None else f", or {trials}, one for each trial"
    raise LikelihoodError(f"{name} has shape {found}; give {wanted}{rest}")


def _table(data: Columns, names: tuple[str, str] | None, allowed: tuple[int, ...] | None) -> Floats:
    rt, choice = observed(data, allowed, names)
    return np.stack([rt, choice.astype(np.float64)], axis=-1)
