"""Generators and arguments that are not PsyNeuLink's: refused in one line, never another number.

Only where PsyNeuLink 0.21 is installed (`./dev test --psylang-full`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import psylang
from psylang.pnl import from_psyneulink
from psylang.pnl.pnl_fixture import needs_psyneulink

pytestmark = needs_psyneulink
BOTH = pytest.mark.parametrize("live", [False, True])


def theirs() -> Any:
    from psyneulink.core.globals.utilities import _SeededPhilox

    return _SeededPhilox([3])


@BOTH
@pytest.mark.parametrize(
    ("make", "said"),
    [
        (theirs, "a _SeededPhilox on Philox; nearest: PsyNeuLink's own SeededRandomState"),
        (lambda: np.random.Generator(np.random.Philox(3)), "a Generator on Philox"),
        (lambda: np.random.default_rng(3), "a Generator on PCG64"),
        (lambda: np.random.RandomState(np.random.Philox(3)), "a RandomState on Philox"),
        # PsyNeuLink stops at it: it has no `used_seed`.
        (lambda: np.random.RandomState(5), "a RandomState on MT19937"),
        (lambda: "text", "a str; nearest"),
    ],
)
def test_generators_of_another_kind_are_refused(make: Any, said: str, live: bool) -> None:
    import psyneulink as pnl

    node = pnl.TransferMechanism(name="node", noise=pnl.NormalDist(seed=3))
    node.parameters.noise.get().parameters.random_state.set(make(), override=True)
    with pytest.raises(psylang.NotImportedError, match=f"its NormalDist draws from {said}"):
        from_psyneulink(pnl.Composition(nodes=[node]), live=live)


PHILOX = np.random.RandomState(np.random.Philox(3))


def shaken(variable: Any) -> Any:
    return variable + PHILOX.normal()


@BOTH
def test_the_generator_of_a_function_is_a_twister(live: bool) -> None:
    import psyneulink as pnl

    function = pnl.UserDefinedFunction(shaken, default_variable=[[0.0]])
    node = pnl.ProcessingMechanism(name="node", function=function)
    with pytest.raises(psylang.NotImportedError, match=r"a RandomState on Philox; numpy\.random"):
        from_psyneulink(pnl.Composition(nodes=[node]), live=live)


def cycle(pnl: Any) -> tuple[Any, Any]:
    one, other = (pnl.TransferMechanism(name=name, input_shapes=2) for name in ("one", "other"))
    net = pnl.Composition(nodes=[one, other])
    net.add_projection(pnl.MappingProjection(matrix=np.eye(2) * 0.5), one, other)
    net.add_projection(pnl.MappingProjection(matrix=np.eye(2) * 0.5), other, one)
    return net, one


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([[1.0]], "has 1 elements for its 2; 2 elements"),
        ([[1.0, 2.0, 3.0]], "has 3 elements for its 2"),
        ([[1.0, 2.0], [3.0, 4.0]], "has 4 elements for its 2"),
        ([[1.0, float("nan")]], r"is \[ 1. nan\]; it must be finite"),
        ([[1.0, float("inf")]], r"is \[ 1. inf\]; it must be finite"),
        ([["a", "b"]], "give numbers"),
        ("x", "is 'x'; give numbers"),
        ({"a": 1.0}, "give numbers"),
    ],
)
def test_values_of_a_cycle_are_as_many_finite_numbers(given: Any, said: str) -> None:
    import psyneulink as pnl

    net, one = cycle(pnl)
    with pytest.raises(psylang.NotImportedError, match=said):
        from_psyneulink(net, initialize_cycle_values={one: given})
    assert from_psyneulink(net, initialize_cycle_values={one: "default"})


def test_values_of_a_cycle_are_of_its_nodes() -> None:
    import psyneulink as pnl

    net, _ = cycle(pnl)
    for stranger in ("one", pnl.ProcessingMechanism(name="stranger")):
        with pytest.raises(psylang.PsylangError, match="which is no node of Composition"):
            from_psyneulink(net, initialize_cycle_values={stranger: [[1.0, 2.0]]})


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"runtime_params": [1]}, r"runtime_params has \[1\]; give a dictionary: "),
        ({"runtime_params": {"node": 3}}, "runtime_params has 3; give a dictionary: "),
        ({"runtime_params": {"node": {3: 3.0}}}, "has `3`, which is no number of the model"),
        (
            {"runtime_params": {"node": {"slope": "x"}}},
            "`slope` of runtime_params is 'x'; give num",
        ),
        ({"runtime_params": {"node": {"slope": float("nan")}}}, "is nan; it must be finite"),
        ({"runtime_params": {"node": {"slope": [1.0] * 3}}}, r"has shape \(3,\); it needs"),
        ({"runtime_params": {"node": {"slope": (2.0, 5)}}}, "the condition int is not imported"),
        ({"initialize_cycle_values": [1]}, "initialize_cycle_values has .*; give a dictionary"),
        ({"reset_stateful_functions_to": 2.0}, "reset_stateful_functions_to has 2.0; give a dic"),
        ({"reset_stateful_functions_to": {"node": [["a"]]}}, "reset_stateful_functions_to of node"),
    ],
)
def test_arguments_of_another_form_are_refused(given: dict[str, Any], said: str) -> None:
    import psyneulink as pnl

    node = pnl.TransferMechanism(name="node", input_shapes=2)
    named: dict[str, Any] = {
        name: {node: next(iter(one.values()))} if isinstance(one, dict) else one
        for name, one in given.items()
    }
    with pytest.raises(psylang.PsylangError, match=said):
        from_psyneulink(pnl.Composition(nodes=[node]), **named)
