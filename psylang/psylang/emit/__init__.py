"""LLVM code of programs: scalar, several trials in vector registers (SPMD), and CUDA kernels.

The compiler is imported only when a program is compiled: a process with cached machine code
does not load its 40 modules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from psylang.emit.targets import Target, UnknownTargetError, host_targets, target

if TYPE_CHECKING:
    from psylang.emit.compile import assembly, compile_object, llvm_text, optimised, ptx

__all__ = [
    "Target",
    "UnknownTargetError",
    "assembly",
    "compile_object",
    "host_targets",
    "llvm_text",
    "optimised",
    "ptx",
    "target",
]

_COMPILER = frozenset({"assembly", "compile_object", "llvm_text", "optimised", "ptx"})


def __getattr__(name: str) -> Any:
    if name in _COMPILER:
        from psylang.emit import compile

        return getattr(compile, name)
    raise AttributeError(f"module 'psylang.emit' has no attribute '{name}'")
