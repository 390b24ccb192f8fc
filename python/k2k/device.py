"""System calls from Numba's CUDA kernels.

>>> from numba import cuda
>>> import k2k.device
>>> @cuda.jit
... def kernel(context, buffer, answers):
...     k2k.device.begin(context)
...     if cuda.grid(1) == 0:
...         fd = k2k.device.open("/etc/hostname", 0)
...         answers[0] = k2k.device.pread(fd, buffer, 0)
...         k2k.device.close(fd)
...         k2k.device.print("read {} bytes\\n", answers[0])
>>> with k2k.serve() as served:
...     kernel[1, 32](served.context, buffer, answers)

Every thread of a block calls begin() first. NAME() is the call by one thread; group_NAME() that of
the block: thread 0 makes it between two barriers, with its own arguments, and every thread gets the
answer. Answers are those of Linux, as int64: 0 or more, or a negative errno.

Buffers are C-contiguous arrays of device, shared or local memory, and slices of them; the call
takes all their bytes. Text that is written or named may be a literal: "/etc/hostname". A path in an
array of bytes ends with a zero byte. Memory that is not registered (k2k.register_memory()) is
copied: one call transfers a part of it, 7,680 bytes or more, and answers how many bytes.

The functions are linked from k2k.device_library(), with the kernel's first compilation: kernels
that use them cannot be cached (cuda.jit(cache=True)). Importing this module imports Numba:
ImportError, with the package to install, where it is missing. Outside of a kernel the functions
raise NotImplementedError.
"""

from typing import Any

from k2k._numba_calls import COUNT, MEMORY, PATH, RESULT, WORD, kernel_call, kernel_print

__all__ = [
    "begin",
    "close",
    "group_close",
    "group_open",
    "group_pread",
    "group_print",
    "group_pwrite",
    "group_read",
    "group_write",
    "open",
    "pread",
    "print",
    "pwrite",
    "read",
    "sendto",
    "socket",
    "syscall",
    "write",
]


@kernel_call("k2k_dev_begin", WORD)
def begin(context: int) -> None:
    """Makes the block ready for calls: by every thread of it, before any other function of K2K.

    context: Serving.context, a parameter of the kernel.
    """


@kernel_call("k2k_dev_open", PATH, COUNT, COUNT)
def open(path: Any, flags: int, mode: int = 0) -> int:  # type: ignore[empty-body]
    """open(2): a descriptor. path: a literal, or an array of bytes that ends with a zero byte."""


@kernel_call("k2k_dev_close", COUNT)
def close(fd: int) -> int:  # type: ignore[empty-body]
    """close(2)"""


@kernel_call("k2k_dev_read", COUNT, RESULT)
def read(fd: int, buffer: Any) -> int:  # type: ignore[empty-body]
    """read(2): the bytes read into the array."""


@kernel_call("k2k_dev_write", COUNT, MEMORY)
def write(fd: int, buffer: Any) -> int:  # type: ignore[empty-body]
    """write(2): the bytes written of an array or a literal."""


@kernel_call("k2k_dev_pread", COUNT, RESULT, WORD)
def pread(fd: int, buffer: Any, offset: int) -> int:  # type: ignore[empty-body]
    """pread(2): the bytes read into the array."""


@kernel_call("k2k_dev_pwrite", COUNT, MEMORY, WORD)
def pwrite(fd: int, buffer: Any, offset: int) -> int:  # type: ignore[empty-body]
    """pwrite(2): the bytes written of an array or a literal."""


@kernel_call("k2k_dev_socket", COUNT, COUNT, COUNT)
def socket(domain: int, kind: int, protocol: int) -> int:  # type: ignore[empty-body]
    """socket(2): a descriptor."""


@kernel_call("k2k_dev_sendto", COUNT, MEMORY, COUNT, MEMORY)
def sendto(fd: int, buffer: Any, flags: int, address: Any) -> int:  # type: ignore[empty-body]
    """sendto(2): the bytes sent of an array or a literal. address: an array with the bytes of a
    sockaddr."""


@kernel_call("k2k_dev_syscall", WORD, WORD, WORD, WORD, WORD, WORD, WORD)
def syscall(  # type: ignore[empty-body]
    number: int, a0: int = 0, a1: int = 0, a2: int = 0, a3: int = 0, a4: int = 0, a5: int = 0
) -> int:
    """Any call by its number on x86-64. Nothing is copied: pointers must be visible to the host."""


@kernel_print("k2k_dev_print")
def print(text: str, *values: Any) -> int:  # type: ignore[empty-body]
    """Text by a literal such as "{} of {:.3f}\\n" on the standard output: the bytes written.

    values: at most 32 integers, floats, booleans and literals. -EINVAL: the format does not suit
    them.
    """


@kernel_call("k2k_dev_group_open", PATH, COUNT, COUNT)
def group_open(path: Any, flags: int, mode: int = 0) -> int:  # type: ignore[empty-body]
    """open() by the block."""


@kernel_call("k2k_dev_group_close", COUNT)
def group_close(fd: int) -> int:  # type: ignore[empty-body]
    """close() by the block."""


@kernel_call("k2k_dev_group_read", COUNT, RESULT)
def group_read(fd: int, buffer: Any) -> int:  # type: ignore[empty-body]
    """read() by the block."""


@kernel_call("k2k_dev_group_write", COUNT, MEMORY)
def group_write(fd: int, buffer: Any) -> int:  # type: ignore[empty-body]
    """write() by the block."""


@kernel_call("k2k_dev_group_pread", COUNT, RESULT, WORD)
def group_pread(fd: int, buffer: Any, offset: int) -> int:  # type: ignore[empty-body]
    """pread() by the block."""


@kernel_call("k2k_dev_group_pwrite", COUNT, MEMORY, WORD)
def group_pwrite(fd: int, buffer: Any, offset: int) -> int:  # type: ignore[empty-body]
    """pwrite() by the block."""


@kernel_print("k2k_dev_group_print")
def group_print(text: str, *values: Any) -> int:  # type: ignore[empty-body]
    """print() by the block."""
