"""Models that are one drift-diffusion process of two constant thresholds, and nothing else.

The density of their choices and times has a closed form. Its parameters are fields of the one
component, DDM or Diffusion.
"""

from __future__ import annotations

from collections.abc import Mapping

from psylang.model.blueprint import Blueprint
from psylang.model.conditions import AllHaveRun
from psylang.model.decision import DDM
from psylang.model.diffusion import Diffusion
from psylang.model.integrators import LATE
from psylang.model.mechanism import Mechanism
from psylang.model.rules import ClosedForm

# Fields of the closed form, by their places in the component; a component without a place has 0.
DDM_PLACES: Mapping[str, str] = {
    "drift": "integrator.rate",
    "threshold": "integrator.threshold",
    "noise": "integrator.noise",
    "dt": "integrator.dt",
    "starting_point": "integrator.initial",
    "non_decision_time": "non_decision_time",
}
DIFFUSION_PLACES: Mapping[str, str] = {
    name: name
    for name in (
        *("drift", "threshold", "noise", "dt", "starting_point", "non_decision_time"),
        *("drift_deviation", "start_range", "time_range"),
    )
}


def closed_form_of(model: Blueprint) -> ClosedForm | None:
    """None: the model is something else."""
    if len(model.mechanisms) != 1 or not isinstance(model.termination, AllHaveRun):
        return None
    several = (model.projections, model.arriving, model.conditions, model.nests, model.closing)
    if any(several) or model.search is not None or model.timing is not None:
        return None
    (mechanism,) = model.mechanisms.values()
    places = _places(mechanism)
    if places is None or mechanism.reset != "trial" or not mechanism.until_finished:
        return None
    fields, idle, corrected = places
    names, name = model.names[mechanism.name], mechanism.name
    recorded = {one.places: output for output, one in model.outputs.items()}
    outputs = [recorded.get(((name, port),)) for port in ("response_time", "choice")]
    if outputs[0] is None or outputs[1] is None:
        return None
    return ClosedForm(
        {field: names[f"{name}.{place}"] for field, place in fields.items()},
        tuple(names[f"{name}.{place}"] for place in idle),
        (outputs[0], outputs[1]),
        0.0 if corrected else LATE,
    )


def _places(mechanism: Mechanism) -> tuple[Mapping[str, str], tuple[str, ...], bool] | None:
    """(places of fields, places that must be 0, corrected)."""
    if isinstance(mechanism, DDM):
        return DDM_PLACES, ("integrator.offset",), mechanism.integrator.corrected
    if not isinstance(mechanism, Diffusion):
        return None
    if mechanism.collapse is not None or mechanism.stability is not None:
        return None
    return DIFFUSION_PLACES, ("leak",), mechanism.corrected
