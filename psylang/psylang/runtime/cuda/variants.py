"""A program's CUDA kernels: compiled to PTX at their first use, or found in the cache."""

from __future__ import annotations

import time
from dataclasses import dataclass

from psylang.emit.targets import NVPTX, Target
from psylang.errors import ProgramError
from psylang.ir.graph import Program
from psylang.runtime.cache import ObjectCache
from psylang.runtime.cuda.driver import driver
from psylang.runtime.cuda.kernel import GpuKernel
from psylang.runtime.cuda.options import Cuda
from psylang.runtime.errors import CompileError, NotSupportedError
from psylang.runtime.keys import object_key


@dataclass
class GpuVariant:
    """One compiled program in one GPU. cached: its PTX came from the disk. seconds: of compiling
    or loading it; loaded_s: the part of them that the driver took."""

    program: Program
    target: Target
    varying: frozenset[str]
    kernel: GpuKernel
    cached: bool
    seconds: float
    loaded_s: float

    @property
    def title(self) -> str:
        """Of results.run["isa"]."""
        return "cuda sm_{}{}".format(*self.kernel.device.capability)


def made(program: Program, cuda: Cuda, varying: frozenset[str], cache: ObjectCache) -> GpuVariant:
    """Variants.on_gpu(), which see."""
    refuse_exact(program)
    device = driver().device(cuda.number)
    begin = time.perf_counter()
    key = object_key(program, NVPTX, varying, cuda.registers)
    code = cache.get(key)
    cached = code is not None
    if code is None:
        code = ptx_of(program, varying, cuda.registers)
        cache.put(key, code)
    compiled = time.perf_counter()
    kernel = GpuKernel(device, code, program.name)
    end = time.perf_counter()
    return GpuVariant(program, NVPTX, varying, kernel, cached, end - begin, end - compiled)


def ptx_of(program: Program, varying: frozenset[str], registers: int | None) -> bytes:
    """NotSupportedError: a kernel cannot take its arguments. CompileError: LLVM refused."""
    from psylang import emit

    try:
        return emit.ptx(program, varying, registers).encode()
    except ProgramError as error:
        raise NotSupportedError(f"device='cuda': {error}") from None
    except RuntimeError as error:
        raise CompileError(f"`{program.name}` cannot be compiled for a GPU: {error}") from error


def refuse_exact(program: Program) -> None:
    if program.numerics == "exact":
        raise NotSupportedError(
            f"device='cuda' of `{program.name}`, which is exact: libm and Mersenne Twister are the "
            "CPU's; compile with numerics='fast', or leave device out"
        )
