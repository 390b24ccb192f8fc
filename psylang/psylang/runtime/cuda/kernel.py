"""The CUDA kernels of a program in a GPU, and the pace of their launches."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Sequence
from typing import Any

from psylang.emit.gpu import BLOCK_THREADS, CANDIDATES, CHOOSE, TRIALS, Properties
from psylang.runtime.cuda.driver import OUT_OF_MEMORY, Device
from psylang.runtime.errors import CompileError, GpuError

BLOCKS_MAX = 1 << 16
FEW_THREADS = 32  # A warp.
# A launch takes at most about a second, so that Ctrl-C is heard and no watchdog strikes.
LAUNCH_S = 0.25
FIRST_LAUNCH_S = 0.05  # As other parameters may take longer.
FIRST_ITEMS = 1024
GROWTH_MAX = 16
SPARE_BYTES_MAX = 64 << 20
ALIGNMENT = 256


class OutOfMemoryError(GpuError):
    """The GPU has no memory of `size` bytes."""

    def __init__(self, size: int) -> None:
        super().__init__(f"GPU: there is no memory of {size} bytes; run fewer trials at once")
        self.size = size

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.size,))


class Memory:
    """Memory of a GPU, one allocation for all buffers of a batch; within device.current()."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.size = 0
        self._place = 0

    def divided(self, sizes: Sequence[int]) -> list[int]:
        """The addresses of buffers of these sizes, instead of what was there before.
        OutOfMemoryError: the GPU has no memory for them."""
        begins, size = [], 0
        for one in sizes:
            begins.append(size)
            size += -(-max(one, 1) // ALIGNMENT) * ALIGNMENT
        if size > self.size:
            self.free()
            place = ctypes.c_uint64()
            code = self.device.driver.code("cuMemAlloc_v2", ctypes.byref(place), size)
            if code == OUT_OF_MEMORY:
                raise OutOfMemoryError(size)
            if code:
                raise self.device.driver.error("cuMemAlloc_v2", code, f"{size} bytes")
            self._place, self.size = place.value, size
        return [self._place + begin for begin in begins]

    def free(self) -> None:
        if self.size:
            self.device.driver.code("cuMemFree_v2", self._place)
            self.size = 0


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
        items = max(items, 1)
        each_s = max(seconds, 1e-6) / items
        if 2 * items >= self._last:  # A small rest leaves the GPU idle, and tells nothing.
            self._each_s, self._last = each_s, items
        return max(min(int(LAUNCH_S / each_s), GROWTH_MAX * items), 1)


class GpuKernel:
    """The loaded kernels, and memory for their runs. size: bytes of PTX.

    GpuError: the driver refuses them. CompileError: they are incomplete."""

    def __init__(self, device: Device, ptx: bytes, name: str) -> None:
        self.device = device
        self.size = len(ptx)
        properties = Properties.read(ptx)
        self.pace, self.search_pace = Pace(), Pace()
        with device.current():
            self._module = device.load(ptx, f"the kernels of `{name}`")
            self.trials = device.function(self._module, TRIALS)
            self.candidates = device.function(self._module, CANDIDATES)
            self.choose = device.function(self._module, CHOOSE)
            if self.trials is None or properties is None:
                raise CompileError(f"the GPU code of `{name}` has no `{TRIALS}`")
            resident = device.resident(self.trials, BLOCK_THREADS)
        self.properties = properties
        # Threads that take trials from the counter live as long as there are some.
        self._blocks_max = resident if properties.refilled else BLOCKS_MAX
        self._spare: list[Memory] = []
        weakref.finalize(self, _unload, device, self._module, self._spare).atexit = False

    def used(self) -> dict[str, tuple[int, int]]:
        """By kernel (registers, bytes of local memory) of a thread, as the driver compiled it."""
        kernels = {TRIALS: self.trials, CANDIDATES: self.candidates, CHOOSE: self.choose}
        with self.device.current():
            return {name: self.device.used(one) for name, one in kernels.items() if one is not None}

    def shape(self, units: int) -> tuple[int, int]:
        """The blocks of psylang_trials for that many units, and the threads of a block. Few units
        are spread over all multiprocessors."""
        few = units <= 2 * BLOCK_THREADS * self.device.units
        threads = FEW_THREADS if few else BLOCK_THREADS
        most = self._blocks_max * BLOCK_THREADS // threads
        return max(min(-(-units // threads), most), 1), threads

    def memory(self) -> Memory:
        """Memory for a run, which gives it back by keep() or frees it."""
        try:
            return self._spare.pop()
        except IndexError:
            return Memory(self.device)

    def keep(self, memory: Memory) -> None:
        """For the next run, if it is little and none is kept."""
        if self._spare or memory.size > SPARE_BYTES_MAX:
            memory.free()
        else:
            self._spare.append(memory)

    def launch(
        self,
        kernel: Any,
        shape: tuple[int, int],
        scalars: Sequence[int],
        buffers: Sequence[int],
        stream: Any,
    ) -> None:
        """Within device.current(). shape: blocks and their threads. scalars, buffers: as
        emit/gpu.py lists them."""
        blocks, threads = shape
        values = [*map(ctypes.c_int64, scalars), *map(ctypes.c_uint64, buffers)]
        addresses = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))
        self.device.driver.call(
            "cuLaunchKernel", kernel, blocks, 1, 1, threads, 1, 1, 0, stream, addresses, None
        )


def _unload(device: Device, module: Any, memories: list[Memory]) -> None:
    try:
        with device.current():
            for memory in memories:
                memory.free()
            device.driver.code("cuModuleUnload", module)
    except Exception:
        pass
