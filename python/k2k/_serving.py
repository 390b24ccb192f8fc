"""serve(): the calls of kernels that Numba, CuPy, PyTorch or cuda.core launch; and what those
kernels are compiled and linked with."""

import contextlib
import ctypes
import errno
import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from k2k import _library
from k2k._runtime import Runtime

LIBRARY_KINDS = ("ptx", "ltoir")


class Serving(Runtime):
    """A runtime that serves the calls of kernels which other libraries launch. Made by serve().

    Its functions for kernels (provide(), withdraw()) and cancel() are those of Runtime; launch() is
    refused: OSError, EBUSY.
    """

    def __init__(self, options: Mapping[str, str | int | float | bool] | None = None) -> None:
        super().__init__({"backend": "cuda", **(options or {})})
        self._serves = False
        try:
            self._raise_if(self._library.k2k_serve(self._opened()))
            self._serves = True
        except OSError:
            super().close()
            raise

    @property
    def context(self) -> int:
        """What kernels get as an argument, and pass to begin(): an address in device memory.

        It tells kernels which memory is registered: read it again after register_memory(). Older
        values stay valid until close(). Read it before the kernel is launched, because this may
        allocate device memory.

        ValueError: the runtime is closed. OSError: ENOMEM, EIO: from the driver; EPERM: after
        os.fork(); EDEADLK: in a function of this runtime.
        """
        address = ctypes.c_uint64()
        self._raise_if(self._library.k2k_serve_context(self._opened(), ctypes.byref(address)))
        return address.value

    def close(self) -> None:
        """Waits for all kernels of the device's primary context, whose calls are served meanwhile,
        and ends the runtime. A second time it does nothing.

        OSError: EIO: a kernel failed; ECANCELED: cancel() was called. The runtime has ended.
        """
        with self._lock:
            serves, self._serves = self._serves, False
        try:
            if serves and self._process == os.getpid():
                self._raise_if(self._library.k2k_serve_end(self._opened()))
        finally:
            super().close()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.close()
            return
        # The kernels may wait for something that will not come any more.
        with contextlib.suppress(ValueError):  # Closed already.
            self.cancel()
        try:
            self.close()
        except OSError as end:
            if end.errno not in (errno.ECANCELED, errno.EIO):
                raise


def serve(options: Mapping[str, str | int | float | bool] | None = None) -> Serving:
    """Serves the system calls of kernels that other libraries launch on the first GPU.

    options: settings by name, as for Runtime.

    >>> launch = kernel[8, 64]  # Of Numba; the kernel calls k2k.device.begin().
    >>> with k2k.serve() as served:
    ...     launch(served.context, buffer)

    The libraries share the device's primary context with K2K, so their kernels may be launched
    from any thread into any stream. Leaving the block waits for all kernels; an exception in it
    cancels kernels that wait for a call. A kernel that is launched afterwards must not use the
    context.

    ValueError: a setting that does not exist or has no such value. OSError: ENODEV: no driver, no
    GPU, or a libk2k.so without the CUDA backend; ENOTSUP: another backend was chosen.
    LibraryError: libk2k.so was not found.
    """
    return Serving(options)


def get_include() -> list[str]:
    """Folders for -I: <k2k/foreign.hpp> is the header of kernels, C++17, for nvcc and NVRTC.

    With NVRTC they also give the parts of <cstdint>, <cstddef> and <type_traits> that it needs.

    FileNotFoundError: the package was installed without its headers.
    """
    package = _library.PACKAGE
    tree = package.parent.parent
    for folders in (
        [package / "include", package / "include/k2k/modules/device/nvrtc"],
        [tree / "include", tree / "src", tree / "src/device/nvrtc"],
    ):
        if (folders[0] / "k2k/foreign.hpp").exists():
            return [str(folder) for folder in folders]
    raise FileNotFoundError(
        errno.ENOENT,
        "the headers of K2K are not beside the package; use the package of K2K's source tree",
        str(package / "include/k2k/foreign.hpp"),
    )


def device_library(kind: str = "ptx") -> str:
    """The path of the device library: K2K's functions (k2k_dev_…), to link with kernels.

    kind: "ptx", or "ltoir" for nvJitLink, which then optimises across K2K's functions and the
    kernel's. Both lie beside libk2k.so.

    ValueError: another kind. FileNotFoundError: it is not there; the message says how to build it.
    LibraryError: libk2k.so was not found.
    """
    if kind not in LIBRARY_KINDS:
        raise ValueError(
            f"there is no device library of the kind {kind!r}; "
            f"there are {' and '.join(LIBRARY_KINDS)}"
        )
    folder = Path(_library.path_of(_library.load())).resolve().parent
    path = folder / f"k2k_device.{kind}"
    if not path.exists():
        raise FileNotFoundError(
            errno.ENOENT,
            "there is no device library beside libk2k.so; a build with CUDA makes it: "
            "`./dev build --preset cuda`",
            str(path),
        )
    return str(path)
