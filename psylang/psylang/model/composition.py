"""Model: mechanisms, projections, inputs, conditions, control and outputs, by name.

model = Model("choice")
drift = model.parameter("drift", 0.3, range=(-5, 5))
decision = model.add(DDM("decision", integrator=DriftDiffusion(rate=drift)))
model.output("response_time", decision, "response_time")
program = model.program(vary=["drift"])
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from psylang.ir.graph import Numerics, Program
from psylang.model.along import Override, Reset
from psylang.model.blueprint import (
    Blueprint,
    External,
    Inner,
    Projection,
    Recorded,
    Target,
    modulated_port,
)
from psylang.model.checks import fits, named, parameter_of, port_of, within
from psylang.model.conditions import AllHaveRun, Condition
from psylang.model.control import GridSearch
from psylang.model.errors import ModelError, listed
from psylang.model.lowering import lowered, rules_of
from psylang.model.mechanism import Mechanism
from psylang.model.parameters import (
    Array,
    Formula,
    Limits,
    Parameter,
    array_of,
    checked_range,
    name_of,
    numbers_of,
)
from psylang.model.rules import Modulation, Relation, Rules, relations_of
from psylang.model.schedule import Schedule, Timing

M = TypeVar("M", bound=Mechanism)
PASSES_MAX = 1000


class Model:
    """A cognitive model: its components. program() compiles it to the IR.

    max_passes: the limit for a trial of unknown length; at the limit, `truncated` is true.
    """

    def __init__(self, name: str, max_passes: int = PASSES_MAX) -> None:
        self.name = named("model", name)
        if isinstance(max_passes, bool) or not isinstance(max_passes, int) or max_passes < 1:
            raise ModelError(f"max_passes is {max_passes!r}; it must be a whole number above 0")
        self.max_passes = max_passes
        self.mechanisms: dict[str, Mechanism] = {}
        self.projections: dict[str, Projection] = {}
        self.externals: dict[str, External] = {}
        self.conditions: dict[str, Condition] = {}
        self.groups: list[frozenset[str]] = []
        self.closing: list[str] = []
        self.termination: Condition = AllHaveRun()
        self.search: GridSearch | None = None
        self.nests: dict[str, Inner] = {}
        self.timing: Timing | None = None
        self.resets: list[Reset] = []  # See course.py.
        self.overrides: list[Override] = []
        self.outputs: dict[str, Recorded] = {}
        self.arriving: dict[tuple[str, str], list[str]] = {}
        self.names: dict[str, dict[str, str]] = {}
        self._parameters: dict[str, Parameter] = {}
        self._limits: dict[str, list[Limits]] = {}
        self._relations: list[Relation] = []
        self._formulas: dict[str, Formula] = {}

    def __repr__(self) -> str:
        return f"<Model {self.name}: {listed(self.mechanisms)}>"

    # Parts.

    def parameter(
        self,
        name: str,
        default: Any,
        range: tuple[float, float] | None = None,
        description: str = "",
    ) -> Parameter:
        """A number with a name, for fields of components. range: what analyses may assume.

        ModelError: the name is taken, the default is not finite, or not within the range.
        """
        made = Parameter(named("parameter", name), array_of(name, default), None, description)
        if range is not None:
            made = Parameter(name, made.default, checked_range(name, range), description)
        return self._register(made)

    def _register(self, made: Parameter) -> Parameter:
        if made.name in self._parameters:
            raise ModelError(f"there is already a parameter `{made.name}` in `{self.name}`")
        within(made.name, made.default, made.range)
        self._parameters[made.name] = made
        self._limits[made.name] = []
        return made

    def add(self, mechanism: M) -> M:
        """Adds a mechanism to the model. ModelError: its name is taken."""
        named("mechanism", mechanism.name)
        if mechanism.name in self.mechanisms:
            raise ModelError(f"there is already a mechanism `{mechanism.name}` in `{self.name}`")
        if mechanism.max_steps < 1 or mechanism.max_steps >= 2**31:
            raise ModelError(
                f"max_steps of `{mechanism.name}` is {mechanism.max_steps}; it must be in "
                "1 … 2**31 - 1"
            )
        self._number(mechanism.name, mechanism.own_scope())
        self.mechanisms[mechanism.name] = mechanism
        return mechanism

    def _number(self, component: str, holder: Any) -> None:
        """Makes the numbers of a component parameters."""
        names: dict[str, str] = {}
        for one in numbers_of(holder, component):
            name = names[one.path] = name_of(one.path, one.value)
            if isinstance(one.value, Formula):
                _compute(self, name, one.value)
            elif isinstance(one.value, Parameter):
                if self._parameters.get(name) is not one.value:
                    raise ModelError(
                        f"`{one.path}` holds the parameter `{name}` of another model; make it "
                        f"with parameter() of `{self.name}`"
                    )
            else:
                self._register(Parameter(name, array_of(name, one.value)))
            one.limits.check(name, self._parameters[name].default)
            self._limits[name].append(one.limits)
        self.names[component] = names
        for path, relation in relations_of(holder, component):
            value, bound = (names[f"{path}.{one}"] for one in (relation.value, relation.bound))
            made = Relation(value, relation.kind, bound)
            pair = {name: self._parameters[name].default for name in (value, bound)}
            Rules(pair, {}, [made], {}).check({}, everything=True)
            self._relations.append(made)

    def connect(
        self,
        sender: str | Mechanism,
        receiver: str | Mechanism,
        matrix: Any = None,
        *,
        sender_port: str = "",
        receiver_port: str = "",
        feedback: bool = False,
        name: str = "",
    ) -> Projection:
        """A projection. matrix: (sender's size, receiver's size), a Parameter, a factor of all
        elements, or None: the value unchanged. Its zeros are no connections.

        ModelError: unknown names, shapes that do not match, or a mechanism to itself.
        """
        start, end = self._known(sender), self._known(receiver)
        if start is end:
            raise ModelError(
                f"a projection of `{start.name}` to itself; give it a Recurrent(…) instead: it "
                "reads the activity of each step"
            )
        given, taken = port_of(start, start.ports(), sender_port), None
        taken = port_of(end, end.arrivals(), receiver_port)
        made = Projection(
            name=named("projection", name or f"{start.name}_to_{end.name}"),
            sender=start.name,
            sender_port=given,
            receiver=end.name,
            receiver_port=taken,
            matrix=matrix,
            feedback=feedback,
        )
        if made.name in self.projections or made.name in self.mechanisms:
            raise ModelError(f"there is already a `{made.name}`; give the projection a name")
        kind = start.ports()[given]
        shape = matrix.default.shape if isinstance(matrix, Parameter) else np.shape(matrix)
        fits(made, kind.shape, end.arrivals()[taken], None if matrix is None else shape)
        self._number(made.name, made)
        self.projections[made.name] = made
        self.arriving.setdefault((end.name, taken), []).append(made.name)
        return made

    def modulate(
        self,
        sender: str | Mechanism,
        target: str | Parameter,
        *,
        sender_port: str = "",
        receiver: str | Mechanism = "",
        kind: Target = "parameter",
        modulation: Modulation = "multiplicative",
        feedback: bool = False,
    ) -> Projection:
        """Lets a mechanism's output, one number, set a parameter of another one while that runs:
        parameter * output, parameter + output, or the output itself. kind: input or output, for a
        port of `receiver` that is gated; it takes the place of what arrives or leaves. A parameter
        beyond its limits is NaN in that call: nothing is decided, and the run is an UndefinedError.

        ModelError: unknown names, an output of several numbers, a parameter that no mechanism or
        several components use, or one target twice.
        """
        start = self._known(sender)
        given = port_of(start, start.ports(), sender_port)
        if start.ports()[given].size != 1:
            raise ModelError(f"`{start.name}.{given}` has several numbers; one modulates")
        name = target if isinstance(target, str) else target.name
        if kind == "parameter":
            self.default(name)
            users = [one for one, names in self.names.items() if name in names.values()]
            if len(users) != 1 or users[0] not in self.mechanisms or name in self._formulas:
                raise ModelError(
                    f"`{name}` is modulated, and used by {listed(users)}; a "
                    "modulated parameter is one of one mechanism"
                )
            end = self.mechanisms[users[0]]
        else:
            end = self._known(receiver)
            name = port_of(end, end.arrivals() if kind == "input" else end.ports(), name)
        if start is end:
            raise ModelError(f"`{start.name}` modulates itself; another mechanism may")
        place = (end.name, modulated_port(kind, name))
        if self.arriving.get(place):
            raise ModelError(f"{kind} `{name}` of `{end.name}` is modulated already")
        made = Projection(
            name=f"{start.name}_modulates_{end.name}_{len(self.projections)}",
            sender=start.name,
            sender_port=given,
            receiver=end.name,
            receiver_port=place[1],
            feedback=feedback,
            modulation=modulation,
        )
        self._number(made.name, made)
        self.projections[made.name] = made
        self.arriving[place] = [made.name]
        return made

    def input(
        self, name: str, receiver: str | Mechanism, port: str = "", default: Any = None
    ) -> None:
        """Adds an input of each trial, of the port's shape. A further call adds a further port."""
        node = self._known(receiver)
        port = port_of(node, node.arrivals(), port)
        shape, before = node.arrivals()[port], self.externals.get(named("input", name))
        array = None if default is None else array_of(name, default)
        if array is not None and array.shape != shape:
            raise ModelError(
                f"default of input `{name}` has shape {array.shape}, port `{node.name}.{port}` "
                f"has {shape}"
            )
        if before is None:
            made = External(name, shape, array, ((node.name, port),))
        else:
            if before.shape != shape or array is not None:
                raise ModelError(
                    f"input `{name}` of shape {before.shape} goes to `{node.name}.{port}` of "
                    f"shape {shape}, too; shapes must match, and its default is given once"
                )
            made = External(name, shape, before.default, (*before.receivers, (node.name, port)))
        self.externals[name] = made
        self.arriving.setdefault((node.name, port), []).append(name)

    def together(self, *mechanisms: str | Mechanism) -> None:
        """Makes mechanisms run at once, each with the others' previous values: a cycle of them
        needs no feedback projection. ModelError: one that is in another such group, or unknown."""
        group = frozenset(self._known(one).name for one in mechanisms)
        twice = [name for name in sorted(group) if any(name in other for other in self.groups)]
        if twice or len(group) < 2:
            raise ModelError(
                f"{listed(twice or sorted(group))}: a group is of two mechanisms or more, and a "
                "mechanism is in one"
            )
        self.groups.append(group)

    def last(self, mechanism: str | Mechanism) -> None:
        """Makes a mechanism run once in a trial, after the last pass; only such mechanisms may
        receive from it. AllHaveRun does not include it. ModelError: it is one already."""
        node = self._known(mechanism)
        if node.name in self.closing or node.name in self.conditions:
            raise ModelError(f"`{node.name}` is a last one, or has a condition, already")
        self.closing.append(node.name)

    def when(self, mechanism: str | Mechanism, condition: Condition) -> None:
        """Sets when a mechanism runs. Without a condition it runs when all its senders have run
        since its last run."""
        name = str(mechanism) if mechanism in self.nests else self._known(mechanism).name
        if name in self.closing:
            raise ModelError(f"`{name}` runs after the last pass; it takes no condition")
        _known_to(self, condition)
        self.conditions[name] = condition

    def ends(self, condition: Condition) -> None:
        """Sets when a trial ends. Without a condition it ends when all mechanisms have run."""
        _known_to(self, condition)
        self.termination = condition

    def nest(
        self,
        name: str,
        *members: str | Mechanism,
        ends: Condition | None = None,
        timing: Timing | None = None,
    ) -> None:
        """Gives mechanisms, or other nests, a schedule of their own: they become one node, `name`,
        each of whose calls is a trial of them. ends: when that trial ends; without it, when all of
        them have run. ModelError: the name is taken, no member, or one that is in another nest."""
        if named("nest", name) in (*self.mechanisms, *self.nests):
            raise ModelError(
                f"there is already a `{name}` in `{self.name}`; name the nest otherwise"
            )
        nodes = [str(one) if one in self.nests else self._known(one).name for one in members]
        taken = [one for nest in self.nests.values() for one in nest.members]
        twice = [one for one in nodes if one in taken or one in self.closing]
        if not nodes or twice or len(set(nodes)) != len(nodes):
            raise ModelError(
                f"the nest `{name}` of {listed(nodes)}: it has members, each once, which are in no "
                "other nest and do not run after the last pass"
            )
        condition = AllHaveRun() if ends is None else ends
        _known_to(self, condition)
        self.nests[name] = Inner(name, tuple(nodes), condition, timing)

    def control(self, search: GridSearch, nest: str = "") -> None:
        """Sets the search that chooses parameters before each trial, of the model or of a nest;
        output `allocation` is the choice of the model's."""
        if nest and nest not in self.nests:
            raise ModelError(f"`{self.name}` has no nest `{nest}`; it has {listed(self.nests)}")
        if (self.nests[nest].search if nest else self.search) is not None:
            raise ModelError(f"`{nest or self.name}` has a control already; a model has one")
        node = self._known(search.objective)
        port = port_of(node, node.ports(), search.objective_port)
        if node.ports()[port].size != 1 or not node.ports()[port].dtype.is_float:
            raise ModelError(
                f"the objective `{node.name}.{port}` is {node.ports()[port]}; it must be one number"
            )
        for signal in search.signals:
            self.default(signal.name)
        if nest:
            self.nests[nest] = replace(self.nests[nest], search=search)
        else:
            self.search = search

    def output(
        self,
        name: str,
        mechanism: str | Mechanism | Sequence[str | Mechanism],
        port: str = "",
        *,
        earlier: bool = False,
    ) -> None:
        """A value to record, as it is when the trial ends; of several mechanisms one after the
        other, in a vector. earlier: it may be a value of an earlier pass, if the trial ends as soon
        as another mechanism has run. ModelError: unknown, name taken, or several of other than
        numbers."""
        several = isinstance(mechanism, Sequence) and not isinstance(mechanism, str)
        nodes = [self._known(one) for one in (mechanism if several else (mechanism,))]  # type: ignore[union-attr,arg-type]
        if named("output", name) in self.outputs or name in ("truncated", "allocation"):
            raise ModelError(f"there is already an output `{name}` of `{self.name}`")
        places = [(node.name, port_of(node, node.ports(), port)) for node in nodes]
        kinds = [self.mechanisms[node].ports()[place] for node, place in places]
        if several and not (kinds and all(kind.dtype.is_float for kind in kinds)):
            raise ModelError(f"output `{name}` is of no mechanism, or not of numbers alone")
        self.outputs[name] = Recorded(tuple(places), several, earlier)

    # Queries.

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """All parameters by name: those made by parameter(), and fields as `component.field`."""
        return dict(self._parameters)

    def limits(self, name: str) -> tuple[Limits, ...]:
        """The limits of the fields that use a parameter."""
        return tuple(self._limits[name])

    def schedule(self, nest: str = "") -> Schedule:
        """Consideration sets, conditions, and the end of a trial, of the model or of a nest.
        ModelError: a cycle, or a condition on a node of another schedule."""
        return self._blueprint().schedule(nest)

    def afterwards(self) -> tuple[str, ...]:
        """The mechanisms that run after the last pass, in order. ModelError: a cycle."""
        return self._blueprint().afterwards()

    def _blueprint(self) -> Blueprint:
        """The model as it is now; parts that are added later are not included."""
        return Blueprint(
            name=self.name,
            max_passes=self.max_passes,
            parameters=dict(self._parameters),
            limits={name: tuple(every) for name, every in self._limits.items()},
            relations=tuple(self._relations),
            formulas=dict(self._formulas),
            names=dict(self.names),
            mechanisms=dict(self.mechanisms),
            projections=dict(self.projections),
            externals=dict(self.externals),
            arriving={port: tuple(names) for port, names in self.arriving.items()},
            conditions=dict(self.conditions),
            groups=tuple(self.groups),
            closing=tuple(self.closing),
            termination=self.termination,
            search=self.search,
            outputs=dict(self.outputs),
            nests=dict(self.nests),
            timing=self.timing,
            resets=tuple(self.resets),
            overrides=tuple(self.overrides),
        )

    def program(
        self,
        numerics: Numerics = "fast",
        fix: Mapping[str, Any] | None = None,
        vary: Iterable[str] = (),
        ranges: Mapping[str, tuple[float, float]] | None = None,
    ) -> Program:
        """The program of one trial.

        fix: values of parameters, which become constants; those neither fixed nor varied are
        constants of their defaults. vary: parameters that are given at run time. ranges: of
        varied parameters, in place of their own.
        ModelError: an unknown name, a shape that does not match, NaN, a value out of range, a
        cycle, a trial that never ends, or no output.
        """
        return lowered(self._blueprint(), numerics, dict(fix or {}), vary, dict(ranges or {}))

    def rules(self, fix: Mapping[str, Any] | None = None) -> Rules:
        """The permitted values of the parameters, with the parameters of `fix` as constants.

        ModelError: as program().
        """
        return rules_of(self._blueprint(), dict(fix or {}))

    # Names.

    def _known(self, mechanism: str | Mechanism) -> Mechanism:
        name = mechanism if isinstance(mechanism, str) else mechanism.name
        found = self.mechanisms.get(name)
        if found is None or (not isinstance(mechanism, str) and found is not mechanism):
            raise ModelError(
                f"there is no mechanism `{name}` in `{self.name}`; it has {listed(self.mechanisms)}"
            )
        return found

    def default(self, name: str) -> Array:
        """The default of a parameter. ModelError: there is none of that name."""
        return parameter_of(self.name, self._parameters, name).default


def _compute(model: Model, name: str, formula: Formula) -> None:
    """Adds a parameter that is computed from others."""
    for leaf in formula.leaves():
        if model._parameters.get(leaf.name) is not leaf:
            raise ModelError(
                f"`{name}` is computed from the parameter `{leaf.name}` of another model; make "
                f"it with parameter() of `{model.name}`"
            )
        model._limits[leaf.name].append(Limits())
    defaults = {leaf.name: leaf.default for leaf in formula.leaves()}
    model._register(Parameter(name, array_of(name, formula.computed(defaults))))
    model._formulas[name] = formula


def _known_to(model: Model, condition: Condition) -> None:
    """ModelError: it is no condition, or names what is not in the model."""
    if not isinstance(condition, Condition):
        raise ModelError(f"{condition!r} is no condition; see psylang.model.conditions")
    for one in condition.walk():
        for node in one.nodes():
            if node not in model.nests:
                model._known(node)
