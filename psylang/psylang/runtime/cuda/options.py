"""The argument `device` of run() and search()."""

from __future__ import annotations

import re
from dataclasses import dataclass

from psylang.runtime.errors import ArgumentError, ArgumentTypeError
from psylang.runtime.values import whole

REGISTERS_MIN, REGISTERS_MAX = 16, 255
NUMBER_MAX = 1023


@dataclass(frozen=True)
class Cuda:
    """An NVIDIA GPU: the text "cuda:1" is Cuda(1), "cuda" is Cuda().

    registers: the most that a thread may use, 16 … 255; None: as many as it needs. Fewer let more
    threads run at once, and values that find no register go to slower memory.

    ArgumentError, ArgumentTypeError: a number does not fit.
    """

    number: int = 0
    registers: int | None = None

    def __post_init__(self) -> None:
        whole("Cuda's number", self.number, 0, NUMBER_MAX)
        if self.registers is not None:
            whole("Cuda's registers", self.registers, REGISTERS_MIN, REGISTERS_MAX)


def cuda_of(device: str | Cuda | None) -> Cuda | None:
    """None: the CPU. ArgumentError, ArgumentTypeError: it names no device."""
    if device is None or device == "cpu":
        return None
    if isinstance(device, Cuda):
        return device
    if not isinstance(device, str):
        raise ArgumentTypeError(
            f"device is {device!r}; give 'cpu', 'cuda', 'cuda:1' or psylang.Cuda(…)"
        )
    found = re.fullmatch(r"cuda(?::(\d{1,4}))?", device)
    if found is None:
        raise ArgumentError(
            f"device is {device!r}; there are 'cpu', 'cuda', 'cuda:1' and psylang.Cuda(…)"
        )
    return Cuda(int(found[1] or 0))
