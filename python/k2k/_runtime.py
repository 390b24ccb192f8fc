"""Runtime: a device, the server of its kernels' calls, and Python functions that kernels call."""

import atexit
import contextlib
import ctypes
import os
import threading
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Self

from k2k import _functions, _library

MAY_BLOCK = 0  # k2k_host_class of include/k2k/k2k.h


class Runtime:
    """A device and the server of its kernels' calls.

    options: settings by name, as `k2k config show` lists them: {"device.wave_lanes": 32}. Neither
        environment nor configuration file is read.

    Kernels are functions of a shared library (include/k2k/k2k.h, include/k2k/device.hpp): Python
    itself cannot run on the device. Use it as a context manager, or call close(). A runtime that is
    still open is closed at exit.

    Any thread may use it. After os.fork() it cannot be used in the child: OSError, EPERM.

    ValueError: a setting that does not exist or has no such value. OSError: as its errno says.
    LibraryError: libk2k.so was not found.
    """

    def __init__(self, options: Mapping[str, str | int | float | bool] | None = None) -> None:
        self._library = _library.load()
        self._lock = threading.Lock()  # Guards what follows.
        self._launches = 0
        self._callbacks: dict[str, Any] = {}
        self._process = os.getpid()
        self._handle: ctypes.c_void_p | None = self._create(options or {})
        with _open_lock:
            _open.add(self)

    def _create(self, options: Mapping[str, str | int | float | bool]) -> ctypes.c_void_p:
        handle, chosen = ctypes.c_void_p(), ctypes.c_void_p()
        self._raise_if(self._library.k2k_options_create(ctypes.byref(chosen)))
        try:
            for key, value in options.items():
                text = str(value).lower() if isinstance(value, bool) else str(value)
                if self._library.k2k_options_set(chosen, key.encode(), text.encode()) < 0:
                    raise ValueError(_library.last_error(self._library))
            self._raise_if(self._library.k2k_runtime_create(chosen, ctypes.byref(handle)))
        finally:
            self._library.k2k_options_destroy(chosen)
        return handle

    def provide(self, name: str, function: Callable[..., Any], signature: str) -> None:
        """Lets kernels call `function` by this name from now on, kernels that run included.

        signature: the types of reply and parameters, such as "f64(i32,in f32,out u8)": void (reply
            only), i8 to i64, u8 to u64, f16 to f64, s24 (24 bytes), and buffers of them: in, out
            (zeroed) and inout.

        The function gets an int, a float or bytes for each value, and a NumPy array for each
        buffer: read-only for `in`; what it writes to the others goes to the kernel. Arrays are
        copies, so it may keep them. Several threads of libk2k may call it at once, each holding the
        GIL. A launch that ends early and close() do not wait for a function that is running.

        An exception is an errno for the kernel (that of an OSError, ENOMEM for a MemoryError,
        otherwise EIO) and a line on stderr.

        OSError: EINVAL: a name that cannot be, or a signature with a mistake, whose place is named;
        EEXIST: the name is taken; ENOSPC: 256 are provided; EDEADLK: in a function of this runtime.
        """
        # A signature that libk2k refuses cannot be read here either: it is refused below.
        try:
            callback = _functions.callback_of(name, function, signature)
        except ValueError:
            callback = _functions.callback_of(name, function, "void()")
        handle = self._opened()
        self._raise_if(
            self._library.k2k_provide(
                handle, name.encode(), signature.encode(), MAY_BLOCK, callback, None
            )
        )
        with self._lock:
            self._callbacks[name] = callback

    def withdraw(self, name: str) -> None:
        """Kernels that call the function get ENOSYS from now on. Returns once no call of it runs.

        OSError: ENOENT: there is no such function; EDEADLK: in a function of this runtime.
        """
        self._raise_if(self._library.k2k_withdraw(self._opened(), name.encode()))
        with self._lock:
            self._callbacks.pop(name, None)

    def launch(
        self,
        kernel: Any,
        argument: Any = None,
        *,
        groups: int = 1,
        group_items: int = 1,
        name: str = "kernel",
    ) -> None:
        """Runs a kernel in `groups` work-groups of `group_items` work-items, and waits for its end.

        kernel: a function of a library that ctypes loaded, void (*)(void*), or its address.
        argument: a ctypes object, whose address the kernel gets, an address, or None.

        Other Python threads run meanwhile. A signal's handler runs after the launch.

        OSError: EINVAL: a shape beyond the device's limits; EDEADLK: every work-item waits for
        another, or in a function of this runtime; ECANCELED: cancel() was called.
        """
        is_address = argument is None or isinstance(argument, int)
        address = argument if is_address else ctypes.addressof(argument)
        with self._lock:
            handle = self._expect_open()
            self._launches += 1
        try:
            code = self._library.k2k_launch(
                handle,
                groups,
                group_items,
                ctypes.cast(kernel, ctypes.c_void_p),
                address,
                name.encode(),
            )
            self._raise_if(code)
        finally:
            with self._lock:
                self._launches -= 1

    def drain(self) -> None:
        """Returns once every call of kernels so far was answered, detached ones included.

        OSError: EIO: detached calls failed; the message says which.
        """
        self._raise_if(self._library.k2k_drain(self._opened()))

    def cancel(self) -> None:
        """Ends the launch in progress, if any.

        A launch that has not begun runs as if nothing had been said: call it once a work-item has
        told that it runs, or repeatedly until ``launch()`` returns.
        """
        self._raise_if(self._library.k2k_cancel(self._opened()))

    def close(self) -> None:
        """Ends the runtime. A second time it does nothing.

        RuntimeError: a launch is in progress: cancel() it, and wait for its end.
        """
        with self._lock:
            if self._launches != 0:
                raise RuntimeError("a launch is in progress: cancel() it, and let it return")
            handle, self._handle = self._handle, None
        with _open_lock:
            _open.discard(self)
            # A thread may be in one of them for as long as it likes.
            _kept.extend(self._callbacks.values())
        if handle is not None and self._process == os.getpid():
            self._library.k2k_runtime_destroy(handle)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _opened(self) -> ctypes.c_void_p:
        with self._lock:
            return self._expect_open()

    def _expect_open(self) -> ctypes.c_void_p:
        if self._handle is None:
            raise ValueError("the runtime is closed")
        return self._handle

    def _raise_if(self, code: int) -> None:
        _library.raise_if(self._library, code)


_open_lock = threading.Lock()
_open: set[Runtime] = set()
_kept: list[Any] = []  # Callbacks of closed runtimes.


# Before the interpreter ends: afterwards no thread of libk2k can call a function of Python.
@atexit.register
def _close_all() -> None:
    with _open_lock:
        left = list(_open)
    for runtime in left:
        with contextlib.suppress(RuntimeError):  # Its launch ends with the process.
            runtime.close()
