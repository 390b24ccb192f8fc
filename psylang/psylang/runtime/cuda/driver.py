"""NVIDIA's driver interface, by ctypes: libcuda.so.1 alone, no CUDA toolkit and no package.

A call that fails raises GpuError with the driver's name of the error, and the remedy. All threads
may use one Driver; a context is current to a thread only within Device.current().
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from psylang.runtime.errors import ArgumentError, GpuError, listed

LIBRARY = "libcuda.so.1"
DRIVER_MIN = 10000  # CUDA 10.0: the first that reads PTX 6.3.
CAPABILITY_MIN = (7, 5)
OUT_OF_MEMORY, NO_DEVICE, NOT_INITIALISED = 2, 100, 3
_UNITS, _MAJOR, _MINOR = 16, 75, 76  # CU_DEVICE_ATTRIBUTE_…
_ERROR_LOG, _ERROR_LOG_BYTES = 5, 6  # CU_JIT_ERROR_LOG_BUFFER…
_LOG_BYTES = 4096
_NON_BLOCKING = 1  # CU_STREAM_NON_BLOCKING
_REGISTERS, _LOCAL_BYTES = 4, 3  # CU_FUNC_ATTRIBUTE_…

_AGAIN = "the process must be started again, because its GPU context is lost"
_REMEDIES = {
    NOT_INITIALISED: "start processes that use a GPU with multiprocessing's 'spawn', not with fork",
    46: "another process holds the GPU alone; nvidia-smi shows it",  # DEVICE_UNAVAILABLE
    NO_DEVICE: "nvidia-smi lists GPUs, and CUDA_VISIBLE_DEVICES may hide them; or leave device out",
    209: "the driver is too old for this GPU code; install a newer NVIDIA driver",
    218: "this is a defect of Psylang: send the model and this message",
    222: "the driver is too old for this PTX; install a newer NVIDIA driver",
    700: f"this is a defect of Psylang: send the model and this message; {_AGAIN}",
    702: f"the driver ended a kernel that ran too long: run on a GPU without display; {_AGAIN}",
    719: f"this is a defect of Psylang: send the model and this message; {_AGAIN}",
    803: "the driver and libcuda.so.1 have different versions; reboot, or mend LD_LIBRARY_PATH",
    804: "the driver is older than libcuda.so.1; install a newer NVIDIA driver",
}

_P, _I, _U, _Z = ctypes.c_void_p, ctypes.c_int, ctypes.c_uint, ctypes.c_size_t
_ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "cuInit": (_U,),
    "cuDriverGetVersion": (_P,),
    "cuDeviceGetCount": (_P,),
    "cuDeviceGet": (_P, _I),
    "cuDeviceGetName": (_P, _I, _I),
    "cuDeviceGetAttribute": (_P, _I, _I),
    "cuDevicePrimaryCtxRetain": (_P, _I),
    "cuCtxPushCurrent_v2": (_P,),
    "cuCtxPopCurrent_v2": (_P,),
    "cuModuleLoadDataEx": (_P, _P, _U, _P, _P),
    "cuModuleUnload": (_P,),
    "cuModuleGetFunction": (_P, _P, ctypes.c_char_p),
    "cuFuncGetAttribute": (_P, _I, _P),
    "cuOccupancyMaxActiveBlocksPerMultiprocessor": (_P, _P, _I, _Z),
    "cuMemGetInfo_v2": (_P, _P),
    "cuMemAlloc_v2": (_P, _Z),
    "cuMemFree_v2": (_P,),
    "cuMemcpyHtoDAsync_v2": (_P, _P, _Z, _P),
    "cuMemcpyDtoHAsync_v2": (_P, _P, _Z, _P),
    "cuStreamCreate": (_P, _U),
    "cuStreamSynchronize": (_P,),
    "cuStreamDestroy_v2": (_P,),
    "cuLaunchKernel": (_P, _U, _U, _U, _U, _U, _U, _U, _P, _P, _P),
    "cuGetErrorName": (_I, _P),
    "cuGetErrorString": (_I, _P),
}


class Driver:
    """The loaded library, initialised. library: ctypes' CDLL, or what tests put in its place."""

    def __init__(self, library: Any) -> None:
        for name, arguments in _ARGUMENTS.items():
            try:
                function = getattr(library, name)
            except AttributeError:
                raise GpuError(
                    f"{LIBRARY} has no {name}: the driver is too old; install a newer NVIDIA driver"
                ) from None
            function.argtypes, function.restype = arguments, ctypes.c_int
        self._library = library
        self._pid = os.getpid()
        self._devices: dict[int, Device] = {}
        self.call("cuInit", 0)
        version = ctypes.c_int()
        self.call("cuDriverGetVersion", ctypes.byref(version))
        if version.value < DRIVER_MIN:
            raise GpuError(
                f"the NVIDIA driver knows CUDA {_version(version.value)}, and Psylang needs "
                f"{_version(DRIVER_MIN)}; install a newer driver"
            )

    def call(self, name: str, *arguments: Any, what: str = "", log: str = "") -> None:
        """GpuError: it failed. what: words on the request, for the message."""
        code = self.code(name, *arguments)
        if code:
            raise self.error(name, code, what, log)

    def code(self, name: str, *arguments: Any) -> int:
        """Like call(), but returns the driver's code."""
        if os.getpid() != self._pid:
            raise GpuError(
                "this process was forked from one that uses the GPU, and the driver does not allow "
                f"that; {_REMEDIES[NOT_INITIALISED]}"
            )
        code: int = getattr(self._library, name)(*arguments)
        return code

    def error(self, name: str, code: int, what: str = "", log: str = "") -> GpuError:
        parts = [f"{self.error_name(code)} by {name}", what, log]
        said = ": ".join(part for part in parts if part)
        remedy = _REMEDIES.get(code, "nvidia-smi tells whether the GPU works")
        return GpuError(f"GPU: {said}; {remedy}")

    def error_name(self, code: int) -> str:
        text = ctypes.c_char_p()
        if self._library.cuGetErrorName(code, ctypes.byref(text)) or not text.value:
            return f"error {code}"
        return text.value.decode()

    def device(self, number: int) -> Device:
        """GpuError: it cannot be used. ArgumentError: there is no such number."""
        if number not in self._devices:
            count = ctypes.c_int()
            self.call("cuDeviceGetCount", ctypes.byref(count))
            if not count.value:
                raise GpuError(f"the NVIDIA driver finds no GPU; {_REMEDIES[NO_DEVICE]}")
            if number >= count.value:
                names = listed(f"cuda:{one}" for one in range(count.value))
                raise ArgumentError(f"device is 'cuda:{number}'; this machine has {names}")
            self._devices[number] = self._opened(number)
        return self._devices[number]

    def _opened(self, number: int) -> Device:
        handle, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuDeviceGet", ctypes.byref(handle), number)
        name = ctypes.create_string_buffer(256)
        self.call("cuDeviceGetName", name, len(name), handle)
        capability = (self._attribute(handle, _MAJOR), self._attribute(handle, _MINOR))
        title = name.value.decode(errors="replace")
        if capability < CAPABILITY_MIN:
            raise GpuError(
                f"{title} has compute capability {capability[0]}.{capability[1]}, and Psylang "
                f"needs {CAPABILITY_MIN[0]}.{CAPABILITY_MIN[1]}; leave device out"
            )
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), handle, what=title)
        return Device(self, number, title, capability, self._attribute(handle, _UNITS), context)

    def _attribute(self, handle: Any, which: int) -> int:
        value = ctypes.c_int()
        self.call("cuDeviceGetAttribute", ctypes.byref(value), which, handle)
        return value.value


@dataclass(frozen=True, eq=False)
class Device:
    """A GPU and its primary context, kept until the process ends. units: multiprocessors."""

    driver: Driver
    number: int
    name: str
    capability: tuple[int, int]
    units: int
    _context: Any = field(repr=False)

    @contextlib.contextmanager
    def current(self) -> Iterator[None]:
        """The context is current to this thread inside."""
        self.driver.call("cuCtxPushCurrent_v2", self._context)
        try:
            yield
        finally:
            self.driver.code("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))

    @contextlib.contextmanager
    def stream(self) -> Iterator[Any]:
        """A stream of its own; within current()."""
        stream = ctypes.c_void_p()
        self.driver.call("cuStreamCreate", ctypes.byref(stream), _NON_BLOCKING)
        try:
            yield stream
        finally:
            self.driver.code("cuStreamDestroy_v2", stream)

    def free_bytes(self) -> int:
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self.driver.call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        return free.value

    def load(self, ptx: bytes, what: str) -> ctypes.c_void_p:
        """The module of a PTX text, compiled by the driver; within current()."""
        module, log = ctypes.c_void_p(), ctypes.create_string_buffer(_LOG_BYTES)
        options = (ctypes.c_int * 2)(_ERROR_LOG, _ERROR_LOG_BYTES)
        values = (ctypes.c_void_p * 2)(ctypes.addressof(log), _LOG_BYTES)
        code = self.driver.code(
            "cuModuleLoadDataEx", ctypes.byref(module), ptx + b"\0", 2, options, values
        )
        if code:
            said = " ".join(log.value.decode(errors="replace").split())
            raise self.driver.error("cuModuleLoadDataEx", code, what, said)
        return module

    def function(self, module: Any, name: str) -> ctypes.c_void_p | None:
        """A kernel of the module; None if it has none of that name."""
        function = ctypes.c_void_p()
        code = self.driver.code(
            "cuModuleGetFunction", ctypes.byref(function), module, name.encode()
        )
        return None if code else function

    def used(self, function: Any) -> tuple[int, int]:
        """(registers, bytes of local memory) of a thread of a kernel."""
        values = []
        for which in (_REGISTERS, _LOCAL_BYTES):
            value = ctypes.c_int()
            self.driver.call("cuFuncGetAttribute", ctypes.byref(value), which, function)
            values.append(value.value)
        return values[0], values[1]

    def resident(self, function: Any, threads: int) -> int:
        """How many blocks of that many threads the GPU executes at once; within current()."""
        blocks = ctypes.c_int()
        self.driver.call(
            "cuOccupancyMaxActiveBlocksPerMultiprocessor",
            *(ctypes.byref(blocks), function, threads, 0),
        )
        return max(blocks.value, 1) * self.units


def _version(number: int) -> str:
    return f"{number // 1000}.{number % 1000 // 10}"


@functools.cache
def driver() -> Driver:
    """The process's driver. GpuError: there is none that can be used."""
    try:
        library = ctypes.CDLL(LIBRARY)
    except OSError as error:
        raise GpuError(
            f"device='cuda' needs NVIDIA's driver, and {LIBRARY} cannot be loaded ({error}); "
            "install the driver, or leave device out to compute on the CPU"
        ) from None
    return Driver(library)
