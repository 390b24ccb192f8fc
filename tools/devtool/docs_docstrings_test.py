"""The description of a name in a docstring becomes an item of a list."""

from devtool.docs_docstrings import as_markdown


def test_arguments_and_errors_become_lists() -> None:
    text = """Reads a file.

    buffer: memory of any shape,
        to be written.
    offset, whence: where it begins.

    Returns the count: bytes.

    OSError: reading failed. ValueError: an offset
    out of range.
    """
    assert as_markdown(text, ["buffer", "offset", "whence"]).split("\n\n") == [
        "Reads a file.",
        "- **buffer**: memory of any shape, to be written.\n- **offset, whence**: where it begins.",
        "Returns the count: bytes.",
        "- **OSError**: reading failed.\n- **ValueError**: an offset out of range.",
    ]


def test_names_within_a_sentence_are_found_and_others_are_left() -> None:
    text = "What it does. drift: per unit. Outputs: choice. max_steps: of a trial."
    assert as_markdown(text, ["drift", "max_steps"]) == (
        "What it does.\n\n- **drift**: per unit. Outputs: choice.\n- **max\\_steps**: of a trial."
    )


def test_text_that_is_no_markup_is_shown_unchanged() -> None:
    assert as_markdown("2**63, __array__, a < b, `__all__ < 2**3`", []) == (
        r"2\*\*63, \_\_array\_\_, a &lt; b, `__all__ < 2**3`"
    )
