"""Every operation and every way to run trials, on all instruction sets, against the interpreter."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from psylang.emit import Target, UnknownTargetError, fixture, host_targets, llvm_text, target
from psylang.emit.compile import CALLS_MIN
from psylang.ir.builder import ProgramBuilder
from psylang.ir.graph import Program, Value
from psylang.ir.interpret import MATHEMATICS, interpret
from psylang.ir.ops import DRAWS, OPS
from psylang.ir.text import print_program
from psylang.ir.types import BOOL, F32, F64, I32, I64, DType, Type
from psylang.numerics import expansions

TARGETS = pytest.mark.parametrize("isa", host_targets(), ids=lambda isa: str(isa.name))
SCALARS = {DType.F64: F64, DType.F32: F32, DType.I64: I64, DType.I32: I32, DType.BOOL: BOOL}
INTERESTING: dict[DType, list[Any]] = {
    DType.F64: [
        0.0,
        -0.0,
        1.0,
        -2.5,
        math.inf,
        -math.inf,
        math.nan,
        1e300,
        5e-324,
        0.1,
        3e9,
        -1e19,
    ],
    DType.F32: [0.0, -0.0, 1.0, -2.5, math.inf, -math.inf, math.nan, 1e38, 1e-45, 0.1, 3e9, -1e19],
    DType.I64: [0, 1, -1, 2, 31, 32, 63, 64, 65, 1 << 40, -(1 << 63), (1 << 63) - 1],
    DType.I32: [0, 1, -1, 2, 31, 32, 33, 5, 63, 1 << 30, -(1 << 31), (1 << 31) - 1],
    DType.BOOL: [False, True] * 6,
}

INTERPRETED: dict[str, dict[str, NDArray[Any]]] = {}


def same(found: NDArray[Any], wanted: NDArray[Any]) -> bool:
    """Equal bit by bit, but all NaN are equal."""
    if found.dtype.kind != "f":
        return bool((found == wanted).all())
    bits = np.int64 if found.dtype.itemsize == 8 else np.int32
    equal = found.view(bits) == wanted.view(bits)
    return bool((equal | (np.isnan(found) & np.isnan(wanted))).all())


def check(
    program: Program, isa: Target, given: dict[str, Any] | None = None, **how: Any
) -> dict[str, NDArray[Any]]:
    fast = expansions() if program.numerics == "fast" else None
    inputs = {one.name: (given or {})[one.name] for one in program.inputs}
    fixed = {one.name: given[one.name] for one in program.parameters if given and one.name in given}
    # One interpretation is compared with all targets.
    numbers = [(name, np.asarray(row).tobytes()) for name, row in {**inputs, **fixed}.items()]
    key = f"{print_program(program)} {numbers} {how}"
    if key not in INTERPRETED:
        INTERPRETED[key] = interpret(
            program, inputs=inputs, parameters=fixed, expansions=fast, **how
        )
    wanted = INTERPRETED[key]
    found = fixture.run(program, isa, given=given, **how)
    for name in wanted:
        assert same(found[name], wanted[name]), f"{name}: {found[name]} but {wanted[name]}"
    return found


ELEMENTWISE = sorted(set(OPS) - DRAWS - {"constant", "stack", "extract", "dot", "sum"})
ELEMENTWISE = [name for name in ELEMENTWISE if not name.startswith("reduce_")]


def give(build: ProgramBuilder, name: str, dtype: DType) -> dict[str, list[Any]]:
    """The operation over inputs of this element type, with all its conversions. Returns the inputs'
    values: all pairs of interesting values."""
    values = INTERESTING[dtype]
    pairs = [(a, b) for a in values for b in values]
    columns = [[a for a, _ in pairs], [b for _, b in pairs], [a for a, _ in pairs][::-1]]
    kinds = [dtype] * (OPS[name].arity or 0)
    if name == "select":
        kinds[0] = DType.BOOL
        columns = [[True, False] * (len(pairs) // 2), *columns[:2]]
    of = dtype.value
    operands = [build.input(f"{of}_{index}", SCALARS[kind]) for index, kind in enumerate(kinds)]
    given = {f"{of}_{index}": columns[index] for index in range(len(kinds))}
    if name not in ("convert", "uconvert", "bitcast"):
        build.output(of, build.op(name, *operands))
        return given
    targets = [to for to in DType if not (name == "uconvert" and to is DType.BOOL)]
    if name == "uconvert":
        targets = [to for to in targets if to.is_float or to.bits >= dtype.bits]
    if name == "bitcast":
        targets = [to for to in targets if to.bits == dtype.bits]
    for to in targets:
        build.output(f"{of}_to_{to.value}", build.op(name, *operands, to=to.value))
    return given


@TARGETS
@pytest.mark.parametrize("name", ELEMENTWISE)
def test_each_operation_agrees_with_the_interpreter(name: str, isa: Target) -> None:
    build = ProgramBuilder(name)
    given: dict[str, Any] = {}
    for dtype in DType:
        if dtype in OPS[name].of:
            given |= give(build, name, dtype)
    program = build.build()
    rows = {one.name: np.array(given[one.name], one.type.dtype.numpy) for one in program.inputs}
    (trials,) = {len(row) for row in rows.values()}
    check(program, isa, rows, trials=trials)


@TARGETS
@pytest.mark.parametrize("name", sorted(MATHEMATICS))
def test_mathematics_of_exact_is_libms(name: str, isa: Target) -> None:
    build = ProgramBuilder(name, numerics="exact")
    x = build.input("x")
    operands = [x, build.constant(1.5)] if name == "pow" else [x]
    build.output("y", build.op(name, *operands))
    check(build.build(), isa, {"x": np.linspace(0.1, 20, 50)}, trials=50)


@TARGETS
def test_vectors_and_matrices(isa: Target) -> None:
    build = ProgramBuilder("shapes")
    matrix = build.parameter("matrix", np.arange(6.0).reshape(2, 3) / 7)
    x = build.input("x", Type(DType.F64, (2,)))
    product = build.op("dot", x, matrix)
    build.output("product", product)
    build.output("square", build.op("dot", matrix, build.op("mul", product, product)))
    build.output("inner", build.op("dot", x, x))
    build.output("sum", build.op("sum", matrix))
    build.output("most", build.op("reduce_max", product))
    build.output("least", build.op("reduce_min", product))
    build.output("one", build.extract(matrix, 1, 2))
    build.output("matrix", build.op("mul", matrix, build.extract(x, 1)))
    given = {"x": np.random.default_rng(1).normal(size=(11, 2))}
    check(build.build(), isa, given, trials=11)


def race(numerics: Any = "fast", limit: int = 400) -> Program:
    """A drift diffusion whose trials differ in length, with an inner loop and a condition."""
    build = ProgramBuilder("race", numerics)
    drift = build.parameter("drift", 0.05)
    bias = build.input("bias")
    stream = build.stream("noise", seed=11)

    def halved(x: Value, n: Value) -> tuple[Value, list[Value]]:
        x = build.mul(x, 0.5)
        return build.op("gt", build.abs(x), 1.5), [x, build.add(n, 1)]

    def one_round(x: Value, n: Value, inner: Value) -> tuple[Value, list[Value]]:
        z = build.normal(stream, step=n)
        moved = build.fma(z, 0.3, build.add(x, drift))
        far = build.op("gt", build.abs(moved), 0.8)
        (kept,) = build.if_(far, lambda: [build.op("exp", build.neg(moved))], lambda: [moved])
        _, halvings = build.loop([kept, build.constant(0, I32)], halved, limit=2000)
        n = build.add(n, 1)
        inner = build.add(inner, halvings)
        again = build.and_(build.lt(build.abs(moved), 1.0), build.lt(n, limit))
        return again, [moved, n, inner]

    first = [bias, build.constant(0, I32), build.constant(0, I32)]
    x, n, inner = build.loop(first, one_round, limit=limit)
    build.output("steps", n)
    build.output("inner", inner)
    build.output("where", x)
    build.output("up", build.op("gt", x, 0.0))
    build.output("again", build.mul(bias, build.convert(build.trial, DType.F64)))
    return build.build()


@TARGETS
@pytest.mark.parametrize("trials", [1, 3, 29])
def test_trials_of_different_length(isa: Target, trials: int) -> None:
    given = {"bias": np.linspace(-0.5, 0.5, trials)}
    check(race(), isa, given, trials=trials, seed=5)


@TARGETS
def test_ranges_of_trials_are_the_same_trials(isa: Target) -> None:
    given = {"bias": np.linspace(-0.5, 0.5, 40)}
    whole = fixture.run(race(), isa, trials=40, given=given)
    parts = fixture.run(
        race(), isa, trials=40, given=given, ranges=[(7, 40), (0, 1), (3, 3), (1, 7)]
    )
    for name in whole:
        assert same(parts[name], whole[name])


@TARGETS
def test_a_parameter_with_a_row_a_trial(isa: Target) -> None:
    drifts = np.linspace(-0.2, 0.2, 13)
    bias = np.zeros(13)
    found = fixture.run(
        race(), isa, trials=13, given={"bias": bias, "drift": drifts}, varying=frozenset({"drift"})
    )
    for trial in (0, 4, 12):
        alone = fixture.run(race(), isa, trials=13, given={"bias": bias, "drift": drifts[trial]})
        for name in alone:
            assert same(found[name][trial : trial + 1], alone[name][trial : trial + 1])


def prepared(steps: int) -> Program:
    """Trials that compute before their loop: in all trials alike, each for itself, and one element
    that is alike beside one that is not."""
    build = ProgramBuilder("prepared")
    drift = build.parameter("drift", 0.05)
    bias = build.input("bias")
    scale = build.op("exp", drift)
    mixed = build.stack([build.op("mul", scale, 0.5), bias])
    alike = build.op("extract", mixed, index=(0,))
    x = bias
    for step in range(steps):
        x = build.fma(x, bias, build.constant(step / 1000))
    far = build.op("gt", x, 0.1)
    (begin,) = build.if_(far, lambda: [build.op("mul", x, alike)], lambda: [build.neg(bias)])
    stream = build.stream("noise", seed=11)

    def one_round(now: Value, n: Value) -> tuple[Value, list[Value]]:
        moved = build.fma(build.normal(stream, step=n), 0.3, build.add(now, build.mul(x, alike)))
        n = build.add(n, 1)
        return build.and_(build.lt(build.abs(moved), 1.0), build.lt(n, 400)), [moved, n]

    last, n = build.loop([begin, build.constant(0, I32)], one_round, limit=400)
    build.output("steps", n)
    build.output("where", build.mul(last, build.add(x, scale)))
    build.output("alike", alike)
    return build.build()


@TARGETS
@pytest.mark.parametrize("steps", [9, 600, 1200])  # Twice, once; with few passes of LLVM.
@pytest.mark.parametrize("trials", [1, 5, 33])
def test_trials_that_compute_before_their_loop(isa: Target, trials: int, steps: int) -> None:
    check(prepared(steps), isa, {"bias": np.linspace(-0.5, 0.5, trials)}, trials=trials, seed=3)


def test_a_long_part_before_a_loop_is_emitted_once() -> None:
    wide = next((isa for isa in host_targets() if isa.width > 1), None)
    if wide is None:
        pytest.skip("no vectors on this machine")
    begin, end = (llvm_text(prepared(steps), wide).count("llvm.fma") for steps in (600, 800))
    assert 200 <= end - begin < 250


def layer(units: int, type: Type) -> Program:
    """Functions of many units, some alike in all trials, and a few in a loop."""
    build = ProgramBuilder("layer")
    gain = build.parameter("gain", 0.3)
    x = build.input("x", type)
    start = total = build.convert(gain, type.dtype) if type is F32 else gain
    for name in ("exp", "log", "tanh", "sin", "cos"):
        for unit in range(units):
            of = start if unit % 4 == 0 else x
            given = build.add(of, build.constant(unit / units, type))
            total = build.add(total, build.op(name, given))

    def one_round(y: Value, n: Value) -> tuple[Value, list[Value]]:
        y = build.op("exp", build.mul(y, build.constant(-0.01, type)))
        return build.lt(n, 2), [y, build.add(n, 1)]

    y, _ = build.loop([total, build.constant(0, I32)], one_round, limit=3)
    build.output("total", total)
    build.output("y", y)
    return build.build()


@TARGETS
@pytest.mark.parametrize("type", [F64, F32], ids=["f64", "f32"])
def test_a_layers_functions_are_calls_with_the_same_bits(isa: Target, type: Type) -> None:
    program = layer(CALLS_MIN, type)
    x = np.array([0.3, -0.2, 0.0, 2.5, 700.0, np.inf, -3.0, 1e-300, 0.5], type.dtype.numpy)
    check(program, isa, {"x": x, "gain": np.array(0.4)}, trials=len(x))
    text = llvm_text(program, isa)
    assert text.count("define internal") == (10 if isa.width > 1 else 5)
    assert "define internal" not in llvm_text(layer(CALLS_MIN - 4, type), isa)


def test_functions_of_exact_are_libms() -> None:
    build = ProgramBuilder("exact", "exact")
    x = build.input("x")
    for unit in range(CALLS_MIN):
        build.output(f"y{unit}", build.op("exp", build.add(x, float(unit))))
    assert "define internal" not in llvm_text(build.build(), host_targets()[0])


def remembers(numerics: Any = "fast") -> Program:
    """A trial begins where the previous one ended."""
    build = ProgramBuilder("remembers", numerics)
    x = build.state("x", [0.0, 1.0])
    stimulus = build.input("stimulus")
    stream = build.stream("noise", seed=21)
    z = build.normal(stream)
    moved = build.op("tanh", build.add(build.op("mul", x, 0.9), build.add(z, stimulus)))
    build.set_state("x", moved)
    build.output("x", moved)
    build.output("uniform", build.uniform(stream, step=1))
    return build.build()


@TARGETS
@pytest.mark.parametrize("numerics", ["fast", "exact"])
@pytest.mark.parametrize("sequences", [1, 2, 19])
def test_sequences_remember(isa: Target, numerics: Any, sequences: int) -> None:
    given = {"stimulus": np.linspace(-1, 1, 4 * sequences)}
    check(remembers(numerics), isa, given, trials=4, sequences=sequences)


@TARGETS
def test_exact_draws_are_numpys(isa: Target) -> None:
    given = {"bias": np.zeros(400)}
    check(race("exact", limit=50), isa, given, trials=400)


def reseeding(searches: bool) -> Program:
    """Two draws of a stream that begins anew in each trial; within a search, if it `searches`."""
    build = ProgramBuilder("reseeding", "exact")
    stream, key = build.stream("noise", seed=5), build.input("key", I32)
    build.output("before", build.normal(stream))

    def drawn() -> Value:
        build.reseed(stream, key)
        return build.add(build.uniform(stream), build.normal(stream))

    found = build.argmin(build.constant(2, I32), lambda _: drawn())[1] if searches else drawn()
    build.output("drawn", found)
    build.output("after", build.normal(stream))
    return build.build()


@TARGETS
@pytest.mark.parametrize("searches", [False, True])
def test_a_stream_begins_anew_with_numpys_numbers(isa: Target, searches: bool) -> None:
    """In the first sequence of a run with seed 0; other sequences have numbers of their own."""
    keys = np.array([0, 7, -1, 2**31 - 1, 7, 7], np.int32)
    program = reseeding(searches)
    found = check(program, isa, {"key": keys}, trials=3, sequences=2)
    last = np.random.RandomState([5])
    for trial, key in enumerate(keys[:3]):
        assert found["before"][trial] == last.normal()
        anew = np.random.RandomState([int(key) & 0xFFFFFFFF])
        assert found["drawn"][trial] == anew.random_sample() + anew.normal()
        last = last if searches else anew
        assert found["after"][trial] == last.normal()
    assert found["drawn"][4] != found["drawn"][1]
    assert found["drawn"][4] == found["drawn"][5]


@TARGETS
@pytest.mark.parametrize("count", [0, 1, 7, 150])
def test_searches_find_the_first_of_the_cheapest(isa: Target, count: int) -> None:
    build = ProgramBuilder("search")
    stream = build.stream("noise")
    floor = build.input("floor")

    def cost(candidate: Value) -> Value:
        noise = build.normal(stream, candidate=candidate)
        bounded = build.op("max", noise, floor)
        odd = build.op("eq", build.op("urem", candidate, 3), 2)
        return build.select(odd, math.nan, bounded)

    number, least = build.argmin(count, cost)
    build.output("number", number)
    build.output("least", least)
    # With the floor above all noise, all candidates cost the same.
    check(build.build(), isa, {"floor": np.array([-9.0, 0.0, 9.0])}, trials=3)


@TARGETS
def test_a_search_without_any_number(isa: Target) -> None:
    build = ProgramBuilder("hopeless")
    cost = build.input("cost")
    count = build.input("count", I32)
    number, least = build.argmin(count, lambda candidate: cost)
    build.output("number", number)
    build.output("least", least)
    given = {"cost": np.array([math.nan, math.inf, 2.0]), "count": np.array([3, 2, 0])}
    check(build.build(), isa, given, trials=3)


def test_an_unknown_parameter_is_named() -> None:
    with pytest.raises(ValueError, match="no parameter speed; there are: drift"):
        llvm_text(race(), host_targets()[0], frozenset({"speed"}))


def test_an_unknown_instruction_set_is_named() -> None:
    with pytest.raises(
        UnknownTargetError, match="no instruction set `mmx` on this machine; it has: "
    ):
        target("mmx")
