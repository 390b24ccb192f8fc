"""The number of member functions that each class of a file declares.

Python is read by its own parser. C++ is read by a tokenizer and a reader of declarations: no
compiler, no macro is expanded. Function bodies are skipped, with the classes in them. Of
`#if … #else …` the longest branch is read.

Every function counts that the body of the class declares or defines: constructors, destructor,
operators, static functions, templates and overrides. Friends and inherited functions do not count,
nor do functions of nested classes, which count for themselves. A deleted function does not count,
because a reader need not know it.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

TOKEN = re.compile(
    r"""
      (?P<skip>\s+|//(?:\\\n|[^\n])*|/\*.*?\*/)
    | (?P<raw>(?:u8|[uUL])?R"(?P<mark>[^\s()\\]{0,16})\(.*?\)(?P=mark)")
    | (?P<text>(?:u8|[uUL])?"(?:\\.|[^"\\\n])*"|(?:u8|[uUL])?'(?:\\.|[^'\\\n])+')
    | (?P<number>\.?[0-9](?:'[0-9A-Za-z]|[eEpP][+-]|[0-9A-Za-z_.])*)
    | (?P<word>[A-Za-z_]\w*)
    | (?P<sign>::|->|\[\[|\]\]|.)
    """,
    re.VERBOSE | re.DOTALL,
)
DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(\w+)")
CLOSING = {"(": ")", "[": "]", "[[": "]]", "{": "}"}
CLASS_WORDS = {"class", "struct", "union"}
# A parenthesis behind these belongs to a specifier.
NO_FUNCTION = {"alignas", "decltype", "explicit", "noexcept", "requires", "__attribute__", "throw"}
NO_MEMBER = {"friend", "using", "typedef", "static_assert", "enum"}
MACRO = re.compile(r"[A-Z0-9]+_[A-Z0-9_]+$")


@dataclass(frozen=True)
class ClassSize:
    name: str  # With the classes around it: `Unit::Visit`.
    line: int  # Of its body's first brace.
    methods: int


@dataclass(frozen=True)
class Token:
    text: str
    kind: str
    line: int


def class_sizes(source: str) -> list[ClassSize]:
    """The classes of a file, in the order of their closing braces.

    Errors: ValueError where brackets do not match.
    """
    reader = Reader(list(tokens_of(longest_branches(source))))
    reader.read_scope(around="", name="")
    if reader.at < len(reader.tokens):
        raise ValueError(f"line {reader.tokens[reader.at].line}: a closing brace too many")
    return reader.found


def python_class_sizes(source: str) -> list[ClassSize]:
    """The classes of a Python file. Functions of one name (@property, @overload) count once.

    Errors: SyntaxError.
    """
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return [
        ClassSize(
            node.name,
            node.lineno,
            len({part.name for part in node.body if isinstance(part, functions)}),
        )
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ClassDef)
    ]


def longest_branches(source: str) -> str:
    """The text without directives, of each condition only the longest branch; the lines stay."""
    lines = source.split("\n")
    conditions: list[list[int]] = []  # The lines of open conditions: `#if`, `#elif`, `#else`.
    continues = False
    for number, line in enumerate(lines):
        directive = None if continues else DIRECTIVE.match(line)
        if directive is not None:
            word = directive[1]
            if word.startswith("if"):
                conditions.append([number])
            elif word.startswith("el") and conditions:
                conditions[-1].append(number)
            elif word == "endif" and conditions:
                keep_longest(lines, [*conditions.pop(), number])
        if continues or directive is not None:
            lines[number] = ""
            continues = line.endswith("\\")
    return "\n".join(lines)


def keep_longest(lines: list[str], limits: list[int]) -> None:
    """Empties the lines of all branches but the longest. A branch ends where the next begins."""
    branches = [range(*pair) for pair in pairwise(limits)]
    longest = max(branches, key=lambda branch: sum(lines[at] != "" for at in branch))
    for branch in branches:
        for at in branch if branch is not longest else ():
            lines[at] = ""


def tokens_of(source: str) -> Iterator[Token]:
    line = 1
    for match in TOKEN.finditer(source):
        kind = match.lastgroup or "sign"
        if kind == "mark":
            kind = "raw"
        if kind != "skip":
            yield Token(match[0], kind, line)
        line += match[0].count("\n")


class Reader:
    """Walks over declarations."""

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.at = 0
        self.found: list[ClassSize] = []

    def text(self, ahead: int = 0) -> str:
        """A token's text; empty behind the last one."""
        place = self.at + ahead
        return self.tokens[place].text if 0 <= place < len(self.tokens) else ""

    def is_word(self, ahead: int = 0) -> bool:
        place = self.at + ahead
        return 0 <= place < len(self.tokens) and self.tokens[place].kind == "word"

    def read_scope(self, around: str, name: str) -> int:
        """Reads declarations up to a closing brace or the end; returns the number of functions."""
        methods = 0
        while self.text() not in ("", "}"):
            if self.text() in ("public", "protected", "private") and self.text(1) == ":":
                self.at += 2
            elif self.opens_block():
                self.read_block(around)
            else:
                methods += self.read_declaration(around if not name else f"{around}{name}::")
        return methods

    def opens_block(self) -> bool:
        if self.text() == "extern":
            return self.text(1).startswith('"') and self.text(2) == "{"
        return "namespace" in (self.text(), self.text(1) if self.text() == "inline" else "")

    def read_block(self, around: str) -> None:
        """A namespace, an alias of one, or `extern "C" {`."""
        while self.text() not in ("", *"{;"):
            self.at += 1
        if self.text() == "{":
            line = self.tokens[self.at].line
            self.at += 1
            self.read_scope(around, "")
            self.close(line)

    def read_declaration(self, around: str) -> int:
        """Reads one declaration. Returns 1 for a function that is not deleted, else 0."""
        function = False
        member = True
        while True:
            text = self.text()
            if text in ("", "}"):  # Tokens of a macro, at the end.
                return 0
            if text == ";":
                self.at += 1
                return int(function and member)
            if text in NO_MEMBER:
                member = False
                self.at += 1
            elif text in CLASS_WORDS and not function and self.text(-1) != "enum":
                self.read_class(around)
            elif text == "operator":
                function = True
                self.skip_operator()
            elif text == "(" and not function and self.begins_parameters():
                function = True
                self.skip_group()
            elif text == "=":
                deleted = self.text(1) == "delete"
                self.skip_value()
                if deleted:
                    member = False
            elif text == ":" and function:
                self.skip_initialisers()
            elif text == "{":
                self.skip_group()
                if function:
                    return int(member)
            else:
                self.skip_one()

    def begins_parameters(self) -> bool:
        """Passes a parenthesis behind a name, if it does not contain the name of a pointer."""
        pointer = self.text(1) in ("*", "&") or (self.text(2) == "::" and self.text(3) == "*")
        return self.is_word(-1) and self.text(-1) not in NO_FUNCTION and not pointer

    def read_class(self, around: str) -> None:
        """The head of a class and its body; only the head where no body follows."""
        self.at += 1
        name = ""
        names = 0  # `struct tm when{}` has two: an object of a class.
        while self.text() not in ("", *":{;()=},*&>"):
            begin = self.at
            if self.text() in NO_FUNCTION:
                self.at += 1
                self.skip_group()
            elif self.text() in CLOSING:
                self.skip_group()
            elif self.text() == "<":
                self.skip_angles()
                name += "".join(token.text for token in self.tokens[begin : self.at])
            else:
                self.at += 1
                if self.text(-1) != "final" and not MACRO.match(self.text(-1)):
                    names += self.is_word(-1) and not name.endswith("::")
                    name += self.text(-1)
        if self.text() == ":":
            while self.text() not in ("", *"{;"):
                self.skip_one()
        if self.text() != "{" or names > 1:
            return
        line = self.tokens[self.at].line
        self.at += 1
        methods = self.read_scope(around, name or "(unnamed)")
        self.close(line)
        self.found.append(ClassSize(around + (name or "(unnamed)"), line, methods))

    def close(self, line: int) -> None:
        """Passes the closing brace of a scope that began in `line`."""
        if self.text() != "}":
            raise ValueError(f"line {line}: no closing bracket")
        self.at += 1

    def skip_one(self) -> None:
        """Passes a token, or a pair of brackets with its content."""
        if self.text() in CLOSING:
            self.skip_group()
        elif self.text() == "<":
            self.skip_angles()
        else:
            self.at += 1

    def skip_operator(self) -> None:
        """`operator`, its signs and its parameters."""
        self.at += 3 if self.text(1) == "(" and self.text(2) == ")" else 1
        while self.text() not in ("", *"(;}"):
            self.at += 1
        if self.text() == "(":
            self.skip_group()

    def skip_value(self) -> None:
        """Passes the text from `=` to the end of the declaration."""
        while self.text() not in ("", *";}"):
            if self.text() in CLOSING:
                self.skip_group()
            else:
                self.at += 1

    def skip_initialisers(self) -> None:
        """Passes the initialisers of a constructor, up to the brace of its body."""
        self.at += 1
        while self.text() not in ("", *";}"):
            if self.text() == "{" and not (self.is_word(-1) or self.text(-1) == ">"):
                return
            self.skip_one()

    def skip_group(self) -> None:
        """Passes a pair of brackets and its content."""
        line = self.tokens[self.at].line
        expected: list[str] = []
        while self.text() != "":
            text = self.text()
            if text in CLOSING:
                expected.append(CLOSING[text])
            elif text == expected[-1]:
                expected.pop()
            elif text == "]]" and expected[-2:] == ["]", "]"]:  # a[b[0]]
                del expected[-2:]
            self.at += 1
            if not expected:
                return
        raise ValueError(f"line {line}: no closing bracket")

    def skip_angles(self) -> None:
        """Passes the arguments of a template, or only the sign if it is a comparison."""
        begin = self.at
        depth = 0
        while self.text() not in ("", *";}])"):
            if self.text() in CLOSING:
                self.skip_group()
                continue
            depth += (self.text() == "<") - (self.text() == ">")
            self.at += 1
            if depth == 0:
                return
        self.at = begin + 1
