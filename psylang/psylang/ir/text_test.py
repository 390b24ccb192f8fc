"""Printed programs parse back to equal programs, and the parser refuses other text."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from psylang.ir.builder import ProgramBuilder
from psylang.ir.graph import Origin, Program, Value
from psylang.ir.interpret import interpret
from psylang.ir.programs_fixture import programs, results, same
from psylang.ir.text import ParseError, parse_program, print_program
from psylang.ir.types import BOOL, F32, F64, I32, DType, Type
from psylang.ir.verify import VerifyError, verify

QUICK = settings(
    max_examples=80, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)

RACE = """\
program "race" fast {
  stream "noise" seed 5
  note "made by" = "hand"
  parameter %rate: f64 "rate" = 0.5 range 0.0 inf
  input %stimulus: 2xf64 "stimulus"
  state %before: i32 "before" = 3
  seed %seed
  trial %trial
  %0: f64 = constant 0.0
  %1: i32 = constant 0
  %x: f64, %n: i32 = loop(%0, %1) {limit = 100} do (%x.1: f64, %n.1: i32) {  # race
    %2: f64 = random.normal(%seed, %trial, %1, %n.1) {stream = 0}  # race..noise
    %3: f64 = extract(%stimulus) {index = [1]}  # "a b"
    %4: f64 = mul(%rate, %2)  # race.in.rate @ "m.py:3"
    %5: f64 = add(%x.1, %4)  # race
    %6: i32 = constant 1  # race
    %7: i32 = add(%n.1, %6)  # race
    %8: bool = lt(%5, %3)  # race
    yield %8, %5, %7
  }
  %9: bool = lt(%x, %0)
  %10: i32 = if(%9) do {
    yield %n
  } else {
    %11: i32 = neg(%n)
    yield %11
  }
  %12: 2xf64 = stack(%x, %rate) {shape = [2]}
  output "steps": i32 = %10
  output "both": 2xf64 ["which"] = %12
  next "before" = %n
}
"""


def race() -> Program:
    build = ProgramBuilder("race")
    build.notes["made by"] = "hand"
    rate = build.parameter("rate", 0.5, range=(0.0, np.inf))
    stimulus = build.input("stimulus", Type(DType.F64, (2,)))
    build.state("before", 3, I32)
    stream = build.stream("noise", 5)
    zero, none = build.constant(0.0), build.constant(0, I32)

    def inside(x: Value, n: Value) -> tuple[Value, list[Value]]:
        with build.at(Origin("race", "", "noise")):
            words = (build.seed, build.trial, none, n)
            z = build.op("random.normal", *words, stream=stream)
        with build.at(Origin("a b")):
            edge = build.extract(stimulus, 1)
        with build.at(Origin("race", "in", "rate", "m.py:3")):
            step = build.mul(rate, z)
        x = build.add(x, step)
        n = build.add(n, build.constant(1, I32))
        return build.lt(x, edge), [x, n]

    with build.at(Origin("race")):
        x, n = build.loop([zero, none], inside, limit=100, hints=["x", "n"])
    (steps,) = build.if_(build.lt(x, zero), lambda: [n], lambda: [build.neg(n)])
    build.output("steps", steps)
    build.output("both", build.stack([x, rate]), ("which",))
    build.set_state("before", n)
    return build.build()


def test_a_program_is_printed_as_it_reads() -> None:
    assert print_program(race()) == RACE


def test_printed_programs_parse_back() -> None:
    program = parse_program(RACE)
    verify(program)
    assert print_program(program) == RACE
    assert program.body.ops[2].origin == Origin("race")
    assert program.body.ops[2].regions[0].ops[2].origin == Origin("race", "in", "rate", "m.py:3")
    assert program.notes == {"made by": "hand"}
    assert program.parameters[0].range == (0.0, np.inf)
    assert program.inputs[0].default is None
    assert program.outputs[1].dims == ("which",)


def test_comments_on_lines_of_their_own_are_for_readers() -> None:
    noted = RACE.replace("  stream", "  # What is drawn from.\n  stream")
    assert print_program(parse_program(noted)) == RACE


@QUICK
@given(programs())
def test_random_programs_parse_back_to_the_same(program: Program) -> None:
    verify(program)
    text = print_program(program)
    again = parse_program(text)
    verify(again)
    assert print_program(again) == text
    assert same(results(program), results(again))
    for one, other in zip(program.body.walk(), again.body.walk(), strict=True):
        assert (one.name, one.origin) == (other.name, other.origin)
        assert [value.type for value in one.results] == [value.type for value in other.results]


@settings(QUICK, max_examples=100)
@given(st.integers(0, 2**64 - 1))
def test_each_float_parses_back_to_its_bits(bits: int) -> None:
    (number,) = struct.unpack("<d", struct.pack("<Q", bits))
    build = ProgramBuilder("one")
    value = build.constant(0.0)
    op = build.take()[0]
    object.__setattr__(op, "attributes", {"value": number, "type": F64})
    build.output("x", value)
    again = parse_program(print_program(build.build()))
    assert struct.pack("<d", again.body.ops[0].attributes["value"]) == struct.pack("<Q", bits)


@pytest.mark.parametrize("name", ["", "a b", 'say "hi"', "ünï.x", "line\nbreak", "50%", "#"])
def test_any_name_and_origin_parses_back(name: str) -> None:
    build = ProgramBuilder(name)
    value = build.parameter(name, [0.0, -0.0], type=Type(DType.F32, (2,)))
    origin = Origin(name, "", name, name)
    with build.at(origin):
        build.output(name, build.op("sum", value))
    again = parse_program(print_program(build.build()))
    assert (again.name, again.parameters[0].name, again.outputs[0].name) == (name, name, name)
    assert again.body.ops[0].origin == origin
    assert np.signbit(again.parameters[0].default).tolist() == [False, True]


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("add(%x.1, %4)", "add(%x.1, %44)", "line 15, column 25: there is no value %44 here"),
        ("neg(%n)", "neg(%2)", "line 25, column 20: there is no value %2 here"),
        ("%5: f64 = add", "%4: f64 = add", "line 15, column 5: there is already a value %4"),
        ("mul(", "mull(", "line 14, column 15: there is no operation `mull`"),
        ("%4: f64", "%4: f63", "line 14, column 9: `f63` is no type"),
        ("fast", "quick", "line 1, column 16: `exact` or `fast` is needed, not quick"),
        ("constant 0.0", "constant [0.0]", "line 9, column 22: this is no value of f64"),
        ("constant 1 ", "constant 1.5 ", "this is no value of i32, which a constant must be"),
        ('"before" = 3', '"before" = 3000000000', "no value of i32, which that of `before` must"),
        ('next "before"', 'next "after"', "the next value of state `before` is needed here"),
        ("{limit = 100}", "{limit = 100, limit = 1}", "there is already an attribute `limit`"),
        ('["which"]', "[1]", "names of the axes of `both` are needed"),
        ("# race\n", "# why this is here\n", "a comment behind an operation is its origin"),
        ("} else {", "} else {  # b", "an operation has one origin, behind its first region"),
        ("seed 5", "seed 5.5", "line 2, column 23: an integer is needed, not 5.5"),
        ("seed 5", 'seed 5 state "AAAA"', "a generator's state is needed: a state has 2512 bytes"),
        ("seed 5", 'seed 5 state "?"', "a generator's state is needed: "),
        ("inf\n", "nan:0000000000000000\n", "has not the bits of a NaN"),
        ("= 100", "= " + "9" * 5000, "a number of 5000 digits"),
        ("= 100", "= " + "[" * 99, "lists in lists deeper than 64"),
        ('"hand"', r'"\q"', "is no text in quotes"),
        ('note "made by"', "note nothing", "a text in quotes is needed, not nothing"),
        ("trial %trial", "trial trial", "a value like %x is needed, not trial"),
        ("  trial %trial\n", "", "`trial` is needed, not %0"),
        ("%9: bool", "%9, bool", "`:` is needed, not ,"),
        ("\n}\n", "\n} more\n", "the end of the text is needed, not more"),
        ("\n}\n", "\n", "`}` is needed, not the end of the text"),
        ("mul", "m&l", "or one of {}()[]=:, is needed, not '&'"),
        ("%0: f64 = constant 0.0", "constant 0.0", "a constant has one result"),
        (
            'note "made by" = "hand"',
            'note "a" = "b" note "a" = "c"',
            "there is already a note `a`",
        ),
    ],
)
def test_a_mistake_is_reported_with_its_place(before: str, after: str, message: str) -> None:
    assert before in RACE
    with pytest.raises(ParseError) as error:
        parse_program(RACE.replace(before, after, 1))
    assert message in str(error.value)
    assert error.value.line >= 1
    assert error.value.column >= 1


def test_regions_deeper_than_anybody_writes_are_refused() -> None:
    deep = "%0: bool = constant true " + "if(%0) do { " * 80
    with pytest.raises(ParseError, match="regions in regions deeper than 64"):
        parse_program(f'program "deep" fast {{ seed %s trial %t {deep}')


@settings(QUICK, max_examples=400)
@given(st.data())
def test_of_edited_text_only_errors_of_the_parser_come(data: st.DataObject) -> None:
    text = RACE
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        gone = data.draw(st.integers(0, 6))
        piece = data.draw(
            st.one_of(
                st.text(max_size=4),
                st.sampled_from(sorted(set(RACE.split()))),
                st.sampled_from(['"', "{", "}", "(", ")", "[", "]", "%", "#", "-", "1e999", "\\"]),
            )
        )
        text = text[:at] + piece + text[at + gone :]
    try:
        program = parse_program(text)
    except ParseError:
        return
    try:
        verify(program)
    except VerifyError:
        return
    assert print_program(parse_program(print_program(program))) == print_program(program)


def test_shapes_and_kinds_of_constants_survive() -> None:
    build = ProgramBuilder("kinds", "exact")
    for number, (value, of) in enumerate(
        [
            (True, BOOL),
            (0.1, F32),
            ([[1, 2], [3, -4]], Type(DType.I64, (2, 2))),
            ([], Type(DType.F64, (0,))),
            ([np.nan, -np.inf], Type(DType.F32, (2,))),
        ]
    ):
        build.output(f"o{number}", build.constant(value, of))
    program = build.build()
    again = parse_program(print_program(program))
    verify(again)
    assert same(interpret(program), interpret(again))
