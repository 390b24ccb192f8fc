"""Converters of mechanisms. Each returns a mechanism of the model, and the names of its ports."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from psylang.model import DDM, LCA, DDMAnalytical, Linear, Recurrent, Transfer
from psylang.model.criteria import AtLeast, Criterion, MaxVsAverage, MaxVsNext, Settled
from psylang.model.mechanism import Mechanism
from psylang.model.noise import Normal
from psylang.model.winners import KWinners
from psylang.pnl.asking import adopted
from psylang.pnl.chances import seed_of_ports
from psylang.pnl.functions import drawing, integrator_of, noise_of, seed_of, transfer_function
from psylang.pnl.integrating import WHOLE, rows_of
from psylang.pnl.plain import hands_on, plain_matrix, takes_each
from psylang.pnl.ports import (
    METRICS,
    Apart,
    Combined,
    CombinedMeans,
    Concatenated,
    EachPort,
    Keeping,
    PortsFunction,
    UserDefined,
    is_plain,
)
from psylang.pnl.reading import (
    At,
    begins_as_built,
    identifier,
    kind_of,
    number_of,
    only,
    value_of,
)
from psylang.pnl.refusals import RefusedError
from psylang.pnl.stateful import keeping
from psylang.pnl.tables import TABLES, converter, converts
from psylang.pnl.views import Sent, stable_of, view_of, viewed

STEPS_MAX = 10_000_000  # Limit for a DDM or LCA; PsyNeuLink has none unless it is set later.


@dataclass(frozen=True)
class Converted:
    """inputs: the names of its input ports here, in PsyNeuLink's order. outputs: maps PsyNeuLink's
    name of an output port to the name here. refused: why other output ports, which may be unused,
    are not imported."""

    mechanism: Mechanism
    inputs: tuple[str, ...]
    outputs: Mapping[str, str]
    refused: Mapping[str, RefusedError] = field(default_factory=dict)

    @staticmethod
    def viewed(mechanism: Mechanism, of: Any) -> Converted:
        """A mechanism of one value, with output ports that pass it on or compute."""
        sent, recurs = sent_by(of, next(iter(mechanism.ports()))), ""
        if hasattr(of, "recurrent_projection"):
            recurs = sent.named(of.recurrent_projection.sender.name)
        made = viewed(mechanism, sent.views, recurs if recurs in sent.views else "")
        return Converted(made, tuple(mechanism.arrivals()), sent.outputs, sent.refused)


def converted(mechanism: Any, name: str, at: At) -> Converted:
    """RefusedError: the mechanism, or a part of it, is not imported."""
    made: Converted = converter("mechanism", kind_of(mechanism))(mechanism, name, at)
    return made


def sizes_of(mechanism: Any) -> tuple[int, ...]:
    """The sizes of the input ports."""
    return tuple(int(np.size(port.defaults.value)) for port in mechanism.input_ports)


def single(mechanism: Any) -> int:
    """The size of the only input port. RefusedError: there are several."""
    sizes = sizes_of(mechanism)
    if len(sizes) != 1:
        raise RefusedError(
            f"it has {len(sizes)} input ports, and {kind_of(mechanism.function)} takes each alone",
            "give each port a mechanism, or one LinearCombination, Concatenate or "
            "UserDefinedFunction to all",
        )
    return sizes[0]


def reset_of(mechanism: Any) -> Literal["trial", "never"]:
    """ "trial" or "never", which begins as AtRunStart does in a first run. Other conditions follow
    (along.py)."""
    when = kind_of(mechanism.reset_stateful_function_when)
    return "trial" if when == "AtTrialStart" else "never"


def sent_by(mechanism: Any, main: str) -> Sent:
    """The output ports of a mechanism: those that pass its value on, which is `main` here, and
    those that compute a function of it."""
    sent = Sent({}, {}, {})
    size = int(np.size(np.asarray(mechanism.defaults.value)[0]))
    for port in mechanism.output_ports:
        if hands_on(port):
            sent.outputs[port.name] = main
            continue
        try:
            view = view_of(port, size)
        except RefusedError as error:
            sent.refused[port.name] = error
            continue
        here = identifier(port.name)
        while here == main or here in sent.views:
            here += "_"
        sent.outputs[port.name], sent.views[here] = here, view
    return sent


def port_named(made: Converted, port: Any) -> str:
    """The name here of an output port that is used. RefusedError: it is not imported."""
    if port.name in made.refused:
        raise made.refused[port.name]
    if port.name not in made.outputs:
        raise RefusedError(
            f"output port {port.name} computes {kind_of(port.function)}",
            "nearest: RESULT, with a ProcessingMechanism that computes it",
        )
    return made.outputs[port.name]


# Transfer.


def until_of(mechanism: Any, at: At) -> Criterion | None:
    """The criterion by which it is finished."""
    if value_of(mechanism, "termination_threshold") is None:
        return None
    measure = mechanism.termination_measure
    comparison = mechanism.termination_comparison_op
    bound = at.part("until").numbers(mechanism, {"threshold": "termination_threshold"})
    kinds: dict[Any, Callable[..., Criterion]] = {
        "max_vs_next": MaxVsNext,
        "max_vs_avg": MaxVsAverage,
    }
    if comparison == ">=":
        if measure is max:
            return AtLeast(**bound)
        name = measure if isinstance(measure, str) else getattr(measure, "__name__", "")
        if name.lower() in kinds:
            return kinds[name.lower()](**bound)
    if comparison == "<=" and kind_of(measure) == "Distance" and measure.metric == "max_abs_diff":
        at.paths.note(mechanism, "termination_threshold", f"{at.path}.until.tolerance")
        return Settled(tolerance=bound["threshold"])
    shown = measure if isinstance(measure, str) else getattr(measure, "__name__", kind_of(measure))
    raise RefusedError(
        f"it ends by {shown} {comparison}",
        "nearest: max, MAX_VS_NEXT or MAX_VS_AVG with >=, or the largest change with <=",
    )


def clip_of(mechanism: Any) -> tuple[float, float] | None:
    clip = value_of(mechanism, "clip")
    return None if clip is None else (float(clip[0]), float(clip[1]))


def _transfer(
    mechanism: Any,
    name: str,
    at: At,
    recurrent: Recurrent | None,
    winners: KWinners | None = None,
) -> Converted:
    integrates = bool(value_of(mechanism, "integrator_mode"))
    size, integrator, noise, seed = single(mechanism), None, None, None
    if integrates:
        inner = mechanism.integrator_function
        integrator = integrator_of(inner, at.part("integrator"))
        seed = seed_of(drawing(inner), at)
    else:
        given = value_of(mechanism, "noise")
        noise, constant = noise_of(given, at.part("noise"))
        seed = seed_of(given, at)
        if constant:
            raise RefusedError("noise is a number", "give it NormalDist, or a bias to the function")
    reset: Literal["trial", "never"] = reset_of(mechanism) if integrates else "never"
    recurs = reset == "never" and recurrent is not None and at.start is None
    if integrates and recurs and integrator is not None and at.live is None:
        _begins_drawn(mechanism, integrator)
    until = until_of(mechanism, at) if integrates else None
    activity = None
    if recurrent is not None:
        initial = 0.0 if integrator is None else integrator.initial
        activity = None if at.start is not None else activity_of(mechanism, initial)
    made = Transfer(
        name,
        size=size,
        function=transfer_function(mechanism.function, at.part("function")),
        integrator=integrator,
        noise=noise,
        recurrent=recurrent,
        clip=clip_of(mechanism),
        winners=winners,
        until=until,
        until_finished=bool(value_of(mechanism, "execute_until_finished")),
        max_steps=int(value_of(mechanism, "max_executions_before_finished")),
        reset=reset,
        seed=seed,
        initial_activity=activity,
    )
    return Converted.viewed(made, mechanism)


def activity_of(mechanism: Any, initial: Any) -> Any:
    """The value of a recurrent mechanism's output port that its first step receives, if it is never
    reset: of a step in its construction, or one that the modeller set. None: the function of the
    initial value, or a reset comes first."""
    if not begins_as_built(mechanism):
        return None
    port = mechanism.recurrent_projection.sender
    kept = np.ravel(value_of(port, "value")).astype(np.float64)
    state = np.broadcast_to(np.asarray(initial, dtype=np.float64), (single(mechanism),))
    usual = np.ravel(mechanism.function(state[np.newaxis].copy()))
    if hands_on(port):
        return None if np.array_equal(kept, usual) else kept
    if not np.array_equal(kept, np.ravel(port.function(usual))):
        raise RefusedError(
            f"its recurrence begins with {kept} of {port.name}, as it is never reset",
            "set reset_stateful_function_when=AtRunStart()",
        )
    return None


def _begins_drawn(mechanism: Any, integrator: Any) -> None:
    """RefusedError: the first value of a recurrent mechanism includes a draw from its
    construction."""
    if integrator.noise is not None and begins_as_built(mechanism):
        raise RefusedError(
            "it begins with the noise that its construction drew, as it is recurrent and never "
            "reset",
            "set reset_stateful_function_when=AtRunStart(), or live=True",
        )


@converts("mechanism", "TransferMechanism", "Transfer", "one input port")
def _transfer_mechanism(mechanism: Any, name: str, at: At) -> Converted:
    return _transfer(mechanism, name, at, None)


def recurrent_matrix(mechanism: Any) -> Any:
    """The matrix without learning."""
    plain_matrix(mechanism.recurrent_projection)
    return np.array(value_of(mechanism.recurrent_projection, "matrix"), dtype=np.float64)


@converts("mechanism", "RecurrentTransferMechanism", "Transfer(recurrent=…)", "without learning")
def _recurrent(mechanism: Any, name: str, at: At) -> Converted:
    return _transfer(mechanism, name, at, _recurrence(mechanism))


@converts("mechanism", "KWTAMechanism", "Transfer(winners=KWinners(…))", "at most 64 units")
def _winners(mechanism: Any, name: str, at: At) -> Converted:
    if value_of(mechanism, "integrator_mode") or np.any(np.asarray(value_of(mechanism, "noise"))):
        raise RefusedError(
            "it integrates or has noise, which PsyNeuLink ignores in a KWTAMechanism",
            "a TransferMechanism that integrates, and sends to it",
        )
    numbers = at.part("winners").numbers(mechanism, {"threshold": "threshold", "ratio": "ratio"})
    winners = KWinners(
        k=float(np.ravel(value_of(mechanism, "k_value"))[0]),
        average_based=bool(value_of(mechanism, "average_based")),
        inhibition_only=bool(value_of(mechanism, "inhibition_only")),
        **numbers,
    )
    return _transfer(mechanism, name, at, _recurrence(mechanism), winners)


def _recurrence(mechanism: Any) -> Recurrent:
    """The projection of a recurrent mechanism to itself. RefusedError: it learns."""
    if value_of(mechanism, "enable_learning"):
        raise RefusedError("it learns", "set enable_learning=False")
    if value_of(mechanism, "has_recurrent_input_port"):
        raise RefusedError("its recurrence has a port of its own", "one port for all input")
    return recurrent_of(recurrent_matrix(mechanism))


def recurrent_of(matrix: Any) -> Recurrent:
    """auto and hetero, if the matrix consists of them."""
    auto, hetero = paired(matrix)
    if auto is None or hetero is None:
        return Recurrent(matrix=matrix)
    return Recurrent(auto=auto, hetero=hetero)


def paired(matrix: Any) -> tuple[float | None, float | None]:
    """The number on the diagonal and the number off it, if each is unique."""
    diagonal = np.diag(matrix)
    others = matrix[~np.eye(len(matrix), dtype=bool)]
    if np.any(diagonal != diagonal[0]) or np.any(others != (others[:1] if others.size else 0.0)):
        return None, None
    return float(diagonal[0]), float(others[0]) if others.size else 0.0


@converts("mechanism", "LCAMechanism", "LCA", "max, MAX_VS_NEXT, MAX_VS_AVG")
def _lca(mechanism: Any, name: str, at: At) -> Converted:
    size, inner = single(mechanism), mechanism.integrator_function
    auto, hetero = paired(recurrent_matrix(mechanism))
    if kind_of(inner) != "LeakyCompetingIntegrator" or auto is None or hetero is None or size < 2:
        raise RefusedError(
            "its integrator is no LeakyCompetingIntegrator, its matrix has more than two numbers, "
            "or it has one unit",
            "nearest: leak, competition and self_excitation, of two units or more",
        )
    begins = mechanism.recurrent_projection.sender
    if not hands_on(begins):
        raise RefusedError(
            f"its recurrence begins at {begins.name}, which computes a value of its own",
            "RESULT as its first output port",
        )
    if not value_of(mechanism, "integrator_mode") or clip_of(mechanism) is not None:
        raise RefusedError("it clips, or does not integrate", "leave clip out")
    only(inner, offset=0.0)
    given = value_of(inner, "noise")
    noise, constant = noise_of(given, at.part("noise"))
    if constant:
        raise RefusedError("noise is a number", "give it NormalDist")
    if begins_as_built(mechanism) and noise is not None and at.start is None and at.live is None:
        raise RefusedError(
            "it begins with the noise that its construction drew, as it is never reset",
            "set reset_stateful_function_when=AtTrialStart() or AtRunStart(), or live=True",
        )
    numbers = at.numbers(inner, {"leak": "rate", "dt": "time_step_size"})
    made = LCA(
        name,
        size=size,
        competition=-hetero,
        self_excitation=auto,
        noise=noise,
        initial_state=at.initial(inner),
        initial_activity=None
        if at.start is not None
        else activity_of(mechanism, at.initial(inner)),
        function=transfer_function(mechanism.function, at.part("function")),
        until=until_of(mechanism, at),
        until_finished=bool(value_of(mechanism, "execute_until_finished")),
        max_steps=steps_of(mechanism),
        reset=reset_of(mechanism),
        seed=seed_of(given, at),
        **numbers,
    )
    return Converted.viewed(made, mechanism)


def steps_of(mechanism: Any) -> int:
    """The limit of a DDM or LCA."""
    return min(int(value_of(mechanism, "max_executions_before_finished")), STEPS_MAX)


# Decisions.

STEPWISE = {"DECISION_VARIABLE": "decision_variable", "RESPONSE_TIME": "response_time"}
ANALYTICAL = {
    **STEPWISE,
    "PROBABILITY_UPPER_THRESHOLD": "probability_upper",
    "PROBABILITY_LOWER_THRESHOLD": "probability_lower",
    **{
        f"RT_{which}_{moment}".upper(): f"rt_{which}_{moment}"
        for which in ("correct", "incorrect")
        for moment in ("mean", "variance", "skew")
    },
}


@converts("mechanism", "DDM", "DDM, DDMAnalytical", "DriftDiffusionIntegrator, …Analytical")
def _ddm(mechanism: Any, name: str, at: At) -> Converted:
    if at.start is not None:
        raise RefusedError(
            "reset_stateful_functions_to gives it a state", "starting_value of its function"
        )
    if single(mechanism) != 1:
        raise RefusedError("its input has several elements", "give it one")
    function, names = mechanism.function, STEPWISE
    made: Mechanism
    if kind_of(function) == "DriftDiffusionIntegrator":
        made = DDM(
            name,
            integrator=integrator_of(function, at.part("integrator")),
            until_finished=bool(value_of(mechanism, "execute_until_finished")),
            max_steps=steps_of(mechanism),
            reset=reset_of(mechanism),
            seed=seed_of(function, at),
            **at.numbers(function, {"non_decision_time": "non_decision_time"}),
        )
    elif kind_of(function) == "DriftDiffusionAnalytical":
        names, made = ANALYTICAL, _analytical(mechanism, function, name, at)
    else:
        raise RefusedError(
            f"its function is {kind_of(function)}",
            "nearest: DriftDiffusionIntegrator or DriftDiffusionAnalytical",
        )
    outputs = {}
    for port in mechanism.output_ports:
        here = names.get(port.name)
        if here is None or not hands_on(port, list(names).index(port.name)):
            raise RefusedError(
                f"output port {port.name} is not imported", f"nearest: {', '.join(names)}"
            )
        outputs[port.name] = here
    return Converted(made, ("input",), outputs)


def _analytical(mechanism: Any, function: Any, name: str, at: At) -> DDMAnalytical:
    fields = {
        "drift": "drift_rate",
        "threshold": "threshold",
        "noise": "noise",
        "starting_point": "starting_value",
        "non_decision_time": "non_decision_time",
    }
    # Finished after each call: its memory is only its value.
    return DDMAnalytical(
        name, seed=seed_of(mechanism, at), reset="never", **at.numbers(function, fields)
    )


# Functions of ports.


@converts("mechanism", "IntegratorMechanism", "Transfer(integrator=…)", "one input port")
def _integrator_mechanism(mechanism: Any, name: str, at: At) -> Converted:
    function = mechanism.function
    whole = WHOLE.get(kind_of(function))
    if whole is not None:
        if at.start is not None:
            raise RefusedError(
                "reset_stateful_functions_to gives it a state", "the initial values of its function"
            )
        how = {"size": single(mechanism), "reset": reset_of(mechanism)}
        made, outputs = whole(mechanism, name, at, **how)
        return Converted(made, tuple(made.arrivals()), outputs)
    made = Transfer(
        name,
        size=single(mechanism),
        function=Linear(),
        integrator=integrator_of(function, at.part("integrator")),
        reset=reset_of(mechanism),
        seed=seed_of(drawing(function), at),
    )
    return Converted.viewed(made, mechanism)


@converts("mechanism", "ProcessingMechanism", "Transfer, or a function of its ports")
@converts("mechanism", "ObjectiveMechanism", "a function of its ports")
@converts("mechanism", "ComparatorMechanism", "a function of its ports")
def _processing(mechanism: Any, name: str, at: At) -> Converted:
    function = mechanism.function
    sizes = sizes_of(mechanism)
    together = of_ports(function, len(sizes), at)
    if together is not None:
        size = int(np.size(mechanism.output_ports[0].defaults.value))
        written, settings = together
        how: dict[str, Any] = {"sizes": sizes, "size": size, "settings": settings, "reset": "never"}
        seed = seed_of_ports(written, function, at)
        made: Mechanism
        if getattr(function, "stateful_parameter", None) is None:
            made = PortsFunction(name, written=written, seed=seed, **how)
        else:
            made = Keeping(name, written=written, seed=seed, **keeping(function, written), **how)
        return Converted.viewed(made, mechanism)
    noise = seed = None
    if kind_of(function) == "GaussianDistort":
        only(function, bias=0.0)
        noise = Normal(**at.part("noise").numbers(function, {"standard_deviation": "variance"}))
        fields = {"slope": "scale", "intercept": "offset"}
        transfer: Any = Linear(**at.part("function").numbers(function, fields))
        seed = seed_of(function, at)
    else:
        transfer = transfer_function(function, at.part("function"))
    if len(sizes) > 1 and noise is None:
        takes_each(function)
        made = EachPort(name, sizes=sizes, function=transfer, reset="never")
        rows = rows_of(mechanism, tuple(made.ports()))
        return Converted(made, tuple(made.arrivals()), rows)
    made = Transfer(
        name, size=single(mechanism), function=transfer, noise=noise, seed=seed, reset="never"
    )
    return Converted.viewed(made, mechanism)


Ported = tuple[Any, dict[str, Any]]


def of_ports(function: Any, count: int, at: At) -> Ported | None:
    """A function that takes all of so many input ports, and its settings; None: it takes each port
    alone."""
    found = TABLES["port function"].get(kind_of(function))
    made = None if found is None else found.convert(function, count)
    if made is None:
        return None
    written, settings = made
    for setting in settings:
        at.paths.note(function, setting, f"{at.path}.{setting}")
    return written, settings


@converts(
    "port function", "LinearCombination", "sum or product", "weights of the ports, no exponents"
)
def _combination(function: Any, count: int) -> Ported:
    exponents = value_of(function, "exponents")
    if exponents is not None and not np.all(np.asarray(exponents) == 1.0):
        only(function, exponents=None)
    product = combined(function)
    weights = value_of(function, "weights")
    if weights is not None:
        weights = tuple(np.ravel(weights).astype(float).tolist())
        if len(weights) != count:
            raise RefusedError("weights are by element", "give each port one weight")
    return Combined(product=product, weights=weights), {}


def combined(function: Any) -> bool:
    """Whether a LinearCombination or CombineMeans multiplies. RefusedError: scale or offset."""
    only(function, scale=1.0, offset=0.0)
    operation = value_of(function, "operation")
    if operation not in ("sum", "product"):
        raise RefusedError(f"{kind_of(function)} has operation {operation}", "SUM or PRODUCT")
    return bool(operation == "product")


@converts(
    "port function",
    "CombineMeans",
    "the sum or product of the ports' means",
    "no weights, no exponents",
)
def _means(function: Any, count: int) -> Ported:
    only(function, weights=None, exponents=None)
    return CombinedMeans(product=combined(function)), {}


@converts("port function", "Concatenate", "the ports in a row")
def _concatenate(function: Any, count: int) -> Ported:
    only(function, scale=1.0, offset=0.0)
    return Concatenated(), {}


@converts("port function", "Distance", "two ports", f"{', '.join(METRICS)}; not normalised")
def _distance(function: Any, count: int) -> Ported:
    only(function, normalize=False)
    metric = str(value_of(function, "metric")).lower()
    if metric not in METRICS or count != 2:
        raise RefusedError(
            f"Distance is {metric} of {count} ports", f"nearest: {', '.join(METRICS)}, of two ports"
        )
    return Apart(metric=metric), {}


@converts("port function", "Energy", "one port", "not normalised, no transfer_fct")
@converts("port function", "Stability", "one port", "as Energy; the metrics of Distance")
def _stability(function: Any, count: int) -> Ported:
    if count != 1:
        raise RefusedError(f"{kind_of(function)} has {count} ports", "one port")
    return stable_of(function), {}


@converts(
    "port function",
    "UserDefinedFunction",
    "its Python function, compiled",
    "what @function takes; one generator of numpy.random.RandomState for its draws",
)
def _user_defined(function: Any, count: int) -> Ported:
    python = value_of(function, "custom_function")
    if not is_plain(python):
        raise RefusedError(f"its function is {python!r}", "define it in a file")
    free = inspect.signature(python).parameters
    # PsyNeuLink keeps an argument's default as a parameter; here every argument has a value.
    others = list(free)[1:]
    unknown = [
        name
        for name in others
        if name in ("self", "owner", "context", "params") or not hasattr(function.parameters, name)
    ]
    if unknown:
        raise RefusedError(
            f"its function takes {', '.join(unknown)}, which PsyNeuLink gives it when it runs",
            "give it numbers as arguments",
        )
    kept = function.stateful_parameter
    settings = {name: number_of(function, name) for name in others if name != kept}
    return UserDefined(function=adopted(python), given=tuple(others)), settings
