"""Every refusal is a sentence: the component, a reason with a verb, and the nearest form."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from psylang.pnl.examples_fixture import told, unmet
from psylang.pnl.refusals import Refusal, RefusedError
from psylang.pnl.tables import REFUSED, Kind, converter, nearest

FOLDER = Path(__file__).parent
VERB = re.compile(
    r"\b(is|are|has|have|ends?|runs?|counts?|compares?|names?|chooses?|follows|leave|monitors|sets|"
    r"refers|computes?|arrives?|learns?|brings|reads|shadows|wants|multiplies|takes?|scales|begins|"
    r"integrates|clips|keeps|differs?|draws?|shares|left|uses|searches|passes|gives)\b"
)


def raised() -> Iterator[tuple[str, list[ast.expr]]]:
    """The place and the arguments of each refusal in the importer's source."""
    for file in sorted(FOLDER.glob("*.py")):
        if file.stem.endswith(("_test", "_fixture")):
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "RefusedError":
                yield f"{file.name}:{node.lineno}", node.args


def words(text: ast.expr) -> str:
    """A text's constant parts, with X for the others."""
    if isinstance(text, ast.Constant):
        return str(text.value)
    if isinstance(text, ast.JoinedStr):
        return "".join(words(one) if isinstance(one, ast.Constant) else "X" for one in text.values)
    return ""


def test_the_sources_refuse_by_a_reason_with_a_verb_and_a_nearest_form() -> None:
    places = list(raised())
    assert len(places) > 100
    for place, arguments in places:
        assert len(arguments) == 2, place
        reason, form = arguments
        # Another error's reason stands behind the component's name: that one is judged where it is
        # raised, and what `@function` refuses of a function's source has its own sentences.
        if not ast.unparse(reason).endswith(("str(error)", "{error}'", "{error.reason}'")):
            assert VERB.search(words(reason)), place
            assert not words(reason).endswith((".", "X.", ";")), place
            # "X computes" of whatever: a verb at the end has no object.
            assert not re.search(r"\b(computes?|is|has|takes)$", words(reason)), place
        assert words(form) or isinstance(form, ast.Name | ast.Call | ast.Attribute), place


@pytest.mark.parametrize("kind", [*REFUSED])
def test_classes_of_the_table_are_refused_by_a_sentence(kind: Kind) -> None:
    for name in [*REFUSED[kind], "Unknown"]:
        with pytest.raises(RefusedError) as caught:
            converter(kind, name)
        said = str(Refusal("a", caught.value.reason, caught.value.nearest))
        assert said == f"`a`: the {kind} {name} is not imported; nearest: {nearest(kind, name)}"
        assert len(nearest(kind, name)) > 3


def test_refusals_of_one_composition_are_told_once_each_and_at_most_three() -> None:
    every = [Refusal(f"n{k}", f"it ends {k}", "AtPass") for k in range(5)]
    assert told(every[:1]) == "`n0`: it ends 0; AtPass"
    assert told([every[0], Refusal("m", "it ends 0", "AtPass")]) == "`n0`: it ends 0; AtPass"
    assert told(every) == (
        "`n0`: it ends 0; AtPass. `n1`: it ends 1; AtPass. `n2`: it ends 2; AtPass. "
        "And 2 more of this kind"
    )


def test_a_script_that_ends_early_says_why() -> None:
    missing = ModuleNotFoundError("No module named 'm'", name="m")
    assert unmet("s.py", missing) == (
        "`s.py`: it imports m, which the tests do not install; install it beside PsyNeuLink"
    )
    torch = ValueError("\"'EM.learn()' was called, but Pytorch module ('torch') is missing\"")
    assert unmet("s.py", torch).startswith("`s.py`: it trains an AutodiffComposition, for which")
    other = unmet("s.py", ValueError("no\n  such port"))
    assert other.startswith("`s.py`: PsyNeuLink stops: no such port; a script")
