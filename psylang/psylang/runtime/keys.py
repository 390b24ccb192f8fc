"""The keys of compiled programs in the cache: everything that the code depends on.

The program, the target, the versions, and the compiler's own sources.
"""

from __future__ import annotations

import functools
import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

import llvmlite
import llvmlite.binding as llvm

from psylang.ir.graph import Program
from psylang.runtime.digest import digest
from psylang.version import __version__

if TYPE_CHECKING:
    from psylang.emit import Target

# The packages that determine the code of a program.
_COMPILER = ("ir", "numerics", "passes", "emit")
_NO_COMPILER = ("_test.py", "fixture.py", "make_coefficients.py")


def object_key(
    program: Program, target: Target, varying: frozenset[str], registers: int | None = None
) -> str:
    """The key of the machine code in the cache: 64 hexadecimal digits."""
    parts = (
        digest(program),
        repr(target) if registers is None else f"{target!r}, {registers} registers",
        repr(sorted(varying)),
        __version__,
        llvmlite.__version__,
        repr(llvm.llvm_version_info),
        _compiler_stamp(),
    )
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


@functools.cache
def _compiler_stamp() -> str:
    """A digest of the compiler's files, independent of the place and time of their installation."""
    return _stamp_of(Path(__file__).parents[1])


def _stamp_of(root: Path) -> str:
    found = hashlib.blake2b(digest_size=32)
    for package in _COMPILER:
        folder = f"{root}/{package}"
        for name in sorted(os.listdir(folder)):  # noqa: PTH208  Milliseconds.
            if name.endswith(".py") and not name.endswith(_NO_COMPILER):
                with open(f"{folder}/{name}", "rb") as file:  # noqa: PTH123
                    text = file.read()
                found.update(f"{package}/{name} {len(text)}\n".encode())
                found.update(text)
    return found.hexdigest()
