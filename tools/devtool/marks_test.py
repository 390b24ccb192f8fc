"""Generated texts stand between the marks of their names, and what is around them stays."""

from pathlib import Path

import pytest

from devtool.console import Refused
from devtool.marks import names_in, renewed

PAGE = """# A page

<!-- one -->

old
<!-- /one -->

A sentence.

<!-- two -->
<!-- /two -->
"""


def test_only_the_text_between_marks_is_renewed(tmp_path: Path) -> None:
    file = tmp_path / "page.md"
    file.write_text(PAGE)
    assert names_in(PAGE) == ["one", "two"]
    text = renewed(file, {"one": "new\n", "two": "more\n"})
    assert text == (
        "# A page\n\n<!-- one -->\n\nnew\n\n<!-- /one -->\n\nA sentence.\n\n"
        "<!-- two -->\n\nmore\n\n<!-- /two -->\n"
    )
    file.write_text(text)
    assert renewed(file, {"one": "new\n", "two": "more\n"}) == text, "a second time nothing changes"


@pytest.mark.parametrize(
    ("new", "odd"), [({"one": ""}, "two"), ({"one": "", "two": "", "three": ""}, "three")]
)
def test_marks_and_texts_must_be_the_same(tmp_path: Path, new: dict[str, str], odd: str) -> None:
    file = tmp_path / "page.md"
    file.write_text(PAGE)
    with pytest.raises(Refused, match=rf"the marks and the generated texts differ in \['{odd}'\]"):
        renewed(file, new)


def test_a_mark_that_stands_twice_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "page.md"
    file.write_text(PAGE + PAGE)
    with pytest.raises(Refused, match="twice the same"):
        renewed(file, {"one": "", "two": ""})
