"""Comments become documentation, line by line."""

from devtool.doxygen_filter import as_line_comments, document


def test_a_comment_documents_the_declaration_behind_it_or_before_it() -> None:
    source = [
        "#pragma once",
        "// What it is.",
        "",
        "// A function.",
        "int f();",
        "int x;  // A value.",
    ]
    assert document(source) == [
        "/** @file",
        "@verbatim What it is. @endverbatim */",
        "",
        "/** @verbatim A function. @endverbatim */",
        "int f();",
        "int x;  /**< @verbatim A value. @endverbatim */",
    ]  # fmt: skip


def test_the_end_of_a_scope_is_not_documented_by_its_name() -> None:
    source = ["#pragma once", "}  // namespace k2k", "#endif  // K2K_H", "int x;     // A value."]
    assert document(source)[1:3] == source[1:3]
    assert document(source)[3] == "int x;     /**< @verbatim A value. @endverbatim */"


def test_comments_of_a_c_header_are_lines_first() -> None:
    header = [
        "/* k2k.h: for C.",
        " *",
        " *   code();",
        " */",
        "#ifndef K2K_H",
        "/* The version. */",
        "int version(void);",
        "int rank(void);    /* Of the item. */",
    ]
    lines = as_line_comments(header)
    assert lines == [
        "// k2k.h: for C.",
        "//",
        "//   code();",
        "//",
        "#ifndef K2K_H",
        "// The version.",
        "int version(void);",
        "int rank(void);    // Of the item.",
    ]
    documented = document(lines, "k2k.h")
    assert documented[0] == "/** @file k2k.h @verbatim k2k.h: for C."
    assert len(documented) == len(header)
