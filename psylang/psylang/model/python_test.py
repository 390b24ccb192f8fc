"""User-defined functions mean what Python means: compiled and called, they give the same, or the
compiler refuses them. Sharing of arrays, operands of `and` and `or`, remainders, calls, draws."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from psylang.ir.interpret import interpret
from psylang.model import Compute, Function, Model, ModelError, Transfer, function
from psylang.model.function_test import compiled


def shared(b, x):  # type: ignore[no-untyped-def]
    """Two names of one array."""
    c = b
    c[0] = 5.0
    return b[0] + x


def shared_in_place(b, x):  # type: ignore[no-untyped-def]
    c = b
    c += x
    c -= 1.0
    return b


def rebound(b, x):  # type: ignore[no-untyped-def]
    c = b
    c = c + x
    c[0] = 7.0
    return b[0] + c[1]


def copies(b, x):  # type: ignore[no-untyped-def]
    c, d, e = np.array(b), b.copy(), +b
    c[0] = d[1] = e[0] = x
    return b + c + d + e


def in_lists(b, x):  # type: ignore[no-untyped-def]
    rows = [b, b, [x, x]]
    last = rows[2]
    b[1] = x
    last[0] = 3.0
    return rows[0] + rows[1] + np.array(rows[2]) + np.array(last)


def in_branches(b, x):  # type: ignore[no-untyped-def]
    c = b
    if x > 0:
        c[0] = x
    c[1] = 9.0
    return b


def named_rows(b, x):  # type: ignore[no-untyped-def]
    other = b * 2.0
    for row in [b, other]:
        row[0] = x
    return b + other


def lists_grow(b, x):  # type: ignore[no-untyped-def]
    terms = [x]
    same = terms
    same += [b[0], b[1]]
    return np.array(terms * 2 + [x])


def long_and_changed(b, x):  # type: ignore[no-untyped-def]
    total = np.array([0.0, 0.0])
    for k in range(1000):
        total[0] = total[0] + b[0] * k
        total[1] = x
    return total


def operands(b, x):  # type: ignore[no-untyped-def]
    first = x or 3.0
    second = x and b[1]
    third = 0.0 or x or 7.0
    fourth = x > 1 or x < -1
    fifth = 2.0 and x and b[0]
    return np.array([first, second, third, float(fourth), fifth])


def remainders(b, x):  # type: ignore[no-untyped-def]
    y = x + 0.125
    return np.array(
        [x % 3.0, x // 3.0, x % -0.7, x // -0.7, x % 0.1, x // 0.1, *(b % 2), *(b // y)]
    )


def whole(b, x):  # type: ignore[no-untyped-def]
    up = np.ceil(b) + math.ceil(x)
    return up + np.arctan(b) + math.atan(x) + np.std(b) + np.var(b, ddof=1) + b.std()


def loops(b, x):  # type: ignore[no-untyped-def]
    total = 0.0
    for k, one in enumerate(b, start=2):
        total += k * one
    for one, other in zip(b, [x, 2.0]):  # noqa: B905
        total += one * other
    return total + [k * one for k, one in enumerate(reversed(b))][1]


@function
def power_of(base, exponent):  # type: ignore[no-untyped-def]
    """Called by keyword."""
    return base * 2 + exponent


def keywords(b, x):  # type: ignore[no-untyped-def]
    clipped = np.clip(b, a_min=-abs(x), a_max=abs(x))
    table = np.array([b, b * x])
    sums = np.sum(table, axis=0) + table.sum(axis=1) + np.mean(a=table, axis=1)
    return clipped + sums + power_of(exponent=x, base=b[1])


def comprehended(b, x):  # type: ignore[no-untyped-def]
    """`float` and `math` are names of the inner functions alone."""
    rows = [[float(one) for one in row] for row in (b, b * x)]
    pairs = zip(rows[0], rows[1], strict=True)
    return np.array([math.fabs(one) + other for one, other in pairs])


def undefined(b, x):  # type: ignore[no-untyped-def]
    return np.maximum(b, np.sqrt(x)) + np.max(b * np.sqrt(x)) + np.minimum(1.0, np.sqrt(x))


def left_out(b, x):  # type: ignore[no-untyped-def]
    """NaN of one side gives the other one; one element stands for all."""
    rooted = b * np.sqrt(x)
    least = np.fmin([0.5], rooted) + np.fmax(rooted, [0])
    return np.fmax(b, np.sqrt(x)) + least + np.maximum([1], b)


EQUAL: list[Callable[..., Any]] = [
    shared,
    shared_in_place,
    rebound,
    copies,
    in_lists,
    in_branches,
    named_rows,
    lists_grow,
    long_and_changed,
    operands,
    remainders,
    whole,
    loops,
    keywords,
    comprehended,
    undefined,
    left_out,
]


@pytest.mark.parametrize("python", EQUAL, ids=lambda one: one.__name__)
@pytest.mark.parametrize("b", [(0.25, -1.5), (3.0, 3.0), (-2.0, 0.7)])
def test_compiled_is_called(python: Callable[..., Any], b: tuple[float, float]) -> None:
    for x in (0.0, 0.3, -0.3, 2.0, -5.5, 1e5 + 0.1):
        with np.errstate(all="ignore"):
            wanted = python(np.array(b), np.float64(x))
        found = compiled(function(python), np.array(b), x)
        np.testing.assert_allclose(found, wanted, rtol=2e-15, atol=2e-15)


def test_remainders_are_pythons() -> None:
    @function
    def both(a, b):  # type: ignore[no-untyped-def]
        return np.array([a % b, a // b])

    rng = np.random.default_rng(3)
    pairs = [*rng.normal(size=(60, 2)), *np.round(rng.normal(size=(60, 2)) * 9, 1), (1.0, 0.1)]
    for a, b in (*pairs, (5.0, math.inf), (-5.0, math.inf), (5.0, -math.inf), (6.0, 3.0)):
        if b:
            assert compiled(both, a, b).tolist() == [float(a) % float(b), float(a) // float(b)]


def views(b, x):  # type: ignore[no-untyped-def]
    c = b[0:2]
    c[0] = x
    return b


def viewed(b, x):  # type: ignore[no-untyped-def]
    c = b[0:1]
    b[0] = x
    return c


def chosen(b, x):  # type: ignore[no-untyped-def]
    other = b * 2.0
    c = b if x > 0 else other
    c[0] = 1.0
    return b


def branched(b, x):  # type: ignore[no-untyped-def]
    c = b * 2.0
    if x > 0:
        c = b
    c += 1.0
    return b


@function
def changes(c):  # type: ignore[no-untyped-def]
    """Its caller's array."""
    c[0] = 1.0
    return c


def calls(b, x):  # type: ignore[no-untyped-def]
    return changes(b) + b


TABLE = np.array([1.0, 2.0])


def outer(b, x):  # type: ignore[no-untyped-def]
    TABLE[0] = x
    return TABLE[0]


def rows_of(b, x):  # type: ignore[no-untyped-def]
    table = np.array([b, b])
    for row in table:
        row += 1.0
    return table


def numbered_rows(b, x):  # type: ignore[no-untyped-def]
    table = np.array([b, b])
    for k, row in enumerate(table):
        row[0] = k
    return table


def long_loop(b, x):  # type: ignore[no-untyped-def]
    c = b
    for k in range(1000):
        c[0] = x * k
    return b


def of_lists(b, x):  # type: ignore[no-untyped-def]
    return [x, x] - [x, x]  # type: ignore[operator]


def to_tuple(b, x):  # type: ignore[no-untyped-def]
    pair = (x, x)
    pair[0] = 1.0  # type: ignore[index]
    return pair


def drawing(b, x):  # type: ignore[no-untyped-def]
    return b + np.random.normal()


def misnamed(b, x):  # type: ignore[no-untyped-def]
    return power_of(x, base=x)


def uneven(b, x):  # type: ignore[no-untyped-def]
    return [one * other for one, other in zip(b, [x], strict=True)]


REFUSED: list[tuple[Callable[..., Any], str]] = [
    (views, r"`c` shares its elements .* copy it first: c = np.array\(c\)"),
    (viewed, "`b` shares its elements"),
    (chosen, "`c` shares its elements"),
    (branched, "`c` shares its elements"),
    (calls, "`c` shares its elements with what may be another array, or is the caller's"),
    (outer, "`TABLE` is not of this function"),
    (rows_of, "`row` shares its elements"),
    (numbered_rows, "`row` shares its elements"),
    (long_loop, "`c` shares its array .* copy it before"),
    (of_lists, "`-` of a list or tuple; make it an array"),
    (to_tuple, "`pair` is a tuple"),
    (uneven, "zip of 2, 1 items with strict"),
    (drawing, "only functions of a Compute draw random numbers"),
    (misnamed, r"`power_of` takes 2 arguments \(base, exponent\), each once, not 1 and `base`"),
]


@pytest.mark.parametrize(("python", "why"), REFUSED, ids=lambda one: getattr(one, "__name__", ""))
def test_python_that_could_differ_is_refused(python: Callable[..., Any], why: str) -> None:
    with pytest.raises(ModelError, match=rf"^python_test.py:\d+: .*{why}"):
        compiled(function(python), np.array([1.0, 2.0]), 0.5)


@function
def noisy(x):  # type: ignore[no-untyped-def]
    """Draws, in order."""
    jitter = [np.random.normal(0.0, 0.5) for _ in range(2)]
    return x + np.array(jitter) * np.random.uniform(1.0, high=2.0)


def model_of(what: Function, size: int, **fields: Any) -> Model:
    """The function of an input `x`."""
    model = Model("noisy")
    node = model.add(Compute("unit", function=what, inputs={"x": size}, size=size, **fields))
    model.input("x", node)
    model.output("y", node)
    return model


def test_random_draws_are_numpys_in_exact() -> None:
    model = model_of(noisy, 2, seed=8)
    given = interpret(model.program("exact"), trials=2, inputs={"x": [[1.0, 2.0]] * 2})
    random = np.random.RandomState([8])
    for row in given["y"]:
        jitter = np.array([random.normal(0.0, 0.5) for _ in range(2)])
        np.testing.assert_array_equal(row, np.array([1.0, 2.0]) + jitter * random.uniform(1.0, 2.0))
    assert len(model.program("fast").streams) == 3


@function
def walk(x):  # type: ignore[no-untyped-def]
    """Draws in a loop that is not unrolled."""
    for _ in range(1000):
        x = x + np.random.normal()
    return x


def test_draws_of_a_long_loop_are_refused() -> None:
    with pytest.raises(ModelError, match="a random draw in a loop that is long"):
        model_of(walk, 0).program()


@function
def sign_of(x):  # type: ignore[no-untyped-def]
    """Whether x is above 0."""
    return x > 0


def test_whole_numbers_are_projected() -> None:
    model = model_of(sign_of, 0, choice=True)
    twice = model.add(Transfer("twice"))
    model.connect("unit", twice, 2.0)
    model.output("z", twice)
    given = interpret(model.program("exact"), trials=2, inputs={"x": [1.0, -1.0]})
    assert given["z"].tolist() == [[2.0], [0.0]]
