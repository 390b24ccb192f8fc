"""Machine code in this process: an object is loaded and becomes a function.

MCJIT takes the raw object; the engine owns the memory, so a Kernel keeps it as long as itself.
Functions of libm that the code calls are looked up in the process.
"""

from __future__ import annotations

import ctypes
import itertools
import sys
import threading
from typing import Any

import llvmlite.binding as llvm

from psylang.runtime.errors import CompileError

SYMBOL, SEARCHES, PART = "psylang_run", "psylang_searches", "psylang_part"
_I64, _POINTER = ctypes.c_int64, ctypes.c_void_p
_PROTOTYPE = ctypes.CFUNCTYPE(None, _I64, _I64, _I64, _I64, _POINTER)
_SEARCHES = ctypes.CFUNCTYPE(_I64, _I64)
_PART = ctypes.CFUNCTYPE(None, _I64, _I64, _I64, _I64, _I64, _POINTER, _POINTER)
# Magic numbers of ELF, Mach-O, and COFF for x86-64 and for aarch64.
_MAGIC = (b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\x64\x86", b"\x64\xaa")
_lock = threading.Lock()
_ready = False


class Kernel:
    """`call(begin, end, trials, seed, buffers)`: psylang_run of emit/abi.py, without the GIL.

    searches: the candidates of each search that threads may share, `part` being psylang_part.
    CompileError: the object cannot be loaded.
    """

    __slots__ = (
        "_engine",
        "call",
        "part",
        "searches",
        "seconds_per_candidate",
        "seconds_per_trial",
        "size",
    )

    def __init__(self, code: bytes) -> None:
        self.size = len(code)
        if not code.startswith(_MAGIC):  # LLVM would crash on it.
            raise CompileError("the machine code cannot be loaded: it is no object file")
        self.seconds_per_trial = 0.0  # As last measured; 0 if it never ran.
        with _lock:  # LLVM's dynamic linker has state shared by the process.
            try:
                self._engine = _loaded(code)
                address, counts, part = map(
                    self._engine.get_function_address, (SYMBOL, SEARCHES, PART)
                )
            except (RuntimeError, OSError) as error:
                raise CompileError(f"the machine code cannot be loaded: {error}") from None
        if not address:
            raise CompileError(f"the machine code has no `{SYMBOL}`")
        self.call: Any = _PROTOTYPE(address)
        self.part: Any = _PART(part) if part else None
        self.searches = _searches(_SEARCHES(counts)) if counts and part else ()
        # As last measured, on one thread; 0 if it never ran.
        self.seconds_per_candidate = [0.0] * len(self.searches)


def prepare() -> None:
    """Makes LLVM ready for this machine; once a process."""
    global _ready
    with _lock:
        if _ready:
            return
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        if sys.platform == "linux":
            # Python may not export its libm to the dynamic linker.
            llvm.load_library_permanently("libm.so.6")
        _ready = True


def _searches(candidates: Any) -> tuple[int, ...]:
    """The counts of psylang_searches()."""
    return tuple(itertools.takewhile(bool, map(candidates, itertools.count())))


def _loaded(code: bytes) -> Any:
    machine = llvm.Target.from_default_triple().create_target_machine()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return engine
