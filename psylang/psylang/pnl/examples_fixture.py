"""PsyNeuLink's own scripts and the examples of its documentation, run beside PsyNeuLink.

They are read where PsyNeuLink is installed: the models of its library, and the examples (>>>) in
its docstrings, a section each. From its source package, which `./dev test --psylang-full` unpacks,
come the scripts for other formats of models (tests/mdf) and the pages of its manual (docs/source).

Every example is executed. The first run() of a composition is made by both: its results must be
equal. A composition that the example does not run is run once, with PsyNeuLink's default inputs.
"""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import inspect
import io
import itertools
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import psylang
from psylang.pnl import Refusal, from_psyneulink, restart, results_of, run_arguments
from psylang.pnl.script import OF_IMPORT, TAKEN

KINDS = ("wrong", "not run", "refused", "equal")
PAGE = Path(__file__).parents[2] / "docs/psyneulink-examples.md"
BEGIN, END = "<!-- examples -->\n", "<!-- end of the examples -->\n"
ALLOWED = 1e-12
REFUSALS_TOLD = 3  # Of a composition.
TRIALS_MAX = 40  # Trials that are compared of one run.
SOURCES = Path(__file__).parents[3] / "build/psyneulink-source"
MARK = re.compile(r"^(?P<indent>\s*)(?P<sign>>>>|\.\.\.)(?: (?P<code>.*))?$")
LINE = re.compile(r"^\s*([=~^*`\".+#-])\1{3,}\s*$")


@dataclass
class Example:
    """name: its file, and its section. statements: executed one by one; one that fails, as those
    that show an error do, ends nothing. path: of a script instead, with its arguments."""

    name: str
    statements: list[str]
    path: str = ""
    arguments: tuple[str, ...] = ()


@dataclass
class Outcome:
    """Of one example: for each composition "equal", "refused: …", "not run: …" or "wrong: …"."""

    name: str
    compositions: dict[str, str] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """The worst: wrong, not run, refused, or equal; "none" without a composition."""
        kinds = {one.partition(":")[0] for one in self.compositions.values()}
        return next((one for one in KINDS if one in kinds), "none")


class EndedError(BaseException):
    """Ends a script when its first composition was compared."""


def statements_of(text: str) -> list[str]:
    """The statements of a text's examples, lines with >>> and … in front of them."""
    found: list[str] = []
    for line in text.splitlines():
        if mark := MARK.match(line):
            code = mark["code"] or ""
            if mark["sign"] == ">>>" or not found:
                found.append(code)
            else:
                found[-1] += f"\n{code}"
    return found


def sections(text: str) -> Iterator[tuple[str, str]]:
    """The sections of a page with their titles, which are underlined."""
    title, begun, lines = "", 0, text.splitlines()
    for number, line in enumerate(lines):
        if number and LINE.match(line) and re.match(r"^\W*\w", lines[number - 1]):
            yield title, "\n".join(lines[begun : number - 1])
            title, begun = lines[number - 1].strip(" *|"), number + 1
    yield title, "\n".join(lines[begun:])


def of_page(name: str, text: str) -> Iterator[Example]:
    """Its sections that have examples."""
    for title, part in sections(text):
        if statements := statements_of(part):
            yield Example(f"{name}: {title}" if title else name, statements)


def library() -> list[list[Example]]:
    """The examples of the installed package. Those of one list share their names, in order."""
    import psyneulink

    root = Path(psyneulink.__file__).parent
    found = [
        [Example(f"library/models/{one.name}", [], str(one), REDUCED.get(one.stem, ()))]
        for one in sorted((root / "library/models").glob("[A-Z]*.py"))
    ]
    for file in sorted(root.rglob("*.py")):
        name = str(file.relative_to(root))
        text = file.read_text(encoding="utf-8")
        if ">>>" not in text or name.startswith(("library/models", *LEFT_OUT)):
            continue
        nodes = [one for one in ast.walk(ast.parse(text)) if isinstance(one, HOLDERS)]
        for node in nodes:
            inner = f"{name}, {node.name}" if isinstance(node, ast.ClassDef) else name
            if page := ast.get_docstring(node):
                found.append(list(of_page(inner, page)))
    return [one for one in found if one]


def sources(folder: Path = SOURCES) -> list[list[Example]]:
    """The examples of the source package."""
    (root,) = folder.glob("psyneulink-*")
    found = [
        [Example(f"tests/mdf/{one.name}", [], str(one))]
        for one in sorted((root / "tests/mdf").glob("*.py"))
        if not one.name.startswith("test_")
    ]
    for file in sorted((root / "docs/source").glob("*.rst")):
        found.append(list(of_page(f"docs/{file.name}", file.read_text(encoding="utf-8"))))
    return [one for one in found if one]


# They build networks for minutes, which are EMCompositions: never imported.
LEFT_OUT = ("library/compositions/emcomposition",)
# It takes 4 GB of memory before PsyNeuLink asks for PyTorch.
TRAINED = ("library/models/Giallanza2024_EGO_Study2.py",)
HOLDERS = (ast.Module, ast.ClassDef)
REDUCED = {
    "Botvinick_conflict_monitoring_model": ("--no-plot", "--settle-trials=10"),
    "Cohen_Huston1994": ("--no-plot", "--settle-trials=10"),
    "Cohen_Huston1994_horse_race": ("--no-plot", "--settle-trials=10"),
    "Kalanthroff_PCTC_2018": ("--no-plot", "--settle-trials=10"),
    "Nieuwenhuis2005Model": ("--no-plot",),
    "GilzenratModel": ("--no-plot",),
    "MontagueDayanSejnowski96": ("--no-plot",),
}


class Compared:
    """Executes examples; the first run() of each composition is compared."""

    def __init__(self) -> None:
        import psyneulink

        self.pnl = psyneulink
        self.kind = psyneulink.Composition
        self.original = self.kind.run
        self.seen: dict[int, Any] = {}
        self.outcome = Outcome("")
        self.inside = False
        self.ends = False

    @contextlib.contextmanager
    def intercepting(self) -> Iterator[None]:
        outer = self
        original: Callable[..., Any] = self.original

        def run(self: Any, *data: Any, **named: Any) -> Any:
            if outer.inside or id(self) in outer.seen:
                return original(self, *data, **named)
            outer.seen[id(self)] = self
            given = dict(inspect.signature(original).bind(self, *data, **named).arguments)
            given.pop("self")
            outer.compare(self, {**given.pop("kwargs", {}), **given})
            if outer.ends:
                raise EndedError
            return self.results[-1] if self.results else None

        self.kind.run = run
        try:
            yield
        finally:
            self.kind.run = original

    def compare(self, composition: Any, given: dict[str, Any]) -> None:
        self.inside = True
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                said = self._compared(composition, given)
        except Exception as error:
            said = f"wrong: {type(error).__name__}: {error}"
        finally:
            self.inside = False
        if said:
            name = composition.name
            while name in self.outcome.compositions:
                name += "'"
            self.outcome.compositions[name] = said

    def _compared(self, composition: Any, given: dict[str, Any]) -> str:
        of_import = {name: given[name] for name in OF_IMPORT if given.get(name) is not None}
        inputs, trials = given.get("inputs"), given.get("num_trials")
        other = sorted(
            name
            for name, value in given.items()
            if name not in (*TAKEN, *UNHEEDED) and value is not None
        )
        if callable(inputs) and trials is None:
            return ""
        if inspect.isgenerator(inputs):  # It gives its rows once, and both need them.
            kept = list(itertools.islice(inputs, trials))
            inputs, given = (row for row in kept), {**given, "inputs": (row for row in kept)}
        try:
            model = from_psyneulink(composition, **of_import)
            arrays, rows = run_arguments(composition, model, inputs, trials)
        except psylang.NotImportedError as error:
            return f"refused: {told(error.refusals)}"
        except psylang.PsylangError as error:
            reason, nearest = (
                str(error).rstrip("."),
                "give run() num_trials, or inputs as a dictionary",
            )
            return f"refused: {Refusal(composition.name, reason, nearest)}"
        if other:
            reason, nearest = f"run() takes {', '.join(other)}", "set parameters before run()"
            return f"refused: {Refusal(composition.name, reason, nearest)}"
        restart(composition)
        rows = min(rows, TRIALS_MAX)
        try:
            self.original(composition, **{**given, "num_trials": rows})
        except Exception:
            return ""  # PsyNeuLink does not run it: a fragment, or an example of an error.
        cut = {name: array[:rows] for name, array in arrays.items()}
        found = psylang.compile(model, numerics="exact").run(
            inputs=cut, trials=rows, allow_nan=True
        )
        return difference(results_of(model, found), composition.results)

    def example(self, one: Example, names: dict[str, Any]) -> Outcome:
        """Executes an example with these names, and compares its compositions."""
        self.outcome, self.seen = Outcome(one.name), dict(self.seen)
        if one.name in TRAINED and importlib.util.find_spec("torch") is None:
            self.outcome.compositions["–"] = f"not run: {untrained(Path(one.path).name)}"
            return self.outcome
        before, directory = set(names), list(sys.argv)
        quiet = io.StringIO()
        with self.intercepting(), contextlib.redirect_stdout(quiet), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sys.argv = [one.path or "example", *one.arguments]
            self.ends = bool(one.path)
            try:
                if one.path:
                    text = Path(one.path).read_text(encoding="utf-8")
                    names["__name__"] = "__main__"
                    exec(compile(text, one.path, "exec"), names)
                for statement in one.statements:
                    # Statements without their context fail, and those that show an error.
                    with contextlib.suppress(Exception, SystemExit):
                        exec(compile(statement + "\n", one.name, "exec"), names)
            except (EndedError, SystemExit):
                pass
            except Exception as error:  # PsyNeuLink's, of a script whose needs are not there.
                self.outcome.compositions["–"] = f"not run: {unmet(Path(one.path).name, error)}"
            finally:
                sys.argv = directory
                self.ends = False
            made = [value for name, value in names.items() if name not in before]
            made = [one for one in made if isinstance(one, self.kind) and len(one.nodes)]
            nested = {id(node) for one in made for node in one.nodes}
            for value in made:
                if id(value) not in self.seen and id(value) not in nested:
                    self.seen[id(value)] = value
                    self.compare(value, {})
        return self.outcome


def told(refusals: Sequence[Refusal]) -> str:
    """The first refusals of different reasons, a sentence each."""
    different = {(one.reason, one.nearest): one for one in reversed(refusals)}
    every = list(different.values())[::-1]
    said = [str(one) for one in every[:REFUSALS_TOLD]]
    rest = len(every) - len(said)
    return ". ".join([*said, *([f"And {rest} more of this kind"] if rest else [])])


def untrained(script: str) -> Refusal:
    reason = "it trains an AutodiffComposition, for which PsyNeuLink needs PyTorch"
    return Refusal(script, reason, "import the composition with the matrices it learned")


def unmet(script: str, error: Exception) -> str:
    """Why a script ends, as a sentence like a refusal's."""
    if isinstance(error, ModuleNotFoundError):
        reason = f"it imports {error.name}, which the tests do not install"
        return str(Refusal(script, reason, "install it beside PsyNeuLink"))
    message = " ".join(str(error).strip("'\"").split())
    if "pytorch" in message.lower():
        return str(untrained(script))
    reason = f"PsyNeuLink stops: {message}"
    return str(Refusal(script, reason, "a script that PsyNeuLink runs to its first run()"))


UNHEEDED = ("execution_mode", "context", "skip_analyze_graph", "animate", "report_output", "log")


def difference(found: Any, wanted: Any) -> str:
    """ "equal", or what differs."""
    if len(found) != len(wanted):
        return f"wrong: {len(found)} trials, PsyNeuLink has {len(wanted)}"
    for trial, (row, expected) in enumerate(zip(found, wanted, strict=True)):
        if len(row) != len(expected):
            return f"wrong: {len(row)} ports, PsyNeuLink has {len(expected)}"
        for port, (one, other) in enumerate(zip(row, expected, strict=True)):
            flat = np.ravel(np.asarray(other, dtype=float))
            if not np.allclose(one, flat, rtol=ALLOWED, atol=0, equal_nan=True):
                return f"wrong: trial {trial}, port {port}: {one}, PsyNeuLink has {flat}"
    return "equal"


def outcomes(pages: list[list[Example]]) -> list[Outcome]:
    """Of all examples that have a composition, in order."""
    found = []
    for page in pages:
        compared = Compared()
        names: dict[str, Any] = {"np": np, "pnl": compared.pnl}
        exec("from psyneulink import *", names)
        for one in page:
            outcome = compared.example(one, names)
            if outcome.compositions:
                found.append(outcome)
    return found


def table(found: list[Outcome]) -> str:
    """The outcomes as Markdown: a count, and a line an example."""
    every = [one for outcome in found for one in outcome.compositions.values()]
    numbers = {kind: sum(one.startswith(kind) for one in every) for kind in KINDS}
    whole = {kind: sum(one.kind == kind for one in found) for kind in KINDS}
    lines = [
        "| | equal | refused | not run | wrong |",
        "|---|---|---|---|---|",
        f"| examples ({len(found)}), by the worst of each | {_row(whole)} |",
        f"| compositions of them ({len(every)}) | {_row(numbers)} |",
        "",
        "| example | compositions |",
        "|---|---|",
    ]
    for one in found:
        said = dict.fromkeys(one.compositions.values())
        parts = [
            f"{list(one.compositions.values()).count(text)} {text}" if text == "equal" else text
            for text in said
        ]
        cell = "; ".join(" ".join(part.split()) for part in parts)
        lines.append(f"| {one.name} | {NUMBERED.sub('', cell).replace('|', '/')} |")
    return "\n".join(lines) + "\n"


NUMBERED = re.compile(r"(?<=[a-z])-\d+\b")  # PsyNeuLink numbers names that were there before.


def _row(numbers: dict[str, int]) -> str:
    return " | ".join(str(numbers[kind]) for kind in ("equal", "refused", "not run", "wrong"))


def renewed(text: str, made: str) -> str:
    """The page with a current table between its marks."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{made}\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(
        renewed(PAGE.read_text(encoding="utf-8"), table(outcomes([*library(), *sources()]))),
        encoding="utf-8",
    )
