"""Memory of the first CUDA device, by the driver itself: no CUDA library of Python is needed."""

import contextlib
import ctypes
import errno
import functools
import weakref
from collections.abc import Iterator

OUT_OF_MEMORY = 2  # CUresult


class _Driver:
    """libcuda.so.1 and the primary context of device 0, which PyTorch, CuPy and Numba use, too.

    OSError: ENODEV: there is no driver or no device.
    """

    def __init__(self) -> None:
        try:
            self._library = ctypes.CDLL("libcuda.so.1")
        except OSError as error:
            raise OSError(
                errno.ENODEV, f"no CUDA device can be used: {error}; install NVIDIA's driver"
            ) from None
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuInit", ctypes.c_uint(0), what="start", code=errno.ENODEV)
        self.call("cuDeviceGet", ctypes.byref(device), 0, what="find device 0", code=errno.ENODEV)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device, what="make a context")
        self._context = context

    def call(self, name: str, *arguments: object, what: str, code: int = errno.EIO) -> None:
        """OSError: `code`; ENOMEM where the driver says so."""
        result = getattr(self._library, name)(*arguments)
        if result == 0:
            return
        text = ctypes.c_char_p()
        self._library.cuGetErrorName(result, ctypes.byref(text))
        found = errno.ENOMEM if result == OUT_OF_MEMORY else code
        raise OSError(
            found, f"CUDA's driver could not {what}: {(text.value or b'?').decode()} ({result})"
        )

    @contextlib.contextmanager
    def current(self) -> Iterator[None]:
        self.call("cuCtxPushCurrent_v2", self._context, what="use its context")
        try:
            yield
        finally:
            self._library.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p()))

    def free(self, address: int) -> None:
        # At the process's end the driver may be gone: then so is the memory.
        with contextlib.suppress(OSError), self.current():
            self._library.cuMemFree_v2(ctypes.c_uint64(address))


@functools.cache
def _driver() -> _Driver:
    return _Driver()


class DeviceMemory:
    """`nbytes` bytes of the device from `address` on; freed with this object.

    OSError: ENODEV, ENOMEM, EIO.
    """

    def __init__(self, nbytes: int) -> None:
        driver = _driver()
        place = ctypes.c_uint64()
        with driver.current():
            driver.call(
                "cuMemAlloc_v2",
                ctypes.byref(place),
                ctypes.c_size_t(nbytes),
                what=f"allocate {nbytes} bytes of device memory",
            )
        self.address = place.value
        self.nbytes = nbytes
        weakref.finalize(self, driver.free, self.address).atexit = False

    def copy_out(self, offset: int, nbytes: int) -> bytes:
        """The bytes from `offset` on. OSError: EIO."""
        driver = _driver()
        host = ctypes.create_string_buffer(nbytes)
        with driver.current():
            driver.call(
                "cuMemcpyDtoH_v2",
                host,
                ctypes.c_uint64(self.address + offset),
                ctypes.c_size_t(nbytes),
                what=f"copy {nbytes} bytes to the host",
            )
        return host.raw
