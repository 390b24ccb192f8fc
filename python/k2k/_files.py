"""read_into() and stats(): libk2k's reads of files, with one reader per process."""

import contextlib
import ctypes
import errno
import json
import os
import threading
from collections.abc import Iterator
from typing import Any, Protocol

from k2k import _library
from k2k._memory import Memory, memory_of

OFFSET_MAX = 2**63 - 1
PART_BYTES_MAX = 64 << 20  # Between parts Python looks for signals.


class HasFileno(Protocol):
    def fileno(self) -> int: ...


FileName = str | bytes | os.PathLike[str] | os.PathLike[bytes]
File = FileName | int | HasFileno


def read_into(buffer: Any, file: File, offset: int = 0) -> int:
    """Reads a file from `offset` on until `buffer` is full or the file ends.

    buffer: C-contiguous writable memory of any shape and type: a NumPy array, an object with the
        buffer protocol (bytearray, array, mmap, memoryview), or one with __dlpack__ in memory that
        the CPU can address (torch.Tensor on the CPU or pinned) or in memory of the first CUDA
        device (also by __cuda_array_interface__), which is registered for the time of the read if
        it is not registered already. It receives the file's bytes unchanged. Direct transfers
        into host memory need equal remainders of address and offset modulo 4096 (512
        on many devices); other pages come through the page cache.
    file: a path, a descriptor, or an object with fileno(). The position of a file object is neither
        used nor moved, and bytes that it has not flushed are not read. A path is opened and closed
        again, which drops this process's POSIX locks on it as any close does: pass a descriptor if
        you hold such locks. After a read from a descriptor, libk2k may keep a second,
        close-on-exec descriptor of the file open until some 64 other files were read.
    offset: bytes from the file's begin, 0 to 2**63 - 1.

    Returns the number of bytes read: less than the buffer's size only if the file ended. Other
    Python threads run meanwhile (the GIL is released). The rest of the buffer is unchanged; after
    an error any part of it may have been written.

    TypeError: not a buffer, not a file, or a buffer of Python objects.
    ValueError: a read-only or non-contiguous buffer, memory of CUDA that cannot be registered, or
    an offset out of range.
    NotImplementedError: memory of another device that the CPU cannot address.
    OSError: opening or reading failed; errno gives the reason, filename the path.
    LibraryError: libk2k.so was not found.
    """
    memory = memory_of(buffer)
    if not 0 <= offset <= OFFSET_MAX:
        raise ValueError(f"offset is {offset}; permitted are 0 to 2**63 - 1")
    with memory.registered(), opened(file) as (descriptor, name):
        return read_fully(descriptor, memory, offset, name)


def stats() -> dict[str, int]:
    """Statistics of this process's reads since the first one; all zero before.

    reads: requests to libk2k. unprobed: reads through the page cache without a probe of the cached
    pages (short, or expected to be cached). probed: reads after such a probe. mixed: parts of these
    with some pages by direct transfers. bytes_cache, bytes_direct: bytes through the page cache,
    and by direct transfers. fall_backs: direct transfers that were refused and came through the
    page cache. files_refused: files that have no direct transfers since. misaligned: reads with an
    additional copy, because memory and file offsets are aligned differently (numpy.empty begins 16
    bytes behind a page). pages_ahead: pages of 4 KiB read ahead of sequential reads.
    pages_evicted: pages of these that were evicted. pages_held: pages that are in the page cache
    only because of read-ahead, now. pages_kept: tracked pages that were left cached. pages_again:
    pages read ahead after their eviction. writes_direct: writes that bypassed the page cache in
    part (files.exclusive).

    OSError: out of memory. LibraryError: libk2k.so was not found.
    """
    return _files().stats()


def read_fully(descriptor: int, memory: Memory, offset: int, name: FileName | None) -> int:
    """Reads until the memory is full or the file ends. OSError."""
    files = _files()
    done = 0
    while done < memory.nbytes:
        part = min(memory.nbytes - done, PART_BYTES_MAX)
        try:
            count = files.pread(descriptor, memory.address + done, part, offset + done)
        except InterruptedError:
            continue  # Python has run the signal's handler; if it raised we are not here.
        except OSError as error:
            if name is not None:
                error.filename = name
            raise
        if count == 0:
            break
        done += count
    return done


@contextlib.contextmanager
def opened(file: File) -> Iterator[tuple[int, FileName | None]]:
    """The descriptor of a file, and its path if it was opened here. TypeError, OSError."""
    if isinstance(file, int) and not isinstance(file, bool):
        yield file, None
    elif isinstance(file, str | bytes | os.PathLike):
        # Without O_NONBLOCK a FIFO would be waited for; regular files do not heed it.
        descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            yield descriptor, file
        finally:
            try:
                closing(descriptor)
            finally:
                os.close(descriptor)
    elif hasattr(file, "fileno"):
        yield file.fileno(), None
    else:
        raise TypeError(
            f"{type(file).__name__} is no file: pass a path, a descriptor or an object with "
            "fileno()"
        )


def closing(descriptor: int) -> None:
    """Call it before a descriptor is closed: libk2k closes its own descriptors of the file."""
    if _reader is not None:
        _reader.closing(descriptor)


class _Reader:
    """One k2k_files handle. Never destroyed: a thread may be reading when the process ends."""

    def __init__(self) -> None:
        self._library = _library.load()
        handle = ctypes.c_void_p()
        self._raise_if(self._library.k2k_files_create(None, ctypes.byref(handle)))
        self._handle = handle

    def pread(self, descriptor: int, address: int, nbytes: int, offset: int) -> int:
        if not -(2**31) <= descriptor < 2**31:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        count: int = self._library.k2k_files_pread(
            self._handle, descriptor, address, nbytes, offset
        )
        self._raise_if(count)
        return count

    def closing(self, descriptor: int) -> None:
        self._raise_if(self._library.k2k_files_closing(self._handle, descriptor))

    def stats(self) -> dict[str, int]:
        nbytes = 4096
        while True:
            text = ctypes.create_string_buffer(nbytes)
            needed = ctypes.c_size_t()
            code = self._library.k2k_files_stats_json(
                self._handle, text, nbytes, ctypes.byref(needed)
            )
            if code != -errno.ERANGE:
                break
            nbytes = needed.value + 64
        self._raise_if(code)
        counts: dict[str, int] = json.loads(text.value)
        return counts

    def _raise_if(self, code: int) -> None:
        _library.raise_if(self._library, code)


_reader: _Reader | None = None
_making = threading.Lock()


def _files() -> _Reader:
    global _reader
    if _reader is None:
        with _making:
            if _reader is None:
                _reader = _Reader()
    return _reader


def _after_fork() -> None:
    # The handle is the parent's; another thread may have held the lock.
    global _reader, _making
    _reader = None
    _making = threading.Lock()


os.register_at_fork(after_in_child=_after_fork)
