"""A program's machine code in its variants: instruction set, kept outputs, varying parameters.

Each is compiled at its first use, or loaded from the cache of objects. The key has everything
that the code depends on: the program, the target, the versions, and the compiler's own sources.
"""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from psylang.ir.graph import Program
from psylang.runtime.cache import ObjectCache, user_cache
from psylang.runtime.errors import ArgumentError, CompileError, listed
from psylang.runtime.kernel import Kernel, prepare
from psylang.runtime.keys import object_key
from psylang.runtime.specialise import with_outputs

if TYPE_CHECKING:
    from psylang.emit import Target
    from psylang.runtime.cuda.options import Cuda
    from psylang.runtime.cuda.variants import GpuVariant


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
