"""The CUDA kernels of a program in a GPU, and the pace of their launches."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Sequence
from typing import Any

from psylang.emit.gpu import BLOCK_THREADS, CANDIDATES, CHOOSE, TRIALS, candidates_of
from psylang.runtime.cuda.driver import Device
from psylang.runtime.errors import CompileError

BLOCKS_MAX = 1 << 16
# A launch takes at most about a second, so that Ctrl-C is heard and no watchdog strikes.
LAUNCH_S = 0.25
FIRST_LAUNCH_S = 0.05  # As other parameters may take longer.
FIRST_ITEMS = 1024
GROWTH_MAX = 16


class Pace:
    """How many items a launch takes: trials, or candidates."""

    def __init__(self) -> None:
        self._each_s = 0.0
        self._last = 0

    def begin(self) -> int:
        """For the first launch of a run."""
        if not self._each_s:
            return FIRST_ITEMS
        return max(min(int(FIRST_LAUNCH_S / self._each_s), self._last), FIRST_ITEMS)

    def following(self, items: int, seconds: float) -> int:
        """After a launch of `items`, for the next one."""
        self._each_s = max(seconds, 1e-6) / max(items, 1)
        self._last = max(items, 1)
        return max(min(int(LAUNCH_S / self._each_s), GROWTH_MAX * self._last), 1)


class GpuKernel:
    """The loaded kernels. search: candidates that threads may share, 0: none.

    GpuError: the driver refuses them. CompileError: they are incomplete."""

    def __init__(self, device: Device, ptx: bytes, name: str) -> None:
        self.device = device
        self.size = len(ptx)
        self.search = candidates_of(ptx)
        self.pace, self.search_pace = Pace(), Pace()
        with device.current():
            self._module = device.load(ptx, f"the kernels of `{name}`")
            self.trials = device.function(self._module, TRIALS)
            self.candidates = device.function(self._module, CANDIDATES)
            self.choose = device.function(self._module, CHOOSE)
        if self.trials is None:
            raise CompileError(f"the GPU code of `{name}` has no `{TRIALS}`")
        weakref.finalize(self, _unload, device, self._module).atexit = False

    def used(self) -> dict[str, tuple[int, int]]:
        """By kernel (registers, bytes of local memory) of a thread, as the driver compiled it."""
        kernels = {TRIALS: self.trials, CANDIDATES: self.candidates, CHOOSE: self.choose}
        with self.device.current():
            return {name: self.device.used(one) for name, one in kernels.items() if one is not None}

    def launch(
        self, kernel: Any, blocks: int, scalars: Sequence[int], buffers: Sequence[int], stream: Any
    ) -> None:
        """Within device.current(). scalars, buffers: as emit/gpu.py lists them."""
        values = [*map(ctypes.c_int64, scalars), *map(ctypes.c_uint64, buffers)]
        addresses = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))
        self.device.driver.call(
            "cuLaunchKernel", kernel, blocks, 1, 1, BLOCK_THREADS, 1, 1, 0, stream, addresses, None
        )


def _unload(device: Device, module: Any) -> None:
    try:
        with device.current():
            device.driver.code("cuModuleUnload", module)
    except Exception:
        pass


def blocks_for(units: int) -> int:
    return max(min(-(-units // BLOCK_THREADS), BLOCKS_MAX), 1)
