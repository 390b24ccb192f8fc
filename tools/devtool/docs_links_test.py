"""Dead links are found, and live links are not."""

from pathlib import Path

import pytest

from devtool.docs_links import problems


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "sub").mkdir()
    (tmp_path / "other page.html").write_text("<h2 id='rule'>Rule</h2><a name='old'></a>")
    (tmp_path / "sub/plot.svg").write_text("<svg/>")
    return tmp_path


def told(site: Path, html: str, name: str = "sub/page.html") -> list[str]:
    page = site / name
    page.write_text(html)
    return problems(site, [page])


@pytest.mark.parametrize(
    "html",
    [
        "<a href='../other%20page.html'>file</a>",
        "<a href='../other%20page.html?q=1#rule'>anchor</a>",
        "<a href='../other%20page.html#old'>anchor by name</a>",
        "<p id='here'><a href='#here'>same page</a><a href='#'>top</a>",
        "<img src='plot.svg'>",
        "<a href='https://example.org/none'>outside</a><a href='mailto:a@example.org'>mail</a>",
        "<img src='data:image/png;base64,AAAA'>",
    ],
)
def test_a_link_with_a_target_is_no_problem(site: Path, html: str) -> None:
    assert told(site, html) == []


@pytest.mark.parametrize(
    ("html", "problem"),
    [
        ("<a href='none.html'>", "a link to none.html: there is no such file"),
        ("<a href='../sub'>", "a link to ../sub: there is no such file"),
        ("<a href='/other%20page.html'>", "a link to /other%20page.html: there is no such file"),
        ("<img src='none.svg'>", "a link to none.svg: there is no such file"),
        ("<a href='#none'>", "a link to #none: there is no such anchor"),
        (
            "<a href='../other%20page.html#none'>",
            "a link to ../other%20page.html#none: there is no such anchor",
        ),
        (
            "<script src='https://example.org/a.js'></script>",
            "loads https://example.org/a.js from another host",
        ),
        (
            "<link rel=stylesheet href='//example.org/a.css'>",
            "loads //example.org/a.css from another host",
        ),
    ],
)
def test_a_dead_link_is_reported_with_page_and_line(site: Path, html: str, problem: str) -> None:
    assert told(site, f"<p>\n{html}") == [f"sub/page.html:2: {problem}"]


def test_a_link_from_the_root_is_dead_in_a_folder_that_is_opened_as_a_file(site: Path) -> None:
    html = "<a href='/sub/plot.svg'>"
    assert told(site, html, "top.html") == [
        "top.html:1: a link to /sub/plot.svg: there is no such file"
    ]


def test_the_page_of_errors_links_from_the_root(site: Path) -> None:
    html = "<a href='/sub/plot.svg'></a><a href='/none.html'></a>"
    assert told(site, html, "404.html") == [
        "404.html:1: a link to /none.html: there is no such file"
    ]


def test_a_style_sheet_loads_nothing_from_another_host(site: Path) -> None:
    (site / "site.css").write_text("a { background: url('https://example.org/a.png') }")
    (site / "own.css").write_text("a { background: url(plot.svg), url('data:image/png,A') }")
    assert told(site, "") == ["site.css: loads url('https://example.org/a.png from another host"]
