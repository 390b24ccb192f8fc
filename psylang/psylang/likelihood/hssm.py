"""A compiled model as a simulator for HSSM: for predictions of its posterior.

HSSM calls `simulator_fun(theta=…, random_state=…, n_replicas=…)` and reads the attributes
`model_name`, `choices` and `obs_dim` of the function, as `decorate_atomic_simulator` of
ssm-simulators (ssms.hssm_support) sets them. Neither is needed here: it is a plain callable.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from psylang.likelihood.data import Floats, numbers
from psylang.likelihood.errors import LikelihoodError
from psylang.likelihood.simulated import Simulator

SEEDS = 2**63


class HSSMSimulator:
    """Simulates times and responses of a plan in the way that HSSM asks for.

    parameters: the plan's parameters in the order of HSSM's list_params. choices: by choice of the
    plan HSSM's response; by default 1 for the choice 1 and -1 for 0. params: values of other
    parameters. outputs: with time and choice.
    LikelihoodError: a name that the plan has not, or no choices.
    """

    obs_dim = 2

    def __init__(
        self,
        plan: Simulator,
        parameters: Sequence[str],
        *,
        choices: Mapping[int, int] | None = None,
        params: Mapping[str, Any] | None = None,
        outputs: tuple[str, str] = ("response_time", "choice"),
    ) -> None:
        for what, names, known in (
            ("parameters", parameters, plan.parameters),
            ("params", params or {}, plan.parameters),
            ("outputs", outputs, plan.outputs),
        ):
            lost = [name for name in names if name not in known]
            if lost:
                raise LikelihoodError(
                    f"{what}: there is no `{lost[0]}`; there is {', '.join(known)}"
                )
        self.plan = plan
        self.parameters = tuple(parameters)
        self.responses = dict({0: -1, 1: 1} if choices is None else choices)
        if not self.responses or not self.parameters:
            raise LikelihoodError("parameters and choices must not be empty")
        self.params = dict(params or {})
        self.outputs = outputs
        self.model_name = plan.name
        self.choices = sorted(self.responses.values())

    def __call__(
        self, theta: Any, random_state: Any = None, n_replicas: int = 1, **_: Any
    ) -> Floats:
        """Times and responses: (rows of theta, 2), or (rows of theta, n_replicas, 2) of several.

        theta: a row of parameters a trial, or one row. random_state: a seed, a NumPy generator, or
        None for another seed each time. LikelihoodError: theta has another shape, or the plan made
        a choice that `choices` has not, such as -1 of an undecided trial. The errors of Plan.run().
        """
        rows = np.atleast_2d(numbers("theta", theta))
        if rows.ndim != 2 or rows.shape[1] != len(self.parameters):
            raise LikelihoodError(
                f"theta has shape {rows.shape}; give (trials, {len(self.parameters)}), the columns "
                f"{', '.join(self.parameters)}"
            )
        if n_replicas < 1:
            raise LikelihoodError(f"n_replicas is {n_replicas}; it must be 1 or more")
        wide = np.repeat(rows, n_replicas, axis=0)
        made = self.plan.run(
            None,
            {**self.params, **dict(zip(self.parameters, wide.T, strict=True))},
            trials=len(wide),
            seed=_seed(random_state),
            record=self.outputs,
        )
        times, chosen = (np.asarray(made[name], np.float64) for name in self.outputs)
        unknown = ~np.isin(chosen, list(self.responses))
        if unknown.any():
            raise LikelihoodError(
                f"{unknown.sum()} of {len(chosen)} trials have the choice {chosen[unknown][0]:g}, "
                f"for which choices has no response; it has {', '.join(map(str, self.responses))}"
            )
        responses = np.empty(len(chosen))
        for choice, response in self.responses.items():
            responses[chosen == choice] = response
        shape = (len(rows), 2) if n_replicas == 1 else (len(rows), n_replicas, 2)
        return np.stack([times, responses], axis=-1).reshape(shape)


def _seed(random_state: Any) -> int:
    if random_state is None or isinstance(random_state, np.random.Generator):
        rng = np.random.default_rng() if random_state is None else random_state
        return int(rng.integers(1, SEEDS, dtype=np.int64, endpoint=False))
    try:
        return int(random_state)
    except (TypeError, ValueError):
        raise LikelihoodError(
            f"random_state is {random_state!r}; give a seed or a numpy.random.Generator"
        ) from None
