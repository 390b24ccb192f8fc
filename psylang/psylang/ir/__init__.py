"""The intermediate representation: types, operations, programs, and their meaning.

A program is pickled, and copied by copy.deepcopy(), as its text (text.py). So it can be sent to
another process. The text keeps every bit but the identity of values.
"""

from __future__ import annotations

import copyreg
from collections.abc import Callable

from psylang.ir.graph import Program


def _as_text(program: Program) -> tuple[Callable[[str], Program], tuple[str]]:
    """The function and the argument that make the program again, as __reduce__() gives them."""
    # Imported with the first program that is pickled: `import psylang` is to be quick.
    from psylang.ir.text import parse_program, print_program

    return parse_program, (print_program(program),)


# Program has no __reduce__(): graph.py, which text.py needs, would need text.py.
copyreg.pickle(Program, _as_text)
