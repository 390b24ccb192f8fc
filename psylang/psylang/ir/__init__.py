"""The intermediate representation: types, operations, programs, and their meaning.

A program is pickled, and copied by copy.deepcopy(), as its text (text.py). So it can be sent to
another process. The text keeps every bit, but not the identity of values.
"""

from __future__ import annotations

import copyreg
from collections.abc import Callable

from psylang.ir.graph import Program


def _as_text(program: Program) -> tuple[Callable[[str], Program], tuple[str]]:
    """The function and its argument that restore the program, as __reduce__() returns them."""
    # Imported when the first program is pickled, so that `import psylang` stays quick.
    from psylang.ir.text import parse_program, print_program

    return parse_program, (print_program(program),)


# Program has no __reduce__(): graph.py, which text.py needs, would need text.py.
copyreg.pickle(Program, _as_text)
