"""The predator-prey game: attention to three avatars is searched for on a grid."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
from common import Columns, append_row, empty, raised, restart

AVATARS = ("player", "predator", "prey")


def parameters(levels: int, trials: int) -> dict[str, Any]:
    return {
        "levels": levels,
        "allocations": [2.0 * k / (levels - 1) for k in range(levels)],
        "cost_rate": -1.0,
        "cost_bias": -2.0,
        "fear": 2.0,
        "seeds": {"player": 501, "predator": 502, "prey": 503},
        "trials": trials,
    }


def inputs(p: dict[str, Any]) -> list[list[list[float]]]:
    """The positions of player, predator and prey: multiples of a half in [-10, 10]."""
    return [
        [
            [((37 * t + 101 * a + 59 * axis) * 11 % 41 - 20) / 2 for axis in range(2)]
            for a in range(3)
        ]
        for t in range(p["trials"])
    ]


def action(variable: Any, fear: float) -> list[float]:
    """Towards the prey and away from the predator, the more so the nearer it is."""
    player, predator, prey = ([float(x) for x in row] for row in variable)
    chase = [prey[0] - player[0], prey[1] - player[1]]
    flee = [player[0] - predator[0], player[1] - predator[1]]
    far = math.sqrt(chase[0] * chase[0] + chase[1] * chase[1])
    near = flee[0] * flee[0] + flee[1] * flee[1]
    return [c / (far + 1.0) + fear * f / (near + 1.0) for c, f in zip(chase, flee, strict=True)]


def simulate(p: dict[str, Any]) -> Columns:
    import psyneulink as pnl

    fear = p["fear"]

    def act(variable: Any) -> Any:
        return np.array(action(variable, fear))

    positions = {name: pnl.TransferMechanism(name=name, input_shapes=2) for name in AVATARS}
    seen = {
        name: pnl.ProcessingMechanism(
            name=f"{name}_seen",
            input_shapes=2,
            function=pnl.GaussianDistort(seed=p["seeds"][name]),
        )
        for name in AVATARS
    }
    moves = {
        name: pnl.ProcessingMechanism(
            name=name,
            input_shapes=[2, 2, 2],
            function=pnl.UserDefinedFunction(act, default_variable=np.zeros((3, 2))),
        )
        for name in ("action", "ideal")
    }
    composition = pnl.Composition(name="predator_prey", controller_mode=pnl.BEFORE)
    composition.add_nodes([*positions.values(), *seen.values(), *moves.values()])
    for index, name in enumerate(AVATARS):
        identity = np.eye(2)
        composition.add_projection(pnl.MappingProjection(identity), positions[name], seen[name])
        for sender, move in ((seen[name], "action"), (positions[name], "ideal")):
            projection = pnl.MappingProjection(
                sender=sender, receiver=moves[move].input_ports[index], matrix=identity
            )
            composition.add_projection(projection)
    controller = pnl.OptimizationControlMechanism(
        name="attention",
        agent_rep=composition,
        state_features=[positions[name].input_port for name in AVATARS],
        objective_mechanism=pnl.ObjectiveMechanism(
            name="objective",
            monitor=[moves["action"], moves["ideal"]],
            function=pnl.Distance(metric=pnl.NORMED_L0_SIMILARITY),
        ),
        function=pnl.GridSearch(direction=pnl.MAXIMIZE, save_values=True, save_samples=True),
        control_signals=[
            pnl.ControlSignal(
                modulates=(pnl.VARIANCE, seen[name]),
                modulation=pnl.OVERRIDE,
                allocation_samples=p["allocations"],
                cost_options=pnl.CostFunctions.INTENSITY,
                intensity_cost_function=pnl.Exponential(rate=p["cost_rate"], bias=p["cost_bias"]),
            )
            for name in AVATARS
        ],
    )
    composition.add_controller(controller)
    for name in AVATARS:
        restart(seen[name].function, p["seeds"][name])
    columns = empty("input allocation net_outcomes action ideal objective")
    columns["input"] = inputs(p)

    def record() -> None:
        value = controller.parameters.value.get(composition)
        columns["allocation"].append([float(x) for x in np.ravel(value)])
        columns["net_outcomes"].append([float(x) for x in np.ravel(controller.saved_values)])
        for name, move in moves.items():
            columns[name].append(move.output_port.parameters.value.get(composition).tolist())
        objective = controller.objective_mechanism.output_port.parameters.value.get(composition)
        columns["objective"].append(float(objective[0]))

    composition.run(
        inputs={positions[name]: [t[i] for t in inputs(p)] for i, name in enumerate(AVATARS)},
        call_after_trial=record,
    )
    return columns


def replay(p: dict[str, Any]) -> Columns:
    random = {name: np.random.RandomState([p["seeds"][name]]) for name in AVATARS}
    columns = empty("input allocation net_outcomes action ideal objective margin draws_before")
    for trial, positions in enumerate(inputs(p)):
        draws = [[random[name].standard_normal() for _ in range(2)] for name in AVATARS]
        ideal = action(positions, p["fear"])

        def evaluate(
            allocation: tuple[float, ...],
            positions: list[list[float]] = positions,
            draws: list[list[float]] = draws,
            ideal: list[float] = ideal,
        ) -> tuple[list[float], float, float]:
            seen = [
                [x + sd * z for x, z in zip(where, noise, strict=True)]
                for where, noise, sd in zip(positions, draws, allocation, strict=True)
            ]
            move = action(seen, p["fear"])
            outcome = 1.0 - (abs(move[0] - ideal[0]) + abs(move[1] - ideal[1])) / 4.0
            costs = [raised(p["cost_rate"] * x + p["cost_bias"]) for x in allocation]
            return move, outcome, outcome - (costs[0] + costs[1] + costs[2])

        best: tuple[float, ...] = ()
        best_net = -math.inf
        net_outcomes: list[float] = []
        for allocation in product(p["allocations"], repeat=3):
            net = evaluate(allocation)[2]
            if net > best_net:
                best, best_net = allocation, net
            net_outcomes.append(net)
        move, outcome, _ = evaluate(best)
        first, second = sorted(net_outcomes)[:-3:-1]
        row = [positions, list(best), net_outcomes, move, ideal, outcome, first - second, 2 * trial]
        append_row(columns, row)
    return columns
