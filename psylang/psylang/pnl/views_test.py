"""Output ports that compute are ports of their mechanism. Needs no PsyNeuLink."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from psylang.ir.interpret import interpret
from psylang.model import Linear, Model, ModelError, Transfer
from psylang.model.mechanism import Recurrent
from psylang.pnl.asking import adopted
from psylang.pnl.refusals import RefusedError
from psylang.pnl.views import OfValue, View, viewed

SHIFT = 0.5
UNKNOWN: Any = eval("lambda x: x", {})


def halved(value):  # type: ignore[no-untyped-def]
    return value / 2.0 - SHIFT


def of_rows(value):  # type: ignore[no-untyped-def]
    return np.sum(value[0]) * 2.0


@pytest.mark.parametrize(
    "python",
    [
        halved,
        lambda x: np.sum(x**2) + SHIFT,
        lambda x, gain=2.0: x * gain,
        (lambda x: x + 1.0, lambda x: x + 2.0)[1],
    ],
)
def test_a_def_or_a_lambda_is_compiled_as_python_computes(python: Any) -> None:
    data = np.array([0.25, -1.5])
    more = [2.0] * (python.__code__.co_argcount - 1)
    made = OfValue(adopted(python), tuple(more))
    view = View(made, np.size(python(data, *more)))
    layer = Transfer("layer", size=2)
    model = Model("ports")
    model.add(viewed(layer, {"port": view}))
    model.input("x", "layer")
    model.output("port", "layer", "port")
    model.output("value", "layer", "value")
    found = interpret(model.program("exact"), inputs={"x": [data]})
    np.testing.assert_array_equal(found["port"][0], np.ravel(python(data, *more)))
    np.testing.assert_array_equal(found["value"][0], data)


def test_a_function_may_take_the_value_as_a_matrix_of_one_row() -> None:
    model = Model("rows")
    view = View(OfValue(adopted(of_rows), is_matrix=True), 1)
    model.add(viewed(Transfer("layer", size=2), {"port": view}))
    model.input("x", "layer")
    model.output("port", "layer", "port")
    found = interpret(model.program("exact"), inputs={"x": [[1.0, 2.5]]})
    assert found["port"].ravel().tolist() == [7.0]


def test_another_mechanism_receives_the_port_in_the_same_pass() -> None:
    model = Model("sent")
    view = View(OfValue(adopted(halved)), 2)
    model.add(viewed(Transfer("layer", size=2), {"port": view}))
    model.add(Transfer("reader", size=2, function=Linear(slope=4.0)))
    model.input("x", "layer")
    model.connect("layer", "reader", sender_port="port")
    model.output("reader", "reader")
    found = interpret(model.program("exact"), inputs={"x": [[1.0, 2.0]]})
    assert found["reader"].tolist() == [[0.0, 2.0]]


@pytest.mark.parametrize("recurs", ["", "port"])
def test_a_layer_sends_itself_what_its_port_computes(recurs: str) -> None:
    model = Model("recurs")
    layer = Transfer("layer", size=2, recurrent=Recurrent(auto=2.0), reset="never")
    view = View(OfValue(adopted(halved)), 2)
    model.add(viewed(layer, {"port": view}, recurs))
    model.input("x", "layer")
    model.output("value", "layer", "value")
    found = interpret(model.program("exact"), inputs={"x": [[1.0, 2.0]] * 3}, trials=3)
    state, wanted = np.zeros(2), []
    for _ in range(3):
        sent = halved(state) if recurs else state  # type: ignore[no-untyped-call]
        state = np.array([1.0, 2.0]) + 2.0 * sent
        wanted.append(state.tolist())
    assert found["value"].tolist() == wanted


def test_a_mechanism_without_such_ports_stays_as_it_is() -> None:
    layer = Transfer("layer")
    assert viewed(layer, {}) is layer


def test_a_port_of_another_size_is_an_error() -> None:
    model = Model("size")
    model.add(viewed(Transfer("layer", size=2), {"port": View(OfValue(adopted(halved)), 3)}))
    model.input("x", "layer")
    model.output("port", "layer", "port")
    with pytest.raises(ModelError, match=r"it gives shape \(2,\), and the port has \(3,\)"):
        model.program("exact")


def test_lambdas_that_cannot_be_read_are_refused() -> None:
    with pytest.raises(RefusedError, match="a lambda has stars or keywords"):
        adopted(lambda *x: x)
    with pytest.raises(RefusedError, match="a lambda has stars or keywords"):
        adopted(lambda x, *, y: x + y)
    with pytest.raises(RefusedError, match="the source of its function at <string>:1 is not there"):
        adopted(UNKNOWN)
