"""read_into() and stats(): libk2k's reads of files, one reader a process."""

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
        the CPU can address (torch.Tensor on the CPU or pinned), or of CUDA where it is registered
        (register_memory(); also by __cuda_array_interface__). It receives the file's bytes as
        they are. Pages come by direct transfers only if address and offset leave the same rest
        when divided by 4096 (512 on many devices); others come through the page cache.
    file: a path, a descriptor, or an object with fileno(). The position of a file object is neither
        used nor moved, and what it has not flushed is not seen. A path is opened and closed again,
        which drops the POSIX locks of this process on it as any close does: pass a descriptor where
        you hold such locks. Of a descriptor that was read a second, close-on-exec one may stay
        open inside libk2k until some 64 other files were read.
    offset: bytes from the file's begin, 0 to 2**63 - 1.

    Returns the number of bytes read: less than the buffer's size only if the file ended. The
    interpreter goes on meanwhile (the GIL is released). The rest of the buffer is as it was; after
    an error any part of it may have been written.

    TypeError: no buffer, no file, or a buffer of Python objects.
    ValueError: a read-only or non-contiguous buffer, memory of CUDA that is not registered, or an
    offset out of range.
    NotImplementedError: memory that the CPU cannot address of other devices.
    OSError: opening or reading failed; errno says how, filename which path.
    LibraryError: there is no libk2k.so.
    """
    memory = memory_of(buffer)
    if not 0 <= offset <= OFFSET_MAX:
        raise ValueError(f"offset is {offset}; permitted are 0 to 2**63 - 1")
    with opened(file) as (descriptor, name):
        return read_fully(descriptor, memory, offset, name)


def stats() -> dict[str, int]:
    """What became of this process's reads since the first one; all zero before.

    reads: requests to libk2k. unprobed: of these, read through the page cache without a probe of
    which pages are cached (short, or expected to be cached). probed: read after such a probe.
    mixed: of these, parts in which some pages came directly. bytes_cache, bytes_direct: bytes that
    came through the page cache, by direct transfers. fall_backs: direct transfers that were
    refused and came through the page cache. files_refused: files without direct transfers since.
    misaligned: reads that took a copy more, for their memory does not lie as the file's offsets do
    (that of numpy.empty begins 16 bytes behind a page). pages_ahead, pages_evicted, pages_held:
    pages of 4 KiB read ahead of sequential reads; of these, let go again, and in the page cache
    for no other reason now. pages_kept: of these, left to stay. pages_again: read ahead after they
    had been let go. writes_direct: writes that went past the page cache in part (files.exclusive).

    OSError: out of memory. LibraryError: there is no libk2k.so.
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
    """Before a descriptor that was read from is closed: libk2k closes what it has of its file."""
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
        if code < 0:
            raise OSError(-code, self._library.k2k_last_error().decode(errors="replace"))


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
