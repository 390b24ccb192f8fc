"""The result of a fit: estimates, their standard errors and intervals, as a table or as data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

NORMAL_95 = 1.959963984540054  # Half the width of 95 % of a normal number, in deviations.


@dataclass(frozen=True)
class Fit:
    """Parameters of a model at the greatest likelihood of the data.

    parameters, standard_errors: by name; fixed: the parameters that were given. An error is NaN if
    the likelihood has no maximum there, and `notes` says why. trials: rows of the data.
    evaluations: of the likelihood. converged: the search ended by its tolerances.
    """

    model: str
    parameters: Mapping[str, float]
    standard_errors: Mapping[str, float]
    fixed: Mapping[str, float]
    log_likelihood: float
    trials: int
    evaluations: int
    converged: bool
    notes: tuple[str, ...] = ()

    @property
    def intervals(self) -> dict[str, tuple[float, float]]:
        """95 % by name: the estimate and 1.96 standard errors to both sides."""
        return {
            name: (value - NORMAL_95 * error, value + NORMAL_95 * error)
            for (name, value), error in zip(
                self.parameters.items(), self.standard_errors.values(), strict=True
            )
        }

    @property
    def aic(self) -> float:
        """Akaike's criterion; smaller is better."""
        return 2 * len(self.parameters) - 2 * self.log_likelihood

    @property
    def bic(self) -> float:
        """The Bayesian criterion of Schwarz; smaller is better."""
        return len(self.parameters) * math.log(self.trials) - 2 * self.log_likelihood

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON can hold it; a number that is not finite is None."""
        return {
            "model": self.model,
            "parameters": {
                name: {
                    "estimate": _finite(value),
                    "standard_error": _finite(self.standard_errors[name]),
                    "low": _finite(self.intervals[name][0]),
                    "high": _finite(self.intervals[name][1]),
                }
                for name, value in self.parameters.items()
            },
            "fixed": dict(self.fixed),
            "log_likelihood": _finite(self.log_likelihood),
            "aic": _finite(self.aic),
            "bic": _finite(self.bic),
            "trials": self.trials,
            "evaluations": self.evaluations,
            "converged": self.converged,
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        ended = "" if self.converged else ", NOT CONVERGED"
        width = max(len(name) for name in (*self.parameters, *self.fixed, "parameter"))
        heads = ("estimate", "std. error", "2.5 %", "97.5 %")
        lines = [
            f"{self.model}: {self.trials} trials, log-likelihood {self.log_likelihood:.3f}, "
            f"AIC {self.aic:.3f}, BIC {self.bic:.3f}{ended}",
            f"{'parameter':<{width}}" + "".join(f"{head:>12}" for head in heads),
        ]
        for name, value in self.parameters.items():
            cells = (value, self.standard_errors[name], *self.intervals[name])
            shown = "".join(f"{'-' if math.isnan(one) else f'{one:.4f}':>12}" for one in cells)
            lines.append(f"{name:<{width}}{shown}")
        lines += [f"{name:<{width}}{value:>12.4f}  fixed" for name, value in self.fixed.items()]
        return "\n".join([*lines, *self.notes])


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
