"""Folders and files that may supply machine code: only root and this user can write them.

A check of a path proves nothing: another user may replace a folder between the check and its use.
So a path is walked once: each folder is opened relative to its parent and checked by its
descriptor, and all later accesses are relative to the last descriptor. Every folder on the path
must belong to root or this user, and others may write to it only if it is sticky (/tmp). The last
one must belong to this user, and no other user may write to it. Symbolic links of root and of this
user are followed, links of others are refused.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

LINKS_MAX = 40  # As Linux.
# A folder that may be passed but not listed suffices if the system has O_PATH.
_FOLDER = os.O_DIRECTORY | os.O_NOFOLLOW | getattr(os, "O_PATH", os.O_RDONLY)
# Does not wait for the writer of a FIFO, and does not acquire a terminal.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
_NO_FOLDER = (errno.ENOTDIR, errno.ELOOP)
_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


class UntrustedError(Exception):
    """Another user may have written there; the message gives place, reason and remedy."""


@contextlib.contextmanager
def opened(folder: Path, make: bool = False) -> Iterator[int]:
    """The descriptor of a folder that only this user can write. `make`: makes missing folders.

    UntrustedError; OSError (such as FileNotFoundError) from the system.
    """
    chain = [os.open("/", _FOLDER)]
    try:
        path = _walk(chain, folder, make)
        found = os.fstat(chain[-1])
        if found.st_uid != os.geteuid():
            raise UntrustedError(f"{path} belongs to another user")
        if found.st_mode & _WRITABLE_BY_OTHERS:
            raise UntrustedError(f"others may write to {path}; run chmod go-w {path}")
        yield chain[-1]
    finally:
        for descriptor in chain:
            os.close(descriptor)


def read(name: str, folder: int) -> bytes:
    """The content of a file in `folder`. UntrustedError: it is no plain file that only this user
    can write."""
    try:
        descriptor = os.open(name, _FILE, dir_fd=folder)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise UntrustedError("it is a symbolic link") from None
        raise
    try:
        if reason := _reason_against(os.fstat(descriptor)):
            raise UntrustedError(reason)
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read()
    finally:
        os.close(descriptor)


def _walk(chain: list[int], folder: Path, make: bool) -> Path:
    """Leaves the open folders in `chain`, the last one wanted, and returns its path."""
    path = Path("/")
    _check_way(chain[0], path)
    left = list(reversed(folder.absolute().parts[1:]))
    links = 0
    while left:
        name = left.pop()
        if name == "..":
            _leave(chain, max(len(chain) - 1, 1))
            path = path.parent
            continue
        try:
            chain.append(_folder_in(chain[-1], name, make))
        except OSError as error:
            if error.errno not in _NO_FOLDER:
                raise
            target = _link_in(chain[-1], name, path / name)
            links += 1
            if target is None:
                raise
            if links > LINKS_MAX:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP)) from None
            if target.is_absolute():
                _leave(chain, 1)
                path = Path("/")
            left += [part for part in reversed(target.parts) if part != "/"]
            continue
        path /= name
        _check_way(chain[-1], path)
    return path


def _leave(chain: list[int], depth: int) -> None:
    while len(chain) > depth:
        os.close(chain.pop())


def _folder_in(folder: int, name: str, make: bool) -> int:
    try:
        return os.open(name, _FOLDER, dir_fd=folder)
    except FileNotFoundError:
        if not make:
            raise
    with contextlib.suppress(FileExistsError):  # Another process was first.
        os.mkdir(name, 0o700, dir_fd=folder)
    return os.open(name, _FOLDER, dir_fd=folder)


def _link_in(folder: int, name: str, path: Path) -> Path | None:
    """The target of the link; None if it is not a link.

    Its folder was checked: only its owner can replace the link between the two calls.
    """
    found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    if not stat.S_ISLNK(found.st_mode):
        return None
    if found.st_uid not in (0, os.geteuid()):
        raise UntrustedError(f"{path} is a symbolic link that belongs to another user")
    return Path(os.readlink(name, dir_fd=folder))


def _check_way(folder: int, path: Path) -> None:
    found = os.fstat(folder)
    if found.st_uid not in (0, os.geteuid()):
        raise UntrustedError(f"{path} belongs to another user")
    if found.st_mode & _WRITABLE_BY_OTHERS and not found.st_mode & stat.S_ISVTX:
        raise UntrustedError(f"others may write to {path}; run chmod go-w {path}")


def _reason_against(found: os.stat_result) -> str:
    if not stat.S_ISREG(found.st_mode):
        return "it is no plain file"
    if found.st_uid != os.geteuid():
        return "it belongs to another user"
    if found.st_mode & _WRITABLE_BY_OTHERS:
        return "others may write to it"
    if found.st_nlink > 1:  # 0: another process has replaced it since.
        return "it has a second name (a hard link)"
    return ""
