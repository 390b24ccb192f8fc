"""A program's machine code in its variants: instruction set, kept outputs, varying parameters.

Each is compiled at its first use, or loaded from the cache of objects. The key has everything
that the code depends on: the program, the target, the versions, and the compiler's own sources.
"""

from __future__ import annotations

import functools
import hashlib
import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import llvmlite
import llvmlite.binding as llvm

from psylang.ir.graph import Program
from psylang.runtime.cache import ObjectCache, user_cache
from psylang.runtime.digest import digest
from psylang.runtime.errors import ArgumentError, CompileError, listed
from psylang.runtime.kernel import Kernel, prepare
from psylang.runtime.specialise import with_outputs
from psylang.version import __version__

if TYPE_CHECKING:
    from psylang.emit import Target
    from psylang.runtime.cuda.options import Cuda
    from psylang.runtime.cuda.variants import GpuVariant

# The packages that determine the code of a program.
_COMPILER = ("ir", "numerics", "passes", "emit")
_NO_COMPILER = ("_test.py", "fixture.py", "make_coefficients.py")


@dataclass
class Variant:
    """One compiled program. cached: it came from the disk. seconds: compiling or loading it."""

    program: Program
    target: Target
    varying: frozenset[str]
    kernel: Kernel
    cached: bool
    seconds: float

    @property
    def title(self) -> str:
        """Of results.run["isa"]."""
        return self.target.name


class Variants:
    """The variants of one program; any number of threads may use it."""

    def __init__(self, program: Program, cache: ObjectCache | None = None) -> None:
        self._program = program
        self._cache = cache
        self._lock = threading.Lock()
        self._made: dict[tuple[str | None, tuple[str, ...] | None, frozenset[str]], Variant] = {}
        self._on_gpus: dict[tuple[Cuda, tuple[str, ...] | None, frozenset[str]], GpuVariant] = {}

    def get(
        self, isa: str | None, outputs: tuple[str, ...] | None, varying: frozenset[str]
    ) -> Variant:
        """isa, outputs: None for the best, and for all. ArgumentError: no such instruction set.
        CompileError: LLVM refused."""
        key = (isa, outputs, varying)
        found = self._made.get(key)
        if found is not None:
            return found
        with self._lock:
            if key not in self._made:
                program = self._program
                if outputs is not None:
                    program = with_outputs(program, outputs)
                cache = self._cache or shared_cache()
                self._made[key] = _made(program, target_of(isa), varying, cache)
            return self._made[key]

    def on_gpu(
        self, cuda: Cuda, outputs: tuple[str, ...] | None, varying: frozenset[str]
    ) -> GpuVariant:
        """The CUDA kernels in a GPU; arguments as of get().

        NotSupportedError: the program is `exact`. GpuError: the GPU cannot be used. CompileError:
        LLVM refused."""
        key = (cuda, outputs, varying)
        found = self._on_gpus.get(key)
        if found is not None:
            return found
        from psylang.runtime.cuda.variants import made

        with self._lock:
            if key not in self._on_gpus:
                program = self._program
                if outputs is not None:
                    program = with_outputs(program, outputs)
                self._on_gpus[key] = made(program, cuda, varying, self._cache or shared_cache())
            return self._on_gpus[key]

    def on_gpus(self) -> list[GpuVariant]:
        """The variants for GPUs made so far."""
        return list(self._on_gpus.values())

    def all(self) -> list[Variant]:
        """The variants made so far."""
        return list(self._made.values())


def target_of(isa: str | None) -> Target:
    """The target with this name, the best of this machine if None. ArgumentError: none has it."""
    prepare()
    from psylang.emit import host_targets

    targets = host_targets()
    if isa is None:
        return targets[0]
    for target in targets:
        if target.name == isa:
            return target
    names = listed(target.name for target in targets)
    raise ArgumentError(f"isa is {isa!r}; this machine has {names}")


_shared: dict[tuple[str, ...], ObjectCache] = {}


def shared_cache() -> ObjectCache:
    """The process's cache for the current environment; each cache warns once."""
    names = ("PSYLANG_CACHE_DIR", "PSYLANG_CACHE_BYTES", "XDG_CACHE_HOME", "HOME")
    key = tuple(os.environ.get(name, "") for name in names)
    if key not in _shared:
        _shared[key] = user_cache()
    return _shared[key]


def _made(program: Program, target: Target, varying: frozenset[str], cache: ObjectCache) -> Variant:
    begin = time.perf_counter()

    def variant(code: bytes, cached: bool) -> Variant:
        kernel = Kernel(code)
        return Variant(program, target, varying, kernel, cached, time.perf_counter() - begin)

    key = object_key(program, target, varying)
    code = cache.get(key)
    if code is not None:
        try:
            return variant(code, True)
        except CompileError:  # Undamaged, but this process cannot load it: compiled again.
            pass
    code = _compiled(program, target, varying)
    made = variant(code, False)
    cache.put(key, code)
    return made


def _compiled(program: Program, target: Target, varying: frozenset[str]) -> bytes:
    from psylang import emit

    try:
        return emit.compile_object(program, target, varying)
    except RuntimeError as error:
        raise CompileError(
            f"`{program.name}` cannot be compiled for {target.name}: {error}"
        ) from error


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
