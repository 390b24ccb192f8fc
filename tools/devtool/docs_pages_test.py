"""Links of the repository lead to the same things in the site."""

import ast
import re
from pathlib import Path

import pytest

from devtool.console import Refused
from devtool.docs_pages import NAVIGATION, Places, headers_in, navigation, page_text, site_place
from devtool.tree import ROOT, files, shown

WHERE = Places(
    pages={
        name: site_place(name)
        for name in ("README.md", "docs/design/router.md", "docs/decisions/README.md")
    },
    assets={"docs/results/plot.svg": "results/plot.svg"},
    headers={"include/k2k/io.h": "reference/cpp/io_8h.html"},
)


@pytest.mark.parametrize(
    ("file", "before", "after"),
    [
        ("README.md", "[how](docs/design/router.md)", "[how](design/router.md)"),
        ("README.md", "[a](docs/design/router.md#rule)", "[a](design/router.md#rule)"),
        ("README.md", "[why](docs/decisions/)", "[why](decisions/README.md)"),
        ("docs/design/router.md", "[home](../../README.md)", "[home](../README.md)"),
        ("README.md", "[`io.h`](include/k2k/io.h)", "[`io.h`](reference/cpp/io_8h.html)"),
        ("docs/results/README.md", "![a plot](plot.svg)", "![a plot](plot.svg)"),
        ("docs/reference/README.md", "[all](cpp/files.html)", "[all](cpp/files.html)"),
    ],
)  # fmt: skip
def test_a_link_leads_from_page_to_page(file: str, before: str, after: str) -> None:
    assert page_text(f"See {before}.", file, WHERE) == f"See {after}."


def test_of_a_file_without_a_page_only_the_name_stays_as_code() -> None:
    text = "[the licence](LICENSE) and [`dev`](dev)"
    assert page_text(text, "README.md", WHERE) == "`the licence` and `dev`"


@pytest.mark.parametrize(
    "text",
    [
        "```md\n[a](nowhere.md)\n```",
        "The text `[a](nowhere.md)` is code.",
        "``[a](no`where.md)``",
        "[a](https://example.org/nowhere.md)",
        "[a](#here)",
    ],
)
def test_code_anchors_and_other_hosts_stay_as_they_are(text: str) -> None:
    assert page_text(text, "README.md", WHERE) == text


@pytest.mark.parametrize("link", ["[a](nowhere.md)", "![a](docs/results/none.svg)", "![a](dev)"])
def test_a_link_to_nothing_is_refused_with_its_line(link: str) -> None:
    with pytest.raises(Refused, match=r"README\.md:3: a link to .*: there is no "):
        page_text(f"first\n`code`\n{link}", "README.md", WHERE)


@pytest.mark.parametrize("indent", [2, 3])
def test_a_fence_that_only_github_understands_is_refused(indent: int) -> None:
    with pytest.raises(Refused, match=r"README\.md:3: indent a fence in a list by 4 spaces"):
        page_text(f"- item:\n\n{' ' * indent}```\n", "README.md", WHERE)
    page_text("- item:\n\n    ```sh\n    code\n    ```\n", "README.md", WHERE)


def test_headers_are_found_in_the_tags_by_their_folders(tmp_path: Path) -> None:
    tags = tmp_path / "tags.xml"
    tags.write_text(
        "<tagfile><compound kind='file'><name>io.h</name><path>k2k/</path>"
        "<filename>io_8h.html</filename></compound>"
        "<compound kind='file'><name>none.hpp</name><path>k2k/</path>"
        "<filename>none_8hpp.html</filename></compound></tagfile>"
    )
    assert headers_in(tags) == {"include/k2k/io.h": "reference/cpp/io_8h.html"}


def test_every_page_of_the_repository_stands_in_one_section() -> None:
    pages = {shown(path): site_place(shown(path)) for path in files(".md")}
    sections = navigation(pages)
    assert [next(iter(section)) for section in sections] == list(NAVIGATION)
    listed = re.findall(r"[\w./-]+\.md", str(sections))
    assert sorted(listed) == sorted(pages.values())


@pytest.mark.parametrize(
    ("package", "page"), [("python/k2k", "k2k"), ("psylang/psylang", "psylang")]
)
def test_the_reference_lists_the_exports_of_a_package(package: str, page: str) -> None:
    tree = ast.parse((ROOT / package / "__init__.py").read_text())
    exported = next(
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    )
    text = (ROOT / f"docs/reference/{page}.md").read_text()
    listed = re.findall(r"\w+", " ".join(re.findall(r"members:((?:\s+- \w+|\s+\[[^]]*\])+)", text)))
    assert sorted(listed) == sorted(set(exported) - {"__version__"})
