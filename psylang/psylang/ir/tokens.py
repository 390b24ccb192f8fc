"""The words of the text of programs, and a cursor over them. The grammar is in parse.py."""

from __future__ import annotations

import json
import math
import re
import struct
from dataclasses import dataclass
from typing import NoReturn

from psylang.errors import PsylangError
from psylang.ir.graph import Attribute

TOKENS = re.compile(
    r"""(?P<space>[ \t\r\n]+)
      | (?P<comment>\#[^\n]*)
      | (?P<string>"(?:[^"\\\n]|\\.)*")
      | (?P<name>%[A-Za-z0-9_]+(?:\.[0-9]+)?)
      | (?P<number>nan:[0-9a-f]{16}|-?(?:inf|nan)\b
          |-?[0-9]+(?:\.[0-9]+)?(?:e[+\-]?[0-9]+)?(?![A-Za-z0-9_.]))
      | (?P<word>[A-Za-z_][A-Za-z0-9_.]*|[0-9]+x[a-z0-9]+)
      | (?P<mark>[{}()\[\]=:,])
    """,
    re.VERBOSE,
)
NEEDED = "a word, a value like %x, a number, a text in quotes or one of {}()[]=:, is needed"
DEEPEST = 64  # The greatest depth of nested lists and regions.


class ParseError(PsylangError, ValueError):
    """Text that is no program. line, column: the position, counted from 1."""

    def __init__(self, message: str, line: int, column: int) -> None:
        super().__init__(f"line {line}, column {column}: {message}")
        self.line = line
        self.column = column


@dataclass(frozen=True, slots=True)
class Token:
    kind: str
    text: str
    line: int
    column: int


def tokens_of(text: str) -> list[Token]:
    """All tokens except spaces and comments on lines of their own; `end` is the last."""
    tokens: list[Token] = []
    at, line, begin = 0, 1, 0
    while at < len(text):
        found = TOKENS.match(text, at)
        if found is None:
            raise ParseError(f"{NEEDED}, not {text[at]!r}", line, at - begin + 1)
        kind, piece = str(found.lastgroup), found.group()
        alone = kind == "comment" and not text[begin:at].strip()
        if kind != "space" and not alone:
            tokens.append(Token(kind, piece, line, at - begin + 1))
        at = found.end()
        if "\n" in piece:
            line += piece.count("\n")
            begin = at - len(piece) + piece.rindex("\n") + 1
    tokens.append(Token("end", "the end of the text", line, at - begin + 1))
    return tokens


class Cursor:
    """A parser's position in the tokens. Takes an expected token, or raises ParseError."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._at = 0

    @property
    def _now(self) -> Token:
        return self._tokens[self._at]

    def _fail(self, message: str, token: Token | None = None) -> NoReturn:
        token = token or self._now
        raise ParseError(message, token.line, token.column)

    def _is(self, text: str) -> bool:
        return self._now.text == text and self._now.kind in ("word", "mark")

    def _skip(self, text: str) -> bool:
        """Reads the token if it is `text`; returns whether it was."""
        if not self._is(text):
            return False
        self._at += 1
        return True

    def _need(self, text: str) -> None:
        if not self._skip(text):
            self._fail(f"`{text}` is needed, not {self._now.text}")

    def _take(self, kind: str, what: str) -> Token:
        token = self._now
        if token.kind != kind:
            self._fail(f"{what} is needed, not {token.text}")
        self._at += 1
        return token

    def _string(self) -> str:
        token = self._take("string", "a text in quotes")
        return self._unquoted(token.text, token)

    def _unquoted(self, text: str, token: Token) -> str:
        try:
            value = json.loads(text, strict=False)
        except ValueError as error:
            self._fail(f"{text} is no text in quotes: {error}", token)
        return str(value)

    # Literals.

    def _literal(self, depth: int = 0) -> Attribute:
        if self._skip("["):
            if depth > DEEPEST:
                self._fail(f"lists in lists deeper than {DEEPEST}")
            items = []
            while not self._skip("]"):
                items.append(self._literal(depth + 1))
                if not self._is("]"):
                    self._need(",")
            return tuple(items)
        if self._now.kind == "string":
            return self._string()
        if self._is("true") or self._is("false"):
            return self._skip("true") or not self._skip("false")
        return self._number()

    def _number(self) -> int | float:
        token = self._take("number", "a number, text, true, false or list")
        text = token.text
        if text.startswith("nan:"):
            bits = int(text[4:], 16)
            number: float = struct.unpack("<d", struct.pack("<Q", bits))[0]
            if number == number:
                self._fail(f"{text} has not the bits of a NaN", token)
            return number
        if text == "nan":
            return math.nan
        try:
            return float(text) if re.search(r"[.en]", text) else int(text)
        except ValueError:
            self._fail(f"a number of {len(text)} digits", token)

    def _integer(self) -> int:
        token = self._now
        number = self._number()
        if not isinstance(number, int):
            self._fail(f"an integer is needed, not {token.text}", token)
        return number
