"""Reads the text format of text.py.

    program    = "program" string word "{" line* "}"
    line       = "stream" string "seed" integer ["state" string] | "note" string "=" string
               | ("parameter" | "input" | "state") typed string ["=" literal]
                 ["range" number number]
               | ("seed" | "trial") name | op
               | "output" string ":" type [literal] "=" name | "next" string "=" name
    op         = [typed ("," typed)* "="] word (literal | "(" [name ("," name)*] ")" ["{" pairs "}"]
                 ["do" region ("else" region)*]) [origin]
    region     = ["(" typed ("," typed)* ")"] "{" [origin] op* "yield" [name ("," name)*] "}"
    typed      = name ":" type

Lines end where the next word begins one; only comments end with the line.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from psylang.ir.graph import (
    NO_ATTRIBUTES,
    NOWHERE,
    Attribute,
    Input,
    Op,
    Origin,
    Output,
    Parameter,
    Program,
    Region,
    State,
    Value,
    frozen_array,
)
from psylang.ir.ops import OPS, STRUCTURED
from psylang.ir.seeds import Begun
from psylang.ir.tokens import DEEPEST, Cursor, ParseError, Token, tokens_of
from psylang.ir.types import I64, Type, parse_type
from psylang.ir.verify import fits

__all__ = ["ParseError", "parse_program"]

ORIGIN = re.compile(
    r"""\#[ ]*(?P<parts>(?:[A-Za-z0-9_\-]++|"(?:[^"\\]|\\.)*"|\.)*+)
        (?:[ ]*@[ ]*(?P<source>"(?:[^"\\]|\\.)*"))?[ ]*""",
    re.VERBOSE,
)
PART = re.compile(r'[A-Za-z0-9_\-]+|"(?:[^"\\]|\\.)*"|\.')


def parse_program(text: str) -> Program:
    """The program that print_program() wrote. ParseError: the text has another form; verify()
    checks the rest."""
    return _Parser(tokens_of(text)).program()


class _Parser(Cursor):
    def __init__(self, tokens: list[Token]) -> None:
        super().__init__(tokens)
        self._scopes: list[dict[str, Value]] = [{}]

    # Values.

    def _name(self) -> Value:
        token = self._take("name", "a value like %x")
        found = next((scope[token.text] for scope in self._scopes if token.text in scope), None)
        if found is None:
            self._fail(f"there is no value {token.text} here", token)
        return found

    def _names(self) -> tuple[Value, ...]:
        """Zero or more, with commas."""
        if self._now.kind != "name":
            return ()
        names = [self._name()]
        while self._skip(","):
            names.append(self._name())
        return tuple(names)

    def _type(self) -> Type:
        token = self._take("word", "a type")
        try:
            return parse_type(token.text)
        except ValueError as error:
            self._fail(str(error), token)

    def _typed(self, types: Type | None = None) -> tuple[Token, Value]:
        """A value that is not defined yet."""
        token = self._take("name", "a value like %x")
        if types is None:
            self._need(":")
            types = self._type()
        hint = token.text[1:].split(".")[0]
        return token, Value(types, "" if hint.isdigit() else hint)

    def _all_typed(self) -> list[tuple[Token, Value]]:
        values = [self._typed()]
        while self._skip(","):
            values.append(self._typed())
        return values

    def _define(self, values: list[tuple[Token, Value]]) -> tuple[Value, ...]:
        for token, value in values:
            if any(token.text in scope for scope in self._scopes):
                self._fail(f"there is already a value {token.text}", token)
            self._scopes[-1][token.text] = value
        return tuple(value for _, value in values)

    # Operations.

    def _ops(self) -> tuple[Op, ...]:
        ops = []
        while self._now.kind == "name" or (
            self._now.kind == "word" and (self._now.text in OPS or self._now.text in STRUCTURED)
        ):
            ops.append(self._op())
        return tuple(ops)

    def _op(self) -> Op:
        results: list[tuple[Token, Value]] = []
        if self._now.kind == "name":
            results = self._all_typed()
            self._need("=")
        name = self._take("word", "an operation")
        if name.text not in OPS and name.text not in STRUCTURED:
            self._fail(f"there is no operation `{name.text}`", name)
        operands: tuple[Value, ...] = ()
        regions: tuple[Region, ...] = ()
        attributes: dict[str, Attribute] = {}
        if name.text == "constant":
            if len(results) != 1:
                self._fail("a constant has one result", name)
            of = results[0][1].type
            attributes = {"value": self._constant(of), "type": of}
        else:
            self._need("(")
            operands = self._names()
            self._need(")")
            attributes = self._attributes()
        origin = self._origin()
        if origin == NOWHERE and self._skip("do"):
            first, origin = self._region()
            more = []
            while self._skip("else"):
                token = self._now
                region, second = self._region()
                if second != NOWHERE:
                    self._fail("an operation has one origin, behind its first region", token)
                more.append(region)
            regions = (first, *more)
        return Op(
            name.text,
            operands,
            self._define(results),
            attributes or NO_ATTRIBUTES,
            regions,
            origin,
        )

    def _constant(self, of: Type, what: str = "a constant") -> Attribute:
        """The literal, with floats if the type has floats."""
        token = self._now
        value = self._literal()
        try:
            value = _floats(value) if of.dtype.is_float else value
        except (ValueError, TypeError, OverflowError):
            value = None
        if not fits(value, of.dtype, of.shape):
            self._fail(f"this is no value of {of}, which {what} must be", token)
        return value

    def _attributes(self) -> dict[str, Attribute]:
        attributes: dict[str, Attribute] = {}
        if not self._skip("{"):
            return attributes
        while True:
            token = self._take("word", "the name of an attribute")
            if token.text in attributes:
                self._fail(f"there is already an attribute `{token.text}`", token)
            self._need("=")
            attributes[token.text] = self._literal()
            if self._skip("}"):
                return attributes
            self._need(",")

    def _region(self) -> tuple[Region, Origin]:
        if len(self._scopes) > DEEPEST:
            self._fail(f"regions in regions deeper than {DEEPEST}")
        self._scopes.append({})
        arguments: tuple[Value, ...] = ()
        if self._skip("("):
            arguments = self._define(self._all_typed())
            self._need(")")
        self._need("{")
        origin = self._origin()
        ops = self._ops()
        self._need("yield")
        yields = self._names()
        self._need("}")
        self._scopes.pop()
        return Region(arguments, ops, yields), origin

    def _origin(self) -> Origin:
        token = self._now
        if token.kind != "comment":
            return NOWHERE
        self._at += 1
        found = ORIGIN.fullmatch(token.text)
        parts = [""]
        for piece in PART.findall(found["parts"]) if found else ():
            if piece == ".":
                parts.append("")
            elif parts[-1]:
                found = None
            else:
                parts[-1] = self._unquoted(piece, token) if piece[0] == '"' else piece
        if found is None or len(parts) > 3:
            self._fail('a comment behind an operation is its origin: a.b.c @ "source"', token)
        source = found["source"]
        parts += [""] * (3 - len(parts))
        at = self._unquoted(source, token) if source else ""
        return Origin(parts[0], parts[1], parts[2], at)

    # The program.

    def _seed(self) -> int:
        seed = self._integer()
        if not self._skip("state"):
            return seed
        try:
            return Begun.unpacked(seed, self._string())
        except ValueError as error:
            self._fail(f"a generator's state is needed: {error}")

    def program(self) -> Program:
        self._need("program")
        name = self._string()
        numerics = self._take("word", "`exact` or `fast`")
        if numerics.text not in ("exact", "fast"):
            self._fail(f"`exact` or `fast` is needed, not {numerics.text}", numerics)
        self._need("{")
        streams: dict[str, int] = {}
        while self._skip("stream"):
            self._once(streams, "stream")
            self._need("seed")
            streams[next(reversed(streams))] = self._seed()
        notes: dict[str, str] = {}
        while self._skip("note"):
            self._once(notes, "note")
            self._need("=")
            notes[next(reversed(notes))] = self._string()
        arguments: list[Value] = []
        parameters = self._declared("parameter", Parameter, arguments)
        inputs = self._declared("input", Input, arguments)
        states = self._declared("state", State, arguments)
        for word in ("seed", "trial"):
            self._need(word)
            arguments += self._define([self._typed(I64)])
        ops = self._ops()
        yields: list[Value] = []
        outputs = []
        while self._skip("output"):
            outputs.append(self._output(yields))
        for state in states:
            self._need("next")
            token = self._now
            if self._string() != state.name:
                self._fail(f"the next value of state `{state.name}` is needed here", token)
            self._need("=")
            yields.append(self._name())
        self._need("}")
        self._take("end", "the end of the text")
        return Program(
            name,
            tuple(parameters),
            tuple(inputs),
            tuple(states),
            tuple(outputs),
            Region(tuple(arguments), ops, tuple(yields)),
            "exact" if numerics.text == "exact" else "fast",
            tuple(streams),
            tuple(streams.values()),
            notes,
        )

    def _once(self, among: dict[str, Any], what: str) -> None:
        token = self._now
        name = self._string()
        if name in among:
            self._fail(f"there is already a {what} `{name}`", token)
        among[name] = None

    def _declared(self, word: str, make: Any, arguments: list[Value]) -> list[Any]:
        made: list[Any] = []
        while self._skip(word):
            typed = self._typed()
            name = self._string()
            of = typed[1].type
            fields: list[Any] = [name, of]
            if word != "input" or self._is("="):
                self._need("=")
                value = self._constant(of, f"that of `{name}`")
                array = np.array(value, of.dtype.numpy).reshape(of.shape)
                fields.append(frozen_array(array, of))
            if word == "parameter" and self._skip("range"):
                fields.append((float(self._number()), float(self._number())))
            made.append(make(*fields))
            arguments += self._define([typed])
        return made

    def _output(self, yields: list[Value]) -> Output:
        name = self._string()
        self._need(":")
        of = self._type()
        dims: Attribute = ()
        if not self._is("="):
            token = self._now
            dims = self._literal()
            if not isinstance(dims, tuple) or not all(isinstance(one, str) for one in dims):
                self._fail(f"names of the axes of `{name}` are needed", token)
        self._need("=")
        yields.append(self._name())
        return Output(name, of, dims)


def _floats(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_floats, value))
    if isinstance(value, (bool, str)):
        raise TypeError(value)
    return float(value)
