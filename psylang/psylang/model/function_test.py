"""User-defined functions: what is compiled gives what Python gives; what is not says where."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from psylang.ir.builder import ProgramBuilder
from psylang.ir.graph import Origin
from psylang.ir.interpret import interpret
from psylang.ir.types import DType, Type
from psylang.model import Compute, Function, Model, ModelError, Transfer, While, function
from psylang.model.arithmetic import as_float

SCALE = 3.0


def compiled(tested: Function, *data: Any) -> Any:
    """What the compiled function gives."""
    build = ProgramBuilder("test", "exact")
    arrays = [np.asarray(one, np.float64) for one in data]
    values = [build.input(f"x{k}", Type(DType.F64, one.shape)) for k, one in enumerate(arrays)]
    build.output("y", as_float(build, tested.inline(build, values, Origin("test"))))
    inputs = {f"x{k}": one[None] for k, one in enumerate(arrays)}
    return interpret(build.build(), inputs=inputs)["y"][0]


@function
def guarded(x):  # type: ignore[no-untyped-def]
    """Early returns, chained comparisons, a closure's constant."""
    if x < 0:
        return -x
    if 0 <= x < 1 or x == 7:
        y = x * SCALE
    elif not x > 5:
        y = x + 1
    else:
        y = 0.5
    y += 1
    return y


@function
def collatz(x):  # type: ignore[no-untyped-def]
    """A bounded loop that breaks."""
    steps = 0
    for _ in range(1000):
        if x <= 1:
            break
        if x / 2 == np.floor(x / 2):
            x = x / 2
        else:
            x = 3 * x
            x = x + 1
        steps += 1
    return steps


@function
def many(x):  # type: ignore[no-untyped-def]
    """A loop too long to be unrolled, which uses its counter."""
    total = 0.0
    for k in range(2000, 0, -2):
        total = total + x * k
    return total


@function
def matrices(a, b):  # type: ignore[no-untyped-def]
    """Matrices and NumPy's calls."""
    product = a @ b
    rows = [np.sum(row) for row in a]
    most = product.max() if np.max(product) > 1 else np.min(product)
    spread = np.clip(product / most, -0.5, 0.5)
    return np.where(spread > 0, spread, np.tanh(spread)) + np.mean(b) + rows[0] + max(*rows)


@function
def winner(x):  # type: ignore[no-untyped-def]
    """The other calls."""
    low, high = np.minimum(x[0], x[-1]), np.maximum(x[0], x[1])
    length = np.linalg.norm(x[1:]) + abs(-math.sqrt(2.0))
    return np.array([np.argmax(x), low, high, length, float(high > low), min(x), x.size])


def by_hand(x: Sequence[float]) -> Any:
    y = np.asarray(x)
    low, high = min(y[0], y[-1]), max(y[0], y[1])
    length = np.linalg.norm(y[1:]) + math.sqrt(2.0)
    return [np.argmax(y), low, high, length, float(high > low), min(y), y.size]


@pytest.mark.parametrize("x", [-2.0, 0.0, 0.5, 1.0, 5.0, 6.0, 7.0])
def test_branches(x: float) -> None:
    assert compiled(guarded, x) == guarded(x)


@pytest.mark.parametrize("x", [1.0, 6.0, 27.0])
def test_a_loop_that_breaks(x: float) -> None:
    assert compiled(collatz, x) == collatz(x)


def test_a_loop_over_a_vector() -> None:
    @function
    def weighted(x, weights):  # type: ignore[no-untyped-def]
        terms = [0.0, 0.0, 0.0]
        for k in range(len(weights)):
            terms[k] = weights[k] * x**k
        return sum(terms)

    weights = np.array([1.0, -2.0, 0.5])
    assert compiled(weighted, 3.0, weights) == weighted(3.0, weights) == -0.5


def test_a_long_loop() -> None:
    assert compiled(many, 0.5) == many(0.5)


def test_matrices() -> None:
    a, b = np.array([[1.0, 2.0], [3.0, -4.0]]), np.array([0.5, 1.5])

    def again(a: Any, b: Any) -> Any:
        product = a @ b
        most = product.max()
        spread = np.clip(product / most, -0.5, 0.5)
        return np.where(spread > 0, spread, np.tanh(spread)) + b.mean() + 3.0 + 3.0

    np.testing.assert_allclose(compiled(matrices, a, b), again(a, b), rtol=1e-15)


def test_numpys_calls() -> None:
    x = [0.5, -1.0, 2.5]
    np.testing.assert_allclose(compiled(winner, x), by_hand(x), rtol=1e-15)


def test_functions_call_functions() -> None:
    @function
    def twice(x):  # type: ignore[no-untyped-def]
        return guarded(x) + guarded(-x)

    assert compiled(twice, 0.5) == guarded(0.5) + guarded(-0.5)


def test_operations_say_their_line() -> None:
    build = ProgramBuilder("test", "exact")
    guarded.inline(build, [build.input("x")], Origin("unit"))
    sources = {str(op.origin) for op in build.take()}
    assert all(source.startswith("unit@function_test.py:") for source in sources if source)
    assert len(sources) > 4


@function
def endless(x):  # type: ignore[no-untyped-def]
    while x > 1:
        x = x / 2
    return x


@function
def indexed(x, n):  # type: ignore[no-untyped-def]
    return x[n]


@function
def printing(x):  # type: ignore[no-untyped-def]
    print(x)
    return x


@function
def strange(x):  # type: ignore[no-untyped-def]
    return np.fft.fft(x)


@function  # noqa: RET503
def half_returned(x):  # type: ignore[no-untyped-def]
    y = x
    if x > 0:
        return y
    y = 2 * x


@function
def unknown(x):  # type: ignore[no-untyped-def]
    if x > 0:
        y = x
    return y


@function
def unlike(x):  # type: ignore[no-untyped-def]
    return [x, x] if x > 0 else [x, x, x]


@function
def keyword(x):  # type: ignore[no-untyped-def]
    return np.sum(x, dtype=int)


@function
def remote(x):  # type: ignore[no-untyped-def]
    return by_hand(x)


@pytest.mark.parametrize(
    ("tested", "data", "why"),
    [
        (endless, [1.0], r"`while` has no bound; write `for _ in range\(limit\):`"),
        (indexed, [[1.0, 2.0], 0.0], "an index that is only known at run time"),
        (printing, [1.0], "`expr` is not compiled"),
        (strange, [[1.0]], "a call of `fft`, which is not known; decorate it"),
        (half_returned, [1.0], "one branch returns, the other does not; let both return"),
        (unknown, [1.0], "`y` is not known here, or only on some paths"),
        (unlike, [1.0], r"two branches give shapes \(2,\) and \(3,\); they must be the same"),
        (keyword, [[1.0]], "`sum` with 1 arguments and dtype= is not known"),
        (remote, [[1.0]], "a call of `by_hand`, which is not known"),
        (guarded, [[1.0, 2.0]], "the truth of an array of shape"),
        (matrices, [[1.0, 2.0, 3.0], [1.0]], r"no product of shapes \(3,\) and \(1,\)"),
    ],
)
def test_refusals_name_the_reason_and_the_place(
    tested: Function, data: list[Any], why: str
) -> None:
    with pytest.raises(ModelError, match=rf"^function_test.py:\d+: .*{why}"):
        compiled(tested, *data)


def test_signatures_that_are_refused() -> None:
    def defaults(x: float = 1.0) -> float:
        return x

    with pytest.raises(ModelError, match=r"function_test.py:\d+: `defaults` has arguments with"):
        function(defaults)
    with pytest.raises(ModelError, match=r"the source of .* is not there; define it by `def`"):
        function(math.sqrt)
    with pytest.raises(ModelError, match=r"`guarded` takes 1 arguments \(x\), not 2"):
        compiled(guarded, 1.0, 2.0)


def node(tested: Callable[..., Any], **fields: Any) -> Compute:
    return Compute("unit", function=tested, **fields)  # type: ignore[arg-type]


def test_a_mechanism_of_a_function() -> None:
    model = Model("m")
    unit = model.add(node(indexed, inputs={"x": 2}, parameters={"n": 0.0}, size=0))
    model.input("x", unit)
    model.output("y", unit)
    with pytest.raises(ModelError, match="an index that is only known at run time"):
        model.program()
    with pytest.raises(ModelError, match=r"gives `x` to <function indexed\(x, n\)>; each argument"):
        node(indexed, inputs={"x": 2})
    with pytest.raises(ModelError, match=r"the function of `unit` is <built-in .*; decorate it"):
        node(math.sqrt, inputs={"x": 2})


def test_a_function_of_another_size() -> None:
    model = Model("m")
    unit = model.add(node(matrices, inputs={"a": 2}, parameters={"b": np.ones((2, 3))}, size=2))
    model.input("x", unit)
    model.output("y", unit)
    with pytest.raises(ModelError, match=r"gives shape \(3,\), its size says \(2,\)"):
        model.program()


@function
def small(x):  # type: ignore[no-untyped-def]
    return x[0] < 10


def test_while() -> None:
    model = Model("m")
    layer = model.add(Transfer("layer"))
    model.when(layer, While(small, "layer"))
    model.input("x", layer)
    model.output("y", layer)
    given = interpret(model.program("exact"), trials=2, inputs={"x": [[3.0], [30.0]]})
    assert given["y"].tolist() == [[3.0], [30.0]]
    model.when(layer, While(math.sqrt, "layer"))
    with pytest.raises(ModelError, match=r"While takes a function made by @psylang.model.function"):
        model.program()


def test_a_function_without_source() -> None:
    space: dict[str, Any] = {}
    exec("def typed(x):\n    return x\n", space)
    with pytest.raises(ModelError, match=r"the source of .*typed.* is not there; define it by"):
        compiled(function(space["typed"]), 1.0)
    with pytest.raises(ModelError, match=r"the source of .*lambda.* is not there"):
        function(lambda x: x)
