"""Reads a live composition into a model of psylang.model.

All parts are read before anything is refused, so that one error lists all refusals.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from psylang.ir.text import print_program
from psylang.model.cells import is_kept
from psylang.model.composition import PASSES_MAX, Model
from psylang.model.errors import ModelError
from psylang.model.layout import Layout
from psylang.pnl.along import Given, overrides, resets
from psylang.pnl.asking import Place
from psylang.pnl.chances import draws
from psylang.pnl.conditions import Here, condition_of
from psylang.pnl.control import search_of
from psylang.pnl.environment import psyneulink, refuse_others
from psylang.pnl.live import Live
from psylang.pnl.mechanisms import Converted, combined, converted, port_named
from psylang.pnl.modulating import parameter_set, settings_of, steady
from psylang.pnl.nesting import Nesting, afferents_of
from psylang.pnl.order import by_chance
from psylang.pnl.plain import hands_on, plain_matrix, plain_parameters, same_in, trials_of, weighs
from psylang.pnl.reading import (
    At,
    Names,
    Paths,
    begins_as_built,
    identifier,
    kind_of,
    only,
    value_of,
)
from psylang.pnl.refusals import NotImportedError, Refusal, RefusedError
from psylang.pnl.restarting import drawers
from psylang.pnl.source import Source
from psylang.pnl.timing import Timed
from psylang.pnl.views import Viewed


@dataclasses.dataclass(frozen=True)
class Entry:
    """An input port that receives the caller's input: PsyNeuLink's names of node and port, its
    index among the node's ports of that kind, the input of the model, and PsyNeuLink's default."""

    node: str
    port: str
    place: int
    input: str
    default: tuple[float, ...]


class ImportedModel(Model):
    """A model that was made from a composition; it may be changed like any other.

    entries: its inputs. results: the outputs that PsyNeuLink lists in the results of a trial, in
    its order. nodes: maps PsyNeuLink's names to the model's names. trials_most: where the
    composition ends a run after a number of trials, that number.

    Its plans and run_arguments() refuse to go on once the composition was changed, until release().
    """

    def __init__(self, name: str) -> None:
        super().__init__(name, PASSES_MAX)
        self.entries: list[Entry] = []
        self.results: list[str] = []
        self.nodes: dict[str, str] = {}
        self.trials_most: int | None = None
        # A method's object is no part of the model for runtime.changes.
        self._check: Any = Source().check

    def check_source(self) -> None:
        """ModelChangedError: the composition is no longer what was imported."""
        self._check()

    def release(self) -> None:
        """From now on later changes of the composition do not matter to this model."""
        self._check.__self__.release()


def from_psyneulink(
    composition: Any,
    *,
    termination_processing: Any = None,
    runtime_params: Any = None,
    reset_stateful_functions_when: Any = None,
    reset_stateful_functions_to: Any = None,
    initialize_cycle_values: Any = None,
    live: bool = False,
) -> ImportedModel:
    """The model of a composition of PsyNeuLink 0.21, for psylang.compile().

    termination_processing: as for its run(): {TimeScale.TRIAL: condition}. runtime_params and the
    others: likewise, as for its run(). A model has learned matrices, but not the progress of runs:
    states start at their initial values, generators at their seeds' first numbers (restart() makes
    PsyNeuLink do so, too).
    live: generators go on from where the composition's are, and mechanisms that are never reset
    from the values that their construction drew: in `exact`, run() gives what the composition's
    next run() gives, without restart(). Runs with seed above 0, and further sequences, draw others.

    Outputs are those of PsyNeuLink's results, named `mechanism` or `mechanism_PORT`.
    If the composition changes later, runs of the model are a ModelChangedError: import it again.
    NotImportedError: a part is not supported; it lists all such parts, with the nearest form.
    PsyNeuLinkError: PsyNeuLink is missing, or of another version.
    """
    pnl = psyneulink()
    refuse_others(pnl, composition)
    given = Given.of(
        termination_processing=termination_processing,
        runtime_params=runtime_params,
        reset_stateful_functions_when=reset_stateful_functions_when,
        reset_stateful_functions_to=reset_stateful_functions_to,
        initialize_cycle_values=initialize_cycle_values,
    )

    def read() -> _Importer:
        given.refuse_strangers(composition)
        composition._analyze_graph()  # As its run() does: inputs and order follow from the graph.
        made = _Importer(pnl, composition, given, live)
        with given.resetting(composition):
            made.model()
        return made

    read_now = read()
    model = read_now.made
    parts = (composition, *vars(given).values())
    model._check = Source(parts, lambda: read().written, read_now.written).check
    return model


class _Importer:
    def __init__(self, pnl: Any, composition: Any, given: Given, live: bool = False) -> None:
        self.pnl, self.composition, self.given = pnl, composition, given
        self.live = Live(composition, given) if live else None
        self.starts, self.drawing = given.starts(), itertools.count()
        self.made = ImportedModel(identifier(composition.name))
        self.names, self.paths = Names(), Paths()
        self.refusals: list[Refusal] = []
        self.nodes: dict[int, Converted] = {}
        self.nesting = Nesting(pnl, composition)
        self.written = ""

    @contextmanager
    def of(self, component: Any) -> Iterator[None]:
        """Refusals within this context belong to the component."""
        name = component if isinstance(component, str) else component.name
        try:
            yield
        except RefusedError as error:
            self.refusals.append(Refusal(name, error.reason, error.nearest))
        except ModelError as error:
            self.refusals.append(Refusal(name, str(error), "change it so, or see Psylang's own"))

    def model(self) -> None:
        """Makes `made`, and `written`, a text that has all of it."""
        for one in self.nesting.compositions:
            with self.of(one):
                self.nesting.check(one)
                if self.live is not None:
                    self.live.refuse_counts(one)
        for node in self.nesting.mechanisms:
            with self.of(node):
                self._node(node)
        if not self.refusals:  # Further refusals would be consequences of these.
            for node in self.nesting.mechanisms:
                self._arrivals(node)
            for node in self.nesting.mechanisms:
                with self.of(node):
                    self._modulated(node)
            self._schedule(self.given.termination_processing)
            _along(self)
            self._results()
            for one in self.nesting.compositions:
                if one.controller is not None and one.enable_controller:
                    with self.of(one.controller):
                        self._control(one)
            for one in [] if self.refusals else self.nesting.compositions:
                with self.of(one):
                    self._in_order(one)
        for component, name in self.paths.components():
            with self.of(component):
                same_in(self.composition.default_execution_id, component, name)
        if not self.refusals:
            with self.of(self.composition):
                # Refusals of the IR are refusals of the import.
                program = self.made.program(numerics="exact")
        if self.refusals:
            raise NotImportedError(self.composition.name, self.refusals)
        made = self.made
        told = repr((made.entries, made.results, made.nodes, made.trials_most))
        # Draws of PsyNeuLink are no change of the composition.
        plain = dataclasses.replace(program, stream_seeds=tuple(map(int, program.stream_seeds)))
        self.written = f"{told}\n{print_program(plain)}"

    def _control(self, composition: Any) -> None:
        drawing = partial(self._drawing, composition)
        search = search_of(composition, self.paths, self._name, drawing)
        if self.live is not None:
            self.live.refuse_reseeding(search)
        self.made.control(search, self._nest(composition))

    def _nest(self, composition: Any) -> str:
        """The name of a composition's nest; "" of the outermost one, which is the model."""
        return "" if composition is self.composition else self.names.name(composition)

    def _name(self, node: Any) -> str:
        """RefusedError: it is no mechanism of the composition."""
        if id(node) not in self.nodes:
            raise RefusedError(
                f"it refers to {getattr(node, 'name', node)}, which is not in the composition",
                "add it",
            )
        return self.names.name(node)

    def _node(self, node: Any) -> None:
        name = self.names.name(node)
        plain_parameters(node)
        at = At(name, self.paths, self.starts.get(id(node)), self.drawing, self.live)
        if self.live is not None and at.start is None:
            self.live.refuse_progress(node)
        made = converted(node, name, at)
        if self.nesting.is_controlled and draws(node):
            raise RefusedError(
                "its function has draws, and a controller simulates it with further ones of its "
                "generator",
                "GaussianDistort, or noise of a TransferMechanism",
            )
        begun = self.given.cyclic(self.composition, node, made.mechanism)
        self.nodes[id(node)] = dataclasses.replace(made, mechanism=self.made.add(begun))
        self.made.nodes[node.name] = name

    def _drawing(self, composition: Any) -> dict[str, Any]:
        """The components that have the seeds of a composition's mechanisms that draw."""
        found = {}
        for node in self.nesting.within(composition):
            made = self.nodes[id(node)].mechanism
            if made.seed is not None:
                of_seed = [one for one in drawers(node) if value_of(one, "seed") == made.seed]
                found[made.name] = of_seed[0]
        return found

    def _modulated(self, node: Any) -> None:
        """What other mechanisms set of a mechanism within a trial."""
        made = self.nodes[id(node)]
        for one in settings_of(node, self._active, self.nesting.owner(node).controller):
            sender = one.signal.owner
            start, given = self._name(sender), self.nodes[id(sender)].outputs[one.signal.name]
            if one.kind == "parameter":
                here = parameter_set(one.signal, one.port, self.paths)
                steady(node, made.mechanism, here)
            elif hasattr(node, "recurrent_projection") or isinstance(made.mechanism, Viewed):
                raise RefusedError(
                    f"its port {one.port.name} is gated, and it is recurrent",
                    "a ProcessingMechanism before or after it, with the gated port",
                )
            elif one.modulation == "override" and np.size(one.port.defaults.value) > 1:
                raise RefusedError(
                    f"a signal takes the place of several elements of {one.port.name}, at which "
                    "PsyNeuLink stops",
                    "MULTIPLICATIVE or ADDITIVE",
                )
            elif one.kind == "input":
                here = made.inputs[list(node.input_ports).index(one.port)]
            else:
                here = made.outputs.get(one.port.name, "")
                if list(made.outputs.values()).count(here) != 1:
                    raise RefusedError(
                        f"its port {one.port.name} is gated, and is not imported alone",
                        "one output port",
                    )
            self.made.modulate(
                start,
                here,
                sender_port=given,
                receiver="" if one.kind == "parameter" else self._name(node),
                kind=one.kind,
                modulation=one.modulation,
                feedback=self.nesting.place(sender) > self.nesting.place(node),
            )

    def _active(self, node: Any, projections: Any) -> list[Any]:
        """The projections that its composition makes: mechanisms may be in several ones."""
        owner = self.nesting.owner(node)
        return [one for one in projections if one.is_active_in_composition(owner)]

    # Projections.

    def _arrivals(self, node: Any) -> None:
        made = self.nodes[id(node)]
        for here, port in zip(made.inputs, node.input_ports, strict=True):
            with self.of(node):
                self._port(node, port)
            afferents = self._active(node, port.path_afferents)
            if hasattr(node, "recurrent_projection"):
                own = [one for one in afferents if one.sender.owner is node]
                if own != [node.recurrent_projection] or afferents[0] is not own[0]:
                    with self.of(node):
                        raise RefusedError(
                            "its own projection is not its first one", "one recurrent projection"
                        )
                afferents = afferents[1:]
            for one in afferents:
                with self.of(node):
                    self._projection(one, node, port, here)

    def _port(self, node: Any, port: Any) -> None:
        function, afferents = port.function, self._active(node, port.path_afferents)
        if kind_of(function) not in ("LinearCombination", "Identity"):
            raise RefusedError(
                f"input port {port.name} computes {kind_of(function)}", "nearest: LinearCombination"
            )
        if kind_of(function) == "LinearCombination":
            only(function, weights=None, exponents=None)
            if combined(function) and len(afferents) > 1:
                raise RefusedError(
                    f"input port {port.name} multiplies",
                    "nearest: a ProcessingMechanism with LinearCombination(operation=PRODUCT)",
                )
        if not afferents:
            raise RefusedError(
                f"nothing arrives at input port {port.name}", "connect it, or leave it out"
            )

    def _projection(self, projection: Any, node: Any, port: Any, here: str) -> None:
        projection, entry = self.nesting.origin(projection)
        if entry is not None:
            self._entry(node, port, here, entry)
            return
        port_sent = self.nesting.sent(projection.sender)
        sender = port_sent.owner
        if kind_of(projection) != "MappingProjection":
            raise RefusedError(f"{projection.name} is a {kind_of(projection)}", "MappingProjection")
        plain_matrix(projection)
        if weighs(projection):
            raise RefusedError(f"{projection.name} has a weight or exponent", "leave it out")
        if any(
            kind_of(modulator) != "LearningProjection"  # It acts in learn(), not in run().
            for one in projection.parameter_ports
            for modulator in one.mod_afferents
        ):
            raise RefusedError(f"{projection.name} learns, or is controlled", "fix its matrix")
        start, end = self._name(sender), self._name(node)
        if start == end:
            raise RefusedError(
                f"{projection.name} is a projection to itself", "a RecurrentTransferMechanism"
            )
        outputs = self.nodes[id(sender)].outputs
        if port_sent.name in self.nodes[id(sender)].refused:
            raise self.nodes[id(sender)].refused[port_sent.name]
        given = outputs.get(port_sent.name)
        if given is None or given not in self.made.mechanisms[start].ports():
            others = ", ".join(outputs) or "RESULT, and a ProcessingMechanism that computes it"
            raise RefusedError(
                f"{projection.name} brings {port_sent.name} of {sender.name}", f"nearest: {others}"
            )
        if self.nesting.place(sender) >= self.nesting.place(node):
            if self.live is not None:
                self.live.refuse_sent(port_sent)
            self._begins(sender, port_sent, start, given)
        self.made.connect(
            start,
            end,
            self._matrix(projection),
            sender_port=given,
            receiver_port=here,
            feedback=self.nesting.place(sender) > self.nesting.place(node),
            name=self.names.name(None, f"{start}_to_{end}"),
        )

    def _begins(self, sender: Any, port: Any, name: str, here: str) -> None:
        """RefusedError: a port that is read before its mechanism first ran begins with another
        value than here, as a step of its construction or the modeller left it."""
        given = self.given.initialize_cycle_values
        if not begins_as_built(sender) or id(sender) in self.starts or sender in given:
            return
        defaults = {name: one.default for name, one in self.made.parameters.items()}
        layout = Layout(self.made.mechanisms, {}, self.made.names, defaults)
        kept = np.ravel(value_of(port, "value")).astype(np.float64)
        usual = np.ravel(layout.initial_port(name, here))
        if not np.allclose(kept, usual, rtol=1e-12, atol=0.0):
            raise RefusedError(
                f"it reads {port.name} of {sender.name} before that first runs, and receives "
                f"{kept}, not {usual}",
                "set its reset_stateful_function_when=AtRunStart(), or an initial value of 0",
            )

    def _matrix(self, projection: Any) -> Any:
        """The matrix, after learning if the composition has learned."""
        parameter = projection.parameters.matrix
        port = projection.parameter_ports["matrix"]
        if port.mod_afferents and hasattr(port.function.parameters, "previous_value"):
            # The last change of learn() is in the port alone, until run() takes it from there.
            parameter = port.function.parameters.previous_value
        try:
            matrix = parameter.get(self.composition.default_execution_id)
        except self.pnl.core.globals.parameters.ParameterNoValueError:
            matrix = parameter.get(None)
        return np.array(matrix, dtype=np.float64)

    def _entry(self, node: Any, port: Any, here: str, outer: Any) -> None:
        """outer: the port of the outermost composition's node that receives the input."""
        top = outer.owner if outer.owner in self.composition.nodes else self.nesting.top(node)
        if outer not in self._entries(top):
            raise RefusedError(
                f"{port.name} shadows the input of {outer.owner.name}, which is nested",
                "a projection to it",
            )
        external = self._entries(top)
        base = self.names.name(node)
        if outer is port:
            several = len(external) > 1
            name = self.names.name(None, f"{base}_{port.name}" if several else f"{base}_in")
        else:
            name = self.names.name(None, f"{base}_in")
        shape = self.made.mechanisms[base].arrivals()[here]
        default = np.array(port.defaults.value, dtype=np.float64).reshape(shape)
        self.made.input(name, base, here, default=default)
        row = tuple(np.ravel(default).tolist())
        self.made.entries.append(Entry(top.name, outer.name, external.index(outer), name, row))

    def _entries(self, top: Any) -> list[Any]:
        """The ports of a node of the outermost composition that receive inputs."""
        ports = (top.input_CIM if isinstance(top, self.pnl.Composition) else top).input_ports
        return [one for one in ports if one in self.composition.input_CIM_ports]

    # The scheduler.

    def _schedule(self, termination: Any) -> None:
        self._together()
        for composition in reversed(self.nesting.compositions):
            with self.of(composition):
                self._scheduled(composition, termination)

    def _scheduled(self, composition: Any, termination: Any) -> None:
        """The conditions and the end of a composition; of a nested one, the nest."""
        scheduler, outer = composition.scheduler, composition is self.composition
        given = termination if outer else None
        ends = {**scheduler.termination_conds, **(given or {})}
        here = _here(self, composition)
        trials, timing = trials_of(scheduler, given), here.timed.timing()
        condition = condition_of(ends[self.pnl.TimeScale.TRIAL], here)
        if outer:
            self.made.trials_most, self.made.timing = trials, timing
            self.made.ends(condition)
        elif trials is not None:
            raise RefusedError(f"it is nested, and ends after {trials} trials", "a condition")
        else:
            members = [self._asked(one) for one in composition.nodes if self._is_node(one)]
            self.made.nest(self._nest(composition), *members, ends=condition, timing=timing)
        for node, condition in scheduler.conditions.conditions.items():
            if self._is_node(node):
                with self.of(node):
                    self.made.when(self._asked(node), condition_of(condition, here))

    def _in_order(self, composition: Any) -> None:
        """RefusedError: another order than PsyNeuLink's, or one that it leaves to chance."""
        schedule = self.made.schedule(self._nest(composition))
        sets = [
            tuple(sorted(self._asked(one) for one in members if self._is_node(one)))
            for members in self.nesting.sets(composition)
        ]
        given = [members for members in sets if members]
        if list(schedule.sets) != given:
            raise RefusedError(
                f"PsyNeuLink runs it in the order {given}, which does not follow from its "
                f"projections ({list(schedule.sets)})",
                "leave structural conditions out",
            )
        for owner, other in by_chance(schedule):
            with self.of(owner):
                raise RefusedError(
                    f"its condition wants {other} not to have run, which PsyNeuLink may run before "
                    "it or after it in one step, by chance",
                    "nearest: a projection between them, or a condition on passes",
                )
        searches = [one.search for one in self.made.nests.values()] + [self.made.search]
        if any(searches) and any(is_kept(key) and key[0] == "count" for key in schedule.cells):
            raise RefusedError(
                "its conditions count since the run began, which a controller's simulations begin "
                "anew",
                "nearest: TimeScale.TRIAL",
            )

    def _is_node(self, node: Any) -> bool:
        """Returns whether a node of a composition is one of the model: not one that only learns."""
        return id(node) in self.nodes or any(node is one for one in self.nesting.compositions)

    def _place(self, component: Any) -> Place:
        """Where the model has the value of a mechanism or of an output port.

        RefusedError: it is not in the passes of a trial, or has several rows.
        """
        rows, port = None, component
        if id(component) in self.nodes:
            rows, port = 1, component.output_ports[0]
            if np.shape(value_of(component, "value"))[:-1] != (1,) or not hands_on(port):
                raise RefusedError(
                    f"it reads the value of {component.name}, which is more than its first output "
                    "port's",
                    f"nearest: {component.name}.output_ports[0].value",
                )
        owner = getattr(port, "owner", None)
        node = self._name(owner) if owner is not None else ""
        name = port_named(self.nodes[id(owner)], port) if node else ""
        if not node or name not in self.made.mechanisms[node].ports():
            raise RefusedError(
                f"it reads the value of {getattr(component, 'name', component)}",
                "nearest: the value of a mechanism, or of an output port that passes one on",
            )
        return Place(node, name, self.made.mechanisms[node].ports()[name].size, rows)

    def _asked(self, node: Any) -> str:
        """The name of a mechanism, or of the nest of a composition."""
        if any(node is one for one in self.nesting.compositions[1:]):
            return self.names.name(node)
        return self._name(node)

    def _together(self) -> None:
        """Nodes of one set that send to one another: cycles, which PsyNeuLink runs at once."""
        for composition in self.nesting.compositions:
            for members in self.nesting.sets(composition):
                links = [
                    {self.names.name(one.sender.owner), self.names.name(node)}
                    for node in members
                    if id(node) in self.nodes
                    for port in node.input_ports
                    for one in afferents_of(port, composition)
                    if one.sender.owner is not node and any(one.sender.owner is m for m in members)
                ]
                for group in joined(links):
                    self.made.together(*sorted(group))

    # Outputs.

    def _results(self) -> None:
        last = self.composition.output_CIM.output_ports
        pairs = self.composition.output_CIM_ports.items()
        for outer, _ in sorted(pairs, key=lambda one: last.index(one[1][1])):
            port = self.nesting.sent(outer)
            with self.of(port.owner):
                node = self._name(port.owner)
                here = port_named(self.nodes[id(port.owner)], port)
                own = here in self.made.mechanisms[node].ports()
                several = len(port.owner.output_ports) > 1
                name = identifier(f"{node}_{port.name}" if several else node)
                self.made.output(name, node if own else here, here if own else "", earlier=True)
                self.made.results.append(name)


def _along(reader: _Importer) -> None:
    """Conditions for resets, and parameters that some calls have."""
    controlled = reader.nesting.is_controlled
    heres = {id(one): _here(reader, one) for one in reader.nesting.compositions}
    for node in reader.nesting.mechanisms:
        with reader.of(node):
            here = heres[id(reader.nesting.owner(node))]
            resets(reader.made, node, reader.nodes[id(node)].mechanism, here, controlled)
    for node, given in reader.given.runtime_params.items():
        with reader.of(node):
            reader._name(node)
            if controlled or reader.nesting.owner(node) is not reader.composition:
                raise RefusedError(
                    "runtime_params gives it numbers, and it is nested or a controller "
                    "simulates it",
                    "the numbers themselves, or a ControlMechanism",
                )
            here = heres[id(reader.composition)]
            overrides(
                reader.made, node, reader.nodes[id(node)].mechanism, given, here, reader.paths
            )


def _here(reader: _Importer, composition: Any) -> Here:
    scheduler = composition.scheduler
    given = reader.given.termination_processing if composition is reader.composition else None
    ends = {**scheduler.termination_conds, **(given or {})}
    return Here(reader._asked, reader._place, Timed(scheduler, ends))


def joined(links: Sequence[set[str]]) -> list[set[str]]:
    """Joins sets that overlap."""
    groups: list[set[str]] = []
    for link in links:
        touching = [one for one in groups if one & link]
        groups = [one for one in groups if not one & link]
        groups.append(set(link).union(*touching))
    return groups
