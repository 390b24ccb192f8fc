"""Targets: an instruction set and the number of trials in its vector registers.

Code of all targets computes the same bits (`fast`), or the results of libm and Mersenne Twister
(`exact`).
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace

import llvmlite.binding as llvm

from psylang.errors import PsylangError


@dataclass(frozen=True)
class Target:
    """name: the instruction set. triple, cpu, features: LLVM's names. width: f64 lanes."""

    name: str
    triple: str
    cpu: str
    features: str
    width: int

    def scalar(self) -> Target:
        """One trial at a time."""
        return replace(self, width=1)


class UnknownTargetError(PsylangError, ValueError):
    """The target does not exist, or this machine lacks it."""


_X86 = {
    # Widths are by measurement: two registers of each value hide the latency of arithmetic; more
    # spill.
    "avx512": ("x86-64-v4", "-prefer-256-bit", 16),
    "avx2": ("x86-64-v3", "", 8),
    "sse2": ("x86-64", "", 4),
}
_NEEDS = {
    "avx512": {"avx512f", "avx512dq", "avx512bw", "avx512vl", "avx512cd", "fma", "avx2", "bmi2"},
    "avx2": {"avx2", "fma", "bmi", "bmi2", "f16c", "lzcnt", "movbe"},
    "sse2": {"sse2"},
}


@functools.cache
def initialise() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


@functools.cache
def _host_features() -> frozenset[str]:
    initialise()
    return frozenset(name for name, has in llvm.get_host_cpu_features().items() if has)


@functools.cache
def host_targets() -> tuple[Target, ...]:
    """The targets of this machine, the fastest first; the last is scalar."""
    initialise()
    triple = llvm.get_process_triple()
    if triple.startswith("x86_64"):
        here = [
            Target(name, triple, cpu, features, width)
            for name, (cpu, features, width) in _X86.items()
            if _NEEDS[name] <= _host_features()
        ]
    elif triple.startswith(("aarch64", "arm64")):
        here = [Target("neon", triple, "generic", "", 4)]
    else:
        here = [Target("generic", triple, "generic", "", 2)]
    return (*here, replace(here[0], name="scalar", width=1))


def target(name: str) -> Target:
    """The target of host_targets() with this name. UnknownTargetError: this machine has none."""
    for one in host_targets():
        if one.name == name:
            return one
    names = ", ".join(one.name for one in host_targets())
    raise UnknownTargetError(f"no instruction set `{name}` on this machine; it has: {names}")


AARCH64 = Target("aarch64", "aarch64-unknown-linux-gnu", "generic", "", 4)
# The oldest GPUs that CUDA 13's driver and ptxas know; newer ones are compiled for by the driver.
NVPTX = Target("sm_75", "nvptx64-nvidia-cuda", "sm_75", "+ptx63", 1)
