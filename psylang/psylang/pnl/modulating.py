"""Converters of mechanisms that set parameters or gate ports within a trial, and what they set."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from psylang.model.blueprint import Target
from psylang.model.dynamics import LocusCoeruleus
from psylang.model.mechanism import Mechanism, Transfer
from psylang.model.rules import Modulation
from psylang.pnl.functions import transfer_function
from psylang.pnl.integrating import neuron_of
from psylang.pnl.mechanisms import Converted, of_ports, sizes_of
from psylang.pnl.plain import VALUE, passes_on, takes_each, weighs
from psylang.pnl.ports import OneSignal, Signals
from psylang.pnl.reading import At, Paths, kind_of, value_of
from psylang.pnl.refusals import RefusedError
from psylang.pnl.tables import converts


def sends_level(signal: Any) -> bool:
    """Returns whether a signal sends its level as it is."""
    function = signal.function
    return kind_of(function) == "TransferWithCosts" and passes_on(function.transfer_fct)


def places_of(mechanism: Any) -> dict[str, int]:
    """By signal, the row of the mechanism's value that it sends. RefusedError: it computes."""
    places = {}
    for signal in mechanism.output_ports:
        spec = signal._variable_spec
        if not sends_level(signal) or not isinstance(spec, tuple) or spec[0] != VALUE:
            raise RefusedError(
                f"{signal.name} has a function of its own", "a function of the mechanism"
            )
        places[signal.name] = int(spec[1])
    return places


def begins_of(mechanism: Any, rows: int) -> tuple[float, ...]:
    """The values of its signals before its first call, by row."""
    begins = [0.0] * rows
    for signal in mechanism.output_ports:
        first = np.ravel(value_of(signal, "value"))
        if first.size != 1:
            raise RefusedError(f"{signal.name} has {first.size} elements", "one number a signal")
        begins[int(signal._variable_spec[1])] = float(first[0])
    return tuple(begins)


@converts("mechanism", "ControlMechanism", "signals within a trial", "one number a signal")
@converts("mechanism", "GatingMechanism", "signals within a trial", "one number a signal")
def _control(mechanism: Any, name: str, at: At) -> Converted:
    places, sizes, function = places_of(mechanism), sizes_of(mechanism), mechanism.function
    together = of_ports(function, len(sizes), at)
    made: Signals | OneSignal
    if together is not None:
        written, settings = together
        if getattr(function, "stateful_parameter", None) is not None:
            raise RefusedError(
                f"its function keeps {function.stateful_parameter}",
                "a ProcessingMechanism with that function, which it monitors",
            )
        made = OneSignal(
            name,
            sizes=sizes,
            size=int(np.size(mechanism.defaults.value)),
            written=written,
            settings=settings,
            begins=begins_of(mechanism, 1),
            reset="never",
        )
        outputs = dict.fromkeys(places, "value")
    else:
        takes_each(function)
        made = Signals(
            name,
            sizes=sizes,
            function=transfer_function(function, at.part("function")),
            begins=begins_of(mechanism, len(sizes)),
            reset="never",
        )
        outputs = {signal: f"value{place}" for signal, place in places.items()}
    return Converted(made, tuple(made.arrivals()), outputs)


@converts("mechanism", "LCControlMechanism", "LocusCoeruleus", "an objective of one number")
def _locus(mechanism: Any, name: str, at: At) -> Converted:
    if sizes_of(mechanism) != (1,):
        raise RefusedError(
            f"its input ports have the sizes {sizes_of(mechanism)}, at which PsyNeuLink stops",
            "an ObjectiveMechanism with CombineMeans",
        )
    places = places_of(mechanism)
    if any(places.values()):
        raise RefusedError("a signal of it is not its gain", "nearest: modulated_mechanisms")
    neuron = neuron_of(mechanism.function, at.part("neuron"))
    fields = {"base": "base_level_gain", "scaling": "scaling_factor_gain"}
    made = LocusCoeruleus(
        name,
        neuron=neuron,
        begins=begins_of(mechanism, 1)[0],
        reset="never",
        **at.numbers(mechanism, fields),
    )
    return Converted(made, ("input",), dict.fromkeys(places, "gain"))


@dataclass(frozen=True)
class Setting:
    """A projection that modulates: its sender's port, the receiver's port, and how."""

    signal: Any
    port: Any
    kind: Target
    modulation: Modulation


def settings_of(
    node: Any, active: Callable[[Any, Any], Sequence[Any]], controller: Any
) -> Iterator[Setting]:
    """What mechanisms other than the controller set within a trial.

    RefusedError: a port is set by several, or in another way.
    """
    ports: list[tuple[Target, Any]] = [("parameter", one) for one in node.parameter_ports]
    ports += [("input", one) for one in node.input_ports]
    ports += [("output", one) for one in node.output_ports]
    for kind, port in ports:
        arriving = active(node, port.mod_afferents)
        senders = [one.sender.owner.name for one in arriving]
        if len(arriving) > 1:
            raise RefusedError(
                f"its {port.name} is set by {', '.join(senders)}", "one signal for each of them"
            )
        for one in arriving:
            if one.sender.owner is controller:
                if kind != "parameter":
                    raise RefusedError(
                        f"its port {port.name} is gated by the controller", "a GatingMechanism"
                    )
                continue
            if not passes_on(one.function) or weighs(one):
                raise RefusedError(
                    f"{one.name} computes {kind_of(one.function)}, or has a weight",
                    "a function of its sender",
                )
            yield Setting(one.sender, port, kind, modulation_of(one.sender))


def modulation_of(signal: Any) -> Modulation:
    """How a signal modulates."""
    given = str(value_of(signal, "modulation")).lower()
    known: tuple[Modulation, ...] = ("override", "multiplicative", "additive")
    for name in known:
        if name in given:
            return name
    raise RefusedError(f"modulation is {given}", "OVERRIDE, MULTIPLICATIVE or ADDITIVE")


def parameter_set(signal: Any, port: Any, paths: Paths) -> str:
    """The parameter of the model that a signal sets by a parameter's port. RefusedError: there is
    none."""
    source = port.source
    owner = source._owner._owner
    found = paths.find(owner, source.name)
    if found is None:
        raise RefusedError(
            f"{signal.name} sets {source.name} of {kind_of(owner)}",
            "nearest: a number of a mechanism's function, integrator or noise",
        )
    return found


def steady(node: Any, mechanism: Mechanism, parameter: str) -> None:
    """RefusedError: a parameter acts outside of the calls in which a signal sets it."""
    begins = isinstance(mechanism, Transfer) and (
        mechanism.recurrent is not None or mechanism.until is not None
    )
    resets = mechanism.reset == "trial" and (
        begins or ("initial" in parameter or "begin" in parameter)
    )
    if resets or (mechanism.ends() and not mechanism.until_finished):
        raise RefusedError(
            f"`{parameter}` is set within a trial, and acts at its reset or between its steps",
            "reset_stateful_function_when=Never(), or execute_until_finished=True",
        )
